//! Servers whose executor is polled once a frame, long after its tasks have been woken.
#![cfg(all(feature = "http", unix))]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use smol::Executor;
use smol_mcp::http::{Endpoint, Listener, Options, serve_on};
use smol_mcp::signal::Reason;
use smol_mcp::{Context, NoInput, Server, Tool};

const FRAME: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(60);

fn call(tool: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_listener_serves_and_notices_hang_ups() {
    let executor = Arc::new(Executor::new());
    let left = Arc::new(AtomicBool::new(false));
    let seen = left.clone();
    let (begin, begun) = async_channel::bounded(1);
    let server = Server::builder("t", "0")
        .executor(executor.clone())
        .tool(Tool::new("now", async |_: NoInput| "noon"))
        .tool(Tool::new("wait", move |_: NoInput, cx: Context| {
            let (begin, seen) = (begin.clone(), seen.clone());
            async move {
                let _ = begin.send(()).await;
                let reason = cx.signal().aborted().await;
                seen.store(matches!(reason, Reason::Disconnected), Ordering::SeqCst);
            }
        }))
        .build()
        .unwrap();
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let listener = listener.with_options(Options::new().executor(executor.clone()));
    let address = listener.local_addr().unwrap();
    let serving = executor.spawn(serve_on(listener, Endpoint::new(&server)));

    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // Several on one connection, each after the answer to the one before, in two pieces.
        for _ in 0..3 {
            let request = call("now");
            let (first, second) = request.split_at(request.len() / 2);
            stream.write_all(first.as_bytes()).unwrap();
            thread::sleep(3 * FRAME);
            stream.write_all(second.as_bytes()).unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(b"}") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("an answer");
                answer.push(byte[0]);
            }
        }
        stream.write_all(call("wait").as_bytes()).unwrap();
        begun.recv_blocking().unwrap();
    });
    let begun = Instant::now();
    while !left.load(Ordering::SeqCst) {
        assert!(
            begun.elapsed() < 2 * PATIENCE,
            "the hang-up was not noticed"
        );
        while executor.try_tick() {}
        thread::sleep(FRAME);
    }
    client.join().unwrap();
    drop(serving);
}
