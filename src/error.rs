//! The error of the crate: what goes wrong while a server is set up.

use std::error::Error as StdError;
use std::fmt;
use std::io;

/// What went wrong while a server was set up. Clients are never told.
pub struct Error(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Definition(String),
    Io { what: String, source: io::Error },
}

impl Error {
    pub(crate) fn definition(message: impl Into<String>) -> Self {
        Self(Box::new(Kind::Definition(message.into())))
    }

    pub(crate) fn twice(what: &str, name: &str) -> Self {
        Self::definition(format!("{what} {name:?} registered twice"))
    }

    #[allow(dead_code)] // Only transports meet the operating system.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self(Box::new(Kind::Io {
            what: what.into(),
            source,
        }))
    }

    /// Tells whether a definition is wrong; the message names the thing.
    pub fn is_definition(&self) -> bool {
        matches!(*self.0, Kind::Definition(_))
    }

    /// Tells whether the operating system refused something.
    pub fn is_io(&self) -> bool {
        matches!(*self.0, Kind::Io { .. })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Definition(message) => f.write_str(message),
            Kind::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.0 {
            Kind::Definition(_) => None,
            Kind::Io { source, .. } => Some(source),
        }
    }
}

/// Keeps the kind and the message. What the operating system said is the [source](StdError::source).
impl From<Error> for io::Error {
    fn from(err: Error) -> Self {
        let kind = match &*err.0 {
            Kind::Io { source, .. } => source.kind(),
            Kind::Definition(_) => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, err)
    }
}
