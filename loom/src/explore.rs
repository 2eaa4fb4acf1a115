//! Each model is run in every order of its steps that the bound allows; a lost wake-up shows as a deadlock.
//!
//! The number of orders is printed and must not fall below what the model is known to have. A model that has come to test
//! nothing fails by that.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::model::Builder;
use loom::sync::Notify;

use crate::smol_mcp::signal::{MODEL, Reason, Signal};

/// Runs a model with as many forced switches between threads as `bound` says.
pub(crate) fn model(
    name: &str,
    bound: usize,
    at_least: usize,
    body: impl Fn() + Send + Sync + 'static,
) {
    let orders = Arc::new(AtomicUsize::new(0));
    let count = orders.clone();
    let mut builder = Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        MODEL.set(START);
        // Makes the ledger before there is a second thread: its making would tell one thread of what another had done.
        drop(Signal::fired(Reason::Closed));
        body();
    });
    let orders = orders.load(Ordering::Relaxed);
    println!("{name}: {orders} orders");
    assert!(
        orders >= at_least,
        "{name}: {orders} orders, not {at_least}"
    );
}

pub(crate) const START: u64 = 1 << 62;

/// A thread that waits to be woken.
pub(crate) struct Park(Notify);

impl Park {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let park = Arc::new(Self(Notify::new()));
        (park.clone(), Waker::from(park))
    }
}

impl Park {
    pub(crate) fn wait(&self) {
        self.0.wait();
    }
}

impl Wake for Park {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

pub(crate) fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls until it is ready, waiting for the waker in between.
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let (park, waker) = Park::new();
    loop {
        if let Poll::Ready(output) = poll(&mut future, &waker) {
            return output;
        }
        park.wait();
    }
}
