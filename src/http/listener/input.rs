//! What a client has sent and nobody has read yet.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;

/// How much one read asks for at least.
const READ: usize = 16 * 1024;
/// How much a connection sets aside at least when the rest of a message is late.
const LITTLE: usize = 1024;

thread_local! {
    /// A buffer that the next connection of this thread reads into, so that a connection that waits needs none.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Takes the spare buffer of this thread, empty and with room for a read.
pub(crate) fn take_spare() -> Vec<u8> {
    let mut spare = SPARE.take();
    spare.reserve(READ);
    spare
}

/// Gives a buffer to this thread for the next that needs one.
pub(crate) fn give_spare(mut buffer: Vec<u8>) {
    // One that a large message has stretched is not worth keeping.
    if buffer.capacity() <= 4 * READ {
        buffer.clear();
        SPARE.set(buffer);
    }
}

/// Bytes in the order they came, taken from the front.
#[derive(Debug, Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    /// What stands before it has been taken.
    start: usize,
    /// Whether `bytes` is the spare buffer of a thread, to be given back before the connection waits.
    borrowed: bool,
}

impl Input {
    /// The bytes that have not been taken.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Takes `count` bytes from the front.
    pub(crate) fn take(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.bytes.len());
    }

    /// Appends bytes as if they had been read.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads once from a socket. Returns how many bytes came, 0 at the end, and whether they filled the buffer, so that
    /// more may be waiting.
    pub(crate) fn receive(&mut self, socket: impl AsFd) -> io::Result<(usize, bool)> {
        self.make_room();
        let room = self.bytes.capacity() - self.bytes.len();
        let count = rustix::io::retry_on_intr(|| {
            rustix::io::read(&socket, spare_capacity(&mut self.bytes))
        })?;
        Ok((count, count == room))
    }

    /// Gives the thread's buffer back. What has not been taken moves into a buffer of the connection's own.
    pub(crate) fn settle(&mut self) {
        if self.start == self.bytes.len() {
            self.start = 0;
            let empty = std::mem::take(&mut self.bytes);
            if std::mem::take(&mut self.borrowed) {
                give_spare(empty);
            }
        } else if self.borrowed {
            let rest = self.rest().to_vec();
            give_spare(std::mem::replace(&mut self.bytes, rest));
            self.start = 0;
            self.borrowed = false;
        }
    }

    fn make_room(&mut self) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        if self.bytes.capacity() == 0 {
            self.bytes = take_spare();
            self.borrowed = true;
        } else if self.bytes.capacity() == self.bytes.len() {
            self.bytes.drain(..self.start);
            self.start = 0;
            // Doubles, so that a client that sends byte by byte neither holds much nor costs much.
            self.bytes.reserve(LITTLE);
        }
    }
}
