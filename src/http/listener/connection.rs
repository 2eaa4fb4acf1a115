//! One client, from its first byte to its last.

mod farewell;
mod receive;
mod send;

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_lite::future::yield_now;
use http::{Response, StatusCode};

use super::PeerAddr;
use super::answer::Answer;
use super::reader::{Progress, Reader, Terms};
use super::refusal::Refusal;
use super::seats::Seat;
use super::socket::Socket;
use crate::http::{Body, Service};
use crate::signal::{Controller, Reason};

/// The most bytes of later requests that are read while a call runs.
const READ_AHEAD: usize = 16 * 1024;
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

/// Fires the signal of a call if its future, or the one that sends its answer, is dropped before its end. It stands
/// behind what is dropped with it: a call or a stream that nobody has told otherwise takes its client to have left.
struct Ending<'a>(Option<&'a Controller>);

impl Ending<'_> {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if let Some(controller) = self.0 {
            controller.abort(Reason::Closed);
        }
    }
}

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
                    Some(call) => connection.attend(call, &controller).await,
                    None => Some(broken()),
                };
                let Some(response) = response else {
                    return;
                };
                connection.prepare(response, terms)
            };
            let sent = connection.send(&mut answer, &controller).await;
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
    /// call if the service panicked.
    async fn next_call<'a, S: Service>(
        &mut self,
        service: &'a S,
    ) -> Option<(
        Option<Pin<Box<impl Future<Output = Response<Body>> + Send + use<'a, S>>>>,
        Controller,
        Terms,
    )> {
        match poll_fn(|cx| self.poll_request(cx)).await {
            Ok((request, terms)) => {
                let controller = Controller::new();
                let begin = || Box::pin(service.call(request, controller.signal()));
                let call = catch_unwind(AssertUnwindSafe(begin)).ok();
                Some((call, controller, terms))
            }
            Err(Stop::End) => None,
            Err(Stop::Refuse(refusal)) => {
                Box::pin(self.refuse(refusal)).await;
                None
            }
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
        let ending = Ending(Some(controller));
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
        ending.disarm();
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
