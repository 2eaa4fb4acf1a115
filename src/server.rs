//! The server: what it offers, and one call from its method to its answer. It knows no transport.

mod builder;
pub(crate) mod call;
mod context;
pub(crate) mod dispatch;
mod failure;
pub(crate) mod feed;
pub(crate) mod inflight;
pub(crate) mod peer;
mod progress;
mod prompts;
mod registry;
mod resources;
mod tools;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use serde_json::Value;

pub use self::builder::{Builder, Limits};
pub use self::context::Context;
pub use self::failure::HandlerError;
pub use self::progress::{Amount, IntoTotal};
pub use self::prompts::{IntoPromptResult, Prompt};
pub use self::resources::{IntoReadResult, Resource, ResourceTemplate};
pub use self::tools::{IntoToolHandler, IntoToolResult, NoInput, Structured, Tool};

use self::call::Call;
use self::dispatch::Completer;
use self::peer::Peer;
use self::registry::Registry;
use crate::era::{Offers, Stamp};
use crate::executor::Spawner;
use crate::lines::DROPPING;
use crate::protocol::Implementation;
use crate::protocol::jsonrpc::Id;
use crate::signal::{Controller, Reason, Signal};

/// An MCP server: tools, resources and prompts, ready to be served by any transport.
///
/// Cheap to clone; all clones are the same server. One server may serve many transports at a time.
///
/// ```
/// use smol_mcp::{Server, Tool};
///
/// let server = Server::builder("greeter", "1.0.0")
///     .tool(Tool::new("greet", |name: Vec<String>| async move { format!("Hello, {}!", name.join(" and ")) }))
///     .build()?;
/// # let _ = server;
/// # Ok::<_, smol_mcp::Error>(())
/// ```
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

/// What all clones share.
pub(crate) struct Inner {
    pub(crate) info: Implementation,
    pub(crate) instructions: Option<String>,
    pub(crate) offers: Offers,
    pub(crate) limits: Limits,
    pub(crate) spawner: Spawner,
    pub(crate) tools: Registry<Tool>,
    pub(crate) resources: Registry<Resource>,
    pub(crate) templates: Registry<ResourceTemplate>,
    pub(crate) prompts: Registry<Prompt>,
    pub(crate) completer: Option<Completer>,
    hooks: Hooks,
    stamp: Stamp,
    peers: Mutex<Peers>,
    /// Fires when the server is closed.
    closing: Controller,
}

type Peers = Vec<Weak<Peer>>;

/// What the author wants to be told of.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) on_error: Option<Box<dyn Fn(&Failure<'_>) + Send + Sync>>,
    pub(crate) on_cancelled: Option<Box<dyn Fn(&Cancelled<'_>) + Send + Sync>>,
}

/// An unexpected failure of a handler, as the operator sees it. The client has read a generic text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The method of the request: `tools/call`.
    pub method: &'static str,
    /// The tool, prompt or resource.
    pub subject: &'a str,
    /// The id of the request.
    pub id: &'a Id,
    /// How long the handler ran.
    pub elapsed: Duration,
    /// What it failed with.
    pub error: &'a HandlerError,
}

/// A cancellation that a client has sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cancelled<'a> {
    /// The id of the request that nobody waits for any more.
    pub request_id: &'a Id,
    /// Why, in the client's words: untrusted, and at most 256 characters.
    pub reason: Option<&'a str>,
    /// Whether a running request was found and aborted.
    pub aborted: bool,
}

impl Server {
    /// Begins a server of this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder::new(Implementation::new(name, version))
    }

    /// Returns the name and version that clients see.
    pub fn info(&self) -> &Implementation {
        &self.0.info
    }

    /// Closes the server: every running handler's signal fires with [`Reason::ServerClosed`], what finishes within
    /// the grace is still answered, then handlers that run on are dropped.
    ///
    /// New requests are refused from the first moment. Transports that serve this server end by themselves.
    ///
    /// # Cancellation
    ///
    /// Dropping the future stops the waiting; the signals have fired, and the server stays closed.
    pub async fn close(&self, grace: Duration) {
        let peers = self.0.shut();
        for peer in &peers {
            peer.inflight.abort_all(&Reason::ServerClosed);
        }
        let patience = Signal::timeout(grace);
        for peer in &peers {
            peer.inflight.drained(&patience).await;
        }
        let patience = Signal::timeout(DROPPING);
        for peer in peers {
            // In this order: a transport that ends may end the process, with what handlers hold.
            peer.inflight.clear_within(&patience).await;
            peer.feed.close();
        }
    }

    /// Returns a signal that fires when the server is closed.
    pub fn closed(&self) -> Signal {
        self.0.closing.signal()
    }

    /// Returns the number of requests whose handlers run now.
    pub fn calls_in_flight(&self) -> usize {
        let peers: Vec<_> = self.0.peers().iter().filter_map(Weak::upgrade).collect();
        peers.iter().map(|peer| peer.inflight.len()).sum()
    }

    /// Adds a tool while the server runs. Clients that asked for it learn of the change.
    ///
    /// # Errors
    ///
    /// The same mistakes are refused as at [`Builder::build`].
    pub fn add_tool(&self, tool: Tool) -> Result<(), crate::Error> {
        tool.check()?;
        self.0
            .tools
            .add(tool)
            .map_err(|tool| crate::Error::twice("tool", tool.name()))
    }

    /// Takes a tool away while the server runs. Calls of it that run are not touched.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.0.tools.remove(name).is_some()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.0.info.name)
            .field("version", &self.0.info.version)
            .finish_non_exhaustive()
    }
}

impl Inner {
    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.peers
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn register(&self, peer: &Arc<Peer>) {
        let mut peers = self.peers();
        peers.retain(|known| known.strong_count() > 0);
        peers.push(Arc::downgrade(peer));
    }

    /// Refuses all that comes from now on, and returns who is there.
    fn shut(&self) -> Vec<Arc<Peer>> {
        self.closing.abort(Reason::ServerClosed);
        self.peers().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing.signal().is_aborted()
    }

    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Tells the operator what the client is not told.
    fn report(&self, call: &Call, error: &HandlerError) {
        let (method, elapsed) = (call.method.as_str(), call.started.elapsed());
        log::error!("{method} {} ({}): {error}", call.subject, call.id);
        if let Some(on_error) = &self.hooks.on_error {
            on_error(&Failure {
                method,
                subject: &call.subject,
                id: &call.id,
                elapsed,
                error,
            });
        }
    }

    /// Tells the author of a cancellation.
    fn report_cancelled(&self, cancelled: &Cancelled<'_>) {
        let why = cancelled
            .reason
            .map_or_else(|| "no reason given".to_owned(), |text| format!("{text:?}"));
        log::debug!(
            "cancelled: {} ({why}), aborted: {}",
            cancelled.request_id,
            cancelled.aborted
        );
        if let Some(on_cancelled) = &self.hooks.on_cancelled {
            on_cancelled(cancelled);
        }
    }

    /// The `capabilities` that are advertised.
    pub(crate) fn capabilities(&self) -> Value {
        self.offers.to_json()
    }
}
