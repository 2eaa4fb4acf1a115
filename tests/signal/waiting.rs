use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::block_on;
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Reason};

use crate::common::{Count, poll, reason, text, watched};

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
    }
    assert_eq!(count.get(), 10);
}

#[test]
fn the_last_waker_is_called_and_no_other() {
    let controller = Controller::new();
    let (old, old_waker) = Count::new();
    let (new, new_waker) = Count::new();
    let mut wait = controller.signal().aborted();
    assert!(poll(&mut wait, &old_waker).is_pending());
    assert!(poll(&mut wait, &new_waker).is_pending());
    controller.abort(Reason::Closed);
    assert_eq!((old.get(), new.get()), (0, 1));
}

#[test]
fn a_wait_that_is_dropped_is_not_woken_and_keeps_no_waker() {
    let controller = Controller::new();
    let (count, waker) = Count::new();
    let mut wait = controller.signal().any(Duration::from_secs(3600)).aborted();
    assert!(poll(&mut wait, &waker).is_pending());
    assert!(std::sync::Arc::strong_count(&count) > 2);
    drop(wait);
    assert_eq!(std::sync::Arc::strong_count(&count), 2);
    controller.abort(Reason::Closed);
    assert_eq!(count.get(), 0);
}

#[test]
fn each_of_many_sources_wakes() {
    for fires in 0..7 {
        let controllers = [(); 7].map(|()| Controller::new());
        let signal: Signal = controllers.iter().map(Controller::signal).collect();
        let (count, waker) = Count::new();
        let mut wait = signal.aborted();
        assert!(poll(&mut wait, &waker).is_pending());
        controllers[fires].abort(reason("this one"));
        assert_eq!(count.get(), 1);
        assert!(poll(&mut wait, &waker).is_ready());
        // The others hold nothing of it any more.
        drop(waker);
        assert_eq!(std::sync::Arc::strong_count(&count), 1);
    }
}

#[test]
fn a_signal_is_awaited_by_value_and_by_reference() {
    let signal = Signal::fired(reason("now"));
    block_on(async {
        assert_eq!(text((&signal).await), "now");
        assert_eq!(text(signal.await), "now");
    });
}

#[test]
fn a_wait_gives_the_same_reason_again() {
    let controller = Controller::new();
    let mut wait = controller.signal().aborted();
    controller.abort(reason("once"));
    let (_, waker) = Count::new();
    for _ in 0..2 {
        match poll(&mut wait, &waker) {
            std::task::Poll::Ready(reason) => assert_eq!(text(reason), "once"),
            std::task::Poll::Pending => unreachable!(),
        }
    }
}

#[test]
fn a_blocked_thread_is_woken_by_each_source() {
    watched(|| {
        let (one, two) = (Controller::new(), Controller::new());
        let signal = one.signal().any(two.signal());
        let thread = thread::spawn(move || signal.wait_blocking());
        two.abort(reason("two"));
        assert_eq!(text(thread.join().unwrap()), "two");
    });
}

#[test]
fn a_blocked_thread_wakes_at_the_deadline() {
    watched(|| {
        let start = Instant::now();
        let reason = Signal::timeout(Duration::from_millis(5)).wait_blocking();
        assert!(matches!(reason, Reason::Deadline(None)));
        assert!(start.elapsed() >= Duration::from_millis(5));
    });
}

#[test]
fn wait_timeout_tells_the_signal_from_the_time() {
    watched(|| {
        let controller = Controller::new();
        let signal = controller.signal();
        let start = Instant::now();
        assert!(signal.wait_timeout(Duration::from_millis(5)).is_none());
        assert!(start.elapsed() >= Duration::from_millis(5));
        assert!(signal.wait_timeout(Duration::ZERO).is_none());
        let thread = thread::spawn({
            let signal = signal.clone();
            move || signal.wait_timeout(Duration::MAX)
        });
        controller.abort(reason("signal"));
        assert_eq!(text(thread.join().unwrap()), "signal");
        assert_eq!(text(signal.wait_timeout(Duration::ZERO)), "signal");
    });
}

#[test]
fn sleep_blocking_ends_with_its_time_or_with_the_signal() {
    watched(|| {
        let controller = Controller::new();
        let signal = controller.signal();
        let start = Instant::now();
        assert!(signal.sleep_blocking(Duration::from_millis(5)).is_ok());
        assert!(start.elapsed() >= Duration::from_millis(5));
        let thread = thread::spawn({
            let signal = signal.clone();
            move || signal.sleep_blocking(Duration::MAX)
        });
        controller.abort(reason("signal"));
        let err = thread.join().unwrap().unwrap_err();
        assert_eq!(text(err.into_reason()), "signal");
        assert!(signal.sleep_blocking(Duration::ZERO).is_err());
        let own = Signal::timeout(Duration::from_millis(2)).sleep_blocking(Duration::MAX);
        assert!(matches!(own.unwrap_err().reason(), Reason::Deadline(None)));
    });
}
