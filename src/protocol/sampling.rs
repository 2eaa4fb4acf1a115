//! Sampling: a server asks the client's model for a message.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::protocol::Invalid;
use crate::protocol::content::{Content, Media, Role, Text};
use crate::protocol::object::{object, setters, tagged, words};
use crate::protocol::tools::ToolInfo;

object! {
    /// Asks the client's model for a message: the params of `sampling/createMessage` (MCP
    /// 2026-07-28, client/sampling, deprecated there).
    ///
    /// ```
    /// use smol_mcp::protocol::{CreateMessage, SamplingMessage};
    ///
    /// let request = CreateMessage::new(100).message(SamplingMessage::user("Name a prime.")).system_prompt("Be brief.");
    /// assert_eq!(
    ///     serde_json::to_string(&request).unwrap(),
    ///     r#"{"messages":[{"role":"user","content":{"type":"text","text":"Name a prime."}}],"#.to_owned()
    ///         + r#""systemPrompt":"Be brief.","maxTokens":100}"#,
    /// );
    /// ```
    pub struct CreateMessage {
        /// The conversation so far.
        pub messages: Vec<SamplingMessage> = required "messages",
        /// What kind of model would suit.
        pub model_preferences: Option<ModelPreferences> = optional "modelPreferences",
        /// The instructions that the model works under; the client may change or drop them.
        pub system_prompt: Option<String> = optional "systemPrompt",
        /// What else the client should show the model. Needs the client's `sampling.context`
        /// capability unless it is [`None`](IncludeContext::None).
        pub include_context: Option<IncludeContext> = optional "includeContext",
        /// The temperature: how random the choices of the model are.
        pub temperature: Option<f64> = optional "temperature",
        /// How many tokens the message may have at most.
        pub max_tokens: u64 = required "maxTokens",
        /// Texts at which the model stops.
        pub stop_sequences: Vec<String> = optional "stopSequences",
        /// Data for the provider of the model.
        pub metadata: Map<String, Value> = optional "metadata",
        /// The tools that the model may ask for. Needs the client's `sampling.tools` capability.
        pub tools: Vec<ToolInfo> = optional "tools",
        /// Whether the model may, must or must not ask for a tool. Needs the client's
        /// `sampling.tools` capability.
        pub tool_choice: Option<ToolChoice> = optional "toolChoice",
    }
}

impl CreateMessage {
    /// Asks for a message of at most `max_tokens` tokens.
    pub fn new(max_tokens: u64) -> Self {
        Self {
            messages: Vec::new(),
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: Vec::new(),
            metadata: Map::new(),
            tools: Vec::new(),
            tool_choice: None,
        }
    }

    /// Adds a message to the conversation.
    #[must_use]
    pub fn message(mut self, message: SamplingMessage) -> Self {
        self.messages.push(message);
        self
    }

    setters! {
        /// Sets what kind of model would suit.
        model_preferences: ModelPreferences = Some(model_preferences);
        /// Sets the instructions that the model works under.
        system_prompt: impl Into<String> = Some(system_prompt.into());
        /// Sets what else the client should show the model.
        include_context: IncludeContext = Some(include_context);
        /// Sets how freely the model chooses.
        temperature: f64 = Some(temperature);
        /// Sets the texts at which the model stops.
        stop_sequences: impl IntoIterator<Item = impl Into<String>> =
            stop_sequences.into_iter().map(Into::into).collect();
        /// Sets what to hand to the provider of the model.
        metadata: Map<String, Value> = metadata;
        /// Sets the tools that the model may ask for.
        tools: impl Into<Vec<ToolInfo>> = tools.into();
        /// Sets whether the model may, must or must not ask for a tool.
        tool_choice: ToolChoiceMode = Some(ToolChoice { mode: Some(tool_choice) });
    }

    /// Tells whether the client needs the `sampling.tools` capability to serve this.
    pub fn uses_tools(&self) -> bool {
        !self.tools.is_empty() || self.tool_choice.is_some()
    }

    /// Tells whether the client needs the `sampling.context` capability to serve this.
    pub fn uses_context(&self) -> bool {
        self.include_context
            .is_some_and(|context| context != IncludeContext::None)
    }

    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    ///
    /// When a number is not one that JSON can hold, or when the uses of tools and their results do
    /// not pair up: a message that uses tools is the model's, the one after it holds the result of
    /// each use and nothing else, and results stand nowhere else.
    pub fn check(&self) -> Result<(), Invalid> {
        let preferences = self.model_preferences.iter().flat_map(|preferences| {
            [
                preferences.cost_priority,
                preferences.speed_priority,
                preferences.intelligence_priority,
            ]
        });
        if preferences
            .flatten()
            .any(|priority| !(0.0..=1.0).contains(&priority))
        {
            return Err(Invalid::new("a model preference lies outside 0 to 1"));
        }
        if self
            .temperature
            .is_some_and(|temperature| !temperature.is_finite())
        {
            return Err(Invalid::new("the temperature is not a finite number"));
        }
        let mut open = BTreeSet::new();
        for (index, message) in self.messages.iter().enumerate() {
            if !message.answers(&mut open) {
                let reason = "tool uses and tool results do not pair up";
                return Err(Invalid::new(format!("message {index}: {reason}")));
            }
        }
        match open.first() {
            Some(id) => Err(Invalid::new(format!("the tool use {id:?} has no result"))),
            None => Ok(()),
        }
    }
}

object! {
    /// Holds one message of the conversation. A single block of content is sent alone, several as an
    /// array.
    pub struct SamplingMessage {
        /// Who speaks.
        pub role: Role = required "role",
        /// What is said.
        pub content: Vec<SamplingContent> = one_or_many "content",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl SamplingMessage {
    /// Makes a message of the user.
    pub fn user(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::User, vec![content.into()])
    }

    /// Makes a message of the model.
    pub fn assistant(content: impl Into<SamplingContent>) -> Self {
        Self::new(Role::Assistant, vec![content.into()])
    }

    /// Makes a message of any number of blocks.
    pub fn new(role: Role, content: Vec<SamplingContent>) -> Self {
        Self {
            role,
            content,
            meta: Map::new(),
        }
    }

    /// Tells whether this message answers exactly the tool uses in `open`, and leaves there the
    /// ones it makes.
    fn answers<'a>(&'a self, open: &mut BTreeSet<&'a str>) -> bool {
        let is_answer = !open.is_empty();
        let mut uses = BTreeSet::new();
        let fits = self.content.iter().all(|block| match block {
            SamplingContent::ToolResult(result) => {
                self.role == Role::User && open.remove(result.tool_use_id.as_str())
            }
            _ if is_answer => false,
            SamplingContent::ToolUse(tool_use) => {
                self.role == Role::Assistant && uses.insert(tool_use.id.as_str())
            }
            _ => true,
        });
        let is_complete = open.is_empty();
        *open = uses;
        fits && is_complete
    }
}

/// Holds one block of content in a sampled conversation.
///
/// ```
/// use serde_json::json;
/// use smol_mcp::protocol::SamplingContent;
///
/// let json = |content| serde_json::to_string(&content).unwrap();
/// assert_eq!(
///     json(SamplingContent::tool_use("u1", "sum", json!({"a": 1}))),
///     r#"{"type":"tool_use","id":"u1","name":"sum","input":{"a":1}}"#,
/// );
/// assert_eq!(
///     json(SamplingContent::tool_result("u1", vec!["1".into()])),
///     r#"{"type":"tool_result","toolUseId":"u1","content":[{"type":"text","text":"1"}]}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// Text, as it is.
    Text(Text),
    /// A picture.
    Image(Media),
    /// A recording. Sent since 2025-03-26.
    Audio(Media),
    /// The model asks for a tool. Sent since 2025-11-25.
    ToolUse(ToolUse),
    /// What the tool yielded. Sent since 2025-11-25.
    ToolResult(ToolUseResult),
}

object! {
    /// Asks for a call of a tool.
    pub struct ToolUse {
        /// Tells this use from others in the conversation.
        pub id: String = required "id",
        /// The tool's name.
        pub name: String = required "name",
        /// The arguments.
        pub input: Map<String, Value> = required "input",
        /// Metadata of the client.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

object! {
    /// Answers the use of a tool.
    pub struct ToolUseResult {
        /// The use that this answers.
        pub tool_use_id: String = required "toolUseId",
        /// What the model is shown.
        pub content: Vec<Content> = required "content",
        /// The result as data.
        pub structured: Option<Value> = any "structuredContent",
        /// Whether the call failed; then `content` tells why.
        pub is_error: bool = optional "isError",
        /// Metadata.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

impl SamplingContent {
    /// Makes a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text {
            text: text.into(),
            annotations: None,
            meta: Map::new(),
        })
    }

    /// Makes the use of a tool. An `input` that is not an object counts as empty.
    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        let input = match input {
            Value::Object(input) => input,
            _ => Map::new(),
        };
        Self::ToolUse(ToolUse {
            id: id.into(),
            name: name.into(),
            input,
            meta: Map::new(),
        })
    }

    /// Makes the result of a tool's use.
    pub fn tool_result(tool_use_id: impl Into<String>, content: Vec<Content>) -> Self {
        Self::ToolResult(ToolUseResult {
            tool_use_id: tool_use_id.into(),
            content,
            structured: None,
            is_error: false,
            meta: Map::new(),
        })
    }

    /// Returns the text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }
}

impl From<String> for SamplingContent {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for SamplingContent {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

tagged! {
    SamplingContent {
        Text = "text",
        Image = "image",
        Audio = "audio",
        ToolUse = "tool_use",
        ToolResult = "tool_result",
    }
}

object! {
    /// Holds the message that the client's model made: the result of `sampling/createMessage`.
    ///
    /// ```
    /// use smol_mcp::protocol::CreateMessageResult;
    ///
    /// let result: CreateMessageResult = serde_json::from_str(
    ///     r#"{"role":"assistant","content":{"type":"text","text":"7"},"model":"m1","stopReason":"endTurn"}"#,
    /// )?;
    /// assert_eq!(result.content[0].as_text(), Some("7"));
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    pub struct CreateMessageResult {
        /// Who speaks.
        pub role: Role = required "role",
        /// What is said.
        pub content: Vec<SamplingContent> = one_or_many "content",
        /// The model that made it.
        pub model: String = required "model",
        /// Why the model stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a word of
        /// the provider's.
        pub stop_reason: Option<String> = optional "stopReason",
        /// Metadata of the client.
        pub meta: Map<String, Value> = optional "_meta",
    }
}

object! {
    /// Says what kind of model would suit; the client chooses.
    #[derive(Default)]
    pub struct ModelPreferences {
        /// Names to look for, the best first.
        pub hints: Vec<ModelHint> = optional "hints",
        /// How much the price matters, from 0 to 1.
        pub cost_priority: Option<f64> = optional "costPriority",
        /// How much the speed matters, from 0 to 1.
        pub speed_priority: Option<f64> = optional "speedPriority",
        /// How much the ability matters, from 0 to 1.
        pub intelligence_priority: Option<f64> = optional "intelligencePriority",
    }
}

impl ModelPreferences {
    /// Adds a name to look for, or a part of one.
    #[must_use]
    pub fn hint(mut self, name: impl Into<String>) -> Self {
        self.hints.push(ModelHint {
            name: Some(name.into()),
        });
        self
    }

    setters! {
        /// Sets how much the price matters, from 0 to 1.
        cost_priority: f64 = Some(cost_priority);
        /// Sets how much the speed matters, from 0 to 1.
        speed_priority: f64 = Some(speed_priority);
        /// Sets how much the ability matters, from 0 to 1.
        intelligence_priority: f64 = Some(intelligence_priority);
    }
}

object! {
    /// Names a model.
    #[derive(Eq, Default)]
    pub struct ModelHint {
        /// The name, or a part of one.
        pub name: Option<String> = optional "name",
    }
}

object! {
    /// Says whether the model may ask for a tool.
    #[derive(Eq, Default)]
    pub struct ToolChoice {
        /// Left out, it may.
        pub mode: Option<ToolChoiceMode> = optional "mode",
    }
}

words! {
    /// Names how free the model is to ask for tools.
    pub enum ToolChoiceMode: "tool choice" {
        /// It may.
        Auto = "auto",
        /// It must, at least once.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

words! {
    /// Names what the client should show the model besides the messages. The specification retires
    /// all but `none`.
    pub enum IncludeContext: "context" {
        /// Nothing.
        None = "none",
        /// What came from this server.
        ThisServer = "thisServer",
        /// What came from all the client's servers.
        AllServers = "allServers",
    }
}
