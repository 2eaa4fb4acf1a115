//! An answer on its way to the client, who is watched meanwhile.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use futures_lite::future::yield_now;

use super::{Connection, Ending, Gone, STREAK};
use crate::http::listener::answer::{Answer, Pulled};
use crate::signal::{Controller, Reason};

impl Connection {
    /// Sends an answer, and fires the signal if the client goes before the end of a streamed one.
    pub(super) async fn send(
        &mut self,
        answer: &mut Answer,
        controller: &Controller,
    ) -> Result<(), Gone> {
        let ending = Ending(Some(controller));
        let mut sent = Ok(());
        let mut streak = 0;
        while sent.is_ok() && answer.is_streaming() {
            sent = match poll_fn(|cx| self.poll_piece(cx, answer, controller)).await {
                Ok(()) => poll_fn(|cx| self.poll_stream(cx, answer, controller)).await,
                Err(Gone) => Err(Gone),
            };
            streak += 1;
            if streak == STREAK {
                streak = 0;
                yield_now().await;
            }
        }
        if sent.is_ok() {
            sent = poll_fn(|cx| self.poll_flush(cx, answer)).await;
        }
        if sent.is_err() {
            if answer.is_streaming() {
                controller.abort(Reason::Disconnected);
            }
            answer.cut();
            self.socket.close();
        }
        ending.disarm();
        sent
    }

    /// Waits until there is something to send: the next piece of the answer, or a head that should not wait for it.
    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        controller: &Controller,
    ) -> Poll<Result<(), Gone>> {
        match answer.poll_pull(cx) {
            Poll::Ready(Pulled::Ready) => return Poll::Ready(Ok(())),
            Poll::Ready(Pulled::Broken) => return Poll::Ready(Err(Gone)),
            Poll::Pending if !answer.is_sent() => return Poll::Ready(Ok(())),
            Poll::Pending => {}
        }
        self.reader.input.settle();
        self.watch(cx, controller);
        if self.socket.is_closed() {
            return Poll::Ready(Err(Gone));
        }
        Poll::Pending
    }

    /// Sends what is ready to leave of a stream. Whoever makes more of it is told of a close, although it is not waited for.
    fn poll_stream(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
        controller: &Controller,
    ) -> Poll<Result<(), Gone>> {
        let sent = self.poll_flush(cx, answer);
        // After whoever closes has been told whom to wake.
        if answer.is_streaming() && self.seat.is_closing() {
            controller.abort(Reason::ServerClosed);
        }
        sent
    }

    /// Sends what is ready to leave.
    pub(super) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        answer: &mut Answer,
    ) -> Poll<Result<(), Gone>> {
        while !answer.is_sent() {
            let (first, second) = answer.unsent();
            match self.socket.send(first, second) {
                Ok(count) => {
                    answer.advance(count);
                    if std::mem::take(&mut answer.stalled) {
                        self.seat.unlimit();
                    }
                    continue;
                }
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Poll::Ready(Err(Gone)),
            }
            if !std::mem::replace(&mut answer.stalled, true) {
                self.reader.input.settle();
                self.seat.limit(self.seat.options().write_timeout);
            }
            match self.socket.poll_writable(cx) {
                Poll::Ready(Ok(())) => continue,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Gone)),
                Poll::Pending => {}
            }
            self.seat.register(cx);
            if self.seat.is_late() {
                log::debug!("a client does not read its answer");
                return Poll::Ready(Err(Gone));
            }
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}
