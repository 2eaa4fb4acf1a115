//! When the id of a request may be used again.
#![cfg(feature = "server")]

use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use smol::io::{AsyncRead, AsyncWrite};
use smol_mcp::{NoInput, Server, Tool, lines};

/// Bytes that one side appends and the other takes; nobody is woken.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    fn push(&self, line: &str) {
        let mut bytes = self.0.lock().unwrap();
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }

    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl AsyncRead for Pipe {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut bytes = self.0.lock().unwrap();
        let count = bytes.len().min(buffer.len());
        if count == 0 {
            return Poll::Pending;
        }
        buffer[..count].copy_from_slice(&bytes[..count]);
        bytes.drain(..count);
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A waker that holds up whoever wakes until the test has gone on.
struct Eager {
    woken: mpsc::Sender<()>,
    done: Mutex<mpsc::Receiver<()>>,
}

impl Wake for Eager {
    fn wake(self: Arc<Self>) {
        // At the end of the test nobody listens any more.
        if self.woken.send(()).is_err() {
            return;
        }
        let _ = self
            .done
            .lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(10));
    }
}

#[test]
fn an_id_is_free_as_soon_as_its_answer_can_be_seen() {
    let executor = Arc::new(smol::Executor::new());
    let (open, gate) = smol::channel::bounded::<()>(1);
    let tool = Tool::new("t", move |_: NoInput| {
        let gate = gate.clone();
        async move {
            let _ = gate.recv().await;
            "done"
        }
    });
    let server = Server::builder("t", "0")
        .tool(tool)
        .executor(executor.clone())
        .build()
        .unwrap();
    let (stop, stopped) = smol::channel::bounded::<()>(1);
    let runner = thread::spawn(move || smol::block_on(executor.run(stopped.recv())));

    let (input, output) = (Pipe::default(), Pipe::default());
    let mut serving = pin!(lines::serve(&server, input.clone(), output.clone()));
    let (woken, wakes) = mpsc::channel();
    let (done, waiting) = mpsc::channel();
    let done_at = Mutex::new(waiting);
    let waker = Waker::from(Arc::new(Eager {
        woken,
        done: done_at,
    }));
    let mut serve = || {
        assert!(
            serving
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        )
    };

    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"0"}}}}"#;
    input.push(request);
    serve();
    assert_eq!(output.take(), "");
    // The handler ends on the other thread, which is held up where it tells of the answer.
    open.close();
    wakes.recv_timeout(Duration::from_secs(10)).unwrap();
    serve();
    assert_eq!(output.take(), format!("{answer}\n"));
    input.push(request);
    serve();
    assert_eq!(output.take(), format!("{answer}\n"));
    done.send(()).unwrap();
    stop.close();
    let _ = runner.join().unwrap();
}
