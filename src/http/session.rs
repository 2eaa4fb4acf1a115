//! Legacy sessions over HTTP: made by `initialize`, named by `Mcp-Session-Id`, ended by DELETE or by idleness.
//!
//! (MCP 2025-11-25, basic/transports, "Session Management")

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_lite::Stream;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use super::Body;
use super::endpoint::{Inner, accepts, json, plain};
use super::sse::{self, Pulse};
use crate::era::{self, Route};
use crate::protocol::Version;
use crate::protocol::jsonrpc::{Id, Request, RpcError};
use crate::server::dispatch::{self, Intake};
use crate::server::peer::{Kind, Peer};
use crate::signal::{Reason, Signal};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The sessions of an endpoint.
pub(super) struct Sessions {
    table: Mutex<HashMap<String, Arc<Session>>>,
    most: usize,
    idle: Duration,
}

/// One session: a peer with a name.
pub(super) struct Session {
    pub(super) peer: Arc<Peer>,
    touched: Mutex<Instant>,
    /// Counts the GET streams. The newest one gets the messages, those before it have ended.
    streams: AtomicU64,
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

impl Default for Sessions {
    fn default() -> Self {
        Self::new(1000, Duration::from_secs(30 * 60))
    }
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self {
            table: Mutex::default(),
            most,
            idle,
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.table
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn get(&self, id: &str) -> Option<Arc<Session>> {
        let session = self.table().get(id).cloned()?;
        session.touch();
        Some(session)
    }

    /// Ends the sessions that nobody uses. Tells whether there is room for one more.
    fn sweep(&self) -> bool {
        let mut ended = Vec::new();
        let mut table = self.table();
        table.retain(|_, session| {
            let idle = session.is_idle(self.idle);
            if idle {
                ended.push(session.clone());
            }
            !idle
        });
        let room = table.len() < self.most;
        drop(table);
        ended.iter().for_each(|session| session.end());
        room
    }

    fn insert(&self, id: String, session: Arc<Session>) {
        self.table().insert(id, session);
    }

    fn remove(&self, id: &str) -> Option<Arc<Session>> {
        self.table().remove(id)
    }
}

impl Session {
    fn touched(&self) -> MutexGuard<'_, Instant> {
        self.touched
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn touch(&self) {
        *self.touched() = Instant::now();
    }

    /// A session whose client has a stream open, or waits for an answer, is in use.
    fn is_idle(&self, idle: Duration) -> bool {
        let busy = self.peer.inflight.len() > 0 || self.peer.feed.is_watched();
        !busy && self.touched().elapsed() >= idle
    }

    /// Aborts what runs, and ends the streams. Handlers run to their ends; nothing of them leaves.
    fn end(&self) {
        for call in self.peer.inflight.calls() {
            call.silence(Reason::Closed);
        }
        self.peer.feed.close();
    }
}

/// Finds the session that a request names.
pub(super) fn find(endpoint: &Inner, headers: &HeaderMap) -> Found {
    let (Some(sessions), Some(id)) = (&endpoint.sessions, headers.get(SESSION_ID)) else {
        return Found::None;
    };
    match id.to_str().ok().and_then(|id| sessions.get(id)) {
        Some(session) => Found::Session(session),
        None => Found::Unknown,
    }
}

/// The answer to a request of a session that is no more.
pub(super) fn gone(id: Option<&Id>) -> Response<Body> {
    json(
        404,
        era::refuse(
            id,
            &RpcError::invalid_request("Invalid request: the session has ended"),
        ),
    )
}

/// Serves `initialize`.
pub(super) fn begin(endpoint: &Inner, request: Request<'_>, signal: &Signal) -> Response<Body> {
    let Some(sessions) = &endpoint.sessions else {
        return shake_hands(&endpoint.crowd, request, signal);
    };
    if !sessions.sweep() {
        let error = RpcError::new(RpcError::INTERNAL_ERROR, "Too many sessions");
        return json(503, era::refuse(Some(&request.id), &error));
    }
    let id = match new_id() {
        Ok(id) => id,
        Err(err) => {
            log::error!("no random bytes for a session: {err}");
            return json(500, era::refuse(Some(&request.id), &RpcError::internal()));
        }
    };
    let peer = Peer::new(&endpoint.server.0, Kind::Session);
    let mut response = shake_hands(&peer, request, signal);
    if peer.legacy_version().is_some() {
        let value = HeaderValue::from_str(&id).expect("hexadecimal digits");
        response.headers_mut().insert(SESSION_ID, value);
        let session = Session {
            peer,
            touched: Mutex::new(Instant::now()),
            streams: AtomicU64::new(0),
        };
        sessions.insert(id, Arc::new(session));
    }
    response
}

fn shake_hands(peer: &Arc<Peer>, request: Request<'_>, signal: &Signal) -> Response<Body> {
    match dispatch::run(peer, request, Route::Handshake, None, signal) {
        Intake::Answer(answer) => json(answer.status, answer.body),
        Intake::Silent | Intake::Call(_) => json(500, era::refuse(None, &RpcError::internal())),
    }
}

/// 128 random bits: nobody guesses another's.
fn new_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled +=
            rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Serves GET: the stream of messages that belong to no request.
pub(super) fn listen(endpoint: &Inner, headers: &HeaderMap) -> Response<Body> {
    if !accepts(headers).stream {
        return plain(
            StatusCode::NOT_ACCEPTABLE,
            "the client must accept text/event-stream\n",
        );
    }
    match find(endpoint, headers) {
        Found::None => plain(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing\n"),
        Found::Unknown => gone(None),
        Found::Session(session) => {
            let number = session.streams.fetch_add(1, Ordering::SeqCst) + 1;
            // The stream before this one looks again, and finds that it is the newest no more.
            session.peer.feed.nudge();
            let messages = Messages {
                session,
                number,
                begun: false,
                pulse: Pulse::new(endpoint.keep_alive),
            };
            sse::response(Body::stream(messages))
        }
    }
}

/// Serves DELETE.
pub(super) fn end(endpoint: &Inner, headers: &HeaderMap) -> Response<Body> {
    let id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    let (Some(sessions), Some(id)) = (&endpoint.sessions, id) else {
        return plain(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing\n");
    };
    match sessions.remove(id) {
        None => gone(None),
        Some(session) => {
            session.end();
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
    }
}

/// The messages of a session, as events.
struct Messages {
    session: Arc<Session>,
    number: u64,
    begun: bool,
    pulse: Pulse,
}

impl Stream for Messages {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.session.streams.load(Ordering::SeqCst) != self.number {
            return Poll::Ready(None);
        }
        match self.session.peer.feed.poll_message(cx) {
            Poll::Ready(Some(message)) => return Poll::Ready(Some(Ok(sse::event(&message)))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if !std::mem::replace(&mut self.begun, true) {
            // Clients learn that the stream stands.
            return Poll::Ready(Some(Ok(sse::COMMENT.to_vec())));
        }
        self.pulse
            .poll(cx)
            .map(|()| Some(Ok(sse::COMMENT.to_vec())))
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.session.touch();
        if self.session.streams.load(Ordering::SeqCst) == self.number {
            self.session.peer.feed.forget();
        }
    }
}
