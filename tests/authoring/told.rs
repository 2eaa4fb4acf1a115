//! Functions of the author's that are told of something: a panic in one is for the log alone.

use serde_json::json;
use smol::future;
use smol_mcp::testing::Client;
use smol_mcp::{Context, NoInput, Server, Tool};

fn server() -> Server {
    Server::builder("told", "1.0.0")
        .tool(Tool::new("fail", async |_: NoInput| {
            Err::<(), _>("a secret")
        }))
        .tool(Tool::new("fail-later", async |_: NoInput| {
            future::yield_now().await;
            Err::<(), _>("a secret")
        }))
        .tool(Tool::new("wait", async |_: NoInput, cx: Context| {
            cx.signal().aborted().await;
        }))
        .on_error(|_| panic!("on purpose"))
        .on_cancelled(|_| panic!("on purpose"))
        .build()
        .unwrap()
}

#[test]
fn a_function_that_is_told_of_a_failure_and_panics_keeps_nobody_from_an_answer() {
    let server = server();
    smol::block_on(async {
        let client = Client::new(&server);
        for tool in ["fail", "fail-later"] {
            let result = client.call(tool, json!({})).await;
            assert_eq!(result["content"][0]["text"], "The tool failed.", "{result}");
            assert_eq!(server.calls_in_flight(), 0, "{tool}");
        }
    });
}

#[test]
fn a_function_that_is_told_of_a_cancellation_and_panics_does_not_end_the_connection() {
    let server = server();
    smol::block_on(async {
        let client = Client::new(&server);
        let waiting = client.start("wait", json!({})).await;
        waiting.cancel("enough").await;
        client.silence().await;
    });
}
