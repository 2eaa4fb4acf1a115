//! Times and allocations of calls. Every figure is the best of many short rounds, so that other work on the machine
//! disturbs little.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

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
pub(crate) fn allocations<T>(call: impl FnOnce() -> T) -> (u64, u64) {
    let before = ALLOCATIONS.get();
    let value = call();
    let after = ALLOCATIONS.get();
    drop(value);
    (after.0 - before.0, after.1 - before.1)
}

/// For what takes a millisecond or more; [`time`] has its own.
const ROUNDS: usize = 25;

/// Nanoseconds of one call, at best.
pub(crate) fn time<T>(mut call: impl FnMut() -> T) -> f64 {
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
pub(crate) fn time_each<P, T>(
    mut prepare: impl FnMut() -> P,
    mut call: impl FnMut(&mut P) -> T,
) -> f64 {
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

pub(crate) fn best(round: impl FnMut() -> f64) -> f64 {
    best_of(ROUNDS, round)
}

fn best_of(rounds: usize, mut round: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// The same call on two threads at once.
pub(crate) fn time_on_two(call: impl Fn() + Sync) -> f64 {
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
