use std::time::Duration;

use futures_lite::future::{self, block_on};
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Deadline, Reason};

use crate::common::{Count, poll, reason, text};

#[test]
fn the_first_firing_decides_the_reason() {
    let controller = Controller::new();
    let signal = controller.signal();
    assert!(controller.abort(reason("first")));
    assert!(!controller.abort(reason("second")));
    assert_eq!(text(signal.reason()), "first");
    assert_eq!(text(signal.clone().reason()), "first");
    assert_eq!(text(signal.any(Duration::ZERO).reason()), "first");
}

#[test]
fn a_firing_wakes_everybody_who_waits_once() {
    let controller = Controller::new();
    let (count, waker) = Count::new();
    let mut waits: Vec<_> = (0..10).map(|_| controller.signal().aborted()).collect();
    for wait in &mut waits {
        assert!(poll(wait, &waker).is_pending());
        assert!(poll(wait, &waker).is_pending());
    }
    controller.abort(Reason::Closed);
    assert_eq!(count.get(), 10);
    for wait in &mut waits {
        assert!(poll(wait, &waker).is_ready());
        assert!(poll(wait, &waker).is_ready());
    }
}

#[test]
fn an_awaited_deadline_wakes() {
    let signal = Signal::from(Deadline::after(Duration::from_millis(5)).named("short"));
    let reason = block_on(signal.aborted());
    assert!(matches!(reason, Reason::Deadline(Some("short"))));
}

#[test]
fn run_gives_up_at_the_deadline() {
    let signal = Signal::timeout(Duration::from_millis(5));
    let err = block_on(signal.run(future::pending::<()>())).unwrap_err();
    assert!(matches!(err.reason(), Reason::Deadline(None)));
}

#[test]
fn a_blocked_thread_is_woken_by_the_firing() {
    let controller = Controller::new();
    let signal = controller.signal();
    let thread = std::thread::spawn(move || signal.wait_blocking());
    controller.abort(reason("now"));
    assert_eq!(text(thread.join().unwrap()), "now");
}
