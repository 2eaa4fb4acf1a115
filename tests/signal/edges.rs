use std::time::{Duration, Instant};

use futures_lite::future::{self, block_on};
use smol_mcp::Signal;
use smol_mcp::signal::{Aborted, Controller, Deadline, Reason};

use crate::common::{Count, poll, reason, text};

#[test]
fn never_never_fires() {
    let signal = Signal::never();
    let (_, waker) = Count::new();
    assert!(poll(&mut signal.aborted(), &waker).is_pending());
    assert!(signal.check().is_ok());
    assert_eq!(signal.deadline(), None);
    assert_eq!(signal.remaining(), None);
    assert!(signal.wait_timeout(Duration::from_millis(1)).is_none());
    assert!(!Signal::default().is_aborted());
}

#[test]
fn zero_is_over_at_once() {
    let signal = Signal::timeout(Duration::ZERO);
    assert!(matches!(signal.reason(), Some(Reason::Deadline(None))));
    assert!(matches!(signal.wait_blocking(), Reason::Deadline(None)));
    assert!(block_on(signal.run(async {})).is_err());
}

#[test]
fn the_longest_duration_is_never() {
    for duration in [Duration::MAX, Duration::from_secs(u64::MAX / 1_000_000_000)] {
        let signal = Signal::timeout(duration);
        assert!(!signal.is_aborted());
        assert_eq!(signal.deadline(), None);
        assert_eq!(signal.remaining(), None);
        let (_, waker) = Count::new();
        assert!(poll(&mut signal.aborted(), &waker).is_pending());
    }
}

#[test]
fn a_deadline_lies_at_most_some_438_years_ahead() {
    let years = |years: u64| Signal::timeout(Duration::from_secs(years * 365 * 24 * 3600));
    assert!(years(438).deadline().is_some());
    assert_eq!(years(439).deadline(), None);
}

#[test]
fn a_century_is_kept_exactly() {
    let at = Instant::now() + Duration::from_secs(100 * 365 * 24 * 3600);
    assert_eq!(Signal::at(at).deadline(), Some(at));
    let (_, waker) = Count::new();
    assert!(poll(&mut Signal::at(at).aborted(), &waker).is_pending());
}

#[test]
fn a_past_instant_is_over_and_kept_exactly() {
    let now = Instant::now();
    // A machine that has just started may have no such instants.
    let Some(past) = now.checked_sub(Duration::from_secs(60)) else {
        return;
    };
    let signal = Signal::at(past);
    assert!(signal.is_aborted());
    assert_eq!(signal.deadline(), Some(past));
    assert_eq!(signal.remaining(), Some(Duration::ZERO));
    // Also if a source has fired since.
    let both = Signal::fired(reason("later")).any(past);
    assert!(matches!(both.reason(), Some(Reason::Deadline(None))));
}

#[test]
fn none_changes_nothing() {
    let controller = Controller::new();
    let signal = controller.signal();
    let signal = signal
        .any(None::<Signal>)
        .any(None::<&Signal>)
        .any(None::<Duration>)
        .any(None::<Instant>)
        .any(None::<Deadline>);
    assert_eq!(signal.deadline(), None);
    controller.abort(reason("still"));
    assert_eq!(text(signal.reason()), "still");
}

#[test]
fn some_is_the_same_as_the_thing() {
    let controller = Controller::new();
    let other = controller.signal();
    let at = Instant::now() + Duration::from_secs(9);
    let signal = Signal::never()
        .any(Some(&other))
        .any(Some(at))
        .any(Some(Duration::from_secs(99)));
    assert_eq!(signal.deadline(), Some(at));
    controller.abort(reason("some"));
    assert_eq!(text(signal.reason()), "some");
}

#[test]
fn any_of_nothing_never_fires() {
    let signal = Signal::any_of(Vec::<Signal>::new());
    assert!(!signal.is_aborted());
    assert_eq!(format!("{signal:?}"), format!("{:?}", Signal::never()));
}

#[test]
fn any_of_mixes_sources_and_deadlines() {
    let controller = Controller::new();
    let at = Instant::now() + Duration::from_secs(9);
    let signal = Signal::any_of([controller.signal(), Signal::at(at), Signal::never()]);
    assert_eq!(signal.deadline(), Some(at));
    controller.abort(reason("one"));
    assert_eq!(text(signal.reason()), "one");
}

/// How many sources a signal observes, as `Debug` tells.
fn sources(signal: &Signal) -> usize {
    let debug = format!("{signal:?}");
    let rest = debug.strip_prefix("Signal { sources: ").unwrap();
    rest.split_once(',').unwrap().0.parse().unwrap()
}

#[test]
fn each_source_counts_once() {
    let controllers = [(); 4].map(|()| Controller::new());
    let [a, b, c, d] = controllers.each_ref().map(Controller::signal);
    assert_eq!(sources(&a.any(&a)), 1);
    assert_eq!(sources(&a.any(&b).any(&a).any(&b)), 2);
    let three = a.any(&b).any(&c);
    assert_eq!(sources(&three.any(&three).any(&a).any(&c)), 3);
    assert_eq!(sources(&three.any(c.any(&d))), 4);
    assert_eq!(sources(&Signal::any_of([&a, &b, &a, &b, &c, &a])), 3);
    assert_eq!(sources(&Signal::any_of([&a, &a])), 1);
}

#[test]
fn sources_that_can_never_fire_are_left_out() {
    let controllers = [(); 3].map(|()| Controller::new());
    let [a, b, c] = controllers.each_ref().map(Controller::signal);
    let [first, second, third] = controllers;
    let ab = a.any(&b);
    drop(first);
    assert_eq!(sources(&ab.any(&c)), 2);
    assert_eq!(sources(&a.any(&c)), 1);
    assert_eq!(sources(&c.any(&a)), 1);
    assert_eq!(sources(&Signal::any_of([&a, &b, &c])), 2);
    second.abort(reason("fired"));
    drop(second);
    let all = Signal::any_of([&a, &b, &c]);
    assert_eq!(sources(&all), 2);
    assert_eq!(text(all.reason()), "fired");
    drop(third);
}

#[test]
fn a_long_chain_fires_from_every_link() {
    for fires in [0, 1, 30, 31, 32, 33, 99] {
        let mut signal = Signal::never();
        let controllers: Vec<_> = (0..100)
            .map(|_| {
                let (controller, below) = Controller::below(&signal);
                signal = below;
                controller
            })
            .collect();
        assert_eq!(sources(&signal), 100);
        let (count, waker) = Count::new();
        let mut wait = signal.aborted();
        assert!(poll(&mut wait, &waker).is_pending());
        controllers[fires].abort(reason("link"));
        assert_eq!(count.get(), 1);
        assert_eq!(text(signal.reason()), "link");
    }
}

#[test]
#[should_panic(expected = "`Run` polled after completion")]
fn run_panics_when_polled_after_its_output() {
    let mut run = Box::pin(Signal::never().run(future::ready(())));
    let (_, waker) = Count::new();
    assert!(poll(&mut run, &waker).is_ready());
    let _ = poll(&mut run, &waker);
}

#[test]
fn texts_are_short_and_lower_case() {
    let reasons = [
        (Reason::Cancelled(None), "cancelled by the client"),
        (
            Reason::cancelled("a\u{1b}[0m"),
            "cancelled by the client: a\\u{1b}[0m",
        ),
        (Reason::Disconnected, "the client disconnected"),
        (Reason::Closed, "the connection closed"),
        (Reason::ServerClosed, "the server closed"),
        (Reason::Deadline(None), "a deadline passed"),
        (Reason::Deadline(Some("x")), "deadline \"x\" passed"),
        (Reason::application("out of paper"), "out of paper"),
    ];
    for (reason, text) in reasons {
        assert_eq!(reason.to_string(), text);
        assert_eq!(
            Aborted::from(reason).to_string(),
            format!("aborted: {text}")
        );
    }
}

#[test]
fn debug_shows_the_state() {
    let controller = Controller::new();
    assert_eq!(format!("{controller:?}"), "Controller { reason: None }");
    let signal = controller.signal();
    assert_eq!(
        format!("{signal:?}"),
        "Signal { sources: 1, remaining: None, reason: None }"
    );
    controller.abort(Reason::Closed);
    assert_eq!(
        format!("{signal:?}"),
        "Signal { sources: 1, remaining: None, reason: Some(Closed) }"
    );
}
