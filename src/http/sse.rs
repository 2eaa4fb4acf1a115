//! Server-sent events: one message an event, one event a write.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::Stream;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};

use super::Body;
use super::post::Guard;
use crate::server::call::Next;
use crate::signal::{Reason, Signal, Wait};

/// Shows life, and nothing to those who read events.
pub(super) const COMMENT: &[u8] = b":\n\n";

/// Writes one event. JSON of ours has no line feeds in it.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 8);
    push(&mut out, message);
    out
}

fn push(out: &mut Vec<u8>, message: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// A response whose body is a stream of events, to be held back by nobody.
pub(super) fn response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// What a call says, as events, up to its answer. Dropped before that, it ends the call.
pub(super) struct Events {
    call: Guard,
    first: Option<Vec<u8>>,
    pulse: Pulse,
}

impl Events {
    pub(super) fn new(call: Guard, first: Vec<u8>, keep_alive: Duration) -> Self {
        Self {
            call,
            first: Some(first),
            pulse: Pulse::new(keep_alive),
        }
    }
}

impl Stream for Events {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut out = self.first.take().unwrap_or_default();
        // All that is there goes into one write.
        while self.call.call().is_some() {
            match self.call.poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(Next::Message(message)) => push(&mut out, &message),
                Poll::Ready(Next::Answer(answer)) => {
                    push(&mut out, &answer.body);
                    self.call.disarm();
                }
                Poll::Ready(Next::Silence) => self.call.disarm(),
            }
        }
        if !out.is_empty() {
            return Poll::Ready(Some(Ok(out)));
        }
        if self.call.call().is_none() {
            return Poll::Ready(None);
        }
        self.pulse.poll(cx).map(|()| Some(Ok(COMMENT.to_vec())))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self.first.is_none() && self.call.call().is_none() {
            true => (0, Some(0)),
            false => (0, None),
        }
    }
}

/// Beats once a period.
pub(super) struct Pulse {
    period: Duration,
    wait: Option<Wait>,
}

impl Pulse {
    pub(super) fn new(period: Duration) -> Self {
        Self { period, wait: None }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let period = self.period;
            let wait = self
                .wait
                .get_or_insert_with(|| Signal::timeout(period).aborted());
            let Reason::Deadline(_) = std::task::ready!(Pin::new(wait).poll(cx)) else {
                continue;
            };
            self.wait = None;
            return Poll::Ready(());
        }
    }
}
