//! Setting up a server. Every mistake is found at [`Builder::build`] and returned; nothing panics later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::context::Context;
use super::dispatch::Completer;
use super::failure::HandlerError;
use super::prompts::Prompt;
use super::registry::{Listed, Registry};
use super::resources::{Resource, ResourceTemplate};
use super::tools::{Tool, Work};
use super::{Cancelled, Failure, Hooks, Inner, Server};
use crate::Error;
use crate::era::{Offers, Reply, Stamp};
use crate::executor::Spawner;
use crate::protocol::{Cache, Completion, CompletionRequest, Implementation};

/// Bounds that keep a server whole whatever its clients do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The largest message that is read, in bytes. Default: 4 MiB.
    pub message_bytes: usize,
    /// How many requests of one connection, or of one session, run at a time. Default: 1024.
    ///
    /// Requests over HTTP outside of sessions count together, against 64 times this number.
    pub calls_per_peer: usize,
    /// How many entries one page of a list holds. Default: 1000.
    pub page_size: usize,
    /// How long handlers may still answer after the end of input, or of a connection. Default: 1 s.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 4 << 20,
            calls_per_peer: 1024,
            page_size: 1000,
            grace: Duration::from_secs(1),
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
    spawner: Spawner,
    hooks: Hooks,
    tools: Vec<Tool>,
    resources: Vec<Resource>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
    completer: Option<Completer>,
    logging: bool,
}

impl Builder {
    pub(super) fn new(info: Implementation) -> Self {
        Self {
            info,
            instructions: None,
            limits: Limits::default(),
            cache: Cache::default(),
            spawner: Spawner::default(),
            hooks: Hooks::default(),
            tools: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompts: Vec::new(),
            completer: None,
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
        self.tools.push(tool);
        self
    }

    /// Adds a resource.
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a family of resources. Of several that fit an address, the first one is asked.
    pub fn resource_template(mut self, template: ResourceTemplate) -> Self {
        self.templates.push(template);
        self
    }

    /// Adds a prompt.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Completes arguments of prompts and of resource templates.
    pub fn completion<F, Fut>(mut self, complete: F) -> Self
    where
        F: Fn(CompletionRequest, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Completion, HandlerError>> + Send + 'static,
    {
        let completer = move |request, cx| -> Work {
            let future = complete(request, cx);
            Box::pin(async move { future.await.map(Reply::Completion) })
        };
        self.completer = Some(Box::new(completer));
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

    /// Runs handlers on an executor of the application's instead of smol's global one.
    pub fn executor(mut self, executor: Arc<smol::Executor<'static>>) -> Self {
        self.spawner = Spawner::on(executor);
        self
    }

    /// Is told of every unexpected failure of a handler, unless its request had been cancelled before.
    pub fn on_error(mut self, on_error: impl Fn(&Failure<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.on_error = Some(Box::new(on_error));
        self
    }

    /// Is told once of every cancellation that a client sends.
    pub fn on_cancelled(
        mut self,
        on_cancelled: impl Fn(&Cancelled<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.on_cancelled = Some(Box::new(on_cancelled));
        self
    }

    /// Makes the server.
    ///
    /// # Errors
    ///
    /// Returns the first mistake in a definition; the message names the thing.
    pub fn build(self) -> Result<Server, Error> {
        let limits = self.limits;
        if limits.page_size == 0 {
            return Err(Error::definition("a page must hold at least one entry"));
        }
        let offers = Offers {
            tools: !self.tools.is_empty(),
            resources: !self.resources.is_empty() || !self.templates.is_empty(),
            prompts: !self.prompts.is_empty(),
            completions: self.completer.is_some(),
            logging: self.logging,
            ..Offers::default()
        };
        self.tools.iter().try_for_each(Tool::check)?;
        self.resources.iter().try_for_each(Resource::check)?;
        let (page, cache) = (limits.page_size, self.cache);
        let inner = Inner {
            stamp: Stamp::new(&self.info, cache),
            info: self.info,
            instructions: self.instructions,
            offers,
            limits,
            spawner: self.spawner,
            tools: registry("tool", self.tools, page, cache)?,
            resources: registry("resource", self.resources, page, cache)?,
            templates: registry("resource template", self.templates, page, cache)?,
            prompts: registry("prompt", self.prompts, page, cache)?,
            completer: self.completer,
            hooks: self.hooks,
            peers: Default::default(),
            closing: Default::default(),
        };
        Ok(Server(Arc::new(inner)))
    }
}

fn registry<T: Listed>(
    what: &str,
    items: Vec<T>,
    page_size: usize,
    cache: Cache,
) -> Result<Registry<T>, Error> {
    let registry = Registry::new(page_size, cache);
    for item in items {
        registry
            .add(item)
            .map_err(|item| Error::twice(what, item.key()))?;
    }
    Ok(registry)
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
