use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

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

/// A waker that does what it is told.
struct Act<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Act<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

pub(crate) fn waker(act: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Act(act)))
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
    let reason = reason.into();
    reason.map_or_else(String::new, |reason| reason.to_string())
}

/// Fails the test if it does not come to its end, instead of hanging: within a minute, or as many seconds as
/// `SIGNAL_WATCHDOG` says.
pub(crate) fn watched<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, end) = mpsc::channel();
    let thread = thread::spawn(move || {
        let value = test();
        let _ = done.send(());
        value
    });
    let patience = std::env::var("SIGNAL_WATCHDOG").ok();
    let patience = patience
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(60);
    match end.recv_timeout(Duration::from_secs(patience)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock"),
        _ => match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        },
    }
}

/// A small generator, so that a failure can be repeated from its seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
