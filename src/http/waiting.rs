//! The response to a call that is not answered yet: JSON or a stream, decided as late as can be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_lite::future;
use http::Response;

use super::Body;
use super::accepts::Accepts;
use super::endpoint::Inner;
use super::guard::Guard;
use super::respond::{aborted, unanswered, whole};
use super::sse::{self, Events};
use crate::era;
use crate::server::outlet::Next;
use crate::signal::{Deadline, Reason, Signal, Wait};

/// The label of the deadline after which a response begins as a stream. No application has one of this name.
const PATIENCE: &str = "smol-mcp: the head of the response is due";

/// A call whose answer is not there yet.
pub(super) struct Waiting {
    pub(super) call: Guard,
    pub(super) accepts: Accepts,
    pub(super) endpoint: Arc<Inner>,
    /// Whether the client may come back to the stream of the call.
    pub(super) kept: bool,
}

impl Waiting {
    /// Makes the response of the first thing that the call says; `None` if the client does not take it.
    pub(super) fn respond(&mut self, next: Next, signal: &Signal) -> Option<Response<Body>> {
        match next {
            Next::Answer(answer) => {
                self.call.disarm();
                Some(whole(self.accepts, answer.status, answer.body))
            }
            Next::Message(message) if self.accepts.stream => {
                Some(self.stream(Some(message), signal))
            }
            Next::Release if self.is_polled() => {
                // The stream begins, and says right away that it ends.
                if let Some(call) = self.call.call() {
                    call.release();
                }
                Some(self.stream(None, signal))
            }
            Next::Message(_) | Next::Release => None,
            Next::Silence => {
                let reason = self.call.call().and_then(|call| call.signal.reason());
                self.call.disarm();
                Some(unanswered(reason))
            }
        }
    }

    fn is_polled(&self) -> bool {
        let version = self.call.call().map(|call| call.version);
        self.kept && version.is_some_and(era::has_polling)
    }

    /// Commits to a stream that begins with `first`, or with a sign of life.
    fn stream(&mut self, first: Option<Vec<u8>>, signal: &Signal) -> Response<Body> {
        let mut call = self.call.take();
        let mut out = Vec::new();
        let store = self.endpoint.store.as_ref().filter(|_| self.kept);
        let part = match (store, call.session(), call.call()) {
            (Some(store), Some(session), Some(call)) => {
                let (retry, first) = (self.endpoint.retry, first.as_deref());
                Some(store.begin(session, call, retry, first, &mut out))
            }
            _ => {
                if let Some(first) = first {
                    sse::push(&mut out, &first);
                }
                None
            }
        };
        if part.is_some() {
            call = call.runs_on(self.endpoint.runs_on());
        }
        if out.is_empty() {
            out.extend_from_slice(sse::COMMENT);
        }
        let events = Events::new(call, out, self.endpoint.keep_alive, signal);
        sse::response(Body::stream(events.part(part)))
    }

    /// Waits for the first thing that the call says.
    pub(super) async fn wait(mut self, signal: &Signal) -> Response<Body> {
        let patience = Deadline::after(self.endpoint.patience).named(PATIENCE);
        let mut wait = match self.accepts.stream {
            true => signal.any(patience).aborted(),
            false => signal.aborted(),
        };
        let mut watched = true;
        loop {
            match future::poll_fn(|cx| self.poll(cx, &mut wait, watched.then_some(signal))).await {
                Event::Next(next) => {
                    if let Some(response) = self.respond(next, signal) {
                        return response;
                    }
                }
                Event::Fired(Reason::Deadline(Some(PATIENCE))) => {
                    return self.stream(None, signal);
                }
                // What ends within the grace is still answered; after it the call is ended by the server.
                Event::Fired(Reason::ServerClosed) => {
                    self.call.abort(Reason::ServerClosed);
                    watched = false;
                }
                Event::Fired(reason) => {
                    self.call.leave(reason);
                    return aborted();
                }
            }
        }
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        wait: &mut Wait,
        watched: Option<&Signal>,
    ) -> Poll<Event> {
        let fired = match watched {
            Some(_) => Pin::new(wait).poll(cx),
            None => Poll::Pending,
        };
        // An answer serves those who wait for the head, but not those who have given up meanwhile.
        match fired {
            Poll::Pending | Poll::Ready(Reason::Deadline(Some(PATIENCE))) => {}
            Poll::Ready(reason) => return Poll::Ready(Event::Fired(reason)),
        }
        match self.call.poll_next(cx) {
            Poll::Ready(next) => Poll::Ready(match watched.and_then(given_up) {
                Some(reason) => Event::Fired(reason),
                None => Event::Next(next),
            }),
            Poll::Pending => fired.map(Event::Fired),
        }
    }
}

/// Why nobody waits for an answer that is there. It may be there because of that: it is asked for behind the answer.
pub(super) fn given_up(signal: &Signal) -> Option<Reason> {
    signal
        .reason()
        .filter(|reason| !matches!(reason, Reason::ServerClosed))
}

enum Event {
    Next(Next),
    Fired(Reason),
}
