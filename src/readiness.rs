//! Waiting for a descriptor, however late the waiting task is polled.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What is to be added to the readiness that async-io tells of.
///
/// Its reactor counts its turns, and takes an event of a turn that had begun before the wait for one that is past. A task
/// that is polled long after it has been woken, as from a main loop that polls once a frame, meets only such turns:
/// the thread of the reactor begins the next one at once. So who waits and is polled again asks the kernel itself.
///
/// Readiness that was found out this way is told of by async-io once more, later. Who then reads must not block.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    /// It was not ready when it was last looked at. Guards nothing else: the one task that waits is the one that writes.
    waits: AtomicBool,
}

impl Readiness {
    /// Completes what `poll_readable` of async-io has said.
    pub(crate) fn readable(
        &self,
        fd: impl AsFd,
        told: Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let waited = self.waits.swap(told.is_pending(), Ordering::Relaxed);
        if !waited || told.is_ready() || !is_ready(fd, PollFlags::IN)? {
            return told;
        }
        self.waits.store(false, Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

/// Asks the kernel.
pub(crate) fn is_ready(fd: impl AsFd, flags: PollFlags) -> rustix::io::Result<bool> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let mut fds = [PollFd::new(&fd, flags)];
    match poll(&mut fds, Some(&now)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(err) => Err(err),
    }
}
