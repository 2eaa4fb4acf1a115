//! Content blocks: what tools answer with and prompts are made of.

use serde_core::de::{Deserialize, Deserializer, Error};
use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::protocol::base64;
use crate::protocol::object::{object, setters, tagged, words};
use crate::protocol::resources::ResourceInfo;

/// Holds one block of content for a model or its user (MCP 2026-07-28, server/tools,
/// `ContentBlock`).
///
/// A string is a text block by `From`. Reading a block of a type not listed here is an error that
/// names the type.
///
/// ```
/// use smol_mcp::protocol::Content;
///
/// let json = |content| serde_json::to_string(&content).unwrap();
/// assert_eq!(json(Content::text("42")), r#"{"type":"text","text":"42"}"#);
/// assert_eq!(
///     json(Content::image(b"GIF89a", "image/gif")),
///     r#"{"type":"image","data":"R0lGODlh","mimeType":"image/gif"}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text, as it is.
    Text(Text),
    /// A picture.
    Image(Media),
    /// A recording. Sent since 2025-03-26.
    Audio(Media),
    /// A resource by its address, for the client to read if it wants. Sent since 2025-06-18.
    ResourceLink(ResourceInfo),
    /// A resource with what it holds.
    Resource(Embedded),
}

impl Content {
    /// Makes a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text {
            text: text.into(),
            annotations: None,
            meta: Map::new(),
        })
    }

    /// Makes a picture from its bytes, which are sent in base64.
    pub fn image(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Image(Media::new(bytes.as_ref(), mime_type.into()))
    }

    /// Makes a recording from its bytes, which are sent in base64.
    pub fn audio(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
        Self::Audio(Media::new(bytes.as_ref(), mime_type.into()))
    }

    /// Points to a resource. It need not be one that the server lists.
    ///
    /// ```
    /// use smol_mcp::protocol::{Content, ResourceInfo};
    ///
    /// let link = Content::resource_link(ResourceInfo::new("log:///b/7", "build 7"));
    /// assert_eq!(
    ///     serde_json::to_string(&link).unwrap(),
    ///     r#"{"type":"resource_link","uri":"log:///b/7","name":"build 7"}"#,
    /// );
    /// ```
    pub fn resource_link(resource: ResourceInfo) -> Self {
        Self::ResourceLink(resource)
    }

    /// Includes a resource and what it holds.
    ///
    /// ```
    /// use smol_mcp::protocol::{Content, ResourceContents};
    ///
    /// let log = Content::resource(ResourceContents::text("log:///b/7", "ok"));
    /// assert_eq!(
    ///     serde_json::to_string(&log).unwrap(),
    ///     r#"{"type":"resource","resource":{"uri":"log:///b/7","text":"ok"}}"#,
    /// );
    /// ```
    pub fn resource(resource: ResourceContents) -> Self {
        Self::Resource(Embedded {
            resource,
            annotations: None,
            meta: Map::new(),
        })
    }

    /// Sets the hints on audience and priority.
    #[must_use]
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        let place = match &mut self {
            Self::Text(text) => &mut text.annotations,
            Self::Image(media) | Self::Audio(media) => &mut media.annotations,
            Self::ResourceLink(resource) => &mut resource.annotations,
            Self::Resource(embedded) => &mut embedded.annotations,
        };
        *place = Some(annotations);
        self
    }

    /// Sets metadata.
    #[must_use]
    pub fn meta(mut self, meta: Map<String, Value>) -> Self {
        let place = match &mut self {
            Self::Text(text) => &mut text.meta,
            Self::Image(media) | Self::Audio(media) => &mut media.meta,
            Self::ResourceLink(resource) => &mut resource.meta,
            Self::Resource(embedded) => &mut embedded.meta,
        };
        *place = meta;
        self
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

tagged! {
    Content {
        Text = "text",
        Image = "image",
        Audio = "audio",
        ResourceLink = "resource_link",
        Resource = "resource",
    }
}

object! {
    /// Holds text.
    pub struct Text {
        /// The text.
        pub text: String = required "text",
        /// Hints on audience and priority.
        pub annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

object! {
    /// Holds a picture or a recording.
    pub struct Media {
        /// The bytes in base64.
        pub data: String = required "data",
        /// What the bytes are, `image/png` for example.
        pub mime_type: String = required "mimeType",
        /// Hints on audience and priority.
        pub annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl Media {
    fn new(bytes: &[u8], mime_type: String) -> Self {
        Self {
            data: base64::encode(bytes),
            mime_type,
            annotations: None,
            meta: Map::new(),
        }
    }

    /// Decodes the bytes, or returns `None` when `data` is not strict base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        base64::decode(&self.data)
    }
}

object! {
    /// Holds a resource within a content block.
    pub struct Embedded {
        /// The resource and what it holds.
        pub resource: ResourceContents = required "resource",
        /// Hints on audience and priority.
        pub annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

/// Holds what a resource contains: text, or bytes (MCP 2026-07-28, server/resources).
///
/// In JSON exactly one of the members `text` and `blob` is there; an object with both or neither is
/// refused.
///
/// ```
/// use smol_mcp::protocol::ResourceContents;
///
/// let json = |contents| serde_json::to_string(&contents).unwrap();
/// assert_eq!(
///     json(ResourceContents::text("log:///b/7", "ok").mime_type("text/plain")),
///     r#"{"uri":"log:///b/7","mimeType":"text/plain","text":"ok"}"#,
/// );
/// assert_eq!(json(ResourceContents::blob("bin:///7", [255])), r#"{"uri":"bin:///7","blob":"/w=="}"#);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceContents {
    /// The address of exactly this part; a read of a directory may answer with several.
    pub uri: String,
    /// What it is, `text/markdown` for example.
    pub mime_type: Option<String>,
    /// What it holds.
    pub body: ResourceBody,
    /// Metadata.
    pub meta: Map<String, Value>,
}

/// Holds the text or the bytes of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceBody {
    /// Text, as it is.
    Text(String),
    /// Bytes, in base64.
    Blob(String),
}

impl ResourceContents {
    /// Makes contents of text.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(uri.into(), ResourceBody::Text(text.into()))
    }

    /// Makes contents from bytes, which are sent in base64.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::new(
            uri.into(),
            ResourceBody::Blob(base64::encode(bytes.as_ref())),
        )
    }

    fn new(uri: String, body: ResourceBody) -> Self {
        Self {
            uri,
            mime_type: None,
            body,
            meta: Map::new(),
        }
    }

    /// Returns the bytes of either kind, or `None` when a blob is not strict base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match &self.body {
            ResourceBody::Text(text) => Some(text.clone().into_bytes()),
            ResourceBody::Blob(blob) => base64::decode(blob),
        }
    }

    setters! {
        /// Sets what it is.
        mime_type: impl Into<String> = Some(mime_type.into());
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

impl Serialize for ResourceContents {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("uri", &self.uri)?;
        if let Some(mime_type) = &self.mime_type {
            map.serialize_entry("mimeType", mime_type)?;
        }
        match &self.body {
            ResourceBody::Text(text) => map.serialize_entry("text", text)?,
            ResourceBody::Blob(blob) => map.serialize_entry("blob", blob)?,
        }
        if !self.meta.is_empty() {
            map.serialize_entry("_meta", &self.meta)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ResourceContents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Either {
            uri,
            mime_type,
            text,
            blob,
            meta,
        } = Either::deserialize(deserializer)?;
        let body = match (text, blob) {
            (Some(text), None) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            _ => {
                return Err(D::Error::custom(
                    "resource contents need either `text` or `blob`",
                ));
            }
        };
        Ok(Self {
            uri,
            mime_type,
            body,
            meta,
        })
    }
}

object! {
    /// Resource contents before it is known which of the two bodies is there.
    struct Either {
        uri: String = required "uri",
        mime_type: Option<String> = optional "mimeType",
        text: Option<String> = optional "text",
        blob: Option<String> = optional "blob",
        meta: Map<String, Value> = optional "_meta",
    }
}

object! {
    /// Hints for the client on what a block or a resource is for (MCP 2026-07-28, server/resources,
    /// annotations).
    ///
    /// ```
    /// use smol_mcp::protocol::{Annotations, Role};
    ///
    /// let annotations = Annotations::default().audience([Role::User]).priority(0.5);
    /// assert_eq!(serde_json::to_string(&annotations).unwrap(), r#"{"audience":["user"],"priority":0.5}"#);
    /// ```
    #[derive(Default)]
    pub struct Annotations {
        /// Who it is meant for; empty says nothing.
        pub audience: Vec<Role> = optional "audience",
        /// How much it matters, from 0 (optional) to 1 (required).
        pub priority: Option<f64> = optional "priority",
        /// When it last changed, in ISO 8601. Sent since 2025-06-18.
        pub last_modified: Option<String> = optional "lastModified",
    }
}

impl Annotations {
    setters! {
        /// Sets who it is meant for.
        audience: impl Into<Vec<Role>> = audience.into();
        /// Sets how much it matters; values outside 0 to 1 are moved to the nearer end, and NaN
        /// says nothing.
        priority: f64 = (!priority.is_nan()).then(|| priority.clamp(0.0, 1.0));
        /// Sets when it last changed, in ISO 8601.
        last_modified: impl Into<String> = Some(last_modified.into());
    }
}

words! {
    /// Names who speaks, or who is spoken to.
    pub enum Role: "role" {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

object! {
    /// Describes a picture for a user interface (MCP 2026-07-28, basic, icons; since 2025-11-25).
    ///
    /// Clients show only `https:` pictures from the server's own origin, and `data:` URIs.
    ///
    /// ```
    /// use smol_mcp::protocol::Icon;
    ///
    /// let icon = Icon::new("https://h.example/i.png").mime_type("image/png").sizes(["48x48"]);
    /// assert_eq!(
    ///     serde_json::to_string(&icon).unwrap(),
    ///     r#"{"src":"https://h.example/i.png","mimeType":"image/png","sizes":["48x48"]}"#,
    /// );
    /// ```
    #[derive(Eq)]
    pub struct Icon {
        /// The picture: an `https:` or a `data:` URI.
        pub src: String = required "src",
        /// What kind of picture it is, where the address does not tell.
        pub mime_type: Option<String> = optional "mimeType",
        /// The sizes it is good for, `48x48` for example, or `any`.
        pub sizes: Vec<String> = optional "sizes",
        /// The background it is drawn for.
        pub theme: Option<Theme> = optional "theme",
    }
}

impl Icon {
    /// Describes the picture at `src`.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            mime_type: None,
            sizes: Vec::new(),
            theme: None,
        }
    }

    setters! {
        /// Sets what kind of picture it is.
        mime_type: impl Into<String> = Some(mime_type.into());
        /// Sets the sizes it is good for.
        sizes: impl IntoIterator<Item = impl Into<String>> =
            sizes.into_iter().map(Into::into).collect();
        /// Sets the background it is drawn for.
        theme: Theme = Some(theme);
    }
}

words! {
    /// Names the background that an icon is drawn for.
    pub enum Theme: "theme" {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}
