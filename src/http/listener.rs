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
/// readers could understand in two ways is answered with status 400, and its connection is closed.
///
/// # Hang-ups
///
/// While a service works on a request, the connection is watched. When the client closes it, or the connection breaks,
/// the signal of the request fires with [`Reason::Disconnected`](crate::signal::Reason::Disconnected). A client that
/// closes after the last byte of an answer has not hung up. Requests that a client has pipelined are kept, up to
/// 16 KiB; a client that has sent more is no longer watched, and its end is noticed when a write fails.
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

/// The address of a client, in the extensions of its requests if [`Options::peer_addr`] asks for it. Clients on a Unix
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
    /// Fails if the address cannot be resolved or is taken.
    ///
    /// # Blocking
    ///
    /// The name of a host is looked up on the calling thread. An address does not block.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        Self::from_tcp(TcpListener::bind(address)?)
    }

    /// Listens on a Unix socket, which is created at `path`.
    ///
    /// # Errors
    ///
    /// Fails if `path` exists, be it as the socket of a server that has ended: remove that first. It is not removed
    /// when the listener ends.
    pub async fn bind_unix(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::from_unix(UnixListener::bind(path)?)
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
    /// This future accepts and keeps the time, and runs the connections, unless they are to run on
    /// [an executor of the application's](Options::executor). It has to be polled all along.
    ///
    /// # Errors
    ///
    /// Fails if the listening socket does. A lack of descriptors or memory is no failure: accepting pauses then.
    ///
    /// # Cancellation
    ///
    /// Dropping the future closes the listening socket and drops all connections, with the calls that run on them.
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

impl Closer {
    /// Ends the listener: stops accepting, fires the signal of every call with
    /// [`Reason::ServerClosed`](crate::signal::Reason::ServerClosed), lets answers out for as long as `grace`, and then
    /// drops what is left.
    ///
    /// Connections without a call are closed at once; a request whose body has not come as a whole is answered with
    /// status 503. The future is ready when nobody is connected any more. A service that computes without ever awaiting
    /// cannot be dropped, and is not waited for.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the listener closing without an end to the grace. Closing again is harmless.
    pub async fn close(&self, grace: Duration) {
        self.seats.close();
        if !self.seats.emptied_within(grace).await {
            self.seats.abandon();
            self.seats.emptied_within(DROPPING).await;
        }
    }
}
