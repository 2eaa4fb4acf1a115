//! Why a piece of protocol data was refused.

use std::error::Error;
use std::fmt;

/// Says why a piece of protocol data was refused: a word, a template, a schema, an answer.
///
/// Its text is one clause without a full stop that names the thing at fault. It quotes only the peer
/// or the definition, so it may be sent to a client.
///
/// ```
/// use smol_mcp::protocol::LogLevel;
///
/// let err = "loud".parse::<LogLevel>().unwrap_err();
/// assert_eq!(err.to_string(), r#"unknown log level "loud""#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Box<str>);

impl Invalid {
    pub(crate) fn new(message: impl Into<Box<str>>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Error for Invalid {}
