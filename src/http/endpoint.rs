//! The MCP endpoint: one request in, one response out, without a socket.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};

use super::Body;
use super::accepts::Accepts;
use super::origin::Origins;
use super::post::{self, Begun};
use super::session::{self, Sessions};
use crate::Server;
use crate::era::{self, Offers};
use crate::http::Service;
use crate::protocol::jsonrpc::RpcError;
use crate::server::peer::{Kind, Peer};
use crate::signal::Signal;

/// The path at which [`serve`](super::serve) answers.
const PATH: &str = "/mcp";

/// A server as an HTTP endpoint (MCP 2026-07-28, basic/transports/streamable-http, and the revisions before).
///
/// It is a [`Service`] for a [`Listener`](super::Listener), and [`handle`](Self::handle) serves whoever brings requests
/// by other ways. Cheap to clone.
///
/// # Security
///
/// By default only clients on this machine are served: `Host` has to name a loopback address, and so has `Origin` where
/// a browser sends one. A server that others are to reach says so by [`host`](Self::host) and
/// [`origin`](Self::origin), and stands behind something that authenticates.
///
/// # Examples
///
/// ```
/// use smol_mcp::http::Endpoint;
/// use smol_mcp::{NoInput, Server, Signal, Tool};
///
/// let server = Server::builder("clock", "1.0.0")
///     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
///     .build()?;
/// let endpoint = Endpoint::new(&server);
///
/// let request = http::Request::post("/mcp")
///     .header("host", "127.0.0.1")
///     .header("content-type", "application/json")
///     .header("mcp-protocol-version", "2026-07-28")
///     .header("mcp-method", "tools/call")
///     .header("mcp-name", "now")
///     .body(
///         br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now","_meta":{
///             "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///             "io.modelcontextprotocol/clientCapabilities":{}}}}"#
///             .to_vec(),
///     )?;
/// let response = smol::block_on(endpoint.handle(request, Signal::never()));
/// assert_eq!(response.status(), 200);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Endpoint(pub(super) Arc<Inner>);

#[derive(Clone)]
pub(super) struct Inner {
    pub(super) server: Server,
    pub(super) origins: Origins,
    /// `None` answers at every path.
    pub(super) path: Option<String>,
    /// `None` serves legacy requests independently of each other.
    pub(super) sessions: Option<Arc<Sessions>>,
    /// All requests that belong to no session.
    pub(super) crowd: Arc<Peer>,
    pub(super) keep_alive: Duration,
    pub(super) patience: Duration,
}

impl Endpoint {
    /// Makes an endpoint that answers at `/mcp`, to clients on this machine, with sessions for legacy clients.
    pub fn new(server: &Server) -> Self {
        Self(Arc::new(Inner {
            server: server.clone(),
            origins: Origins::default(),
            path: Some(PATH.to_owned()),
            sessions: Some(Arc::default()),
            crowd: Peer::new(&server.0, Kind::Crowd),
            keep_alive: Duration::from_secs(15),
            patience: Duration::from_secs(2),
        }))
    }

    fn change(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Answers at another path.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Self {
        self.change(|inner| inner.path = Some(path.into()))
    }

    /// Answers at every path: for a router that has looked at it already.
    #[must_use]
    pub fn any_path(self) -> Self {
        self.change(|inner| inner.path = None)
    }

    /// Serves requests to this host name too, whatever the port.
    #[must_use]
    pub fn host(self, name: impl Into<String>) -> Self {
        self.change(|inner| inner.origins.add_host(name.into()))
    }

    /// Serves requests to whatever host name. Only for a server whose callers have to authenticate.
    #[must_use]
    pub fn any_host(self) -> Self {
        self.change(|inner| inner.origins.any_host = true)
    }

    /// Serves web pages of this origin too: `https://app.example`.
    #[must_use]
    pub fn origin(self, origin: impl Into<String>) -> Self {
        self.change(|inner| inner.origins.add_origin(origin.into()))
    }

    /// Serves web pages of whatever origin. Only for a server whose callers have to authenticate.
    #[must_use]
    pub fn any_origin(self) -> Self {
        self.change(|inner| inner.origins.any_origin = true)
    }

    /// Serves legacy clients without sessions, each request for itself.
    ///
    /// For servers behind a load balancer. Such clients cannot cancel by notification then, only by hanging up; there
    /// is no stream for messages that belong to no request.
    #[must_use]
    pub fn sessionless(self) -> Self {
        self.change(|inner| inner.sessions = None)
    }

    /// Bounds the legacy sessions: how many there are at most (default 1,000), and after how much idle time one ends
    /// (default 30 minutes).
    #[must_use]
    pub fn sessions(self, most: usize, idle: Duration) -> Self {
        self.change(|inner| inner.sessions = Some(Arc::new(Sessions::new(most, idle))))
    }

    /// How often a stream without messages shows life (default 15 s). A client that vanished is noticed by it.
    #[must_use]
    pub fn keep_alive(self, period: Duration) -> Self {
        self.change(|inner| inner.keep_alive = period)
    }

    /// How long the answer may take before the response begins as a stream (default 2 s).
    ///
    /// Until then a result or an error is sent as plain JSON with its own status. After it, clients see the head of the
    /// response, so that their timers for the first byte do not run out.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        self.change(|inner| inner.patience = patience)
    }

    /// Answers one request.
    ///
    /// # Cancellation
    ///
    /// Every handler that the request begins gets a signal that fires when `signal` does, with the same reason. So does
    /// dropping the future, or the body of its response before its end, with
    /// [`Reason::Disconnected`](crate::signal::Reason::Disconnected). Then nothing of the call leaves any more, while
    /// the handler runs to its end on the server's executor. The reason
    /// [`ServerClosed`](crate::signal::Reason::ServerClosed) is different: what ends within the grace is still answered.
    pub async fn handle(&self, request: Request<Vec<u8>>, signal: Signal) -> Response<Body> {
        finish(self.begin(request, &signal), signal).await
    }

    /// Takes the request. It is gone by the time that something is waited for.
    fn begin(&self, request: Request<Vec<u8>>, signal: &Signal) -> Begun {
        let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
        if let Some(refusal) = self.refuse(method, path, headers) {
            return Begun::Done(refusal);
        }
        match *method {
            Method::GET => Begun::Done(session::listen(&self.0, headers)),
            Method::DELETE => Begun::Done(session::end(&self.0, headers)),
            _ => post::begin(&self.0, headers, request.body(), signal),
        }
    }

    /// Returns the server that is served.
    pub fn server(&self) -> &Server {
        &self.0.server
    }

    /// Checks what can be checked before the body is looked at.
    fn refuse(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        if self.0.path.as_deref().is_some_and(|own| own != path) {
            return Some(plain(StatusCode::NOT_FOUND, "not found\n"));
        }
        if let Err(why) = self.0.origins.check(headers) {
            return Some(plain(StatusCode::FORBIDDEN, &format!("{why}\n")));
        }
        let legacy = self.0.sessions.is_some() && matches!(*method, Method::GET | Method::DELETE);
        if *method != Method::POST && !legacy {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
            let allowed = if self.0.sessions.is_some() {
                "GET, POST, DELETE"
            } else {
                "POST"
            };
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static(allowed));
            return Some(response);
        }
        None
    }
}

impl Service for Endpoint {
    fn call(
        &self,
        request: Request<Vec<u8>>,
        signal: Signal,
    ) -> impl Future<Output = Response<Body>> + Send {
        finish(self.begin(request, &signal), signal)
    }
}

async fn finish(begun: Begun, signal: Signal) -> Response<Body> {
    match begun {
        Begun::Done(response) => response,
        Begun::Running(waiting) => waiting.wait(&signal).await,
        Begun::Batch(batch) => batch.wait(&signal).await,
    }
}

impl Inner {
    /// What the endpoint offers to legacy clients: without sessions, nothing that needs one.
    pub(super) fn offers(&self) -> Offers {
        match self.sessions {
            Some(_) => self.server.0.offers,
            None => self.server.0.offers,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("server", &self.0.server)
            .field("path", &self.0.path)
            .finish_non_exhaustive()
    }
}

/// What the client accepts as a response.
pub(super) fn accepts(headers: &HeaderMap) -> Accepts {
    Accepts::of(headers.get_all(ACCEPT).iter().map(HeaderValue::as_bytes))
}

/// A response in words, for what is no matter of JSON-RPC.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// A response with one JSON-RPC message, or with nothing.
pub(super) fn json(status: u16, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A response with an error that names no request.
pub(super) fn anonymous(status: u16, error: &RpcError) -> Response<Body> {
    json(status, era::refuse(None, error))
}

/// An accepted message that has no answer.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
