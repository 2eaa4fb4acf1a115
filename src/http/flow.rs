//! Streams of a session that outlive the connection which carries them: their ids, and who carries them now.
//!
//! An id names the stream and the position in it: `3-1` is the first message of the third stream of its session.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::events::{EventStore, Place};
use super::sse;
use crate::server::call::Call;

/// The stream of one call.
pub(super) struct Flow {
    pub(super) call: Arc<Call>,
    pub(super) stream: u64,
    carrier: Mutex<Carrier>,
}

impl Flow {
    pub(super) fn new(call: Arc<Call>, stream: u64, carrier: Carrier) -> Arc<Self> {
        let carrier = Mutex::new(carrier);
        Arc::new(Self {
            call,
            stream,
            carrier,
        })
    }

    /// Whoever holds this is the only one to take messages and to number them.
    pub(super) fn carrier(&self) -> MutexGuard<'_, Carrier> {
        self.carrier
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Tells whether there is nothing left to be sent.
    pub(super) fn is_over(&self) -> bool {
        self.call.is_over()
    }
}

/// Which response carries a stream, and what its next event is called.
pub(super) struct Carrier {
    /// The number of the response that carries the stream. Those before it have ended.
    pub(super) turn: u64,
    /// Whether the client knows that a stream may end before its answer.
    pub(super) polled: bool,
    log: Option<Log>,
    retry: Duration,
}

/// Names the events of a stream, and keeps them.
struct Log {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: u64,
    position: u64,
}

/// The number of a stream, and a position in it, as an id says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) position: u64,
}

impl EventId {
    /// Reads an id of ours; `None` for any other.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, position) = text.split_once('-')?;
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().ok(),
            false => None,
        };
        Some(Self {
            stream: number(stream)?,
            position: number(position)?,
        })
    }
}

impl Carrier {
    /// A stream whose events have no ids.
    pub(super) fn plain() -> Self {
        Self {
            turn: 0,
            polled: false,
            log: None,
            retry: Duration::ZERO,
        }
    }

    /// A stream whose events are kept.
    pub(super) fn kept(
        store: Arc<dyn EventStore>,
        session: Arc<str>,
        stream: u64,
        polled: bool,
        retry: Duration,
    ) -> Self {
        let log = Some(Log {
            store,
            session,
            stream,
            position: 0,
        });
        Self {
            turn: 0,
            polled,
            log,
            retry,
        }
    }

    /// The number of the stream, if its events have ids.
    pub(super) fn stream(&self) -> Option<u64> {
        self.log.as_ref().map(|log| log.stream)
    }

    /// Writes what a stream begins with: an event without data, by whose id the client can come back.
    ///
    /// Clients of earlier revisions would take the missing data for a message.
    pub(super) fn begin(&self, out: &mut Vec<u8>) {
        match &self.log {
            Some(log) if self.polled => write(out, log.stream, 0, b""),
            _ => {}
        }
    }

    /// Writes one event, and keeps it.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, message: &[u8]) {
        let Some(log) = &mut self.log else {
            return sse::push(out, message);
        };
        log.position += 1;
        log.store.keep(log.place(log.position), message);
        write(out, log.stream, log.position, message);
    }

    /// Tells the client when to come back for the rest.
    pub(super) fn retry(&self) -> String {
        format!("retry: {}\n\n", self.retry.as_millis())
    }
}

impl Log {
    fn place(&self, position: u64) -> Place<'_> {
        Place {
            session: &self.session,
            stream: self.stream,
            position,
        }
    }
}

/// Writes again what a stream said behind an event. Tells whether anything is known of the stream.
pub(super) fn replay(
    store: &dyn EventStore,
    session: &str,
    id: EventId,
    out: &mut Vec<u8>,
) -> bool {
    let EventId { stream, position } = id;
    let place = Place {
        session,
        stream,
        position,
    };
    let Some(messages) = store.behind(place) else {
        return false;
    };
    for (position, message) in messages {
        write(out, stream, position, &message);
    }
    true
}

fn write(out: &mut Vec<u8>, stream: u64, position: u64, message: &[u8]) {
    out.extend_from_slice(format!("id: {stream}-{position}\n").as_bytes());
    sse::push(out, message);
}
