//! Functions as handlers, and what they may return.

use std::error::Error;
use std::fmt;
use std::num::ParseIntError;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smol_mcp::protocol::{Content, RpcError, ToolResult};
use smol_mcp::signal::Aborted;
use smol_mcp::{Context, HandlerError, Next, NoInput, Structured, Tool};

use crate::client;
use crate::common::{builder, call, each, failure, result, server, text};

#[derive(Deserialize)]
struct Name {
    name: String,
}

async fn greet(input: Name) -> String {
    format!("Hello, {}!", input.name)
}

async fn introduce(input: Name, cx: Context) -> String {
    format!("{} called {} in {}", input.name, cx.subject(), cx.method())
}

#[test]
fn functions_and_closures_with_and_without_a_context_are_handlers() {
    let greeting = "Hello".to_owned();
    let tools = [
        Tool::new("function", greet),
        Tool::new("with_context", introduce),
        Tool::new("closure", move |input: Name| {
            let greeting = greeting.clone();
            async move { format!("{greeting}, {}!", input.name) }
        }),
        Tool::new(
            "closure_with_context",
            |input: Name, cx: Context| async move { format!("{}: {}", cx.request_id(), input.name) },
        ),
        Tool::new("async_closure", async |input: Name| input.name),
        Tool::new(
            "async_closure_with_context",
            async |input: Name, cx: Context| format!("{}: {}", cx.protocol_version(), input.name),
        ),
        Tool::new("without_input", async |_: NoInput| "done"),
    ];
    client::with(&server(tools), async |client| {
        for (id, (tool, expected)) in (1..).zip([
            ("function", "Hello, you!"),
            ("with_context", "you called with_context in tools/call"),
            ("closure", "Hello, you!"),
            ("closure_with_context", "4: you"),
            ("async_closure", "you"),
            ("async_closure_with_context", "2026-07-28: you"),
            ("without_input", "done"),
        ]) {
            let answer = client.ask(&call(id, tool, r#"{"name":"you"}"#)).await;
            assert_eq!(answer, text(id, expected), "{tool}");
        }
    });
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

#[test]
fn everything_that_is_a_result_becomes_one() {
    let tools = [
        Tool::new("string", async |_: NoInput| String::from("text")),
        Tool::new("str", async |_: NoInput| "text"),
        Tool::new("nothing", async |_: NoInput| ()),
        Tool::new("content", async |_: NoInput| Content::text("text")),
        Tool::new("contents", async |_: NoInput| {
            vec![Content::text("a"), Content::text("b")]
        }),
        Tool::new("structured", async |_: NoInput| Structured(Sum { sum: 3 })),
        Tool::new("array", async |_: NoInput| Structured([1, 2])),
        Tool::new("whole", async |_: NoInput| ToolResult::error("no")),
        Tool::new("ok", async |_: NoInput| {
            Ok::<_, HandlerError>(Structured(true))
        }),
        Tool::new("ok_of_an_error_type", async |_: NoInput| {
            Ok::<_, ParseIntError>("text")
        }),
    ];
    let said = r#""content":[{"type":"text","text":"text"}]"#;
    client::with(&server(tools), async |client| {
        for (id, (tool, expected)) in (1..).zip([
            ("string", said),
            ("str", said),
            ("nothing", r#""content":[]"#),
            ("content", said),
            (
                "contents",
                r#""content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            ),
            (
                "structured",
                r#""content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}"#,
            ),
            (
                "array",
                r#""content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]"#,
            ),
            (
                "whole",
                r#""content":[{"type":"text","text":"no"}],"isError":true"#,
            ),
            (
                "ok",
                r#""content":[{"type":"text","text":"true"}],"structuredContent":true"#,
            ),
            ("ok_of_an_error_type", said),
        ]) {
            let answer = client.ask(&call(id, tool, "{}")).await;
            assert_eq!(answer, result(id, expected), "{tool}");
        }
    });
}

/// What no JSON can hold.
struct Unspeakable;

impl Serialize for Unspeakable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("secret"))
    }
}

#[derive(Debug)]
struct Secret;

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secret")
    }
}

impl std::error::Error for Secret {}

#[test]
fn only_what_is_marked_public_reaches_the_client() {
    let tools = [
        Tool::new("public", async |_: NoInput| {
            Err::<(), _>(HandlerError::public("'depth' must be at most 8."))
        }),
        Tool::new("unexpected", async |_: NoInput| Err::<(), _>(Secret)),
        Tool::new("boxed", async |_: NoInput| {
            Err::<(), _>(HandlerError::unexpected("secret"))
        }),
        Tool::new("unspeakable", async |_: NoInput| Structured(Unspeakable)),
        Tool::new("panic", async |_: NoInput| -> () { panic!("secret") }),
        Tool::new("panic_at_once", |_: NoInput| -> std::future::Ready<()> {
            panic!("secret")
        }),
    ];
    client::with(&server(tools), async |client| {
        client.send(&call(1, "public", "{}")).await;
        client
            .expect(&failure(1, "'depth' must be at most 8."))
            .await;
        for (id, tool) in (2..).zip([
            "unexpected",
            "boxed",
            "unspeakable",
            "panic",
            "panic_at_once",
        ]) {
            let answer = client.ask(&call(id, tool, "{}")).await;
            assert_eq!(answer, failure(id, "The tool failed."), "{tool}");
        }
    });
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Takes errors of all kinds, and is none itself.
struct Any(AnyError);

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Any {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<Any> for AnyError {
    fn from(error: Any) -> Self {
        error.0
    }
}

#[test]
fn errors_that_are_boxed_or_collected_are_unexpected_and_ours_among_them_stay_what_they_are() {
    async fn boxed(input: Name) -> Result<String, AnyError> {
        match &*input.name {
            "public" => Err(HandlerError::public("No."))?,
            "rpc" => Err(HandlerError::rpc(RpcError::invalid_params("no such row")))?,
            name => Err(format!("secret {name}"))?,
        }
    }
    async fn collected(_: NoInput) -> Result<u8, Any> {
        Err(Secret)?
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let server = builder()
        .tool(Tool::new("boxed", boxed))
        .tool(Tool::new("collected", async |input: NoInput| {
            collected(input).await.map(Structured)
        }))
        .tool(Tool::new("text", async |_: NoInput| Err::<(), _>("secret")))
        .tool(Tool::new("unexpected", async |_: NoInput| {
            let boxed: AnyError = Secret.into();
            Err::<(), _>(HandlerError::unexpected(boxed))
        }))
        .on_error(move |failure| tell.lock().unwrap().push(failure.error.to_string()))
        .build()
        .unwrap();
    client::with(&server, async |client| {
        let answer = client.ask(&call(1, "boxed", r#"{"name":"public"}"#)).await;
        assert_eq!(answer, failure(1, "No."));
        let answer = client.ask(&call(2, "boxed", r#"{"name":"rpc"}"#)).await;
        let error = r#"{"code":-32602,"message":"no such row"}"#;
        assert_eq!(
            answer,
            format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#)
        );
        for tool in ["boxed", "collected", "text", "unexpected"] {
            let answer = client.ask(&call(3, tool, r#"{"name":"x"}"#)).await;
            assert_eq!(answer, failure(3, "The tool failed."), "{tool}");
        }
    });
    assert_eq!(
        *told.lock().unwrap(),
        ["secret x", "secret", "secret", "secret"]
    );
}

/// Calls a tool that waits for its signal: what it fails with is known as that, and the client reads why it fired.
#[track_caller]
fn judge_its_end(tool: Tool) {
    let server = builder()
        .tool(tool.deadline(Duration::from_millis(1)))
        .around(async |_, next: Next| {
            let outcome = next.run().await;
            let aborted = outcome.as_ref().is_err_and(HandlerError::is_aborted);
            assert!(aborted, "{outcome:?}");
            outcome
        });
    client::with(&server.build().unwrap(), async |client| {
        let answer = client.ask(&call(1, "t", "{}")).await;
        assert_eq!(answer, failure(1, "The deadline of this call has passed."));
    });
}

#[test]
fn a_signal_that_ends_a_handler_is_known_in_a_box_too() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        cx.signal().aborted().await;
        cx.signal().check().map_err(AnyError::from)
    });
    judge_its_end(tool);
}

/// An error of the author's own that tells what was being done when the signal fired.
#[derive(Debug)]
struct While(&'static str, Aborted);

impl fmt::Display for While {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "while {}", self.0)
    }
}

impl Error for While {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.1)
    }
}

#[test]
fn a_signal_that_ends_a_handler_is_known_behind_an_error_of_the_authors_own() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let waited = cx.signal().sleep(Duration::from_secs(60)).await;
        waited.map_err(|aborted| While("fetching", aborted))
    });
    judge_its_end(tool);
}

#[test]
fn a_handler_can_answer_with_a_protocol_error() {
    let tool = Tool::new("t", async |_: NoInput| {
        Err::<(), _>(HandlerError::rpc(RpcError::invalid_params("no such row")))
    });
    client::with(&server([tool]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        let error = r#"{"code":-32602,"message":"no such row"}"#;
        client
            .expect(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#))
            .await;
    });
}

#[test]
fn a_tool_without_input_ignores_its_arguments() {
    let tool = Tool::new("t", async |_: NoInput| "done");
    each(
        tool,
        &[("{}", Ok("done")), (r#"{"x":[1,{"y":null}]}"#, Ok("done"))],
    );
}
