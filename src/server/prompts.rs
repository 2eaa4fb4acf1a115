//! Prompts: what they are registered with, and how functions fill them.

use std::collections::BTreeMap;
use std::fmt;

use super::context::Context;
use super::failure::{AnyError, HandlerError};
use super::registry::Listed;
use super::work::{Work, work};
use crate::Error;
use crate::era::Reply;
use crate::protocol::jsonrpc::{RpcError, json_text};
use crate::protocol::{PromptInfo, PromptMessage, PromptResult, meta_keys};

/// The arguments of a prompt, by name.
pub type Arguments = BTreeMap<String, String>;

/// A prompt: its definition and its handler.
///
/// ```
/// use smol_mcp::Prompt;
/// use smol_mcp::protocol::{PromptArgument, PromptInfo, PromptResult};
///
/// let info = PromptInfo::new("review").argument(PromptArgument::required("file"));
/// let prompt = Prompt::new(info, |arguments, _cx| async move {
///     PromptResult::user(format!("Review {}.", arguments["file"]))
/// });
/// # let _ = prompt;
/// ```
#[must_use = "a prompt does nothing until a server is given it"]
pub struct Prompt {
    pub(crate) info: PromptInfo,
    handler: Box<dyn Fn(Arguments, Context) -> Work + Send + Sync>,
}

impl Prompt {
    /// Defines a prompt by what clients are told of it and by the function that fills it.
    ///
    /// A request without a required argument is refused before the handler runs.
    pub fn new<F, Fut>(info: PromptInfo, handler: F) -> Self
    where
        F: Fn(Arguments, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoPromptResult> + Send + 'static,
    {
        let handler = move |arguments, cx| -> Work {
            work(handler(arguments, cx), |output| {
                Ok(Reply::Other(Box::new(output.into_prompt_result()?)))
            })
        };
        Self {
            info,
            handler: Box::new(handler),
        }
    }

    /// Checks the arguments against the definition.
    pub(crate) fn check_arguments(&self, arguments: &Arguments) -> Result<(), RpcError> {
        let missing = self
            .info
            .arguments
            .iter()
            .find(|argument| argument.required && !arguments.contains_key(&argument.name));
        match missing {
            None => Ok(()),
            Some(argument) => Err(RpcError::invalid_params(format!(
                "Missing argument: {}",
                argument.name
            ))),
        }
    }

    pub(crate) fn get(&self, arguments: Arguments, cx: Context) -> Work {
        (self.handler)(arguments, cx)
    }
}

impl Listed for Prompt {
    fn what(&self) -> &'static str {
        "prompt"
    }

    fn key(&self) -> &str {
        &self.info.name
    }

    fn check(&self) -> Result<(), Error> {
        let name = &self.info.name;
        if name.is_empty() {
            return Err(Error::definition("a prompt without a name"));
        }
        let arguments = &self.info.arguments;
        let twice = (1..arguments.len()).find(|&at| {
            arguments[..at]
                .iter()
                .any(|earlier| earlier.name == arguments[at].name)
        });
        if let Some(at) = twice {
            return Err(Error::definition(format!(
                "prompt {name:?}: argument {:?} defined twice",
                arguments[at].name
            )));
        }
        meta_keys::check(&self.info.meta)
            .map_err(|err| Error::definition(format!("prompt {name:?}: {err}")))
    }

    fn definition(&self) -> String {
        json_text(&self.info)
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt")
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

/// What a handler of a prompt may return: messages, a whole [`PromptResult`], or a `Result` of these.
#[diagnostic::on_unimplemented(
    message = "a handler of a prompt cannot return `{Self}`",
    label = "its future yields `{Self}`",
    note = "`PromptResult`, `PromptMessage`, a `Vec` of them, or a `Result` of these can be returned"
)]
pub trait IntoPromptResult {
    /// Makes the result.
    ///
    /// # Errors
    ///
    /// Returns the failure of the handler.
    fn into_prompt_result(self) -> Result<PromptResult, HandlerError>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult, HandlerError> {
        Ok(self)
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<PromptResult, HandlerError> {
        Ok(PromptResult::from(vec![self]))
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult, HandlerError> {
        Ok(self.into())
    }
}

impl<T: IntoPromptResult, E: Into<AnyError>> IntoPromptResult for Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptResult, HandlerError> {
        self.map_err(HandlerError::of)?.into_prompt_result()
    }
}
