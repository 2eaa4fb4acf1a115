//! Requests that the listener itself turns down.

/// Why a request is refused: a status and a sentence for the client. The connection closes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) text: &'static str,
}

impl Refusal {
    pub(crate) const HEAD_TOO_LARGE: Self = Self::new(431, "the head of the request is too large");
    pub(crate) const BODY_TOO_LARGE: Self = Self::new(413, "the body of the request is too large");
    pub(crate) const TIMEOUT: Self = Self::new(408, "the request took too long to arrive");
    pub(crate) const CLOSING: Self = Self::new(503, "the server is closing");
    pub(crate) const BROKEN: Self = Self::new(500, "internal error");

    pub(crate) const fn new(status: u16, text: &'static str) -> Self {
        Self { status, text }
    }

    /// A request that breaks the rules of HTTP, or that two readers could understand in two ways.
    pub(crate) const fn bad(text: &'static str) -> Self {
        Self::new(400, text)
    }
}
