//! What a listener allows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_executor::Executor;
use http::Extensions;

use super::PeerAddr;
use super::head::MOST_HEADERS;
use super::reader::Limits;

/// Tells a request its client.
#[derive(Clone, Copy)]
pub(super) struct Tell(pub(super) fn(&mut Extensions, PeerAddr));

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

/// The limits of a [`Listener`](super::Listener), and where it runs.
///
/// The defaults, in parentheses below, are safe on an open network. A time limit never ends early. It ends late by at
/// most an eighth of the shortest limit, and by at most a second.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use smol_mcp::http::Options;
///
/// let options = Options::new()
///     .max_body(64 * 1024)
///     .head_timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "options change nothing until a listener is given them"]
pub struct Options {
    pub(super) limits: Limits,
    pub(super) head_timeout: Duration,
    pub(super) body_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) write_timeout: Duration,
    pub(super) max_connections: usize,
    pub(super) half_close: bool,
    /// What tells a request its client, if that is wanted. A function, so that other programs do not carry it.
    pub(super) peer_addr: Option<Tell>,
    pub(super) executor: Option<Arc<Executor<'static>>>,
}

impl Options {
    /// Makes the default options.
    pub fn new() -> Self {
        Self {
            limits: Limits {
                head: 64 * 1024,
                headers: 100,
                body: 4 * 1024 * 1024,
            },
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(75),
            write_timeout: Duration::from_secs(30),
            max_connections: 10_000,
            half_close: false,
            peer_addr: None,
            executor: None,
        }
    }

    /// Limits the head of a request, in bytes (64 KiB). A larger one is answered with status 431.
    pub fn max_head(mut self, bytes: usize) -> Self {
        self.limits.head = bytes;
        self
    }

    /// Limits the header lines of a request (100). More are answered with status 431. A limit over 256 counts as 256.
    pub fn max_headers(mut self, count: usize) -> Self {
        self.limits.headers = count.min(MOST_HEADERS);
        self
    }

    /// Limits the body of a request, in bytes (4 MiB). A larger one is answered with status 413 as soon as its length is
    /// announced or exceeded.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.limits.body = bytes;
        self
    }

    /// Limits the time from the first byte of a head to its last, and from a connection to its first byte (30 s). A late
    /// head that has begun is answered with status 408.
    pub fn head_timeout(mut self, limit: Duration) -> Self {
        self.head_timeout = limit;
        self
    }

    /// Limits the time from the end of a head to the end of its body (60 s). A late body is answered with status 408.
    pub fn body_timeout(mut self, limit: Duration) -> Self {
        self.body_timeout = limit;
        self
    }

    /// Limits the time between two requests of a connection (75 s), after which it is closed.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// Limits the time for which a client reads nothing of an answer (30 s). After that it counts as gone.
    pub fn write_timeout(mut self, limit: Duration) -> Self {
        self.write_timeout = limit;
        self
    }

    /// Limits the connections (10,000). Beyond that none is accepted until one ends: clients wait in the backlog.
    ///
    /// A connection carries one request at a time, so this limits requests too. After a hang-up a connection counts until
    /// the future of the service ends.
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count.max(1);
        self
    }

    /// Sets whether a client may close its sending side and still wait for its answer (no).
    ///
    /// On a socket that looks like a hang-up, and counts as one by default. With `true` a hang-up is noticed when a write
    /// fails.
    pub fn half_close(mut self, allowed: bool) -> Self {
        self.half_close = allowed;
        self
    }

    /// Sets whether requests carry a [`PeerAddr`](super::PeerAddr) in their extensions (no).
    pub fn peer_addr(mut self, wanted: bool) -> Self {
        self.peer_addr = match wanted {
            true => Some(Tell(|extensions, peer| _ = extensions.insert(peer))),
            false => None,
        };
        self
    }

    /// Runs connections on `executor`, which the application runs.
    ///
    /// By default they run on the executor of the server that closes the listener
    /// ([`Builder::executor`](crate::Builder::executor)), if there is one, and else within the future that serves the
    /// listener.
    ///
    /// A listener that is served does not keep the executor alive: the connections on it are dropped with it, and so is the
    /// future that serves, if it is a task there.
    pub fn executor(mut self, executor: Arc<Executor<'static>>) -> Self {
        self.executor = Some(executor);
        self
    }

    /// How often the limits on time are looked at.
    pub(super) fn tick(&self) -> Duration {
        let shortest = [
            self.head_timeout,
            self.body_timeout,
            self.idle_timeout,
            self.write_timeout,
        ]
        .into_iter()
        .min()
        .unwrap_or_default();
        (shortest / 8).clamp(Duration::from_millis(1), Duration::from_secs(1))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}
