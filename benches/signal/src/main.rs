//! Measures `Signal` beside the `CancellationToken` of tokio-util and prints a table.
//!
//! Run with `cargo run --release` in this folder (it sets how loops are aligned). A row that misses its target is marked; with `--check` the program
//! then fails. Every figure is the best of many short rounds, so that other work on the machine disturbs little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use smol_mcp::Signal;
use smol_mcp::signal::{Controller, Reason};
use tokio_util::sync::CancellationToken;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

// SAFETY: passes everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|cell| {
            let (count, bytes) = cell.get();
            cell.set((count + 1, bytes + layout.size() as u64));
        });
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and bytes of one call.
fn allocations<T>(call: impl FnOnce() -> T) -> (u64, u64) {
    let before = ALLOCATIONS.get();
    let value = call();
    let after = ALLOCATIONS.get();
    drop(value);
    (after.0 - before.0, after.1 - before.1)
}

/// For what takes a millisecond or more; [`time`] has its own.
const ROUNDS: usize = 25;

/// Nanoseconds of one call, at best.
fn time<T>(mut call: impl FnMut() -> T) -> f64 {
    const CALLS: u32 = 2_000;
    best_of(1000, || {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    })
}

/// The same for a call that uses up something prepared.
fn time_each<P, T>(mut prepare: impl FnMut() -> P, mut call: impl FnMut(&mut P) -> T) -> f64 {
    const CALLS: usize = 500;
    best_of(300, || {
        let mut prepared: Vec<P> = (0..CALLS).map(|_| prepare()).collect();
        let start = Instant::now();
        for one in &mut prepared {
            black_box(call(one));
        }
        start.elapsed().as_nanos() as f64 / CALLS as f64
    })
}

fn best(round: impl FnMut() -> f64) -> f64 {
    best_of(ROUNDS, round)
}

fn best_of(rounds: usize, mut round: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The same call on two threads at once.
fn time_on_two(call: impl Fn() + Sync) -> f64 {
    const CALLS: u32 = 500_000;
    best(|| {
        let barrier = Barrier::new(2);
        let round = || {
            barrier.wait();
            let start = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        };
        thread::scope(|scope| {
            let other = scope.spawn(round);
            let mine = round();
            mine.max(other.join().unwrap())
        })
    })
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

/// The targets were set on another machine, on which the token took the second of the times given for it.
struct Table {
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    target: f64,
    ours: f64,
    /// What the token takes here, and what it took where the targets were set.
    token: Option<(f64, f64)>,
    /// Whether it is a time, not a count.
    time: bool,
}

impl Table {
    fn row(&mut self, name: &'static str, target: f64, ours: f64, token: Option<(f64, f64)>) {
        self.rows.push(Row {
            name,
            target,
            ours,
            token,
            time: true,
        });
    }

    fn count(&mut self, name: &'static str, target: f64, ours: u64, token: Option<u64>) {
        let token = token.map(|token| (token as f64, token as f64));
        self.rows.push(Row {
            name,
            target,
            ours: ours as f64,
            token,
            time: false,
        });
    }

    /// Prints the table and returns how many targets are missed.
    ///
    /// A time with a token beside it is measured by the ratio to the token. The others are by what the target would be on
    /// a machine as fast as this, for which the median of the token's times stands.
    fn print(&self) -> usize {
        let of_token = self
            .rows
            .iter()
            .filter(|row| row.time)
            .filter_map(|row| row.token);
        let mut speeds: Vec<f64> = of_token.map(|(here, there)| here / there).collect();
        speeds.sort_by(f64::total_cmp);
        let speed = speeds[speeds.len() / 2];
        let mut missed = 0;
        println!(
            "| ns, or a count                           |  target |    ours |   token | ratio | at most |"
        );
        println!(
            "|------------------------------------------|--------:|--------:|--------:|------:|--------:|"
        );
        for row in &self.rows {
            let (ratio, limit) = match row.token {
                Some((here, there)) if row.time => (row.ours / here, row.target / there),
                _ if row.time => (row.ours / row.target, speed),
                _ => (row.ours / row.target, 1.0),
            };
            let kept = ratio <= limit;
            missed += usize::from(!kept);
            let dash = || String::from("–");
            let token = row
                .token
                .map_or_else(dash, |(here, _)| format!("{here:.1}"));
            let (ratio, limit) = match row.token {
                Some(_) if row.time => (format!("{ratio:.2}"), format!("{limit:.2}")),
                _ => (dash(), dash()),
            };
            println!(
                "| {:<40} | {:>7.1} | {:>7.1} | {token:>7} | {ratio:>5} | {limit:>7} |{}",
                row.name,
                row.target,
                row.ours,
                if kept { "" } else { " missed" },
            );
        }
        println!(
            "The token takes {speed:.2} times (median) what it took where the targets were set."
        );
        missed
    }
}

fn main() {
    let mut cx = Context::from_waker(Waker::noop());
    let mut table = Table { rows: Vec::new() };

    let controller = Controller::new();
    let other = Controller::new();
    let one = controller.signal();
    let two = one.any(other.signal());
    let token = CancellationToken::new();

    let of_token = time(|| black_box(&token).is_cancelled());
    table.row(
        "check, one source",
        1.5,
        time(|| black_box(&one).is_aborted()),
        Some((of_token, 10.0)),
    );
    table.row(
        "check, two sources",
        1.5,
        time(|| black_box(&two).is_aborted()),
        Some((of_token, 10.0)),
    );
    let limited = one.any(Duration::from_secs(3600));
    table.row(
        "check, one source and a deadline",
        40.0,
        time(|| black_box(&limited).is_aborted()),
        None,
    );
    let on_two = time_on_two(|| {
        black_box(black_box(&one).is_aborted());
    });
    let token_on_two = time_on_two(|| {
        black_box(black_box(&token).is_cancelled());
    });
    table.row(
        "check, two threads on one signal",
        3.0,
        on_two,
        Some((token_on_two, 40.0)),
    );

    let of_token = time(|| black_box(&token).clone());
    table.row(
        "clone and drop, one source",
        12.0,
        time(|| black_box(&one).clone()),
        Some((of_token, 31.0)),
    );
    table.row(
        "clone and drop, two sources",
        22.0,
        time(|| black_box(&two).clone()),
        Some((of_token, 31.0)),
    );

    let hour = Duration::from_secs(3600);
    table.row(
        "any(Duration)",
        45.0,
        time(|| black_box(&one).any(black_box(hour))),
        None,
    );
    let second = other.signal();
    table.row(
        "any(&Signal)",
        45.0,
        time(|| black_box(&one).any(black_box(&second))),
        None,
    );

    let of_token = time(|| black_box(&token).child_token());
    table.row(
        "child and drop",
        75.0,
        time(|| Controller::below(black_box(&one))),
        Some((of_token, 100.0)),
    );

    let of_token = time(|| {
        pin!(black_box(&token).cancelled())
            .poll(&mut cx)
            .is_pending()
    });
    let ours = time(|| {
        Pin::new(&mut black_box(&one).aborted())
            .poll(&mut cx)
            .is_pending()
    });
    table.row("first wait and drop", 90.0, ours, Some((of_token, 46.0)));
    // An earlier deadline that is awaited: the timer need not be moved.
    let earlier = Signal::timeout(Duration::from_secs(1800));
    let mut earlier = earlier.aborted();
    assert!(Pin::new(&mut earlier).poll(&mut cx).is_pending());
    let ours = time(|| {
        Pin::new(&mut black_box(&limited).aborted())
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

    let chain = || {
        let mut controllers = Vec::with_capacity(10);
        let mut signal = Signal::never();
        for _ in 0..10 {
            let (controller, below) = Controller::below(&signal);
            controllers.push(controller);
            signal = below;
        }
        (controllers, signal)
    };
    let tokens = || {
        let mut tokens = Vec::with_capacity(11);
        tokens.push(CancellationToken::new());
        for above in 0..9 {
            let below: &CancellationToken = &tokens[above];
            tokens.push(below.child_token());
        }
        tokens
    };
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

    let missed = table.print();
    if missed > 0 {
        println!("{missed} targets missed");
        if std::env::args().any(|arg| arg == "--check") {
            std::process::exit(1);
        }
    }
}
