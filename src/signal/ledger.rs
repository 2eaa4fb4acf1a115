//! The one order of all firings.
//!
//! The ledger is the last stamp given out, or the latest deadline that somebody saw pass. Both grow with the clock,
//! and a stamp is greater than everything that the ledger held before it. What makes the order one that all threads
//! agree on is the chain of read-modify-writes, not the clock: clocks of two processors may differ.

use super::clock;
use super::sync::{AtomicU64, Ordering};

#[cfg(not(loom))]
static LEDGER: AtomicU64 = AtomicU64::new(0);

#[cfg(loom)]
loom::lazy_static! {
    static ref LEDGER: AtomicU64 = AtomicU64::new(0);
}

/// Returns a new stamp: unique, greater than every earlier stamp and every entered deadline, never zero.
///
/// Pairs with itself and with [`enter`]: each step releases what its thread did before (it saw a source fired) to the
/// thread whose step comes later.
pub(super) fn stamp() -> u64 {
    let now = clock::now();
    let mut last = guess();
    loop {
        let next = now.max(last + 1);
        match LEDGER.compare_exchange(last, next, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return next,
            Err(other) => last = other,
        }
    }
}

/// What to try first. The model checker is told nothing, since it takes a load before an exchange for all that it has
/// to know of the earlier exchanges.
fn guess() -> u64 {
    if cfg!(loom) {
        0
    } else {
        LEDGER.load(Ordering::Relaxed)
    }
}

/// Enters a deadline that has passed: every stamp given out from now on is greater.
pub(super) fn enter(deadline: u64) {
    LEDGER.fetch_max(deadline, Ordering::AcqRel);
}
