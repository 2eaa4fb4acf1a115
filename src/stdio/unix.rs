//! Standard input and output on Unix, without touching the mode of files that others share.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::{SendFlags, send};

use super::{Input, Output};
use crate::readiness::Readiness;

pub(super) fn input() -> io::Result<Input> {
    let file = io::stdin().as_fd().try_clone_to_owned()?;
    match Async::new_nonblocking(File::from(file.try_clone()?)) {
        Ok(file) => Ok(Box::new(Pollable(file, Readiness::default()))),
        // epoll does not take regular files, nor /dev/null.
        Err(err) if is_not_pollable(&err) => Ok(Box::new(smol::Unblock::new(File::from(file)))),
        Err(err) => Err(err),
    }
}

pub(super) fn output() -> io::Result<Output> {
    let file = io::stdout().as_fd().try_clone_to_owned()?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    match kind {
        FileType::Socket => Ok(Box::new(Socket(Async::new_nonblocking(file)?))),
        FileType::Fifo => match reopen(&file) {
            Some(own) => Ok(Box::new(Async::new_nonblocking(own)?)),
            None => {
                let file = Async::new_nonblocking(File::from(file))?;
                Ok(Box::new(Pipe(file, Readiness::default())))
            }
        },
        _ => Ok(Box::new(smol::Unblock::new(File::from(file)))),
    }
}

fn is_not_pollable(err: &io::Error) -> bool {
    err.kind() == io::ErrorKind::PermissionDenied || err.kind() == io::ErrorKind::InvalidInput
}

/// Opens the pipe once more, with a mode of its own. Linux has a name for it; elsewhere there is none.
fn reopen(pipe: &OwnedFd) -> Option<File> {
    use std::os::fd::AsRawFd;
    let name = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(name, flags, Mode::empty())
        .ok()
        .map(File::from)
}

/// A file in blocking mode, read when there is something to read. Nobody else reads it, so the read does not block.
struct Pollable(Async<File>, Readiness);

impl AsyncRead for Pollable {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.1.readable(&self.0, self.0.poll_readable(cx)))?;
            match self.0.get_ref().read(buffer) {
                // Somebody else had put the file into non-blocking mode.
                Err(err)
                    if matches!(
                        err.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

/// A socket in whatever mode, written to without blocking.
struct Socket(Async<OwnedFd>);

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match send(
                self.0.get_ref(),
                bytes,
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            ) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(rustix::io::Errno::AGAIN) => ready!(self.0.poll_writable(cx))?,
                Err(rustix::io::Errno::INTR) => {}
                Err(err) => return Poll::Ready(Err(err.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A pipe in blocking mode: when it can be written to at all, it takes `PIPE_BUF` bytes without blocking (POSIX).
struct Pipe(Async<File>, Readiness);

/// The least value of `PIPE_BUF` that POSIX allows.
const PIPE_BUF: usize = 512;

impl AsyncWrite for Pipe {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.1.writable(&self.0, self.0.poll_writable(cx)))?;
            match self.0.get_ref().write(&bytes[..bytes.len().min(PIPE_BUF)]) {
                Err(err)
                    if matches!(
                        err.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
