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

/// Bounds that keep a server whole whatever its clients do. Begin with the defaults, and change what has to be another:
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
    /// Requests over HTTP outside of sessions count together, against 64 times this number. An array of messages
    /// (2025-03-26) holds no more than this many, and its requests are refused from where what is answered at once
    /// comes to [`message_bytes`](Self::message_bytes).
    pub calls_per_peer: usize,
    /// How many entries one page of a list holds; at least 1. Default: 1000.
    pub page_size: usize,
    /// How many subscriptions of modern clients are open at a time, over all of them. Default: 1024.
    pub subscriptions: usize,
    /// How long a legacy client may take to answer what it is asked. Default: 10 min.
    ///
    /// People take their time; a client that reports progress gets this much again.
    pub ask_timeout: Duration,
    /// How long it may take in all, whatever progress it reports. Default: 1 h.
    pub ask_timeout_in_all: Duration,
    /// How much time lies between two reports of progress of one call that are sent. Of those between only the last one
    /// is kept, and precedes the next or the answer. Default: none, every report is sent.
    pub progress_interval: Duration,
    /// How many log messages of one call wait for a client that reads slowly; at least 1. Of more the oldest are left out,
    /// and the client is told how many. Default: 256.
    pub log_backlog: usize,
    /// How long handlers may still answer after the end of input, or of a connection. Default: 1 s.
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

    /// Says who the server is, with more than a name and a version.
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Tells the client's model how to use the server.
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

    /// Adds a family of resources. Of several that fit an address, the first one is asked.
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

    /// Completes arguments of prompts and of resource templates.
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

    /// Says which lists may change while the server runs: clients are told when they do.
    ///
    /// What is named here is offered, even if there is nothing in it yet.
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

    /// Says whether clients can subscribe to resources, to be told by [`Server::resource_updated`]. Default: they cannot.
    pub fn subscriptions(mut self, subscriptions: bool) -> Self {
        self.subscriptions = subscriptions;
        if subscriptions {
            self.methods.serve_resources();
        }
        self
    }

    /// Sets the keys that seal what clients carry from one round of questions to the next
    /// ([`Context::set_state`], and the answers of earlier rounds).
    ///
    /// The first one seals, each of them opens. Several processes that serve the same clients need the same keys; to
    /// change a key, put the new one first and leave the old one in for a state's lifetime. Each is to be at least 32
    /// bytes that nobody guesses. Default: one random key, as long as the process runs.
    pub fn state_keys(mut self, keys: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        self.state_keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long a client may take from one round of questions to the next. Default: 10 min.
    pub fn state_lifetime(mut self, lifetime: Duration) -> Self {
        self.state_lifetime = lifetime;
        self
    }

    /// Offers log messages to clients: what [`Context::log`] is given goes nowhere without.
    ///
    /// The protocol calls the feature deprecated from 2026-07-28 on, so it is off unless asked for.
    pub fn logging(mut self) -> Self {
        self.logging = true;
        self
    }

    /// Sets the bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says how long clients may keep lists and resources (2026-07-28 on). Default: not at all.
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets a deadline for every handler, tools with one of their own excepted.
    ///
    /// Counted from the arrival of the request. When it passes, the signal of the call fires and the client is told; a
    /// handler that ignores that runs to its end, and its result is thrown away. One that runs for twice as long is told of
    /// in the log, at level `warn`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Runs handlers on an executor of the application's, which has to be run; so do connections over HTTP that are served
    /// by `http::serve` and `http::serve_on`.
    ///
    /// By default handlers run within the future that serves them, on its thread. Those of an `http::Endpoint` that is
    /// called by something else run on a thread of the crate's own, which the first of them starts.
    ///
    /// The executor is not kept alive by the server: handlers that are left on it are dropped with it.
    ///
    /// The type of the executor is what smol calls `smol::Executor`.
    pub fn executor(mut self, executor: Arc<Executor<'static>>) -> Self {
        self.executor = Some(executor);
        self
    }

    /// Runs a function around every call of a handler, be it of a tool, a resource, a prompt or a completion: before it,
    /// after it, or instead of it.
    ///
    /// The function gets the [`Context`] of the call and the rest of the call. It begins where the handler would, before
    /// the arguments of a tool are looked at, and runs under the same signal and deadline. What it returns is what the
    /// call comes to. Of several functions the first one that was added is the outermost. Lists, subscriptions and
    /// the handshake have no handler, and pass it by.
    ///
    /// It is a future like a handler: it is not dropped when the client leaves, but it is when a grace has passed, and a
    /// handler that asks its client by rounds ([`Context::elicit`]) runs anew in each round, with what is around it. What
    /// must happen in any case belongs into a drop.
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
    /// Unset, it costs nothing. Set, a call costs two more allocations for each function, and one for its arguments.
    pub fn around<F, Fut>(mut self, around: F) -> Self
    where
        F: Fn(Context, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, HandlerError>> + Send + 'static,
    {
        self.hooks.around.push(around::hook(around));
        self.hooks.run_around = Some(Next::begin);
        self
    }

    /// Is told of every unexpected failure of a handler, unless the signal of its request had fired before, for whatever
    /// reason.
    ///
    /// It is called before the client is answered, where the handler ended, and must not block. If it panics, the log
    /// says so, and nothing else comes of it.
    pub fn on_error(mut self, on_error: impl Fn(&Failure<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_error = Some(Box::new(on_error));
        self
    }

    /// Is told once of every cancellation that a client sends.
    ///
    /// It is called where messages are read, after the signal of the request has fired, and must not block. If it
    /// panics, the log says so, and nothing else comes of it.
    pub fn on_cancelled(
        mut self,
        on_cancelled: impl Fn(&Cancelled<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_cancelled = Some(Box::new(on_cancelled));
        self
    }

    /// Is told of progress that legacy clients report on what they were asked.
    ///
    /// It is called where messages are read, and must not block. If it panics, the log says so, and nothing else comes
    /// of it.
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
    /// [`state_keys`](Self::state_keys) it may also be that the operating system has no random bytes.
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
