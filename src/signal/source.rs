//! One thing that fires once, with a reason.

use super::Reason;
use super::ledger;
use super::sync::{AtomicU8, AtomicU64, AtomicUsize, OnceLock, Ordering};
use super::waiters::{Ticket, Waiters};

/// Nobody has ever waited.
const IDLE: u8 = 0;
/// Somebody waits or has waited: the firing thread has to look at the list.
const LISTENED: u8 = 1;
/// Fired, for ever.
const FIRED: u8 = 2;

/// One thing that can fire, once.
pub(super) struct Source {
    /// `IDLE`, `LISTENED` or `FIRED`; only grows. Both changes are read-modify-writes, so that they have one order:
    /// either the firing thread sees `LISTENED`, or the waiter sees `FIRED`.
    ///
    /// The lock of a list is held while wakers run only after `FIRED`, and is wanted only by those who did not see it. The
    /// swap and the looks before that lock are `SeqCst`, so that threads which fire different sources and whose wakers
    /// want each other's lists cannot all have looked too early: there is no circle of them.
    state: AtomicU8,
    /// Set before `state` becomes `FIRED`.
    reason: OnceLock<Reason>,
    /// When it fired, in the order of the ledger. Zero until somebody stamps it: the firing thread, or an observer
    /// that comes before it. Only a fired source is stamped.
    stamp: AtomicU64,
    /// How many controllers there are. At zero it stays zero, for a controller is only made from another.
    controllers: AtomicUsize,
    waiters: Waiters,
}

impl Source {
    /// A source with one controller.
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU8::new(IDLE),
            reason: OnceLock::new(),
            stamp: AtomicU64::new(0),
            controllers: AtomicUsize::new(1),
            waiters: Waiters::new(),
        }
    }

    /// Fires; `true` if this call decided the reason. Afterwards the source is fired in any case, also if the thread
    /// that decided has not got that far yet.
    pub(super) fn fire(&self, reason: Reason) -> bool {
        let won = self.reason.set(reason).is_ok();
        // Releases the reason to `is_fired`, and acquires from `listen`.
        let previous = self.state.swap(FIRED, Ordering::SeqCst);
        self.stamp();
        if previous == LISTENED {
            self.waiters.notify_all();
        }
        won
    }

    #[inline]
    pub(super) fn is_fired(&self) -> bool {
        // Pairs with the swap in `fire`.
        self.state.load(Ordering::Acquire) == FIRED
    }

    /// The reason of a fired source.
    pub(super) fn reason(&self) -> Reason {
        let reason = self.reason.get().expect("a fired source has its reason");
        reason.clone()
    }

    /// The stamp of a fired source, which it gets now if it has none.
    pub(super) fn stamp(&self) -> u64 {
        // The model checker goes without, as in the ledger.
        if !cfg!(loom) {
            let stamp = self.stamp.load(Ordering::Acquire);
            if stamp != 0 {
                return stamp;
            }
        }
        let new = ledger::stamp();
        // Which of two threads stamps does not matter: both came after the firing.
        match self
            .stamp
            .compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => new,
            Err(other) => other,
        }
    }

    /// Takes a place among the waiters; `None` if the source has fired.
    ///
    /// The caller has to ask [`is_fired`](Self::is_fired) again before it waits.
    pub(super) fn listen(&self) -> Option<Ticket> {
        // Whoever sees `LISTENED` needs no exchange: the firing thread will see it too. To the model checker the failed
        // exchange is the same, and a load before it would hide orders from it.
        if !cfg!(loom) && self.state.load(Ordering::SeqCst) == LISTENED {
            return Some(self.waiters.register());
        }
        // Pairs with the swap in `fire`.
        match self
            .state
            .compare_exchange(IDLE, LISTENED, Ordering::SeqCst, Ordering::SeqCst)
        {
            Err(FIRED) => None,
            _ => Some(self.waiters.register()),
        }
    }

    /// Gives a place among the waiters up.
    pub(super) fn leave(&self, ticket: Ticket) {
        let notifying = self.state.load(Ordering::SeqCst) == FIRED;
        self.waiters.remove(ticket, notifying);
    }

    pub(super) fn add_controller(&self) {
        self.controllers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn remove_controller(&self) {
        // Releases the firing, if there was one, to `is_inert`.
        self.controllers.fetch_sub(1, Ordering::Release);
    }

    /// Whether it can never fire: it has no controller and has not fired.
    pub(super) fn is_inert(&self) -> bool {
        self.controllers.load(Ordering::Acquire) == 0 && !self.is_fired()
    }
}
