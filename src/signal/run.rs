//! Futures and streams that run under a signal.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_lite::Stream;
use pin_project_lite::pin_project;

use super::{Aborted, Wait};

pin_project! {
    /// The future of [`Signal::run`](super::Signal::run).
    ///
    /// It owns a clone of the signal. Polled again after `Err`, it returns the error again.
    ///
    /// # Panics
    ///
    /// If it is polled again after `Ok`.
    ///
    /// # Cancellation
    ///
    /// Dropping it drops the future inside, and leaves nothing behind with the signal. What that future had done already
    /// stays done: `run` is as cancel-safe as the future inside.
    #[must_use = "futures do nothing unless polled or awaited"]
    pub struct Run<F> {
        // Before the wait, so that it is also dropped before.
        #[pin]
        future: Option<F>,
        wait: Wait,
    }
}

impl<F> Run<F> {
    pub(super) fn new(future: F, wait: Wait) -> Self {
        Self {
            future: Some(future),
            wait,
        }
    }
}

impl<F: Future> Future for Run<F> {
    type Output = Result<F::Output, Aborted>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.wait.is_fired() {
            this.future.set(None);
            return Poll::Ready(Err(this.wait.settle().into()));
        }
        let future = this.future.as_mut().as_pin_mut();
        if let Poll::Ready(output) = future.expect("`Run` polled after completion").poll(cx) {
            this.future.set(None);
            this.wait.leave();
            return Poll::Ready(Ok(output));
        }
        match this.wait.enrol(cx.waker()) {
            Some(reason) => {
                this.future.set(None);
                Poll::Ready(Err(reason.into()))
            }
            None => Poll::Pending,
        }
    }
}

impl<F> fmt::Debug for Run<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("signal", self.wait.signal())
            .field("done", &self.future.is_none())
            .finish()
    }
}

pin_project! {
    /// The stream of [`Signal::until`](super::Signal::until).
    ///
    /// It owns a clone of the signal. It yields the items as `Ok`, one `Err` if the signal fires, then `None` for ever.
    ///
    /// # Cancellation
    ///
    /// Dropping it drops the stream inside, and leaves nothing behind with the signal. Dropping the future of one `next`
    /// loses no item if that of the inner stream does not.
    #[must_use = "streams do nothing unless polled"]
    pub struct Until<S> {
        #[pin]
        stream: Option<S>,
        wait: Wait,
    }
}

impl<S> Until<S> {
    pub(super) fn new(stream: S, wait: Wait) -> Self {
        Self {
            stream: Some(stream),
            wait,
        }
    }
}

impl<S: Stream> Stream for Until<S> {
    type Item = Result<S::Item, Aborted>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let Some(stream) = this.stream.as_mut().as_pin_mut() else {
            return Poll::Ready(None);
        };
        let fired = if this.wait.is_fired() {
            Some(this.wait.settle())
        } else {
            match stream.poll_next(cx) {
                Poll::Ready(Some(item)) => return Poll::Ready(Some(Ok(item))),
                Poll::Ready(None) => {
                    this.stream.set(None);
                    this.wait.leave();
                    return Poll::Ready(None);
                }
                Poll::Pending => this.wait.enrol(cx.waker()),
            }
        };
        match fired {
            Some(reason) => {
                this.stream.set(None);
                Poll::Ready(Some(Err(reason.into())))
            }
            None => Poll::Pending,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.stream {
            // The signal may end it at any moment, with one item more.
            Some(stream) => (0, stream.size_hint().1.and_then(|most| most.checked_add(1))),
            None => (0, Some(0)),
        }
    }
}

impl<S> fmt::Debug for Until<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until")
            .field("signal", self.wait.signal())
            .field("done", &self.stream.is_none())
            .finish()
    }
}
