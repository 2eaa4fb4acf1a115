//! What a server asks a client, as each revision puts it.
//!
//! The modern era puts questions into an `input_required` result, the legacy era sends them as requests. Both need the
//! client to have declared that it can answer.

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::reply::{Wrapping, Written};
use super::{Method, extend_object, is_modern};
use crate::protocol::content::Text;
use crate::protocol::jsonrpc::{object, without_position, write_json};
use crate::protocol::{
    ClientCapabilities, CreateMessage, CreateMessageResult, Elicit, ElicitAnswer, Invalid, Roots,
    SamplingContent, SamplingMessage, Version, meta_keys,
};

/// Something that only the client, or the person behind it, can answer.
#[derive(Debug)]
pub(crate) enum Question {
    Elicit(Elicit),
    Sample(Box<CreateMessage>),
    Roots,
}

/// The answer to a question, of its kind.
#[derive(Clone, Debug)]
pub(crate) enum Answered {
    Elicit(ElicitAnswer),
    Sample(Box<CreateMessageResult>),
    Roots(Roots),
}

impl Question {
    /// Finds what the author did wrong.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Question::Elicit(elicit) => elicit.check(),
            Question::Sample(sample) => {
                sample.check()?;
                // That of its blocks may be what the client's model said.
                let mut messages = sample.messages.iter();
                messages.try_for_each(|message| meta_keys::check(&message.meta))
            }
            Question::Roots => Ok(()),
        }
    }

    /// Reads an answer, and checks it against what was asked.
    pub(crate) fn read(&self, answer: &str) -> Result<Answered, String> {
        let wrong = |err: serde_json::Error| without_position(&err);
        match self {
            Question::Elicit(elicit) => {
                let answer = serde_json::from_str(answer).map_err(wrong)?;
                elicit
                    .check_answer(&answer)
                    .map_err(|invalid| invalid.to_string())?;
                Ok(Answered::Elicit(answer))
            }
            Question::Sample(_) => serde_json::from_str(answer)
                .map(|answer| Answered::Sample(Box::new(answer)))
                .map_err(wrong),
            Question::Roots => serde_json::from_str(answer)
                .map(Answered::Roots)
                .map_err(wrong),
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        match self {
            Question::Elicit(_) => "elicitation/create",
            Question::Sample(_) => "sampling/createMessage",
            Question::Roots => "roots/list",
        }
    }

    /// The capability that a client needs to be asked, in the shape of its declaration.
    fn needs(&self) -> Value {
        match self {
            Question::Elicit(Elicit::Form(_)) => needs("elicitation", Some("form")),
            Question::Elicit(Elicit::Url(_)) => needs("elicitation", Some("url")),
            Question::Sample(sample) if has_tools(sample) => needs("sampling", Some("tools")),
            Question::Sample(_) => needs("sampling", None),
            Question::Roots => needs("roots", None),
        }
    }

    fn is_declared(&self, client: &ClientCapabilities) -> bool {
        match self {
            Question::Elicit(Elicit::Form(_)) => client.elicitation_form(),
            Question::Elicit(Elicit::Url(_)) => client.elicitation_url(),
            Question::Sample(sample) => {
                client.sampling() && (client.sampling_tools() || !has_tools(sample))
            }
            Question::Roots => client.roots(),
        }
    }

    /// What the client would have to declare, or could only declare under a later revision.
    pub(crate) fn lacks(&self, version: Version, client: &ClientCapabilities) -> Option<Value> {
        (!self.is_declared(client) || !self.is_known(version)).then(|| self.needs())
    }

    /// Tells whether the revision has the words for it.
    fn is_known(&self, version: Version) -> bool {
        match self {
            Question::Elicit(Elicit::Form(form)) => {
                let least = match form.schema.has_choices() {
                    true => Version::V2025_11_25,
                    false => Version::V2025_06_18,
                };
                version >= least
            }
            Question::Elicit(Elicit::Url(_)) => version >= Version::V2025_11_25,
            Question::Sample(sample) => version >= Version::V2025_11_25 || !has_tools(sample),
            Question::Roots => true,
        }
    }
}

/// Declares a capability, with one of its settings.
fn needs(capability: &str, setting: Option<&str>) -> Value {
    let none = || Value::Object(Map::new());
    object(
        capability,
        setting.map_or_else(none, |name| object(name, none())),
    )
}

/// Tools in the conversation need the capability as much as tools to choose from.
fn has_tools(sample: &CreateMessage) -> bool {
    let mut blocks = sample.messages.iter().flat_map(|message| &message.content);
    sample.uses_tools()
        || blocks.any(|block| {
            matches!(
                block,
                SamplingContent::ToolUse(_) | SamplingContent::ToolResult(_)
            )
        })
}

/// A question as it travels.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) method: &'static str,
    /// The text of a JSON object.
    pub(crate) params: Vec<u8>,
}

/// Puts a question, which [lacks](Question::lacks) nothing, into the words of a revision.
///
/// `token` names a page that is to be opened, and the progress that the client may report, where the revision knows such
/// names.
pub(crate) fn put(
    version: Version,
    question: &Question,
    client: &ClientCapabilities,
    token: Option<Token<'_>>,
) -> Put {
    let mut params = Vec::new();
    match question {
        Question::Elicit(Elicit::Form(form)) if version < Version::V2025_11_25 => {
            let older = form.schema.before_2025_11_25();
            params.extend_from_slice(b"{}");
            let members: [(&str, &dyn super::ErasedJson); 2] =
                [("message", &form.message), ("requestedSchema", &older)];
            extend_object(&mut params, 0, &members);
        }
        Question::Elicit(elicit) => write_json(&mut params, elicit),
        Question::Sample(sample) => write_json(&mut params, &*adapted(version, sample, client)),
        Question::Roots => params.extend_from_slice(b"{}"),
    }
    if let Some(Token { request, page }) = token.filter(|_| !is_modern(version)) {
        if matches!(question, Question::Elicit(Elicit::Url(_))) {
            extend_object(&mut params, 0, &[("elicitationId", &page)]);
        }
        let meta = object(crate::protocol::meta::PROGRESS_TOKEN, request.into());
        extend_object(&mut params, 0, &[("_meta", &meta)]);
    }
    Put {
        method: question.method(),
        params,
    }
}

/// What a request of the server's own is known by.
#[derive(Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) request: i64,
    pub(crate) page: &'a str,
}

/// Takes from a conversation what the revision, or the client, does not know.
fn adapted<'a>(
    version: Version,
    sample: &'a CreateMessage,
    client: &ClientCapabilities,
) -> std::borrow::Cow<'a, CreateMessage> {
    let older = version < Version::V2025_11_25;
    // Before 2025-11-25 nobody could declare it.
    let context = sample.uses_context() && !older && !client.sampling_context();
    if !older && !context {
        return std::borrow::Cow::Borrowed(sample);
    }
    let mut sample = sample.clone();
    if context {
        sample.include_context = None;
    }
    if older {
        // One block a message.
        let messages = std::mem::take(&mut sample.messages).into_iter();
        sample.messages = messages
            .flat_map(|message| {
                let role = message.role;
                message
                    .content
                    .into_iter()
                    .map(move |block| SamplingMessage::new(role, vec![older_block(version, block)]))
            })
            .collect();
    }
    std::borrow::Cow::Owned(sample)
}

fn older_block(version: Version, block: SamplingContent) -> SamplingContent {
    match block {
        SamplingContent::Audio(audio) if version < Version::V2025_03_26 => {
            SamplingContent::text(format!("[audio, {}]", audio.mime_type))
        }
        SamplingContent::Text(Text { text, .. }) if version < Version::V2025_06_18 => {
            SamplingContent::text(text)
        }
        block => block,
    }
}

/// Unites what several questions lack.
pub(crate) fn unite(needs: &mut Map<String, Value>, more: Option<Value>) {
    let Some(Value::Object(more)) = more else {
        return;
    };
    for (name, settings) in more {
        match (needs.get_mut(&name), settings) {
            (Some(Value::Object(known)), Value::Object(settings)) => known.extend(settings),
            (_, settings) => {
                needs.insert(name, settings);
            }
        }
    }
}

/// Tells whether a handler of this method may ask (MCP 2026-07-28, basic/patterns/mrtr). The legacy era knows no such
/// bound; a handler that serves both eras asks in neither of them elsewhere.
pub(crate) fn may_ask(method: Method) -> bool {
    matches!(
        method,
        Method::CallTool | Method::ReadResource | Method::GetPrompt
    )
}

/// What an `input_required` result says.
#[derive(Debug)]
pub(crate) struct InputRequired {
    /// By key, in the order in which they were asked.
    pub(crate) requests: Vec<(String, Put)>,
    pub(crate) state: Option<String>,
}

impl Written for InputRequired {
    fn is_question(&self) -> bool {
        true
    }

    fn write_modern(self: Box<Self>, out: &mut Vec<u8>) -> Wrapping {
        write_json(out, &*self);
        Wrapping {
            kind: "input_required",
            ..Wrapping::complete(Map::new())
        }
    }

    fn write_legacy(self: Box<Self>, out: &mut Vec<u8>, _: Version) {
        // No legacy client is ever answered by it.
        out.extend_from_slice(b"{}");
    }
}

impl Serialize for InputRequired {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Requests<'a>(&'a [(String, Put)]);
        impl Serialize for Requests<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(key, put)| (key, put)))
            }
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("inputRequests", &Requests(&self.requests))?;
        if let Some(state) = &self.state {
            map.serialize_entry("requestState", state)?;
        }
        map.end()
    }
}

impl Serialize for Put {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde_core::ser::Error;
        let params = std::str::from_utf8(&self.params).map_err(S::Error::custom)?;
        let params: &RawValue = serde_json::from_str(params).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", self.method)?;
        map.serialize_entry("params", params)?;
        map.end()
    }
}
