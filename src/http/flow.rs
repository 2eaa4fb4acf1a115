//! Which response carries a stream of a session now, and what becomes of its events.

use super::sse;

/// Which response carries a stream, and what its next event is called.
#[derive(Default)]
pub(super) struct Carrier {
    /// The number of the response that carries the stream. Those before it have ended.
    pub(super) turn: u64,
    /// `None` for a stream whose events have no ids.
    pub(super) log: Option<Box<dyn Log>>,
}

/// Names the events of a stream, and keeps them.
///
/// A trait, like all that an event store makes possible, so that programs without a store do not carry it.
pub(super) trait Log: Send {
    /// The number of the stream.
    fn stream(&self) -> u64;

    /// Writes what a stream begins with, so that its client can come back before the first message.
    fn begin(&self, out: &mut Vec<u8>);

    /// Writes one event, and keeps it.
    fn push(&mut self, out: &mut Vec<u8>, message: &[u8]);

    /// Tells the client when to come back for the rest, and returns true if it knows that a stream may end early.
    fn let_go(&self, out: &mut Vec<u8>) -> bool;
}

impl Carrier {
    /// Writes one event, and keeps it if events are kept.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, message: &[u8]) {
        match &mut self.log {
            Some(log) => log.push(out, message),
            None => sse::push(out, message),
        }
    }
}
