//! Who waits for a source.
//!
//! This is an [`Event`] with a yard. An event clones, drops and wakes wakers under the lock of its list; a waker
//! that drops a waiter of the same source while it is woken would wait for itself. Therefore a waiter that is given up
//! while the source notifies is not taken out of the list then, but put into the yard, which the firing thread clears
//! when it has left the list. A waker is replaced by taking a new place, so that the old one is not dropped under the
//! lock either. What is left is `clone`, which must not touch signals; no executor's does.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use event_listener::{Event, EventListener};

use super::sync::Mutex;

pub(super) struct Waiters {
    event: Event,
    /// Open until everybody has been notified. Its lock is never held while a waker runs or is dropped.
    yard: Mutex<Option<Vec<EventListener>>>,
}

/// A place in the list.
pub(super) struct Ticket(EventListener);

impl Waiters {
    pub(super) fn new() -> Self {
        Self {
            event: Event::new(),
            yard: Mutex::new(Some(Vec::new())),
        }
    }

    /// Takes a place in the list, not yet with a waker: a notification from now on reaches it.
    pub(super) fn register(&self) -> Ticket {
        Ticket(self.event.listen())
    }

    /// Leaves the list. `notifying` says that [`notify_all`](Self::notify_all) may be under way, perhaps further up
    /// on this very stack.
    pub(super) fn remove(&self, ticket: Ticket, notifying: bool) {
        if notifying {
            let mut yard = self.yard.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(yard) = &mut *yard {
                yard.push(ticket.0);
                return;
            }
        }
        // Outside of the yard's lock: this drops a waker, which may drop anything.
        drop(ticket);
    }

    /// Notifies everybody in the list. Called once.
    ///
    /// # Panics
    ///
    /// With the first panic of a waker, after everybody has been notified.
    pub(super) fn notify_all(&self) {
        let mut panicked = None;
        // One more attempt than there are wakers that can panic.
        for _ in 0..=self.event.total_listeners() {
            let notify = AssertUnwindSafe(|| self.event.notify(usize::MAX));
            let Err(panic) = panic::catch_unwind(notify) else {
                break;
            };
            panicked.get_or_insert(panic);
            // The event has marked the waiter whose waker panicked as notified, but not counted it, and would count
            // below zero when that waiter leaves. A waiter that is counted and never leaves evens that out.
            std::mem::forget(self.event.listen());
        }
        let yard = self
            .yard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(yard);
        if let Some(panic) = panicked {
            panic::resume_unwind(panic);
        }
    }
}

impl Ticket {
    /// Hands the waker over; `false` if the ticket has been notified already.
    pub(super) fn hand_over(&mut self, waker: &Waker) -> bool {
        let mut cx = Context::from_waker(waker);
        match Future::poll(Pin::new(&mut self.0), &mut cx) {
            Poll::Ready(()) => false,
            Poll::Pending => true,
        }
    }
}
