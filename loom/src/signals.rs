//! Models of a signal.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::Duration;

use loom::sync::atomic::AtomicBool;
use loom::thread;

use crate::explore::{Park, START, block_on, model, poll};
use crate::smol_mcp::signal::{Controller, MODEL, Reason, Signal, Wait};

fn reason(text: &'static str) -> Reason {
    Reason::Deadline(Some(text))
}

fn text(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::Deadline(Some(text))) => text,
        Some(_) => "deadline",
        None => "",
    }
}

#[test]
fn a_waiter_is_woken() {
    model("one waiter × fire", 4, 800, || {
        let controller = Controller::new();
        let wait = controller.signal().aborted();
        let thread = thread::spawn(move || text(Some(block_on(wait))));
        controller.abort(reason("a"));
        assert_eq!(thread.join().unwrap(), "a");
    });
}

#[test]
fn two_waiters_are_woken() {
    model("two waiters × fire", 2, 6000, || {
        let controller = Controller::new();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let wait = controller.signal().aborted();
                thread::spawn(move || text(Some(block_on(wait))))
            })
            .collect();
        controller.abort(reason("a"));
        for thread in threads {
            assert_eq!(thread.join().unwrap(), "a");
        }
    });
}

#[test]
fn the_reason_is_decided_once_and_both_see_it() {
    model("fire × fire", 5, 20000, || {
        let controller = Controller::new();
        let other = controller.clone();
        let thread = thread::spawn(move || {
            let won = other.abort(reason("b"));
            let signal = other.signal();
            assert!(signal.is_aborted());
            (won, text(signal.reason()))
        });
        let won = controller.abort(reason("a"));
        let signal = controller.signal();
        assert!(signal.is_aborted());
        let mine = text(signal.reason());
        let (other_won, others) = thread.join().unwrap();
        assert!(won != other_won);
        assert_eq!(mine, if won { "a" } else { "b" });
        assert_eq!(mine, others);
    });
}

#[test]
fn an_aborted_signal_has_a_reason() {
    model("aborted ⇒ reason", 5, 60, || {
        let controller = Controller::new();
        let signal = controller.signal();
        let thread = thread::spawn(move || {
            controller.abort(reason("a"));
        });
        if signal.is_aborted() {
            assert_eq!(text(signal.reason()), "a");
        }
        thread.join().unwrap();
        assert_eq!(text(signal.reason()), "a");
    });
}

/// What two observers saw may be nothing, but never two things.
fn agree(one: &'static str, two: &'static str) {
    assert!(
        one.is_empty() || two.is_empty() || one == two,
        "{one} and {two}"
    );
}

#[test]
fn two_observers_agree_on_the_first_of_two_sources() {
    model("two sources × two observers", 3, 50000, || {
        let (a, b) = (Controller::new(), Controller::new());
        let ab = a.signal().any(b.signal());
        let ba = b.signal().any(a.signal());
        let last = ab.clone();
        let fire_a = thread::spawn(move || {
            a.abort(reason("a"));
        });
        let fire_b = thread::spawn(move || {
            b.abort(reason("b"));
        });
        let observer = thread::spawn(move || text(ba.reason()));
        let mine = text(ab.reason());
        let others = observer.join().unwrap();
        fire_a.join().unwrap();
        fire_b.join().unwrap();
        let end = text(last.reason());
        assert!(!end.is_empty());
        agree(mine, others);
        agree(mine, end);
        agree(others, end);
    });
}

#[test]
fn what_happened_before_wins() {
    model("source, then source", 4, 800, || {
        let (a, b) = (Controller::new(), Controller::new());
        let ba = b.signal().any(a.signal());
        let observer = {
            let ba = ba.clone();
            thread::spawn(move || text(ba.reason()))
        };
        a.abort(reason("a"));
        b.abort(reason("b"));
        agree(observer.join().unwrap(), "a");
        assert_eq!(text(ba.reason()), "a");
    });
}

#[test]
fn source_and_deadline_have_one_order() {
    model("source × deadline", 4, 4000, || {
        let controller = Controller::new();
        let signal = controller.signal().any(Duration::from_nanos(5));
        let observer = {
            let signal = signal.clone();
            thread::spawn(move || {
                let first = text_of(signal.reason());
                let second = text_of(signal.reason());
                agree(first, second);
                if !first.is_empty() {
                    assert_eq!(first, second);
                }
                second
            })
        };
        let clock = thread::spawn(|| {
            MODEL.set(START + 5);
            thread::yield_now();
            MODEL.set(START + 10);
        });
        controller.abort(reason("a"));
        let mine = text_of(signal.reason());
        let others = observer.join().unwrap();
        clock.join().unwrap();
        let end = text_of(signal.reason());
        agree(mine, others);
        agree(mine, end);
        agree(others, end);
    });
}

/// The text of a reason; the deadline of the model has none.
fn text_of(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::Deadline(None)) => "deadline",
        reason => text(reason),
    }
}

#[test]
fn a_passed_deadline_that_was_seen_is_never_overtaken() {
    model("seen deadline × fire", 4, 150, || {
        let controller = Controller::new();
        let signal = controller.signal().any(Duration::from_nanos(5));
        // Lets the checker put the whole firing before the clock is moved, without telling the observer of it.
        let order = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let order = order.clone();
            move || {
                controller.abort(reason("a"));
                order.store(true, Ordering::Relaxed);
            }
        });
        order.load(Ordering::Relaxed);
        MODEL.set(START + 5);
        let seen = text_of(signal.reason());
        MODEL.set(START);
        thread.join().unwrap();
        MODEL.set(START + 5);
        assert_eq!(text_of(signal.reason()), seen);
    });
}

#[test]
fn a_waiter_on_two_sources_is_woken_by_either() {
    model("waiter on two sources", 3, 2000, || {
        let (a, b) = (Controller::new(), Controller::new());
        let wait = a.signal().any(b.signal()).aborted();
        let thread = thread::spawn(move || text(Some(block_on(wait))));
        let other = thread::spawn(move || {
            b.abort(reason("b"));
        });
        other.join().unwrap();
        assert_eq!(thread.join().unwrap(), "b");
        drop(a);
    });
}

#[test]
fn a_waiter_on_three_sources_is_woken_once_for_all() {
    model("waiter on three sources", 3, 20000, || {
        let [a, b, c] = [(); 3].map(|()| Controller::new());
        // Not `any_of`, which sorts by addresses: they are not the same in every order.
        let wait = a.signal().any(b.signal()).any(c.signal()).aborted();
        let thread = thread::spawn(move || text(Some(block_on(wait))));
        let other = thread::spawn(move || {
            c.abort(reason("c"));
        });
        a.abort(reason("a"));
        let seen = thread.join().unwrap();
        other.join().unwrap();
        assert!(seen == "a" || seen == "c");
        drop(b);
    });
}

#[test]
fn a_waiter_that_gives_up_disturbs_nobody() {
    model("a waiter gives up", 2, 2000, || {
        let controller = Controller::new();
        let stays = controller.signal().aborted();
        let mut leaves = controller.signal().aborted();
        let thread = thread::spawn(move || text(Some(block_on(stays))));
        let leaver = thread::spawn(move || {
            let _ = poll(&mut leaves, Waker::noop());
            drop(leaves);
        });
        controller.abort(reason("a"));
        leaver.join().unwrap();
        assert_eq!(thread.join().unwrap(), "a");
    });
}

/// Polls with one waker, then with another, then waits for the other.
fn change_waker(mut wait: Wait) -> &'static str {
    if let Poll::Ready(reason) = poll(&mut wait, Waker::noop()) {
        return text(Some(reason));
    }
    text(Some(block_on(wait)))
}

#[test]
fn the_last_waker_is_called() {
    model("changed waker × fire", 3, 400, || {
        let controller = Controller::new();
        let wait = controller.signal().aborted();
        let thread = thread::spawn(move || change_waker(wait));
        controller.abort(reason("a"));
        assert_eq!(thread.join().unwrap(), "a");
    });
}

#[test]
fn an_unchanged_waker_is_called() {
    model("unchanged waker × fire", 3, 250, || {
        let controller = Controller::new();
        let mut wait = controller.signal().aborted();
        let thread = thread::spawn(move || {
            let (park, waker) = Park::new();
            for _ in 0..2 {
                if let Poll::Ready(reason) = poll(&mut wait, &waker) {
                    return text(Some(reason));
                }
            }
            loop {
                park.wait();
                if let Poll::Ready(reason) = poll(&mut wait, &waker) {
                    return text(Some(reason));
                }
            }
        });
        controller.abort(reason("a"));
        assert_eq!(thread.join().unwrap(), "a");
    });
}

#[test]
fn run_ends_when_the_signal_fires() {
    model("run × fire", 3, 200, || {
        let controller = Controller::new();
        let run = controller.signal().run(std::future::pending::<()>());
        let thread = thread::spawn(move || {
            let err = block_on(run).unwrap_err();
            text(Some(err.into_reason()))
        });
        controller.abort(reason("a"));
        assert_eq!(thread.join().unwrap(), "a");
    });
}

#[test]
fn a_source_that_fired_is_not_pruned() {
    model("pruning × fire", 5, 30, || {
        let controller = Controller::new();
        let other = Controller::new();
        let signal = controller.signal();
        let thread = thread::spawn(move || {
            controller.abort(reason("a"));
            drop(controller);
        });
        let both = other.signal().any(&signal);
        let collected: Signal = [other.signal(), signal].into_iter().collect();
        thread.join().unwrap();
        assert_eq!(text(both.reason()), "a");
        assert_eq!(text(collected.reason()), "a");
    });
}
