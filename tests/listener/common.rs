//! A server on a thread of its own, and clients that speak in bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use smol_mcp::http::{Body, Closer, Listener, Options, Service};

/// Long enough for anything that should happen at once, on any machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A listener being served. Dropping it closes the listener and waits for its thread.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) closer: Closer,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Server {
    /// Serves on a free port.
    pub(crate) fn start(service: impl Service) -> Self {
        Self::with(Options::new(), service)
    }

    /// Serves on a free port, with options, on an executor and a thread of its own.
    pub(crate) fn with(options: Options, service: impl Service) -> Self {
        let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
        Self::bound(listener, options, service)
    }

    /// Serves on a TCP listener that the test has made.
    pub(crate) fn bound(listener: Listener, options: Options, service: impl Service) -> Self {
        let address = listener.local_addr().unwrap();
        Self::serve(listener, address, options, service)
    }

    /// Serves a listener whose address is of no interest.
    pub(crate) fn on(listener: Listener, service: impl Service) -> Self {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        Self::serve(listener, nowhere, Options::new(), service)
    }

    fn serve(
        listener: Listener,
        address: SocketAddr,
        options: Options,
        service: impl Service,
    ) -> Self {
        let closer = listener.closer();
        let thread = std::thread::spawn(move || {
            let executor = Arc::new(smol::Executor::new());
            let listener = listener.with_options(options.executor(executor.clone()));
            smol::block_on(executor.run(listener.serve(service)))
        });
        Self {
            address,
            closer,
            thread: Some(thread),
        }
    }

    /// The thread that the connections run on.
    pub(crate) fn thread_id(&self) -> ThreadId {
        self.thread.as_ref().expect("it runs").thread().id()
    }

    /// Connects a client.
    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends bytes on a connection of their own, and returns all that comes until the server closes.
    pub(crate) fn exchange(&self, input: impl AsRef<[u8]>) -> String {
        let mut client = self.connect();
        client.write_all(input.as_ref()).unwrap();
        read_to_end(&mut client)
    }

    /// Waits for the end of `serve`.
    pub(crate) fn join(mut self) -> std::io::Result<()> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            smol::block_on(self.closer.close(Duration::ZERO));
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap().unwrap();
            }
        }
    }
}

/// Connects a client that never waits for ever.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(address).unwrap();
    client.set_nodelay(true).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    client.set_write_timeout(Some(SOON)).unwrap();
    client
}

/// Answers with the request line and the body.
pub(crate) async fn echo(
    request: http::Request<Vec<u8>>,
    _signal: smol_mcp::Signal,
) -> http::Response<Body> {
    let mut text = format!("{} {}\n", request.method(), request.uri()).into_bytes();
    text.extend_from_slice(request.body());
    http::Response::new(Body::full(text))
}

/// Reads to the end. The date is taken out, and an end that is not an orderly one is told.
pub(crate) fn read_to_end(client: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    match client.read_to_end(&mut bytes) {
        Ok(_) => without_date(&bytes),
        Err(err) => format!("{} and then {err}", without_date(&bytes)),
    }
}

/// Reads until the text, with its date taken out, ends with `end`.
pub(crate) fn read_until(client: &mut impl Read, end: &str) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = without_date(&bytes);
        if text.ends_with(end) {
            return text;
        }
        let mut buffer = [0; 4096];
        let count = client.read(&mut buffer).unwrap();
        assert!(count > 0, "the server closed after {text:?}");
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// Replaces the value of each `date` by a dash.
pub(crate) fn without_date(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once("\r\ndate: ") {
        let Some((date, after)) = after.split_at_checked(29) else {
            break;
        };
        assert!(date.ends_with(" GMT"), "{date:?}");
        out.push_str(before);
        out.push_str("\r\ndate: -");
        rest = after;
    }
    out + rest
}

/// Ends a connection with a reset.
pub(crate) fn reset(client: TcpStream) {
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
}

/// Closes the sending side.
pub(crate) fn half_close(client: &TcpStream) {
    client.shutdown(Shutdown::Write).unwrap();
}
