//! Declares the nouns of the protocol: objects by their members, enums of objects by their tags, words by their spelling.
//!
//! [`object!`] stands in for serde's derive. A struct is written once, each field with the name of
//! its member and whether it is `required`, `optional` (left out when there is nothing to say;
//! `null` reads as left out), `any` (left out likewise, but `null` is a value) or `local` (never on
//! the wire). Reading ignores members it does not know, refuses a member that comes twice, and puts
//! the member's name in front of every complaint. The expansion holds the list of fields and little
//! else: the work is done by the functions of this module.

use std::fmt;
use std::marker::PhantomData;

use serde_core::de::{DeserializeOwned, DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde_core::ser::SerializeMap;
use serde_core::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Declares a struct that travels as a JSON object.
macro_rules! object {
    (
        $(#[$attr:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[$field_attr:meta])*
                $field_vis:vis $field:ident: $ty:ty = $kind:ident $member:literal,
            )*
        }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $vis struct $name {
            $($(#[$field_attr])* $field_vis $field: $ty,)*
        }

        impl $name {
            /// Writes the members without the braces, so that an enum can put its tag in front.
            pub(crate) fn write_members<M>(&self, map: &mut M) -> Result<(), M::Error>
            where
                M: serde_core::ser::SerializeMap,
            {
                $($crate::protocol::object::$kind::write(map, $member, &self.$field)?;)*
                Ok(())
            }
        }

        impl serde_core::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: serde_core::Serializer,
            {
                let mut map = serializer.serialize_map(None)?;
                self.write_members(&mut map)?;
                serde_core::ser::SerializeMap::end(map)
            }
        }

        impl<'de> serde_core::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde_core::Deserializer<'de>,
            {
                struct Members;

                impl<'de> serde_core::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A>(self, mut map: A) -> Result<$name, A::Error>
                    where
                        A: serde_core::de::MapAccess<'de>,
                    {
                        use $crate::protocol::object;
                        $(let mut $field = None;)*
                        while let Some(member) = object::next_member(&mut map, &[$($member),*])? {
                            match member {
                                $($member => object::$kind::read(&mut map, $member, &mut $field)?,)*
                                _ => object::ignore(&mut map)?,
                            }
                        }
                        Ok($name { $($field: object::$kind::finish($member, $field)?,)* })
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }
    };
}

/// Declares an enum that travels as one of a few words.
macro_rules! words {
    (
        $(#[$attr:meta])*
        $vis:vis enum $name:ident: $what:literal {
            $($(#[$variant_attr:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$attr])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        $vis enum $name {
            $($(#[$variant_attr])* $variant,)*
        }

        impl $name {
            /// Returns the word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::protocol::Invalid;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::protocol::Invalid::new(format!(concat!("unknown ", $what, " {:?}"), word))),
                }
            }
        }

        impl serde_core::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: serde_core::Serializer,
            {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde_core::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde_core::Deserializer<'de>,
            {
                $crate::protocol::object::parse(deserializer)
            }
        }
    };
}

/// Declares builder methods that set the field of their own name.
macro_rules! setters {
    ($($(#[$attr:meta])* $field:ident: $arg:ty = $value:expr;)*) => {
        $(
            $(#[$attr])*
            #[must_use]
            pub fn $field(mut self, $field: $arg) -> Self {
                self.$field = $value;
                self
            }
        )*
    };
}

pub(crate) use {object, setters, words};

/// A field type with a value that is left out of the object.
pub(crate) trait Optional: Default {
    type Value: Serialize;

    fn get(&self) -> Option<&Self::Value>;
    fn from_value(value: Self::Value) -> Self;
}

impl<T: Serialize> Optional for Option<T> {
    type Value = T;

    fn get(&self) -> Option<&T> {
        self.as_ref()
    }

    fn from_value(value: T) -> Self {
        Some(value)
    }
}

impl<T: Serialize> Optional for Vec<T> {
    type Value = Self;

    fn get(&self) -> Option<&Self> {
        (!self.is_empty()).then_some(self)
    }

    fn from_value(value: Self) -> Self {
        value
    }
}

/// Types of which a value may say nothing: by its looks if a test is given, else where it is the default.
macro_rules! left_out {
    ($ty:ty) => {
        $crate::protocol::object::left_out! { $ty, |value| *value == Self::default() }
    };
    ($ty:ty, |$value:ident| $is_nothing:expr) => {
        impl $crate::protocol::object::Optional for $ty {
            type Value = Self;

            fn get(&self) -> Option<&Self> {
                let $value = self;
                (!$is_nothing).then_some(self)
            }

            fn from_value(value: Self) -> Self {
                value
            }
        }
    };
}

pub(crate) use left_out;

left_out! { bool }
left_out! { Map<String, Value>, |map| map.is_empty() }
left_out! { std::collections::BTreeMap<String, String>, |map| map.is_empty() }

/// Members that must be there.
pub(crate) mod required {
    use super::*;

    pub(crate) fn write<M: SerializeMap, T: Serialize>(
        map: &mut M,
        name: &str,
        field: &T,
    ) -> Result<(), M::Error> {
        map.serialize_entry(name, field)
    }

    pub(crate) fn read<'de, A, T>(
        map: &mut A,
        name: &'static str,
        slot: &mut Option<T>,
    ) -> Result<(), A::Error>
    where
        A: MapAccess<'de>,
        T: Deserialize<'de>,
    {
        fill(map, name, slot, PhantomData)
    }

    pub(crate) fn finish<T, E: Error>(name: &'static str, slot: Option<T>) -> Result<T, E> {
        slot.ok_or_else(|| missing(name))
    }
}

/// Members that may be left out.
pub(crate) mod optional {
    use super::*;

    pub(crate) fn write<M: SerializeMap, T: Optional>(
        map: &mut M,
        name: &str,
        field: &T,
    ) -> Result<(), M::Error> {
        match field.get() {
            Some(value) => map.serialize_entry(name, value),
            None => Ok(()),
        }
    }

    pub(crate) fn read<'de, A, T>(
        map: &mut A,
        name: &'static str,
        slot: &mut Option<T>,
    ) -> Result<(), A::Error>
    where
        A: MapAccess<'de>,
        T: Optional<Value: Deserialize<'de>>,
    {
        fill(map, name, slot, Nullable(PhantomData))
    }

    pub(crate) fn finish<T: Default, E: Error>(_: &'static str, slot: Option<T>) -> Result<T, E> {
        Ok(slot.unwrap_or_default())
    }
}

/// Members of any kind, `null` among them, that may be left out.
pub(crate) mod any {
    use super::*;

    pub(crate) fn read<'de, A: MapAccess<'de>>(
        map: &mut A,
        name: &'static str,
        slot: &mut Option<Option<Value>>,
    ) -> Result<(), A::Error> {
        let mut value = slot.take().flatten();
        fill(map, name, &mut value, PhantomData)?;
        *slot = Some(value);
        Ok(())
    }

    pub(crate) use super::optional::{finish, write};
}

/// Fields that never travel.
pub(crate) mod local {
    use super::*;

    pub(crate) fn write<M: SerializeMap, T>(_: &mut M, _: &str, _: &T) -> Result<(), M::Error> {
        Ok(())
    }

    pub(crate) fn read<'de, A: MapAccess<'de>, T>(
        map: &mut A,
        _: &'static str,
        _: &mut Option<T>,
    ) -> Result<(), A::Error> {
        ignore(map)
    }

    pub(crate) use super::optional::finish;
}

/// Members that hold a list, of which a single item travels without the brackets.
pub(crate) mod one_or_many {
    use super::*;

    pub(crate) fn write<M, T>(map: &mut M, name: &str, field: &Vec<T>) -> Result<(), M::Error>
    where
        M: SerializeMap,
        T: Serialize,
    {
        match field.as_slice() {
            [one] => map.serialize_entry(name, one),
            many => map.serialize_entry(name, many),
        }
    }

    pub(crate) fn read<'de, A, T>(
        map: &mut A,
        name: &'static str,
        slot: &mut Option<Vec<T>>,
    ) -> Result<(), A::Error>
    where
        A: MapAccess<'de>,
        T: DeserializeOwned,
    {
        if slot.is_some() {
            return Err(A::Error::duplicate_field(name));
        }
        let items = match map.next_value().map_err(|err| in_member(name, err))? {
            Value::Array(items) => Vec::deserialize(Value::Array(items)),
            one => T::deserialize(one).map(|one| vec![one]),
        };
        *slot = Some(items.map_err(|err| in_member(name, err))?);
        Ok(())
    }

    pub(crate) use super::required::finish;
}

/// Reads the next member's name: one of `known`, or the empty string for any other.
pub(crate) fn next_member<'de, A: MapAccess<'de>>(
    map: &mut A,
    known: &'static [&'static str],
) -> Result<Option<&'static str>, A::Error> {
    struct Known(&'static [&'static str]);

    impl<'de> DeserializeSeed<'de> for Known {
        type Value = &'static str;

        fn deserialize<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<&'static str, D::Error> {
            deserializer.deserialize_str(self)
        }
    }

    impl Visitor<'_> for Known {
        type Value = &'static str;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a member's name")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<&'static str, E> {
            Ok(self
                .0
                .iter()
                .find(|known| **known == name)
                .copied()
                .unwrap_or_default())
        }
    }

    map.next_key_seed(Known(known))
}

/// Skips the value of a member.
pub(crate) fn ignore<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

fn fill<'de, A, S>(
    map: &mut A,
    name: &'static str,
    slot: &mut Option<S::Value>,
    seed: S,
) -> Result<(), A::Error>
where
    A: MapAccess<'de>,
    S: DeserializeSeed<'de>,
{
    if slot.is_some() {
        return Err(twice(name));
    }
    match map.next_value_seed(seed) {
        Ok(value) => *slot = Some(value),
        Err(err) => return Err(in_member(name, err)),
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn missing<E: Error>(name: &'static str) -> E {
    E::missing_field(name)
}

#[cold]
#[inline(never)]
fn twice<E: Error>(name: &'static str) -> E {
    E::duplicate_field(name)
}

/// Puts the member's name in front of what is wrong with its value.
#[cold]
#[inline(never)]
pub(crate) fn in_member<E: Error>(name: &str, err: impl fmt::Display) -> E {
    E::custom(format_args!("{name}: {err}"))
}

/// Reads an optional value, or `null`.
struct Nullable<T>(PhantomData<T>);

impl<'de, T: Optional<Value: Deserialize<'de>>> DeserializeSeed<'de> for Nullable<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Optional<Value: Deserialize<'de>>> Visitor<'de> for Nullable<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::Value::deserialize(deserializer).map(T::from_value)
    }

    fn visit_none<E: Error>(self) -> Result<T, E> {
        self.visit_unit()
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
}

/// Reads a string and parses it.
pub(crate) fn parse<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: fmt::Display>,
{
    struct Word<T>(PhantomData<T>);

    impl<T: std::str::FromStr<Err: fmt::Display>> Visitor<'_> for Word<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
            word.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Word(PhantomData))
}

/// An object of which the kind is not known yet: its members, the tag taken out.
///
/// Members within members are kept as they come, the last of two equal names wins there.
pub(crate) struct Tagged {
    pub(crate) tag: String,
    members: Map<String, Value>,
}

impl Tagged {
    /// Reads an object of which the string member `type` tells the kind.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let mut members = members(deserializer)?;
        match members.get_mut("type").map(Value::take) {
            Some(Value::String(tag)) => Ok(Self { tag, members }),
            Some(_) => Err(in_member("type", "expected a string")),
            None => Err(D::Error::missing_field("type")),
        }
    }

    /// Reads the members as the object that the tag stands for.
    pub(crate) fn read<T: DeserializeOwned, E: Error>(self) -> Result<T, E> {
        T::deserialize(Value::Object(self.members)).map_err(E::custom)
    }

    /// Complains about the tag.
    pub(crate) fn unknown<T, E: Error>(self) -> Result<T, E> {
        Err(in_member(
            "type",
            format_args!("unknown type {:?}", self.tag),
        ))
    }
}

/// Reads all members of an object, each name once.
pub(crate) fn members<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Map::new();
            while let Some(name) = map.next_key::<String>()? {
                if members.contains_key(&name) {
                    return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                }
                let value = map.next_value()?;
                members.insert(name, value);
            }
            Ok(members)
        }
    }

    deserializer.deserialize_map(Members)
}

/// Lets an enum of objects travel as the object of its variant, with the variant's word as the member `type` in front.
macro_rules! tagged {
    ($name:ident { $($variant:ident = $tag:literal,)* }) => {
        impl serde_core::Serialize for $name {
            fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
            where
                S: serde_core::Serializer,
            {
                let mut map = serializer.serialize_map(None)?;
                match self {
                    $(Self::$variant(object) => {
                        serde_core::ser::SerializeMap::serialize_entry(&mut map, "type", $tag)?;
                        object.write_members(&mut map)?;
                    })*
                }
                serde_core::ser::SerializeMap::end(map)
            }
        }

        impl<'de> serde_core::Deserialize<'de> for $name {
            fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
            where
                D: serde_core::Deserializer<'de>,
            {
                let object = $crate::protocol::object::Tagged::deserialize(deserializer)?;
                match object.tag.as_str() {
                    $($tag => object.read().map(Self::$variant),)*
                    _ => object.unknown(),
                }
            }
        }
    };
}

pub(crate) use tagged;
