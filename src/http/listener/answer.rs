//! A response on its way out, without any socket.

use std::task::{Context, Poll};

use http::{Response, StatusCode, header};

use super::encode::{self, Framing};
use super::input::{give_spare, take_spare};
use super::reader::Terms;
use crate::http::body::{Body, Pieces, Repr};

/// Bodies up to this size are copied behind their head; a larger one is sent from where it is.
const COPY: usize = 16 * 1024;

/// What is to be sent: bytes that are ready to leave, and a stream that more may come from.
pub(super) struct Answer {
    out: Vec<u8>,
    /// A large body, sent behind `out`.
    tail: Vec<u8>,
    /// How much of `out` and `tail` has left.
    sent: usize,
    pieces: Option<Pieces>,
    /// How the pieces are framed; with a length, how much of it is still to come.
    framing: Framing,
    pub(super) keep_alive: bool,
    /// Whether the client has been slow since the last byte that it took, and the limit on time runs.
    pub(super) stalled: bool,
}

/// What became of asking for the next piece.
pub(super) enum Pulled {
    /// There is something to send.
    Ready,
    /// The stream has failed, or broken its promise about the length.
    Broken,
}

impl Answer {
    /// Encodes the head, and the body if it is all there. The connection is kept if everybody wants that.
    pub(super) fn new(mut response: Response<Body>, terms: Terms, keep_alive: bool) -> Self {
        if response.status().is_informational() {
            log::error!("a service answered with status {}", response.status());
            response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        }
        let body = std::mem::take(response.body_mut());
        let bodiless = matches!(
            response.status(),
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        let framing = match &body.0 {
            _ if bodiless => Framing::Bodiless,
            Repr::Full(bytes) => Framing::Length(bytes.len() as u64),
            Repr::Sized(length, _) => Framing::Length(*length),
            Repr::Stream(_) if terms.head_only => Framing::Bodiless,
            Repr::Stream(_) if terms.old => Framing::Close,
            Repr::Stream(_) => Framing::Chunked,
        };
        let keep_alive = keep_alive
            && terms.keep_alive
            && framing != Framing::Close
            && !closes(response.headers());

        let mut answer = Self {
            out: take_spare(),
            tail: Vec::new(),
            sent: 0,
            pieces: None,
            framing,
            keep_alive,
            stalled: false,
        };
        encode::append_head(&mut answer.out, &response, framing, terms, keep_alive);
        drop(response);
        if bodiless || terms.head_only {
            return answer;
        }
        match body.0 {
            Repr::Full(bytes) if bytes.len() <= COPY => answer.out.extend_from_slice(&bytes),
            Repr::Full(bytes) => answer.tail = bytes,
            Repr::Sized(0, _) => {}
            Repr::Sized(_, pieces) | Repr::Stream(pieces) => answer.pieces = Some(pieces),
        }
        answer
    }

    /// Encodes bytes that are complete in themselves and the last of their connection.
    pub(super) fn last_words(append: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut out = take_spare();
        append(&mut out);
        Self {
            out,
            tail: Vec::new(),
            sent: 0,
            pieces: None,
            framing: Framing::Bodiless,
            keep_alive: false,
            stalled: false,
        }
    }

    /// What is to be sent next, in two parts; both empty if nothing is.
    pub(super) fn unsent(&self) -> (&[u8], &[u8]) {
        match self.sent.checked_sub(self.out.len()) {
            None => (&self.out[self.sent..], &self.tail),
            Some(beyond) => (&self.tail[beyond..], &[]),
        }
    }

    /// Notes that `count` bytes have left, and gives the buffers back after the last.
    pub(super) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.out.len() + self.tail.len() {
            self.sent = 0;
            self.tail = Vec::new();
            give_spare(std::mem::take(&mut self.out));
        }
    }

    pub(super) fn is_sent(&self) -> bool {
        self.out.is_empty() && self.tail.is_empty()
    }

    /// Whether more may come from the stream.
    pub(super) fn is_streaming(&self) -> bool {
        self.pieces.is_some()
    }

    /// Drops the stream.
    pub(super) fn cut(&mut self) {
        self.pieces = None;
    }

    /// Asks the stream for its next piece.
    pub(super) fn poll_pull(&mut self, cx: &mut Context<'_>) -> Poll<Pulled> {
        let Some(pieces) = &mut self.pieces else {
            return Poll::Ready(Pulled::Ready);
        };
        let piece = std::task::ready!(pieces.as_mut().poll_next(cx));
        Poll::Ready(match piece {
            Some(Ok(data)) => {
                let last = pieces.size_hint() == (0, Some(0));
                self.append(&data, last)
            }
            Some(Err(err)) => self.broken(&err),
            None => self.append(&[], true),
        })
    }

    fn append(&mut self, data: &[u8], last: bool) -> Pulled {
        if self.out.capacity() == 0 {
            self.out = take_spare();
        }
        match &mut self.framing {
            Framing::Chunked => {
                encode::append_chunk(&mut self.out, data);
                if last {
                    encode::append_last_chunk(&mut self.out);
                }
            }
            Framing::Length(left) => {
                let Some(rest) = left.checked_sub(data.len() as u64) else {
                    return self.broken(&"the body is longer than it was said to be");
                };
                if last && rest > 0 {
                    return self.broken(&"the body is shorter than it was said to be");
                }
                *left = rest;
                self.out.extend_from_slice(data);
            }
            Framing::Close | Framing::Bodiless => self.out.extend_from_slice(data),
        }
        if last || self.framing == Framing::Length(0) {
            self.pieces = None;
        }
        Pulled::Ready
    }

    fn broken(&mut self, why: &dyn std::fmt::Display) -> Pulled {
        log::warn!("a streamed body ended early: {why}");
        self.pieces = None;
        self.keep_alive = false;
        Pulled::Broken
    }
}

/// Whether a service wants the connection closed.
fn closes(headers: &http::HeaderMap) -> bool {
    headers.get_all(&header::CONNECTION).iter().any(|value| {
        let mut options = value.as_bytes().split(|&byte| byte == b',');
        options.any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
    })
}
