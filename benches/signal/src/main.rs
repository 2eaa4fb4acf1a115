//! Measures `Signal` beside the `CancellationToken` of tokio-util and prints a table.
//!
//! Run with `cargo run --release` in this folder (it sets how loops are aligned). A row that misses its target is marked;
//! with `--check` the program then fails.

mod meter;
mod table;

use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Reason};
use tokio_util::sync::CancellationToken;

use meter::{allocations, best, time, time_each, time_on_two};
use table::Table;

const HOUR: Duration = Duration::from_secs(3600);

/// What most rows are about.
struct Subjects {
    /// That of `one`. Without it the signal could never fire, and would be left out of what it is combined into.
    _controller: Controller,
    other: Controller,
    one: Signal,
    two: Signal,
    limited: Signal,
    token: CancellationToken,
}

impl Subjects {
    fn new() -> Self {
        let (controller, other) = (Controller::new(), Controller::new());
        let one = controller.signal();
        Self {
            two: one.any(other.signal()),
            limited: one.any(HOUR),
            one,
            _controller: controller,
            other,
            token: CancellationToken::new(),
        }
    }
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn main() {
    let (mut table, subjects) = (Table::default(), Subjects::new());
    checks(&mut table, &subjects);
    clones(&mut table, &subjects);
    combinations(&mut table, &subjects);
    waits(&mut table, &subjects);
    runs(&mut table, &subjects);
    firings(&mut table);
    chains(&mut table);
    memory(&mut table);
    let missed = table.print();
    if missed > 0 {
        println!("{missed} targets missed");
        if std::env::args().any(|arg| arg == "--check") {
            std::process::exit(1);
        }
    }
}

/// Asking whether a signal has fired.
fn checks(table: &mut Table, subjects: &Subjects) {
    let Subjects {
        one,
        two,
        limited,
        token,
        ..
    } = subjects;
    let of_token = time(|| black_box(token).is_cancelled());
    table.row(
        "check, one source",
        1.5,
        time(|| black_box(one).is_aborted()),
        Some((of_token, 10.0)),
    );
    table.row(
        "check, two sources",
        1.5,
        time(|| black_box(two).is_aborted()),
        Some((of_token, 10.0)),
    );
    table.row(
        "check, one source and a deadline",
        40.0,
        time(|| black_box(limited).is_aborted()),
        None,
    );
    let on_two = time_on_two(|| {
        black_box(black_box(one).is_aborted());
    });
    let token_on_two = time_on_two(|| {
        black_box(black_box(token).is_cancelled());
    });
    table.row(
        "check, two threads on one signal",
        3.0,
        on_two,
        Some((token_on_two, 40.0)),
    );
}

/// Passing a signal on.
fn clones(table: &mut Table, subjects: &Subjects) {
    let Subjects {
        one, two, token, ..
    } = subjects;
    let of_token = time(|| black_box(token).clone());
    table.row(
        "clone and drop, one source",
        12.0,
        time(|| black_box(one).clone()),
        Some((of_token, 31.0)),
    );
    table.row(
        "clone and drop, two sources",
        22.0,
        time(|| black_box(two).clone()),
        Some((of_token, 31.0)),
    );
}

/// Making a stricter signal of one.
fn combinations(table: &mut Table, subjects: &Subjects) {
    let Subjects {
        one, other, token, ..
    } = subjects;
    table.row(
        "any(Duration)",
        45.0,
        time(|| black_box(one).any(black_box(HOUR))),
        None,
    );
    let second = other.signal();
    table.row(
        "any(&Signal)",
        45.0,
        time(|| black_box(one).any(black_box(&second))),
        None,
    );

    let of_token = time(|| black_box(token).child_token());
    table.row(
        "child and drop",
        75.0,
        time(|| Controller::below(black_box(one))),
        Some((of_token, 100.0)),
    );
}

/// Waiting in a task.
fn waits(table: &mut Table, subjects: &Subjects) {
    let Subjects {
        one,
        limited,
        token,
        ..
    } = subjects;
    let mut cx = context();
    let of_token = time(|| {
        pin!(black_box(token).cancelled())
            .poll(&mut cx)
            .is_pending()
    });
    let ours = time(|| {
        Pin::new(&mut black_box(one).aborted())
            .poll(&mut cx)
            .is_pending()
    });
    table.row("first wait and drop", 90.0, ours, Some((of_token, 46.0)));
    // An earlier deadline that is awaited: the timer need not be moved.
    let earlier = Signal::timeout(Duration::from_secs(1800));
    let mut earlier = earlier.aborted();
    assert!(Pin::new(&mut earlier).poll(&mut cx).is_pending());
    let ours = time(|| {
        Pin::new(&mut black_box(limited).aborted())
            .poll(&mut cx)
            .is_pending()
    });
    table.row("first wait and drop, with a deadline", 250.0, ours, None);

    let mut wait = one.aborted();
    assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
    let ours = time(|| Pin::new(black_box(&mut wait)).poll(&mut cx).is_pending());
    {
        let mut wait = pin!(token.cancelled());
        assert!(wait.as_mut().poll(&mut cx).is_pending());
        let of_token = time(|| black_box(&mut wait).as_mut().poll(&mut cx).is_pending());
        table.row("poll again", 2.0, ours, Some((of_token, 24.0)));
    }
}

/// Running a future under a signal.
fn runs(table: &mut Table, subjects: &Subjects) {
    let Subjects { one, token, .. } = subjects;
    let of_token = time(|| to_the_end(token.run_until_cancelled(async { 1 })));
    table.row(
        "run, ready at once",
        25.0,
        time(|| to_the_end(one.run(async { 1 }))),
        Some((of_token, 14.0)),
    );
    let of_token = time(|| to_the_end(token.run_until_cancelled(Pends(10))));
    table.row(
        "run, pends ten times",
        100.0,
        time(|| to_the_end(one.run(Pends(10)))),
        Some((of_token, 280.0)),
    );
}

/// Firing.
fn firings(table: &mut Table) {
    let mut cx = context();
    let of_token = time_each(CancellationToken::new, |token| token.cancel());
    let ours = time_each(Controller::new, |controller| {
        controller.abort(Reason::Closed)
    });
    table.row("abort, nobody waits", 60.0, ours, Some((of_token, 32.0)));

    const WAITERS: usize = 100_000;
    let of_token = best(|| {
        let token = CancellationToken::new();
        let mut waits: Vec<_> = (0..WAITERS).map(|_| Box::pin(token.cancelled())).collect();
        waits
            .iter_mut()
            .for_each(|wait| assert!(wait.as_mut().poll(&mut cx).is_pending()));
        let start = Instant::now();
        token.cancel();
        start.elapsed().as_nanos() as f64 / WAITERS as f64
    });
    let ours = best(|| {
        let controller = Controller::new();
        let mut waits: Vec<_> = (0..WAITERS)
            .map(|_| controller.signal().aborted())
            .collect();
        waits
            .iter_mut()
            .for_each(|wait| assert!(Pin::new(wait).poll(&mut cx).is_pending()));
        let start = Instant::now();
        controller.abort(Reason::Closed);
        start.elapsed().as_nanos() as f64 / WAITERS as f64
    });
    table.row(
        "abort, each of 100,000 waiters",
        15.0,
        ours,
        Some((of_token, 11.5)),
    );
}

/// Ten controllers, each below the one before it, and the signal of the last.
fn chain() -> (Vec<Controller>, Signal) {
    let mut controllers = Vec::with_capacity(10);
    let mut signal = Signal::never();
    for _ in 0..10 {
        let (controller, below) = Controller::below(&signal);
        controllers.push(controller);
        signal = below;
    }
    (controllers, signal)
}

/// The same of tokens.
fn tokens() -> Vec<CancellationToken> {
    let mut tokens = Vec::with_capacity(11);
    tokens.push(CancellationToken::new());
    for above in 0..9 {
        let below: &CancellationToken = &tokens[above];
        tokens.push(below.child_token());
    }
    tokens
}

/// Controllers below each other.
fn chains(table: &mut Table) {
    let of_token = time_each(|| None, |place| *place = Some(tokens()));
    let ours = time_each(|| None, |place| *place = Some(chain()));
    table.row("chain of 10: build", 1500.0, ours, Some((of_token, 360.0)));
    let (_controllers, signal) = chain();
    let of_token = {
        let tokens = tokens();
        time(|| black_box(&tokens[9]).is_cancelled())
    };
    table.row(
        "chain of 10: check",
        5.0,
        time(|| black_box(&signal).is_aborted()),
        Some((of_token, 10.0)),
    );
    let of_token = time_each(tokens, |tokens| tokens[0].cancel());
    let ours = time_each(chain, |(controllers, _)| {
        controllers[0].abort(Reason::Closed)
    });
    table.row(
        "chain of 10: fire the first",
        150.0,
        ours,
        Some((of_token, 660.0)),
    );
}

/// What a request keeps.
fn memory(table: &mut Table) {
    let mut cx = context();
    let (count, bytes) = allocations(Controller::new);
    let (tokens_count, tokens_bytes) = allocations(CancellationToken::new);
    table.count("a request, allocations", 1.0, count, Some(tokens_count));
    table.count("a request, bytes", 128.0, bytes, Some(tokens_bytes));
    let (count, bytes) = allocations(|| {
        let controller = Controller::new();
        let mut wait = controller.signal().aborted();
        assert!(Pin::new(&mut wait).poll(&mut cx).is_pending());
        (controller, wait)
    });
    table.count("a request with one waiter, allocations", 3.0, count, None);
    table.count("a request with one waiter, bytes", 256.0, bytes, None);
}

struct Pends(u32);

impl Future for Pends {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        Poll::Pending
    }
}

fn to_the_end<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
    }
}
