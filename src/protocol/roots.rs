//! Roots: the places a client lets a server work in.

use serde_json::{Map, Value};

use crate::protocol::object::{object, setters};

object! {
    /// Holds the client's roots: the result of `roots/list` (MCP 2026-07-28, client/roots,
    /// deprecated there).
    ///
    /// ```
    /// use smol_mcp::protocol::{Root, Roots};
    ///
    /// let text = r#"{"roots":[{"uri":"file:///home/ada/engine","name":"Engine"}]}"#;
    /// let roots: Roots = serde_json::from_str(text)?;
    /// assert_eq!(roots.roots, [Root::new("file:///home/ada/engine").name("Engine")]);
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    #[derive(Eq, Default)]
    pub struct Roots {
        /// The roots; none is a legal answer.
        pub roots: Vec<Root> = required "roots",
    }
}

object! {
    /// Names one place.
    #[derive(Eq)]
    pub struct Root {
        /// The place. The specification allows `file:` URIs only; what a client sent is not checked
        /// here.
        pub uri: String = required "uri",
        /// The name shown to people.
        pub name: Option<String> = optional "name",
        /// Metadata of the client.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl Root {
    /// Names the place at `uri`.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: None,
            meta: Map::new(),
        }
    }

    setters! {
        /// Sets the name shown to people.
        name: impl Into<String> = Some(name.into());
    }
}
