//! Setting up a server. Every mistake is found at [`Builder::build`] and returned; nothing panics later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_executor::Executor;

use super::around::{self, Next, Outcome};
use super::context::Context;
use super::failure::HandlerError;
use super::hooks::Hooks;
use super::methods::{Completer, Methods};
use super::prompts::Prompt;
use super::registry::{Item, Registry};
use super::resources::{Resource, ResourceTemplate};
use super::seal::Seal;
use super::tools::Tool;
use super::work::{Work, work};
use super::{Cancelled, Failure, Inner, List, Progressed, Server};
use crate::Error;
use crate::era::{Lists, Offers, Reply, Stamp};
use crate::protocol::{Cache, Completion, CompletionRequest, Implementation};
use crate::random;

/// Limits on what clients can make a server do. Begin with the defaults, and change the fields that need it:
///
/// ```
/// use smol_mcp::{Limits, Server};
///
/// let mut limits = Limits::default();
/// limits.message_bytes = 1 << 20;
/// let server = Server::builder("frugal", "1.0.0").limits(limits).build()?;
/// # let _ = server;
/// # Ok::<_, smol_mcp::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The largest message that is read, in bytes; at least 1. Default: 4 MiB.
    pub message_bytes: usize,
    /// How many requests of one connection, or of one session, run at a time; at least 1. Default: 1024.
    ///
    /// Requests over HTTP outside sessions count together, against 64 times this number. An array of messages
    /// (2025-03-26) may hold this many. Once the immediate answers to its requests come to
    /// [`message_bytes`](Self::message_bytes), the rest of its requests are refused.
    pub calls_per_peer: usize,
    /// How many entries one page of a list holds; at least 1. Default: 1000.
    pub page_size: usize,
    /// How many subscriptions all modern clients together have open at a time. Default: 1024.
    ///
    /// One subscription, or one legacy session, may name 1024 resources, with 256 KiB of addresses in all.
    pub subscriptions: usize,
    /// How long a legacy client may take to answer what it is asked. Default: 10 min.
    ///
    /// The time begins anew when the client reports progress.
    pub ask_timeout: Duration,
    /// How long a legacy client may take to answer in all, whatever progress it reports. Default: 1 h.
    pub ask_timeout_in_all: Duration,
    /// The least time between two reports of progress of one call that are sent. Of the reports in between only the last
    /// is kept; it is sent before the next one or the answer. Default: zero, every report is sent.
    pub progress_interval: Duration,
    /// How many log messages of one call wait for a client that reads slowly; at least 1. Beyond that the oldest are
    /// dropped, and the client is told how many. Default: 256.
    pub log_backlog: usize,
    /// How long handlers may still answer after the end of input of stdio or [`lines`](crate::lines), and clean up after the
    /// end of such a connection. Default: 1 s.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 << 20,
            calls_per_peer: 1024,
            page_size: 1000,
            subscriptions: 1024,
            ask_timeout: Duration::from_secs(10 * 60),
            ask_timeout_in_all: Duration::from_secs(60 * 60),
            progress_interval: Duration::ZERO,
            log_backlog: 256,
            grace: Duration::from_secs(1),
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), Error> {
        let least_one = [
            ("message_bytes", self.message_bytes),
            ("calls_per_peer", self.calls_per_peer),
            ("page_size", self.page_size),
            ("log_backlog", self.log_backlog),
        ];
        match least_one.iter().find(|(_, limit)| *limit == 0) {
            Some((name, _)) => Err(Error::definition(format!(
                "the limit `{name}` must be at least 1"
            ))),
            None => Ok(()),
        }
    }
}

/// Sets up a [`Server`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct Builder {
    info: Implementation,
    instructions: Option<String>,
    limits: Limits,
    cache: Cache,
    executor: Option<Arc<Executor<'static>>>,
    hooks: Hooks,
    deadline: Option<Duration>,
    tools: Vec<Item>,
    resources: Vec<Item>,
    templates: Vec<Item>,
    prompts: Vec<Item>,
    methods: Methods,
    completer: Option<Completer>,
    changing: Lists,
    subscriptions: bool,
    state_keys: Vec<Vec<u8>>,
    state_lifetime: Duration,
    logging: bool,
}

impl Builder {
    pub(super) fn new(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            limits: Limits::default(),
            cache: Cache::default(),
            executor: None,
            hooks: Hooks::default(),
            deadline: None,
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            methods: Methods::default(),
            completer: None,
            changing: Lists::default(),
            subscriptions: false,
            state_keys: Vec::new(),
            state_lifetime: Duration::from_secs(10 * 60),
            logging: false,
        }
    }

    /// Describes the server by more than a name and a version, which it replaces.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Sets a text that tells the client's model how to use the server.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(Arc::new(resource));
        self.methods.serve_resources();
        self
    }

    /// Adds a family of resources. Of several that match an address, the one added first serves it.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(Arc::new(template));
        self.methods.serve_resources();
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(Arc::new(prompt));
        self.methods.serve_prompts();
        self
    }

    /// Sets the function that completes arguments of prompts and variables of resource templates.
    pub fn completion<F, Fut>(mut self, complete: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, HandlerError>> + Send + 'static,
    {
        let completer = move |request, cx| -> Work {
            work(complete(request, cx), |output| {
                output.map(|completion| Reply::Other(Box::new(completion)))
            })
        };
        self.completer = Some(Arc::new(completer));
        self.methods.serve_completion();
        self
    }

    /// Names the lists that may change while the server runs: clients are told when they do.
    ///
    /// A list that is named here is offered even if it is empty.
    pub fn list_changed(mut self, lists: impl IntoIterator<Item = List>) -> Self {
        for list in lists {
            match list {
                List::Tools => self.changing.tools = true,
                List::Prompts => {
                    self.changing.prompts = true;
                    self.methods.serve_prompts();
                }
                List::Resources => {
                    self.changing.resources = true;
                    self.methods.serve_resources();
                }
            }
        }
        self
    }

    /// Lets clients subscribe to resources ([`Server::resource_updated`]). Default: they cannot.
    pub fn subscriptions(mut self) -> Self {
        self.subscriptions = true;
        self.methods.serve_resources();
        self
    }

    /// Sets the keys that seal what clients carry from one round of questions to the next
    /// ([`Context::set_state`], and the answers of earlier rounds).
    ///
    /// The first key seals, and every key opens. Several processes that serve the same clients need the same keys. To
    /// change a key, put the new one first and keep the old one for the lifetime of a state. A key is at least 32
    /// secret, random bytes; [`build`](Self::build) refuses shorter ones. Default: one random key for each server.
    pub fn state_keys(mut self, keys: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.state_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long a client may take from one round of questions to the next. Default: 10 min.
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.state_lifetime = lifetime;
        self
    }

    /// Offers log messages to clients. Without this, [`Context::log`] does nothing.
    ///
    /// The protocol deprecates the feature from 2026-07-28 on, so it is off by default.
    pub fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how long clients may keep lists and resources (from 2026-07-28 on). Default: not at all.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets a deadline for every call, except calls of tools that have [their own](Tool::deadline).
    ///
    /// It counts from the arrival of the request. When it passes, the signal of the call fires and the client is told; a
    /// handler that ignores it runs to its end, and its result is discarded. One that runs for twice as long is logged at
    /// level `warn`. [`build`](Self::build) refuses a deadline of zero.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Runs handlers on this executor, which the application has to run. Connections that are served by `http::serve` and
    /// `http::serve_on` run on it, too.
    ///
    /// By default handlers run within the future that serves them, on its thread. Those of an `http::Endpoint` that
    /// something else calls run on a thread that the crate starts for the first of them.
    ///
    /// The server does not keep the executor alive: dropping the executor drops the handlers on it.
    ///
    /// The type is `smol::Executor`.
    pub fn executor(mut self, executor: Arc<Executor<'static>>) -> Self {
        self.executor = Some(executor);
        self
    }

    /// Wraps a function around every call of a handler of a tool, a resource, a prompt or a completion: it runs before the
    /// handler, after it, or instead of it.
    ///
    /// The function gets the [`Context`] and the rest of the call. It begins where the handler would, before the arguments
    /// of a tool are checked, and runs under the same signal and deadline. What it returns is the outcome of the call. Of
    /// several functions the one added first is the outermost. Lists, subscriptions and the handshake have no handler, so
    /// it does not run for them.
    ///
    /// # Cancellation
    ///
    /// The future is treated like that of a handler. It is not dropped when the client leaves, but when a grace has passed,
    /// and when the handler ends a round with a question ([`Context::elicit`]). What must happen in any case belongs in a
    /// `Drop`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Instant;
    /// use smol_mcp::{Context, HandlerError, Next, Server};
    ///
    /// let seats = Arc::new(());
    /// let builder = Server::builder("quota", "1.0.0")
    ///     .around(async |cx: Context, next: Next| {
    ///         let begun = Instant::now();
    ///         let outcome = next.run().await;
    ///         let failed = outcome.as_ref().map_or(true, |outcome| outcome.is_error());
    ///         eprintln!("{} {}: failed: {failed}, {:?}", cx.method(), cx.subject(), begun.elapsed());
    ///         outcome
    ///     })
    ///     .around(move |_, next: Next| {
    ///         // Held as long as the call runs, and given back however it ends.
    ///         let seat = seats.clone();
    ///         async move {
    ///             match Arc::strong_count(&seat) <= 8 {
    ///                 true => next.run().await,
    ///                 false => Err(HandlerError::public("Busy. Try again in a minute.")),
    ///             }
    ///         }
    ///     });
    /// # let _ = builder;
    /// ```
    ///
    /// Each function costs a call two allocations, and one for its arguments.
    pub fn around<F, Fut>(mut self, around: F) -> Self
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, HandlerError>> + Send + 'static,
    {
        self.hooks.around.push(around::hook(around));
        self.hooks.run_around = Some(Next::begin);
        self
    }

    /// Sets a function that is told of every unexpected failure of a handler, unless the signal of its request had fired
    /// before, for any reason.
    ///
    /// It is called before the client is answered, on the thread on which the handler ended, and must not block. If it
    /// panics, the panic is logged and has no other effect.
    pub fn on_error(mut self, on_error: impl Fn(&Failure<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_error = Some(Box::new(on_error));
        self
    }

    /// Sets a function that is told once of every cancellation that a client sends.
    ///
    /// It is called where messages are read, after the signal of the request has fired, and must not block. If it
    /// panics, the panic is logged and has no other effect.
    pub fn on_cancelled(
        mut self,
        on_cancelled: impl Fn(&Cancelled<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_cancelled = Some(Box::new(on_cancelled));
        self
    }

    /// Sets a function that is told of progress that legacy clients report on a question.
    ///
    /// It is called where messages are read, and must not block. If it panics, the panic is logged and has no other effect.
    pub fn on_progress(
        mut self,
        on_progress: impl Fn(&Progressed<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_progress = Some(Box::new(on_progress));
        self
    }

    /// Makes the server.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in a definition; the message names the thing. Without
    /// [`state_keys`](Self::state_keys) it also fails if the operating system gives no random bytes.
    pub fn build(self) -> Result<Server, Error> {
        let limits = self.limits;
        limits.check()?;
        if self.deadline.is_some_and(|deadline| deadline.is_zero()) {
            return Err(Error::definition(
                "the server's deadline of zero leaves no time",
            ));
        }
        let seal = seal(&self.state_keys, self.state_lifetime)?;
        let changing = self.changing;
        let resources = !self.resources.is_empty() || !self.templates.is_empty();
        let offers = Offers {
            tools: changing.tools || !self.tools.is_empty(),
            resources: changing.resources || self.subscriptions || resources,
            prompts: changing.prompts || !self.prompts.is_empty(),
            completions: self.completer.is_some(),
            subscribe: self.subscriptions,
            changing,
            logging: self.logging,
        };
        let (page, cache) = (limits.page_size, self.cache);
        let inner = Inner {
            stamp: Stamp::new(&self.info, cache),
            info: self.info,
            instructions: self.instructions,
            offers,
            limits,
            executor: self.executor.as_ref().map(Arc::downgrade),
            tools: Registry::new("tools", page, cache, self.tools)?,
            resources: Registry::new("resources", page, cache, self.resources)?,
            templates: Registry::new("resourceTemplates", page, cache, self.templates)?,
            prompts: Registry::new("prompts", page, cache, self.prompts)?,
            methods: self.methods,
            completer: self.completer,
            seal,
            bus: Default::default(),
            hooks: self.hooks,
            deadline: self.deadline,
            peers: Default::default(),
            closing: Default::default(),
            grace_ends: Default::default(),
        };
        Ok(Server(Arc::new(inner)))
    }
}

fn seal(keys: &[Vec<u8>], lifetime: Duration) -> Result<Seal, Error> {
    if keys.iter().any(|key| key.len() < 32) {
        return Err(Error::definition("a state key must have at least 32 bytes"));
    }
    if !keys.is_empty() {
        return Ok(Seal::new(keys.iter().map(Vec::as_slice), lifetime));
    }
    let key = random::bytes::<32>().map_err(|err| Error::io("random bytes", err))?;
    Ok(Seal::new([&key[..]], lifetime))
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
