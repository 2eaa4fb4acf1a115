//! One POST: a message in, and JSON or a stream out, decided as late as can be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_lite::future;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use super::Body;
use super::accepts::Accepts;
use super::endpoint::{Inner, accepted, accepts, anonymous, json, plain};
use super::session::{self, Found};
use super::sse::{self, Events};
use crate::era::{self, Around, Field, Mirrored, Refusal, Route, modern};
use crate::protocol::jsonrpc::{self, Malformed, Message, Notification, Request, RpcError};
use crate::server::call::{Call, Next};
use crate::server::dispatch::{self, Intake};
use crate::server::peer::Peer;
use crate::signal::{Deadline, Reason, Signal, Wait};

/// The label of the deadline after which a response begins as a stream.
pub(super) const PATIENCE: &str = "patience";

/// What became of a POST by the time its message has been taken.
pub(super) enum Begun {
    Done(Response<Body>),
    Running(Waiting),
    Batch(Batch),
}

/// A call whose answer is not there yet.
pub(super) struct Waiting {
    call: Guard,
    accepts: Accepts,
    endpoint: Arc<Inner>,
}

/// Ends a call whose response is dropped before its end: nobody reads it any more.
pub(super) struct Guard(Option<Arc<Call>>);

impl Guard {
    pub(super) fn call(&self) -> Option<&Arc<Call>> {
        self.0.as_ref()
    }

    /// The call has said all it had to say.
    pub(super) fn disarm(&mut self) {
        self.0 = None;
    }

    /// Ends the call for a reason that is known.
    pub(super) fn silence(&mut self, reason: Reason) {
        if let Some(call) = self.0.take() {
            call.silence(reason);
        }
    }

    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        match &self.0 {
            Some(call) => call.poll_next(cx),
            None => Poll::Ready(Next::Silence),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.silence(Reason::Disconnected);
    }
}

impl Mirrored for HeaderMap {
    fn field(&self, name: &str) -> Field<'_> {
        Field::new(self.get_all(name).iter().map(HeaderValue::as_bytes))
    }
}

/// Takes the message of a POST. What is answered at once is answered here, without a wait.
pub(super) fn begin(
    endpoint: &Arc<Inner>,
    headers: &HeaderMap,
    body: &[u8],
    signal: &Signal,
) -> Begun {
    let accepts = accepts(headers);
    if let Some(refusal) = refuse_form(
        headers,
        accepts,
        body.len(),
        endpoint.server.0.limits.message_bytes,
    ) {
        return Begun::Done(refusal);
    }
    let post = Post {
        endpoint,
        headers,
        accepts,
        signal,
    };
    match jsonrpc::parse(body) {
        Ok(Message::Request(request)) => post.request(request),
        Ok(Message::Notification(notification)) => Begun::Done(post.notification(&notification)),
        Ok(Message::Response(response)) => Begun::Done(match session::find(endpoint, headers) {
            Found::Session(session) => {
                dispatch::respond(&session.peer, response);
                accepted()
            }
            Found::Unknown => session::gone(None),
            Found::None => anonymous(
                400,
                &RpcError::invalid_request("Invalid request: a response to nothing"),
            ),
        }),
        Ok(Message::Batch(elements)) => post.batch(&elements),
        Err(Malformed { id, error, .. }) => {
            Begun::Done(json(400, era::refuse(id.as_ref(), &error)))
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
    let kind = headers
        .get(CONTENT_TYPE)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
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
    headers: &'a HeaderMap,
    accepts: Accepts,
    signal: &'a Signal,
}

impl Post<'_> {
    fn request(&self, request: Request<'_>) -> Begun {
        let found = session::find(self.endpoint, self.headers);
        if matches!(found, Found::Unknown) && is_of_a_session(&request) {
            return Begun::Done(session::gone(Some(&request.id)));
        }
        let around = Around::Http {
            headers: self.headers,
            session: found.version(),
        };
        let offers = self.endpoint.offers();
        let route = match era::route(&request, around, &offers) {
            Ok(route) => route,
            Err(refusal) => return Begun::Done(refused(&request, &refusal)),
        };
        match route {
            Route::Handshake => Begun::Done(session::begin(self.endpoint, request, self.signal)),
            Route::Modern(_) => self.run(&self.endpoint.crowd, request, route),
            Route::Legacy(..) => match (found, &self.endpoint.sessions) {
                (Found::Session(session), _) => self.run(&session.peer, request, route),
                (_, None) => self.run(&self.endpoint.crowd, request, route),
                (_, Some(_)) => {
                    let error =
                        RpcError::invalid_request("Invalid request: Mcp-Session-Id is missing");
                    Begun::Done(refused(&request, &Refusal::new(400, error)))
                }
            },
        }
    }

    fn run(&self, peer: &Arc<Peer>, request: Request<'_>, route: Route) -> Begun {
        let intake = dispatch::run(peer, request, route, Some(self.headers), self.signal);
        let call = match intake {
            Intake::Silent => return Begun::Done(accepted()),
            Intake::Answer(answer) => return Begun::Done(self.whole(answer.status, answer.body)),
            Intake::Call(call) => call,
        };
        let mut waiting = Waiting {
            call: Guard(Some(call.clone())),
            accepts: self.accepts,
            endpoint: self.endpoint.clone(),
        };
        match call.take_next() {
            Some(next) => match waiting.respond(next) {
                Some(response) => Begun::Done(response),
                None => Begun::Running(waiting),
            },
            None => Begun::Running(waiting),
        }
    }

    /// A response with an answer that was there at once.
    fn whole(&self, status: u16, body: Vec<u8>) -> Response<Body> {
        whole(self.accepts, status, body)
    }

    fn notification(&self, notification: &Notification<'_>) -> Response<Body> {
        let claim = modern::claim(&notification.params).is_some();
        if claim || era::names_modern_version(self.headers) {
            dispatch::notify(&self.endpoint.crowd, notification);
            return accepted();
        }
        let found = session::find(self.endpoint, self.headers);
        if let Err(refusal) = era::legacy::http_version(self.headers, found.version()) {
            return anonymous(refusal.status, &refusal.error);
        }
        match (found, &self.endpoint.sessions) {
            (Found::Session(session), _) => dispatch::notify(&session.peer, notification),
            (Found::Unknown, Some(_)) => return session::gone(None),
            (Found::None, Some(_)) => {
                let error = RpcError::invalid_request("Invalid request: Mcp-Session-Id is missing");
                return anonymous(400, &error);
            }
            (_, None) => dispatch::notify(&self.endpoint.crowd, notification),
        }
        accepted()
    }

    /// Takes an array of messages, where the revision knows such a thing (2025-03-26, basic).
    fn batch(&self, elements: &[&serde_json::value::RawValue]) -> Begun {
        let found = session::find(self.endpoint, self.headers);
        if matches!(found, Found::Unknown) {
            return Begun::Done(session::gone(None));
        }
        let version = era::legacy::http_version(self.headers, found.version());
        let peer = match (found, &self.endpoint.sessions) {
            (Found::Session(session), _) => Some(session.peer.clone()),
            (_, None) => Some(self.endpoint.crowd.clone()),
            (_, Some(_)) => None,
        };
        let (Some(peer), true) = (
            peer,
            version.is_ok_and(era::has_batches) && !elements.is_empty(),
        ) else {
            let answer = dispatch::refuse_batch();
            return Begun::Done(json(answer.status, answer.body));
        };
        let mut batch = Batch::default();
        for element in elements {
            let around = era::Around::Http {
                headers: self.headers,
                session: peer.legacy_version(),
            };
            batch.take(dispatch::element(&peer, element.get(), around, self.signal));
        }
        match batch.calls.is_empty() {
            true => Begun::Done(batch.response()),
            false => Begun::Batch(batch),
        }
    }
}

/// Tells whether a request can belong to a session: neither does it open one, nor stand for itself.
fn is_of_a_session(request: &Request<'_>) -> bool {
    request.method != "initialize" && modern::claim(&request.params).is_none()
}

fn refused(request: &Request<'_>, refusal: &Refusal) -> Response<Body> {
    json(
        refusal.status,
        era::refuse(Some(&request.id), &refusal.error),
    )
}

/// A response with one message, in the form that the client takes.
fn whole(accepts: Accepts, status: u16, body: Vec<u8>) -> Response<Body> {
    match accepts.json {
        true => json(status, body),
        false => {
            let mut response = sse::response(Body::full(sse::event(&body)));
            *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            response
        }
    }
}

impl Waiting {
    /// Makes the response of the first thing that the call says; `None` if the client does not take it.
    fn respond(&mut self, next: Next) -> Option<Response<Body>> {
        match next {
            Next::Answer(answer) => {
                self.call.disarm();
                Some(whole(self.accepts, answer.status, answer.body))
            }
            Next::Message(message) if self.accepts.stream => {
                Some(self.stream(sse::event(&message)))
            }
            Next::Message(_) => None,
            // The client does not want an answer, and its stream ends without one.
            Next::Silence => {
                self.call.disarm();
                Some(sse::response(Body::empty()))
            }
        }
    }

    /// Commits to a stream that begins with `first`.
    fn stream(&mut self, first: Vec<u8>) -> Response<Body> {
        let call = Guard(self.call.0.take());
        sse::response(Body::stream(Events::new(
            call,
            first,
            self.endpoint.keep_alive,
        )))
    }

    /// Waits for the first thing that the call says.
    pub(super) async fn wait(mut self, signal: &Signal) -> Response<Body> {
        let patience = Deadline::after(self.endpoint.patience).named(PATIENCE);
        let mut wait = match self.accepts.stream {
            true => signal.any(patience).aborted(),
            false => signal.aborted(),
        };
        let mut watched = true;
        loop {
            match future::poll_fn(|cx| self.poll(cx, &mut wait, watched)).await {
                Event::Next(next) => {
                    if let Some(response) = self.respond(next) {
                        return response;
                    }
                }
                Event::Fired(Reason::Deadline(Some(PATIENCE))) => {
                    return self.stream(sse::COMMENT.to_vec());
                }
                // What ends within the grace is still answered; after it the call is ended by the server.
                Event::Fired(Reason::ServerClosed) => watched = false,
                Event::Fired(reason) => {
                    self.call.silence(reason);
                    return plain(StatusCode::SERVICE_UNAVAILABLE, "aborted\n");
                }
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, wait: &mut Wait, watched: bool) -> Poll<Event> {
        if let Poll::Ready(next) = self.call.poll_next(cx) {
            return Poll::Ready(Event::Next(next));
        }
        match watched {
            true => Pin::new(wait).poll(cx).map(Event::Fired),
            false => Poll::Pending,
        }
    }
}

enum Event {
    Next(Next),
    Fired(Reason),
}

/// The answers of a batch, as far as they are there.
#[derive(Default)]
pub(super) struct Batch {
    answers: Vec<Vec<u8>>,
    calls: Vec<Guard>,
}

impl Batch {
    fn take(&mut self, intake: Intake) {
        match intake {
            Intake::Silent => {}
            Intake::Answer(answer) => self.answers.push(answer.body),
            Intake::Call(call) => self.calls.push(Guard(Some(call))),
        }
    }

    fn response(self) -> Response<Body> {
        if self.answers.is_empty() {
            return accepted();
        }
        let mut body = b"[".to_vec();
        body.extend_from_slice(&self.answers.join(&b","[..]));
        body.push(b']');
        json(200, body)
    }

    /// Waits for all that is missing. Messages that would precede an answer have no place in an array.
    pub(super) async fn wait(mut self, signal: &Signal) -> Response<Body> {
        for mut call in std::mem::take(&mut self.calls) {
            loop {
                let next = signal.run(future::poll_fn(|cx| call.poll_next(cx))).await;
                match next {
                    Ok(Next::Message(_)) => continue,
                    Ok(Next::Answer(answer)) => self.answers.push(answer.body),
                    Ok(Next::Silence) => {}
                    Err(aborted) => {
                        call.silence(aborted.into_reason());
                    }
                }
                call.disarm();
                break;
            }
        }
        self.response()
    }
}
