//! The body of a response: at once, or piece by piece.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_lite::Stream;

/// A stream of pieces, boxed.
pub(crate) type Pieces = Pin<Box<dyn Stream<Item = io::Result<Vec<u8>>> + Send>>;

/// The body of a response.
///
/// # Cancellation
///
/// When the client hangs up while a streamed body is sent, the signal of the request fires first, and the stream is
/// dropped right after it.
///
/// # Examples
///
/// ```
/// use futures_lite::stream;
/// use smol_mcp::http::Body;
///
/// let whole = Body::full("hello");
/// assert_eq!(whole.as_full(), Some(&b"hello"[..]));
///
/// let pieces = Body::stream(stream::iter([Ok(b"a".to_vec()), Ok(b"b".to_vec())]));
/// assert_eq!(pieces.as_full(), None);
/// ```
pub struct Body(pub(crate) Repr);

/// What a body is made of; the listener matches on it.
pub(crate) enum Repr {
    Full(Vec<u8>),
    /// Sent in chunks, or to an HTTP/1.0 client until the connection closes.
    Stream(Pieces),
    /// Sent with its length told in the head.
    Sized(u64, Pieces),
}

impl Body {
    /// Makes a body without any bytes.
    pub fn empty() -> Self {
        Self::full(Vec::new())
    }

    /// Makes a body of these bytes. Head and body are sent in one write.
    pub fn full(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Repr::Full(bytes.into()))
    }

    /// Makes a body of unknown length. Each item is sent in one write, as one chunk; empty items are skipped.
    ///
    /// The end of the body is sent together with the last item if the stream's
    /// [`size_hint`](Stream::size_hint) is `(0, Some(0))` by then. An item that is an error ends the connection without
    /// the end of the body, so that the client can tell that something is missing.
    pub fn stream(pieces: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static) -> Self {
        Self(Repr::Stream(Box::pin(pieces)))
    }

    /// Makes a body of `length` bytes that come piece by piece. Each item is sent in one write.
    ///
    /// A stream that yields more or fewer bytes ends the connection; bytes beyond `length` are never sent.
    pub fn sized(
        length: u64,
        pieces: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
    ) -> Self {
        Self(Repr::Sized(length, Box::pin(pieces)))
    }

    /// Returns the bytes, or `None` for a streamed body.
    pub fn as_full(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::Full(bytes) => Some(bytes),
            Repr::Stream(_) | Repr::Sized(..) => None,
        }
    }

    /// Takes the bytes out, if they are all there.
    #[cfg(feature = "tide")]
    pub(crate) fn into_full(self) -> Result<Vec<u8>, Self> {
        match self.0 {
            Repr::Full(bytes) => Ok(bytes),
            streamed => Err(Self(streamed)),
        }
    }

    /// Takes the next piece.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Vec<u8>>>> {
        match &mut self.0 {
            Repr::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Repr::Full(bytes) => Poll::Ready(Some(Ok(std::mem::take(bytes)))),
            Repr::Stream(pieces) | Repr::Sized(_, pieces) => pieces.as_mut().poll_next(cx),
        }
    }
}

/// The pieces, for those who send the body by another listener.
impl Stream for Body {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_piece(cx)
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::full(bytes)
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::full(text)
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        Self::full(text)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Full(bytes) => f.debug_tuple("Full").field(&bytes.len()).finish(),
            Repr::Stream(_) => f.write_str("Stream"),
            Repr::Sized(length, _) => f.debug_tuple("Sized").field(length).finish(),
        }
    }
}
