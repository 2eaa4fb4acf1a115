//! What answers requests.

use crate::Signal;
use crate::http::Body;

/// Answers HTTP requests. Plain functions and closures are services.
///
/// # Cancellation
///
/// The signal fires when nobody waits for the answer any more: with [`Reason::Disconnected`] when the client hangs up,
/// with [`Reason::ServerClosed`] when the listener closes. The future is *not* dropped then: it is polled to its end
/// and its response is thrown away. It is dropped only if it outlives the grace of a close, or if the future that
/// serves the listener is dropped, or the executor of its connections. Its signal has fired by then, so that work which it
/// started elsewhere learns of it: with [`Reason::Closed`], if nothing else came before.
///
/// [`Reason::Disconnected`]: crate::signal::Reason::Disconnected
/// [`Reason::ServerClosed`]: crate::signal::Reason::ServerClosed
/// [`Reason::Closed`]: crate::signal::Reason::Closed
///
/// # Panics
///
/// A service that panics before it returned a response is answered for with status 500; nothing else is disturbed.
///
/// # Examples
///
/// ```
/// use smol_mcp::Signal;
/// use smol_mcp::http::{Body, Service};
///
/// fn serve(_: impl Service) {}
///
/// serve(|request: http::Request<Vec<u8>>, _signal: Signal| async move {
///     http::Response::new(Body::full(request.into_body()))
/// });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no service of a listener",
    label = "does not answer HTTP requests",
    note = "a service is an `http::Endpoint`, or a function of an `http::Request<Vec<u8>>` and a `Signal` whose future yields an `http::Response<Body>`"
)]
pub trait Service: Send + Sync + 'static {
    /// Answers one request, whose body has been read as a whole.
    ///
    /// The future is polled once in place: if it is ready then, its answer costs no task and no watch on the socket.
    fn call(
        &self,
        request: http::Request<Vec<u8>>,
        signal: Signal,
    ) -> impl Future<Output = http::Response<Body>> + Send;
}

impl<F, Fut> Service for F
where
    F: Fn(http::Request<Vec<u8>>, Signal) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = http::Response<Body>> + Send,
{
    fn call(
        &self,
        request: http::Request<Vec<u8>>,
        signal: Signal,
    ) -> impl Future<Output = http::Response<Body>> + Send {
        self(request, signal)
    }
}
