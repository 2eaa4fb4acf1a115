//! The response to an array of messages (2025-03-26, basic): an array of the answers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_lite::future;
use http::Response;

use super::Body;
use super::accepts::Accepts;
use super::guard::Guard;
use super::respond::{aborted, accepted, json, unanswered};
use super::session::Session;
use super::sse;
use super::waiting::given_up;
use crate::server::dispatch::Intake;
use crate::server::outlet::Next;
use crate::signal::{Reason, Signal, Wait};

/// The answers of a batch, as far as they are there.
pub(super) struct Batch {
    answers: Vec<Vec<u8>>,
    /// In their order. Those that are over are disarmed.
    calls: Vec<Guard>,
    /// Why one of them has no answer.
    silent: Option<Reason>,
    /// It is in use until the last of the calls is answered.
    session: Option<Arc<Session>>,
    /// The signal of the request, if the handlers run on when their client hangs up.
    apart: Option<Signal>,
    accepts: Accepts,
}

impl Batch {
    pub(super) fn new(
        accepts: Accepts,
        session: Option<Arc<Session>>,
        apart: Option<Signal>,
    ) -> Self {
        Self {
            answers: Vec::new(),
            calls: Vec::new(),
            silent: None,
            session,
            apart,
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
                let (apart, session) = (self.apart.clone(), self.session.clone());
                let runs_on = apart.is_some();
                self.calls
                    .push(Guard::new(call, apart, session).runs_on(runs_on));
            }
        }
    }

    pub(super) fn response(self) -> Response<Body> {
        if self.answers.is_empty() {
            return match self.calls.is_empty() {
                true => accepted(),
                false => unanswered(self.silent),
            };
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
        future::poll_fn(|cx| self.poll(&mut wait, cx)).await;
        // Some of the answers may be there because of that.
        match given_up(&signal) {
            Some(_) => aborted(),
            None => self.response(),
        }
    }

    fn poll(&mut self, wait: &mut Option<Wait>, cx: &mut Context<'_>) -> Poll<()> {
        // Before the answers are looked at: who has given up meanwhile gets none.
        match wait.as_mut().map(|wait| Pin::new(wait).poll(cx)) {
            None | Some(Poll::Pending) => {}
            // What ends within the grace is still answered.
            Some(Poll::Ready(Reason::ServerClosed)) => {
                *wait = None;
                let calls = self.calls.iter();
                calls.for_each(|call| call.abort(Reason::ServerClosed));
            }
            Some(Poll::Ready(reason)) => {
                let calls = self.calls.iter_mut();
                calls.for_each(|call| call.leave(reason.clone()));
                return Poll::Ready(());
            }
        }
        for call in &mut self.calls {
            while let Some(running) = call.call() {
                match ready!(running.poll_next(cx)) {
                    Next::Message(_) | Next::Release => continue,
                    Next::Answer(answer) => self.answers.push(answer.body),
                    Next::Silence => self.silent = running.signal.reason(),
                }
                call.disarm();
            }
        }
        Poll::Ready(())
    }
}
