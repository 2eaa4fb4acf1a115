//! The exit gate of a call: what leaves, in which order, and until when.
//!
//! Together with the table of calls in flight and the feed this is all that several threads touch at a time. The three
//! files know nothing else of a call, so that the models in `loom/` are of the code that runs.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::amount::Amount;
use super::call::{Answer, Call};
use super::queue::Queue;
use super::sync::{Mutex, MutexGuard};
use crate::protocol::LogLevel;
use crate::signal::Reason;

/// What a call has to say next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A message that belongs to the call and precedes its answer.
    Message(Vec<u8>),
    /// The answer. Nothing follows.
    Answer(Answer),
    /// Nothing follows, not even an answer: the client does not want it.
    Silence,
    /// The handler lets go of the stream. What follows may wait until the client asks for it.
    Release,
}

/// The gate, and what waits before it.
#[derive(Default)]
pub(super) struct Outlet(Mutex<State>);

#[derive(Default)]
struct State {
    gate: Gate,
    queue: Queue,
    answer: Option<Answer>,
    last_progress: Option<Amount>,
    /// Progress that came too soon after the last one. The next one replaces it, or the answer lets it out.
    held: Option<Vec<u8>>,
    /// When progress was sent last, where it is limited.
    sent: Option<Instant>,
    /// The handler has let go of its stream, and no transport has been told yet.
    released: bool,
    /// The transport learns of news: by the peer's list of calls with something to say, or by a waker of its own.
    listed: bool,
    waker: Option<Waker>,
}

/// Open until the call is answered or its client does not want the answer. Only this decides what leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gate {
    #[default]
    Open,
    Answered,
    Silent,
}

impl Outlet {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing of ours panics while it holds the lock; a waker might, after the state is whole.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// Tells whether progress may be sent again, and if so notes that it is.
    fn is_due(&mut self, interval: Duration) -> bool {
        let now = Instant::now();
        let due = self.sent.is_none_or(|sent| now - sent >= interval);
        if due {
            self.sent = Some(now);
            self.held = None;
        }
        due
    }

    fn next(&mut self) -> Option<Next> {
        if let Some(message) = self.queue.pop() {
            return Some(Next::Message(message));
        }
        match self.answer.take() {
            Some(answer) => Some(Next::Answer(answer)),
            None if self.gate == Gate::Silent => Some(Next::Silence),
            None => std::mem::take(&mut self.released).then_some(Next::Release),
        }
    }
}

/// What a handler says.
impl Call {
    /// Tells whether an answer could still leave.
    pub(crate) fn is_open(&self) -> bool {
        self.outlet.lock().gate == Gate::Open
    }

    /// Queues a message that precedes the answer. Returns whether it will leave.
    pub(crate) fn say(self: &Arc<Self>, message: Vec<u8>) -> bool {
        let mut outlet = self.outlet.lock();
        if outlet.gate != Gate::Open {
            return false;
        }
        outlet.queue.push(message);
        self.announce(outlet);
        true
    }

    /// Queues a log message.
    pub(super) fn say_log(self: &Arc<Self>, level: LogLevel, message: Vec<u8>) {
        let mut outlet = self.outlet.lock();
        if outlet.gate == Gate::Open {
            let most = self.peer.server.limits.log_backlog;
            outlet.queue.push_log(level, message, most);
            self.announce(outlet);
        }
    }

    /// Queues a message unless it waits already.
    pub(crate) fn say_once(self: &Arc<Self>, message: Vec<u8>) {
        let waits = self.outlet.lock().queue.contains(&message);
        if !waits {
            self.say(message);
        }
    }

    /// Queues progress, if it is more than there was. `write` makes the message, once that is known.
    pub(crate) fn say_progress(
        self: &Arc<Self>,
        progress: Amount,
        write: impl FnOnce() -> Vec<u8>,
    ) {
        let mut outlet = self.outlet.lock();
        let rises = outlet
            .last_progress
            .is_none_or(|last| progress.exceeds(last));
        if outlet.gate != Gate::Open || !rises {
            return;
        }
        outlet.last_progress = Some(progress);
        drop(outlet);
        // The author's `Display` runs here, and may do anything, even report progress.
        let message = write();
        let mut outlet = self.outlet.lock();
        if outlet.gate != Gate::Open || outlet.last_progress != Some(progress) {
            return;
        }
        let interval = self.peer.server.limits.progress_interval;
        if !interval.is_zero() && !outlet.is_due(interval) {
            outlet.held = Some(message);
            return;
        }
        outlet.queue.push_progress(message);
        self.announce(outlet);
    }

    /// Lets go of the stream that carries the call, where the transport can do without.
    pub(crate) fn release(self: &Arc<Self>) {
        let mut outlet = self.outlet.lock();
        if outlet.gate == Gate::Open {
            outlet.released = true;
            self.announce(outlet);
        }
    }
}

/// How a call ends.
impl Call {
    /// Lets the answer out, after the last progress, and closes the gate; does nothing if it is closed.
    pub(super) fn close_with(self: &Arc<Self>, answer: Answer) {
        let mut outlet = self.outlet.lock();
        if outlet.gate != Gate::Open {
            return;
        }
        if let Some(held) = outlet.held.take() {
            outlet.queue.push_progress(held);
        }
        outlet.gate = Gate::Answered;
        outlet.answer = Some(answer);
        self.announce(outlet);
    }

    /// Lets the answer out for a handler that has settled.
    pub(super) fn settle_with(self: &Arc<Self>, answer: Answer) {
        // Before the answer can be seen: who sees it may use the id again.
        let _leaving = self.leave();
        self.close_with(answer);
    }

    /// Ends the call for its client: nothing leaves any more, and the handler learns why. Returns whether that came
    /// before the answer had left.
    pub(crate) fn silence(self: &Arc<Self>, reason: Reason) -> bool {
        let mut outlet = self.outlet.lock();
        outlet.queue.clear();
        outlet.held = None;
        let kept_back = outlet.answer.take().is_some() || outlet.gate == Gate::Open;
        if kept_back {
            // Also over an answer that has not been read: its stream ends, and does not wait for what was taken away.
            outlet.gate = Gate::Silent;
        }
        drop(outlet);
        // Before the transport is told, which asks why. Not under the lock: what is woken may come back here.
        self.controller.abort(reason);
        self.announce(self.outlet.lock());
        // No handler will settle it.
        if self.is_subscription() {
            if kept_back {
                self.tell_thrown_away();
            }
            drop(self.leave());
        }
        kept_back
    }

    /// Tells whether there is nothing left to say, and never will be.
    pub(crate) fn is_over(&self) -> bool {
        let outlet = self.outlet.lock();
        outlet.gate != Gate::Open && outlet.queue.is_empty() && outlet.answer.is_none()
    }
}

/// How a transport reads a call.
impl Call {
    /// Tells the transport, after the lock is given back.
    fn announce(self: &Arc<Self>, mut outlet: MutexGuard<'_, State>) {
        if let Some(waker) = outlet.waker.take() {
            drop(outlet);
            waker.wake();
        } else if outlet.listed {
            // It stands in the list already, or its transport looks at it by itself.
        } else {
            outlet.listed = true;
            drop(outlet);
            self.peer.feed.push(self.clone());
        }
    }

    /// Wakes whoever reads the call, to look whether it still should.
    pub(crate) fn nudge(&self) {
        let waker = self.outlet.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Marks the call as looked at by whoever holds it, so that it does not enter the peer's list.
    pub(crate) fn hold(&self) {
        self.outlet.lock().listed = true;
    }

    /// Takes what there is to say, for the peer's one stream, each message with a line feed.
    ///
    /// From here on the call enters the peer's list again when it has more.
    pub(crate) fn drain_lines(&self, out: &mut Vec<u8>) {
        let mut outlet = self.outlet.lock();
        outlet.listed = false;
        let State { queue, answer, .. } = &mut *outlet;
        let said = std::iter::from_fn(|| queue.pop());
        for message in said.chain(answer.take().map(|answer| answer.body)) {
            out.extend_from_slice(&message);
            out.push(b'\n');
        }
    }

    /// Takes what there is to say now.
    pub(crate) fn take_next(&self) -> Option<Next> {
        self.outlet.lock().next()
    }

    /// Takes what there is to say next, for a stream of the call's own.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        let mut outlet = self.outlet.lock();
        if let Some(next) = outlet.next() {
            return Poll::Ready(next);
        }
        match &mut outlet.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }
}
