//! Inbound messages: what one is, and what is wrong with one that is none.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{RpcError, without_position};
use super::id::Id;
use super::params::{MaybeParams, Params};
use super::scalar::{Key, Scalar, take_scalars};

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

    take_scalars!(Shape::Scalar);
}
