//! How a connection of lines ends, and what a client does to it that does not read.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{self, Poll};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use smol::channel;
use smol::future;
use smol::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use smol_mcp::signal::Reason;
use smol_mcp::testing::{self, Client, Writer};
use smol_mcp::{Context, HandlerError, Limits, NoInput, Server, Tool, lines};

use crate::stage::{self, within};

const ECHO: &str = r#""method":"tools/call","params":{"name":"echo","arguments":{"text":"TEXT"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn echo_call(id: i64, text: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},{}\n",
        ECHO.replace("TEXT", text)
    )
}

fn echo_server(limits: Limits) -> Server {
    Server::builder("echo", "1.0.0")
        .tool(Tool::new("echo", |input: Value| async move {
            input["text"].as_str().unwrap_or_default().to_owned()
        }))
        .limits(limits)
        .build()
        .unwrap()
}

/// Writes until nothing more is taken. Returns how many calls were taken whole.
///
/// Nothing is taken when the server has not read although every task has had its turn many times over.
async fn write_until_full(input: &mut Writer, text: &str) -> i64 {
    for id in 0.. {
        let call = echo_call(id, text);
        let write = async {
            input.write_all(call.as_bytes()).await.unwrap();
            true
        };
        let give_up = async {
            for _ in 0..20_000 {
                future::yield_now().await;
            }
            false
        };
        if !future::or(write, give_up).await {
            return id;
        }
    }
    unreachable!("the server reads for ever");
}

// Every queue has a bound: a client that does not read is not read from.
#[test]
fn a_client_that_does_not_read_is_not_read_from_and_gets_every_answer_later() {
    let executor = Arc::new(smol::Executor::new());
    let server = echo_server(stage::limits());
    let (their_input, mut input) = testing::pipe(4096);
    let (mut output, their_output) = testing::pipe(4096);
    let text = "x".repeat(1000);
    let serving =
        executor.spawn(async move { lines::serve(&server, their_input, their_output).await });
    let taken = executor.run(write_until_full(&mut input, &text));
    let taken = within("the server to stop reading", taken);
    // An answer of some 1,200 bytes, a backlog of 1 MiB: the bound itself may change, its order may not.
    assert!((500..2_000).contains(&taken), "{taken} calls taken");
    // The rest of the last line, whatever has been taken of it: the client breaks off there.
    drop(input);
    let mut all = String::new();
    let read = output.read_to_string(&mut all);
    within("all answers", executor.run(read)).unwrap();
    let answers = all.lines().filter(|line| line.contains(&text)).count() as i64;
    assert_eq!(answers, taken);
    within("the end of the connection", executor.run(serving)).unwrap();
}

// P15: a close is noticed although nothing can be written, and the connection ends within the grace.
#[test]
fn closing_ends_a_connection_whose_client_does_not_read() {
    let executor = Arc::new(smol::Executor::new());
    let mut limits = Limits::default();
    limits.grace = Duration::from_millis(20);
    let server = echo_server(limits);
    let (their_input, mut input) = testing::pipe(4096);
    let (_output, their_output) = testing::pipe(4096);
    let served = server.clone();
    let serving =
        executor.spawn(async move { lines::serve(&served, their_input, their_output).await });
    let text = "x".repeat(1000);
    let write = write_until_full(&mut input, &text);
    within("the server to stop reading", executor.run(write));
    within("the close", executor.run(server.close(Duration::ZERO)));
    within("the end of the connection", executor.run(serving)).unwrap();
}

/// A tool that tells its reason, and then needs a cue to end.
fn slow_ending() -> (
    Tool,
    channel::Receiver<Reason>,
    channel::Sender<()>,
    Arc<AtomicBool>,
) {
    let (tell, reasons) = channel::unbounded();
    let (cue, cues) = channel::unbounded::<()>();
    let ended = Arc::new(AtomicBool::new(false));
    let at_end = ended.clone();
    let tool = Tool::new("slow", move |_: NoInput, cx: Context| {
        let (tell, cues, ended) = (tell.clone(), cues.clone(), at_end.clone());
        async move {
            let reason = cx.signal().await;
            tell.send(reason).await?;
            cues.recv().await?;
            ended.store(true, Ordering::SeqCst);
            Ok::<_, HandlerError>(())
        }
    });
    (tool, reasons, cue, ended)
}

// P15, P4: a client that cannot be written to has gone; what runs for it may still clean up.
#[test]
fn a_broken_output_fires_every_call_and_leaves_handlers_the_grace() {
    let (tool, reasons, cue, ended) = slow_ending();
    let server = Server::builder("slow", "1.0.0")
        .tool(tool)
        .limits(stage::limits())
        .build()
        .unwrap();
    let (their_input, input) = testing::pipe(4096);
    let (output, their_output) = testing::pipe(4096);
    let serving =
        smol::spawn(async move { lines::serve(&server, their_input, their_output).await });
    let test = async {
        let client = Client::over(smol::io::empty(), input);
        let _call = client.start("slow", json!({})).await;
        drop(output);
        // An answer that cannot be written.
        client.send(echo_call(7, "x").trim_end()).await;
        assert!(matches!(reasons.recv().await, Ok(Reason::Closed)));
        cue.send(()).await.unwrap();
        serving.await.unwrap();
        assert!(
            ended.load(Ordering::SeqCst),
            "the handler was dropped within its grace"
        );
    };
    within("the signal of the call, or the end of the connection", test);
}

// As before, with the end of input first: the client closes both ends, as one that exits does.
#[test]
fn an_output_that_breaks_after_the_end_of_input_leaves_handlers_the_grace() {
    let (tool, reasons, cue, ended) = slow_ending();
    let executor = Arc::new(smol::Executor::new());
    let server = Server::builder("slow", "1.0.0")
        .tool(tool)
        .tool(Tool::new("quick", |_: NoInput, cx: Context| async move {
            let _ = cx.signal().await;
        }))
        .executor(executor.clone())
        .limits(stage::limits())
        .build()
        .unwrap();
    let (their_input, input) = testing::pipe(4096);
    let (output, their_output) = testing::pipe(4096);
    let mut serving =
        executor.spawn(async move { lines::serve(&server, their_input, their_output).await });
    let test = async {
        let client = Client::over(smol::io::empty(), input);
        client.start("slow", json!({})).await;
        client.start("quick", json!({})).await;
        drop((client, output));
        assert!(matches!(reasons.recv().await, Ok(Reason::Closed)));
        // All that can happen happens: the answer of `quick` finds nobody.
        for _ in 0..100 {
            future::yield_now().await;
        }
        assert!(
            future::poll_once(&mut serving).await.is_none(),
            "a handler runs still"
        );
        cue.send(()).await.unwrap();
        serving.await.unwrap();
        assert!(ended.load(Ordering::SeqCst));
    };
    within(
        "the signal of the call, or the end of the connection",
        executor.run(test),
    );
}

// An output may keep what it has been given until it is flushed, and take its time for that.
#[test]
fn the_last_answer_is_flushed_however_long_that_takes() {
    /// Keeps everything until it is flushed, for the third time that it is asked.
    #[derive(Default)]
    struct Slow {
        kept: Vec<u8>,
        asked: usize,
        out: Arc<Mutex<Vec<u8>>>,
    }
    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut task::Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.kept.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(
            mut self: Pin<&mut Self>,
            cx: &mut task::Context<'_>,
        ) -> Poll<io::Result<()>> {
            self.asked += 1;
            if self.asked % 3 != 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let kept = std::mem::take(&mut self.kept);
            self.out.lock().unwrap().extend(kept);
            Poll::Ready(Ok(()))
        }
        fn poll_close(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }
    }
    let server = echo_server(stage::limits());
    let out = Arc::default();
    let output = Slow {
        out: Arc::clone(&out),
        ..Slow::default()
    };
    let input = echo_call(1, "a") + &echo_call(2, "b");
    let serving = lines::serve(&server, input.as_bytes(), output);
    within("the end of the connection", serving).unwrap();
    let written = String::from_utf8(out.lock().unwrap().clone()).unwrap();
    assert_eq!(written.lines().count(), 2);
}

// R127: an end of input with nothing running ends at once, whatever the grace.
#[test]
fn an_idle_connection_ends_at_once() {
    let server = echo_server(stage::limits());
    let test = async {
        let client = Client::new(&server);
        client.call("echo", json!({ "text": "x" })).await;
        client.disconnect().await;
        client.ended().await.unwrap();
    };
    within("the end of an idle connection", test);
}

// An application may be told to stop before its server has begun to serve.
#[test]
fn a_connection_of_a_server_that_is_closed_already_ends_at_once() {
    let server = echo_server(stage::limits());
    within("the close", server.close(Duration::ZERO));
    let (their_input, _input) = testing::pipe(4096);
    let mut output = Vec::new();
    let serving = lines::serve(&server, their_input, &mut output);
    within("the end of the connection", serving).unwrap();
    assert!(output.is_empty());
}

// What a handler held is given back when the connection has ended: children are killed, files closed.
#[test]
fn when_serve_returns_no_handler_is_left() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let held = Arc::new(AtomicUsize::new(0));
    let holds = held.clone();
    let mut limits = Limits::default();
    limits.grace = Duration::ZERO;
    let executor = Arc::new(smol::Executor::new());
    let server = Server::builder("holder", "1.0.0")
        .tool(Tool::new("hold", move |_: NoInput| {
            holds.fetch_add(1, Ordering::SeqCst);
            let held = Held(holds.clone());
            async move {
                let _held = held;
                future::pending::<()>().await;
            }
        }))
        .executor(executor.clone())
        .limits(limits)
        .build()
        .unwrap();
    let test = async {
        for way_to_end in 0..2 {
            let client = Client::new(&server);
            for _ in 0..100 {
                client.start("hold", json!({})).await;
            }
            client.silence().await;
            assert_eq!(held.load(Ordering::SeqCst), 100);
            match way_to_end {
                0 => {
                    client.disconnect().await;
                    client.ended().await.unwrap();
                }
                _ => server.close(Duration::ZERO).await,
            }
            assert_eq!(held.load(Ordering::SeqCst), 0);
        }
    };
    within("the connections and the close to end", executor.run(test));
}

// A handler that keeps its thread does not keep the connection.
#[test]
fn a_handler_that_blocks_does_not_hold_up_the_end() {
    let (unblock, blocked) = mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let (begun, begins) = channel::unbounded();
    let mut limits = Limits::default();
    limits.grace = Duration::ZERO;
    let executor = Arc::new(smol::Executor::new());
    let block = move |_: NoInput| {
        let (begun, blocked) = (begun.clone(), blocked.clone());
        async move {
            // Not in the first poll, which is the connection's own.
            future::yield_now().await;
            begun.try_send(()).unwrap();
            let _ = blocked.lock().unwrap().recv();
        }
    };
    let server = Server::builder("blocker", "1.0.0")
        .tool(Tool::new("block", block))
        .executor(executor.clone())
        .limits(limits)
        .build()
        .unwrap();
    let (stop, stopped) = channel::bounded::<()>(1);
    let handlers = thread::spawn(move || smol::block_on(executor.run(stopped.recv())));
    let (their_input, input) = testing::pipe(4096);
    let (_output, their_output) = testing::pipe(4096);
    let serving =
        smol::spawn(async move { lines::serve(&server, their_input, their_output).await });
    let test = async {
        let client = Client::over(smol::io::empty(), input);
        client.start("block", json!({})).await;
        begins.recv().await.unwrap();
        client.disconnect().await;
        serving.await.unwrap();
    };
    within("the handler to begin, or the connection to end", test);
    drop((unblock, stop));
    let _ = stage::join("the thread of the handlers", handlers);
}

// A panic in what a handler held is the handler's affair, also when it is dropped.
#[test]
fn a_panic_in_a_destructor_of_a_dropped_handler_harms_nothing_else() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a destructor");
        }
    }
    let mut limits = Limits::default();
    limits.grace = Duration::ZERO;
    let server = Server::builder("bomber", "1.0.0")
        .tool(Tool::new("bomb", |_: NoInput| async {
            let _bomb = Bomb;
            future::pending::<()>().await;
        }))
        .limits(limits)
        .build()
        .unwrap();
    let test = async {
        let client = Client::new(&server);
        client.start("bomb", json!({})).await;
        client.silence().await;
        client.disconnect().await;
        client.ended().await.unwrap();
        Client::new(&server).silence().await;
    };
    within("the end of the connection", test);
}

/// A server whose tool `close` closes it, and waits for that, which it cannot live to see.
fn self_closing() -> Server {
    let own = Arc::new(OnceLock::<Server>::new());
    let closed = own.clone();
    let close = move |_: NoInput| {
        let own = own.clone();
        async move {
            let server = own.get().unwrap().clone();
            server.close(Duration::from_millis(20)).await;
        }
    };
    let server = Server::builder("closing", "1.0.0")
        .tool(Tool::new("close", close))
        .build()
        .unwrap();
    closed.set(server.clone()).unwrap();
    server
}

// The close is dropped with the handler that waits for it.
#[test]
fn a_handler_that_closes_its_server_does_not_keep_the_connection_open() {
    let server = self_closing();
    let client = Client::new(&server);
    let test = async {
        client.start("close", json!({})).await;
        client.ended().await.unwrap();
    };
    within("the end of the connection", test);
}

/// A server whose handler `slow` has begun, over the first of two connections, when its close is given up.
async fn given_up(
    tool: Tool,
    fired: channel::Receiver<Reason>,
    grace: Duration,
) -> (Client, Client, testing::Running) {
    let server = Server::builder("slow", "1.0.0").tool(tool).build().unwrap();
    let (busy, idle) = (Client::new(&server), Client::new(&server));
    idle.silence().await;
    let call = busy.start("slow", json!({})).await;
    busy.silence().await;
    let close = server.close(grace);
    assert!(future::poll_once(close).await.is_none());
    assert!(matches!(fired.recv().await.unwrap(), Reason::ServerClosed));
    (busy, idle, call)
}

#[test]
fn connections_end_with_the_grace_although_nobody_waits_for_the_close() {
    let (tool, fired, _cue, _) = slow_ending();
    let test = async {
        let (busy, idle, _call) = given_up(tool, fired, Duration::from_millis(20)).await;
        busy.ended().await.unwrap();
        idle.ended().await.unwrap();
    };
    within("the end of the connections", test);
}

#[test]
fn handlers_have_the_grace_although_nobody_waits_for_the_close() {
    let (tool, fired, cue, _) = slow_ending();
    let test = async {
        let (_busy, _idle, call) = given_up(tool, fired, Duration::MAX).await;
        cue.send(()).await.unwrap();
        call.answer().await;
    };
    within("the answer", test);
}
