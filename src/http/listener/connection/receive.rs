//! Waiting for the next request: until it is there, or there is a reason not to wait any longer.

use std::io;
use std::task::{Context, Poll, ready};

use super::{Connection, Gone, Stop};
use crate::http::listener::encode;
use crate::http::listener::options::Tell;
use crate::http::listener::reader::{Incoming, Progress};
use crate::http::listener::refusal::Refusal;

impl Connection {
    /// Reads the next request.
    pub(super) fn poll_request(&mut self, cx: &mut Context<'_>) -> Poll<Result<Incoming, Stop>> {
        loop {
            let limits = &self.seat.options().limits;
            if let Some((mut request, terms)) = self.reader.next(limits).map_err(Stop::Refuse)? {
                self.known = true;
                if self.reader.input.rest().is_empty() {
                    // The answer takes the same buffer.
                    self.reader.input.settle();
                }
                if self.limited.take().is_some() {
                    self.seat.unlimit();
                }
                if let (Some(Tell(tell)), Some(peer)) = (self.seat.options().peer_addr, &self.peer)
                {
                    tell(request.extensions_mut(), **peer);
                }
                return Poll::Ready(Ok((request, terms)));
            }
            if self.half_closed {
                return Poll::Ready(Err(Stop::End));
            }
            if self.reader.take_continue() && self.encourage().is_err() {
                return Poll::Ready(Err(Stop::End));
            }
            ready!(self.poll_receive(cx))?;
        }
    }

    /// Receives something, or finds a reason not to wait for it any longer.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        loop {
            if self.may_have_bytes {
                match self.socket.receive(&mut self.reader.input) {
                    Ok((1.., filled)) => {
                        self.may_have_bytes = filled;
                        return Poll::Ready(Ok(()));
                    }
                    Err(err) if err.kind() == io::ErrorKind::WouldBlock => {
                        self.may_have_bytes = false;
                    }
                    Ok((0, _)) | Err(_) => return Poll::Ready(Err(Stop::End)),
                }
            }
            self.reader.input.settle();
            self.limit();
            match self.socket.poll_readable(cx) {
                Poll::Ready(Ok(())) => self.may_have_bytes = true,
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Stop::End)),
                Poll::Pending => return self.poll_interrupt(cx),
            }
        }
    }

    /// Begins the limit on time for what is waited for, unless it runs already.
    fn limit(&mut self) {
        let progress = self.reader.progress();
        if self.limited == Some(progress) {
            return;
        }
        self.limited = Some(progress);
        let options = self.seat.options();
        self.seat.limit(match progress {
            Progress::Nothing if self.known => options.idle_timeout,
            Progress::Nothing | Progress::Head => options.head_timeout,
            Progress::Body => options.body_timeout,
        });
    }

    /// Looks whether waiting for a request has to stop.
    fn poll_interrupt(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Stop>> {
        self.seat.register(cx);
        let progress = self.reader.progress();
        let stop = match progress {
            Progress::Body if self.seat.is_closing() => Stop::Refuse(Refusal::CLOSING),
            _ if self.seat.is_closing() => Stop::End,
            _ if !self.seat.is_late() => return Poll::Pending,
            Progress::Nothing => Stop::End,
            Progress::Head | Progress::Body => Stop::Refuse(Refusal::TIMEOUT),
        };
        Poll::Ready(Err(stop))
    }

    /// Tells a client that waits for it to send the body.
    fn encourage(&self) -> Result<(), Gone> {
        match self.socket.send(encode::CONTINUE, &[]) {
            Ok(count) if count == encode::CONTINUE.len() => Ok(()),
            // The client reads nothing. It sends the body by itself after a while.
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => Ok(()),
            _ => Err(Gone),
        }
    }
}
