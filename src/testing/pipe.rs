//! A byte stream in memory, between two tasks.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use futures_lite::{AsyncRead, AsyncWrite};

/// Creates a pipe in memory that holds at most this many bytes.
///
/// A writer that finds it full waits until something has been read. The end of the writer is the end of input for the
/// reader, after what was written; the end of the reader is a broken pipe for the writer.
///
/// # Panics
///
/// If `capacity` is zero: nothing would ever get through.
///
/// # Examples
///
/// ```
/// use smol::io::{AsyncReadExt, AsyncWriteExt};
/// use smol_mcp::testing;
///
/// let (mut reader, mut writer) = testing::pipe(16);
/// smol::block_on(async {
///     writer.write_all(b"hello").await?;
///     drop(writer);
///     let mut text = String::new();
///     reader.read_to_string(&mut text).await?;
///     assert_eq!(text, "hello");
///     Ok::<_, std::io::Error>(())
/// })?;
/// # Ok::<_, std::io::Error>(())
/// ```
pub fn pipe(capacity: usize) -> (Reader, Writer) {
    assert!(capacity > 0, "a pipe must hold at least one byte");
    let state = State {
        bytes: VecDeque::new(),
        capacity,
        reader: Side::default(),
        writer: Side::default(),
    };
    let pipe = Arc::new(Pipe(Mutex::new(state)));
    (Reader(pipe.clone()), Writer(pipe))
}

/// The end of a [`pipe`] that is read.
pub struct Reader(Arc<Pipe>);

/// The end of a [`pipe`] that is written to.
pub struct Writer(Arc<Pipe>);

struct Pipe(Mutex<State>);

struct State {
    bytes: VecDeque<u8>,
    capacity: usize,
    reader: Side,
    writer: Side,
}

/// One end: whether it is gone, and who waits there.
#[derive(Default)]
struct Side {
    gone: bool,
    waker: Option<Waker>,
}

impl Side {
    fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }
}

impl Pipe {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Ends one side for good, and tells the other.
    fn leave(&self, mine: fn(&mut State) -> &mut Side, other: fn(&mut State) -> &mut Side) {
        let mut state = self.state();
        mine(&mut state).gone = true;
        wake(other(&mut state).waker.take(), state);
    }
}

/// Wakes somebody after the lock is given back.
fn wake(waker: Option<Waker>, state: MutexGuard<'_, State>) {
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        if state.bytes.is_empty() {
            if state.writer.gone || buffer.is_empty() {
                return Poll::Ready(Ok(0));
            }
            state.reader.wait(cx);
            return Poll::Pending;
        }
        let count = io::Read::read(&mut state.bytes, buffer)?;
        wake(state.writer.waker.take(), state);
        Poll::Ready(Ok(count))
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state();
        if state.reader.gone || state.writer.gone {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = state.capacity - state.bytes.len();
        if room == 0 && !buffer.is_empty() {
            state.writer.wait(cx);
            return Poll::Pending;
        }
        let count = room.min(buffer.len());
        state.bytes.extend(&buffer[..count]);
        wake(state.reader.waker.take(), state);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0
            .leave(|state| &mut state.writer, |state| &mut state.reader);
        Poll::Ready(Ok(()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0
            .leave(|state| &mut state.reader, |state| &mut state.writer);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0
            .leave(|state| &mut state.writer, |state| &mut state.reader);
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}
