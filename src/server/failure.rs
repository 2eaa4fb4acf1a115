//! How a handler fails: in public, or not.

use std::error::Error as StdError;
use std::fmt;

use super::ask::AskError;
use crate::protocol::RpcError;
use crate::signal::{Aborted, Reason};

/// Anything that an error can be, as the standard library and others box it.
pub(super) type AnyError = Box<dyn StdError + Send + Sync>;

/// The failure of a handler.
///
/// Any [`std::error::Error`] becomes one by `?`. It is then *unexpected*: the client reads a generic text, and the operator
/// gets all of it. [`public`](Self::public) makes a text for the client and the model behind it.
///
/// Like other error types that accept every error by `?`, it does not implement [`std::error::Error`] itself.
///
/// ```
/// use smol_mcp::HandlerError;
///
/// fn depth(text: &str) -> Result<u32, HandlerError> {
///     let depth = text.parse()?; // unexpected: a client that called a tool reads "The tool failed."
///     if depth > 8 {
///         return Err(HandlerError::public(format!("'depth' must be at most 8; got {depth}.")));
///     }
///     Ok(depth)
/// }
/// # assert!(depth("x").is_err());
/// ```
///
/// # Other errors
///
/// A handler may also return a `Result` whose error is a `Box<dyn Error + Send + Sync>`, or anything that converts into
/// one: a text, or the error type of a crate such as anyhow. Such an error is unexpected, except that a `HandlerError`
/// which became one by `?` stays what it is.
///
/// ```
/// use std::error::Error;
/// use smol_mcp::{HandlerError, NoInput, Tool};
///
/// async fn pick(_: NoInput) -> Result<String, Box<dyn Error + Send + Sync>> {
///     let number: usize = "3".parse()?; // unexpected
///     let colour = ["red", "green"].get(number);
///     let colour = colour.ok_or_else(|| HandlerError::public("There is none left."))?; // public
///     Ok(colour.to_string())
/// }
///
/// let tool = Tool::new("pick", pick);
/// # let _ = tool;
/// ```
///
/// In a function that returns `HandlerError`, convert a boxed error with `.map_err(HandlerError::unexpected)?`: `?` alone
/// does not take it, since a box is not itself an error type. Convert an error that is not `Sync` to text with
/// `.map_err(|err| HandlerError::unexpected(err.to_string()))?`: this type is `Sync`, so that futures which hold one
/// stay `Send`.
#[must_use = "a failure does nothing until it is returned"]
pub struct HandlerError(pub(crate) Box<Kind>);

pub(crate) enum Kind {
    /// Text for the client; a tool result with `isError`, or an error -32603 elsewhere.
    Public(String),
    /// A protocol error, as it is.
    Rpc(RpcError),
    /// The resource does not exist; each era has its own code for it.
    NotFound,
    /// Anything else.
    Unexpected(AnyError),
    /// A panic, or the loss of the future.
    Broken(String),
}

impl HandlerError {
    /// Creates a failure whose text the client reads.
    ///
    /// A tool answers with a result with `isError`, which the model reads; anything else answers with an error -32603 with
    /// this text. For another code see [`rpc`](Self::rpc): a wrong argument of a prompt is
    /// `HandlerError::rpc(RpcError::invalid_params("…"))`.
    pub fn public(text: impl Into<String>) -> Self {
        Self(Box::new(Kind::Public(text.into())))
    }

    /// Creates a failure that answers the request with a JSON-RPC error instead of a result.
    ///
    /// Codes of an application lie outside -32768 to -32000 (JSON-RPC 2.0, section 5.1). Within that range, a code that
    /// handlers may not use becomes -32603; so does -32021 unless its data has an object `requiredCapabilities`.
    pub fn rpc(error: RpcError) -> Self {
        Self(Box::new(Kind::Rpc(error)))
    }

    /// Creates an unexpected failure: the client reads a generic text.
    pub fn unexpected(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(Box::new(Kind::Unexpected(error.into())))
    }

    /// Creates the failure of reading a resource that does not exist.
    pub fn not_found() -> Self {
        Self(Box::new(Kind::NotFound))
    }

    /// Takes what a handler returned as its error. One of ours that was boxed on the way is what it was.
    pub(super) fn of(error: impl Into<AnyError>) -> Self {
        Self::of_any(error.into())
    }

    #[inline(never)]
    fn of_any(error: AnyError) -> Self {
        match error.downcast::<Boxed>() {
            Ok(boxed) => boxed.0,
            Err(error) => match find::<AskError>(&*error) {
                Some(asked) => asked.to_failure(),
                None => Self(Box::new(Kind::Unexpected(error))),
            },
        }
    }

    pub(crate) fn broken(text: String) -> Self {
        Self(Box::new(Kind::Broken(text)))
    }

    /// Tells whether the client may read the text.
    pub fn is_public(&self) -> bool {
        matches!(*self.0, Kind::Public(_) | Kind::Rpc(_) | Kind::NotFound)
    }

    /// Returns the reason of the signal that ended the handler, if one did.
    ///
    /// The [`Aborted`] may also be a [source](std::error::Error::source) of another error.
    pub fn reason(&self) -> Option<&Reason> {
        match &*self.0 {
            Kind::Unexpected(error) => find::<Aborted>(&**error).map(Aborted::reason),
            _ => None,
        }
    }

    /// Tells whether the handler ended because a signal had fired.
    pub fn is_aborted(&self) -> bool {
        self.reason().is_some()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::of_any(Box::new(error))
    }
}

/// Finds an error of one kind in another, or behind it.
fn find<'a, Kind: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a Kind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// A failure of ours among errors of all kinds.
struct Boxed(HandlerError);

impl fmt::Display for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Boxed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Boxed {}

impl From<HandlerError> for AnyError {
    fn from(error: HandlerError) -> Self {
        Self::from(Boxed(error))
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Public(text) => f.write_str(text),
            Kind::Rpc(error) => error.fmt(f),
            Kind::NotFound => f.write_str("not found"),
            Kind::Unexpected(error) => {
                error.fmt(f)?;
                let mut source = error.source();
                while let Some(cause) = source {
                    write!(f, ": {cause}")?;
                    source = cause.source();
                }
                Ok(())
            }
            Kind::Broken(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &*self.0 {
            Kind::Public(_) => "public",
            Kind::Rpc(_) => "rpc",
            Kind::NotFound => "not found",
            Kind::Unexpected(_) => "unexpected",
            Kind::Broken(_) => "broken",
        };
        write!(f, "HandlerError({kind}: {self})")
    }
}
