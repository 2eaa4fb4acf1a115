//! JSON-RPC 2.0 frames: what a message is, what is wrong with one that is none, and how answers are written.
//!
//! One message is parsed in one pass. The envelope borrows from the input; the members of `params` stay raw until the
//! method knows their types.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_core::de::{
    self, Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

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

/// Any JSON value, of which only strings and integers are kept.
pub(crate) enum Scalar<'a> {
    Number(i64),
    Text(Cow<'a, str>),
    Other,
}

impl<'a> Scalar<'a> {
    fn into_id(self) -> Option<Id> {
        match self {
            Self::Number(number) => Some(Id::from(number)),
            Self::Text(text) => Some(Id::from(&*text)),
            Self::Other => None,
        }
    }

    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).map_or(Scalar::Other, Scalar::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

/// A JSON-RPC error as it travels: part of the protocol, not a Rust error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// One short sentence.
    pub message: Cow<'static, str>,
    /// Whatever the code defines, if it defines something.
    pub data: Option<Value>,
}

impl RpcError {
    /// The input is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The input is JSON, but no request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist or is not offered.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A mirrored HTTP header differs from the body (from 2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request needs a capability that the client did not declare (from 2026-07-28).
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The protocol version is not supported (from 2026-07-28).
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// The resource does not exist (before 2026-07-28).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;

    /// Creates an error of any code.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Creates an error of code -32600.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// Creates an error of code -32601 that names the method.
    #[cold]
    #[inline(never)]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            Self::METHOD_NOT_FOUND,
            format!("Method not found: {}", excerpt(method)),
        )
    }

    /// Creates an error of code -32602.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Creates an error of code -32603 with a text that tells nothing of the inside.
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL_ERROR, "Internal error")
    }

    /// Adds data.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", &self.code)?;
        map.serialize_entry("message", &self.message)?;
        if let Some(data) = &self.data {
            map.serialize_entry("data", data)?;
        }
        map.end()
    }
}

/// Cuts a text of the peer's down to what an error message may quote.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const MOST: usize = 128;
    match text.char_indices().nth(MOST) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// No method defines more than seven parameters.
const MOST_PARAMS: usize = 64;

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
        serde_json::from_str(&self.text()).map_err(|err| invalid(format_args!("params"), &err))
    }

    /// Puts the object together again.
    fn text(&self) -> String {
        let mut text = String::from("{");
        for (name, value) in &self.0 {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&json_text(&**name));
            text.push(':');
            text.push_str(value.get());
        }
        text.push('}');
        text
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

/// The message of a JSON error without line and column, which mean nothing to a peer.
pub(crate) fn without_position(err: &serde_json::Error) -> String {
    let text = err.to_string();
    let position = b" at line ";
    let windows = text.as_bytes().windows(position.len());
    match windows.rev().position(|window| window == position) {
        Some(behind) => text[..text.len() - position.len() - behind].to_owned(),
        None => text,
    }
}

/// One inbound message.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    Request(Request<'a>),
    Notification(Notification<'a>),
    Response(Response<'a>),
    /// An array; only one revision knows what to do with it.
    Batch(Vec<&'a RawValue>),
}

#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: Id,
    pub(crate) method: Cow<'a, str>,
    /// Empty when absent: no method tells the two apart, except through `_meta`.
    pub(crate) params: Params<'a>,
}

#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

#[derive(Debug)]
pub(crate) struct Response<'a> {
    pub(crate) id: Id,
    pub(crate) result: Option<&'a RawValue>,
    pub(crate) error: Option<&'a RawValue>,
}

/// What is wrong with an inbound message.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) id: Option<Id>,
    pub(crate) error: RpcError,
    /// The message is a notification in all but one point: it must not be answered.
    pub(crate) notification: bool,
}

impl Malformed {
    fn new(id: Option<Id>, error: RpcError) -> Self {
        Self {
            id,
            error,
            notification: false,
        }
    }

    /// What is JSON, but no request.
    #[cold]
    #[inline(never)]
    fn request(id: Option<Id>, text: String) -> Self {
        Self::new(id, RpcError::invalid_request(text))
    }
}

/// Parses one message. Bytes that are not UTF-8 are no JSON (RFC 8259 §8.1).
pub(crate) fn parse(bytes: &[u8]) -> Result<Message<'_>, Malformed> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(Malformed::new(
            None,
            RpcError::new(RpcError::PARSE_ERROR, "Parse error: not UTF-8"),
        ));
    };
    parse_str(text)
}

/// Parses one message, or one element of a batch.
pub(crate) fn parse_str(text: &str) -> Result<Message<'_>, Malformed> {
    match shape(text) {
        Ok(Shape::Object(envelope)) => envelope.into_message(),
        Ok(Shape::Array(elements)) => Ok(Message::Batch(elements)),
        Ok(Shape::Scalar) => {
            let text = "Invalid request: not an object";
            Err(Malformed::request(None, text.to_owned()))
        }
        Err(err) => {
            let message = format!("Parse error: {}", without_position(&err));
            Err(Malformed::new(
                None,
                RpcError::new(RpcError::PARSE_ERROR, message),
            ))
        }
    }
}

/// Takes an object apart; `None` if it is none, repeats a member or has too many.
pub(crate) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    let MaybeParams(members) = serde_json::from_str(text).ok()?;
    members.map(|Params(members)| members)
}

/// Takes an array apart; anything else has no elements.
pub(crate) fn elements(text: &str) -> Vec<&RawValue> {
    match shape(text) {
        Ok(Shape::Array(elements)) => elements,
        _ => Vec::new(),
    }
}

fn shape(text: &str) -> Result<Shape<'_>, serde_json::Error> {
    serde_json::from_str(text)
}

enum Shape<'a> {
    Object(Envelope<'a>),
    Array(Vec<&'a RawValue>),
    Scalar,
}

#[derive(Default)]
struct Envelope<'a> {
    version: Member<()>,
    id: Member<Id>,
    method: Member<Cow<'a, str>>,
    params: Member<Params<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    repeated: Option<&'static str>,
}

/// A member of the envelope: not there, of the wrong kind, or good.
#[derive(Default)]
enum Member<T> {
    #[default]
    Absent,
    Wrong,
    Good(T),
}

impl<T> Member<T> {
    fn is_absent(&self) -> bool {
        matches!(self, Member::Absent)
    }

    /// Takes a value, `None` if it is of the wrong kind; tells whether there had been one before.
    fn fill(&mut self, value: Option<T>) -> bool {
        let before = !self.is_absent();
        *self = value.map_or(Member::Wrong, Member::Good);
        before
    }
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, Malformed> {
        let absent_id = self.id.is_absent();
        let id = match self.id {
            Member::Wrong => {
                let text = "Invalid request: 'id' must be a string or an integer";
                return Err(Malformed::request(None, text.to_owned()));
            }
            Member::Absent => None,
            Member::Good(id) => Some(id),
        };
        let refuse = |id, text: String| Err(Malformed::request(id, text));
        if let Some(name) = self.repeated {
            return refuse(id, format!("Invalid request: '{name}' appears twice"));
        }
        if !matches!(self.version, Member::Good(())) {
            return refuse(id, "Invalid request: 'jsonrpc' must be \"2.0\"".to_owned());
        }
        let method = match self.method {
            Member::Good(method) => method,
            Member::Wrong => {
                return refuse(id, "Invalid request: 'method' must be a string".to_owned());
            }
            Member::Absent => return response(id, self.result, self.error),
        };
        let params = match self.params {
            Member::Absent => Params::default(),
            Member::Good(params) => params,
            Member::Wrong => {
                let text = "Invalid request: 'params' must be an object, without repeated members and with at most 64";
                return Err(Malformed {
                    notification: absent_id,
                    ..Malformed::request(id, text.to_owned())
                });
            }
        };
        Ok(match id {
            Some(id) => Message::Request(Request { id, method, params }),
            None => Message::Notification(Notification { method, params }),
        })
    }
}

fn response<'a>(
    id: Option<Id>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
) -> Result<Message<'a>, Malformed> {
    match id {
        Some(id) if result.is_some() != error.is_some() => {
            Ok(Message::Response(Response { id, result, error }))
        }
        id => {
            let text = "Invalid request: 'method' is missing";
            Err(Malformed::request(id, text.to_owned()))
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Shape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(Key(key)) = map.next_key()? {
            let repeated = match &*key {
                "jsonrpc" => {
                    let version: Scalar<'_> = map.next_value()?;
                    let good = version.into_text().filter(|text| text == "2.0").map(drop);
                    envelope.version.fill(good).then_some("jsonrpc")
                }
                "id" => {
                    let id: Scalar<'_> = map.next_value()?;
                    envelope.id.fill(id.into_id()).then_some("id")
                }
                "method" => {
                    let method: Scalar<'_> = map.next_value()?;
                    let good = method.into_text();
                    envelope.method.fill(good).then_some("method")
                }
                "params" => {
                    let good = map.next_value::<MaybeParams<'_>>()?.0;
                    envelope.params.fill(good).then_some("params")
                }
                "result" => envelope.result.replace(map.next_value()?).map(|_| "result"),
                "error" => envelope.error.replace(map.next_value()?).map(|_| "error"),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    None
                }
            };
            envelope.repeated = envelope.repeated.or(repeated);
        }
        Ok(Shape::Object(envelope))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element()? {
            elements.push(element);
        }
        Ok(Shape::Array(elements))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Shape::Scalar)
    }
}

/// What `params` are; `None` is what no method takes.
struct MaybeParams<'a>(Option<Params<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for MaybeParams<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParamsVisitor).map(Self)
    }
}

/// A member name, borrowed where it holds no escape.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
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
                members.len() == MOST_PARAMS || members.iter().any(|(known, _)| *known == key);
            if !refused {
                members.push((key, value));
            }
        }
        Ok((!refused).then_some(Params(members)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        ScalarVisitor.visit_seq(seq).map(|_| None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Finds the id of a message of which only the beginning is there.
pub(crate) fn id_in_prefix(prefix: &[u8]) -> Option<Id> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < prefix.len() {
        match prefix[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = string_end(prefix, at)?;
                let member = depth == 1 && &prefix[at..end] == br#""id""#;
                at = end;
                if let Some(value) = member
                    .then(|| prefix[at..].trim_ascii_start().strip_prefix(b":"))
                    .flatten()
                {
                    return leading_id(value.trim_ascii_start());
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Reads the id that a text begins with.
fn leading_id(text: &[u8]) -> Option<Id> {
    let end = match text.first()? {
        b'"' => string_end(text, 0)?,
        // A number that ends with the prefix may have lost its last digits.
        _ => text
            .iter()
            .position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}'))?,
    };
    serde_json::from_str(std::str::from_utf8(&text[..end]).ok()?).ok()
}

/// Finds the byte after the string that begins at `start`.
pub(crate) fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Begins an answer: `{"jsonrpc":"2.0","id":7,"result":`. The caller appends the value and one closing brace.
pub(crate) fn begin_result(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_json(out, id);
    out.extend_from_slice(br#","result":"#);
}

/// Writes a whole error answer. Without a readable id the member is left out.
pub(crate) fn write_error(out: &mut Vec<u8>, id: Option<&Id>, error: &RpcError) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        write_json(out, id);
        out.push(b',');
    }
    out.extend_from_slice(br#""error":"#);
    write_json(out, error);
    out.push(b'}');
}

/// Writes a request of the server's own, whose params are the text of an object.
pub(crate) fn request(id: &Id, method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(params.len() + 80);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_json(&mut out, id);
    out.extend_from_slice(br#","method":"#);
    write_json(&mut out, method);
    out.extend_from_slice(br#","params":"#);
    out.extend_from_slice(params);
    out.push(b'}');
    out
}

/// Writes a notification with these params.
pub(crate) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_json(&mut out, method);
    out.extend_from_slice(br#","params":"#);
    write_json(&mut out, params);
    out.push(b'}');
    out
}

/// Writes a list of what is JSON already.
pub(crate) fn array(items: &[String]) -> String {
    let mut text = String::from("[");
    for item in items {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(item);
    }
    text.push(']');
    text
}

/// Makes an object of one member.
pub(crate) fn object(name: &str, value: Value) -> Value {
    // By the function of serde_json's own: a map's `insert` would be compiled here again.
    let mut object = Value::Null;
    object[name] = value;
    object
}

/// Appends a value as JSON.
///
/// # Panics
///
/// Panics if the value cannot be JSON. Our own types always can; what users bring is turned into JSON where its
/// failure is an answer.
// Not inlined: what writes a value is there once, however many places write such a value.
#[inline(never)]
pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("the crate's own types are JSON");
}

/// Returns a value as JSON. A tree's own `to_string` says the same, by a writer of its own for pretty text.
pub(crate) fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    let mut text = Vec::with_capacity(128);
    write_json(&mut text, value);
    String::from_utf8(text).expect("JSON is UTF-8")
}
