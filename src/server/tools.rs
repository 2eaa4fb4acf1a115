//! Tools: what they are registered with, and how functions become their handlers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_core::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::context::Context;
use super::failure::HandlerError;
use super::handlers::{self, IntoToolResult, ToolFn};
use super::registry::Listed;
use super::schema::{self, Schema};
use super::variants;
use super::work::Work;
use crate::Error;
use crate::era::Reply;
use crate::protocol::header_params::{self, HeaderParam};
use crate::protocol::jsonrpc::{excerpt, json_text, object};
use crate::protocol::{Icon, ToolAnnotations, ToolInfo, ToolResult, meta_keys, tool_name};

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
#[must_use = "a tool does nothing until a server is given it"]
pub struct Tool {
    pub(crate) info: ToolInfo,
    handler: ToolHandler,
    /// The arguments that HTTP clients mirror in headers. Found at registration.
    pub(crate) header_params: Vec<HeaderParam>,
    pub(crate) deadline: Option<Duration>,
    /// Looks for arguments that are not named in the schema, if that is wanted.
    strict: Option<Strict>,
    beginning: Beginning,
    check: Option<Box<Check>>,
    /// Ends the handler early, if that is wanted.
    ending: Option<fn(Work, Context) -> Work>,
    input: Schema,
    output: Schema,
    /// What is wrong with the definition, told when the tool is registered.
    mistake: Option<String>,
}

/// A handler of a tool, whatever function it was.
pub(super) struct ToolHandler(Box<Handle>);

/// A look at arguments; the error is for the model to read.
type Strict = fn(&Tool, &str) -> Result<(), String>;

/// How a call begins.
type Beginning = fn(&Arc<Tool>, &str, Context) -> Work;

type Handle = dyn Fn(&str, Context) -> Work + Send + Sync;

/// A check by the author, run before the handler.
type Check = dyn Fn(Value, Context) -> CheckFuture + Send + Sync;
type CheckFuture = Pin<Box<dyn Future<Output = Result<(), HandlerError>> + Send>>;

impl ToolHandler {
    pub(super) fn new(handle: impl Fn(&str, Context) -> Work + Send + Sync + 'static) -> Self {
        Self(Box::new(handle))
    }
}

impl Tool {
    /// Defines a tool that takes any JSON object until [`input_schema`](Self::input_schema) says more.
    ///
    /// The name has 1 to 128 ASCII letters, digits, `_`, `-` and `.` (MCP 2026-07-28, server/tools); registration refuses
    /// others.
    ///
    /// The handler is an async function of its input, or of its input and the [`Context`]. The input is any type that
    /// deserialises without borrowing ([`NoInput`](crate::NoInput) for none), the output is [`IntoToolResult`], and the
    /// future is `Send`.
    pub fn new<Marker, Handler>(name: impl Into<String>, handler: Handler) -> Self
    where
        Handler: ToolFn<Marker> + Send + Sync + 'static,
        Handler::Input: DeserializeOwned,
        Handler::Future: Future<Output: IntoToolResult> + Send + 'static,
    {
        Self::with_handler(name.into(), handlers::of(handler))
    }

    /// Defines a tool whose input schema is derived from the type of its input: a struct, or an enum whose variants
    /// have fields.
    #[cfg(feature = "schemars")]
    #[cfg_attr(docsrs, doc(cfg(feature = "schemars")))]
    pub fn typed<Marker, Handler>(name: impl Into<String>, handler: Handler) -> Self
    where
        Handler: ToolFn<Marker> + Send + Sync + 'static,
        Handler::Input: DeserializeOwned + schemars::JsonSchema,
        Handler::Future: Future<Output: IntoToolResult> + Send + 'static,
    {
        let schema = schemars::schema_for!(Handler::Input);
        Self::new(name, handler).input_schema(schema.into())
    }

    /// Defines a tool whose handler is a function that blocks: it runs on a thread of the `blocking` pool.
    ///
    /// # Cancellation
    ///
    /// Nothing stops a thread from outside, not even dropping the call. The function has to
    /// [`check`](crate::Signal::check) its signal between steps, and to pause with
    /// [`sleep_blocking`](crate::Signal::sleep_blocking). If the call is cancelled while all threads of the pool are busy,
    /// the function never starts.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use smol_mcp::{Context, HandlerError, Tool};
    ///
    /// #[derive(Deserialize)]
    /// struct Count {
    ///     to: u64,
    /// }
    ///
    /// let tool = Tool::blocking("count", |input: Count, cx: Context| {
    ///     for number in 0..input.to {
    ///         if number % 1024 == 0 {
    ///             cx.signal().check()?;
    ///         }
    ///     }
    ///     Ok::<_, HandlerError>(format!("counted to {}", input.to))
    /// });
    /// # let _ = tool;
    /// ```
    pub fn blocking<Input, Output>(
        name: impl Into<String>,
        handler: impl Fn(Input, Context) -> Output + Send + Sync + 'static,
    ) -> Self
    where
        Input: DeserializeOwned + Send + 'static,
        Output: IntoToolResult + 'static,
    {
        Self::with_handler(name.into(), handlers::blocking(handler))
    }

    fn with_handler(name: String, handler: ToolHandler) -> Self {
        Self {
            info: ToolInfo::new(name, any_object()),
            handler,
            header_params: Vec::new(),
            deadline: None,
            strict: None,
            beginning: Self::begin,
            check: None,
            ending: None,
            input: Schema::default(),
            output: Schema::default(),
            mistake: None,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Says what the tool does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.info.description = Some(description.into());
        self
    }

    /// Sets the name shown to people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the JSON Schema of the input: that of one object, or `oneOf` or `anyOf` several objects, as an enum has.
    /// `"type": "object"`, which the protocol demands at the root, is added to the latter.
    ///
    /// With the feature `validate`, registration checks the schema itself and refuses external references. The arguments of
    /// every call are checked against it, and the model is told where they do not fit. Without the feature, the handler has
    /// to check what the type of its input lets pass.
    pub fn input_schema(mut self, schema: Value) -> Self {
        let schema = variants::rooted(schema).unwrap_or_else(|mistake| {
            self.mistake(mistake);
            any_object()
        });
        match header_params::collect(&schema) {
            Ok(params) => self.header_params = params,
            Err(err) => self.mistake(err.to_string()),
        }
        self.input = self.compile("input", &schema);
        self.info.input_schema = schema;
        self
    }

    /// Sets the JSON Schema of the structured result.
    ///
    /// With the feature `validate`, every result without `isError` is checked against it; one that does not fit, or has no
    /// structured content, is an unexpected failure. Without the feature, registration refuses the tool, since nothing
    /// would check what the schema promises.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output = self.compile("output", &schema);
        if cfg!(not(feature = "validate")) {
            self.mistake(
                "an output schema needs the feature `validate`, or `output_schema_unchecked`",
            );
        }
        self.info.output_schema = Some(schema);
        self
    }

    /// Sets the JSON Schema of the structured result without checking results against it.
    pub fn output_schema_unchecked(mut self, schema: Value) -> Self {
        self.info.output_schema = Some(schema);
        self
    }

    /// Derives the JSON Schema of the structured result from the type that the handler returns as
    /// [`Structured`](crate::Structured). Results are not checked against it.
    #[cfg(feature = "schemars")]
    #[cfg_attr(docsrs, doc(cfg(feature = "schemars")))]
    pub fn output_type<T: schemars::JsonSchema>(self) -> Self {
        // What the type serialises to may differ from what it deserialises from.
        let generator = schemars::generate::SchemaSettings::default().for_serialize();
        let schema: Value = generator
            .into_generator()
            .into_root_schema_for::<T>()
            .into();
        // Clients before 2026-07-28 know results that are objects alone; what is none is kept from them.
        self.output_schema_unchecked(variants::rooted(schema.clone()).unwrap_or(schema))
    }

    fn compile(&mut self, what: &str, schema: &Value) -> Schema {
        Schema::compile(schema).unwrap_or_else(|err| {
            self.mistake(format!("the {what} schema: {err}"));
            Schema::default()
        })
    }

    /// Keeps a mistake for [`check`](Self::check), unless there is one.
    fn mistake(&mut self, mistake: impl Into<String>) {
        self.mistake.get_or_insert(mistake.into());
    }

    /// Refuses arguments that the input schema does not name, and tells the model the first of them.
    pub fn strict(mut self) -> Self {
        self.strict = Some(Self::refuse_unknown);
        self
    }

    /// Runs an asynchronous check of the arguments before the handler begins.
    ///
    /// The arguments are the JSON of the call; with the feature `validate` they fit the input schema. An error ends the call
    /// like an error of the handler. If the signal fires during the check, the handler never starts.
    ///
    /// ```
    /// use smol_mcp::{Context, HandlerError, NoInput, Tool};
    /// use serde_json::Value;
    ///
    /// async fn is_free(arguments: Value, _: Context) -> Result<(), HandlerError> {
    ///     match arguments["table"].as_u64() {
    ///         Some(1..=8) => Ok(()),
    ///         _ => Err(HandlerError::public("'table' must be the number of a free table, 1 to 8.")),
    ///     }
    /// }
    ///
    /// let tool = Tool::new("reserve", |_: NoInput| async { "reserved" }).check_with(is_free);
    /// # let _ = tool;
    /// ```
    pub fn check_with<F, Fut>(mut self, check: F) -> Self
    where
        F: Fn(Value, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        self.check = Some(Box::new(move |arguments, cx| {
            Box::pin(check(arguments, cx))
        }));
        self.beginning = Self::begin_checked;
        self
    }

    /// Drops the future of the handler when its signal fires, at whichever `.await` it is.
    ///
    /// It is for handlers that leave nothing half done then. A [blocking](Self::blocking) function cannot be dropped: it
    /// runs on, and its result is discarded.
    pub fn drop_on_abort(mut self) -> Self {
        self.ending = Some(|work, cx| Box::pin(async move { cx.signal().run(work).await? }));
        self
    }

    /// Sets how long a call may take, counted from the arrival of the request; it overrides
    /// [`Builder::deadline`](crate::Builder::deadline). Registration refuses zero.
    ///
    /// When the deadline passes, the signal of the call fires and the client is told; a handler that ignores it runs to
    /// its end, and its result is discarded. One that runs for twice as long is logged at level `warn`.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        if deadline.is_zero() {
            self.mistake("a deadline of zero leaves no time");
        }
        self.deadline = Some(deadline);
        self
    }

    /// Sets hints on what the tool does to the world.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.info.annotations = annotations;
        self
    }

    /// Adds a picture to show beside the name.
    pub fn icon(mut self, icon: Icon) -> Self {
        self.info.icons.push(icon);
        self
    }

    /// Sets metadata. Registration refuses invalid [keys](crate::protocol#metadata).
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        self.info.meta = meta;
        self
    }

    /// Begins a call. What is wrong with the arguments is for the model to read.
    pub(crate) fn call(self: &Arc<Self>, arguments: &str, cx: Context) -> Work {
        if let Err(text) = self.look_at(arguments) {
            return handlers::refuse(text);
        }
        let work = match self.ending {
            None => (self.beginning)(self, arguments, cx),
            Some(ending) => ending((self.beginning)(self, arguments, cx.clone()), cx),
        };
        match self.output.is_checked() {
            false => work,
            true => self.conforming(work),
        }
    }

    /// Holds the arguments against the schema.
    fn look_at(&self, arguments: &str) -> Result<(), String> {
        if let Some(refuse_unknown) = self.strict {
            refuse_unknown(self, arguments)?;
        }
        self.input
            .check_text(arguments)
            .map_err(|misfit| handlers::invalid(&misfit.path, &misfit.why))
    }

    fn refuse_unknown(&self, arguments: &str) -> Result<(), String> {
        let arguments: Map<String, Value> = arguments.parse().unwrap_or_default();
        let unknown = |name: &&String| !variants::names(&self.info.input_schema, name);
        match arguments.keys().find(unknown) {
            None => Ok(()),
            Some(name) => Err(format!("Unknown argument '{}'.", excerpt(name))),
        }
    }

    /// Begins the handler.
    fn begin(self: &Arc<Self>, arguments: &str, cx: Context) -> Work {
        (self.handler.0)(arguments, cx)
    }

    /// Runs the author's check, then the handler.
    fn begin_checked(self: &Arc<Self>, arguments: &str, cx: Context) -> Work {
        let Some(check) = &self.check else {
            return self.begin(arguments, cx);
        };
        let value = arguments.parse().unwrap_or_default();
        let (check, tool, arguments) =
            (check(value, cx.clone()), self.clone(), arguments.to_owned());
        Box::pin(async move {
            check.await?;
            cx.signal().check()?;
            tool.begin(&arguments, cx).await
        })
    }

    /// Keeps back a result that its schema does not allow.
    fn conforming(self: &Arc<Self>, work: Work) -> Work {
        let tool = self.clone();
        Box::pin(async move {
            let reply = work.await?;
            if let Reply::Tool(ToolResult {
                is_error: false,
                structured,
                ..
            }) = &reply
            {
                let structured = structured
                    .as_ref()
                    .ok_or_else(|| HandlerError::unexpected("no structured result"))?;
                tool.output.check(structured).map_err(|misfit| {
                    HandlerError::unexpected(format!("the structured result: {misfit}"))
                })?;
            }
            Ok(reply)
        })
    }
}

/// The schema of an object of which nothing more is said.
fn any_object() -> Value {
    object("type", "object".into())
}

impl Listed for Tool {
    fn what(&self) -> &'static str {
        "tool"
    }

    fn key(&self) -> &str {
        self.name()
    }

    fn check(&self) -> Result<(), Error> {
        let name = self.name();
        if let Err(err) = tool_name::check(name) {
            return Err(Error::definition(format!("tool {name:?}: {err}")));
        }
        let kind = self.info.input_schema.get("type");
        if kind.and_then(Value::as_str) != Some("object") {
            return Err(Error::definition(format!(
                "tool {name:?}: the input schema must have \"type\": \"object\""
            )));
        }
        if let Some(mistake) = &self.mistake {
            return Err(Error::definition(format!("tool {name:?}: {mistake}")));
        }
        if let Some(mistake) = schema::mistake(&self.info.input_schema) {
            return Err(Error::definition(format!(
                "tool {name:?}: the input schema: {mistake}"
            )));
        }
        meta_keys::check(&self.info.meta)
            .map_err(|err| Error::definition(format!("tool {name:?}: {err}")))
    }

    fn definition(&self) -> String {
        json_text(&self.info)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool")
            .field("name", &self.info.name)
            .finish_non_exhaustive()
    }
}
