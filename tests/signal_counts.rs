//! What `smol_mcp::signal` allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_lite::future;
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Deadline, Reason};

struct Counting;

thread_local! {
    /// Allocations of this thread, and the bytes that it has allocated and not freed.
    static COUNT: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

fn note(count: u64, bytes: i64) {
    let _ = COUNT.try_with(|cell| {
        let (counts, total) = cell.get();
        cell.set((counts + count, total + bytes));
    });
}

// SAFETY: passes everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, -(layout.size() as i64));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a call allocates, and how much of it is left while its value lives.
fn cost<T>(call: impl FnOnce() -> T) -> (u64, i64) {
    let before = COUNT.get();
    let value = call();
    let after = COUNT.get();
    drop(value);
    (after.0 - before.0, after.1 - before.1)
}

fn allocations<T>(call: impl FnOnce() -> T) -> u64 {
    cost(call).0
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn signals_without_a_source_allocate_nothing() {
    let now = Instant::now();
    assert_eq!(allocations(Signal::never), 0);
    assert_eq!(allocations(|| Signal::timeout(Duration::from_secs(1))), 0);
    assert_eq!(allocations(|| Signal::at(now)), 0);
    assert_eq!(allocations(|| Signal::timeout(Duration::ZERO).reason()), 0);
    assert_eq!(allocations(|| Signal::timeout(Duration::ZERO).check()), 0);
}

#[test]
fn a_controller_is_one_allocation() {
    let (count, bytes) = cost(Controller::new);
    assert_eq!(count, 1);
    assert!(bytes <= 128, "{bytes} bytes");
    let controller = Controller::new();
    assert_eq!(
        allocations(|| (
            controller.clone(),
            controller.signal(),
            controller.signal().clone()
        )),
        0
    );
    assert_eq!(
        allocations(|| controller.clone().abort_on_drop(Reason::Closed).disarm()),
        0
    );
}

#[test]
fn combining_allocates_nothing_up_to_two_sources_and_once_beyond() {
    let controllers = [(); 4].map(|()| Controller::new());
    let [a, b, c, d] = controllers.each_ref().map(Controller::signal);
    let hour = Duration::from_secs(3600);
    assert_eq!(allocations(|| a.any(hour)), 0);
    assert_eq!(
        allocations(|| a.any(Deadline::after(hour).named("hour"))),
        0
    );
    assert_eq!(allocations(|| a.any(&b)), 0);
    let ab = a.any(&b);
    assert_eq!(allocations(|| ab.any(&a).any(hour).any(&b)), 0);
    assert_eq!(allocations(|| ab.any(&c)), 1);
    let abc = ab.any(&c);
    assert_eq!(allocations(|| abc.any(&b).any(&abc)), 0);
    assert_eq!(allocations(|| abc.any(&d)), 1);
    assert_eq!(allocations(|| Controller::below(&a)), 1);
    assert_eq!(allocations(|| Controller::below(&ab)), 2);
}

#[test]
fn looking_and_firing_allocate_nothing() {
    let controller = Controller::new();
    let other = Controller::new();
    let signal = controller
        .signal()
        .any(other.signal())
        .any(Duration::from_secs(3600));
    assert_eq!(
        allocations(|| (signal.is_aborted(), signal.check().is_ok())),
        0
    );
    assert_eq!(allocations(|| (signal.deadline(), signal.remaining())), 0);
    assert_eq!(allocations(|| controller.abort(Reason::Closed)), 0);
    assert_eq!(allocations(|| controller.abort(Reason::Closed)), 0);
    assert_eq!(
        allocations(|| (
            signal.is_aborted(),
            signal.check().is_err(),
            signal.reason()
        )),
        0
    );
}

#[test]
fn a_request_that_waits_is_three_allocations() {
    let (count, bytes) = cost(|| {
        let controller = Controller::new();
        let mut wait = controller.signal().aborted();
        assert!(poll(&mut wait).is_pending());
        (controller, wait)
    });
    assert_eq!(count, 3);
    assert!(bytes <= 256, "{bytes} bytes");
}

#[test]
fn a_further_wait_is_one_allocation_and_polling_again_none() {
    let controller = Controller::new();
    let signal = controller.signal();
    let mut first = signal.aborted();
    assert!(poll(&mut first).is_pending());
    assert_eq!(allocations(|| poll(&mut first)), 0);
    let again = || {
        let mut wait = signal.aborted();
        assert!(poll(&mut wait).is_pending());
    };
    assert_eq!(allocations(again), 1);
}

#[test]
fn run_that_is_ready_at_once_allocates_nothing() {
    let controller = Controller::new();
    let signal = controller.signal();
    let ready = || assert!(poll(&mut signal.run(future::ready(1))).is_ready());
    assert_eq!(allocations(ready), 0);
}

#[test]
fn a_million_composites_of_one_source_leave_nothing_behind() {
    let controller = Controller::new();
    let signal = controller.signal();
    let hour = Duration::from_secs(3600);
    let round = || {
        let other = Controller::new();
        let mut composite = signal.any(hour).any(other.signal());
        composite = composite.any(Signal::fired(Reason::Closed));
        assert!(composite.is_aborted());
        let mut wait = signal.any(other.signal()).aborted();
        assert!(poll(&mut wait).is_pending());
    };
    round();
    let (_, left) = cost(|| {
        for _ in 0..1_000_000 {
            round();
        }
    });
    assert_eq!(left, 0);
}
