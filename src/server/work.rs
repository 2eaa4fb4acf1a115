//! A handler's future, and what its output becomes.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::failure::HandlerError;
use crate::era::Reply;

/// A running handler.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Reply, HandlerError>> + Send>>;

/// Boxes a handler's future; `finish` makes the reply of its output.
pub(super) fn work<F, Finish>(future: F, finish: Finish) -> Work
where
    F: Future + Send + 'static,
    Finish: FnOnce(F::Output) -> Result<Reply, HandlerError> + Send + 'static,
{
    Box::pin(Finishing {
        future: Some(future),
        finish: Some(finish),
    })
}

pin_project! {
    // An async block would hold the future twice, as what it captures and as what it awaits.
    struct Finishing<F, Finish> {
        #[pin]
        future: Option<F>,
        finish: Option<Finish>,
    }
}

impl<F, Finish> Future for Finishing<F, Finish>
where
    F: Future,
    Finish: FnOnce(F::Output) -> Result<Reply, HandlerError>,
{
    type Output = Result<Reply, HandlerError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Some(future) = this.future.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let Poll::Ready(output) = future.poll(cx) else {
            return Poll::Pending;
        };
        // What the handler held is given back before its output is looked at.
        this.future.set(None);
        match this.finish.take() {
            Some(finish) => Poll::Ready(finish(output)),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::size_of_val;

    use super::*;

    #[test]
    fn the_future_of_a_handler_is_held_once() {
        let future = std::future::ready([0_u8; 1000]);
        let size = size_of_val(&future);
        let work = work(future, |_| unreachable!());
        assert!(size_of_val(&*work) < size + 32, "{}", size_of_val(&*work));
    }
}
