use std::time::{Duration, Instant};

use futures_lite::future::{self, block_on};
use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Deadline, Reason};

use crate::common::{Count, Random, poll, reason, text, waker, watched};

#[test]
fn an_awaited_deadline_wakes_not_before_its_time() {
    let start = Instant::now();
    let signal = Signal::from(Deadline::after(Duration::from_millis(5)).named("short"));
    let reason = block_on(signal.aborted());
    assert!(matches!(reason, Reason::Deadline(Some("short"))));
    assert!(start.elapsed() >= Duration::from_millis(5));
}

#[test]
fn the_earlier_deadline_wins() {
    let now = Instant::now();
    let early = Deadline::at(now + Duration::from_secs(1)).named("early");
    let late = Deadline::at(now + Duration::from_secs(2)).named("late");
    for signal in [Signal::from(early).any(late), Signal::from(late).any(early)] {
        assert_eq!(signal.deadline(), Some(now + Duration::from_secs(1)));
    }
}

#[test]
fn of_equal_deadlines_the_left_wins() {
    let past = Instant::now();
    let left = Deadline::at(past).named("left");
    let right = Deadline::at(past).named("right");
    let label = |signal: Signal| match signal.reason() {
        Some(Reason::Deadline(label)) => label,
        _ => None,
    };
    assert_eq!(label(Signal::from(left).any(right)), Some("left"));
    assert_eq!(label(Signal::from(right).any(left)), Some("right"));
    assert_eq!(label(Signal::any_of([left, right])), Some("left"));
}

#[test]
fn run_gives_up_at_the_deadline() {
    let signal = Signal::timeout(Duration::from_millis(5));
    let err = block_on(signal.run(future::pending::<()>())).unwrap_err();
    assert!(matches!(err.reason(), Reason::Deadline(None)));
}

#[test]
fn an_earlier_deadline_moves_the_alarm() {
    watched(|| {
        let late = smol::spawn(Signal::timeout(Duration::from_millis(60)).aborted());
        let start = Instant::now();
        block_on(Signal::timeout(Duration::from_millis(5)).aborted());
        assert!(start.elapsed() < Duration::from_secs(30));
        block_on(late);
    });
}

#[test]
fn a_deadline_given_up_does_not_silence_the_next() {
    watched(|| {
        let (_, waker) = Count::new();
        let mut early = Signal::timeout(Duration::from_millis(5)).aborted();
        let late = Signal::timeout(Duration::from_millis(20));
        assert!(poll(&mut early, &waker).is_pending());
        drop(early);
        block_on(late.aborted());
    });
}

#[test]
fn a_firing_before_the_deadline_wakes_at_once() {
    let controller = Controller::new();
    let (count, waker) = Count::new();
    let mut wait = controller.signal().any(Duration::from_secs(3600)).aborted();
    assert!(poll(&mut wait, &waker).is_pending());
    controller.abort(reason("source"));
    assert_eq!(count.get(), 1);
    assert!(poll(&mut wait, &waker).is_ready());
}

#[test]
fn a_deadline_follows_a_changed_waker() {
    watched(|| {
        let signal = Signal::timeout(Duration::from_millis(10));
        let (old, waker) = Count::new();
        let mut wait = signal.aborted();
        assert!(poll(&mut wait, &waker).is_pending());
        block_on(wait);
        assert_eq!(old.get(), 0);
    });
}

#[test]
fn wakers_of_due_deadlines_may_do_anything() {
    watched(|| {
        let end = Controller::new();
        let at = Instant::now() + Duration::from_millis(10);
        // Drops a waiter of the same deadline, waits for another, fires, and panics.
        let mut victim = Signal::at(at).aborted();
        assert!(poll(&mut victim, &waker(|| ())).is_pending());
        let victim = std::sync::Mutex::new(Some(victim));
        let fired = end.clone();
        let mut hostile = Signal::at(at).aborted();
        let hostile_waker = waker(move || {
            drop(victim.lock().unwrap().take());
            let mut another = Signal::timeout(Duration::from_millis(1)).aborted();
            let _ = poll(&mut another, &waker(|| ()));
            fired.abort(reason("by the waker"));
            panic!("expected by the test");
        });
        assert!(poll(&mut hostile, &hostile_waker).is_pending());
        // A waiter of the same time, and one of a later.
        let same = smol::spawn(Signal::at(at).aborted());
        let later = smol::spawn(Signal::at(at + Duration::from_millis(10)).aborted());
        block_on(same);
        block_on(later);
        assert_eq!(text(block_on(end.signal().aborted())), "by the waker");
    });
}

#[test]
fn sleep_ends_with_its_time_or_with_the_signal() {
    block_on(async {
        assert!(
            Signal::never()
                .sleep(Duration::from_millis(2))
                .await
                .is_ok()
        );
        assert!(Signal::never().sleep(Duration::ZERO).await.is_ok());

        let fired = Signal::fired(reason("before"));
        assert_eq!(
            text(fired.sleep(Duration::MAX).await.unwrap_err().into_reason()),
            "before"
        );

        let own = Signal::from(Deadline::after(Duration::from_millis(2)).named("own"));
        let err = own.sleep(Duration::MAX).await.unwrap_err();
        assert!(matches!(err.reason(), Reason::Deadline(Some("own"))));

        let long = Signal::timeout(Duration::from_secs(3600));
        assert!(long.sleep(Duration::from_millis(2)).await.is_ok());

        let controller = Controller::new();
        let signal = controller.signal();
        let sleep = signal.sleep(Duration::from_secs(3600));
        let fire = async { controller.abort(reason("while asleep")) };
        let (slept, _) = future::zip(sleep, fire).await;
        assert_eq!(text(slept.unwrap_err().into_reason()), "while asleep");
    });
}

#[test]
fn twenty_thousand_deadlines_are_woken_and_a_third_given_up() {
    const ALL: u64 = 20_000;
    watched(|| {
        let mut random = Random::new(3);
        let (count, waker) = Count::new();
        let now = Instant::now();
        let mut waits: Vec<_> = (0..ALL)
            .map(|_| {
                let at =
                    now + Duration::from_millis(100) + Duration::from_micros(random.below(300_000));
                let mut wait = Signal::at(at).aborted();
                // On a slow machine it may have passed by now.
                let pending = poll(&mut wait, &waker).is_pending();
                (at, pending.then_some(wait))
            })
            .collect();
        let mut expected = 0;
        for (number, (_, wait)) in waits.iter_mut().enumerate() {
            if number % 3 == 0 {
                wait.take();
            }
            expected += usize::from(wait.is_some());
        }
        let last = waits.iter().map(|(at, _)| *at).max().unwrap();
        block_on(Signal::at(last + Duration::from_millis(1)).aborted());
        for (_, wait) in &mut waits {
            if let Some(wait) = wait {
                assert!(poll(wait, &waker).is_ready());
            }
        }
        // Those given up may have been woken before that.
        assert!(count.get() >= expected, "{} of {expected}", count.get());
        assert!(count.get() <= ALL as usize);
    });
}
