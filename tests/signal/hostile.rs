//! Wakers that do what no waker should, each under a watchdog.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::future::{self, block_on};
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Wait};

use crate::common::{Count, poll, reason, text, waker, watched};

fn waiting(signal: &Signal) -> Wait {
    let mut wait = signal.aborted();
    assert!(poll(&mut wait, &waker(|| ())).is_pending());
    wait
}

/// A waiter whose waker does this, among others before and after that only count.
fn fire_with(controller: &Controller, act: impl Fn() + Send + Sync + 'static) -> usize {
    let signal = controller.signal();
    let (count, counting) = Count::new();
    let mut waits = [(); 4].map(|()| signal.aborted());
    let hostile = waker(act);
    let wakers = [&counting, &hostile, &counting, &counting];
    for (wait, waker) in waits.iter_mut().zip(wakers) {
        assert!(poll(wait, waker).is_pending());
    }
    controller.abort(reason("fired"));
    for wait in &mut waits {
        assert!(poll(wait, &counting).is_ready());
    }
    count.get()
}

#[test]
fn a_waker_may_drop_a_waiter_of_the_same_source() {
    watched(|| {
        let controller = Controller::new();
        let victims = Mutex::new(vec![
            waiting(&controller.signal()),
            waiting(&controller.signal()),
        ]);
        assert_eq!(
            fire_with(&controller, move || victims.lock().unwrap().clear()),
            3
        );
    });
}

#[test]
fn a_waker_may_drop_a_waiter_of_several_sources() {
    watched(|| {
        let (one, two) = (Controller::new(), Controller::new());
        let victims = Mutex::new(vec![waiting(&one.signal().any(two.signal()))]);
        let both = two.signal().any(one.signal());
        victims
            .lock()
            .unwrap()
            .push(waiting(&both.any(Duration::from_secs(3600))));
        assert_eq!(fire_with(&one, move || victims.lock().unwrap().clear()), 3);
        assert_eq!(fire_with(&two, || ()), 3);
    });
}

#[test]
fn a_waker_may_poll_new_waiters() {
    watched(|| {
        let (controller, other) = (Controller::new(), Controller::new());
        let signal = controller.signal();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keep = kept.clone();
        let (count, counting) = Count::new();
        let elsewhere = other.signal();
        let woken = fire_with(&controller, move || {
            assert!(poll(&mut signal.aborted(), &counting).is_ready());
            assert!(poll(&mut signal.any(&elsewhere).aborted(), &counting).is_ready());
            let mut wait = elsewhere.aborted();
            assert!(poll(&mut wait, &counting).is_pending());
            keep.lock().unwrap().push(wait);
        });
        assert_eq!(woken, 3);
        other.abort(reason("other"));
        assert_eq!(count.get(), 1);
        drop(kept);
    });
}

#[test]
fn a_waker_may_poll_a_waiter_of_the_same_source_with_another_waker() {
    watched(|| {
        let controller = Controller::new();
        let victim = Mutex::new(waiting(&controller.signal()));
        let woken = fire_with(&controller, move || {
            assert!(poll(&mut *victim.lock().unwrap(), &waker(|| ())).is_ready());
        });
        assert_eq!(woken, 3);
    });
}

#[test]
fn a_waker_may_fire_the_same_and_another() {
    watched(|| {
        let (one, two) = (Controller::new(), Controller::new());
        let back = one.clone();
        let (count, counting) = Count::new();
        let mut wait = two.signal().aborted();
        assert!(poll(&mut wait, &counting).is_pending());
        // The other's waker fires the first again, and drops waiters of both.
        let victims = Mutex::new(vec![waiting(&one.signal()), waiting(&two.signal())]);
        let mut chained = two.signal().aborted();
        let chain = waker(move || {
            assert!(!back.abort(reason("again")));
            victims.lock().unwrap().clear();
        });
        assert!(poll(&mut chained, &chain).is_pending());
        let (second, first) = (two.clone(), one.clone());
        let woken = fire_with(&one, move || {
            assert!(!first.abort(reason("again")));
            assert!(second.abort(reason("two")));
        });
        assert_eq!((woken, count.get()), (3, 1));
        assert_eq!(text(one.signal().reason()), "fired");
        assert_eq!(text(two.signal().reason()), "two");
    });
}

#[test]
fn two_sources_may_fire_while_each_drops_waiters_of_the_other() {
    for _ in 0..500 {
        watched(|| {
            let (one, two) = (Controller::new(), Controller::new());
            let both = one.signal().any(two.signal());
            let victims = || {
                Mutex::new(vec![
                    waiting(&both),
                    waiting(&one.signal()),
                    waiting(&two.signal()),
                ])
            };
            let mut waits = [one.signal().aborted(), two.signal().aborted()];
            for wait in &mut waits {
                let victims = victims();
                let drops = waker(move || victims.lock().unwrap().clear());
                assert!(poll(wait, &drops).is_pending());
            }
            std::thread::scope(|scope| {
                scope.spawn(|| one.abort(reason("one")));
                scope.spawn(|| two.abort(reason("two")));
            });
        });
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    watched(|| {
        let controller = Controller::new();
        let signal = controller.signal();
        let (count, counting) = Count::new();
        let mut waits: Vec<_> = (0..6).map(|_| signal.aborted()).collect();
        for (number, wait) in waits.iter_mut().enumerate() {
            let panics = waker(move || panic!("expected by the test, {number}"));
            let waker = if number % 2 == 0 { &panics } else { &counting };
            assert!(poll(wait, waker).is_pending());
        }
        let abort = AssertUnwindSafe(|| controller.abort(reason("fired")));
        let panicked = panic::catch_unwind(abort).unwrap_err();
        assert_eq!(
            panicked.downcast_ref::<String>().unwrap(),
            "expected by the test, 0"
        );
        assert_eq!(count.get(), 3);
        for mut wait in waits {
            assert!(poll(&mut wait, &counting).is_ready());
        }
        // The list is in order: waiters that come and go later find it so.
        assert!(poll(&mut signal.aborted(), &counting).is_ready());
        assert!(!controller.abort(reason("again")));
    });
}

#[test]
fn a_lone_waker_that_panics_leaves_the_list_in_order() {
    watched(|| {
        let controller = Controller::new();
        let mut wait = controller.signal().aborted();
        assert!(poll(&mut wait, &waker(|| panic!("expected by the test"))).is_pending());
        let abort = AssertUnwindSafe(|| controller.abort(reason("fired")));
        assert!(panic::catch_unwind(abort).is_err());
        drop(wait);
    });
}

/// Dropping the waker drops a waiter, as a task does that is referred to by its waker alone.
struct DropsWaiter(#[allow(dead_code)] Mutex<Option<Wait>>);

impl std::task::Wake for DropsWaiter {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn the_last_reference_to_a_task_may_be_its_waker() {
    watched(|| {
        let controller = Controller::new();
        let signal = controller.signal();
        let drops = || DropsWaiter(Mutex::new(Some(waiting(&signal))));
        let hostile = || std::task::Waker::from(Arc::new(drops()));
        // Dropped by being woken.
        let mut woken = signal.aborted();
        assert!(poll(&mut woken, &hostile()).is_pending());
        // Dropped by being replaced.
        let mut replaced = signal.aborted();
        assert!(poll(&mut replaced, &hostile()).is_pending());
        assert!(poll(&mut replaced, &hostile()).is_pending());
        // Dropped by the waiter's end, also in the alarm.
        let mut given_up = signal.any(Duration::from_secs(3600)).aborted();
        assert!(poll(&mut given_up, &hostile()).is_pending());
        drop(given_up);
        controller.abort(reason("fired"));
        assert!(poll(&mut woken, &waker(|| ())).is_ready());
        assert!(poll(&mut replaced, &waker(|| ())).is_ready());
    });
}

/// A task that waits, on an executor whose queue refuses it when it is woken: its future is dropped inside the waker.
#[test]
fn an_executor_with_a_closed_queue_drops_its_task_in_the_waker() {
    watched(|| {
        let controller = Controller::new();
        let closed = Arc::new(AtomicBool::new(false));
        let queue = Arc::new(Mutex::new(Vec::<async_task::Runnable>::new()));
        let schedule = {
            let (closed, queue) = (closed.clone(), queue.clone());
            move |runnable| {
                if closed.load(Ordering::SeqCst) {
                    drop(runnable);
                } else {
                    queue.lock().unwrap().push(runnable);
                }
            }
        };
        let signal = controller.signal();
        for _ in 0..3 {
            let signal = signal.clone();
            let waits = async move {
                let other = signal.aborted();
                let mut other = std::pin::pin!(other);
                future::zip(other.as_mut(), signal.aborted()).await;
            };
            let (runnable, task) = async_task::spawn(waits, schedule.clone());
            runnable.schedule();
            task.detach();
        }
        let runnables = std::mem::take(&mut *queue.lock().unwrap());
        assert_eq!(runnables.len(), 3);
        for runnable in runnables {
            runnable.run();
        }
        closed.store(true, Ordering::SeqCst);
        assert_eq!(fire_with(&controller, || ()), 3);
    });
}

#[test]
fn an_executor_may_be_dropped_before_the_firing() {
    watched(|| {
        let controller = Controller::new();
        let executor = smol::Executor::new();
        for _ in 0..10 {
            executor.spawn(controller.signal().aborted()).detach();
        }
        while executor.try_tick() {}
        drop(executor);
        assert!(controller.abort(reason("fired")));
    });
}

#[test]
fn an_executor_may_be_dropped_after_the_firing() {
    watched(|| {
        let controller = Controller::new();
        let executor = smol::Executor::new();
        for _ in 0..10 {
            executor.spawn(controller.signal().aborted()).detach();
        }
        while executor.try_tick() {}
        assert!(controller.abort(reason("fired")));
        drop(executor);
    });
}

#[test]
fn an_executor_may_be_dropped_by_a_waker() {
    watched(|| {
        let controller = Controller::new();
        let executor = smol::Executor::new();
        for _ in 0..10 {
            executor.spawn(controller.signal().aborted()).detach();
        }
        while executor.try_tick() {}
        let executor = Mutex::new(Some(executor));
        assert_eq!(
            fire_with(&controller, move || drop(executor.lock().unwrap().take())),
            3
        );
        block_on(controller.signal().aborted());
    });
}
