//! The `_meta` object of a request.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_core::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::jsonrpc::{Id, Key};

pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

/// The token by which a client asks for the progress of a request: a string or an integer, echoed with its JSON type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProgressToken(Id);

impl ProgressToken {
    /// Returns the number, if the token is one.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }

    /// Returns the text, if the token is one.
    pub fn as_str(&self) -> Option<&str> {
        self.0.as_str()
    }
}

impl From<i64> for ProgressToken {
    fn from(number: i64) -> Self {
        Self(number.into())
    }
}

impl From<&str> for ProgressToken {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ProgressToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for ProgressToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ProgressToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Id::deserialize(deserializer).map(Self)
    }
}

/// The members of `_meta` that the protocol defines, each still raw, found in one pass.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) version: Option<&'a RawValue>,
    pub(crate) capabilities: Option<&'a RawValue>,
    pub(crate) client_info: Option<&'a RawValue>,
    pub(crate) log_level: Option<&'a RawValue>,
    pub(crate) progress_token: Option<&'a RawValue>,
    /// A reserved key that stood there twice: nobody can tell which one an intermediary believed.
    pub(crate) repeated: Option<&'static str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetaVisitor)
    }
}

struct MetaVisitor;

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = Meta<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut meta = Meta::default();
        while let Some(Key(key)) = map.next_key()? {
            let (name, place) = match &*key {
                PROTOCOL_VERSION => (PROTOCOL_VERSION, &mut meta.version),
                CLIENT_CAPABILITIES => (CLIENT_CAPABILITIES, &mut meta.capabilities),
                CLIENT_INFO => (CLIENT_INFO, &mut meta.client_info),
                LOG_LEVEL => (LOG_LEVEL, &mut meta.log_level),
                PROGRESS_TOKEN => (PROGRESS_TOKEN, &mut meta.progress_token),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if place.replace(map.next_value()?).is_some() {
                meta.repeated = Some(name);
            }
        }
        Ok(meta)
    }
}

/// Reads the members of a raw `_meta`; `None` if it is no object.
pub(crate) fn read(raw: &RawValue) -> Option<Meta<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// Reads a raw value as text, borrowed where it holds no escape.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    text_of(raw.get())
}

/// Reads a string of JSON, borrowed where it holds no escape.
pub(crate) fn text_of(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str(json).ok().map(|Key(text)| text)
}

/// Tells whether a raw value is an object.
pub(crate) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}
