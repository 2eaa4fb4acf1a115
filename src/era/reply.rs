//! What a request came to, before its era has stamped it.

use std::fmt;

use serde_json::{Map, Value};

use super::legacy;
use crate::protocol::jsonrpc::{Id, write_json};
use crate::protocol::{Cache, Completion, Invalid, PromptResult, ReadResult, ToolResult, Version};

#[derive(Debug)]
pub(crate) enum Reply {
    Tool(ToolResult),
    /// Any other result, known by how it is written alone: a program in which nothing has such a result is linked
    /// without it.
    Other(Box<dyn Written>),
    /// The server ends a subscription (modern alone).
    Closing(Id),
}

impl Reply {
    /// Finds what its author did wrong.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Reply::Tool(result) => result.check_meta(),
            Reply::Other(result) => result.check(),
            Reply::Closing(_) => Ok(()),
        }
    }

    /// Keeps the result to the one client that gets it, and for this once.
    pub(crate) fn keep_private(&mut self) {
        if let Reply::Other(result) = self {
            result.keep_private();
        }
    }

    /// Tells whether it asks the client for something.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self, Reply::Other(result) if result.is_question())
    }
}

/// A result that can be written.
pub(crate) trait Written: fmt::Debug + Send + Sync {
    /// Finds what its author did wrong.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// See [`Reply::keep_private`].
    fn keep_private(&mut self) {}

    fn is_question(&self) -> bool {
        false
    }

    /// Writes it for the modern era, and returns what is to be put on it.
    fn write_modern(self: Box<Self>, out: &mut Vec<u8>) -> Wrapping;

    /// Writes it for a revision of the legacy era.
    fn write_legacy(self: Box<Self>, out: &mut Vec<u8>, version: Version);
}

/// What the modern era puts on a result.
#[derive(Debug)]
pub(crate) struct Wrapping {
    pub(crate) kind: &'static str,
    pub(crate) own_meta: Map<String, Value>,
    pub(crate) cache: Caching,
}

/// For how long clients may keep a result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caching {
    /// Nothing is said of it.
    Unsaid,
    /// As the server says.
    Default,
    Own(Cache),
}

impl Wrapping {
    pub(crate) fn complete(own_meta: Map<String, Value>) -> Self {
        Self {
            kind: "complete",
            own_meta,
            cache: Caching::Unsaid,
        }
    }
}

impl Written for ReadResult {
    fn check(&self) -> Result<(), Invalid> {
        self.check_meta()
    }

    fn keep_private(&mut self) {
        self.cache = Some(Cache::default());
    }

    fn write_modern(mut self: Box<Self>, out: &mut Vec<u8>) -> Wrapping {
        let own_meta = std::mem::take(&mut self.meta);
        write_json(out, &*self);
        Wrapping {
            cache: self.cache.map_or(Caching::Default, Caching::Own),
            ..Wrapping::complete(own_meta)
        }
    }

    fn write_legacy(self: Box<Self>, out: &mut Vec<u8>, version: Version) {
        legacy::write_read(out, version, &self);
    }
}

impl Written for PromptResult {
    fn check(&self) -> Result<(), Invalid> {
        self.check_meta()
    }

    fn write_modern(mut self: Box<Self>, out: &mut Vec<u8>) -> Wrapping {
        let own_meta = std::mem::take(&mut self.meta);
        write_json(out, &*self);
        Wrapping::complete(own_meta)
    }

    fn write_legacy(self: Box<Self>, out: &mut Vec<u8>, version: Version) {
        legacy::write_prompt(out, version, *self);
    }
}

impl Written for Completion {
    fn write_modern(self: Box<Self>, out: &mut Vec<u8>) -> Wrapping {
        write_json(out, &*self);
        Wrapping::complete(Map::new())
    }

    fn write_legacy(self: Box<Self>, out: &mut Vec<u8>, _: Version) {
        write_json(out, &*self);
    }
}
