//! What a server offers beside tools, and how that is served.
//!
//! A server holds a function for each kind, set when the first of the kind is registered: a program that offers none
//! is linked without what serves them.

mod completion;
mod prompts;
mod resources;

use std::sync::Arc;

use super::arrival::{Arrival, Terms};
use super::context::Context;
use super::dispatch::Intake;
use super::work::Work;
use crate::era::Refusal;
use crate::protocol::CompletionRequest;

/// The author's function that completes arguments.
pub(crate) type Completer = Arc<dyn Fn(CompletionRequest, Context) -> Work + Send + Sync>;

/// Serves the methods of one kind.
pub(super) type Serve = fn(&Arrival<'_>, Terms) -> Result<Intake, Refusal>;

/// How each kind is served, where it is offered.
#[derive(Clone, Copy, Default)]
pub(crate) struct Methods {
    pub(super) resources: Option<Serve>,
    pub(super) prompts: Option<Serve>,
    pub(super) completion: Option<Serve>,
}

impl Methods {
    pub(super) fn serve_resources(&mut self) {
        self.resources = Some(resources::serve);
    }

    pub(super) fn serve_prompts(&mut self) {
        self.prompts = Some(prompts::serve);
    }

    pub(super) fn serve_completion(&mut self) {
        self.completion = Some(completion::serve);
    }
}
