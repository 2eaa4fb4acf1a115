use std::cell::Cell;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::{self, block_on};
use futures_lite::{Stream, StreamExt, stream};
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Deadline, Reason};

use crate::common::{Count, poll, reason, text};

#[test]
fn the_first_firing_decides() {
    let controller = Controller::new();
    let other = controller.clone();
    let signal = controller.signal();
    let before = signal.clone();
    assert!(controller.abort(reason("first")));
    assert!(!other.abort(reason("second")));
    assert!(!controller.abort(reason("third")));
    assert_eq!(text(signal.reason()), "first");
    assert_eq!(text(before.reason()), "first");
    assert_eq!(text(controller.signal().reason()), "first");
}

#[test]
fn a_composite_keeps_the_reason_of_its_deciding_source() {
    let (one, two) = (Controller::new(), Controller::new());
    let early = one.signal().any(two.signal());
    one.abort(reason("one"));
    let late = two.signal().any(early.clone()).any(Duration::ZERO);
    two.abort(reason("two"));
    assert_eq!(text(early.reason()), "one");
    assert_eq!(text(late.reason()), "one");
    assert_eq!(text(late.clone().any(early).reason()), "one");
}

#[test]
fn aborted_reason_and_check_agree() {
    let controller = Controller::new();
    let signal = controller.signal();
    assert!(!signal.is_aborted());
    assert!(signal.reason().is_none());
    assert!(signal.check().is_ok());
    controller.abort(reason("now"));
    assert!(signal.is_aborted());
    assert_eq!(text(signal.reason()), "now");
    assert_eq!(text(signal.check().unwrap_err().into_reason()), "now");
}

#[test]
fn when_a_losing_abort_returns_the_signal_is_aborted() {
    for _ in 0..1000 {
        let controller = Controller::new();
        let fire = || {
            let controller = controller.clone();
            move || {
                controller.abort(reason("any"));
                assert!(controller.signal().is_aborted());
                assert!(controller.signal().reason().is_some());
            }
        };
        thread::scope(|scope| {
            scope.spawn(fire());
            scope.spawn(fire());
        });
    }
}

#[test]
fn of_several_sources_the_earliest_counts_not_the_first() {
    let controllers = [(); 5].map(|()| Controller::new());
    let signal = Signal::any_of(controllers.iter().map(Controller::signal));
    let reversed: Signal = controllers.iter().rev().map(Controller::signal).collect();
    for (number, controller) in controllers.iter().enumerate().skip(2) {
        controller.abort(reason(&number.to_string()));
    }
    controllers[0].abort(reason("0"));
    assert_eq!(text(signal.reason()), "2");
    assert_eq!(text(reversed.reason()), "2");
}

#[test]
fn a_source_that_fired_before_the_deadline_wins_no_matter_when_one_looks() {
    let controller = Controller::new();
    let signal = controller.signal().any(Duration::from_millis(20));
    controller.abort(reason("source"));
    // Tests time: the deadline has to pass.
    thread::sleep(Duration::from_millis(30));
    assert_eq!(text(signal.reason()), "source");
}

#[test]
fn a_deadline_that_passed_before_the_source_fired_wins_no_matter_when_one_looks() {
    let controller = Controller::new();
    let signal = controller
        .signal()
        .any(Deadline::after(Duration::from_millis(2)).named("first"));
    // Tests time: the deadline has to pass unseen.
    thread::sleep(Duration::from_millis(5));
    controller.abort(reason("source"));
    assert!(matches!(
        signal.reason(),
        Some(Reason::Deadline(Some("first")))
    ));
}

#[test]
fn a_deadline_is_seen_without_a_waiter() {
    let signal = Signal::timeout(Duration::from_millis(2));
    // Tests time.
    thread::sleep(Duration::from_millis(5));
    assert!(signal.is_aborted());
    assert!(signal.check().is_err());
    assert!(matches!(signal.reason(), Some(Reason::Deadline(None))));
    assert_eq!(signal.remaining(), Some(Duration::ZERO));
}

#[test]
fn durations_count_from_the_call() {
    let before = Instant::now();
    let signal = Signal::never().any(Duration::from_secs(10));
    let after = Instant::now();
    let deadline = signal.deadline().unwrap();
    // A moment is a whole number of nanoseconds, as is an instant here.
    assert!(deadline >= before + Duration::from_secs(10));
    assert!(deadline <= after + Duration::from_secs(10));
}

#[test]
fn dropping_controllers_fires_nothing() {
    let controller = Controller::new();
    let signal = controller.signal();
    let (count, waker) = Count::new();
    let mut wait = signal.aborted();
    assert!(poll(&mut wait, &waker).is_pending());
    drop(controller.clone());
    drop(controller);
    assert!(!signal.is_aborted());
    assert_eq!(count.get(), 0);
    assert!(poll(&mut wait, &waker).is_pending());
}

#[test]
fn a_guard_fires_when_dropped() {
    let guard = Controller::new().abort_on_drop(reason("dropped"));
    let signal = guard.signal();
    assert!(!signal.is_aborted());
    drop(guard);
    assert_eq!(text(signal.reason()), "dropped");
}

#[test]
fn a_guard_fires_when_its_scope_panics() {
    let guard = Controller::new().abort_on_drop(reason("panicked"));
    let signal = guard.signal();
    let panicked = thread::spawn(move || {
        let _guard = guard;
        panic!("expected by the test");
    });
    assert!(panicked.join().is_err());
    assert_eq!(text(signal.reason()), "panicked");
}

#[test]
fn a_disarmed_guard_fires_nothing() {
    let guard = Controller::new().abort_on_drop(reason("dropped"));
    let signal = guard.signal();
    let controller = guard.disarm();
    assert!(!signal.is_aborted());
    controller.abort(reason("by hand"));
    assert_eq!(text(signal.reason()), "by hand");
}

#[test]
fn a_guard_that_is_too_late_changes_nothing() {
    let guard = Controller::new().abort_on_drop(reason("dropped"));
    let signal = guard.signal();
    guard.controller().abort(reason("by hand"));
    drop(guard);
    assert_eq!(text(signal.reason()), "by hand");
}

#[test]
fn run_returns_the_output() {
    assert_eq!(block_on(Signal::never().run(async { 7 })).unwrap(), 7);
    let controller = Controller::new();
    assert_eq!(
        block_on(controller.signal().run(future::yield_now())).unwrap(),
        ()
    );
}

#[test]
fn run_never_polls_the_future_of_an_aborted_signal() {
    let polled = Cell::new(false);
    let run = Signal::fired(reason("before")).run(async { polled.set(true) });
    assert_eq!(text(block_on(run).unwrap_err().into_reason()), "before");
    assert!(!polled.get());
}

#[test]
fn an_always_ready_future_cannot_outrun_run() {
    let controller = Controller::new();
    let signal = controller.signal();
    let forever = async {
        let mut rounds = 0;
        loop {
            rounds += 1;
            if rounds == 10 {
                controller.abort(reason("enough"));
            }
            // Ready at once every time, but for the yield that lets `run` look.
            future::ready(()).await;
            future::yield_now().await;
            assert!(rounds <= 10);
        }
    };
    let err: Result<(), _> = block_on(signal.run(forever));
    assert_eq!(text(err.unwrap_err().into_reason()), "enough");
}

#[test]
fn run_drops_the_future_in_the_poll_that_returns_the_error() {
    let alive = Rc::new(());
    let inside = alive.clone();
    let controller = Controller::new();
    let mut run = Box::pin(controller.signal().run(async move {
        let _inside = inside;
        future::pending::<()>().await;
    }));
    let (_, waker) = Count::new();
    assert!(poll(&mut run, &waker).is_pending());
    assert_eq!(Rc::strong_count(&alive), 2);
    controller.abort(reason("now"));
    assert_eq!(Rc::strong_count(&alive), 2);
    assert!(poll(&mut run, &waker).is_ready());
    assert_eq!(Rc::strong_count(&alive), 1);
    // And it stays an error.
    assert!(poll(&mut run, &waker).is_ready());
}

#[test]
fn run_drops_the_future_when_it_is_ready() {
    let alive = Rc::new(());
    let inside = alive.clone();
    let mut run = Box::pin(Signal::never().run(future::poll_fn(move |_| {
        let _inside = &inside;
        std::task::Poll::Ready(())
    })));
    let (_, waker) = Count::new();
    assert!(poll(&mut run, &waker).is_ready());
    assert_eq!(Rc::strong_count(&alive), 1);
}

#[test]
fn what_the_future_had_done_stays_done() {
    let controller = Controller::new();
    let done = Cell::new(0);
    let run = controller.signal().run(async {
        done.set(1);
        controller.abort(reason("between"));
        future::yield_now().await;
        done.set(2);
    });
    assert!(block_on(run).is_err());
    assert_eq!(done.get(), 1);
}

#[test]
fn a_future_that_ends_in_the_poll_that_fires_is_ok() {
    let controller = Controller::new();
    let run = controller.signal().run(async {
        controller.abort(reason("from inside"));
        5
    });
    assert_eq!(block_on(run).unwrap(), 5);
}

#[test]
fn run_wakes_when_the_signal_fires() {
    let controller = Controller::new();
    let (count, waker) = Count::new();
    let mut run = Box::pin(controller.signal().run(future::pending::<()>()));
    assert!(poll(&mut run, &waker).is_pending());
    assert!(poll(&mut run, &waker).is_pending());
    controller.abort(reason("now"));
    assert_eq!(count.get(), 1);
}

#[test]
fn futures_and_streams_own_their_signal() {
    let controller = Controller::new();
    let wait = smol::spawn(controller.signal().aborted());
    let run = smol::spawn(controller.signal().run(future::pending::<()>()));
    let next = smol::spawn({
        let until = controller.signal().until(stream::pending::<()>());
        async move { until.collect::<Vec<_>>().await }
    });
    controller.abort(reason("all"));
    block_on(async {
        assert_eq!(text(wait.await), "all");
        assert_eq!(text(run.await.unwrap_err().into_reason()), "all");
        assert_eq!(next.await.len(), 1);
    });
}

#[test]
fn until_gives_the_items_then_one_error_then_nothing() {
    let controller = Controller::new();
    let mut until = controller.signal().until(stream::iter(1..));
    let mut next = || block_on(until.next());
    assert_eq!(next().unwrap().unwrap(), 1);
    assert_eq!(next().unwrap().unwrap(), 2);
    controller.abort(reason("now"));
    assert_eq!(text(next().unwrap().unwrap_err().into_reason()), "now");
    assert!(next().is_none());
    assert!(next().is_none());
}

#[test]
fn until_ends_with_the_stream() {
    let mut until = Signal::never().until(stream::iter([1, 2]));
    assert_eq!(until.size_hint(), (0, Some(3)));
    let mut next = || block_on(until.next()).map(|item| item.unwrap());
    assert_eq!(
        (next(), next(), next(), next()),
        (Some(1), Some(2), None, None)
    );
    assert_eq!(until.size_hint(), (0, Some(0)));
}

#[test]
fn until_drops_the_stream_with_the_error() {
    let alive = Rc::new(());
    let inside = alive.clone();
    let controller = Controller::new();
    let mut until = controller.signal().until(stream::poll_fn(move |_| {
        let _inside = &inside;
        std::task::Poll::<Option<()>>::Pending
    }));
    let (count, waker) = Count::new();
    assert!(poll(&mut until.next(), &waker).is_pending());
    controller.abort(reason("now"));
    assert_eq!(count.get(), 1);
    assert!(poll(&mut until.next(), &waker).is_ready());
    assert_eq!(Rc::strong_count(&alive), 1);
}

#[test]
fn abort_may_be_called_inside_run() {
    let controller = Controller::new();
    let inner = controller.clone();
    let run = controller.signal().run(async move {
        inner.abort(reason("inside"));
        future::pending::<()>().await;
    });
    assert_eq!(text(block_on(run).unwrap_err().into_reason()), "inside");
}

#[test]
fn abort_may_be_called_in_a_destructor() {
    struct Fires(Controller);

    impl Drop for Fires {
        fn drop(&mut self) {
            self.0.abort(reason("destructor"));
        }
    }

    let (one, two) = (Controller::new(), Controller::new());
    let fires = Fires(two.clone());
    let mut run = Box::pin(one.signal().run(async move {
        let _fires = fires;
        future::pending::<()>().await;
    }));
    let (_, waker) = Count::new();
    assert!(poll(&mut run, &waker).is_pending());
    one.abort(reason("one"));
    assert!(poll(&mut run, &waker).is_ready());
    assert_eq!(text(two.signal().reason()), "destructor");
}

#[test]
fn to_react_one_spawns_and_dropping_the_task_unregisters() {
    let controller = Controller::new();
    let signal = controller.signal();
    let reacted = Controller::new();
    let task = smol::spawn({
        let (signal, reacted) = (signal.clone(), reacted.clone());
        async move {
            let reason = signal.aborted().await;
            reacted.abort(reason);
        }
    });
    let dropped = smol::spawn({
        let signal = signal.clone();
        async move {
            signal.aborted().await;
            unreachable!("the task is dropped first");
        }
    });
    block_on(dropped.cancel());
    controller.abort(reason("react"));
    block_on(task);
    assert_eq!(text(reacted.signal().reason()), "react");
}

#[test]
fn a_child_fires_with_its_parent_but_not_the_other_way() {
    let parent = Controller::new();
    let (child, signal) = Controller::below(&parent.signal());
    let (_sibling, other) = Controller::below(&parent.signal());
    child.abort(reason("child"));
    assert_eq!(text(signal.reason()), "child");
    assert!(!parent.signal().is_aborted());
    assert!(!other.is_aborted());
    parent.abort(reason("parent"));
    assert_eq!(text(other.reason()), "parent");
    assert_eq!(text(signal.reason()), "child");
    assert!(!_sibling.signal().is_aborted());
}

#[test]
fn a_child_inherits_the_deadline() {
    let parent = Signal::at(Instant::now() + Duration::from_secs(5));
    let (_child, signal) = Controller::below(&parent);
    assert_eq!(signal.deadline(), parent.deadline());
}

#[test]
fn checkpoint_yields_once_and_looks_on_both_sides() {
    let controller = Controller::new();
    let signal = controller.signal();
    let (_, waker) = Count::new();
    let mut checkpoint = Box::pin(signal.checkpoint());
    assert!(poll(&mut checkpoint, &waker).is_pending());
    assert!(poll(&mut checkpoint, &waker).is_ready());

    let mut checkpoint = Box::pin(signal.checkpoint());
    assert!(poll(&mut checkpoint, &waker).is_pending());
    controller.abort(reason("while it yielded"));
    assert!(matches!(
        poll(&mut checkpoint, &waker),
        std::task::Poll::Ready(Err(_))
    ));
    assert!(matches!(
        poll(&mut Box::pin(signal.checkpoint()), &waker),
        std::task::Poll::Ready(Err(_))
    ));
}
