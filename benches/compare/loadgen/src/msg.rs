//! The MCP messages the meter sends, in both eras.
use crate::stats::quote;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proto {
    /// 2026-07-28: no handshake, metadata in every request.
    Modern,
    /// 2025-11-25: `initialize`, then plain requests.
    Legacy,
}

impl Proto {
    pub fn version(self) -> &'static str {
        match self {
            Proto::Modern => "2026-07-28",
            Proto::Legacy => "2025-11-25",
        }
    }
    pub fn name(self) -> &'static str {
        match self {
            Proto::Modern => "modern",
            Proto::Legacy => "legacy",
        }
    }
}

/// The text of a call. With a `token` it asks for progress.
fn call(proto: Proto, id: u64, tool: &str, arguments: &str, token: bool) -> String {
    let mut meta = Vec::new();
    if proto == Proto::Modern {
        meta.push(
            concat!(
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"loadgen","version":"0"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}"#
            )
            .to_string(),
        );
    }
    if token {
        meta.push(format!(r#""progressToken":{id}"#));
    }
    let meta = match meta.is_empty() {
        true => String::new(),
        false => format!(r#","_meta":{{{}}}"#, meta.join(",")),
    };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{meta}}}}}"#
    )
}

pub fn echo(proto: Proto, id: u64, payload: &str) -> String {
    let arguments = format!(r#"{{"text":{}}}"#, quote(payload));
    call(proto, id, "echo", &arguments, false)
}

pub fn slow(proto: Proto, id: u64, tag: &str, seconds: f64, token: bool) -> String {
    let arguments = format!(r#"{{"tag":{},"seconds":{seconds}}}"#, quote(tag));
    call(proto, id, "slow", &arguments, token)
}

pub fn initialize(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"loadgen","version":"0"}}}}}}"#
    )
}

pub const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

pub fn cancelled(id: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"bench"}}}}"#
    )
}

/// The numeric `id` of a response; `None` for anything without one.
///
/// Looks at text rather than parsing: an `echo` payload is chosen by the meter
/// and never contains `"id":`.
pub fn response_id(body: &[u8]) -> Option<u64> {
    let at = find(body, b"\"id\":")? + 5;
    let mut n: u64 = 0;
    let mut any = false;
    for &b in body[at..].iter().skip_while(|b| **b == b' ') {
        if b.is_ascii_digit() {
            n = n.wrapping_mul(10).wrapping_add((b - b'0') as u64);
            any = true;
        } else {
            break;
        }
    }
    any.then_some(n)
}

pub fn is_success(body: &[u8]) -> bool {
    find(body, b"\"result\":").is_some() && find(body, b"\"isError\":true").is_none()
}

pub fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|w| w == needle)
}
