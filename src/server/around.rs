//! What the author runs around every call: before, after, or instead.

use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use super::context::Context;
use super::failure::HandlerError;
use super::running::panicked;
use super::work::{Work, work};
use crate::era::Reply;
use crate::protocol::ToolResult;

/// One function that the author runs around calls.
pub(crate) type Hook = Arc<dyn Fn(Context, Next) -> Work + Send + Sync>;

/// A handler that has yet to begin.
pub(crate) type Handler = Box<dyn FnOnce(Context) -> Work + Send>;

/// Begins a handler inside of the hooks.
pub(crate) type RunAround = fn(Context, Handler) -> Work;

pub(super) fn hook<F, Fut>(around: F) -> Hook
where
    F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, HandlerError>> + Send + 'static,
{
    Arc::new(move |cx, next| work(around(cx, next), |outcome| Ok(outcome?.0)))
}

/// The rest of a call: the hooks further in, then the handler. See [`Builder::around`](crate::Builder::around).
pub struct Next {
    /// How many hooks stand outside of this.
    depth: usize,
    cx: Context,
    begin: Handler,
}

impl Next {
    pub(super) fn begin(cx: Context, begin: Handler) -> Work {
        let depth = 0;
        Self { depth, cx, begin }.start()
    }

    /// Runs the rest of the call. If `Next` is dropped instead, the handler never begins.
    ///
    /// # Errors
    ///
    /// Returns the failure of the handler; a panic of the handler is one. If the signal of the call has fired already, the
    /// handler does not begin, and the failure is the [`Aborted`](crate::signal::Aborted).
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the handler.
    pub async fn run(self) -> Result<Outcome, HandlerError> {
        self.cx.signal().check()?;
        self.start().await.map(Outcome)
    }

    fn start(mut self) -> Work {
        let hooks = self.cx.0.peer.server.around();
        match hooks.get(self.depth).cloned() {
            Some(hook) => {
                self.depth += 1;
                hook(self.cx.clone(), self)
            }
            None => Box::pin(caught(self.cx, self.begin)),
        }
    }
}

/// Runs the handler; what it panics with is its failure.
async fn caught(cx: Context, begin: Handler) -> Result<Reply, HandlerError> {
    let mut work =
        catch_unwind(AssertUnwindSafe(|| begin(cx))).map_err(|panic| panicked(&*panic))?;
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            Ok(polled) => polled,
            Err(panic) => Poll::Ready(Err(panicked(&*panic))),
        },
    )
    .await
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next")
            .field("cx", &self.cx)
            .finish_non_exhaustive()
    }
}

/// The outcome of a call, on its way to the client.
pub struct Outcome(Reply);

impl Outcome {
    /// Tells whether it is the result of a tool with `isError`: for wrong arguments, or made by the handler.
    pub fn is_error(&self) -> bool {
        self.tool_result().is_some_and(|result| result.is_error)
    }

    /// Returns the result of a tool; `None` for other methods.
    pub fn tool_result(&self) -> Option<&ToolResult> {
        match &self.0 {
            Reply::Tool(result) => Some(result),
            _ => None,
        }
    }

    /// Returns the result of a tool, to change it; `None` for other methods.
    pub fn tool_result_mut(&mut self) -> Option<&mut ToolResult> {
        match &mut self.0 {
            Reply::Tool(result) => Some(result),
            _ => None,
        }
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("is_error", &self.is_error())
            .finish_non_exhaustive()
    }
}
