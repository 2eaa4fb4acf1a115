//! The MCP endpoint: one request in, one response out, without a socket.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderValue, ORIGIN};
use http::{HeaderMap, Method, Request, Response, StatusCode};

use super::Body;
use super::authorize::{self, Authorizer, Challenge, Head, ProtectedResource, Published};
use super::cors::{self, Cors};
use super::events::EventStore;
use super::origin::Origins;
use super::post::{self, Begun};
use super::respond::{not_allowed, plain};
use super::resume::{Resume, Resumption};
use super::session;
use super::sessions::Sessions;
use crate::era;
use crate::executor::Spawner;
use crate::http::Service;
use crate::server::dispatch::Caller;
use crate::server::peer::{Kind, Peer};
use crate::signal::Signal;
use crate::{Principal, Server};

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
/// [`origin`](Self::origin), and knows its callers by [`authorize`](Self::authorize), or stands behind something that
/// does.
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
#[must_use = "an endpoint answers nobody until it is served"]
pub struct Endpoint(pub(super) Arc<Inner>);

#[derive(Clone)]
pub(super) struct Inner {
    pub(super) server: Server,
    /// Where handlers run, if the server says so.
    spawner: Option<Spawner>,
    pub(super) origins: Origins,
    /// `None` answers at every path.
    pub(super) path: Option<String>,
    /// `None` serves legacy requests independently of each other.
    pub(super) sessions: Option<Arc<Sessions>>,
    /// All requests that belong to no session.
    pub(super) crowd: Arc<Peer>,
    pub(super) keep_alive: Duration,
    pub(super) patience: Duration,
    /// Keeps the events of sessions. Without it none of them has an id.
    pub(super) store: Option<Arc<dyn Resume>>,
    /// Whether a hang-up aborts a call of a session, if that was said.
    pub(super) aborts: Option<bool>,
    /// When a client comes back to a stream that a handler has let go of.
    pub(super) retry: Duration,
    // What follows is behind functions and traits, so that programs without it do not carry it.
    authorizer: Option<Arc<Authorizer>>,
    pub(super) resource: Option<Arc<dyn Published>>,
    cors: Option<&'static Cors>,
}

impl Endpoint {
    /// Makes an endpoint that answers at `/mcp`, to clients on this machine, with sessions for legacy clients.
    pub fn new(server: &Server) -> Self {
        Self(Arc::new(Inner {
            server: server.clone(),
            spawner: server.0.executor().as_ref().map(Spawner::on),
            origins: Origins::default(),
            path: Some(PATH.to_owned()),
            sessions: Some(Arc::default()),
            crowd: Peer::new(&server.0, Kind::Crowd),
            keep_alive: Duration::from_secs(15),
            patience: Duration::from_secs(2),
            store: None,
            aborts: None,
            retry: Duration::from_secs(1),
            authorizer: None,
            resource: None,
            cors: None,
        }))
    }

    fn change(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Answers at another path. `mcp` is the same as `/mcp`.
    pub fn path(self, path: impl Into<String>) -> Self {
        let mut path = path.into();
        if !path.starts_with('/') {
            path.insert(0, '/');
        }
        self.change(|inner| inner.path = Some(path))
    }

    /// Answers at every path: for a router that has looked at it already.
    pub fn any_path(self) -> Self {
        self.change(|inner| inner.path = None)
    }

    /// Serves requests to this host name too, whatever the port: `notes.example`, not an address with a scheme or a path.
    pub fn host(self, name: impl Into<String>) -> Self {
        self.change(|inner| inner.origins.add_host(name.into()))
    }

    /// Serves requests to whatever host name. Only for a server whose callers have to authenticate.
    pub fn any_host(self) -> Self {
        self.change(|inner| inner.origins.any_host = true)
    }

    /// Serves web pages of this origin too: `https://app.example`.
    pub fn origin(self, origin: impl Into<String>) -> Self {
        self.change(|inner| inner.origins.add_origin(origin.into()))
    }

    /// Serves web pages of whatever origin. Only for a server whose callers have to authenticate.
    pub fn any_origin(self) -> Self {
        self.change(|inner| inner.origins.any_origin = true)
    }

    /// Serves legacy clients without sessions, each request for itself.
    ///
    /// For servers behind a load balancer. Such clients cannot cancel by notification then, only by hanging up; there
    /// is no stream for messages that belong to no request.
    pub fn sessionless(self) -> Self {
        self.change(|inner| inner.sessions = None)
    }

    /// Bounds the legacy sessions: how many there are at most (default 1,000), and after how much idle time one ends
    /// (default 30 minutes). Idle is a session whose client has no stream open and waits for no answer; what still runs for it
    /// is aborted at its end. What a client says of itself at the beginning of one may take 64 KiB.
    pub fn sessions(self, most: usize, idle: Duration) -> Self {
        self.change(|inner| inner.sessions = Some(Arc::new(Sessions::new(most, idle))))
    }

    /// Keeps the events of sessions, so that a client whose stream broke can have them again (default: nothing is kept).
    ///
    /// With a store every event of a session has an id, and a GET with `Last-Event-ID` continues the stream that the id
    /// names, and no other. A client that hangs up can come back for its answer once it has seen an event, so from then on its
    /// handler runs on, until the session [is idle](Self::sessions) for too long. Clients of 2025-11-25 may also be sent
    /// away by [`Context::release_stream`](crate::Context::release_stream).
    /// Without sessions, and for clients of 2026-07-28 and later, it changes nothing.
    pub fn event_store(self, store: impl EventStore) -> Self {
        self.change(|inner| inner.store = Some(Arc::new(Resumption(Arc::new(store)))))
    }

    /// Whether a client of a session that hangs up has its call aborted.
    ///
    /// By default it has, unless there is an [event store](Self::event_store) and the response has begun as a stream: else
    /// nobody could fetch the result.
    /// The legacy protocol wants clients to cancel by notification and to hang up as they like, yet those that hang up
    /// without coming back are more. Calls outside of sessions are aborted in any case.
    pub fn abort_on_hang_up(self, abort: bool) -> Self {
        self.change(|inner| inner.aborts = Some(abort))
    }

    /// After how long a client comes back to a stream that its handler has
    /// [let go of](crate::Context::release_stream) (default 1 s).
    pub fn retry(self, delay: Duration) -> Self {
        self.change(|inner| inner.retry = delay)
    }

    /// How often a stream without messages shows life (default 15 s). A client that vanished is noticed by it.
    /// A period of zero turns it off.
    pub fn keep_alive(self, period: Duration) -> Self {
        let period = if period.is_zero() {
            Duration::MAX
        } else {
            period
        };
        self.change(|inner| inner.keep_alive = period)
    }

    /// How long the answer may take before the response begins as a stream (default 2 s).
    ///
    /// Until then a result or an error is sent as plain JSON with its own status. After it, clients see the head of the
    /// response, so that their timers for the first byte do not run out.
    pub fn patience(self, patience: Duration) -> Self {
        self.change(|inner| inner.patience = patience)
    }

    /// Asks the application about every request: whom it comes from, or what its client is told instead.
    ///
    /// It is asked after `Origin`, `Host` and the HTTP method have been looked at, and before the body is. Handlers find
    /// the [`Principal`] by [`Context::principal`](crate::Context::principal). A legacy session is served to the principal
    /// that opened it alone; to others it does not exist. It is for the application to see that a token is valid, not
    /// expired, and issued for this very server. (MCP 2026-07-28, basic/authorization)
    ///
    /// # Cancellation
    ///
    /// A decision that is waited for is dropped when the client hangs up.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::http::{Challenge, Endpoint, ProtectedResource, bearer};
    /// use smol_mcp::{Context, NoInput, Principal, Server, Tool};
    ///
    /// async fn whoami(_: NoInput, cx: Context) -> String {
    ///     cx.principal().map_or("nobody", Principal::id).to_owned()
    /// }
    ///
    /// let server = Server::builder("who", "1.0.0").tool(Tool::new("whoami", whoami)).build()?;
    /// let endpoint = Endpoint::new(&server)
    ///     .protected_resource(ProtectedResource::new("https://who.example/mcp", "https://login.example"))
    ///     .authorize(|parts| async move {
    ///         match bearer(&parts.headers) {
    ///             Some("secret") => Ok(Principal::new("ada")),
    ///             Some(_) => Err(Challenge::invalid_token()),
    ///             None => Err(Challenge::unauthorized()),
    ///         }
    ///     });
    /// # let _ = endpoint;
    /// # Ok::<_, smol_mcp::Error>(())
    /// ```
    pub fn authorize<F, Fut>(self, decide: F) -> Self
    where
        F: Fn(http::request::Parts) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Principal, Challenge>> + Send + 'static,
    {
        let authorizer = authorize::authorizer(move |parts| Box::pin(decide(parts)));
        self.change(|inner| inner.authorizer = Some(authorizer))
    }

    /// Publishes where clients get tokens: at `/.well-known/oauth-protected-resource`, there with the path of the
    /// resource behind it, and in the header of every [`Challenge`]. It is public, and answered to GET.
    ///
    /// A router has to lead those paths to the endpoint too.
    pub fn protected_resource(self, resource: ProtectedResource) -> Self {
        self.change(|inner| inner.resource = Some(Arc::new(resource)))
    }

    /// Tells browsers that pages of the [origins](Self::origin) that are served may read answers (CORS, off by default).
    ///
    /// Questions of browsers beforehand (`OPTIONS`) are answered then, before anybody is asked for credentials.
    pub fn cors(self) -> Self {
        self.change(|inner| inner.cors = Some(&cors::CORS))
    }

    /// Answers one request.
    ///
    /// # Cancellation
    ///
    /// Every handler that the request begins gets a signal that fires when `signal` does, with the same reason. So does
    /// dropping the future, or the body of its response before its end, with
    /// [`Reason::Disconnected`](crate::signal::Reason::Disconnected), a reason that handlers are not told which
    /// [run on](Self::abort_on_hang_up) for a client that may come back. Then nothing of the call leaves any more, while
    /// the handler runs to its end, where [`Builder::executor`](crate::Builder::executor) says. The reason
    /// [`ServerClosed`](crate::signal::Reason::ServerClosed) is different: what ends within the grace is still answered, and
    /// what would not end by itself, a subscription or the stream of a session, does at once.
    pub async fn handle(&self, request: Request<Vec<u8>>, signal: Signal) -> Response<Body> {
        self.call(request, signal).await
    }

    /// Begins a request in place. It is gone by the time that something is waited for, unless it is to be authorized.
    pub(super) fn serve(
        &self,
        request: Request<Vec<u8>>,
        signal: Signal,
        spawner: &Spawner,
    ) -> impl Future<Output = Response<Body>> + Send + use<> {
        let origin = self.0.cors_origin(request.headers());
        let (method, path, headers) = (request.method(), request.uri().path(), request.headers());
        let begun = match (self.0.refuse(method, path, headers), &self.0.authorizer) {
            (Some(response), _) => Ok(Begun::Done(response)),
            (None, None) => {
                let signal = &signal;
                Ok(self.0.begin(&request, None, Caller { signal, spawner }))
            }
            (None, Some(authorizer)) => {
                Err(authorizer(self.0.clone(), request, signal.clone(), spawner))
            }
        };
        async move {
            let begun = match begun {
                Ok(begun) => begun,
                Err(undecided) => undecided.await,
            };
            let mut response = match begun {
                Begun::Done(response) => response,
                Begun::Running(waiting) => waiting.wait(&signal).await,
                Begun::Batch(response) => response.await,
            };
            if let Some((cors, origin)) = origin {
                (cors.open)(&mut response, origin);
            }
            response
        }
    }

    /// Returns the server that is served.
    pub fn server(&self) -> &Server {
        &self.0.server
    }
}

impl Service for Endpoint {
    fn call(
        &self,
        request: Request<Vec<u8>>,
        signal: Signal,
    ) -> impl Future<Output = Response<Body>> + Send {
        match &self.0.spawner {
            Some(spawner) => self.serve(request, signal, spawner),
            None => self.serve(request, signal, &Spawner::global()),
        }
    }
}

impl Inner {
    /// Checks what can be checked before anything else is looked at, and answers what is no matter of MCP.
    fn refuse(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
        let metadata = self.resource.as_ref().filter(|own| own.is_at(path));
        if metadata.is_none() && self.path.as_deref().is_some_and(|own| own != path) {
            return Some(plain(StatusCode::NOT_FOUND, "not found\n"));
        }
        if let Err(why) = self.origins.check(headers) {
            return Some(plain(StatusCode::FORBIDDEN, &format!("{why}\n")));
        }
        if let Some(answer) = self.cors.and_then(|cors| (cors.preflight)(method, headers)) {
            return Some(answer);
        }
        if let Some(metadata) = metadata {
            return Some(match *method {
                Method::GET => metadata.respond(),
                _ => not_allowed("GET"),
            });
        }
        let head = Head {
            headers,
            principal: None,
        };
        let legacy = self.sessions.is_some() && !era::names_modern_version(&head);
        match *method {
            Method::POST => None,
            Method::GET | Method::DELETE if legacy => None,
            _ if legacy => Some(not_allowed("GET, POST, DELETE")),
            _ => Some(not_allowed("POST")),
        }
    }

    /// Takes a request that may be served.
    pub(super) fn begin(
        self: &Arc<Self>,
        request: &Request<Vec<u8>>,
        principal: Option<&Principal>,
        caller: Caller<'_>,
    ) -> Begun {
        let head = Head {
            headers: request.headers(),
            principal,
        };
        if let Some(refusal) = session::refuse_repeated(head.headers) {
            return Begun::Done(refusal);
        }
        match *request.method() {
            Method::GET => Begun::Done(session::listen(self, &head, caller.signal)),
            Method::DELETE => Begun::Done(session::end(self, &head)),
            _ => post::begin(self, &head, request.body(), caller),
        }
    }

    /// The origin of a web page that is to be let read the answer.
    fn cors_origin(&self, headers: &HeaderMap) -> Option<(&'static Cors, HeaderValue)> {
        let cors = self.cors?;
        let origin = headers.get(&ORIGIN)?;
        let is_served = self.origins.check(headers).is_ok();
        is_served.then(|| (cors, origin.clone()))
    }

    /// Tells whether a call of a session runs on when its client hangs up.
    pub(super) fn runs_on(&self) -> bool {
        !self.aborts.unwrap_or(self.store.is_none())
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
