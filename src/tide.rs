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
//! Closing a [`Server`] leaves the app listening, since it may serve more than that. [`Listener::closes_with`] ends an app
//! with its server. To end it otherwise, bind an [`http::Listener`], keep its [`closer`](http::Listener::closer), and pass
//! the listener to [`listener`].
//!
//! An app with several servers closes them and its listener at the same time:
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
//! With [`protected_resource`](http::Endpoint::protected_resource) mount the endpoint a second time, at
//! `/.well-known/oauth-protected-resource` with the path of the resource appended.
//!
//! # Listeners
//!
//! The endpoint works under every listener of tide; what it can notice depends on the listener.
//!
//! | | [`listener`] | tide's stock listener |
//! |---|---|---|
//! | a client hangs up while its answer is to be JSON | noticed at once | not noticed |
//! | a client hangs up while its answer is streamed | noticed at once | noticed when a write fails: at the next message or keep-alive comment |
//! | the handlers of other endpoints of the app | find the request's [`Signal`] by `req.ext::<Signal>()` | find none |
//! | a request's body | read as a whole before the endpoint runs, up to [`Options::max_body`](crate::http::Options::max_body) | streamed; the MCP endpoint reads up to [`Limits::message_bytes`](crate::Limits::message_bytes) |

#[cfg_attr(not(unix), allow(dead_code))] // Half of it serves our listener.
mod convert;
#[cfg(unix)]
mod listener;

use tide::utils::async_trait;

use self::convert::Original;
#[cfg(unix)]
pub use self::listener::{AppListener, Listener};
use crate::http;
use crate::{Server, Signal};

/// Makes the endpoint of a server with the settings of [`http::Endpoint::new`].
///
/// For other settings convert an [`http::Endpoint`] by `Endpoint::from`.
pub fn endpoint(server: &Server) -> Endpoint {
    http::Endpoint::new(server).into()
}

/// Makes a listener for [`tide::Server::listen`] from an address, or from an [`http::Listener`] with its options.
///
/// Port 0 takes a free port; to learn which, bind an [`http::Listener`] and ask for its address.
#[cfg(unix)]
pub fn listener(source: impl Into<Listener>) -> Listener {
    source.into()
}

/// An MCP endpoint for [`tide::Route::all`](tide::Route::all). It answers at any path that the route leads to it.
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
        let most = self.0.server().0.limits.message_bytes;
        let translated = match convert::request_out(inner, original, most).await {
            Ok(translated) => translated,
            Err(status) => return Ok(tide::Response::new(status)),
        };
        let response = self.0.handle(translated, signal).await;
        Ok(convert::response_in(response, ours).into())
    }
}
