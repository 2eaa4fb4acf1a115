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
use crate::{Error, Principal, Server};

/// The path at which [`serve`](super::serve) answers.
const PATH: &str = "/mcp";

/// A server as an HTTP endpoint (MCP 2026-07-28, basic/transports/streamable-http, and the revisions before).
///
/// It is a [`Service`] for a [`Listener`](super::Listener); [`handle`](Self::handle) takes requests from anything else.
/// Cheap to clone.
///
/// # Security
///
/// By default `Host` has to be `localhost`, `127.0.0.1` or `[::1]`, and so has the host of `Origin`, which browsers send.
/// Other requests get status 403. This keeps web pages from reaching a local server by DNS rebinding. It does not keep out
/// clients that choose their headers: listen on a loopback address, or [`authorize`](Self::authorize) callers. Other names
/// of the server are allowed by [`host`](Self::host) and [`origin`](Self::origin).
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
    /// Makes an endpoint that answers at `/mcp`, under [loopback names](Self#security), with sessions for legacy clients.
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

    /// Answers at another path than `/mcp`. `notes` is the same as `/notes`.
    pub fn path(self, path: impl Into<String>) -> Self {
        let mut path = path.into();
        if !path.starts_with('/') {
            path.insert(0, '/');
        }
        self.change(|inner| inner.path = Some(path))
    }

    /// Answers at every path: for a router that has checked it already.
    pub fn any_path(self) -> Self {
        self.change(|inner| inner.path = None)
    }

    /// Serves requests to this host name too, with any port. The name is `notes.example`, without a scheme or a path.
    ///
    /// # Errors
    ///
    /// Fails if no client can name such a host; the message names it.
    pub fn host(mut self, name: impl Into<String>) -> Result<Self, Error> {
        let inner = Arc::make_mut(&mut self.0);
        inner.origins.add_host(&name.into())?;
        Ok(self)
    }

    /// Serves requests to any host name. Use it only for a server whose callers have to authenticate.
    pub fn any_host(self) -> Self {
        self.change(|inner| inner.origins.any_host = true)
    }

    /// Serves web pages of this origin too: `https://app.example`.
    ///
    /// # Errors
    ///
    /// Fails if no page can have such an origin; the message names it.
    pub fn origin(mut self, origin: impl Into<String>) -> Result<Self, Error> {
        let inner = Arc::make_mut(&mut self.0);
        inner.origins.add_origin(&origin.into())?;
        Ok(self)
    }

    /// Serves web pages of any origin. Use it only for a server whose callers have to authenticate.
    pub fn any_origin(self) -> Self {
        self.change(|inner| inner.origins.any_origin = true)
    }

    /// Serves legacy clients without sessions: each request stands alone.
    ///
    /// This is for servers behind a load balancer. Legacy clients can then cancel only by hanging up, and there is no
    /// stream for messages that belong to no request.
    pub fn sessionless(self) -> Self {
        self.change(|inner| inner.sessions = None)
    }

    /// Limits the legacy sessions: how many there are (default 1,000), and after how much idle time one ends (default
    /// 30 minutes). A session is idle while its client has no stream open and waits for no answer; what still runs for it is
    /// aborted at its end. When there is no room, `initialize` gets status 503. What a client says of itself in `initialize`
    /// may take 64 KiB.
    pub fn sessions(self, most: usize, idle: Duration) -> Self {
        self.change(|inner| inner.sessions = Some(Arc::new(Sessions::new(most, idle))))
    }

    /// Keeps the events of sessions, so that a client whose stream broke can get them again (default: nothing is kept).
    ///
    /// With a store every event of a session has an id, and a GET with `Last-Event-ID` continues the stream that the id
    /// names, and no other. A client that has seen an event can come back for its answer, so its handler runs on after a
    /// hang-up, until the session has been [idle](Self::sessions) for too long. For clients of 2025-11-25,
    /// [`Context::release_stream`](crate::Context::release_stream) ends streams early.
    /// Without sessions, and for clients of 2026-07-28 and later, a store changes nothing.
    pub fn event_store(self, store: impl EventStore) -> Self {
        self.change(|inner| inner.store = Some(Arc::new(Resumption(Arc::new(store)))))
    }

    /// Sets whether a hang-up fires the signals of calls in a session.
    ///
    /// By default it does, unless there is an [event store](Self::event_store) and the response has begun as a stream:
    /// only then can the client fetch the result later. By the legacy protocol a hang-up is no cancellation (MCP
    /// 2025-11-25, basic/transports), yet most clients that hang up do not come back. Outside sessions a hang-up always fires
    /// the signal.
    pub fn abort_on_hang_up(self, abort: bool) -> Self {
        self.change(|inner| inner.aborts = Some(abort))
    }

    /// Sets after how long a client comes back to a stream that its handler has
    /// [released](crate::Context::release_stream) (default 1 s).
    pub fn retry(self, delay: Duration) -> Self {
        self.change(|inner| inner.retry = delay)
    }

    /// Sets how often a stream without messages carries a comment (default 15 s), which is how a client that vanished is
    /// noticed. Zero turns it off.
    pub fn keep_alive(self, period: Duration) -> Self {
        let period = if period.is_zero() {
            Duration::MAX
        } else {
            period
        };
        self.change(|inner| inner.keep_alive = period)
    }

    /// Sets how long the answer may take before the response begins as a stream (default 2 s).
    ///
    /// Until then a result or an error is sent as plain JSON with its status. After that, clients get the head of the
    /// response, so that their timeouts for the first byte do not expire.
    pub fn patience(self, patience: Duration) -> Self {
        self.change(|inner| inner.patience = patience)
    }

    /// Sets the function that authorizes every request: it returns the principal of the request, or what the client is told
    /// instead.
    ///
    /// It is called after `Origin`, `Host` and the HTTP method have been checked, and before the body is parsed. Handlers
    /// get the [`Principal`] from [`Context::principal`](crate::Context::principal). A legacy session is served only to the
    /// principal that opened it; for others it does not exist. The application has to check that a token is valid, not
    /// expired, and issued for this server. (MCP 2026-07-28, basic/authorization)
    ///
    /// # Cancellation
    ///
    /// The future of the function is dropped when the client hangs up.
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
    ///     .protected_resource(ProtectedResource::new("https://who.example/mcp", "https://login.example"))?
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

    /// Publishes where clients get tokens: in answer to a GET at `/.well-known/oauth-protected-resource`, also with the path
    /// of the resource appended, and in the header of every [`Challenge`]. It needs no authorization.
    ///
    /// A router has to route those paths to the endpoint too.
    ///
    /// # Errors
    ///
    /// Fails if the resource or an authorization server is no address with `https://` or `http://`; the message names it.
    pub fn protected_resource(self, resource: ProtectedResource) -> Result<Self, Error> {
        resource.check()?;
        Ok(self.change(|inner| inner.resource = Some(Arc::new(resource))))
    }

    /// Lets browsers give answers to pages of the [origins](Self::origin) that are served (CORS; off by default).
    ///
    /// Preflight requests (`OPTIONS`) are then answered without authorization.
    pub fn cors(self) -> Self {
        self.change(|inner| inner.cors = Some(&cors::CORS))
    }

    /// Answers one request.
    ///
    /// # Cancellation
    ///
    /// The signals of the handlers that the request begins fire when `signal` does, with the same reason. They also fire
    /// when the future, or the body of its response before its end, is dropped, with
    /// [`Reason::Disconnected`](crate::signal::Reason::Disconnected); handlers that [run on](Self::abort_on_hang_up) for a
    /// client that may come back are not told that. Then nothing of the call is sent any more, while the handler runs to
    /// its end ([where](crate::Builder::executor)). If the reason is
    /// [`ServerClosed`](crate::signal::Reason::ServerClosed), handlers that end within the grace are still answered, and what
    /// would not end by itself, a subscription or the stream of a session, ends at once.
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
