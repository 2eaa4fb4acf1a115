//! Taking clients in.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use async_executor::Executor;
use async_io::{Async, Timer};
use futures_lite::FutureExt as _;
use rustix::io::Errno;
use rustix::net;

use super::PeerAddr;
use super::connection::{self, Connection};
use super::seats::Seats;
use super::socket::Socket;
use crate::http::Service;
use crate::readiness::Readiness;
use crate::unix;

/// How many clients are taken in before others on the executor get their turn.
const BATCH: usize = 64;
/// How long to wait when the process has no descriptor left.
const BACK_OFF: Duration = Duration::from_millis(100);

/// Accepts clients, and looks after the limits on time of all of them.
pub(super) struct Acceptor<S> {
    /// Gone once the listener closes.
    pub(super) socket: Option<Async<OwnedFd>>,
    pub(super) tcp: bool,
    pub(super) seats: Arc<Seats>,
    pub(super) service: Arc<S>,
    /// Where connections run. Not kept alive: it may run this, too.
    pub(super) executor: Weak<Executor<'static>>,
    /// Whether somebody may be waiting; otherwise the socket is waited for first.
    pub(super) may_have_clients: bool,
    pub(super) readable: Readiness,
    /// Runs while the process is short of something.
    pub(super) pause: Option<Timer>,
    /// Runs while anybody is connected.
    pub(super) tick: Option<Timer>,
}

/// One attempt to accept.
enum Accepted {
    Client(Socket, Option<PeerAddr>),
    /// That client has left already.
    Lost,
    Nobody,
    /// The process or the system is short of descriptors or memory.
    Short(io::Error),
}

impl<S: Service> Acceptor<S> {
    /// Serves until the listener is closed and everybody has left, or until the listening socket fails.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.seats.register_server(cx);
        if self.seats.is_closing() {
            self.stop();
            if self.seats.is_empty() {
                return Poll::Ready(Ok(()));
            }
        } else {
            self.seats.look_at_clock();
            self.accept(cx)?;
        }
        self.keep_time(cx);
        Poll::Pending
    }

    /// Closes the listening socket.
    fn stop(&mut self) {
        self.socket = None;
        self.seats.stop_accepting();
    }

    /// Takes in who is waiting.
    fn accept(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(pause) = &mut self.pause {
            if pause.poll(cx).is_pending() {
                return Ok(());
            }
            self.pause = None;
        }
        for _ in 0..BATCH {
            if self.seats.is_full() {
                return Ok(());
            }
            if !self.may_have_clients {
                match self.poll_readable(cx) {
                    Poll::Ready(ready) => ready?,
                    Poll::Pending => return Ok(()),
                }
            }
            self.may_have_clients = true;
            match self.accept_one()? {
                Accepted::Client(socket, peer) => self.admit(socket, peer),
                Accepted::Lost => {}
                Accepted::Nobody => self.may_have_clients = false,
                Accepted::Short(err) => {
                    log::warn!("accepting pauses: {err}");
                    let mut pause = Timer::after(BACK_OFF);
                    // A timer that was never polled wakes nobody.
                    if pause.poll(cx).is_pending() {
                        self.pause = Some(pause);
                        return Ok(());
                    }
                }
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.socket {
            Some(socket) => self.readable.readable(socket, socket.poll_readable(cx)),
            None => Poll::Pending,
        }
    }

    fn accept_one(&self) -> io::Result<Accepted> {
        let Some(listening) = &self.socket else {
            return Ok(Accepted::Nobody);
        };
        let (fd, peer) = match accept(listening, self.seats.options().peer_addr.is_some()) {
            Ok(accepted) => accepted,
            Err(Errno::AGAIN) => return Ok(Accepted::Nobody),
            Err(err @ (Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)) => {
                return Ok(Accepted::Short(err.into()));
            }
            Err(err @ (Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP)) => {
                return Err(err.into());
            }
            // Errors that a connection has had before it was accepted come out here (accept(2)).
            Err(_) => return Ok(Accepted::Lost),
        };
        Ok(match Socket::new(fd, self.tcp) {
            Ok(socket) => Accepted::Client(socket, peer),
            Err(err) => Accepted::Short(err),
        })
    }

    fn admit(&self, socket: Socket, peer: Option<PeerAddr>) {
        // Nobody would serve the client.
        let Some(executor) = self.executor.upgrade() else {
            return;
        };
        let service = self.service.clone();
        self.seats.admit(&executor, |seat| {
            let connection = Connection::new(socket, seat, peer);
            connection::serve(connection, service)
        });
    }

    /// Looks at the limits on time, once a tick.
    fn keep_time(&mut self, cx: &mut Context<'_>) {
        if self.seats.is_empty() {
            self.tick = None;
            return;
        }
        let tick = self.seats.options().tick();
        let timer = self.tick.get_or_insert_with(|| Timer::after(tick));
        while timer.poll(cx).is_ready() {
            self.seats.sweep();
            timer.set_after(tick);
        }
    }
}

impl<S> Drop for Acceptor<S> {
    fn drop(&mut self) {
        self.socket = None;
        self.seats.stop_accepting();
        self.seats.abandon();
    }
}

/// Accepts a client on a socket that is non-blocking and not inherited by child processes.
fn accept(
    listening: &Async<OwnedFd>,
    with_peer: bool,
) -> Result<(OwnedFd, Option<PeerAddr>), Errno> {
    if !with_peer {
        let fd = net::accept_with(listening, unix::ACCEPT)?;
        return Ok((accepted(fd)?, None));
    }
    let (fd, address) = net::acceptfrom_with(listening, unix::ACCEPT)?;
    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
    Ok((accepted(fd)?, address.map(PeerAddr)))
}

/// What fails here is the connection, and not the listening socket.
fn accepted(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    unix::accepted(fd).map_err(|_| Errno::CONNABORTED)
}
