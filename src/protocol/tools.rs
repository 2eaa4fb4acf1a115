//! Tools on the wire: how they are listed, and what calling one yields.

use serde_json::{Map, Value};

use crate::protocol::content::{Content, Icon};
use crate::protocol::jsonrpc::json_text;
use crate::protocol::object::{left_out, object, setters};

object! {
    /// Describes a tool to clients (MCP 2026-07-28, server/tools, `Tool`).
    ///
    /// ```
    /// use serde_json::json;
    /// use smol_mcp::protocol::ToolInfo;
    ///
    /// let echo = ToolInfo::new("echo", json!({"type": "object"})).description("Returns its text");
    /// assert_eq!(
    ///     serde_json::to_string(&echo).unwrap(),
    ///     r#"{"name":"echo","description":"Returns its text","inputSchema":{"type":"object"}}"#,
    /// );
    /// ```
    pub struct ToolInfo {
        /// The name by which it is called.
        pub name: String = required "name",
        /// The name shown to people; clients fall back to that of the annotations, then to
        /// `name`.
        pub title: Option<String> = optional "title",
        /// What it does, for the model.
        pub description: Option<String> = optional "description",
        /// The JSON Schema of its arguments; the root has `"type": "object"`.
        pub input_schema: Value = required "inputSchema",
        /// The JSON Schema of its structured result. Sent since 2025-06-18, and before 2026-07-28
        /// only if its root has `"type": "object"`.
        pub output_schema: Option<Value> = any "outputSchema",
        /// Hints on how it behaves. Sent since 2025-03-26.
        pub annotations: ToolAnnotations = optional "annotations",
        /// Pictures to show beside the name. Sent since 2025-11-25.
        pub icons: Vec<Icon> = optional "icons",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl ToolInfo {
    /// Describes a tool by its name and the schema of its arguments.
    pub fn new(name: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema,
            output_schema: None,
            annotations: ToolAnnotations::default(),
            icons: Vec::new(),
            meta: Map::new(),
        }
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what it does.
        description: impl Into<String> = Some(description.into());
        /// Sets the schema of its structured result.
        output_schema: Value = Some(output_schema);
        /// Sets the hints on how it behaves.
        annotations: ToolAnnotations = annotations;
        /// Sets the pictures.
        icons: impl Into<Vec<Icon>> = icons.into();
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

object! {
    /// Hints on how a tool behaves (MCP 2026-07-28, server/tools, `ToolAnnotations`).
    ///
    /// They are not promises, and a client that does not trust the server ignores them. A hint that is
    /// not given means the cautious one: a tool may write, destroy, differ when repeated, and reach
    /// the outside world.
    ///
    /// ```
    /// use smol_mcp::protocol::ToolAnnotations;
    ///
    /// let hints = ToolAnnotations::default().read_only(true);
    /// assert_eq!(serde_json::to_string(&hints).unwrap(), r#"{"readOnlyHint":true}"#);
    /// ```
    #[derive(Eq, Default)]
    pub struct ToolAnnotations {
        /// The name shown to people, for clients that do not know the tool's own `title`.
        pub title: Option<String> = optional "title",
        /// It changes nothing; without the hint, it may.
        pub read_only: Option<bool> = optional "readOnlyHint",
        /// What it changes may be lost; without the hint, it may. Means nothing on a read-only
        /// tool.
        pub destructive: Option<bool> = optional "destructiveHint",
        /// A second call with the same arguments changes nothing more; without the hint, it may.
        pub idempotent: Option<bool> = optional "idempotentHint",
        /// It reaches an open world, such as the web; without the hint, it may.
        pub open_world: Option<bool> = optional "openWorldHint",
    }
}

impl ToolAnnotations {
    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Says whether it leaves everything as it is.
        read_only: bool = Some(read_only);
        /// Says whether what it changes may be lost.
        destructive: bool = Some(destructive);
        /// Says whether repeating a call changes nothing more.
        idempotent: bool = Some(idempotent);
        /// Says whether it reaches an open world.
        open_world: bool = Some(open_world);
    }
}

left_out! { ToolAnnotations }

object! {
    /// Holds what a call of a tool yields (MCP 2026-07-28, server/tools, `CallToolResult`).
    ///
    /// A failure of the tool is a result as well: [`ToolResult::error`] is what the model reads and
    /// may correct.
    ///
    /// ```
    /// use smol_mcp::protocol::ToolResult;
    ///
    /// let json = |result| serde_json::to_string(&result).unwrap();
    /// assert_eq!(json(ToolResult::text("42")), r#"{"content":[{"type":"text","text":"42"}]}"#);
    /// assert_eq!(
    ///     json(ToolResult::error("'depth' must be between 1 and 8")),
    ///     r#"{"content":[{"type":"text","text":"'depth' must be between 1 and 8"}],"isError":true}"#,
    /// );
    /// ```
    #[derive(Default)]
    pub struct ToolResult {
        /// What the model is shown, in order. May be empty.
        pub content: Vec<Content> = required "content",
        /// The result as data; `Some(Value::Null)` is a result too. Sent since 2025-06-18, before
        /// 2026-07-28 only if it is an object.
        pub structured: Option<Value> = any "structuredContent",
        /// Whether the call failed; then `content` tells why.
        pub is_error: bool = optional "isError",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl ToolResult {
    /// Makes a result of one block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Content::text(text).into()
    }

    /// Makes the result of a call that failed, with what the model should know about it.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Makes a result of data, and adds it as text for clients that read only text.
    ///
    /// ```
    /// use serde_json::json;
    /// use smol_mcp::protocol::ToolResult;
    ///
    /// assert_eq!(
    ///     serde_json::to_string(&ToolResult::structured(json!({"sum": 3}))).unwrap(),
    ///     r#"{"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}}"#,
    /// );
    /// ```
    pub fn structured(value: impl Into<Value>) -> Self {
        let value = value.into();
        Self {
            content: vec![Content::text(json_text(&value))],
            structured: Some(value),
            ..Self::default()
        }
    }

    /// Adds a block of content after those that are there.
    #[must_use]
    pub fn content(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    setters! {
        /// Says whether the call failed.
        is_error: bool = is_error;
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

impl From<Content> for ToolResult {
    fn from(content: Content) -> Self {
        vec![content].into()
    }
}

impl From<Vec<Content>> for ToolResult {
    fn from(content: Vec<Content>) -> Self {
        Self {
            content,
            ..Self::default()
        }
    }
}
