//! Elicitation: a server asks the user, by a form or by sending them to a page.

use serde_core::de::{Deserialize, Deserializer};
use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::protocol::Invalid;
use crate::protocol::object::{in_member, object, words};

mod form;
mod format;

pub use form::{
    BooleanField, Choice, ChoiceField, ChoicesField, Field, FormSchema, Format, NumberField,
    TextField,
};

/// Asks the user: the params of `elicitation/create` (MCP 2026-07-28, client/elicitation; since
/// 2025-06-18).
///
/// A form must not ask for passwords, keys, tokens or payment data; use a page for those.
///
/// ```
/// use smol_mcp::protocol::{Elicit, Field, FormSchema};
///
/// let schema = FormSchema::new()
///     .required("branch", Field::choice(["main", "next"]).title("Branch"))
///     .optional("force", Field::boolean().default_value(false));
/// assert_eq!(
///     serde_json::to_string(&Elicit::form("Which branch?", schema)).unwrap(),
///     r#"{"mode":"form","message":"Which branch?","requestedSchema":{"type":"object","properties":{"#.to_owned()
///         + r#""branch":{"type":"string","title":"Branch","enum":["main","next"]},"#
///         + r#""force":{"type":"boolean","default":false}},"required":["branch"]}}"#,
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Elicit {
    /// By a form that the client shows.
    Form(Form),
    /// By a page that the client opens. Sent since 2025-11-25.
    Url(Page),
}

/// Asks the user to fill in a form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Form {
    /// What the user is told.
    pub message: String,
    /// What they are asked for.
    pub schema: FormSchema,
}

/// Asks the user to open a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// What the user is told.
    pub message: String,
    /// The page. It must not hold anything private, nor log its visitor in.
    pub url: String,
}

impl Elicit {
    /// Asks the user to fill in a form.
    pub fn form(message: impl Into<String>, schema: FormSchema) -> Self {
        Self::Form(Form {
            message: message.into(),
            schema,
        })
    }

    /// Asks the user to open a page. Accepting means that they agreed to open it, not that they are
    /// done.
    ///
    /// ```
    /// use smol_mcp::protocol::Elicit;
    ///
    /// let page = Elicit::url("Please sign in.", "https://h.example/sign-in?flow=81");
    /// assert_eq!(
    ///     serde_json::to_string(&page).unwrap(),
    ///     r#"{"mode":"url","message":"Please sign in.","url":"https://h.example/sign-in?flow=81"}"#,
    /// );
    /// ```
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(Page {
            message: message.into(),
            url: url.into(),
        })
    }

    /// Checks the rules that the types do not express.
    ///
    /// # Errors
    ///
    /// For a form those of [`FormSchema::check`]; for a page when its address is not an absolute
    /// URI.
    pub fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Form(form) => form.schema.check(),
            Self::Url(page) if !format::is_uri(&page.url) => {
                Err(Invalid::new(format!("not a URL: {:?}", page.url)))
            }
            Self::Url(_) => Ok(()),
        }
    }

    /// Checks an answer against the question. Only an accepted form has anything to check.
    ///
    /// # Errors
    ///
    /// Those of [`FormSchema::validate`].
    pub fn check_answer(&self, answer: &ElicitAnswer) -> Result<(), Invalid> {
        match self {
            Self::Form(form) if answer.is_accepted() => form.schema.validate(&answer.content),
            _ => Ok(()),
        }
    }
}

impl Serialize for Elicit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        match self {
            Self::Form(form) => {
                map.serialize_entry("mode", "form")?;
                map.serialize_entry("message", &form.message)?;
                map.serialize_entry("requestedSchema", &form.schema)?;
            }
            Self::Url(page) => {
                map.serialize_entry("mode", "url")?;
                map.serialize_entry("message", &page.message)?;
                map.serialize_entry("url", &page.url)?;
            }
        }
        map.end()
    }
}

/// Holds what the user answered.
///
/// `content` is there only when they accepted a form. Members that are `null` are dropped when it
/// is read; a member that is neither a string, a number, a boolean nor an array of strings is
/// refused.
///
/// ```
/// use smol_mcp::protocol::{ElicitAction, ElicitAnswer};
///
/// let answer: ElicitAnswer = serde_json::from_str(r#"{"action":"accept","content":{"branch":"next"}}"#)?;
/// assert_eq!(answer.action, ElicitAction::Accept);
/// assert_eq!(answer.content["branch"], "next");
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElicitAnswer {
    /// What the user did.
    pub action: ElicitAction,
    /// The form's fields by name.
    pub content: Map<String, Value>,
}

impl ElicitAnswer {
    /// Makes the answer of a user who filled in the form, or agreed to open the page.
    pub fn accept(content: Map<String, Value>) -> Self {
        Self {
            action: ElicitAction::Accept,
            content,
        }
    }

    /// Makes the answer of a user who refused.
    pub fn decline() -> Self {
        Self {
            action: ElicitAction::Decline,
            content: Map::new(),
        }
    }

    /// Makes the answer of a user who dismissed the question.
    pub fn cancel() -> Self {
        Self {
            action: ElicitAction::Cancel,
            content: Map::new(),
        }
    }

    /// Tells whether the user filled in the form, or agreed to open the page.
    pub fn is_accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }
}

words! {
    /// Names what the user did.
    pub enum ElicitAction: "action" {
        /// They filled in the form, or agreed to open the page.
        Accept = "accept",
        /// They refused.
        Decline = "decline",
        /// They dismissed the question.
        Cancel = "cancel",
    }
}

object! {
    /// An answer as it travels.
    struct Answer {
        action: ElicitAction = required "action",
        content: Map<String, Value> = optional "content",
    }
}

impl Serialize for ElicitAnswer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Answer {
            action: self.action,
            content: self.content.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ElicitAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Answer {
            action,
            mut content,
        } = Answer::deserialize(deserializer)?;
        content.retain(|_, value| !value.is_null());
        for (name, value) in &content {
            let fits = match value {
                Value::Array(items) => items.iter().all(Value::is_string),
                Value::Object(_) => false,
                _ => true,
            };
            if !fits {
                let what = "expected a string, a number, a boolean or an array of strings";
                return Err(in_member("content", in_member::<D::Error>(name, what)));
            }
        }
        if action != ElicitAction::Accept {
            content.clear();
        }
        Ok(Self { action, content })
    }
}
