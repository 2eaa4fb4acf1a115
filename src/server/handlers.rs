//! How functions become handlers of tools: what they take, and what they may return.

use std::borrow::Cow;
use std::sync::Arc;

use serde_core::Serialize;
use serde_core::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny};
use serde_json::Value;

use super::context::Context;
use super::failure::{AnyError, HandlerError};
use super::tools::ToolHandler;
use super::work::{Work, work};
use crate::era::Reply;
use crate::protocol::jsonrpc::{string_end, without_position};
use crate::protocol::{Content, ToolResult};

/// Functions in the form of a handler of a tool: `async fn(Input)` and `async fn(Input, Context)`.
///
/// `Marker` tells the two forms apart for the compiler; it is never named. The trait demands the form alone.
/// [`Tool::new`](crate::Tool::new) has bounds on the input and the output, so that the compiler names what does not fit.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler of a tool",
    label = "not a function of an input, or of an input and a `Context`",
    note = "a handler is `async fn(Input)` or `async fn(Input, Context)`, or a closure of that form that can be called more than once",
    note = "both are taken by value and in this order; a tool without input takes `NoInput`"
)]
pub trait ToolFn<Marker> {
    /// What the function takes.
    type Input;

    /// What it returns: the future of what the tool yields.
    type Future;

    /// Calls the function.
    fn call(&self, input: Self::Input, cx: Context) -> Self::Future;
}

impl<F, Input, Fut> ToolFn<(Input,)> for F
where
    F: Fn(Input) -> Fut,
{
    type Input = Input;
    type Future = Fut;

    fn call(&self, input: Input, _: Context) -> Fut {
        self(input)
    }
}

impl<F, Input, Fut> ToolFn<(Input, Context)> for F
where
    F: Fn(Input, Context) -> Fut,
{
    type Input = Input;
    type Future = Fut;

    fn call(&self, input: Input, cx: Context) -> Fut {
        self(input, cx)
    }
}

/// Makes the handler of an async function.
pub(super) fn of<Marker, Function>(function: Function) -> ToolHandler
where
    Function: ToolFn<Marker> + Send + Sync + 'static,
    Function::Input: DeserializeOwned,
    Function::Future: Future<Output: IntoToolResult> + Send + 'static,
{
    ToolHandler::new(move |arguments, cx| match read(arguments) {
        Ok(input) => work(function.call(input, cx), finish),
        Err(text) => refuse(text),
    })
}

/// Makes the handler of a function that blocks, run on a thread that may.
pub(super) fn blocking<Input, Output>(
    function: impl Fn(Input, Context) -> Output + Send + Sync + 'static,
) -> ToolHandler
where
    Input: DeserializeOwned + Send + 'static,
    Output: IntoToolResult + 'static,
{
    let function = Arc::new(function);
    ToolHandler::new(move |arguments, cx| {
        let function = function.clone();
        match read(arguments) {
            Ok(input) => Box::pin(blocking::unblock(move || {
                // The pool may have been busy for longer than anybody waits.
                cx.signal().check()?;
                finish(function(input, cx))
            })),
            Err(text) => refuse(text),
        }
    })
}

fn finish(output: impl IntoToolResult) -> Result<Reply, HandlerError> {
    output.into_tool_result().map(Reply::Tool)
}

/// The answer to arguments that are wrong: a result, so that the model reads it and mends its call.
pub(super) fn refuse(text: String) -> Work {
    Box::pin(async move { Ok(Reply::Tool(ToolResult::error(text))) })
}

/// Reads the input; the error names the member and what was expected there.
fn read<Input: DeserializeOwned>(arguments: &str) -> Result<Input, String> {
    match serde_json::from_str(arguments) {
        Ok(input) => Ok(input),
        Err(_) => read_again(arguments),
    }
}

/// Reads the input once more, with whole floats as the integers they are, and with an eye on where it goes wrong.
#[cold]
fn read_again<Input: DeserializeOwned>(arguments: &str) -> Result<Input, String> {
    let arguments = mended(arguments)?;
    let mut arguments = serde_json::Deserializer::from_str(&arguments);
    serde_path_to_error::deserialize(&mut arguments).map_err(misread)
}

/// What is to be read once more, if it is anything that can be read.
fn mended(arguments: &str) -> Result<String, String> {
    match arguments.parse::<Value>() {
        Ok(_) => Ok(with_whole_numbers(arguments)),
        Err(err) => Err(invalid(".", &without_position(&err))),
    }
}

fn misread(err: serde_path_to_error::Error<serde_json::Error>) -> String {
    invalid(&err.path().to_string(), &without_position(err.inner()))
}

/// Says to the model what is wrong with which argument; the path of all of them is `.`.
pub(super) fn invalid(path: &str, why: &str) -> String {
    let why = shortened(why);
    match path {
        "." => format!("Invalid arguments: {why}."),
        path => format!("Invalid argument '{}': {why}.", shortened(path)),
    }
}

/// Cuts the middle out of a text that quotes a long value; what was expected stands at the end.
fn shortened(text: &str) -> Cow<'_, str> {
    const HEAD: usize = 160;
    const TAIL: usize = 80;
    if text.len() <= HEAD + TAIL {
        return Cow::Borrowed(text);
    }
    let (mut head, mut tail) = (HEAD, text.len() - TAIL);
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    Cow::Owned(format!("{}…{}", &text[..head], &text[tail..]))
}

/// Writes floats that are whole as the integers they are: some clients write every number as a float. All else stays as
/// it was sent.
fn with_whole_numbers(json: &str) -> String {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    // What has been looked at, and what of that has been written.
    let (mut at, mut written) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => at = string_end(bytes, at).unwrap_or(bytes.len()),
            b'-' | b'0'..=b'9' => {
                let number =
                    |byte: &&u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                at += bytes[at..].iter().take_while(number).count();
                if let Some(whole) = whole(&json[start..at]) {
                    out.push_str(&json[written..start]);
                    out.push_str(&whole.to_string());
                    written = at;
                }
            }
            _ => at += 1,
        }
    }
    out + &json[written..]
}

/// Reads a number that is written as a float and is whole.
fn whole(token: &str) -> Option<i64> {
    /// Beyond it not every whole float stands for one integer (2^53).
    const MOST: f64 = 9_007_199_254_740_992.0;
    let float: serde_json::Number = token.parse().ok()?;
    let float = float.as_f64().filter(|_| float.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= MOST).then_some(float as i64)
}

/// The input of a tool that takes no arguments. Those that a client sends are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoInput;

impl<'de> Deserialize<'de> for NoInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IgnoredAny).map(|_| NoInput)
    }
}

/// An object of which nothing is said.
#[cfg(feature = "schemars")]
#[cfg_attr(docsrs, doc(cfg(feature = "schemars")))]
impl schemars::JsonSchema for NoInput {
    fn schema_name() -> Cow<'static, str> {
        "NoInput".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

/// What a handler of a tool may return.
///
/// Text, [`Content`], [`Structured`] data, a whole [`ToolResult`], nothing, or a `Result` of these. An `Err` that is a
/// [`std::error::Error`], a boxed one, or a text is unexpected, and only the operator reads it; the model reads that of
/// [`HandlerError::public`].
#[diagnostic::on_unimplemented(
    message = "a handler of a tool cannot return `{Self}`",
    label = "its future yields `{Self}`",
    note = "text, `Content`, `Structured(data)`, `ToolResult`, nothing, or a `Result` of these can be returned",
    note = "the `Err` of a `Result` is a `HandlerError`, or any error that is `Send + Sync + 'static`"
)]
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

impl<T: IntoToolResult, E: Into<AnyError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        self.map_err(HandlerError::of)?.into_tool_result()
    }
}

/// Data as the result of a tool: as `structuredContent`, and as text for clients that read only text.
///
/// ```
/// use serde::Serialize;
/// use serde_json::json;
/// use smol_mcp::testing::Client;
/// use smol_mcp::{NoInput, Server, Structured, Tool};
///
/// #[derive(Serialize)]
/// struct Weather {
///     degrees: i32,
/// }
///
/// let weather = Tool::new("weather", async |_: NoInput| Structured(Weather { degrees: 21 }));
/// // With the feature `schemars`, `output_type::<Weather>()` does this; with `validate`, `output_schema` checks it, too.
/// let weather = weather.output_schema_unchecked(json!({
///     "type": "object",
///     "properties": { "degrees": { "type": "integer" } },
/// }));
/// let server = Server::builder("sky", "1.0.0").tool(weather).build()?;
/// smol::block_on(async {
///     let result = Client::new(&server).call("weather", json!({})).await;
///     assert_eq!(result["structuredContent"], json!({ "degrees": 21 }));
/// });
/// # Ok::<_, smol_mcp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structured<T>(pub T);

impl<T: Serialize> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<ToolResult, HandlerError> {
        Ok(ToolResult::structured(serde_json::to_value(self.0)?))
    }
}
