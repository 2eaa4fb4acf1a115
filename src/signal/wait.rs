//! Waiting for a signal in a task.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::alarm;
use super::clock::NEVER;
use super::waiters::Ticket;
use super::{Reason, Signal};

/// The future of [`Signal::aborted`]: resolves to the reason when the signal fires.
///
/// It owns a clone of the signal. Polled again after that, it returns the same reason again.
///
/// # Cancellation
///
/// Dropping it gives up its places among the waiters, and its deadline; nothing stays behind.
#[must_use = "futures do nothing unless polled or awaited"]
pub struct Wait {
    signal: Signal,
    enrolled: Option<Enrolment>,
}

/// Everything that keeps a waker of ours elsewhere.
struct Enrolment {
    waker: Identity,
    /// One for each source of the signal, in its order; of those, the first lies here to save an allocation.
    first: Option<Ticket>,
    rest: Vec<Ticket>,
    alarm: Option<alarm::Entry>,
}

/// What [`Waker::will_wake`] compares. The waker itself is kept alive by the tickets (and by the alarm), as long as
/// nothing has fired, so that the addresses cannot belong to another one.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Identity {
    data: usize,
    vtable: usize,
}

impl Identity {
    #[inline]
    fn of(waker: &Waker) -> Self {
        Self {
            data: waker.data() as usize,
            vtable: waker.vtable() as *const _ as usize,
        }
    }
}

impl Wait {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            enrolled: None,
        }
    }

    pub(super) fn signal(&self) -> &Signal {
        &self.signal
    }

    /// Whether the signal has fired; then [`settle`](Self::settle) is to be called.
    #[inline]
    pub(super) fn is_fired(&self) -> bool {
        self.signal.is_aborted()
    }

    /// Sees to it that `waker` is called when the signal fires, or returns the reason.
    ///
    /// To be called after [`is_fired`](Self::is_fired) in the same poll: for a waker that is enrolled already it does
    /// not ask again.
    #[inline]
    pub(super) fn enrol(&mut self, waker: &Waker) -> Option<Reason> {
        let identity = Identity::of(waker);
        match &self.enrolled {
            // A ticket is notified only after its source fired. The caller has just seen that it had not; if it has since,
            // it calls this very waker.
            Some(enrolled) if enrolled.waker == identity => None,
            _ => self.enrol_anew(identity, waker, true),
        }
    }

    /// The same without an alarm for the deadline, for callers that keep the time themselves.
    pub(super) fn enrol_without_alarm(&mut self, waker: &Waker) -> Option<Reason> {
        self.enrol_anew(Identity::of(waker), waker, false)
    }

    #[inline(never)]
    fn enrol_anew(&mut self, identity: Identity, waker: &Waker, alarm: bool) -> Option<Reason> {
        self.leave();
        let sources = self.signal.set.sources();
        if sources.is_empty() && !alarm {
            return None;
        }
        let enrolled = self.enrolled.insert(Enrolment {
            waker: identity,
            first: None,
            rest: Vec::new(),
            alarm: None,
        });
        if sources.len() > 1 {
            enrolled.rest.reserve_exact(sources.len() - 1);
        }
        for source in sources {
            match source.listen() {
                None => return Some(self.settle()),
                Some(ticket) if enrolled.first.is_none() => enrolled.first = Some(ticket),
                Some(ticket) => enrolled.rest.push(ticket),
            }
        }
        // Whoever fired before we were in the list did not see us.
        if self.signal.set.is_fired() {
            return Some(self.settle());
        }
        for ticket in enrolled.first.iter_mut().chain(&mut enrolled.rest) {
            if !ticket.hand_over(waker) {
                return Some(self.settle());
            }
        }
        if alarm && self.signal.deadline.at != NEVER {
            enrolled.alarm = Some(alarm::Entry::new(self.signal.deadline.at, waker.clone()));
        }
        None
    }

    /// Leaves, and returns the reason of a signal that is known to have fired.
    #[cold]
    pub(super) fn settle(&mut self) -> Reason {
        self.leave();
        self.signal
            .reason()
            .expect("a signal that was seen to have fired has a reason")
    }

    pub(super) fn leave(&mut self) {
        let Some(enrolled) = mem::take(&mut self.enrolled) else {
            return;
        };
        let sources = self.signal.set.sources();
        let tickets = enrolled.first.into_iter().chain(enrolled.rest);
        for (source, ticket) in sources.iter().zip(tickets) {
            source.leave(ticket);
        }
    }
}

impl Future for Wait {
    type Output = Reason;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reason> {
        let this = self.get_mut();
        if this.is_fired() {
            return Poll::Ready(this.settle());
        }
        match this.enrol(cx.waker()) {
            Some(reason) => Poll::Ready(reason),
            None => Poll::Pending,
        }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait")
            .field("signal", &self.signal)
            .field("enrolled", &self.enrolled.is_some())
            .finish()
    }
}
