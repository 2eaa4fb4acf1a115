//! Errors as they are sent, and what their messages may quote.

use std::borrow::Cow;
use std::fmt;

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// A JSON-RPC error as it is sent: part of the protocol, not a Rust error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// The error code.
    pub code: i64,
    /// One short sentence.
    pub message: Cow<'static, str>,
    /// Details that the code defines, if it defines any.
    pub data: Option<Value>,
}

impl RpcError {
    /// The input is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The input is JSON, but not a request.
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

    /// Creates an error of code -32603 with a text that reveals nothing.
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL_ERROR, "Internal error")
    }

    /// Adds data.
    #[must_use]
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
