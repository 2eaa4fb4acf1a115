//! Legacy sessions over HTTP: made by `initialize`, named by `Mcp-Session-Id`, ended by DELETE or by idleness.
//!
//! (MCP 2025-11-25, basic/transports, "Session Management")

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use super::Body;
use super::accepts::Accepts;
use super::authorize::Head;
use super::endpoint::Inner;
use super::flow::Carrier;
use super::headers::add;
use super::messages;
use super::respond::{anonymous, plain, refused, whole};
use super::resume::Flows;
use super::sessions;
use crate::era::{self, Refusal, Route};
use crate::protocol::Version;
use crate::protocol::jsonrpc::{Id, Request, RpcError};
use crate::server::dispatch::{self, Caller, Intake};
use crate::server::peer::{Kind, Peer};
use crate::signal::{Reason, Signal};

static SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// One session: a peer with a name.
pub(super) struct Session {
    pub(super) peer: Arc<Peer>,
    pub(super) id: Arc<str>,
    /// Whom it was opened by, if that is known. Only the same may use it.
    owner: Option<Box<str>>,
    touched: Mutex<Instant>,
    /// How many responses are on their way to the client, or wait for what they are to say.
    responses: AtomicUsize,
    /// Counts the streams whose events have ids.
    pub(super) streams: AtomicU64,
    /// The stream of messages that belong to no request.
    listening: Mutex<Carrier>,
    /// The streams of calls that their client may come back to.
    flows: Mutex<Flows>,
}

/// What the `Mcp-Session-Id` of a request names.
pub(super) enum Found {
    /// The request names none, or the endpoint has none.
    None,
    /// One that has ended, or never was.
    Unknown,
    Session(Arc<Session>),
}

impl Found {
    pub(super) fn version(&self) -> Option<Version> {
        match self {
            Found::Session(session) => session.peer.legacy_version(),
            Found::None | Found::Unknown => None,
        }
    }
}

impl Session {
    fn new(id: Arc<str>, owner: Option<&str>, peer: Arc<Peer>) -> Self {
        Self {
            peer,
            id,
            owner: owner.map(Into::into),
            touched: Mutex::new(Instant::now()),
            responses: AtomicUsize::new(0),
            streams: AtomicU64::new(0),
            listening: Mutex::default(),
            flows: Mutex::default(),
        }
    }

    fn touched(&self) -> MutexGuard<'_, Instant> {
        self.touched
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Notes that the session is in use.
    pub(super) fn touch(&self) {
        *self.touched() = Instant::now();
    }

    pub(super) fn listening(&self) -> MutexGuard<'_, Carrier> {
        self.listening
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn flows(&self) -> MutexGuard<'_, Flows> {
        self.flows
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A session whose client has a stream open, or waits for an answer, is in use. One whose handlers run on without a
    /// client is not: somebody has to come back for what they say.
    pub(super) fn is_idle(&self, idle: Duration) -> bool {
        let busy = self.responses.load(Ordering::Relaxed) > 0 || self.peer.feed.is_watched();
        !busy && self.touched().elapsed() >= idle
    }

    /// Aborts what runs, and ends the streams. Handlers run to their ends; nothing of them leaves.
    pub(super) fn end(&self, endpoint: &Inner) {
        // The responses that carry the streams find that they do no more, and keep nothing.
        self.listening().turn += 1;
        for call in self.peer.inflight.calls() {
            call.silence(Reason::Closed);
        }
        self.peer.feed.close();
        if let Some(store) = &endpoint.store {
            store.end(self);
        }
    }
}

/// A session that is in use until this is dropped, and whose idle time begins then.
pub(super) struct InUse(Arc<Session>);

impl InUse {
    pub(super) fn new(session: Arc<Session>) -> Self {
        session.responses.fetch_add(1, Ordering::Relaxed);
        Self(session)
    }

    pub(super) fn session(&self) -> &Arc<Session> {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.touch();
        self.0.responses.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Finds the session that a request names.
pub(super) fn find(endpoint: &Inner, head: &Head<'_>) -> Found {
    let (Some(sessions), Some(id)) = (&endpoint.sessions, head.headers.get(&SESSION_ID)) else {
        return Found::None;
    };
    match id.to_str().ok().and_then(|id| sessions.get(endpoint, id)) {
        // To anybody else it does not exist (2025-11-25, security best practices, "Session Hijacking").
        Some(session) if session.owner.as_deref() == head.owner() => {
            session.touch();
            Found::Session(session)
        }
        _ => Found::Unknown,
    }
}

/// Refuses a request that names two sessions, or two places to continue from: nobody knows which one is meant.
pub(super) fn refuse_repeated(headers: &HeaderMap) -> Option<Response<Body>> {
    let is_repeated = |name: &HeaderName| headers.get_all(name).iter().nth(1).is_some();
    let name = if is_repeated(&SESSION_ID) {
        "Mcp-Session-Id"
    } else if is_repeated(&LAST_EVENT_ID) {
        "Last-Event-ID"
    } else {
        return None;
    };
    Some(repeated(name))
}

#[cold]
fn repeated(name: &str) -> Response<Body> {
    let text = format!("Invalid request: {name} appears twice");
    anonymous(400, RpcError::invalid_request(text))
}

/// The answer to a request of a session that is no more.
pub(super) fn gone(id: Option<&Id>) -> Response<Body> {
    refused(id, Refusal::new(404, ended()))
}

/// The error for whoever names a session that is not, or not any more.
pub(super) fn ended() -> RpcError {
    RpcError::invalid_request("Invalid request: the session has ended")
}

/// The error for a request that should have named its session.
pub(super) fn unnamed() -> RpcError {
    RpcError::invalid_request("Invalid request: Mcp-Session-Id is missing")
}

/// Serves `initialize`.
pub(super) fn begin(
    endpoint: &Inner,
    head: &Head<'_>,
    accepts: Accepts,
    request: Request<'_>,
    caller: Caller<'_>,
) -> Response<Body> {
    let Some(sessions) = &endpoint.sessions else {
        return shake_hands(&endpoint.crowd, accepts, request, caller);
    };
    if matches!(find(endpoint, head), Found::Session(_)) {
        let error = RpcError::invalid_request("Invalid request: already initialized");
        return refused(Some(&request.id), Refusal::new(400, error));
    }
    if !sessions.has_room(endpoint) {
        return refused(Some(&request.id), too_many());
    }
    let name = match sessions::new_id() {
        Ok(name) => name,
        Err(err) => {
            log::error!("no random bytes for a session: {err}");
            return refused(Some(&request.id), Refusal::new(500, RpcError::internal()));
        }
    };
    let peer = Peer::new(&endpoint.server.0, Kind::Session);
    let id = request.id.clone();
    let mut response = shake_hands(&peer, accepts, request, caller);
    if peer.legacy_version().is_some() {
        let value = HeaderValue::from_str(&name).expect("hexadecimal digits");
        add(response.headers_mut(), SESSION_ID.clone(), value);
        if !sessions.insert(Session::new(name.into(), head.owner(), peer)) {
            return refused(Some(&id), too_many());
        }
    }
    response
}

#[cold]
fn too_many() -> Refusal {
    let error = RpcError::new(RpcError::INTERNAL_ERROR, "Too many sessions");
    Refusal::new(503, error)
}

fn shake_hands(
    peer: &Arc<Peer>,
    accepts: Accepts,
    request: Request<'_>,
    caller: Caller<'_>,
) -> Response<Body> {
    match dispatch::run(peer, request, Route::Handshake, None, caller) {
        Intake::Answer(answer) => whole(accepts, answer.status, answer.body),
        Intake::Silent | Intake::Call(_) => anonymous(500, RpcError::internal()),
    }
}

/// Finds the session of a GET or DELETE, which is nothing without one.
fn find_named(endpoint: &Inner, head: &Head<'_>) -> Result<Arc<Session>, Box<Response<Body>>> {
    let found = find(endpoint, head);
    if let Err(refusal) = era::legacy::http_version(head, found.version()) {
        return Err(refused(None, refusal).into());
    }
    match found {
        Found::None => Err(anonymous(400, unnamed()).into()),
        Found::Unknown => Err(gone(None).into()),
        Found::Session(session) => Ok(session),
    }
}

/// Serves GET: the stream of messages that belong to no request, or the rest of a stream that broke.
pub(super) fn listen(endpoint: &Inner, head: &Head<'_>, signal: &Signal) -> Response<Body> {
    if !Accepts::read(head.headers).stream {
        return plain(
            StatusCode::NOT_ACCEPTABLE,
            "the client must accept text/event-stream\n",
        );
    }
    let session = match find_named(endpoint, head) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    let store = endpoint.store.as_deref();
    if let (Some(store), Some(id)) = (store, head.headers.get(&LAST_EVENT_ID)) {
        return store.resume(endpoint, session, id, signal);
    }
    let log = store.map(|store| store.log(&session, endpoint.retry));
    let mut first = Vec::new();
    if let Some(log) = &log {
        log.begin(&mut first);
    }
    let mut listening = session.listening();
    listening.turn += 1;
    listening.log = log;
    let turn = listening.turn;
    drop(listening);
    messages::response(endpoint, session, turn, first, signal)
}

/// Serves DELETE.
pub(super) fn end(endpoint: &Inner, head: &Head<'_>) -> Response<Body> {
    let session = match find_named(endpoint, head) {
        Ok(session) => session,
        Err(refusal) => return *refusal,
    };
    if let Some(sessions) = &endpoint.sessions {
        sessions.remove(&session.id);
    }
    session.end(endpoint);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
