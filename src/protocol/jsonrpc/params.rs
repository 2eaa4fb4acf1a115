//! The members of an object, taken apart and put together again. `params` is one.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::error::{RpcError, without_position};
use super::scalar::{Key, ScalarVisitor, take_scalars};
use super::write::json_text;

/// How many members an object may have. No method defines more than seven parameters, and no noun as many members.
const MOST_MEMBERS: usize = 64;

/// The members of `params`, in their order, each still raw.
#[derive(Debug, Default)]
pub(crate) struct Params<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Params<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    /// Reads an optional member of a known type; the error names it.
    pub(crate) fn optional<T: Deserialize<'a>>(&self, name: &str) -> Result<Option<T>, RpcError> {
        match self.get(name) {
            None => Ok(None),
            Some(raw) => match serde_json::from_str(raw.get()) {
                Ok(value) => Ok(Some(value)),
                Err(err) => Err(invalid(format_args!("'{name}'"), &err)),
            },
        }
    }

    /// Reads all members as one type.
    pub(crate) fn all<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let members = self.0.iter();
        let text = from_members(&mut members.map(|(name, value)| (&**name, value.get())));
        serde_json::from_str(&text).map_err(|err| invalid(format_args!("params"), &err))
    }

    /// Reads a member that is a number, if it is.
    pub(crate) fn number(&self, name: &str) -> Option<Number> {
        self.get(name)?.get().parse().ok()
    }

    /// Reads a member that must be there, and be an object.
    pub(crate) fn object(&self, name: &str) -> Result<Map<String, Value>, RpcError> {
        let member = self.get(name).ok_or_else(|| missing(name))?.get();
        member
            .parse()
            .map_err(|err| invalid(format_args!("'{name}'"), &err))
    }

    /// Reads a member that must be there.
    pub(crate) fn required<T: Deserialize<'a>>(&self, name: &str) -> Result<T, RpcError> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(missing(name)),
        }
    }
}

#[cold]
#[inline(never)]
fn invalid(what: fmt::Arguments<'_>, err: &serde_json::Error) -> RpcError {
    RpcError::invalid_params(format!("Invalid {what}: {}", without_position(err)))
}

#[cold]
#[inline(never)]
fn missing(name: &str) -> RpcError {
    RpcError::invalid_params(format!("Missing '{name}'"))
}

/// Takes an object apart; `None` if it is none, repeats a member or has too many.
pub(crate) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    let MaybeParams(members) = serde_json::from_str(text).ok()?;
    members.map(|Params(members)| members)
}

/// Puts an object together from its members, of which each value is JSON already.
pub(crate) fn from_members(members: &mut dyn Iterator<Item = (&str, &str)>) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&json_text(name));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// What `params` are; `None` is what no method takes.
pub(super) struct MaybeParams<'a>(pub(super) Option<Params<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for MaybeParams<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParamsVisitor).map(Self)
    }
}

struct ParamsVisitor;

impl<'de> Visitor<'de> for ParamsVisitor {
    type Value = Option<Params<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::with_capacity(4);
        let mut refused = false;
        while let Some(Key(key)) = map.next_key()? {
            let value = map.next_value()?;
            // The comparison below is quadratic, so the number is bounded first.
            refused |=
                members.len() == MOST_MEMBERS || members.iter().any(|(known, _)| *known == key);
            if !refused {
                members.push((key, value));
            }
        }
        Ok((!refused).then_some(Params(members)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        ScalarVisitor.visit_seq(seq).map(|_| None)
    }

    take_scalars!(None);
}
