//! Standard input and output on Unix, without touching the mode of files that others share.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};
use rustix::event::PollFlags;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{Input, Output};
use crate::readiness::{self, Readiness};
use crate::unix::NO_SIGNAL;

pub(super) fn input() -> io::Result<Input> {
    let file = rustix::stdio::stdin().try_clone_to_owned()?;
    let (file, reads) = match kind(&file)? {
        FileType::Socket => (file, Reads::Socket),
        FileType::Fifo => match reopen(&file, OFlags::RDONLY) {
            Some(own) => (own, Reads::Own),
            None => (file, Reads::Shared),
        },
        _ => (file, Reads::Shared),
    };
    let file = match reads {
        Reads::Own | Reads::Socket => Late::New(file),
        Reads::Shared => match Async::new_nonblocking(file.try_clone()?) {
            Ok(file) => Late::Known(file),
            Err(err) if is_not_pollable(&err) => return Ok(unpollable(file)),
            Err(err) => return Err(err),
        },
    };
    Ok(Box::new(Pollable {
        file,
        reads,
        readiness: Readiness::default(),
    }))
}

pub(super) fn output() -> io::Result<Output> {
    let file = rustix::stdio::stdout().try_clone_to_owned()?;
    match kind(&file)? {
        FileType::Socket => Ok(Box::new(Eager {
            file: Late::New(file),
            is_socket: true,
        })),
        FileType::Fifo => match reopen(&file, OFlags::WRONLY) {
            Some(own) => Ok(Box::new(Eager {
                file: Late::New(own),
                is_socket: false,
            })),
            None => {
                let file = Async::new_nonblocking(File::from(file))?;
                Ok(Box::new(Slow {
                    file,
                    takes: PIPE_BUF,
                }))
            }
        },
        FileType::CharacterDevice if EPOLL => {
            let takes = match file.is_terminal() {
                true => 1,
                false => PIPE_BUF,
            };
            match Async::new_nonblocking(File::from(file.try_clone()?)) {
                Ok(file) => Ok(Box::new(Slow { file, takes })),
                Err(err) if is_not_pollable(&err) => Ok(unpollable(file)),
                Err(err) => Err(err),
            }
        }
        _ => Ok(unpollable(file)),
    }
}

/// Whether the reactor asks epoll, which refuses only what never waits for another process: regular files, /dev/null.
const EPOLL: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Reads and writes where it is polled.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn unpollable(file: OwnedFd) -> Box<futures_lite::io::AssertAsync<File>> {
    Box::new(futures_lite::io::AssertAsync::new(File::from(file)))
}

/// kqueue refuses more than that, such as some terminals: reads and writes on a thread, which may wait.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn unpollable(file: OwnedFd) -> Box<blocking::Unblock<File>> {
    Box::new(blocking::Unblock::with_capacity(
        super::BETWEEN,
        File::from(file),
    ))
}

fn is_not_pollable(err: &io::Error) -> bool {
    err.kind() == io::ErrorKind::PermissionDenied || err.kind() == io::ErrorKind::InvalidInput
}

fn kind(file: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode))
}

/// Opens the pipe once more, with a mode of its own. Linux has a name for it; elsewhere there is none.
fn reopen(pipe: &OwnedFd, access: OFlags) -> Option<OwnedFd> {
    use std::os::fd::AsRawFd;
    let name = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(name, flags, Mode::empty()).ok()
}

/// A file that never blocks, of which the reactor learns when it is waited for: a first message that is there already is
/// answered before the reactor begins.
enum Late {
    New(OwnedFd),
    Known(Async<OwnedFd>),
    /// The reactor has refused it.
    Lost,
}

impl Late {
    fn get_ref(&self) -> Result<&OwnedFd, Errno> {
        match self {
            Late::New(file) => Ok(file),
            Late::Known(file) => Ok(file.get_ref()),
            Late::Lost => Err(Errno::BADF),
        }
    }

    fn is_new(&self) -> bool {
        matches!(self, Late::New(_))
    }

    /// Returns the file for the reactor to wait for.
    fn known(&mut self) -> io::Result<&Async<OwnedFd>> {
        if self.is_new() {
            if let Late::New(file) = std::mem::replace(self, Late::Lost) {
                *self = Late::Known(Async::new_nonblocking(file)?);
            }
        }
        match self {
            Late::Known(file) => Ok(file),
            _ => Err(Errno::BADF.into()),
        }
    }
}

/// A file that is read when there is something to read, and never waited for in a read.
///
/// What async-io tells of readiness may be old news: the bytes may have been read meanwhile.
struct Pollable {
    file: Late,
    reads: Reads,
    readiness: Readiness,
}

/// How a file is read so that the read does not block, whatever the mode of the file.
#[derive(Clone, Copy, Debug)]
enum Reads {
    /// It was opened by us alone, in non-blocking mode.
    Own,
    /// A socket can be asked not to block, read by read.
    Socket,
    /// The kernel is asked first. Nobody else reads it, so what it says then holds.
    Shared,
}

impl Pollable {
    fn read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        let file = self.file.get_ref()?;
        match self.reads {
            Reads::Own => rustix::io::read(file, buffer),
            Reads::Socket => recv(file, buffer, RecvFlags::DONTWAIT).map(|(count, _)| count),
            Reads::Shared if !readiness::is_ready(file, PollFlags::IN)? => Err(Errno::AGAIN),
            Reads::Shared => rustix::io::read(file, buffer),
        }
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let file = self.file.known()?;
        self.readiness.readable(file, file.poll_readable(cx))
    }
}

impl AsyncRead for Pollable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let is_new = self.file.is_new();
            if !is_new {
                ready!(self.poll_readable(cx))?;
            }
            match self.read(buffer) {
                Ok(count) => return Poll::Ready(Ok(count)),
                // From now on the reactor knows it.
                Err(Errno::AGAIN) if is_new => _ = self.file.known()?,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(err) => return Poll::Ready(Err(err.into())),
            }
        }
    }
}

/// A pipe of our own, or a socket in whatever mode: written to first, and waited for when it is full.
struct Eager {
    file: Late,
    is_socket: bool,
}

impl Eager {
    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let file = self.file.get_ref()?;
        match self.is_socket {
            true => send(file, bytes, SendFlags::DONTWAIT | NO_SIGNAL),
            false => rustix::io::write(file, bytes),
        }
    }
}

impl AsyncWrite for Eager {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.write(bytes) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => ready!(self.file.known()?.poll_writable(cx))?,
                Err(Errno::INTR) => {}
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

/// What waits for another process, in blocking mode: a pipe, a terminal. The kernel is asked before each write.
struct Slow {
    file: Async<File>,
    /// How many bytes it takes without blocking when it takes any at all.
    takes: usize,
}

/// What a pipe takes at the least, by POSIX.
const PIPE_BUF: usize = 512;

impl AsyncWrite for Slow {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if !readiness::is_ready(&self.file, PollFlags::OUT)? {
                ready!(self.file.poll_writable(cx))?;
                continue;
            }
            let bytes = &bytes[..bytes.len().min(self.takes)];
            match self.file.get_ref().write(bytes) {
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
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
