//! Servers on executors of the application's, also on one that is polled once a frame, long after its tasks were woken.
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

/// Runs an executor on a thread of this name, until the handle is dropped.
fn running(name: &str) -> (Arc<Executor<'static>>, async_channel::Sender<()>) {
    let executor = Arc::new(Executor::new());
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let run = executor.clone();
    let thread = thread::Builder::new().name(name.to_owned());
    thread
        .spawn(move || smol::block_on(run.run(stopped.recv())))
        .unwrap();
    (executor, stop)
}

/// Tells on which thread a handler begins, which is that of its connection, and where it ends once it has waited.
fn places(
    server: Option<Arc<Executor<'static>>>,
    connections: Option<Arc<Executor<'static>>>,
) -> String {
    fn here() -> String {
        thread::current().name().unwrap_or_default().to_owned()
    }
    let tool = Tool::new("where", async |_: NoInput| {
        let begun = here();
        smol::Timer::after(Duration::from_millis(1)).await;
        format!("{begun} {}", here())
    });
    let mut builder = Server::builder("t", "0").tool(tool);
    let mut options = Options::new();
    if let Some(executor) = server {
        builder = builder.executor(executor);
    }
    if let Some(executor) = connections {
        options = options.executor(executor);
    }
    let server = builder.build().unwrap();
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = serve_on(listener.with_options(options), Endpoint::new(&server));
    let serving = smol::spawn(serving);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(call("where").as_bytes()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        answer.push(byte[0]);
    }
    drop(serving);
    let answer = String::from_utf8(answer).unwrap();
    let text = answer.split_once(r#""text":""#).expect("a text").1;
    text.split('"').next().unwrap().to_owned()
}

#[test]
fn connections_run_where_the_server_does_unless_they_are_told_otherwise() {
    let ((one, _one), (other, _other)) = (running("one"), running("other"));
    assert_eq!(places(Some(one.clone()), None), "one one");
    assert_eq!(places(Some(one), Some(other.clone())), "other one");
    let smols = places(None, Some(other));
    assert!(smols.starts_with("other smol"), "{smols}");
    let smols = places(None, None);
    assert!(smols.starts_with("smol"), "{smols}");
}
