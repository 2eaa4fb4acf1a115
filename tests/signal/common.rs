use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use smol_mcp::signal::Reason;

/// A waker that counts how often it was called.
#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let count = Arc::new(Self::default());
        (count.clone(), Waker::from(count))
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// A reason that can be told from others of its kind.
pub(crate) fn reason(text: &str) -> Reason {
    Reason::application(text)
}

/// The text of a reason, or "" for none.
pub(crate) fn text(reason: impl Into<Option<Reason>>) -> String {
    reason
        .into()
        .map(|reason| reason.to_string())
        .unwrap_or_default()
}
