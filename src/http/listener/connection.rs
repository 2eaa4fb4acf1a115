//! One client, from its first byte to its last.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_lite::future::yield_now;
use http::{Response, StatusCode};

use super::PeerAddr;
use super::answer::{Answer, Pulled};
use super::encode;
use super::options::Tell;
use super::reader::{Incoming, Progress, Reader, Terms};
use super::refusal::Refusal;
use super::seats::Seat;
use super::socket::Socket;
use crate::http::{Body, Service};
use crate::signal::{AbortOnDrop, Controller, Reason};

/// The most bytes of later requests that are read while a call runs.
const READ_AHEAD: usize = 16 * 1024;
/// How long a client that was refused may go on sending before its connection is torn down.
const LINGER: Duration = Duration::from_secs(2);
/// How many reads are thrown away in a row before others on the executor get their turn, and the time is looked at.
const DISCARDS: usize = 4;
/// How many answers or pieces may leave in a row before others on the executor get their turn.
const STREAK: u8 = 32;

/// A client and what it has sent.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    reader: Reader,
    seat: Seat,
    peer: Option<Box<PeerAddr>>,
    /// Whether the socket may have bytes now. Otherwise it is waited for first, which saves a read that finds nothing.
    may_have_bytes: bool,
    /// Whether the client has closed its sending side, and may.
    half_closed: bool,
    /// What the limit on time that runs is for.
    limited: Option<Progress>,
    /// Whether a request has come from here.
    known: bool,
}

/// Why no further request is read.
enum Stop {
    /// The client has left, or is to be left without a word.
    End,
    Refuse(Refusal),
}

/// The client has gone.
struct Gone;

/// Serves a client until one of the two has enough.
///
/// Dropping it closes the socket and drops the service's future.
#[expect(
    clippy::manual_async_fn,
    reason = "an `async fn` would keep its arguments twice"
)]
pub(super) fn serve<S: Service>(
    mut connection: Connection,
    service: Arc<S>,
) -> impl Future<Output = ()> + Send {
    // Most connections wait, and this future is what they cost, so what is rare is boxed.
    async move {
        let mut streak = 0;
        loop {
            let Some((call, controller, terms)) = connection.next_call(&*service).await else {
                return;
            };
            let mut answer = {
                let response = match call {
                    Some(call) => connection.attend(call, controller.controller()).await,
                    None => Some(broken()),
                };
                let Some(response) = response else {
                    return;
                };
                connection.prepare(response, terms)
            };
            let sent = connection.send(&mut answer, controller.controller()).await;
            controller.disarm();
            if sent.is_err() {
                return;
            }
            if !answer.keep_alive {
                return Box::pin(connection.leave(terms)).await;
            }
            streak += 1;
            if streak == STREAK {
                streak = 0;
                yield_now().await;
            }
        }
    }
}

impl Connection {
    pub(super) fn new(socket: Socket, seat: Seat, peer: Option<PeerAddr>) -> Self {
        Self {
            socket,
            reader: Reader::default(),
            seat,
            peer: peer.map(Box::new),
            may_have_bytes: true,
            half_closed: false,
            limited: None,
            known: false,
        }
    }

    /// Starts the call for the next request, or returns `None` if there is none and the client has been told. There is no
    /// call if the service panics before there is one.
    async fn next_call<'a, S: Service>(
        &mut self,
        service: &'a S,
    ) -> Option<(
        Option<Pin<Box<impl Future<Output = Response<Body>> + Send + use<'a, S>>>>,
        AbortOnDrop,
        Terms,
    )> {
        match poll_fn(|cx| self.poll_request(cx)).await {
            Ok((request, terms)) => {
                let controller = Controller::new();
                let call = || Box::pin(service.call(request, controller.signal()));
                let call = catch_unwind(AssertUnwindSafe(call)).ok();
                Some((call, controller.abort_on_drop(Reason::Closed), terms))
            }
            Err(Stop::End) => None,
            Err(Stop::Refuse(refusal)) => {
                Box::pin(self.refuse(refusal)).await;
                None
            }
        }
    }

    /// Reads the next request.
    fn poll_request(&mut self, cx: &mut Context<'_>) -> Poll<Result<Incoming, Stop>> {
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

    /// Runs a call to its end, and looks after the client meanwhile.
    ///
    /// The first poll is in place: a call that is ready then costs nothing else. When the client hangs up, its socket
    /// is closed at once and the call goes on without it; then there is no response.
    async fn attend<F>(
        &mut self,
        mut call: Pin<Box<F>>,
        controller: &Controller,
    ) -> Option<Response<Body>>
    where
        F: Future<Output = Response<Body>>,
    {
        let mut waiting = false;
        let response = poll_fn(|cx| {
            // A hang-up is told before the call goes on, so that the call finds its signal fired.
            if waiting {
                self.watch(cx, controller);
            }
            let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx)));
            match polled {
                Ok(Poll::Ready(response)) => Poll::Ready(response),
                Ok(Poll::Pending) => {
                    if !waiting {
                        waiting = true;
                        self.reader.input.settle();
                        self.watch(cx, controller);
                    }
                    Poll::Pending
                }
                Err(_panic) => Poll::Ready(broken()),
            }
        })
        .await;
        (!self.socket.is_closed()).then_some(response)
    }

    /// Fires the signal of a call when its client hangs up, and when the server closes.
    fn watch(&mut self, cx: &mut Context<'_>, controller: &Controller) {
        if self.poll_hang_up(cx).is_ready() {
            controller.abort(Reason::Disconnected);
            self.socket.close();
        }
        self.seat.register(cx);
        if self.seat.is_closing() {
            controller.abort(Reason::ServerClosed);
        }
    }

    /// Waits for the end of the client, and keeps a bounded amount of what it sends before that.
    fn poll_hang_up(&mut self, cx: &mut Context<'_>) -> Poll<Gone> {
        loop {
            let full = self.reader.input.rest().len() >= READ_AHEAD;
            if full || self.half_closed || self.socket.is_closed() {
                return Poll::Pending;
            }
            if ready!(self.socket.poll_readable(cx)).is_err() {
                return Poll::Ready(Gone);
            }
            match self.socket.receive(&mut self.reader.input) {
                Ok((1.., _)) => {}
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                Ok((0, _)) if self.seat.options().half_close => self.half_closed = true,
                Ok((0, _)) | Err(_) => return Poll::Ready(Gone),
            }
            self.reader.input.settle();
        }
    }

    fn prepare(&self, response: Response<Body>, terms: Terms) -> Answer {
        Answer::new(response, terms, !self.seat.is_closing())
    }

    /// Sends an answer, and fires the signal if the client goes before the end of a streamed one.
    async fn send(&mut self, answer: &mut Answer, controller: &Controller) -> Result<(), Gone> {
        let mut sent = Ok(());
        let mut streak = 0;
        while sent.is_ok() && answer.is_streaming() {
            sent = match poll_fn(|cx| self.poll_piece(cx, answer, controller)).await {
                Ok(()) => poll_fn(|cx| self.poll_flush(cx, answer)).await,
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

    /// Sends what is ready to leave.
    fn poll_flush(&mut self, cx: &mut Context<'_>, answer: &mut Answer) -> Poll<Result<(), Gone>> {
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
                log::debug!("a client takes nothing of its answer");
                return Poll::Ready(Err(Gone));
            }
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    /// Answers a request that cannot be served, and leaves.
    async fn refuse(&mut self, refusal: Refusal) {
        log::debug!("refused a request: {} {}", refusal.status, refusal.text);
        let mut answer = Answer::last_words(|out| encode::append_refusal(out, refusal));
        if poll_fn(|cx| self.poll_flush(cx, &mut answer)).await.is_ok() {
            self.linger().await;
        }
    }

    /// Closes the connection after an answer.
    async fn leave(&mut self, terms: Terms) {
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

/// The answer for a service that has panicked.
fn broken() -> Response<Body> {
    log::error!("a service panicked");
    let mut response = Response::new(Body::full(format!("{}\n", Refusal::BROKEN.text)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::super::options::Options;
    use super::super::seats::Seats;
    use super::*;
    use crate::Signal;

    #[test]
    fn a_connection_is_a_small_future() {
        let seats = Arc::new(Seats::new());
        let executor = smol::Executor::new();
        seats.begin(Options::new());
        let service = |_request: http::Request<Vec<u8>>, signal: Signal| async move {
            signal.aborted().await;
            Response::new(Body::empty())
        };
        let (ours, _theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let socket = Socket::new(ours.into(), false).unwrap();
        seats.admit(&executor, |seat| {
            let connection = Connection::new(socket, seat, None);
            let future = serve(connection, Arc::new(service));
            let size = std::mem::size_of_val(&future);
            let connection = std::mem::size_of::<Connection>();
            assert!(size <= 600, "{size} bytes, the connection {connection}");
            future
        });
    }

    #[test]
    fn a_client_that_goes_on_sending_after_a_refusal_leaves_others_their_turn() {
        let seats = Arc::new(Seats::new());
        let executor = smol::Executor::new();
        seats.begin(Options::new());
        let (ours, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_nonblocking(true).unwrap();
        theirs.write_all(b"no request\r\n").unwrap();
        while theirs.write(&[b'x'; 16 * 1024]).is_ok() {}
        let unread = ours.try_clone().unwrap();
        let left = || rustix::io::ioctl_fionread(&unread).unwrap();
        let service = |_request: http::Request<Vec<u8>>, _signal: Signal| async {
            Response::new(Body::empty())
        };
        let socket = Socket::new(ours.into(), false).unwrap();
        seats.admit(&executor, |seat| {
            serve(Connection::new(socket, seat, None), Arc::new(service))
        });
        let mut polls = 0;
        while left() > 0 {
            let before = left();
            assert!(executor.try_tick(), "it goes on, with {before} unread");
            let taken = before - left();
            assert!(taken <= 8 * 16 * 1024, "{taken} bytes in one poll");
            polls += 1;
        }
        assert!(polls > 1);
    }
}
