//! A client in memory, for tests of servers.
//!
//! A [`Client`] talks to a [`Server`] as a real client does, through the framing of stdio, but without a process or a
//! socket. It works in a plain `#[test]` with `smol::block_on`, or on any other executor.
//!
//! Its assertions do not depend on time. It does not wait to find that the server sent nothing more, but sends one more
//! request: messages keep their order, so anything sent before would come before the answer. A wait that does not end
//! panics after [`PATIENCE`], and names the line of the test.
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
mod running;
mod turns;
mod wire;

use std::fmt;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use async_executor::Task;
use futures_lite::{AsyncRead, AsyncWrite};
use serde_json::{Map, Value, json};

use crate::protocol::{RpcError, Version, meta};
use crate::{Server, executor, lines};

pub use self::pipe::{Reader, Writer, pipe};
pub use self::running::Running;
use self::wire::{Wire, fail, patiently};

/// How long a client waits before it panics: long enough for any machine. No assertion depends on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How much either direction of the connection holds that nobody has read yet.
const CAPACITY: usize = 64 * 1024;

/// A client of a server, in memory.
///
/// It reads only while it waits for something. So a client that waits for nothing does not read.
///
/// # Panics
///
/// Its methods panic, with the caller's line, when a wait lasts longer than [`PATIENCE`], and when the server writes a
/// line that is not a JSON object.
///
/// # Cancellation
///
/// Futures may be dropped; messages that they have read stay for other methods. Dropping the client hangs up, and drops
/// the running handlers.
pub struct Client {
    wire: Arc<Wire>,
    /// Serves the connection, where the server is ours.
    serving: Option<Task<io::Result<()>>>,
    capabilities: Value,
    legacy: Option<Version>,
}

impl Client {
    /// Connects to a server as a modern client, without a handshake (from 2026-07-28 on).
    ///
    /// The connection is served on the executor that the server was given, or else on a thread that the crate starts.
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

    /// Connects to a server as a client of a legacy revision, up to 2025-11-25, and does the handshake.
    #[track_caller]
    pub fn legacy(server: &Server, version: Version) -> impl Future<Output = Self> {
        Self::new(server).initialize(version)
    }

    /// Talks to a server at the other end of any two streams, such as those of a child process or a socket.
    pub fn over(
        input: impl AsyncRead + Send + 'static,
        output: impl AsyncWrite + Send + 'static,
    ) -> Self {
        Self {
            wire: Arc::new(Wire::new(input, output)),
            serving: None,
            capabilities: json!({}),
            legacy: None,
        }
    }

    /// Sets the capabilities that the client declares, with each request or in the handshake. Default: none.
    #[must_use]
    pub fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Does the handshake of a legacy revision.
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

    /// Asserts that the server has sent no message that was not taken.
    ///
    /// It sends a request that is always answered, and looks at what came before the answer.
    ///
    /// # Panics
    ///
    /// If there was a message; the panic shows all of them.
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
            let said = self.wire.take_all();
            if !said.is_empty() {
                fail(
                    at,
                    format_args!("expected silence, got\n{}", said.join("\n")),
                );
            }
        }
    }

    /// Ends the client's output. Further messages of the server can still be read.
    #[track_caller]
    pub fn disconnect(&self) -> impl Future<Output = ()> {
        let at = Location::caller();
        async move { self.wire.close(at).await }
    }

    /// Waits until the server has ended the connection, and returns what [`lines::serve`] returned.
    ///
    /// # Panics
    ///
    /// If the client was made by [`over`](Self::over), where nothing is known of the server.
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
        self.wire.hang_up();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("legacy", &self.legacy)
            .finish_non_exhaustive()
    }
}

fn request(id: i64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}
