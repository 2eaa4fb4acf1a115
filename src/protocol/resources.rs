//! Resources on the wire: how they are listed, and what reading one yields.

use serde_json::{Map, Value};

use crate::protocol::cache::Cache;
use crate::protocol::content::{Annotations, Icon, ResourceContents};
use crate::protocol::object::{object, setters};

object! {
    /// Describes a resource to clients (MCP 2026-07-28, server/resources, `Resource`).
    ///
    /// ```
    /// use smol_mcp::protocol::ResourceInfo;
    ///
    /// let log = ResourceInfo::new("log:///b/7", "build 7").mime_type("text/plain").size(2048);
    /// assert_eq!(
    ///     serde_json::to_string(&log).unwrap(),
    ///     r#"{"uri":"log:///b/7","name":"build 7","mimeType":"text/plain","size":2048}"#,
    /// );
    /// ```
    pub struct ResourceInfo {
        /// The address by which it is read.
        pub uri: String = required "uri",
        /// The name that programs use.
        pub name: String = required "name",
        /// The name shown to people. Sent since 2025-06-18.
        pub title: Option<String> = optional "title",
        /// What it holds, for the model.
        pub description: Option<String> = optional "description",
        /// What it is, `text/markdown` for example.
        pub mime_type: Option<String> = optional "mimeType",
        /// How many bytes it holds, before any encoding.
        pub size: Option<u64> = optional "size",
        /// Pictures to show beside the name. Sent since 2025-11-25.
        pub icons: Vec<Icon> = optional "icons",
        /// Hints on audience and priority.
        pub annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl ResourceInfo {
    /// Describes a resource by its address and its name.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            icons: Vec::new(),
            annotations: None,
            meta: Map::new(),
        }
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what it holds.
        description: impl Into<String> = Some(description.into());
        /// Sets what it is.
        mime_type: impl Into<String> = Some(mime_type.into());
        /// Sets how many bytes it holds.
        size: u64 = Some(size);
        /// Sets the pictures.
        icons: impl Into<Vec<Icon>> = icons.into();
        /// Sets the hints on audience and weight.
        annotations: Annotations = Some(annotations);
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

object! {
    /// Describes resources whose addresses follow a template (MCP 2026-07-28, server/resources,
    /// `ResourceTemplate`).
    ///
    /// ```
    /// use smol_mcp::protocol::ResourceTemplateInfo;
    ///
    /// let logs = ResourceTemplateInfo::new("log:///b/{number}", "build log");
    /// assert_eq!(
    ///     serde_json::to_string(&logs).unwrap(),
    ///     r#"{"uriTemplate":"log:///b/{number}","name":"build log"}"#,
    /// );
    /// ```
    pub struct ResourceTemplateInfo {
        /// The template of the addresses, by RFC 6570.
        pub uri_template: String = required "uriTemplate",
        /// The name that programs use.
        pub name: String = required "name",
        /// The name shown to people. Sent since 2025-06-18.
        pub title: Option<String> = optional "title",
        /// What these resources hold, for the model.
        pub description: Option<String> = optional "description",
        /// What they are, if they all are the same.
        pub mime_type: Option<String> = optional "mimeType",
        /// Pictures to show beside the name. Sent since 2025-11-25.
        pub icons: Vec<Icon> = optional "icons",
        /// Hints on audience and priority.
        pub annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl ResourceTemplateInfo {
    /// Describes resources by the template of their addresses and a name.
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            description: None,
            mime_type: None,
            icons: Vec::new(),
            annotations: None,
            meta: Map::new(),
        }
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what these resources hold.
        description: impl Into<String> = Some(description.into());
        /// Sets what they all are.
        mime_type: impl Into<String> = Some(mime_type.into());
        /// Sets the pictures.
        icons: impl Into<Vec<Icon>> = icons.into();
        /// Sets the hints on audience and weight.
        annotations: Annotations = Some(annotations);
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

object! {
    /// Holds what reading a resource yields (MCP 2026-07-28, server/resources,
    /// `ReadResourceResult`).
    ///
    /// A directory may yield several contents, each under its own address. A resource that does not
    /// exist is an error, not an empty result.
    ///
    /// ```
    /// use smol_mcp::protocol::ReadResult;
    ///
    /// assert_eq!(
    ///     serde_json::to_string(&ReadResult::text("log:///b/7", "ok")).unwrap(),
    ///     r#"{"contents":[{"uri":"log:///b/7","text":"ok"}]}"#,
    /// );
    /// ```
    #[derive(Default)]
    pub struct ReadResult {
        /// What was read.
        pub contents: Vec<ResourceContents> = required "contents",
        /// How long clients may keep it; `None` means [as the server does](crate::Builder::cache).
        /// Clients of 2026-07-28 and later are told; this type does not serialise it.
        pub cache: Option<Cache> = local "cache",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl ReadResult {
    /// Makes a result of one text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        ResourceContents::text(uri, text).into()
    }

    /// Makes a result from bytes, which are sent in base64.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        ResourceContents::blob(uri, bytes).into()
    }

    setters! {
        /// Sets how long and for whom clients may keep it.
        cache: Cache = Some(cache);
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

impl From<ResourceContents> for ReadResult {
    fn from(contents: ResourceContents) -> Self {
        vec![contents].into()
    }
}

impl From<Vec<ResourceContents>> for ReadResult {
    fn from(contents: Vec<ResourceContents>) -> Self {
        Self {
            contents,
            ..Self::default()
        }
    }
}
