//! Prompts on the wire: how they are listed, and what getting one yields.

use serde_json::{Map, Value};

use crate::protocol::content::{Content, Icon, Role};
use crate::protocol::object::{object, setters};

object! {
    /// Describes a prompt to clients (MCP 2026-07-28, server/prompts, `Prompt`).
    ///
    /// ```
    /// use smol_mcp::protocol::{PromptArgument, PromptInfo};
    ///
    /// let review = PromptInfo::new("review").argument(PromptArgument::required("code"));
    /// assert_eq!(
    ///     serde_json::to_string(&review).unwrap(),
    ///     r#"{"name":"review","arguments":[{"name":"code","required":true}]}"#,
    /// );
    /// ```
    #[derive(Eq)]
    pub struct PromptInfo {
        /// The name that clients get it by.
        pub name: String = required "name",
        /// The name shown to people. Sent since 2025-06-18.
        pub title: Option<String> = optional "title",
        /// What it is for.
        pub description: Option<String> = optional "description",
        /// The arguments it takes.
        pub arguments: Vec<PromptArgument> = optional "arguments",
        /// Pictures to show beside the name. Sent since 2025-11-25.
        pub icons: Vec<Icon> = optional "icons",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl PromptInfo {
    /// Describes a prompt by its name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: Vec::new(),
            meta: Map::new(),
        }
    }

    /// Adds an argument after those that are there.
    #[must_use]
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what it is for.
        description: impl Into<String> = Some(description.into());
        /// Sets the pictures.
        icons: impl Into<Vec<Icon>> = icons.into();
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

object! {
    /// Describes an argument of a prompt; its values are strings.
    #[derive(Eq)]
    pub struct PromptArgument {
        /// The name by which it is given.
        pub name: String = required "name",
        /// The name shown to people. Sent since 2025-06-18.
        pub title: Option<String> = optional "title",
        /// What it is for.
        pub description: Option<String> = optional "description",
        /// Whether the prompt cannot be filled without it.
        pub required: bool = optional "required",
    }
}

impl PromptArgument {
    /// Describes an argument that may be left out.
    pub fn optional(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: false,
        }
    }

    /// Describes an argument that must be given.
    pub fn required(name: impl Into<String>) -> Self {
        Self {
            required: true,
            ..Self::optional(name)
        }
    }

    setters! {
        /// Sets the name shown to people.
        title: impl Into<String> = Some(title.into());
        /// Sets what it is for.
        description: impl Into<String> = Some(description.into());
    }
}

object! {
    /// Holds one message of a prompt: who speaks, and one block of content.
    ///
    /// ```
    /// use smol_mcp::protocol::PromptMessage;
    ///
    /// assert_eq!(
    ///     serde_json::to_string(&PromptMessage::user("Review this.")).unwrap(),
    ///     r#"{"role":"user","content":{"type":"text","text":"Review this."}}"#,
    /// );
    /// ```
    pub struct PromptMessage {
        /// Who speaks.
        pub role: Role = required "role",
        /// What is said.
        pub content: Content = required "content",
    }
}

impl PromptMessage {
    /// Makes a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// Makes a message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}

object! {
    /// Holds what getting a prompt yields (MCP 2026-07-28, server/prompts, `GetPromptResult`).
    ///
    /// ```
    /// use smol_mcp::protocol::{PromptMessage, PromptResult};
    ///
    /// let result = PromptResult::from(vec![PromptMessage::user("Hi")]).description("A greeting");
    /// assert_eq!(
    ///     serde_json::to_string(&result).unwrap(),
    ///     r#"{"description":"A greeting","messages":[{"role":"user","content":{"type":"text","text":"Hi"}}]}"#,
    /// );
    /// ```
    #[derive(Default)]
    pub struct PromptResult {
        /// What the prompt is for.
        pub description: Option<String> = optional "description",
        /// The messages, in order.
        pub messages: Vec<PromptMessage> = required "messages",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl PromptResult {
    /// Makes a result of one message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::default().message(PromptMessage::user(content))
    }

    /// Adds a message after those that are there.
    #[must_use]
    pub fn message(mut self, message: PromptMessage) -> Self {
        self.messages.push(message);
        self
    }

    setters! {
        /// Sets what the prompt is for.
        description: impl Into<String> = Some(description.into());
        /// Sets metadata.
        meta: Map<String, Value> = meta;
    }
}

impl From<Vec<PromptMessage>> for PromptResult {
    fn from(messages: Vec<PromptMessage>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }
}
