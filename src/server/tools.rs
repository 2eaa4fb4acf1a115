//! Tools: what they are registered with, and how functions become their handlers.

use std::fmt;
use std::pin::Pin;

use serde_core::Serialize;
use serde_core::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny};
use serde_json::{Map, Value, json};

use super::context::Context;
use super::failure::HandlerError;
use super::registry::Listed;
use crate::Error;
use crate::era::Reply;
use crate::protocol::header_params::{self, HeaderParam};
use crate::protocol::jsonrpc::without_position;
use crate::protocol::{Content, Icon, ToolAnnotations, ToolInfo, ToolResult, tool_name};

/// A running handler.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Reply, HandlerError>> + Send>>;

/// A tool: its definition and its handler.
///
/// The handler is an async function or closure of the input, or of the input and the [`Context`]. The input is anything
/// that deserialises from a JSON object, the output anything that is [`IntoToolResult`].
///
/// ```
/// use serde::Deserialize;
/// use serde_json::json;
/// use smol_mcp::{Context, HandlerError, Tool};
///
/// #[derive(Deserialize)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// async fn add(input: Add, cx: Context) -> Result<String, HandlerError> {
///     cx.signal().check()?;
///     match input.a.checked_add(input.b) {
///         Some(sum) => Ok(sum.to_string()),
///         None => Err(HandlerError::public("The sum is too large.")),
///     }
/// }
///
/// let tool = Tool::new("add", add).description("Adds two numbers").input_schema(json!({
///     "type": "object",
///     "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
///     "required": ["a", "b"],
/// }));
/// # let _ = tool;
/// ```
pub struct Tool {
    pub(crate) info: ToolInfo,
    handler: ToolHandler,
    /// The arguments that HTTP clients mirror in headers. Found at registration.
    pub(crate) header_params: Vec<HeaderParam>,
    /// What is wrong with the definition, told when the tool is registered.
    mistake: Option<String>,
}

/// A handler of a tool, whatever function it was.
pub struct ToolHandler(Box<Handle>);

type Handle = dyn Fn(&str, Context) -> Work + Send + Sync;

impl Tool {
    /// Defines a tool that takes any JSON object until [`input_schema`](Self::input_schema) says more.
    ///
    /// The name is to be 1 to 128 letters, digits, `_`, `-` and `.`; registration refuses others.
    pub fn new<Marker>(name: impl Into<String>, handler: impl IntoToolHandler<Marker>) -> Self {
        let info = ToolInfo::new(name, json!({ "type": "object" }));
        Self {
            info,
            handler: handler.into_tool_handler(),
            header_params: Vec::new(),
            mistake: None,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Says what the tool does, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Sets the name that people are shown.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the JSON Schema of the input: an object whose root has `"type": "object"`.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        match header_params::collect(&schema) {
            Ok(params) => self.header_params = params,
            Err(err) => self.mistake = Some(err.to_string()),
        }
        self.info.input_schema = schema;
        self
    }

    /// Sets hints on what the tool does to the world.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.info.annotations = annotations;
        self
    }

    /// Adds a picture to show beside the name.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.push(icon);
        self
    }

    /// Sets metadata of the author's own.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.info.meta = meta;
        self
    }

    /// Finds what an author can do wrong.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let name = self.name();
        if let Err(err) = tool_name::check(name) {
            return Err(Error::definition(format!("tool {name:?}: {err}")));
        }
        if self.info.input_schema.get("type") != Some(&"object".into()) {
            return Err(Error::definition(format!(
                "tool {name:?}: the input schema must have \"type\": \"object\""
            )));
        }
        match &self.mistake {
            Some(mistake) => Err(Error::definition(format!("tool {name:?}: {mistake}"))),
            None => Ok(()),
        }
    }

    /// Begins a call. What is wrong with the arguments is for the model to read.
    pub(crate) fn call(&self, arguments: &str, cx: Context) -> Work {
        (self.handler.0)(arguments, cx)
    }
}

impl Listed for Tool {
    const MEMBER: &'static str = "tools";

    fn key(&self) -> &str {
        self.name()
    }

    fn definition(&self) -> Value {
        json!(self.info)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolHandler")
    }
}

/// Functions that can be the handler of a tool: `async fn(Input)` and `async fn(Input, Context)`.
///
/// `Marker` tells the kinds apart for the compiler; it is never named.
#[diagnostic::on_unimplemented(
    message = "this is no handler of a tool",
    note = "a handler is `async fn(Input) -> Output` or `async fn(Input, Context) -> Output`, or such a closure",
    note = "`Input` implements `serde::Deserialize`, `Output` `IntoToolResult`, the future `Send`",
    note = "an error is a `HandlerError` or implements `std::error::Error`, which `Box<dyn Error>` does not"
)]
pub trait IntoToolHandler<Marker> {
    /// Makes the handler.
    fn into_tool_handler(self) -> ToolHandler;
}

impl<F, Input, Fut> IntoToolHandler<(Input,)> for F
where
    F: Fn(Input) -> Fut + Send + Sync + 'static,
    Input: DeserializeOwned,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn into_tool_handler(self) -> ToolHandler {
        ToolHandler(Box::new(move |arguments, _| match read(arguments) {
            Ok(input) => work(self(input)),
            Err(refused) => refused,
        }))
    }
}

impl<F, Input, Fut> IntoToolHandler<(Input, Context)> for F
where
    F: Fn(Input, Context) -> Fut + Send + Sync + 'static,
    Input: DeserializeOwned,
    Fut: Future<Output: IntoToolResult> + Send + 'static,
{
    fn into_tool_handler(self) -> ToolHandler {
        ToolHandler(Box::new(move |arguments, cx| match read(arguments) {
            Ok(input) => work(self(input, cx)),
            Err(refused) => refused,
        }))
    }
}

fn work(future: impl Future<Output: IntoToolResult> + Send + 'static) -> Work {
    Box::pin(async move { future.await.into_tool_result().map(Reply::Tool) })
}

/// Reads the input, or makes the answer that tells the model what is wrong with it.
fn read<Input: DeserializeOwned>(arguments: &str) -> Result<Input, Work> {
    serde_json::from_str(arguments).map_err(|err| -> Work {
        let text = format!("Invalid arguments: {}.", without_position(&err));
        Box::pin(std::future::ready(Ok(Reply::Tool(ToolResult::error(text)))))
    })
}

/// The input of a tool that takes none. Arguments are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoInput;

impl<'de> Deserialize<'de> for NoInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IgnoredAny).map(|_| NoInput)
    }
}

/// What a handler of a tool may return.
///
/// Text, [`Content`], [`Structured`] data, a whole [`ToolResult`], nothing, or a `Result` of these. An `Err` that is a
/// [`std::error::Error`] is unexpected and stays with the operator; [`HandlerError::public`] is read by the model.
pub trait IntoToolResult {
    /// Makes the result.
    ///
    /// # Errors
    ///
    /// Returns the failure of the handler, or of the conversion.
    fn into_tool_result(self) -> Result<ToolResult, HandlerError>;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(ToolResult::default())
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(ToolResult::text(self))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(self.into())
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(self.into())
    }
}

impl<T: IntoToolResult, E: Into<HandlerError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

/// Data as the result of a tool: `structuredContent`, and the same as text for clients that read only that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(ToolResult::structured(serde_json::to_value(self.0)?))
    }
}
