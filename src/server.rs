//! The server: what it offers, and one call from its method to its answer. It knows no transport.

mod amount;
mod around;
mod arrival;
mod ask;
mod asks;
mod builder;
pub(crate) mod call;
mod context;
pub(crate) mod dispatch;
mod failure;
pub(crate) mod feed;
mod handlers;
mod hooks;
pub(crate) mod inflight;
pub(crate) mod journal;
mod messages;
mod methods;
mod outgoing;
pub(crate) mod outlet;
pub(crate) mod peer;
mod principal;
mod progress;
mod prompts;
mod queue;
mod registry;
mod resources;
mod running;
mod schema;
mod seal;
mod state;
mod subscriptions;
mod sync;
mod tools;
mod variants;
mod work;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use async_executor::Executor;

pub use self::amount::{Amount, IntoTotal};
pub use self::around::{Next, Outcome};
pub use self::ask::{Answers, Ask, AskError};
pub use self::builder::{Builder, Limits};
pub use self::context::Context;
pub use self::failure::HandlerError;
pub use self::handlers::{IntoToolResult, NoInput, Structured, ToolFn};
pub use self::hooks::{Cancelled, Failure, Progressed};
pub use self::principal::Principal;
pub use self::prompts::{Arguments, IntoPromptResult, Prompt};
pub use self::resources::{IntoReadResult, Resource, ResourceTemplate, Variables};
pub use self::state::with_state;
pub use self::tools::Tool;

use self::around::{Hook, RunAround};
use self::hooks::Hooks;
use self::inflight::DROPPING;
use self::methods::{Completer, Methods};
use self::peer::Peer;
use self::registry::{Item, Items, Registry};
use self::seal::Seal;
use self::subscriptions::{Bus, Change};
use crate::era::{Offers, Stamp};
use crate::protocol::Implementation;
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
    /// Where handlers and connections run, if the author says so. Not kept alive: what runs there holds its server.
    pub(crate) executor: Option<Weak<Executor<'static>>>,
    pub(crate) tools: Registry<Tool>,
    pub(crate) resources: Registry<Resource>,
    pub(crate) templates: Registry<ResourceTemplate>,
    pub(crate) prompts: Registry<Prompt>,
    /// How what is offered beside tools is served.
    pub(crate) methods: Methods,
    pub(crate) completer: Option<Completer>,
    pub(crate) seal: Seal,
    pub(crate) bus: Bus,
    /// How long handlers may take that set no deadline of their own.
    pub(crate) deadline: Option<Duration>,
    hooks: Hooks,
    stamp: Stamp,
    peers: Mutex<Peers>,
    /// Fires when the server is closed.
    closing: Controller,
    /// Until when answers may leave, once the server is closed.
    grace_ends: OnceLock<Instant>,
}

/// A grace that no clock can express.
const FOR_EVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

type Peers = Vec<Weak<Peer>>;

/// A list that may change while a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum List {
    /// The tools.
    Tools,
    /// The prompts.
    Prompts,
    /// The resources and their templates.
    Resources,
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

    /// Closes the server: the signal of every running handler fires with [`Reason::ServerClosed`]. Handlers that end
    /// within the grace are still answered; those that run on are dropped.
    ///
    /// New requests are refused at once. Transports that serve this server end by themselves.
    ///
    /// # Cancellation
    ///
    /// Dropping the future only stops the waiting: once it has been polled, the signals have fired, the server stays closed,
    /// and transports end by themselves after the grace. A handler that awaits the close of its own server waits for
    /// itself, and is dropped after the grace.
    pub async fn close(&self, grace: Duration) {
        let peers = self.0.shut(grace);
        for peer in &peers {
            peer.inflight.abort_all(&Reason::ServerClosed);
            peer.feed.nudge();
        }
        let patience = Signal::timeout(grace);
        for peer in &peers {
            peer.inflight.drained(&patience).await;
        }
        let patience = Signal::timeout(DROPPING);
        for peer in peers {
            for call in peer.inflight.calls() {
                call.silence(Reason::ServerClosed);
            }
            // In this order: a transport that ends may end the process, with what handlers hold.
            peer.inflight.clear_within(&patience).await;
            peer.feed.close();
        }
    }

    /// Returns a signal that fires when the server is closed.
    pub fn closed(&self) -> Signal {
        self.0.closing.signal()
    }

    /// Returns the number of requests whose handlers are running.
    pub fn calls_in_flight(&self) -> usize {
        let peers = self.0.live_peers();
        peers.iter().map(|peer| peer.inflight.len()).sum()
    }

    /// Adds a tool at the end of the list while the server runs.
    ///
    /// Clients that want to know are told, if the server was built with [`Builder::list_changed`].
    ///
    /// # Errors
    ///
    /// Those of [`Builder::build`]. A server that was built neither with tools nor with `list_changed` for them refuses all
    /// tools, since its clients may know already that it has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::{List, NoInput, Server, Tool};
    ///
    /// let server = Server::builder("shelf", "1.0.0").list_changed([List::Tools]).build()?;
    /// server.add_tool(Tool::new("greet", |_: NoInput| async { "hello" }))?;
    /// assert!(server.remove_tool("greet"));
    /// assert!(!server.remove_tool("greet"));
    /// # Ok::<_, smol_mcp::Error>(())
    /// ```
    pub fn add_tool(&self, tool: Tool) -> Result<(), crate::Error> {
        self.add(self.0.tools.items(), Arc::new(tool), List::Tools)
    }

    /// Removes a tool while the server runs, and returns whether there was one. Its running calls go on.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(self.0.tools.items(), name, List::Tools)
    }

    /// Adds a resource while the server runs, as [`add_tool`](Self::add_tool) adds a tool.
    ///
    /// # Errors
    ///
    /// Those of [`add_tool`](Self::add_tool).
    pub fn add_resource(&self, resource: Resource) -> Result<(), crate::Error> {
        let list = List::Resources;
        self.add(self.0.resources.items(), Arc::new(resource), list)
    }

    /// Removes a resource while the server runs, and returns whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(self.0.resources.items(), uri, List::Resources)
    }

    /// Adds a family of resources while the server runs, as [`add_tool`](Self::add_tool) adds a tool.
    ///
    /// # Errors
    ///
    /// Those of [`add_tool`](Self::add_tool).
    pub fn add_resource_template(&self, template: ResourceTemplate) -> Result<(), crate::Error> {
        let list = List::Resources;
        self.add(self.0.templates.items(), Arc::new(template), list)
    }

    /// Removes a family of resources while the server runs, and returns whether there was one.
    pub fn remove_resource_template(&self, pattern: &str) -> bool {
        self.remove(self.0.templates.items(), pattern, List::Resources)
    }

    /// Adds a prompt while the server runs, as [`add_tool`](Self::add_tool) adds a tool.
    ///
    /// # Errors
    ///
    /// Those of [`add_tool`](Self::add_tool).
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), crate::Error> {
        self.add(self.0.prompts.items(), Arc::new(prompt), List::Prompts)
    }

    /// Removes a prompt while the server runs, and returns whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(self.0.prompts.items(), name, List::Prompts)
    }

    /// Tells clients that a list has changed without an entry being added or removed, such as in a description.
    ///
    /// Does nothing unless the server was built with [`Builder::list_changed`] for the list. Never blocks; a client that
    /// reads slowly is told once.
    pub fn list_changed(&self, list: List) {
        subscriptions::publish(&self.0, Change::List(list));
    }

    /// Tells the clients that have subscribed to a resource that its contents have changed.
    ///
    /// Does nothing unless the server offers [`Builder::subscriptions`]. Never blocks; a client that reads slowly is told
    /// once.
    pub fn resource_updated(&self, uri: &str) {
        subscriptions::publish(&self.0, Change::Resource(uri));
    }

    fn add(&self, items: &Items, item: Item, list: List) -> Result<(), crate::Error> {
        let offers = &self.0.offers;
        let (offered, lists) = match list {
            List::Tools => (offers.tools, "tools"),
            List::Prompts => (offers.prompts, "prompts"),
            List::Resources => (offers.resources, "resources"),
        };
        if !offered {
            let (what, key) = (item.what(), item.key());
            return Err(crate::Error::definition(format!(
                "{what} {key:?}: the server was built without {lists}, and without `list_changed` for them"
            )));
        }
        items.add(item)?;
        self.list_changed(list);
        Ok(())
    }

    fn remove(&self, items: &Items, key: &str, list: List) -> bool {
        let removed = items.remove(key).is_some();
        if removed {
            self.list_changed(list);
        }
        removed
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

    /// The author's executor, if there is one still.
    pub(crate) fn executor(&self) -> Option<Arc<Executor<'static>>> {
        self.executor.as_ref()?.upgrade()
    }

    /// Returns who is there.
    pub(crate) fn live_peers(&self) -> Vec<Arc<Peer>> {
        self.peers().iter().filter_map(Weak::upgrade).collect()
    }

    /// Refuses all that comes from now on, and returns who is there.
    fn shut(&self, grace: Duration) -> Vec<Arc<Peer>> {
        let now = Instant::now();
        let _ = self
            .grace_ends
            .set(now.checked_add(grace).unwrap_or(now + FOR_EVER));
        self.closing.abort(Reason::ServerClosed);
        self.live_peers()
    }

    /// How long answers may still leave, once the server is closed.
    pub(crate) fn grace_left(&self) -> Duration {
        match self.grace_ends.get() {
            Some(end) => end.saturating_duration_since(Instant::now()),
            None => self.limits.grace,
        }
    }

    /// Fires when nothing is waited for any more, once the server is closed.
    #[allow(dead_code)] // A listener asks how long that takes.
    pub(crate) fn over(&self) -> Option<Signal> {
        self.grace_ends.get()?;
        Some(Signal::timeout(self.grace_left().saturating_add(DROPPING)))
    }

    /// Waits until no handler runs any more, for as long as a close lets them.
    #[allow(dead_code)] // Byte streams wait for their own.
    pub(crate) async fn drained(&self) {
        let patience = Signal::timeout(self.grace_left().saturating_add(DROPPING));
        for peer in self.live_peers() {
            peer.inflight.drained(&patience).await;
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closing.signal().is_aborted()
    }

    /// What runs around calls, from the outside in.
    pub(crate) fn around(&self) -> &[Hook] {
        &self.hooks.around
    }

    /// How a call is begun that something runs around.
    fn run_around(&self) -> Option<RunAround> {
        self.hooks.run_around
    }

    pub(crate) fn stamp(&self) -> &Stamp {
        &self.stamp
    }
}
