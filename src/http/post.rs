//! One POST: a message in, a response out, at once or later.

use std::pin::Pin;
use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;

use super::Body;
use super::accepts::Accepts;
use super::authorize::Head;
use super::batch::Batch;
use super::endpoint::Inner;
use super::guard::Guard;
use super::respond::{aborted, accepted, anonymous, json, plain, refused, whole};
use super::session::{self, Found, Session};
use super::waiting::{Waiting, given_up};
use crate::era::{self, Around, Refusal, Route, modern};
use crate::protocol::jsonrpc::{self, Malformed, Message, Notification, Request, RpcError};
use crate::server::dispatch::{self, Caller, Intake};
use crate::server::journal;
use crate::signal::Signal;

/// What became of a POST by the time its message has been taken.
pub(super) enum Begun {
    Done(Response<Body>),
    Running(Waiting),
    /// Boxed, since batches are rare.
    Batch(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

/// Takes the message of a POST. What is answered at once is answered here, without a wait.
pub(super) fn begin(
    endpoint: &Arc<Inner>,
    head: &Head<'_>,
    body: &[u8],
    caller: Caller<'_>,
) -> Begun {
    let accepts = Accepts::read(head.headers);
    let most = endpoint.server.0.limits.message_bytes;
    if let Some(refusal) = refuse_form(head.headers, accepts, body.len(), most) {
        return Begun::Done(refusal);
    }
    let post = Post {
        endpoint,
        head,
        accepts,
        caller,
    };
    match jsonrpc::parse(body) {
        Ok(Message::Request(request)) => post.request(request),
        Ok(Message::Notification(notification)) => Begun::Done(post.notification(&notification)),
        Ok(Message::Response(response)) => Begun::Done(post.response(response)),
        Ok(Message::Batch(elements)) => post.batch(&elements),
        Err(Malformed { id, error, .. }) => {
            Begun::Done(refused(id.as_ref(), Refusal::new(400, error)))
        }
    }
}

/// Checks the form of a POST.
fn refuse_form(
    headers: &HeaderMap,
    accepts: Accepts,
    length: usize,
    most: usize,
) -> Option<Response<Body>> {
    let mut kinds = headers.get_all(&CONTENT_TYPE).iter();
    let kind = kinds.next().map(HeaderValue::as_bytes).unwrap_or_default();
    if kinds.next().is_some() {
        return Some(plain(
            StatusCode::BAD_REQUEST,
            "Content-Type appears twice\n",
        ));
    }
    let kind = kind
        .split(|&byte| byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    if !kind.eq_ignore_ascii_case(b"application/json") {
        let text = "the content type must be application/json\n";
        return Some(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    if !accepts.json && !accepts.stream {
        let text = "the client must accept application/json and text/event-stream\n";
        return Some(plain(StatusCode::NOT_ACCEPTABLE, text));
    }
    (length > most).then(|| {
        plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("at most {most} bytes\n"),
        )
    })
}

/// One POST whose message has been parsed.
struct Post<'a> {
    endpoint: &'a Arc<Inner>,
    head: &'a Head<'a>,
    accepts: Accepts,
    caller: Caller<'a>,
}

impl Post<'_> {
    fn request(&self, request: Request<'_>) -> Begun {
        let found = session::find(self.endpoint, self.head);
        if is_of_a_session(&request) {
            if let Some(refusal) = self.refuse_session(&request, &found) {
                return Begun::Done(refusal);
            }
        }
        let around = Around::Http {
            headers: self.head,
            session: found.version(),
        };
        let route = match era::route(&request, around, &self.endpoint.server.0.offers) {
            Ok(route) => route,
            Err(refusal) => return Begun::Done(refused_call(&request, refusal)),
        };
        match (route, found) {
            (Route::Handshake, _) => {
                let (endpoint, head) = (self.endpoint, self.head);
                let accepts = self.accepts;
                Begun::Done(session::begin(
                    endpoint,
                    head,
                    accepts,
                    request,
                    self.caller,
                ))
            }
            (route @ Route::Legacy(..), Found::Session(session)) => {
                self.run_in(session, request, route)
            }
            (route, _) => {
                let crowd = &self.endpoint.crowd;
                let intake = dispatch::run(crowd, request, route, Some(self.head), self.caller);
                self.attend(intake, None, None)
            }
        }
    }

    /// Checks what a legacy request says of its session.
    fn refuse_session(&self, request: &Request<'_>, found: &Found) -> Option<Response<Body>> {
        if matches!(found, Found::Unknown) {
            let ended = Refusal::new(404, session::ended());
            return Some(refused_call(request, ended));
        }
        let missing = self.endpoint.sessions.is_some() && matches!(found, Found::None);
        let refusal = match era::legacy::http_version(self.head, found.version()) {
            Err(refusal) => refusal,
            Ok(_) if missing => Refusal::new(400, session::unnamed()),
            Ok(_) => return None,
        };
        Some(refused_call(request, refusal))
    }

    fn run_in(&self, session: Arc<Session>, request: Request<'_>, route: Route) -> Begun {
        let (caller, apart) = self.kept_apart(self.endpoint.runs_on());
        let intake = dispatch::run(&session.peer, request, route, Some(self.head), caller);
        self.attend(intake, Some(session), apart)
    }

    /// What handlers are begun with, and the signal that they do not see: one that runs on must not see that its client
    /// has gone. Whatever else fires the signal is passed on.
    fn kept_apart(&self, runs_on: bool) -> (Caller<'_>, Option<Signal>) {
        if !runs_on || self.caller.signal.is_aborted() {
            return (self.caller, None);
        }
        let caller = Caller {
            signal: const { &Signal::never() },
            ..self.caller
        };
        (caller, Some(self.caller.signal.clone()))
    }

    /// Takes what there is at once.
    fn attend(
        &self,
        intake: Intake,
        session: Option<Arc<Session>>,
        apart: Option<Signal>,
    ) -> Begun {
        let call = match intake {
            Intake::Silent => return Begun::Done(accepted()),
            Intake::Answer(answer) => {
                return Begun::Done(whole(self.accepts, answer.status, answer.body));
            }
            Intake::Call(call) => call,
        };
        let runs_on = session.is_some() && self.endpoint.aborts == Some(false);
        let mut waiting = Waiting {
            kept: session.is_some() && self.endpoint.store.is_some() && self.accepts.stream,
            // A client without an event of the stream has nothing to come back with.
            call: Guard::new(call, apart, session).runs_on(runs_on),
            accepts: self.accepts,
            endpoint: self.endpoint.clone(),
        };
        let next = waiting.call.call().and_then(|call| call.take_next());
        // The caller may have given up while the handler ran.
        if let Some(reason) = given_up(self.caller.signal) {
            waiting.call.leave(reason);
            return Begun::Done(aborted());
        }
        match next.and_then(|next| waiting.respond(next, self.caller.signal)) {
            Some(response) => Begun::Done(response),
            None => Begun::Running(waiting),
        }
    }

    fn response(&self, response: jsonrpc::Response<'_>) -> Response<Body> {
        let found = session::find(self.endpoint, self.head);
        match found {
            Found::Session(session) => {
                let version = session.peer.legacy_version();
                if let Err(refusal) = era::legacy::http_version(self.head, version) {
                    return refused(None, refusal);
                }
                dispatch::respond(&session.peer, response);
                accepted()
            }
            Found::Unknown => session::gone(None),
            Found::None => {
                let text = "Invalid request: a response to no request";
                anonymous(400, RpcError::invalid_request(text))
            }
        }
    }

    fn notification(&self, notification: &Notification<'_>) -> Response<Body> {
        let claim = modern::claim(&notification.params);
        if claim.is_some() || era::names_modern_version(self.head) {
            return match modern::check_notification(self.head, claim.as_ref()) {
                Ok(()) => {
                    dispatch::notify(&self.endpoint.crowd, notification);
                    accepted()
                }
                Err(refusal) => refused(None, refusal),
            };
        }
        let found = session::find(self.endpoint, self.head);
        if matches!(found, Found::Unknown) {
            return session::gone(None);
        }
        if let Err(refusal) = era::legacy::http_version(self.head, found.version()) {
            return refused(None, refusal);
        }
        match found {
            Found::Session(session) => dispatch::notify(&session.peer, notification),
            _ if self.endpoint.sessions.is_some() => return anonymous(400, session::unnamed()),
            _ => dispatch::notify(&self.endpoint.crowd, notification),
        }
        accepted()
    }

    /// Takes an array of messages, where the revision knows such a thing (2025-03-26, basic).
    fn batch(&self, elements: &[&RawValue]) -> Begun {
        let found = session::find(self.endpoint, self.head);
        if matches!(found, Found::Unknown) {
            return Begun::Done(session::gone(None));
        }
        let version = era::legacy::http_version(self.head, found.version());
        let (peer, session) = match (found, &self.endpoint.sessions) {
            (Found::Session(session), _) => (Some(session.peer.clone()), Some(session)),
            (_, None) => (Some(self.endpoint.crowd.clone()), None),
            (_, Some(_)) => (None, None),
        };
        let refusal = match version.is_ok_and(era::has_batches) {
            true => dispatch::refuse_length(&self.endpoint.server.0, elements.len()),
            false => Some(dispatch::refuse_batch()),
        };
        let claims = || elements.iter().any(|element| has_claim(element));
        let peer = match (refusal, peer) {
            (None, Some(peer)) if !claims() => peer,
            (refusal, _) => {
                let answer = refusal.unwrap_or_else(dispatch::refuse_batch);
                return Begun::Done(json(answer.status, answer.body));
            }
        };
        // Its answers are an array, to which nobody can come back: only what was chosen lets its handlers run on.
        let runs_on = session.is_some() && self.endpoint.aborts == Some(false);
        let (caller, apart) = self.kept_apart(runs_on);
        let mut batch = Batch::new(self.accepts, session, apart);
        let around = Around::Http {
            headers: self.head,
            session: peer.legacy_version(),
        };
        dispatch::batch(&peer, elements, around, caller, |intake| {
            batch.take(intake);
        });
        match batch.is_answered() {
            true => Begun::Done(batch.response()),
            false => Begun::Batch(Box::pin(batch.wait(self.caller.signal.clone()))),
        }
    }
}

/// Tells whether a request can belong to a session: neither does it open one, nor stand for itself.
fn is_of_a_session(request: &Request<'_>) -> bool {
    request.method != "initialize" && modern::claim(&request.params).is_none()
}

/// Tells whether an element of a batch claims to be of the era that knows no batches.
fn has_claim(element: &RawValue) -> bool {
    match jsonrpc::parse_str(element.get()) {
        Ok(Message::Request(request)) => modern::claim(&request.params).is_some(),
        Ok(Message::Notification(note)) => modern::claim(&note.params).is_some(),
        _ => false,
    }
}

#[cold]
fn refused_call(request: &Request<'_>, refusal: Refusal) -> Response<Body> {
    journal::refused(&request.method, &request.id, &refusal.error);
    refused(Some(&request.id), refusal)
}
