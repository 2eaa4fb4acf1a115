//! Sockets: accepting, HTTP/1.1 framing, limits, hang-ups, and the end.

mod accept;
mod answer;
mod chunked;
mod connection;
mod date;
mod encode;
mod head;
mod input;
mod options;
mod reader;
mod refusal;
mod scan;
mod seats;
mod socket;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_executor::Executor;
use async_io::Async;

pub use self::options::Options;

use self::accept::Acceptor;
use self::seats::Seats;
use crate::Error;
use crate::executor;
use crate::http::Service;
use crate::readiness::Readiness;

/// How many clients may wait to be accepted, if the system allows that many.
const BACKLOG: i32 = 4096;
/// How long a close waits for the executor to drop what is left after the grace.
const DROPPING: Duration = Duration::from_millis(500);

/// An HTTP/1.1 server on a TCP or Unix socket.
///
/// It speaks HTTP/1.0 and HTTP/1.1 with persistent connections and pipelining, and is strict: a request that two
/// servers could read in two ways gets status 400, and its connection is closed.
///
/// # Hang-ups
///
/// While a service works on a request, the connection is watched. When the client closes it, or the connection breaks,
/// the signal of the request fires with [`Reason::Disconnected`](crate::signal::Reason::Disconnected). A client that
/// closes after the last byte of an answer has not hung up. Up to 16 KiB of pipelined requests are kept; a client that
/// has sent more is no longer watched, and its hang-up is noticed when a write fails.
///
/// # Examples
///
/// ```no_run
/// use smol_mcp::Signal;
/// use smol_mcp::http::{Body, Listener};
///
/// # fn main() -> std::io::Result<()> {
/// smol::block_on(async {
///     let listener = Listener::bind("127.0.0.1:8080").await?;
///     listener
///         .serve(|_request: http::Request<Vec<u8>>, _signal: Signal| async {
///             http::Response::new(Body::full("hello\n"))
///         })
///         .await
/// })
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a listener answers nobody until it serves"]
pub struct Listener {
    socket: OwnedFd,
    address: Option<SocketAddr>,
    seats: Arc<Seats>,
    options: Options,
}

/// The address of a client, in the extensions of its requests if [`Options::peer_addr`] is set. Clients on a Unix
/// socket have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// Ends a [`Listener`] that is being served. Clones end the same one.
#[derive(Clone, Debug)]
pub struct Closer {
    seats: Arc<Seats>,
}

impl Listener {
    /// Listens on a TCP address; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be resolved or is taken. The message names the address; the error of the operating
    /// system, with its number, is the [source](std::error::Error::source).
    ///
    /// # Blocking
    ///
    /// A host name is looked up on the calling thread. An IP address does not block.
    pub async fn bind(address: impl ToSocketAddrs + fmt::Debug) -> io::Result<Self> {
        let listener = TcpListener::bind(&address).and_then(Self::from_tcp);
        listener.map_err(|err| unheard(&address, err))
    }

    /// Listens on a Unix socket, which is created at `path`.
    ///
    /// Whoever may write to it may connect. A folder that is the server's alone keeps others out from the first moment on.
    ///
    /// # Errors
    ///
    /// Fails if `path` exists, also as the socket of a server that has ended: remove it first. The listener does not remove
    /// it when it ends. The message names the path.
    pub async fn bind_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let listener = UnixListener::bind(path).and_then(Self::from_unix);
        listener.map_err(|err| unheard(&path, err))
    }

    /// Takes over a TCP socket that listens, for example one that was inherited.
    ///
    /// # Errors
    ///
    /// Fails if the socket does not listen, or cannot be made non-blocking.
    pub fn from_tcp(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        Self::new(listener.into(), Some(address))
    }

    /// Takes over a Unix socket that listens.
    ///
    /// # Errors
    ///
    /// Fails if the socket does not listen, or cannot be made non-blocking.
    pub fn from_unix(listener: UnixListener) -> io::Result<Self> {
        Self::new(listener.into(), None)
    }

    fn new(socket: OwnedFd, address: Option<SocketAddr>) -> io::Result<Self> {
        // The standard library asks for 128, which a burst of clients overruns.
        rustix::net::listen(&socket, BACKLOG)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self {
            socket,
            address,
            seats: Arc::new(Seats::new()),
            options: Options::new(),
        })
    }

    /// Sets the options.
    pub fn with_options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Runs connections on this executor, unless the options name one.
    pub(super) fn with_executor(mut self, executor: &Arc<Executor<'static>>) -> Self {
        self.options
            .executor
            .get_or_insert_with(|| executor.clone());
        self
    }

    /// Returns the TCP address that is listened on.
    ///
    /// # Errors
    ///
    /// Fails on a Unix socket, which has none.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.address.ok_or(io::ErrorKind::Unsupported.into())
    }

    /// Returns a handle that ends the listener from elsewhere.
    pub fn closer(&self) -> Closer {
        Closer {
            seats: self.seats.clone(),
        }
    }

    /// Serves clients until the listener is closed.
    ///
    /// This future accepts connections and keeps the time limits. It also runs the connections, unless
    /// [an executor](Options::executor) does. It has to be polled throughout.
    ///
    /// # Errors
    ///
    /// Fails if the listening socket does. While descriptors or memory are lacking, accepting pauses instead.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes the listening socket and drops all connections, with the futures of the service.
    pub async fn serve<S: Service>(self, service: S) -> io::Result<()> {
        // Not before: clients connect while the reactor begins.
        let socket = Async::new_nonblocking(self.socket)?;
        let mut options = self.options;
        let chosen = options.executor.take();
        self.seats.begin(options);
        executor::within(chosen, |executor| {
            let mut acceptor = Acceptor {
                executor: Arc::downgrade(executor),
                tcp: self.address.is_some(),
                socket: Some(socket),
                seats: self.seats,
                service: Arc::new(service),
                may_have_clients: true,
                readable: Readiness::default(),
                pause: None,
                tick: None,
            };
            poll_fn(move |cx| acceptor.poll(cx))
        })
        .await
    }
}

/// Says where nobody listens.
#[cold]
fn unheard(address: &dyn fmt::Debug, err: io::Error) -> io::Error {
    Error::io(format!("cannot listen on {address:?}"), err).into()
}

impl Closer {
    /// Ends the listener: stops accepting, fires the signal of every request with
    /// [`Reason::ServerClosed`](crate::signal::Reason::ServerClosed), sends answers for as long as `grace`, and then
    /// drops what is left.
    ///
    /// Connections without a request are closed at once; a request whose body is incomplete gets status 503. The future is
    /// ready when nobody is connected any more. A service that computes without ever awaiting cannot be dropped, and is
    /// not waited for.
    ///
    /// # Cancellation
    ///
    /// If the future is dropped, the listener goes on closing, and the grace never ends. Closing again is harmless.
    pub async fn close(&self, grace: Duration) {
        self.seats.close();
        if !self.seats.emptied_within(grace).await {
            self.seats.abandon();
            self.seats.emptied_within(DROPPING).await;
        }
    }
}
