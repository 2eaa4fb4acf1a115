//! Events that are kept, so that a legacy client whose stream broke can have them again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard};

/// Where an event stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place<'a> {
    /// The id of the session.
    pub session: &'a str,
    /// The stream, by its number in the session.
    pub stream: u64,
    /// The position in the stream. The first message has position 1.
    pub position: u64,
}

/// Keeps events of legacy sessions that have been sent, so that they can be sent again.
///
/// (MCP 2025-11-25, basic/transports, "Resumability and Redelivery")
///
/// Messages that could not be sent yet wait with their request, not here. The methods are called while an event is sent,
/// and must not block. A store may drop messages: they are not replayed, and nothing else happens.
pub trait EventStore: Send + Sync + 'static {
    /// Keeps a message. Those of one stream come in order.
    fn keep(&self, place: Place<'_>, message: &[u8]);

    /// Returns the messages of the stream after `place`, in order, each with its position; `None` if the stream is unknown.
    /// It must not return messages of other streams.
    fn behind(&self, place: Place<'_>) -> Option<Vec<(u64, Vec<u8>)>>;

    /// Forgets a session that has ended.
    fn forget(&self, session: &str);
}

/// An [`EventStore`] in memory, with limits: beyond them the oldest events are dropped.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use smol_mcp::http::{Endpoint, MemoryStore};
/// use smol_mcp::{NoInput, Server, Tool};
///
/// let server = Server::builder("clock", "1.0.0")
///     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
///     .build()?;
/// let endpoint = Endpoint::new(&server).event_store(MemoryStore::new());
/// # let _ = endpoint;
/// # Ok::<_, smol_mcp::Error>(())
/// ```
pub struct MemoryStore {
    kept: Mutex<Kept>,
    session_bytes: usize,
    bytes: usize,
}

#[derive(Default)]
struct Kept {
    sessions: HashMap<String, Events>,
    bytes: usize,
}

/// The events of one session, oldest first.
#[derive(Default)]
struct Events {
    queue: VecDeque<Event>,
    /// The streams of which something was kept, also if it is gone by now, with how much is left of each.
    streams: BTreeMap<u64, usize>,
    bytes: usize,
}

struct Event {
    stream: u64,
    position: u64,
    message: Vec<u8>,
}

/// What an event costs beside its message, roughly.
const OVERHEAD: usize = 64;
/// As many streams of a session are remembered as known whose events are gone.
const REMEMBERED: usize = 256;

impl Event {
    fn cost(&self) -> usize {
        self.message.len() + OVERHEAD
    }
}

impl Events {
    /// Drops the oldest event. Returns what that sets free.
    fn shrink(&mut self) -> usize {
        let Some(event) = self.queue.pop_front() else {
            return 0;
        };
        if let Some(count) = self.streams.get_mut(&event.stream) {
            *count -= 1;
        }
        while self.streams.len() > REMEMBERED
            && self
                .streams
                .first_key_value()
                .is_some_and(|(_, count)| *count == 0)
        {
            self.streams.pop_first();
        }
        self.bytes -= event.cost();
        event.cost()
    }
}

impl MemoryStore {
    /// Makes a store that keeps up to 1 MiB of events for a session, and up to 64 MiB in all.
    pub fn new() -> Self {
        Self::with_bounds(1 << 20, 64 << 20)
    }

    /// Makes a store with these limits, in bytes: for the events of one session, and of all.
    pub fn with_bounds(session: usize, all: usize) -> Self {
        Self {
            kept: Mutex::default(),
            session_bytes: session,
            bytes: all,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Kept {
    fn push(&mut self, session: &str, event: Event, most: usize) {
        let events = match self.sessions.get_mut(session) {
            Some(events) => events,
            None => self.sessions.entry(session.to_owned()).or_default(),
        };
        let cost = event.cost();
        *events.streams.entry(event.stream).or_default() += 1;
        events.queue.push_back(event);
        events.bytes += cost;
        self.bytes += cost;
        while events.bytes > most {
            self.bytes -= events.shrink();
        }
    }

    /// Takes from the session that has most, so that one client cannot push out what others need.
    fn shrink(&mut self) {
        if let Some(events) = self.sessions.values_mut().max_by_key(|events| events.bytes) {
            self.bytes -= events.shrink();
        }
    }
}

impl EventStore for MemoryStore {
    fn keep(&self, place: Place<'_>, message: &[u8]) {
        let event = Event {
            stream: place.stream,
            position: place.position,
            message: message.to_vec(),
        };
        let mut kept = self.kept();
        kept.push(place.session, event, self.session_bytes);
        while kept.bytes > self.bytes {
            kept.shrink();
        }
    }

    fn behind(&self, place: Place<'_>) -> Option<Vec<(u64, Vec<u8>)>> {
        let kept = self.kept();
        let events = kept.sessions.get(place.session)?;
        events.streams.get(&place.stream)?;
        let behind =
            |event: &&Event| event.stream == place.stream && event.position > place.position;
        let found = events.queue.iter().filter(behind);
        Some(
            found
                .map(|event| (event.position, event.message.clone()))
                .collect(),
        )
    }

    fn forget(&self, session: &str) {
        let mut kept = self.kept();
        if let Some(events) = kept.sessions.remove(session) {
            kept.bytes -= events.bytes;
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept();
        f.debug_struct("MemoryStore")
            .field("sessions", &kept.sessions.len())
            .field("bytes", &kept.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(session: &str, stream: u64, position: u64) -> Place<'_> {
        Place {
            session,
            stream,
            position,
        }
    }

    fn positions(store: &MemoryStore, at: Place<'_>) -> Option<Vec<u64>> {
        let behind = store.behind(at)?;
        Some(behind.into_iter().map(|(position, _)| position).collect())
    }

    // R112
    #[test]
    fn what_is_behind_a_place_is_of_its_own_stream_and_session() {
        let store = MemoryStore::new();
        for position in 1..=3 {
            store.keep(place("a", 1, position), b"{}");
            store.keep(place("a", 2, position), b"{}");
            store.keep(place("b", 1, position), b"{}");
        }
        assert_eq!(positions(&store, place("a", 1, 1)), Some(vec![2, 3]));
        assert_eq!(positions(&store, place("a", 2, 3)), Some(vec![]));
        assert_eq!(positions(&store, place("a", 3, 0)), None);
        assert_eq!(positions(&store, place("c", 1, 0)), None);
        store.forget("a");
        assert_eq!(positions(&store, place("a", 1, 0)), None);
        assert_eq!(positions(&store, place("b", 1, 0)), Some(vec![1, 2, 3]));
    }

    #[test]
    fn of_too_much_the_oldest_goes_and_the_largest_session_pays() {
        let store = MemoryStore::with_bounds(4 * (OVERHEAD + 10), 6 * (OVERHEAD + 10));
        for position in 1..=9 {
            store.keep(place("a", 1, position), &[b' '; 10]);
        }
        assert_eq!(positions(&store, place("a", 1, 0)), Some(vec![6, 7, 8, 9]));
        for position in 1..=3 {
            store.keep(place("b", 1, position), &[b' '; 10]);
        }
        assert_eq!(positions(&store, place("a", 1, 0)), Some(vec![7, 8, 9]));
        assert_eq!(positions(&store, place("b", 1, 0)), Some(vec![1, 2, 3]));
        // Larger than all there may be: nothing is left, and the stream is still known.
        store.keep(place("b", 1, 4), &[b' '; 4096]);
        assert_eq!(positions(&store, place("b", 1, 0)), Some(vec![]));
        assert_eq!(positions(&store, place("a", 1, 0)), Some(vec![7, 8, 9]));
    }
}
