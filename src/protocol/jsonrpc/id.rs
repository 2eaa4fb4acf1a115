//! What a request is known by.

use std::fmt;
use std::sync::Arc;

use serde_core::de::{self, Deserialize, Deserializer};
use serde_core::ser::{Serialize, Serializer};
use serde_json::Value;

use super::scalar::Scalar;

/// The identifier of a request: a string or an integer, echoed with its JSON type.
///
/// `1` and `"1"` are different ids; `0` and `""` are ordinary ones. Integers are those of an `i64`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(Repr);

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Number(i64),
    Text(Arc<str>),
}

impl Id {
    /// Returns the number, if the id is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }

    /// Returns the text, if the id is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Number(_) => None,
            Repr::Text(text) => Some(text),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match &self.0 {
            Repr::Number(number) => (*number).into(),
            Repr::Text(text) => (**text).into(),
        }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self(Repr::Number(number))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => number.fmt(f),
            Repr::Text(text) => fmt::Debug::fmt(text, f),
        }
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Number(number) => serializer.serialize_i64(*number),
            Repr::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Scalar::deserialize(deserializer)?
            .into_id()
            .ok_or_else(|| de::Error::custom("expected a string or an integer"))
    }
}
