//! JSON-RPC 2.0 frames: what a message is, what is wrong with one that is none, and how answers are written.
//!
//! One message is parsed in one pass. The envelope borrows from the input; the members of `params` stay raw until the
//! method knows their types.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_core::de::value::MapDeserializer;
use serde_core::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

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
        match deserializer.deserialize_any(IdVisitor)? {
            Some(id) => Ok(id),
            None => Err(de::Error::custom("expected a string or an integer")),
        }
    }
}

/// Reads any JSON value; `None` is one that is no id.
struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Option<Id>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Id::from(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).ok().map(Id::from))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Id::from(text)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
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
                Err(err) => Err(RpcError::invalid_params(format!(
                    "Invalid '{name}': {}",
                    without_position(&err)
                ))),
            },
        }
    }

    /// Reads all members as one type.
    pub(crate) fn all<T: Deserialize<'a>>(&self) -> Result<T, RpcError> {
        let members = self.0.iter().map(|(name, value)| (&**name, *value));
        T::deserialize(MapDeserializer::<_, serde_json::Error>::new(members)).map_err(|err| {
            RpcError::invalid_params(format!("Invalid params: {}", without_position(&err)))
        })
    }

    /// Reads a member that must be there.
    pub(crate) fn required<T: Deserialize<'a>>(&self, name: &str) -> Result<T, RpcError> {
        match self.optional(name)? {
            Some(value) => Ok(value),
            None => Err(RpcError::invalid_params(format!("Missing '{name}'"))),
        }
    }
}

/// The message of a JSON error without line and column, which mean nothing to a peer.
pub(crate) fn without_position(err: &serde_json::Error) -> String {
    let text = err.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
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
    match serde_json::from_str(text) {
        Ok(Shape::Object(envelope)) => envelope.into_message(),
        Ok(Shape::Array(elements)) => Ok(Message::Batch(elements)),
        Ok(Shape::Scalar) => Err(Malformed::new(
            None,
            RpcError::invalid_request("Invalid request: not an object"),
        )),
        Err(err) => {
            let message = format!("Parse error: {}", without_position(&err));
            Err(Malformed::new(
                None,
                RpcError::new(RpcError::PARSE_ERROR, message),
            ))
        }
    }
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

    fn from(value: Option<T>) -> Self {
        value.map_or(Member::Wrong, Member::Good)
    }
}

impl<'a> Envelope<'a> {
    fn into_message(self) -> Result<Message<'a>, Malformed> {
        let absent_id = self.id.is_absent();
        let id = match self.id {
            Member::Wrong => {
                let error = RpcError::invalid_request(
                    "Invalid request: 'id' must be a string or an integer",
                );
                return Err(Malformed::new(None, error));
            }
            Member::Absent => None,
            Member::Good(id) => Some(id),
        };
        let refuse = |id, text: String| Err(Malformed::new(id, RpcError::invalid_request(text)));
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
                let error = RpcError::invalid_request(
                    "Invalid request: 'params' must be an object, without repeated members and with at most 64",
                );
                return Err(Malformed {
                    id,
                    error,
                    notification: absent_id,
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
        id => Err(Malformed::new(
            id,
            RpcError::invalid_request("Invalid request: 'method' is missing"),
        )),
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
                    read(&mut map, &mut envelope.version, VersionVisitor)?.then_some("jsonrpc")
                }
                "id" => read(&mut map, &mut envelope.id, IdVisitor)?.then_some("id"),
                "method" => read(&mut map, &mut envelope.method, TextVisitor)?.then_some("method"),
                "params" => {
                    read(&mut map, &mut envelope.params, ParamsVisitor)?.then_some("params")
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

/// Reads one member into its place; tells whether it had been there before.
fn read<'de, A, V, T>(map: &mut A, place: &mut Member<T>, visitor: V) -> Result<bool, A::Error>
where
    A: MapAccess<'de>,
    V: Visitor<'de, Value = Option<T>>,
{
    let before = !place.is_absent();
    *place = Member::from(map.next_value_seed(Any(visitor))?);
    Ok(before)
}

/// Reads any value by a visitor that answers `None` to what it does not want.
struct Any<V>(V);

impl<'de, T, V: Visitor<'de, Value = Option<T>>> DeserializeSeed<'de> for Any<V> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self.0)
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

/// Refuses by `None` everything but what a visitor names itself.
macro_rules! refuse_the_rest {
    ($($method:ident: $kind:ty),*; $($compound:ident),*) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSON value")
        }
        $(fn $method<E>(self, _: $kind) -> Result<Self::Value, E> {
            Ok(None)
        })*
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        $(refuse_the_rest!(@ $compound);)*
    };
    (@ seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            IdVisitor.visit_seq(seq).map(|_| None)
        }
    };
    (@ map) => {
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            IdVisitor.visit_map(map).map(|_| None)
        }
    };
}

struct VersionVisitor;

impl<'de> Visitor<'de> for VersionVisitor {
    type Value = Option<()>;

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok((text == "2.0").then_some(()))
    }

    refuse_the_rest!(visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_bool: bool; seq, map);
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Option<Cow<'de, str>>;

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    refuse_the_rest!(visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_bool: bool; seq, map);
}

struct ParamsVisitor;

impl<'de> Visitor<'de> for ParamsVisitor {
    type Value = Option<Params<'de>>;

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

    refuse_the_rest!(visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_bool: bool, visit_str: &str; seq);
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
fn string_end(text: &[u8], start: usize) -> Option<usize> {
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

/// Appends a value as JSON.
///
/// # Panics
///
/// Panics if the value cannot be JSON. Our own types always can; what users bring is turned into JSON where its
/// failure is an answer.
pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value).expect("the crate's own types are JSON");
}

/// Returns a value as JSON. A tree's own `to_string` says the same, by a writer of its own for pretty text.
pub(crate) fn json_text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("the crate's own types are JSON")
}
