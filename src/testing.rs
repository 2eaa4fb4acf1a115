//! A client in memory, for tests of servers.
//!
//! A [`Client`] talks to a [`Server`] as a real one does, through the framing of stdio, but without a process and
//! without a socket. It works in a plain `#[test]` with `smol::block_on`, or inside any other executor.
//!
//! What it asserts does not depend on time. That nothing more was said is not found out by waiting, but by one more
//! request: the messages of a connection keep their order, so whatever had been said before would have come before its
//! answer. Only a wait that would never end is ended, after [`PATIENCE`], by a panic that names the line of the test.
//!
//! # Examples
//!
//! ```
//! use serde_json::json;
//! use smol_mcp::signal::Reason;
//! use smol_mcp::testing::Client;
//! use smol_mcp::{Context, HandlerError, NoInput, Server, Tool};
//!
//! async fn count(_: NoInput, cx: Context) -> Result<(), HandlerError> {
//!     cx.progress(1, 2, "half");
//!     match cx.signal().await {
//!         Reason::Cancelled(Some(text)) => assert_eq!(&*text, "enough"),
//!         other => panic!("{other}"),
//!     }
//!     Ok(())
//! }
//!
//! let server = Server::builder("counter", "1.0.0").tool(Tool::new("count", count)).build()?;
//! smol::block_on(async {
//!     let client = Client::new(&server);
//!     let mut call = client.start("count", json!({})).await;
//!     let report = call.progress().await.unwrap();
//!     assert_eq!((&report["progress"], &report["message"]), (&json!(1), &json!("half")));
//!     call.cancel("enough").await;
//!     client.silence().await; // neither an answer nor anything else
//! });
//! # Ok::<_, smol_mcp::Error>(())
//! ```

mod pipe;
mod turns;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_executor::Task;
use event_listener::Event;
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use serde_json::{Map, Value, json};

use crate::protocol::{RpcError, Version, meta};
use crate::signal::Signal;
use crate::{Server, executor, lines};

pub use self::pipe::{Reader, Writer, pipe};
use self::turns::Turns;

/// How long a client waits for what should come at once. Long enough for any machine; no assertion depends on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How much either direction of the connection holds that nobody has read yet.
const CAPACITY: usize = 64 * 1024;

/// A client of a server, in memory.
///
/// It reads when it waits for something. A client that waits for nothing is one that does not read.
///
/// # Panics
///
/// Its methods panic, with the caller's line, when a wait lasts longer than [`PATIENCE`], and when the server writes
/// what is no JSON object in one line.
///
/// # Cancellation
///
/// Futures may be dropped; what was read meanwhile stays for others. Dropping the client hangs up, and drops the
/// handlers that run.
pub struct Client {
    wire: Arc<Wire>,
    /// Serves the connection, where the server is ours.
    serving: Option<Task<io::Result<()>>>,
    capabilities: Value,
    legacy: Option<Version>,
}

/// The client's side of the connection, shared with the calls that run.
struct Wire {
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

struct Message {
    text: String,
    value: Value,
}

/// A line of a test.
type At = &'static Location<'static>;

impl Client {
    /// Connects to a server as a client that knows no handshake (2026-07-28 on).
    ///
    /// The connection is served on the executor that the server was given, or else on a thread of the crate's own.
    pub fn new(server: &Server) -> Self {
        let (their_input, our_output) = pipe(CAPACITY);
        let (our_input, their_output) = pipe(CAPACITY);
        let mut client = Self::over(our_input, our_output);
        let served = server.clone();
        let serving = async move { lines::serve(&served, their_input, their_output).await };
        client.serving = Some(match server.0.executor() {
            Some(executor) => executor.spawn(serving),
            None => executor::global(serving),
        });
        client
    }

    /// Connects to a server as a client of an earlier revision, up to 2025-11-25. The handshake is done when this
    /// returns.
    #[track_caller]
    pub fn legacy(server: &Server, version: Version) -> impl Future<Output = Self> {
        Self::new(server).initialize(version)
    }

    /// Talks to a server at the other end of any two streams: of a child process, or of a socket.
    pub fn over(
        input: impl AsyncRead + Send + 'static,
        output: impl AsyncWrite + Send + 'static,
    ) -> Self {
        let wire = Wire {
            outgoing: Turns::new(Some(Box::pin(output))),
            incoming: Turns::new(Incoming {
                stream: Box::pin(input),
                buffer: Vec::new(),
            }),
            inbox: Mutex::default(),
            arrived: Event::new(),
            next_id: AtomicI64::new(1),
        };
        Self {
            wire: Arc::new(wire),
            serving: None,
            capabilities: json!({}),
            legacy: None,
        }
    }

    /// Sets the capabilities that are declared: with each request, or in the handshake. Default: none.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Begins a session as a client of an earlier revision.
    #[track_caller]
    pub fn initialize(mut self, version: Version) -> impl Future<Output = Self> {
        let at = Location::caller();
        async move {
            self.legacy = Some(version);
            let params = json!({
                "protocolVersion": version.as_str(),
                "capabilities": self.capabilities,
                "clientInfo": { "name": "testing", "version": "0" },
            });
            let id = self.wire.next_id();
            self.wire.send(at, request(id, "initialize", &params)).await;
            let agreed = self.wire.answer(at, id).await;
            assert!(agreed.is_ok(), "{at}: `initialize` failed: {agreed:?}");
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            self.wire.send(at, initialized.to_string()).await;
            self
        }
    }

    /// Calls a tool and returns the result, `isError` or not.
    ///
    /// # Panics
    ///
    /// If the answer is an error of the protocol; [`request`](Self::request) returns those.
    #[track_caller]
    pub fn call(&self, tool: &str, arguments: Value) -> impl Future<Output = Value> {
        let at = Location::caller();
        let id = self.wire.next_id();
        let params = self.params(json!({ "name": tool, "arguments": arguments }), None);
        let line = request(id, "tools/call", &params);
        async move {
            self.wire.send(at, line).await;
            self.wire.result(at, id).await
        }
    }

    /// Sends any request and returns its result, or the error that answered it.
    ///
    /// What the era wants in `_meta` is added.
    #[track_caller]
    pub fn request(
        &self,
        method: &str,
        params: Value,
    ) -> impl Future<Output = Result<Value, RpcError>> {
        let at = Location::caller();
        let id = self.wire.next_id();
        let line = request(id, method, &self.params(params, None));
        async move {
            self.wire.send(at, line).await;
            self.wire.answer(at, id).await
        }
    }

    /// Begins to call a tool, and asks for its progress.
    #[track_caller]
    pub fn start(&self, tool: &str, arguments: Value) -> impl Future<Output = Running> {
        self.start_request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Begins any request, and asks for its progress.
    #[track_caller]
    pub fn start_request(&self, method: &str, params: Value) -> impl Future<Output = Running> {
        let at = Location::caller();
        let id = self.wire.next_id();
        let line = request(id, method, &self.params(params, Some(id)));
        async move {
            self.wire.send(at, line).await;
            Running {
                id,
                wire: self.wire.clone(),
            }
        }
    }

    /// Sends a notification.
    #[track_caller]
    pub fn notify(&self, method: &str, params: Value) -> impl Future<Output = ()> {
        let at = Location::caller();
        let line = json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string();
        async move { self.wire.send(at, line).await }
    }

    /// Sends a line as it is, with a line feed.
    #[track_caller]
    pub fn send(&self, line: impl Into<Vec<u8>>) -> impl Future<Output = ()> {
        let at = Location::caller();
        let line = line.into();
        async move { self.wire.send(at, line).await }
    }

    /// Sends bytes as they are.
    #[track_caller]
    pub fn write(&self, bytes: impl Into<Vec<u8>>) -> impl Future<Output = ()> {
        let at = Location::caller();
        let bytes = bytes.into();
        async move { self.wire.write(at, &bytes).await }
    }

    /// Returns the next line that nobody has taken, without its line feed; `None` at the end.
    #[track_caller]
    pub fn line(&self) -> impl Future<Output = Option<String>> {
        let at = Location::caller();
        async move {
            let next = self.wire.take(at, |_| true).await;
            next.map(|message| message.text)
        }
    }

    /// Returns the params of the next notification of a method.
    #[track_caller]
    pub fn notification(&self, method: &str) -> impl Future<Output = Value> {
        let at = Location::caller();
        async move {
            let found = self.wire.take(at, |value| value["method"] == method).await;
            match found {
                Some(mut message) => message.value["params"].take(),
                None => fail(
                    at,
                    format_args!("the connection ended before a {method:?} came"),
                ),
            }
        }
    }

    /// Asserts that the server has said nothing more than what was taken.
    ///
    /// It asks for something that is always answered, and looks at what came before the answer.
    ///
    /// # Panics
    ///
    /// If there was something; the message shows all of it.
    #[track_caller]
    pub fn silence(&self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let id = self.wire.next_id();
            let method = match self.legacy {
                Some(_) => "ping",
                None => "server/discover",
            };
            self.wire
                .send(at, request(id, method, &self.params(json!({}), None)))
                .await;
            self.wire.result(at, id).await;
            let said: Vec<String> = {
                let mut inbox = self.wire.inbox();
                inbox
                    .messages
                    .drain(..)
                    .map(|message| message.text)
                    .collect()
            };
            if !said.is_empty() {
                fail(
                    at,
                    format_args!("expected silence, got\n{}", said.join("\n")),
                );
            }
        }
    }

    /// Ends the client's output. What the server has still to say can be read.
    #[track_caller]
    pub fn disconnect(&self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move {
            let close = async {
                if let Some(mut outgoing) = self.wire.outgoing.next().await.take() {
                    // The other end may have gone first.
                    let _ = outgoing.close().await;
                }
            };
            patiently(at, "the connection could not be closed", close).await;
        }
    }

    /// Waits until the server has done with the connection, and returns what [`lines::serve`] returned.
    ///
    /// # Panics
    ///
    /// If the client was made by [`over`](Self::over): then somebody else serves.
    #[track_caller]
    pub fn ended(mut self) -> impl Future<Output = io::Result<()>> {
        let at = Location::caller();
        async move {
            match self.serving.take() {
                Some(serving) => {
                    patiently(at, "the server did not end the connection", serving).await
                }
                None => fail(at, "the server is not served by this client"),
            }
        }
    }

    /// Adds to params what the era wants of them.
    fn params(&self, params: Value, token: Option<i64>) -> Value {
        let Value::Object(mut params) = params else {
            return params;
        };
        let mut members = match params.remove("_meta") {
            Some(Value::Object(members)) => members,
            Some(other) => {
                params.insert("_meta".into(), other);
                return Value::Object(params);
            }
            None => Map::new(),
        };
        if self.legacy.is_none() {
            let version = Version::V2026_07_28.as_str();
            let mut default = |name: &str, value: Value| {
                members.entry(name).or_insert(value);
            };
            default(meta::PROTOCOL_VERSION, version.into());
            default(meta::CLIENT_CAPABILITIES, self.capabilities.clone());
        }
        if let Some(token) = token {
            members
                .entry(meta::PROGRESS_TOKEN)
                .or_insert_with(|| token.into());
        }
        if !members.is_empty() {
            params.insert("_meta".into(), members.into());
        }
        Value::Object(params)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Calls that run share the wire, and would keep it open.
        if let Some(mut outgoing) = self.wire.outgoing.now() {
            *outgoing = None;
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("legacy", &self.legacy)
            .finish_non_exhaustive()
    }
}

/// A request that a [`Client`] has begun.
///
/// Dropping it does nothing: the request runs on.
pub struct Running {
    id: i64,
    wire: Arc<Wire>,
}

impl Running {
    /// Returns the id of the request, which is also its progress token.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the params of the next progress notification; `None` if the answer came first.
    #[track_caller]
    pub fn progress(&mut self) -> impl Future<Output = Option<Value>> {
        let at = Location::caller();
        async move {
            let (id, is_progress) = (self.id, |value: &Value| {
                value["method"] == "notifications/progress"
            });
            let found = self
                .wire
                .find(at, |messages| {
                    let next = messages.iter().position(|Message { value, .. }| {
                        let reports = is_progress(value) && value["params"]["progressToken"] == id;
                        reports || is_answer(value, id)
                    })?;
                    match is_progress(&messages[next].value) {
                        true => messages.remove(next).map(Some),
                        false => Some(None),
                    }
                })
                .await;
            match found {
                Some(report) => report.map(|mut message| message.value["params"].take()),
                None => fail(
                    at,
                    format_args!("the connection ended before request {id} was answered"),
                ),
            }
        }
    }

    /// Waits for the result.
    ///
    /// # Panics
    ///
    /// If the answer is an error of the protocol; [`outcome`](Self::outcome) returns those.
    #[track_caller]
    pub fn answer(self) -> impl Future<Output = Value> {
        let at = Location::caller();
        async move { self.wire.result(at, self.id).await }
    }

    /// Waits for the answer, which is the result or an error of the protocol.
    #[track_caller]
    pub fn outcome(self) -> impl Future<Output = Result<Value, RpcError>> {
        let at = Location::caller();
        async move { self.wire.answer(at, self.id).await }
    }

    /// Tells the server that the client does not want the answer any more.
    #[track_caller]
    pub fn cancel(&self, reason: &str) -> impl Future<Output = ()> {
        let at = Location::caller();
        let line = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": self.id, "reason": reason },
        });
        async move { self.wire.send(at, line.to_string()).await }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Wire {
    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    async fn send(&self, at: At, line: impl Into<Vec<u8>>) {
        let mut line = line.into();
        line.push(b'\n');
        self.write(at, &line).await;
    }

    async fn write(&self, at: At, bytes: &[u8]) {
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

    async fn result(&self, at: At, id: i64) -> Value {
        match self.answer(at, id).await {
            Ok(result) => result,
            Err(error) => fail(
                at,
                format_args!("request {id} was answered by an error: {error}"),
            ),
        }
    }

    async fn answer(&self, at: At, id: i64) -> Result<Value, RpcError> {
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
    async fn take(&self, at: At, wanted: impl Fn(&Value) -> bool) -> Option<Message> {
        self.find(at, |messages| {
            let place = messages.iter().position(|message| wanted(&message.value))?;
            messages.remove(place)
        })
        .await
    }

    async fn find<T>(
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

fn request(id: i64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn is_answer(value: &Value, id: i64) -> bool {
    value["id"] == id && value.get("method").is_none()
}

async fn patiently<F: Future>(at: At, despair: &str, future: F) -> F::Output {
    match Signal::timeout(PATIENCE).run(future).await {
        Ok(output) => output,
        Err(_) => fail(at, format_args!("{despair} within {PATIENCE:?}")),
    }
}

/// Blames the line of the test.
fn fail(at: At, what: impl fmt::Display) -> ! {
    panic!("{at}: {what}")
}
