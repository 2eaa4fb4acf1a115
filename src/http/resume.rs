//! Streams of a session that outlive the connection which carries them: their ids, and how a client comes back to one.
//!
//! An id names the stream and the position in it: `3-1` is the first message of the third stream of its session.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Context;
use std::time::Duration;

use http::Response;
use http::header::HeaderValue;

use super::Body;
use super::endpoint::Inner;
use super::events::{EventStore, Place};
use super::flow::{Carrier, Log};
use super::guard::Guard;
use super::messages;
use super::respond::anonymous;
use super::session::Session;
use super::sse::{self, Events, Part};
use crate::era;
use crate::protocol::jsonrpc::RpcError;
use crate::server::call::Call;
use crate::signal::{Reason, Signal};

/// As many streams of a session are kept for their client whose handlers have ended.
const MOST_FLOWS: usize = 64;

/// What an event store makes possible.
pub(super) trait Resume: Send + Sync {
    /// A new stream of a session.
    fn log(&self, session: &Session, retry: Duration) -> Box<dyn Log>;

    /// Makes the stream of a call one that its client may come back to, and writes what it begins with.
    fn begin(
        &self,
        session: &Arc<Session>,
        call: &Arc<Call>,
        retry: Duration,
        first: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Box<dyn Part>;

    /// Continues a stream behind the last event that the client has seen of it.
    fn resume(
        &self,
        endpoint: &Inner,
        session: Arc<Session>,
        id: &HeaderValue,
        signal: &Signal,
    ) -> Response<Body>;

    /// Ends the streams of a session, and forgets it.
    fn end(&self, session: &Session);
}

/// Makes streams of a session ones that can be resumed.
pub(super) struct Resumption(pub(super) Arc<dyn EventStore>);

/// The stream of one call.
pub(super) struct Flow {
    call: Arc<Call>,
    carrier: Mutex<Carrier>,
}

impl Flow {
    /// Whoever holds this is the only one to take messages and to number them.
    fn carrier(&self) -> MutexGuard<'_, Carrier> {
        self.carrier
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The streams of calls that a client may come back to, by their numbers.
#[derive(Default)]
pub(super) struct Flows(Vec<(u64, Arc<Flow>)>);

impl Flows {
    fn place(&self, number: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&number, |(number, _)| *number)
    }

    fn get(&self, number: u64) -> Option<Arc<Flow>> {
        let at = self.place(number).ok()?;
        Some(self.0[at].1.clone())
    }

    fn insert(&mut self, number: u64, flow: Arc<Flow>) {
        self.make_room();
        let (Ok(at) | Err(at)) = self.place(number);
        self.0.insert(at, (number, flow));
    }

    /// Forgets the oldest of too many whose handlers have ended. Those that run are bounded by the calls in flight, and may
    /// have ended in any number since the last time.
    fn make_room(&mut self) {
        if self.0.len() < MOST_FLOWS {
            return;
        }
        let has_ended = |(_, flow): &(u64, Arc<Flow>)| !flow.call.is_open();
        let ended = self.0.iter().filter(|flow| has_ended(flow)).count();
        let mut excess = (ended + 1).saturating_sub(MOST_FLOWS);
        self.0.retain(|flow| {
            let goes = excess > 0 && has_ended(flow);
            excess -= usize::from(goes);
            !goes
        });
    }

    fn remove(&mut self, number: u64) {
        if let Ok(at) = self.place(number) {
            self.0.remove(at);
        }
    }
}

impl Resumption {
    fn kept(&self, session: &Session, retry: Duration) -> Kept {
        Kept {
            store: self.0.clone(),
            session: session.id.clone(),
            stream: session.streams.fetch_add(1, Ordering::Relaxed) + 1,
            position: 0,
            polled: session.peer.legacy_version().is_some_and(era::has_polling),
            retry,
        }
    }

    /// Writes again what a stream said behind an event. Tells whether anything is known of the stream.
    fn replay(&self, session: &str, id: EventId, out: &mut Vec<u8>) -> bool {
        let EventId { stream, position } = id;
        let place = Place {
            session,
            stream,
            position,
        };
        let Some(messages) = self.0.behind(place) else {
            return false;
        };
        for (position, message) in messages {
            write(out, stream, position, &message);
        }
        true
    }
}

impl Resume for Resumption {
    fn log(&self, session: &Session, retry: Duration) -> Box<dyn Log> {
        Box::new(self.kept(session, retry))
    }

    fn begin(
        &self,
        session: &Arc<Session>,
        call: &Arc<Call>,
        retry: Duration,
        first: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Box<dyn Part> {
        let mut log = self.kept(session, retry);
        let stream = log.stream;
        let flow = Arc::new(Flow {
            call: call.clone(),
            carrier: Mutex::default(),
        });
        let mut carrier = flow.carrier();
        session.flows().insert(stream, flow.clone());
        log.begin(out);
        if let Some(first) = first {
            log.push(out, first);
        }
        carrier.log = Some(Box::new(log));
        drop(carrier);
        Box::new(Carried {
            session: session.clone(),
            flow,
            stream,
            turn: 0,
        })
    }

    fn resume(
        &self,
        endpoint: &Inner,
        session: Arc<Session>,
        id: &HeaderValue,
        signal: &Signal,
    ) -> Response<Body> {
        let unknown = || {
            let text = "Invalid request: Last-Event-ID is unknown";
            anonymous(400, RpcError::invalid_request(text))
        };
        let Some(id) = id.to_str().ok().and_then(EventId::parse) else {
            return unknown();
        };
        let mut out = Vec::new();
        let mut listening = session.listening();
        if listening.log.as_ref().map(|log| log.stream()) == Some(id.stream) {
            self.replay(&session.id, id, &mut out);
            listening.turn += 1;
            let turn = listening.turn;
            drop(listening);
            return messages::response(endpoint, session, turn, out, signal);
        }
        drop(listening);
        let flow = session.flows().get(id.stream);
        let Some(flow) = flow else {
            // All was sent once, and perhaps not all arrived.
            return match self.replay(&session.id, id, &mut out) {
                true => sse::response(Body::full(out)),
                false => unknown(),
            };
        };
        let mut carrier = flow.carrier();
        self.replay(&session.id, id, &mut out);
        carrier.turn += 1;
        let turn = carrier.turn;
        drop(carrier);
        flow.call.nudge();
        let guard = Guard::new(
            flow.call.clone(),
            Some(signal.clone()),
            Some(session.clone()),
        )
        .runs_on(endpoint.runs_on());
        let part = Box::new(Carried {
            session,
            flow,
            stream: id.stream,
            turn,
        });
        let events = Events::new(guard, out, endpoint.keep_alive, signal).part(Some(part));
        sse::response(Body::stream(events))
    }

    fn end(&self, session: &Session) {
        // Not under the lock: whoever carries a stream takes it while it holds that of the stream.
        let flows = std::mem::take(&mut *session.flows());
        for (_, flow) in flows.0 {
            flow.carrier().turn += 1;
            flow.call.silence(Reason::Closed);
        }
        self.0.forget(&session.id);
    }
}

/// The place of a response among those that carry the stream of a call.
struct Carried {
    session: Arc<Session>,
    flow: Arc<Flow>,
    stream: u64,
    turn: u64,
}

impl Part for Carried {
    fn carries(&self) -> bool {
        self.flow.carrier().turn == self.turn
    }

    fn drain(&mut self, call: &mut Guard, cx: &mut Context<'_>, out: &mut Vec<u8>) {
        let mut carrier = self.flow.carrier();
        if carrier.turn != self.turn {
            // The client has come back on another connection, which carries the stream now.
            return call.disarm();
        }
        sse::drain(call, Some(&mut carrier), cx, out);
        // Nothing is left to be sent.
        if self.flow.call.is_over() {
            self.session.flows().remove(self.stream);
        }
    }
}

/// The events of a stream, which a store keeps.
struct Kept {
    store: Arc<dyn EventStore>,
    session: Arc<str>,
    stream: u64,
    position: u64,
    /// Whether the client knows that a stream may end before its answer.
    polled: bool,
    retry: Duration,
}

impl Log for Kept {
    fn stream(&self) -> u64 {
        self.stream
    }

    /// An event without data, by whose id the client can come back. Clients of earlier revisions would take the missing
    /// data for a message.
    fn begin(&self, out: &mut Vec<u8>) {
        if self.polled {
            write(out, self.stream, 0, b"");
        }
    }

    fn push(&mut self, out: &mut Vec<u8>, message: &[u8]) {
        self.position += 1;
        let place = Place {
            session: &self.session,
            stream: self.stream,
            position: self.position,
        };
        self.store.keep(place, message);
        write(out, self.stream, self.position, message);
    }

    fn let_go(&self, out: &mut Vec<u8>) -> bool {
        if self.polled {
            let retry = format!("retry: {}\n\n", self.retry.as_millis());
            out.extend_from_slice(retry.as_bytes());
        }
        self.polled
    }
}

/// The number of a stream, and a position in it, as an id says them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EventId {
    stream: u64,
    position: u64,
}

impl EventId {
    /// Reads an id of ours; `None` for any other.
    fn parse(text: &str) -> Option<Self> {
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

fn write(out: &mut Vec<u8>, stream: u64, position: u64, message: &[u8]) {
    out.extend_from_slice(format!("id: {stream}-{position}\n").as_bytes());
    sse::push(out, message);
}
