//! What a client sends and reads, and what it has read that nobody has taken.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};

use event_listener::Event;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use serde_json::Value;

use super::PATIENCE;
use super::turns::Turns;
use crate::protocol::RpcError;
use crate::signal::Signal;

/// The client's side of the connection, shared with the calls that run.
pub(super) struct Wire {
    outgoing: Turns<Option<Pin<Box<dyn AsyncWrite + Send>>>>,
    /// Only one of those who wait reads.
    incoming: Turns<Incoming>,
    inbox: Mutex<Inbox>,
    /// Notified when something has entered the inbox.
    arrived: Event,
    next_id: AtomicI64,
}

struct Incoming {
    stream: Pin<Box<dyn AsyncRead + Send>>,
    buffer: Vec<u8>,
}

/// What has been read, and nobody has taken.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Message>,
    ended: bool,
}

pub(super) struct Message {
    pub(super) text: String,
    pub(super) value: Value,
}

/// A line of a test.
pub(super) type At = &'static Location<'static>;

impl Wire {
    pub(super) fn new(
        input: impl AsyncRead + Send + 'static,
        output: impl AsyncWrite + Send + 'static,
    ) -> Self {
        Self {
            outgoing: Turns::new(Some(Box::pin(output))),
            incoming: Turns::new(Incoming {
                stream: Box::pin(input),
                buffer: Vec::new(),
            }),
            inbox: Mutex::default(),
            arrived: Event::new(),
            next_id: AtomicI64::new(1),
        }
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) async fn send(&self, at: At, line: impl Into<Vec<u8>>) {
        let mut line = line.into();
        line.push(b'\n');
        self.write(at, &line).await;
    }

    pub(super) async fn write(&self, at: At, bytes: &[u8]) {
        let write = async {
            match &mut *self.outgoing.next().await {
                Some(outgoing) => {
                    outgoing.write_all(bytes).await?;
                    outgoing.flush().await
                }
                None => Err(io::Error::other("the client has disconnected")),
            }
        };
        let written = patiently(at, "the server did not read", write).await;
        if let Err(err) = written {
            fail(at, format_args!("cannot send: {err}"));
        }
    }

    /// Ends the client's output, once nobody writes.
    pub(super) async fn close(&self, at: At) {
        let close = async {
            if let Some(mut outgoing) = self.outgoing.next().await.take() {
                // The other end may have gone first.
                let _ = outgoing.close().await;
            }
        };
        patiently(at, "the connection could not be closed", close).await;
    }

    /// Drops the client's output, unless somebody writes.
    pub(super) fn hang_up(&self) {
        if let Some(mut outgoing) = self.outgoing.now() {
            *outgoing = None;
        }
    }

    pub(super) async fn result(&self, at: At, id: i64) -> Value {
        match self.answer(at, id).await {
            Ok(result) => result,
            Err(error) => fail(
                at,
                format_args!("request {id} was answered by an error: {error}"),
            ),
        }
    }

    pub(super) async fn answer(&self, at: At, id: i64) -> Result<Value, RpcError> {
        let Some(mut message) = self.take(at, |value| is_answer(value, id)).await else {
            fail(
                at,
                format_args!("the connection ended before request {id} was answered"),
            );
        };
        if let Some(result) = message.value.get_mut("result") {
            return Ok(result.take());
        }
        let error = &mut message.value["error"];
        let text = error["message"].as_str().unwrap_or_default().to_owned();
        let mut read = RpcError::new(error["code"].as_i64().unwrap_or_default(), text);
        read.data = error.get_mut("data").map(Value::take);
        Err(read)
    }

    /// Takes the first message of a kind; `None` if the connection ends before there is one.
    pub(super) async fn take(&self, at: At, wanted: impl Fn(&Value) -> bool) -> Option<Message> {
        self.find(at, |messages| {
            let place = messages.iter().position(|message| wanted(&message.value))?;
            messages.remove(place)
        })
        .await
    }

    /// Takes all that has been read, as text.
    pub(super) fn take_all(&self) -> Vec<String> {
        let messages = std::mem::take(&mut self.inbox().messages);
        messages.into_iter().map(|message| message.text).collect()
    }

    pub(super) async fn find<T>(
        &self,
        at: At,
        mut find: impl FnMut(&mut VecDeque<Message>) -> Option<T>,
    ) -> Option<T> {
        let search = async {
            loop {
                let arrived = self.arrived.listen();
                {
                    let mut inbox = self.inbox();
                    let found = find(&mut inbox.messages);
                    if found.is_some() || inbox.ended {
                        return found;
                    }
                }
                future::or(arrived, self.read(at)).await;
            }
        };
        patiently(at, "the server said nothing", search).await
    }

    /// Reads one line into the inbox. It may be dropped at any time: what was read stays.
    async fn read(&self, at: At) {
        let mut incoming = self.incoming.next().await;
        let Incoming { stream, buffer } = &mut *incoming;
        let mut scanned = 0;
        let line = loop {
            if let Some(end) = buffer[scanned..].iter().position(|byte| *byte == b'\n') {
                break Some(buffer.drain(..=scanned + end).collect::<Vec<u8>>());
            }
            scanned = buffer.len();
            let mut chunk = [0; 4096];
            match stream.read(&mut chunk).await {
                Ok(0) => break None,
                Ok(count) => buffer.extend_from_slice(&chunk[..count]),
                Err(err) => fail(at, format_args!("cannot read: {err}")),
            }
        };
        let mut inbox = self.inbox();
        match line {
            Some(mut line) => {
                line.pop();
                let text = match String::from_utf8(line) {
                    Ok(text) => text,
                    Err(err) => fail(at, format_args!("the server wrote no UTF-8: {err}")),
                };
                match serde_json::from_str(&text) {
                    Ok(value @ (Value::Object(_) | Value::Array(_))) => {
                        inbox.messages.push_back(Message { text, value });
                    }
                    _ => fail(
                        at,
                        format_args!("the server wrote what is no message: {text:?}"),
                    ),
                }
            }
            None if buffer.is_empty() => inbox.ended = true,
            None => fail(
                at,
                format_args!("the last line has no end: {}", buffer.escape_ascii()),
            ),
        }
        drop(inbox);
        self.arrived.notify(usize::MAX);
    }
}

pub(super) fn is_answer(value: &Value, id: i64) -> bool {
    value["id"] == id && value.get("method").is_none()
}

pub(super) async fn patiently<F: Future>(at: At, despair: &str, future: F) -> F::Output {
    match Signal::timeout(PATIENCE).run(future).await {
        Ok(output) => output,
        Err(_) => fail(at, format_args!("{despair} within {PATIENCE:?}")),
    }
}

/// Blames the line of the test.
pub(super) fn fail(at: At, what: impl fmt::Display) -> ! {
    panic!("{at}: {what}")
}
