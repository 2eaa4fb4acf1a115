//! What answers requests.

use crate::Signal;
use crate::http::Body;

/// Answers HTTP requests. Plain functions and closures are services.
///
/// # Cancellation
///
/// The signal fires with [`Reason::Disconnected`] when the client hangs up, and with [`Reason::ServerClosed`] when the
/// listener closes. The future is *not* dropped then: it is polled to its end. The response is discarded after a hang-up,
/// and sent within the grace of a close. The future is dropped only if it outlives that grace, or if the future that
/// serves the listener, or the executor of its connections, is dropped. Its signal has fired by then, so that work which it
/// started elsewhere stops too: with [`Reason::Closed`], if it had not fired before.
///
/// [`Reason::Disconnected`]: crate::signal::Reason::Disconnected
/// [`Reason::ServerClosed`]: crate::signal::Reason::ServerClosed
/// [`Reason::Closed`]: crate::signal::Reason::Closed
///
/// # Panics
///
/// If a service panics before it returns a response, the client gets status 500, and nothing else is disturbed.
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
    message = "`{Self}` is not a service of a listener",
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
