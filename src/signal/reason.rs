//! Why a signal fired.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Says why a [`Signal`](super::Signal) fired.
///
/// A reason is for the program and its operator. It is never sent to a peer.
///
/// # Examples
///
/// ```
/// use smol_mcp::signal::Reason;
///
/// assert_eq!(Reason::Disconnected.to_string(), "the client disconnected");
/// assert_eq!(Reason::Deadline(Some("upstream")).to_string(), "deadline \"upstream\" passed");
/// assert_eq!(
///     Reason::cancelled("no longer\nneeded").to_string(),
///     "cancelled by the client: no longer\\nneeded",
/// );
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The client cancelled the call, with its text if it gave one.
    ///
    /// The text comes from the client: do not trust it. [`Reason::cancelled`] cuts it, and `Display` escapes it.
    Cancelled(Option<Arc<str>>),
    /// The client hung up: it closed the connection or stream of the response.
    Disconnected,
    /// The input, the connection or the session ended.
    Closed,
    /// The server closes.
    ServerClosed,
    /// A deadline passed, with its name if it was [named](super::Deadline::named).
    Deadline(Option<&'static str>),
    /// A reason of the application.
    Application(Arc<dyn Error + Send + Sync>),
}

impl Reason {
    /// As many characters of a client's text are kept.
    const TEXT: usize = 256;

    /// Makes the reason of a cancellation by the client, with the first 256 characters of its text.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::signal::Reason;
    ///
    /// let Reason::Cancelled(Some(text)) = Reason::cancelled(&"é".repeat(1000)) else { panic!() };
    /// assert_eq!(text.chars().count(), 256);
    /// ```
    pub fn cancelled(text: &str) -> Self {
        let end = text
            .char_indices()
            .nth(Self::TEXT)
            .map_or(text.len(), |(index, _)| index);
        Self::Cancelled(Some(text[..end].into()))
    }

    /// Makes a reason from an error of the application.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::signal::Reason;
    ///
    /// assert_eq!(Reason::application("the disk is full").to_string(), "the disk is full");
    /// ```
    pub fn application(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Application(error.into().into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled(None) => f.write_str("cancelled by the client"),
            Self::Cancelled(Some(text)) => {
                write!(f, "cancelled by the client: {}", text.escape_debug())
            }
            Self::Disconnected => f.write_str("the client disconnected"),
            Self::Closed => f.write_str("the connection closed"),
            Self::ServerClosed => f.write_str("the server closed"),
            Self::Deadline(None) => f.write_str("a deadline passed"),
            Self::Deadline(Some(label)) => write!(f, "deadline {label:?} passed"),
            Self::Application(error) => error.fmt(f),
        }
    }
}

/// The error of work that stopped because its [`Signal`](super::Signal) fired.
///
/// `Display` shows the reason.
///
/// # Examples
///
/// ```
/// use smol_mcp::Signal;
/// use smol_mcp::signal::Reason;
///
/// let err = Signal::fired(Reason::Closed).check().unwrap_err();
/// assert!(matches!(err.reason(), Reason::Closed));
/// assert_eq!(err.to_string(), "aborted: the connection closed");
/// ```
#[derive(Clone, Debug)]
pub struct Aborted(Reason);

impl Aborted {
    /// Returns the reason.
    pub fn reason(&self) -> &Reason {
        &self.0
    }

    /// Returns the reason, by value.
    pub fn into_reason(self) -> Reason {
        self.0
    }
}

impl fmt::Display for Aborted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aborted: {}", self.0)
    }
}

impl Error for Aborted {
    /// Returns what is below the application's own error; the error itself is part of the text.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Reason::Application(error) => error.source(),
            _ => None,
        }
    }
}

impl From<Reason> for Aborted {
    fn from(reason: Reason) -> Self {
        Self(reason)
    }
}

impl From<Aborted> for Reason {
    fn from(err: Aborted) -> Self {
        err.0
    }
}
