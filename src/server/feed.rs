//! What a peer's one stream has to carry: calls with something to say, and messages that belong to no call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::call::Call;
use super::sync::{Mutex, MutexGuard};

/// How many messages of its own a peer keeps for a client that does not read.
const KEPT: usize = 256;

/// Calls with something to say, in the order in which they began to have it. Each stands here at most once, so the
/// list is bounded by the calls in flight.
#[derive(Default)]
pub(crate) struct Feed {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: VecDeque<Arc<Call>>,
    messages: VecDeque<Vec<u8>>,
    waker: Option<Waker>,
    /// Somebody reads, also while it has been woken and has not come yet.
    watched: bool,
    closed: bool,
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Enters a call that has something to say.
    pub(crate) fn push(&self, call: Arc<Call>) {
        self.change(|state| state.calls.push_back(call));
    }

    /// Enters a message that belongs to no call. One that waits already is not entered again; of too many the oldest
    /// goes.
    pub(crate) fn send(&self, message: Vec<u8>) {
        self.change(|state| {
            if state.messages.contains(&message) {
                return;
            }
            if state.messages.len() == KEPT {
                state.messages.pop_front();
            }
            state.messages.push_back(message);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Writes as lines all there is, and asks to be woken for more. Tells whether there will be no more.
    pub(crate) fn drain_lines(&self, out: &mut Vec<u8>, cx: &mut Context<'_>) -> bool {
        let mut state = self.state();
        let State {
            calls,
            messages,
            waker,
            ..
        } = &mut *state;
        match waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        let messages = std::mem::take(messages);
        let calls = std::mem::take(calls);
        let closed = state.closed;
        drop(state);
        // Calls first: what is said after a call has ended follows its answer.
        for call in calls {
            call.drain_lines(out);
        }
        for message in messages {
            out.extend_from_slice(&message);
            out.push(b'\n');
        }
        closed
    }

    /// Tells whether the feed has ended, and asks to be woken when it does.
    pub(crate) fn is_closed(&self, cx: &mut Context<'_>) -> bool {
        let mut state = self.state();
        match &mut state.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        state.closed
    }

    /// Takes the next message that belongs to no call.
    pub(crate) fn poll_message(&self, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let mut state = self.state();
        if let Some(message) = state.messages.pop_front() {
            return Poll::Ready(Some(message));
        }
        if state.closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        state.watched = true;
        Poll::Pending
    }

    /// Wakes the reader, to look again at what it reads for.
    pub(crate) fn nudge(&self) {
        self.change(|_| {});
    }

    /// The reader has gone.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        state.watched = false;
        let waker = state.waker.take();
        drop(state);
        drop(waker);
    }

    /// Tells whether somebody reads.
    pub(crate) fn is_watched(&self) -> bool {
        self.state().watched
    }

    /// Ends the feed and throws away what stands in it: nobody will read it. Calls hold their peer, and a peer its feed.
    pub(crate) fn discard(&self) {
        self.close();
        let mut state = self.state();
        let (calls, messages) = (
            std::mem::take(&mut state.calls),
            std::mem::take(&mut state.messages),
        );
        drop(state);
        drop((calls, messages));
    }

    /// Ends the feed: what stands in it may still be read, nothing new enters.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
