//! The stream of a session that carries messages which belong to no request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_lite::Stream;
use http::Response;

use super::Body;
use super::endpoint::Inner;
use super::session::Session;
use super::sse::{self, Pulse};
use crate::signal::{Signal, Wait};

/// A response that carries the messages of a session from now on.
pub(super) fn response(
    endpoint: &Inner,
    session: Arc<Session>,
    turn: u64,
    mut first: Vec<u8>,
    signal: &Signal,
) -> Response<Body> {
    // The response before this one looks again, and finds that it is the newest no more.
    session.peer.feed.nudge();
    if first.is_empty() {
        // Clients learn that the stream stands.
        first.extend_from_slice(sse::COMMENT);
    }
    sse::response(Body::stream(Messages {
        session,
        turn,
        first,
        pulse: Pulse::new(endpoint.keep_alive),
        given_up: endpoint.server.closed().any(signal).aborted(),
    }))
}

/// The messages of a session, as events.
struct Messages {
    session: Arc<Session>,
    turn: u64,
    first: Vec<u8>,
    pulse: Pulse,
    /// Nobody reads any more, or the server closes: nothing that is waited for would still come.
    given_up: Wait,
}

impl Stream for Messages {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let mut out = std::mem::take(&mut this.first);
        let mut ended = Pin::new(&mut this.given_up).poll(cx).is_ready();
        let mut listening = this.session.listening();
        ended |= listening.turn != this.turn;
        while !ended {
            match this.session.peer.feed.poll_message(cx) {
                Poll::Ready(Some(message)) => listening.push(&mut out, &message),
                Poll::Ready(None) => ended = true,
                Poll::Pending => break,
            }
        }
        drop(listening);
        if !out.is_empty() {
            return Poll::Ready(Some(Ok(out)));
        }
        if ended {
            return Poll::Ready(None);
        }
        this.pulse
            .poll(cx)
            .map(|()| Some(Ok(sse::COMMENT.to_vec())))
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.session.touch();
        if self.session.listening().turn == self.turn {
            self.session.peer.feed.forget();
        }
    }
}
