//! Completion: suggestions for an argument while it is being typed.

use std::collections::BTreeMap;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_core::ser::{Serialize, SerializeMap, Serializer};

use crate::protocol::jsonrpc::Scalar;
use crate::protocol::object::{self, object};

/// How many suggestions one answer may hold (MCP 2026-07-28, server/utilities/completion).
const MAX_VALUES: usize = 100;

/// Names what is being completed: an argument of a prompt, or a variable of a resource template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompletionRef {
    /// `{"type":"ref/prompt","name":…}`
    Prompt(PromptRef),
    /// `{"type":"ref/resource","uri":…}`
    Resource(ResourceRef),
}

object! {
    /// Names a prompt.
    #[derive(Eq)]
    pub struct PromptRef {
        /// The prompt's name.
        pub name: String = required "name",
        /// The name shown to people.
        pub title: Option<String> = optional "title",
    }
}

object! {
    /// Names a resource template.
    #[derive(Eq)]
    pub struct ResourceRef {
        /// The template as it is listed, or an address that follows it.
        pub uri: String = required "uri",
    }
}

impl CompletionRef {
    /// Names a prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptRef {
            name: name.into(),
            title: None,
        })
    }

    /// Names a resource template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceRef { uri: uri.into() })
    }
}

impl Serialize for CompletionRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Prompt(prompt) => {
                map.serialize_entry("type", "ref/prompt")?;
                prompt.write_members(&mut map)?;
            }
            Self::Resource(resource) => {
                map.serialize_entry("type", "ref/resource")?;
                resource.write_members(&mut map)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for CompletionRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RefVisitor)
    }
}

/// Reads both kinds at once: which one it is may stand behind what it holds.
struct RefVisitor;

impl<'de> Visitor<'de> for RefVisitor {
    type Value = CompletionRef;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CompletionRef, A::Error> {
        const MEMBERS: [&str; 4] = ["type", "name", "title", "uri"];
        let mut found = [None, None, None, None];
        while let Some(member) = object::next_member(&mut map, &MEMBERS)? {
            match MEMBERS.iter().position(|known| *known == member) {
                Some(at) => object::required::read(&mut map, member, &mut found[at])?,
                None => object::ignore(&mut map)?,
            }
        }
        let [kind, name, title, uri] = found;
        let kind = text("type", kind)?;
        match kind.as_str() {
            "ref/prompt" => Ok(CompletionRef::Prompt(PromptRef {
                name: text("name", name)?,
                title: match title {
                    None | Some(None) => None,
                    title => Some(text("title", title)?),
                },
            })),
            "ref/resource" => Ok(CompletionRef::Resource(ResourceRef {
                uri: text("uri", uri)?,
            })),
            kind => Err(object::in_member(
                "type",
                format_args!("unknown type {kind:?}"),
            )),
        }
    }
}

/// Takes a string that must be there.
#[inline(never)]
fn text<E: Error>(name: &'static str, found: Option<Option<Scalar<'_>>>) -> Result<String, E> {
    let found = found.ok_or_else(|| E::missing_field(name))?;
    match found.and_then(Scalar::into_text) {
        Some(text) => Ok(text.into_owned()),
        None => Err(object::in_member(name, "expected a string")),
    }
}

/// Asks for suggestions: the params of `completion/complete` (MCP 2026-07-28,
/// server/utilities/completion).
///
/// ```
/// use smol_mcp::protocol::{CompletionRef, CompletionRequest};
///
/// let request: CompletionRequest = serde_json::from_str(
///     r#"{"ref":{"type":"ref/prompt","name":"review"},
///         "argument":{"name":"framework","value":"fla"},
///         "context":{"arguments":{"language":"python"}}}"#,
/// )?;
/// assert_eq!(request.reference, CompletionRef::prompt("review"));
/// assert_eq!((request.name.as_str(), request.value.as_str()), ("framework", "fla"));
/// assert_eq!(request.context["language"], "python");
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// What the argument belongs to.
    pub reference: CompletionRef,
    /// The argument's name.
    pub name: String,
    /// What has been typed so far.
    pub value: String,
    /// The arguments already decided, by name. Sent since 2025-06-18.
    pub context: BTreeMap<String, String>,
}

impl CompletionRequest {
    /// Asks how `value` of the argument `name` may go on.
    pub fn new(
        reference: CompletionRef,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            reference,
            name: name.into(),
            value: value.into(),
            context: BTreeMap::new(),
        }
    }
}

object! {
    /// The params as they travel.
    struct Params {
        reference: CompletionRef = required "ref",
        argument: Argument = required "argument",
        context: Option<Context> = optional "context",
    }
}

object! {
    struct Argument {
        name: String = required "name",
        value: String = required "value",
    }
}

object! {
    struct Context {
        arguments: BTreeMap<String, String> = optional "arguments",
    }
}

impl Serialize for CompletionRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            reference,
            name,
            value,
            context,
        } = self.clone();
        let context = (!context.is_empty()).then_some(Context { arguments: context });
        Params {
            reference,
            argument: Argument { name, value },
            context,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CompletionRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Params {
            reference,
            argument: Argument { name, value },
            context,
        } = Params::deserialize(deserializer)?;
        let context = context.map(|context| context.arguments).unwrap_or_default();
        Ok(Self {
            reference,
            name,
            value,
            context,
        })
    }
}

/// Holds suggestions, best first (MCP 2026-07-28, server/utilities/completion, `CompleteResult`).
///
/// At most 100 are sent: [`Completion::new`] keeps the first hundred and says that there are more.
///
/// ```
/// use smol_mcp::protocol::Completion;
///
/// let json = |completion| serde_json::to_string(&completion).unwrap();
/// assert_eq!(json(Completion::new(["flask", "fla"])), r#"{"completion":{"values":["flask","fla"]}}"#);
///
/// let many = Completion::new((0..5000).map(|number| number.to_string()));
/// assert_eq!(many.values().len(), 100);
/// assert!(many.has_more());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// At most `MAX_VALUES`.
    values: Vec<String>,
    total: Option<u64>,
    has_more: Option<bool>,
}

impl Completion {
    /// Takes the first hundred suggestions, and says whether there was one more; the iterator is not
    /// advanced further.
    pub fn new(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut rest = values.into_iter();
        let values = rest.by_ref().take(MAX_VALUES).map(Into::into).collect();
        let has_more = rest.next().map(|_| true);
        Self {
            values,
            total: None,
            has_more,
        }
    }

    /// Returns the suggestions.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Tells whether there are more than these.
    pub fn has_more(&self) -> bool {
        self.has_more.unwrap_or_default()
    }

    /// Returns how many there are in all, if the author said.
    pub fn total(&self) -> Option<u64> {
        self.total
    }

    /// Says how many suggestions there are in all, which may be more than are sent.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Says whether there are more than these. If [`new`](Self::new) cut some off, there are in any case.
    #[must_use]
    pub fn with_more(mut self, more: bool) -> Self {
        self.has_more = Some(more || (self.values.len() == MAX_VALUES && self.has_more()));
        self
    }
}

impl Serialize for Completion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            values,
            total,
            has_more,
        } = self.clone();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(
            "completion",
            &Suggestions {
                values,
                total,
                has_more,
            },
        )?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Completion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Suggestions {
            values,
            total,
            has_more,
        } = CompleteResult::deserialize(deserializer)?.completion;
        let completion = Self::new(values);
        Ok(Self {
            total,
            has_more: completion.has_more.or(has_more),
            ..completion
        })
    }
}

object! {
    struct CompleteResult {
        completion: Suggestions = required "completion",
    }
}

object! {
    struct Suggestions {
        values: Vec<String> = required "values",
        total: Option<u64> = optional "total",
        has_more: Option<bool> = optional "hasMore",
    }
}
