//! Server-sent events: one message an event, one event a write.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::Stream;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};

use super::Body;
use super::flow::Carrier;
use super::guard::Guard;
use super::headers::add;
use crate::server::outlet::Next;
use crate::signal::{Reason, Signal, Wait};

/// Shows life, and nothing to those who read events.
pub(super) const COMMENT: &[u8] = b":\n\n";

/// Writes one event. JSON of ours has no line feeds in it.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 8);
    push(&mut out, message);
    out
}

pub(super) fn push(out: &mut Vec<u8>, message: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(message);
    out.extend_from_slice(b"\n\n");
}

/// A response whose body is a stream of events, to be held back by nobody.
pub(super) fn response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    add(
        headers,
        CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    add(headers, CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    add(
        headers,
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// What a call says, as events, up to its answer. Dropped before that, it leaves the call.
pub(super) struct Events {
    call: Guard,
    first: Vec<u8>,
    /// Set if the stream can be left and taken up again.
    part: Option<Box<dyn Part>>,
    pulse: Pulse,
    /// The signal of the request, as long as it matters.
    watch: Option<Wait>,
}

/// The place of a response among those that carry one stream.
pub(super) trait Part: Send {
    /// Tells whether this is still the response that carries the stream.
    fn carries(&self) -> bool;

    /// Writes what the call has to say, if this is still the response that carries it; else there is no more to read.
    fn drain(&mut self, call: &mut Guard, cx: &mut Context<'_>, out: &mut Vec<u8>);
}

impl Events {
    pub(super) fn new(call: Guard, first: Vec<u8>, keep_alive: Duration, signal: &Signal) -> Self {
        Self {
            call,
            first,
            part: None,
            pulse: Pulse::new(keep_alive),
            watch: Some(signal.aborted()),
        }
    }

    /// Makes it a stream that can be taken up again.
    pub(super) fn part(mut self, part: Option<Box<dyn Part>>) -> Self {
        self.part = part;
        self
    }

    /// Looks whether the one who reads wants no more. What has not left by then does not leave any more.
    fn poll_watch(&mut self, cx: &mut Context<'_>) {
        let fired = self.watch.as_mut().map(|wait| Pin::new(wait).poll(cx));
        if let Some(Poll::Ready(reason)) = fired {
            self.watch = None;
            match reason {
                // What ends within the grace is still answered; after it the call is ended by the server.
                Reason::ServerClosed => self.call.abort(Reason::ServerClosed),
                reason => {
                    self.hand_over();
                    self.call.leave(reason);
                    self.first = Vec::new();
                }
            }
        }
    }

    /// Leaves the call to the response that carries its stream now, if that is another one.
    fn hand_over(&mut self) {
        if self.part.as_ref().is_some_and(|part| !part.carries()) {
            self.call.disarm();
        }
    }

    /// Takes all that the call has to say now.
    fn poll_call(&mut self, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        match &mut self.part {
            Some(part) => part.drain(&mut self.call, cx, out),
            None => drain(&mut self.call, None, cx, out),
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// Writes what a call has to say; the guard is disarmed when that was all for this response.
pub(super) fn drain(
    call: &mut Guard,
    mut carrier: Option<&mut Carrier>,
    cx: &mut Context<'_>,
    out: &mut Vec<u8>,
) {
    while let Poll::Ready(next) = call.poll_next(cx) {
        let (message, over) = match next {
            Next::Message(message) => (message, false),
            Next::Answer(answer) => (answer.body, true),
            Next::Silence => return call.disarm(),
            Next::Release => match carrier.as_ref().and_then(|carrier| carrier.log.as_ref()) {
                Some(log) if log.let_go(out) => return call.disarm(),
                _ => continue,
            },
        };
        match &mut carrier {
            Some(carrier) => carrier.push(out, &message),
            None => push(out, &message),
        }
        if over {
            return call.disarm();
        }
    }
}

impl Stream for Events {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_watch(cx);
        let mut out = std::mem::take(&mut self.first);
        // All that is there goes into one write.
        if self.call.call().is_some() {
            self.poll_call(cx, &mut out);
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
        match self.first.is_empty() && self.call.call().is_none() {
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
