//! What a client carries from one round of a request to the next: sealed, so that it comes back as it left.
//!
//! A sealed state reads `v1.<key>.<payload>.<mac>`. The payload is the JSON of what is carried and of the moment at which
//! it expires; the code (HMAC-SHA256) covers it together with what it is bound to: who asked, the method, and its
//! salient parameters. Nothing is hidden: the client can read the payload. (MCP 2026-07-28, basic/patterns/mrtr)

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hmac_sha256::{HMAC, Hash};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::protocol::base64::{decode_url as decode, encode_url as encode};
use crate::protocol::jsonrpc::{json_text, object};

/// What the text begins with. Another layout gets another number.
const VERSION: &str = "v1";

/// Keeps these codes apart from all others that somebody makes with the same key.
const CONTEXT: &[u8] = b"smol-mcp requestState v1\0";

/// The keys of a server: the first one seals, each of them opens.
pub(crate) struct Seal {
    keys: Vec<Key>,
    lifetime: Duration,
}

struct Key {
    /// Tells which key it is, and nothing else about it.
    id: String,
    secret: [u8; 32],
}

impl Key {
    fn new(secret: &[u8]) -> Self {
        let secret = HMAC::mac(&b"smol-mcp state key"[..], secret);
        let id = encode(&HMAC::mac(&b"id"[..], &secret[..])[..6]);
        Self { id, secret }
    }
}

/// What a sealed state belongs to. It opens for nothing else.
#[derive(Clone, Copy)]
pub(crate) struct Bound<'a> {
    pub(crate) principal: Option<&'a str>,
    pub(crate) method: &'a str,
    /// The name, or the address.
    pub(crate) subject: &'a str,
    pub(crate) arguments: Option<&'a RawValue>,
}

/// What is carried.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Carried {
    /// What the client answered in earlier rounds, by the key of the question.
    pub(crate) answers: Map<String, Value>,
    /// What the handler keeps for itself.
    pub(crate) state: Option<Value>,
}

impl Carried {
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.state.is_none()
    }
}

impl Seal {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a [u8]>, lifetime: Duration) -> Self {
        let keys = secrets.into_iter().map(Key::new).collect();
        Self { keys, lifetime }
    }

    /// Makes the text that the client is to bring again.
    pub(crate) fn close(&self, bound: Bound<'_>, carried: Carried) -> String {
        let expires = now().saturating_add(self.lifetime.as_secs());
        let mut payload = object("e", expires.into());
        let Carried { answers, state } = carried;
        if !answers.is_empty() {
            payload["a"] = Value::Object(answers);
        }
        if let Some(state) = state {
            payload["s"] = state;
        }
        let key = self.keys.first().expect("a seal has a key");
        let payload = encode(json_text(&payload).as_bytes());
        let code = encode(&code(key, &payload, bound).finalize());
        format!("{VERSION}.{}.{payload}.{code}", key.id)
    }

    /// Opens a text that a client brought. `None` says no more than that it is none of ours, not for this, or too old.
    pub(crate) fn open(&self, bound: Bound<'_>, text: &str) -> Option<Carried> {
        let mut parts = text.split('.');
        let (version, id) = (parts.next()?, parts.next()?);
        let (payload, given) = (parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() {
            return None;
        }
        let key = self.keys.iter().find(|key| key.id == id)?;
        let given: [u8; 32] = decode(given)?.try_into().ok()?;
        // Compared in constant time.
        if !code(key, payload, bound).finalize_verify(&given) {
            return None;
        }
        let payload = String::from_utf8(decode(payload)?).ok()?;
        let mut payload: Value = payload.parse().ok()?;
        if now() >= payload.get("e")?.as_u64()? {
            return None;
        }
        let answers = match payload.get_mut("a").map(Value::take) {
            Some(Value::Object(answers)) => answers,
            _ => Map::new(),
        };
        let state = payload.get_mut("s").map(Value::take);
        Some(Carried { answers, state })
    }
}

/// The code over a payload and what it is bound to. Each part is led by its length, so that no two lists of parts are
/// one sequence of bytes.
fn code(key: &Key, payload: &str, bound: Bound<'_>) -> HMAC {
    let mut code = HMAC::new(key.secret);
    code.update(CONTEXT);
    let arguments = digest(bound.arguments);
    let parts: [&[u8]; 5] = [
        payload.as_bytes(),
        bound.method.as_bytes(),
        bound.subject.as_bytes(),
        &arguments,
        bound.principal.unwrap_or_default().as_bytes(),
    ];
    for part in parts {
        code.update(&(part.len() as u64).to_be_bytes()[..]);
        code.update(part);
    }
    code.update(&[u8::from(bound.principal.is_some())][..]);
    code
}

/// The digest of arguments, the same however a client spaces or orders them. None are the same as `{}`.
fn digest(arguments: Option<&RawValue>) -> [u8; 32] {
    let text = arguments.map_or("{}", RawValue::get);
    let mut hash = Hash::new();
    match text.parse() {
        Ok(value) => write_canonical(&mut hash, &value),
        // Escapes that are no character: such a text is only ever the same as itself.
        Err(_) => hash.update(text.as_bytes()),
    }
    hash.finalize()
}

fn write_canonical(hash: &mut Hash, value: &Value) {
    match value {
        Value::Object(members) => {
            // Sorted here: whether the map is depends on features of serde_json that others switch.
            let mut names: BinaryHeap<_> = members.keys().map(Reverse).collect();
            hash.update(&b"{"[..]);
            while let Some(Reverse(name)) = names.pop() {
                hash.update(json_text(name).as_bytes());
                hash.update(&b":"[..]);
                write_canonical(hash, &members[name]);
                hash.update(&b","[..]);
            }
            hash.update(&b"}"[..]);
        }
        Value::Array(items) => {
            hash.update(&b"["[..]);
            for item in items {
                write_canonical(hash, item);
                hash.update(&b","[..]);
            }
            hash.update(&b"]"[..]);
        }
        scalar => hash.update(json_text(scalar).as_bytes()),
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn carried() -> Carried {
        let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
        Carried {
            answers: answers.as_object().unwrap().clone(),
            state: Some(json!([1, null])),
        }
    }

    fn bound(arguments: &RawValue) -> Bound<'_> {
        Bound {
            principal: Some("ada"),
            method: "tools/call",
            subject: "publish",
            arguments: Some(arguments),
        }
    }

    #[test]
    fn what_is_sealed_opens_for_what_it_is_bound_to_and_for_nothing_else() {
        let (first, other) = (raw(r#"{"a":1,"b":[2]}"#), raw(r#"{"a":1,"b":[3]}"#));
        let seal = Seal::new([&b"secret"[..]], MINUTE);
        let text = seal.close(bound(&first), carried());
        assert_eq!(seal.open(bound(&first), &text), Some(carried()));
        // R257: the method, the subject, the arguments; R255: the principal.
        let elsewhere = [
            bound(&other),
            Bound {
                arguments: None,
                ..bound(&first)
            },
            Bound {
                method: "prompts/get",
                ..bound(&first)
            },
            Bound {
                subject: "publis",
                ..bound(&first)
            },
            Bound {
                principal: Some("bob"),
                ..bound(&first)
            },
            Bound {
                principal: None,
                ..bound(&first)
            },
            Bound {
                principal: Some(""),
                ..bound(&first)
            },
        ];
        for bound in elsewhere {
            assert_eq!(seal.open(bound, &text), None);
        }
    }

    #[test]
    fn arguments_are_the_same_however_they_are_spaced_and_ordered() {
        let (one, two) = (
            raw(r#"{"a":{"x":"é","y":[1.5,true]},"b":2}"#),
            raw("{ \"b\":2,\n\"a\":{\"y\":[1.5,true],\"x\":\"\\u00e9\"}}"),
        );
        assert_eq!(digest(Some(&one)), digest(Some(&two)));
        assert_eq!(digest(None), digest(Some(&raw("{}"))));
        assert_ne!(
            digest(Some(&raw(r#"{"a":"1"}"#))),
            digest(Some(&raw(r#"{"a":1}"#)))
        );
        assert_ne!(
            digest(Some(&raw(r#"["a","b"]"#))),
            digest(Some(&raw(r#"["a,b"]"#)))
        );
    }

    #[test]
    fn no_changed_text_opens() {
        let arguments = raw("{}");
        let seal = Seal::new([&b"secret"[..]], MINUTE);
        let text = seal.close(bound(&arguments), carried());
        assert_eq!(
            seal.open(bound(&arguments), &format!("{text}-TAMPERED")),
            None
        );
        assert_eq!(seal.open(bound(&arguments), &format!("{text}.")), None);
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(seal.open(bound(&arguments), &changed), None, "byte {at}");
            assert_eq!(
                seal.open(bound(&arguments), &text[..at]),
                None,
                "cut at {at}"
            );
        }
    }

    #[test]
    fn an_expired_text_does_not_open() {
        let arguments = raw("{}");
        let seal = Seal::new([&b"secret"[..]], Duration::ZERO);
        let text = seal.close(bound(&arguments), carried());
        assert_eq!(seal.open(bound(&arguments), &text), None);
    }

    #[test]
    fn every_key_opens_and_the_first_one_seals() {
        let arguments = raw("{}");
        let old = Seal::new([&b"old"[..]], MINUTE);
        let both = Seal::new([&b"new"[..], b"old"], MINUTE);
        let new = Seal::new([&b"new"[..]], MINUTE);
        let text = old.close(bound(&arguments), carried());
        assert_eq!(both.open(bound(&arguments), &text), Some(carried()));
        assert_eq!(new.open(bound(&arguments), &text), None);
        let text = both.close(bound(&arguments), carried());
        assert_eq!(new.open(bound(&arguments), &text), Some(carried()));
        assert_eq!(old.open(bound(&arguments), &text), None);
    }

    #[test]
    fn a_lifetime_without_end_is_no_overflow() {
        let arguments = raw("{}");
        let seal = Seal::new([&b"secret"[..]], Duration::MAX);
        let text = seal.close(bound(&arguments), carried());
        assert_eq!(seal.open(bound(&arguments), &text), Some(carried()));
    }
}
