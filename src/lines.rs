//! MCP over a pair of byte streams: one message a line.
//!
//! This is the framing of stdio (MCP 2026-07-28, basic/transports/stdio), for Unix sockets, TCP and pipes as well. A client
//! cancels by `notifications/cancelled`, or by ending the stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite, future};

use crate::Server;
use crate::era;
use crate::executor::{self, Spawner};
use crate::protocol::jsonrpc::{self, RpcError};
use crate::server::call::Answer;
use crate::server::dispatch::{self, Caller, Intake};
use crate::server::inflight::DROPPING;
use crate::server::peer::{Kind, Peer};
use crate::signal::{Reason, Signal, Wait};

/// How much room the first read has: a page, since most messages are smaller, and idle memory counts.
const FIRST: usize = 4 * 1024;

/// How much room reads have at the least, once one of them has been filled.
const READ: usize = 16 * 1024;

/// How much may wait to be written before nothing more is read.
const BACKLOG: usize = 1024 * 1024;

/// How much capacity a buffer keeps while there is nothing in it.
const KEPT: usize = 64 * 1024;

/// How many reads one poll makes, so that a busy client leaves time to the other tasks of the thread.
const READS: usize = 32;

/// How many messages in a row are answered although nobody can tell which request the answer is for.
const UNANSWERABLE: u32 = 16;

/// Serves one client until the end of its input, or until the server is closed.
///
/// Requests run concurrently, within this future unless the server was [given an executor](crate::Builder::executor).
/// Answers are sent in the order in which handlers end. At the end of input the signal of every running handler fires with
/// [`Reason::Closed`]; handlers that end within [`Limits::grace`](crate::Limits::grace) are still answered, and the others
/// are dropped. A line over [`Limits::message_bytes`](crate::Limits::message_bytes) is answered with an error, and the next
/// one is served.
///
/// # Errors
///
/// Returns the first error of either stream. A peer that closed its end is not an error.
///
/// # Cancellation
///
/// Dropping the future drops the running handlers, without a grace.
///
/// # Examples
///
/// ```
/// use smol_mcp::{NoInput, Server, Tool, lines};
///
/// let server = Server::builder("clock", "1.0.0")
///     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
///     .build()?;
/// let input = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// let mut output = Vec::new();
/// smol::block_on(lines::serve(&server, &input[..], &mut output))?;
/// assert_eq!(output, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub async fn serve<R, W>(server: &Server, input: R, output: W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    executor::within(server.0.executor(), |executor| {
        let connection = Connection {
            guard: Guard(Peer::new(&server.0, Kind::Stream)),
            spawner: Spawner::on(executor),
            input,
            output,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            unanswerable: 0,
            over: None,
        };
        run(server, connection)
    })
    .await
}

async fn run<R, W>(server: &Server, mut connection: Connection<R, W>) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let end = future::poll_fn(|cx| connection.poll_serve(cx)).await;
    match connection.end(end, server.0.limits.grace).await {
        Err(err)
            if matches!(
                err.kind(),
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// Why reading has ended.
enum End {
    Input,
    Server,
}

struct Connection<R, W> {
    guard: Guard,
    spawner: Spawner,
    input: R,
    output: W,
    inbox: Inbox,
    outbox: Outbox,
    unanswerable: u32,
    /// Fires after the grace of a close, should nobody wait for that.
    over: Option<Wait>,
}

/// Ends what runs for the peer, however the connection ends.
struct Guard(Arc<Peer>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.feed.discard();
        self.0.inflight.abort_all(&Reason::Closed);
        self.0.inflight.clear();
    }
}

/// What has been read and is no whole line yet.
#[derive(Default)]
struct Inbox {
    /// Kept at its length, so that it is filled with zeros once and not for every read.
    buffer: Vec<u8>,
    /// Up to where there is something in it.
    filled: usize,
    /// Where the first line that has not been taken begins.
    start: usize,
    /// Up to where there is no line feed.
    scanned: usize,
    /// The line that is being read is too long, and is thrown away up to its end.
    skipping: bool,
    /// There may have been more to read than there was room for.
    eager: bool,
}

/// What is to be written.
#[derive(Default)]
struct Outbox {
    buffer: Vec<u8>,
    written: usize,
    /// Something has been written that may not have left yet.
    unflushed: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Connection<R, W> {
    /// Reads, begins calls, and writes what they say. One task does it all, so that there is one writer.
    fn poll_serve(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<End>> {
        for _ in 0..READS {
            let feed = &self.guard.0.feed;
            let closed = match self.outbox.is_open() {
                true => feed.drain_lines(&mut self.outbox.buffer, cx),
                false => feed.is_closed(cx),
            };
            let written = self.poll_write(cx)?;
            if closed || self.is_over(cx) {
                return Poll::Ready(Ok(End::Server));
            }
            if self.take_lines() {
                continue;
            }
            if !self.outbox.is_open() {
                // Full: what makes room is the peer that reads.
                ready!(written);
                continue;
            }
            if ready!(self.poll_read(cx))? == 0 {
                self.take_rest();
                return Poll::Ready(Ok(End::Input));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Tells whether the server is closed, and all the time that this leaves has passed.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        if self.over.is_none() {
            let over = self.guard.0.server.over();
            self.over = over.map(|over| over.aborted());
        }
        let over = self.over.as_mut();
        over.is_some_and(|over| Pin::new(over).poll(cx).is_ready())
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let inbox = &mut self.inbox;
        let room = inbox.make_room();
        let count = ready!(Pin::new(&mut self.input).poll_read(cx, room))?;
        inbox.eager |= count == inbox.buffer.len() - inbox.filled;
        inbox.filled += count;
        Poll::Ready(Ok(count))
    }

    /// Begins the calls of the lines that are there, while there is room for answers. Tells whether there was a line.
    fn take_lines(&mut self) -> bool {
        let mut any = false;
        while self.outbox.is_open() {
            let most = self.guard.0.server.limits.message_bytes;
            match self.inbox.next_line(most) {
                None => return any,
                Some(Line::Message { start, end }) => self.take(start, end),
                Some(Line::TooLong { id }) => {
                    let message = format!("Parse error: a message of more than {most} bytes");
                    let error = RpcError::new(RpcError::PARSE_ERROR, message);
                    self.say(era::refuse(id.as_ref(), &error));
                }
            }
            any = true;
        }
        any
    }

    /// Serves a last line without a line feed.
    fn take_rest(&mut self) {
        let (start, end) = (self.inbox.start, self.inbox.filled);
        if !self.inbox.skipping {
            self.take(start, end);
        }
    }

    /// Takes one line, without its line feed.
    fn take(&mut self, start: usize, end: usize) {
        let line = &self.inbox.buffer[start..end];
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let peer = &self.guard.0;
        let caller = Caller {
            signal: &Signal::never(),
            spawner: &self.spawner,
        };
        if line[0] == b'[' && peer.legacy_version().is_some_and(era::has_batches) {
            let mut taken = Vec::new();
            dispatch::receive_batch(peer, line, caller, |intake| taken.push(intake));
            return taken.into_iter().for_each(|intake| self.answer(intake));
        }
        let intake = dispatch::receive(peer, line, caller);
        self.answer(intake);
    }

    /// Writes what a message has been answered.
    fn answer(&mut self, intake: Intake) {
        match intake {
            Intake::Silent => {}
            Intake::Call(call) => {
                self.unanswerable = 0;
                call.drain_lines(&mut self.outbox.buffer);
            }
            Intake::Answer(Answer {
                body,
                anonymous: false,
                ..
            }) => {
                self.unanswerable = 0;
                self.say(body);
            }
            Intake::Answer(Answer { body, .. }) => self.say_anonymous(body),
        }
    }

    /// Writes an error that names no request, unless the revision has none such, or the peer sends nothing else.
    fn say_anonymous(&mut self, body: Vec<u8>) {
        self.unanswerable = self.unanswerable.saturating_add(1);
        let known = self
            .guard
            .0
            .legacy_version()
            .is_none_or(era::has_anonymous_errors);
        if known && self.unanswerable <= UNANSWERABLE {
            self.say(body);
        } else {
            log::warn!("ignored an unreadable message");
        }
    }

    fn say(&mut self, body: Vec<u8>) {
        self.outbox.buffer.extend_from_slice(&body);
        self.outbox.buffer.push(b'\n');
    }

    /// Writes what waits.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Outbox {
            buffer,
            written,
            unflushed,
        } = &mut self.outbox;
        while *written < buffer.len() {
            match ready!(Pin::new(&mut self.output).poll_write(cx, &buffer[*written..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => *written += count,
            }
            *unflushed = true;
        }
        if !buffer.is_empty() {
            *written = 0;
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        if *unflushed {
            ready!(Pin::new(&mut self.output).poll_flush(cx))?;
            *unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Fires what runs, lets answers out for the grace, and drops what runs on.
    async fn end(&mut self, end: io::Result<End>, grace: Duration) -> io::Result<()> {
        let peer = self.guard.0.clone();
        let patience = Signal::timeout(grace);
        let ended = match end {
            // Whoever closed the server has fired its handlers, and they have had the grace.
            Ok(End::Server) => self.write_rest(&patience).await,
            Ok(End::Input) => {
                peer.inflight.abort_all(&Reason::Closed);
                self.drain(&patience).await
            }
            // Nothing can be answered any more. Handlers may clean up all the same.
            Err(err) => {
                peer.inflight.abort_all(&Reason::Closed);
                peer.inflight.drained(&patience).await;
                Err(err)
            }
        };
        peer.inflight.clear_within(&Signal::timeout(DROPPING)).await;
        ended
    }

    /// Waits for the handlers, and writes what they answer.
    async fn drain(&mut self, patience: &Signal) -> io::Result<()> {
        let peer = self.guard.0.clone();
        let mut broken = None;
        let writing = future::poll_fn(|cx| {
            if broken.is_none() {
                peer.feed.drain_lines(&mut self.outbox.buffer, cx);
                if let Poll::Ready(Err(err)) = self.poll_write(cx) {
                    broken = Some(err);
                }
            }
            Poll::Pending
        });
        future::or(peer.inflight.drained(patience), writing).await;
        match broken {
            Some(err) => Err(err),
            None => self.write_rest(patience).await,
        }
    }

    /// Writes what ended last.
    async fn write_rest(&mut self, patience: &Signal) -> io::Result<()> {
        let peer = self.guard.0.clone();
        let rest = future::poll_fn(|cx| {
            peer.feed.drain_lines(&mut self.outbox.buffer, cx);
            self.poll_write(cx)
        });
        patience.run(rest).await.unwrap_or(Ok(()))
    }
}

impl Outbox {
    fn is_open(&self) -> bool {
        self.buffer.len() - self.written < BACKLOG
    }
}

enum Line {
    Message { start: usize, end: usize },
    TooLong { id: Option<jsonrpc::Id> },
}

impl Inbox {
    /// Finds the next whole line.
    fn next_line(&mut self, most: usize) -> Option<Line> {
        loop {
            let fresh = &self.buffer[self.scanned..self.filled];
            let Some(end) = memchr::memchr(b'\n', fresh).map(|at| self.scanned + at) else {
                self.scanned = self.filled;
                return self.too_long(most);
            };
            let start = std::mem::replace(&mut self.start, end + 1);
            self.scanned = end + 1;
            if !std::mem::take(&mut self.skipping) {
                return Some(self.checked(start, end, most));
            }
        }
    }

    fn checked(&self, start: usize, end: usize, most: usize) -> Line {
        match end - start > most {
            false => Line::Message { start, end },
            true => Line::TooLong {
                id: jsonrpc::id_in_prefix(&self.buffer[start..start + most]),
            },
        }
    }

    /// Gives up a line that has no end yet and is too long already.
    fn too_long(&mut self, most: usize) -> Option<Line> {
        if self.skipping {
            self.start = self.filled;
            return None;
        }
        let line = &self.buffer[self.start..self.filled];
        if line.len() <= most {
            return None;
        }
        let id = jsonrpc::id_in_prefix(&line[..most]);
        self.skipping = true;
        self.start = self.filled;
        Some(Line::TooLong { id })
    }

    /// Makes room for a read: moves what is not taken yet to the front, and gives back the memory of a long line.
    fn make_room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.filled == 0 && self.buffer.len() > KEPT {
            self.buffer.truncate(READ);
            self.buffer.shrink_to(KEPT);
        }
        let least = if self.eager { READ } else { FIRST };
        if self.buffer.len() < self.filled + least {
            self.buffer.resize(self.filled + least, 0);
        }
        &mut self.buffer[self.filled..]
    }
}
