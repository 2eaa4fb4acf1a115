//! The end of a connection by our side: a last answer, and time to read it.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Connection;
use crate::http::listener::answer::Answer;
use crate::http::listener::encode;
use crate::http::listener::reader::Terms;
use crate::http::listener::refusal::Refusal;

/// How long a client that was refused may go on sending before its connection is torn down.
const LINGER: Duration = Duration::from_secs(2);
/// How many reads are thrown away in a row before others on the executor get their turn, and the time is looked at.
const DISCARDS: usize = 4;

impl Connection {
    /// Answers a request that cannot be served, and leaves.
    pub(super) async fn refuse(&mut self, refusal: Refusal) {
        log::debug!("refused a request: {} {}", refusal.status, refusal.text);
        let mut answer = Answer::last_words(|out| encode::append_refusal(out, refusal));
        if poll_fn(|cx| self.poll_flush(cx, &mut answer)).await.is_ok() {
            self.linger().await;
        }
    }

    /// Closes the connection after an answer.
    pub(super) async fn leave(&mut self, terms: Terms) {
        // Bytes that nobody has read would make the kernel reset the connection, and the client lose the answer. A
        // client that asked for the end sends no more.
        let quiet = self.reader.input.rest().is_empty() && !self.may_have_bytes;
        if terms.keep_alive || !quiet {
            self.linger().await;
        }
    }

    /// Lets the client read the last answer: says that nothing more comes, and throws away what it still sends.
    async fn linger(&mut self) {
        if self.socket.shutdown().is_err() {
            return;
        }
        self.seat.limit(LINGER);
        poll_fn(|cx| self.poll_discard(cx)).await;
    }

    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..DISCARDS {
            self.reader.input.take(self.reader.input.rest().len());
            match self.socket.receive(&mut self.reader.input) {
                Ok((1.., _)) => continue,
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                Ok((0, _)) | Err(_) => return Poll::Ready(()),
            }
            self.reader.input.settle();
            if let Poll::Ready(ready) = self.socket.poll_readable(cx) {
                match ready {
                    Ok(()) => continue,
                    Err(_) => return Poll::Ready(()),
                }
            }
            self.seat.register(cx);
            return self.poll_lingered();
        }
        cx.waker().wake_by_ref();
        self.poll_lingered()
    }

    fn poll_lingered(&self) -> Poll<()> {
        match self.seat.is_late() || self.seat.is_closing() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
