//! Who speaks: the name and version of a client or a server.

use crate::protocol::content::Icon;
use crate::protocol::object::{object, setters};

object! {
    /// Names a client or a server for people and logs (MCP 2026-07-28, basic).
    ///
    /// What a peer says of itself is not verified: use it for display and debugging, not for
    /// decisions.
    ///
    /// ```
    /// use smol_mcp::protocol::Implementation;
    ///
    /// let archive = Implementation::new("archive", "0.3.1").title("Build archive");
    /// assert_eq!(
    ///     serde_json::to_string(&archive).unwrap(),
    ///     r#"{"name":"archive","version":"0.3.1","title":"Build archive"}"#,
    /// );
    /// ```
    #[derive(Eq)]
    pub struct Implementation {
        /// The name that programs use.
        pub name: String = required "name",
        /// The version, in any form.
        pub version: String = required "version",
        /// The name shown to people.
        pub title: Option<String> = optional "title",
        /// What it does, in a sentence. Sent since 2025-11-25.
        pub description: Option<String> = optional "description",
        /// Where to read more. Sent since 2025-11-25.
        pub website_url: Option<String> = optional "websiteUrl",
        /// Pictures to show beside the name. Sent since 2025-11-25.
        pub icons: Vec<Icon> = optional "icons",
    }
}

impl Implementation {
    /// Names an implementation and its version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            title: None,
            description: None,
            website_url: None,
            icons: Vec::new(),
        }
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what it does.
        description: impl Into<String> = Some(description.into());
        /// Sets where to read more.
        website_url: impl Into<String> = Some(website_url.into());
        /// Sets the pictures.
        icons: impl Into<Vec<Icon>> = icons.into();
    }
}
