//! One connected socket, TCP or Unix.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::Duration;

use async_io::Async;
use rustix::net::{self, SendAncillaryBuffer, Shutdown, sockopt};

use super::input::Input;
use crate::readiness::Readiness;
use crate::unix::NO_SIGNAL;

/// After this long without a packet the kernel asks whether the peer is still there, then every
/// [`KEEPALIVE_INTERVAL`], and gives up after [`KEEPALIVE_PROBES`]: two minutes in all.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_PROBES: u32 = 6;

/// A socket, until it is closed. Once closed, everything fails and nothing waits.
#[derive(Debug)]
pub(super) struct Socket {
    fd: Option<Async<OwnedFd>>,
    readable: Readiness,
}

impl Socket {
    /// Takes a non-blocking socket into the reactor.
    pub(super) fn new(fd: OwnedFd, tcp: bool) -> io::Result<Self> {
        if tcp {
            // A peer that has left by now makes some of them fail; the first read tells that.
            let _ = sockopt::set_tcp_nodelay(&fd, true);
            let _ = sockopt::set_socket_keepalive(&fd, true);
            #[cfg(not(target_os = "openbsd"))] // There the times are the system's.
            {
                let _ = sockopt::set_tcp_keepidle(&fd, KEEPALIVE_IDLE);
                let _ = sockopt::set_tcp_keepintvl(&fd, KEEPALIVE_INTERVAL);
                let _ = sockopt::set_tcp_keepcnt(&fd, KEEPALIVE_PROBES);
            }
        }
        Ok(Self {
            fd: Some(Async::new_nonblocking(fd)?),
            readable: Readiness::default(),
        })
    }

    /// Closes the socket at once.
    pub(super) fn close(&mut self) {
        self.fd = None;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.fd.is_none()
    }

    /// Tells the peer that nothing more will come.
    pub(super) fn shutdown(&self) -> io::Result<()> {
        Ok(net::shutdown(self.open()?, Shutdown::Write)?)
    }

    /// Receives once; see [`Input::receive`].
    pub(super) fn receive(&self, input: &mut Input) -> io::Result<(usize, bool)> {
        input.receive(self.open()?)
    }

    /// Sends once: `first`, and `second` behind it if there is any. Returns how many bytes the kernel took.
    pub(super) fn send(&self, first: &[u8], second: &[u8]) -> io::Result<usize> {
        let socket = self.open()?;
        let count = rustix::io::retry_on_intr(|| {
            if second.is_empty() {
                return net::send(socket, first, NO_SIGNAL);
            }
            let both = [IoSlice::new(first), IoSlice::new(second)];
            let mut nothing = SendAncillaryBuffer::default();
            net::sendmsg(socket, &both, &mut nothing, NO_SIGNAL)
        })?;
        Ok(count)
    }

    pub(super) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let fd = self.open()?;
        self.readable.readable(fd, fd.poll_readable(cx))
    }

    /// Whoever is polled again has to try to send again, whatever this has said.
    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.open()?.poll_writable(cx)
    }

    fn open(&self) -> io::Result<&Async<OwnedFd>> {
        self.fd.as_ref().ok_or(io::ErrorKind::NotConnected.into())
    }
}
