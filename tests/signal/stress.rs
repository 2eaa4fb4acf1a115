//! Threads against each other, from a seed that a failure prints.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use futures_lite::future::{self, block_on};
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Reason};

use crate::common::{Random, poll, reason, text, waker, watched};

/// The seed; set `SIGNAL_SEED` to repeat a failure or to try others.
fn seed() -> u64 {
    let seed = std::env::var("SIGNAL_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_260_728);
    println!("SIGNAL_SEED={seed}");
    seed
}

#[test]
fn blocking_and_async_waiters_all_see_one_reason() {
    watched(|| {
        let mut random = Random::new(seed());
        for round in 0..300 {
            let controllers = [(); 3].map(|()| Controller::new());
            let signal: Signal = controllers.iter().map(Controller::signal).collect();
            let pause = random.below(200);
            let first = random.below(3) as usize;
            thread::scope(|scope| {
                let blocking = scope.spawn(|| text(signal.wait_blocking()));
                let timed = scope.spawn(|| text(signal.wait_timeout(Duration::from_secs(3600))));
                let waiting = scope.spawn(|| text(block_on(signal.aborted())));
                let running = scope.spawn(|| {
                    let run = signal.run(future::pending::<()>());
                    text(block_on(run).unwrap_err().into_reason())
                });
                for _ in 0..pause {
                    std::hint::spin_loop();
                }
                for number in 0..3 {
                    let number = (first + number) % 3;
                    controllers[number].abort(reason(&number.to_string()));
                }
                let expected = first.to_string();
                for thread in [blocking, timed, waiting, running] {
                    assert_eq!(thread.join().unwrap(), expected, "round {round}");
                }
            });
        }
    });
}

#[test]
fn a_deadline_microseconds_away_and_a_firing_have_one_order() {
    watched(|| {
        let mut random = Random::new(seed());
        let by_deadline = AtomicUsize::new(0);
        for round in 0..2000 {
            let controller = Controller::new();
            let signal = controller
                .signal()
                .any(Duration::from_micros(5 + random.below(40)));
            let pause = random.below(4000);
            let seen = thread::scope(|scope| {
                let observe = || {
                    let mut seen = signal.reason();
                    while seen.is_none() {
                        std::hint::spin_loop();
                        seen = signal.reason();
                    }
                    let first = text(seen);
                    assert_eq!(text(signal.reason()), first, "round {round}");
                    first
                };
                let observer = scope.spawn(observe);
                for _ in 0..pause {
                    std::hint::spin_loop();
                }
                controller.abort(reason("source"));
                let mine = observe();
                assert_eq!(observer.join().unwrap(), mine, "round {round}");
                mine
            });
            assert_eq!(text(signal.reason()), seen);
            if matches!(signal.reason(), Some(Reason::Deadline(_))) {
                by_deadline.fetch_add(1, Ordering::Relaxed);
            }
        }
        println!("{} of 2000 by the deadline", by_deadline.into_inner());
    });
}

#[test]
fn a_deadline_microseconds_away_wakes_and_so_does_a_firing() {
    watched(|| {
        let mut random = Random::new(seed());
        for _ in 0..1000 {
            let controller = Controller::new();
            let signal = controller
                .signal()
                .any(Duration::from_micros(random.below(300)));
            let fires = random.below(2) == 0;
            thread::scope(|scope| {
                let waiting = scope.spawn(|| text(block_on(signal.aborted())));
                let blocking = scope.spawn(|| text(signal.wait_blocking()));
                if fires {
                    controller.abort(reason("source"));
                }
                assert_eq!(waiting.join().unwrap(), blocking.join().unwrap());
            });
        }
    });
}

#[test]
fn observers_in_different_order_agree() {
    watched(|| {
        for round in 0..2000 {
            let (a, b) = (Controller::new(), Controller::new());
            let ab = a.signal().any(b.signal());
            let ba = b.signal().any(a.signal());
            let look = |signal: &Signal| {
                loop {
                    if let Some(reason) = signal.reason() {
                        return text(reason);
                    }
                }
            };
            thread::scope(|scope| {
                let one = scope.spawn(|| look(&ab));
                let two = scope.spawn(|| look(&ba));
                scope.spawn(|| a.abort(reason("a")));
                b.abort(reason("b"));
                let one = one.join().unwrap();
                assert_eq!(one, two.join().unwrap(), "round {round}");
                assert_eq!(one, text(ab.reason()), "round {round}");
            });
        }
    });
}

#[test]
fn waiters_that_come_and_go_disturb_nobody() {
    watched(|| {
        for _ in 0..200 {
            let controller = Controller::new();
            let signal = controller.signal();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !signal.is_aborted() {
                            let mut wait = signal.aborted();
                            let _ = poll(&mut wait, &waker(|| ()));
                            let _ = poll(&mut wait, &waker(|| ()));
                        }
                    });
                }
                let stays = scope.spawn(|| text(block_on(signal.aborted())));
                controller.abort(reason("end"));
                assert_eq!(stays.join().unwrap(), "end");
            });
        }
    });
}
