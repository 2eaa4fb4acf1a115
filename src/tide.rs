//! MCP in a tide app: an endpoint to mount, and a listener that notices when a client leaves.
//!
//! ```no_run
//! use smol_mcp::{NoInput, Server, Tool};
//!
//! let server = Server::builder("clock", "1.0.0")
//!     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
//!     .build()?;
//! let mut app = tide::new();
//! app.at("/mcp").all(smol_mcp::tide::endpoint(&server));
//! smol::block_on(app.listen(smol_mcp::tide::listener("127.0.0.1:8080")))?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Ordinary endpoints
//!
//! Every endpoint of an app on [`listener`] finds the [`Signal`] of its request, which fires when the client hangs up and
//! when the listener closes:
//!
//! ```
//! use std::time::Duration;
//! use smol_mcp::Signal;
//!
//! async fn slow(request: tide::Request<()>) -> tide::Result {
//!     let signal = request.ext::<Signal>().cloned().unwrap_or_default();
//!     signal.sleep(Duration::from_secs(10)).await?;
//!     Ok("done".into())
//! }
//!
//! let mut app = tide::new();
//! app.at("/slow").get(slow);
//! ```
//!
//! # The end
//!
//! Closing a [`Server`] leaves the app listening, as it may serve more than that. For an app that is to end with the
//! server see [`Listener::closes_with`]; to end it otherwise, bind an [`http::Listener`], keep its
//! [`closer`](http::Listener::closer), and pass the listener to [`listener`].
//!
//! An app with several servers closes them and its listener side by side:
//!
//! ```no_run
//! use std::time::Duration;
//! use smol::future::{or, pending, zip};
//! use smol_mcp::http::Listener;
//! use smol_mcp::{Server, tide::listener};
//!
//! # async fn interrupt() {}
//! async fn serve(app: tide::Server<()>, notes: Server, admin: Server) -> std::io::Result<()> {
//!     let socket = Listener::bind("127.0.0.1:8080").await?;
//!     let closer = socket.closer();
//!     let stop = async {
//!         interrupt().await;
//!         let grace = Duration::from_secs(10);
//!         zip(closer.close(grace), zip(notes.close(grace), admin.close(grace))).await;
//!         pending().await // Listening ends by itself.
//!     };
//!     or(app.listen(listener(socket)), stop).await
//! }
//! # let _ = serve;
//! ```
//!
//! # Metadata
//!
//! With [`protected_resource`](http::Endpoint::protected_resource) the endpoint is to be mounted a second time, at
//! `/.well-known/oauth-protected-resource` with the path of the resource behind it.
//!
//! # Listeners
//!
//! The endpoint works under every listener of tide; what it can notice depends on it.
//!
//! | | [`listener`] | tide's stock listener |
//! |---|---|---|
//! | a client hangs up while its answer is to be JSON | noticed at once | not noticed |
//! | a client hangs up while its answer is streamed | noticed at once | noticed when a write fails: at the next message or keep-alive comment |
//! | the handlers of other endpoints of the app | find the request's [`Signal`] by `req.ext::<Signal>()` | find none |
//! | a request's body | read as a whole before the endpoint runs, up to [`Options::max_body`](crate::http::Options::max_body) | streamed |

mod convert;

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tide::listener::ListenInfo;
use tide::utils::async_trait;

use self::convert::{Addresses, Original};
use crate::http::{self, Body, Service};
use crate::{Server, Signal};

/// Makes the endpoint of a server, with sessions for legacy clients, for clients on this machine.
///
/// For other settings turn an [`http::Endpoint`] into one by `Endpoint::from`.
pub fn endpoint(server: &Server) -> Endpoint {
    http::Endpoint::new(server).into()
}

/// Makes a listener for [`tide::Server::listen`] from an address, or from an [`http::Listener`] with its options.
///
/// Port 0 takes a free port; to know which, bind an [`http::Listener`] and ask for its address.
pub fn listener(source: impl Into<Listener>) -> Listener {
    source.into()
}

/// An MCP endpoint for [`tide::Route::all`](tide::Route::all). The route decides about the path.
#[derive(Clone, Debug)]
#[must_use = "an endpoint answers nobody until a route has it"]
pub struct Endpoint(http::Endpoint);

impl From<http::Endpoint> for Endpoint {
    fn from(endpoint: http::Endpoint) -> Self {
        Self(endpoint.any_path())
    }
}

#[async_trait]
impl<State: Clone + Send + Sync + 'static> tide::Endpoint<State> for Endpoint {
    async fn call(&self, mut request: tide::Request<State>) -> tide::Result {
        let signal = request.ext::<Signal>().cloned().unwrap_or_default();
        let inner: &mut tide::http::Request = request.as_mut();
        let original: Option<Original> = inner.ext_mut().remove();
        let ours = original.is_some();
        let translated = match convert::request_out(inner, original).await {
            Ok(translated) => translated,
            Err(status) => return Ok(tide::Response::new(status)),
        };
        let response = self.0.handle(translated, signal).await;
        Ok(convert::response_in(response, ours).into())
    }
}

/// A listener that is not bound yet.
#[derive(Debug)]
#[must_use = "a listener answers nobody until an app listens on it"]
pub struct Listener {
    source: Source,
    server: Option<Server>,
}

impl Listener {
    /// Ends when `server` is [closed](Server::close): answers leave within its grace, then connections are dropped. Only one
    /// server can be named; of several calls the last counts. For an app with several see [the end](self#the-end).
    ///
    /// A tide app may hold more than the server, so that it does not end with it by itself. Connections run on the
    /// executor of the server then, if it was given one and [`Options::executor`](http::Options::executor) names no other.
    pub fn closes_with(mut self, server: &Server) -> Self {
        self.server = Some(server.clone());
        self
    }
}

impl From<Source> for Listener {
    fn from(source: Source) -> Self {
        Self {
            source,
            server: None,
        }
    }
}

#[derive(Debug)]
enum Source {
    Address(String),
    Bound(http::Listener),
}

impl From<&str> for Listener {
    fn from(address: &str) -> Self {
        Source::Address(address.to_owned()).into()
    }
}

impl From<String> for Listener {
    fn from(address: String) -> Self {
        Source::Address(address).into()
    }
}

impl From<SocketAddr> for Listener {
    fn from(address: SocketAddr) -> Self {
        Source::Address(address.to_string()).into()
    }
}

impl From<http::Listener> for Listener {
    fn from(listener: http::Listener) -> Self {
        Source::Bound(listener).into()
    }
}

impl<State: Clone + Send + Sync + 'static> tide::listener::ToListener<State> for Listener {
    type Listener = AppListener<State>;

    fn to_listener(self) -> io::Result<Self::Listener> {
        Ok(AppListener {
            source: Some(self.source),
            server: self.server,
            app: None,
            info: None,
        })
    }
}

/// A listener of one app; what [`Listener`] becomes when the app listens.
pub struct AppListener<State> {
    source: Option<Source>,
    server: Option<Server>,
    app: Option<tide::Server<State>>,
    info: Option<ListenInfo>,
}

#[async_trait]
impl<State: Clone + Send + Sync + 'static> tide::listener::Listener<State> for AppListener<State> {
    async fn bind(&mut self, app: tide::Server<State>) -> io::Result<()> {
        let listener = match self.source.take() {
            Some(Source::Address(address)) => http::Listener::bind(address.as_str()).await?,
            Some(Source::Bound(listener)) => listener,
            None => return Err(io::Error::other("the listener is bound already")),
        };
        let (name, transport) = match listener.local_addr() {
            Ok(address) => (format!("http://{address}"), "tcp"),
            Err(_) => ("http+unix://".to_owned(), "uds"),
        };
        self.info = Some(ListenInfo::new(name, transport.to_owned(), false));
        self.source = Some(Source::Bound(listener));
        self.app = Some(app);
        Ok(())
    }

    async fn accept(&mut self) -> io::Result<()> {
        match (self.source.take(), self.app.take()) {
            (Some(Source::Bound(listener)), Some(app)) => match self.server.take() {
                Some(server) => http::serve_with(listener, App::new(app), &server).await,
                None => listener.serve(App::new(app)).await,
            },
            _ => Err(io::Error::other("the listener is not bound")),
        }
    }

    fn info(&self) -> Vec<ListenInfo> {
        self.info.iter().cloned().collect()
    }
}

impl<State> fmt::Debug for AppListener<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppListener")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

impl<State> fmt::Display for AppListener<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.info {
            Some(info) => info.fmt(f),
            None => f.write_str("not bound"),
        }
    }
}

/// A tide app as a service of our listener.
struct App<State> {
    app: tide::Server<State>,
    addresses: Addresses,
}

impl<State> App<State> {
    fn new(app: tide::Server<State>) -> Self {
        let addresses = Addresses::default();
        Self { app, addresses }
    }
}

impl<State: Clone + Send + Sync + 'static> Service for App<State> {
    async fn call(
        &self,
        request: ::http::Request<Vec<u8>>,
        signal: Signal,
    ) -> ::http::Response<Body> {
        let request = match convert::request_in(request, signal, &self.addresses) {
            Ok(request) => request,
            Err(refused) => return convert::status(refused),
        };
        match self.app.respond::<_, tide::http::Response>(request).await {
            Ok(response) => convert::response_out(response).await,
            // `respond` never fails; if it did, the client would still be answered.
            Err(err) => convert::status(err.status() as u16),
        }
    }
}
