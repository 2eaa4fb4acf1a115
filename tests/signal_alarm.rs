//! The alarm of `smol_mcp::signal`, in a process of its own: elsewhere the deadlines of other tests would set it off.
//! One test only, for the same reason.

use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use futures_lite::future;
use smol_mcp::Signal;
use smol_mcp::signal::Controller;

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn one_alarm_serves_all_deadlines_and_nothing_of_it_exists_before() {
    nothing_exists_before_a_deadline_is_awaited();
    for step in [
        ("a deadline wakes", a_deadline_wakes as fn()),
        ("an earlier one comes first", an_earlier_one_comes_first),
        ("each of several wakes", each_of_several_wakes),
        (
            "one that was given up does not silence the next",
            one_given_up,
        ),
        ("threads do not lose each other's deadlines", threads),
    ] {
        let (done, end) = mpsc::channel();
        thread::spawn(move || {
            (step.1)();
            let _ = done.send(());
        });
        assert!(
            end.recv_timeout(Duration::from_secs(20)).is_ok(),
            "{}",
            step.0
        );
    }
    #[cfg(target_os = "linux")]
    assert!(
        reactor(),
        "the thread of the reactor goes by another name now: this test has to follow"
    );
}

fn nothing_exists_before_a_deadline_is_awaited() {
    let controller = Controller::new();
    let signal = controller.signal().any(2 * MILLISECOND);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(
        pin!(controller.signal().aborted())
            .poll(&mut cx)
            .is_pending()
    );
    assert!(pin!(signal.run(future::ready(()))).poll(&mut cx).is_ready());
    assert!(signal.wait_timeout(Duration::from_secs(60)).is_some());
    assert!(signal.sleep_blocking(MILLISECOND).is_err());
    assert!(Signal::never().sleep_blocking(MILLISECOND).is_ok());
    assert!(signal.is_aborted());
    #[cfg(target_os = "linux")]
    assert!(!reactor(), "a reactor without an awaited deadline");
}

/// Whether this process has the thread of the reactor.
#[cfg(target_os = "linux")]
fn reactor() -> bool {
    std::fs::read_dir("/proc/self/task").unwrap().any(|task| {
        let name = task.unwrap().path().join("comm");
        std::fs::read_to_string(name).is_ok_and(|name| name.starts_with("async-io"))
    })
}

fn a_deadline_wakes() {
    future::block_on(Signal::timeout(2 * MILLISECOND).aborted());
}

fn an_earlier_one_comes_first() {
    let mut late = Signal::timeout(Duration::from_secs(3600)).aborted();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(&mut late).poll(&mut cx).is_pending());
    future::block_on(Signal::timeout(2 * MILLISECOND).aborted());
}

fn each_of_several_wakes() {
    let [one, two, three] = [2, 5, 8].map(|time| Signal::timeout(time * MILLISECOND).aborted());
    future::block_on(future::zip(one, future::zip(three, two)));
}

fn one_given_up() {
    let mut early = Signal::timeout(2 * MILLISECOND).aborted();
    let mut late = Signal::timeout(6 * MILLISECOND).aborted();
    let mut cx = Context::from_waker(Waker::noop());
    assert!(pin!(&mut early).poll(&mut cx).is_pending());
    assert!(pin!(&mut late).poll(&mut cx).is_pending());
    drop(early);
    future::block_on(late);
}

fn threads() {
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for round in 0..200 {
                    let time = Duration::from_micros(50 * ((number + round) % 7));
                    future::block_on(Signal::timeout(time).aborted());
                }
            });
        }
    });
}
