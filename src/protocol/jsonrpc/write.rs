//! Outbound messages, and the JSON that they are made of.

use serde_core::ser::Serialize;
use serde_json::Value;

use super::error::RpcError;
use super::id::Id;

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
