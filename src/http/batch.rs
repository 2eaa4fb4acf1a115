//! The response to an array of messages (2025-03-26, basic): an array of the answers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_lite::future;
use http::Response;

use super::Body;
use super::accepts::Accepts;
use super::guard::Guard;
use super::respond::{aborted, accepted, json};
use super::session::Session;
use super::sse;
use super::waiting::given_up;
use crate::server::dispatch::Intake;
use crate::server::outlet::Next;
use crate::signal::{Reason, Signal, Wait};

/// The answers of a batch, as far as they are there.
pub(super) struct Batch {
    answers: Vec<Vec<u8>>,
    calls: Vec<Guard>,
    /// It is in use until the last of the calls is answered.
    session: Option<Arc<Session>>,
    accepts: Accepts,
}

impl Batch {
    pub(super) fn new(accepts: Accepts, session: Option<Arc<Session>>) -> Self {
        Self {
            answers: Vec::new(),
            calls: Vec::new(),
            session,
            accepts,
        }
    }

    /// Tells whether nothing is missing.
    pub(super) fn is_answered(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn take(&mut self, intake: Intake) {
        match intake {
            Intake::Silent => {}
            Intake::Answer(answer) => self.answers.push(answer.body),
            Intake::Call(call) => {
                let session = self.session.clone();
                self.calls.push(Guard::new(call, None, session));
            }
        }
    }

    pub(super) fn response(self) -> Response<Body> {
        if self.answers.is_empty() {
            return accepted();
        }
        if !self.accepts.json {
            let mut out = Vec::new();
            self.answers
                .iter()
                .for_each(|answer| sse::push(&mut out, answer));
            return sse::response(Body::full(out));
        }
        let mut body = Vec::new();
        for answer in &self.answers {
            body.push(if body.is_empty() { b'[' } else { b',' });
            body.extend_from_slice(answer);
        }
        body.push(b']');
        json(200, body)
    }

    /// Waits for all that is missing. Messages that would precede an answer have no place in an array.
    pub(super) async fn wait(mut self, signal: Signal) -> Response<Body> {
        let mut wait = Some(signal.aborted());
        for mut call in std::mem::take(&mut self.calls) {
            while call.call().is_some() {
                future::poll_fn(|cx| self.poll_call(&mut call, &mut wait, cx)).await;
            }
        }
        // Some of the answers may be there because of that.
        match given_up(&signal) {
            Some(_) => aborted(),
            None => self.response(),
        }
    }

    fn poll_call(
        &mut self,
        call: &mut Guard,
        wait: &mut Option<Wait>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        // Before the answer is looked at: who has given up meanwhile gets none.
        match wait.as_mut().map(|wait| Pin::new(wait).poll(cx)) {
            None | Some(Poll::Pending) => {}
            // The signals of all calls have fired with this one; what ends within the grace is still answered.
            Some(Poll::Ready(Reason::ServerClosed)) => *wait = None,
            Some(Poll::Ready(reason)) => {
                call.leave(reason);
                return Poll::Ready(());
            }
        }
        match call.poll_next(cx) {
            Poll::Ready(Next::Message(_) | Next::Release) => Poll::Ready(()),
            Poll::Ready(Next::Answer(answer)) => {
                self.answers.push(answer.body);
                call.disarm();
                Poll::Ready(())
            }
            Poll::Ready(Next::Silence) => {
                call.disarm();
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
