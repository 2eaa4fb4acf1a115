//! One POST: a message in, and JSON or a stream out, decided as late as can be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_lite::future;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;

use super::Body;
use super::accepts::Accepts;
use super::authorize::Head;
use super::endpoint::{Inner, accepted, accepts, anonymous, json, plain, refused};
use super::session::{self, Found, Session};
use super::sse::{self, Events};
use crate::era::{self, Around, Refusal, Route, modern};
use crate::protocol::jsonrpc::{self, Malformed, Message, Notification, Request, RpcError};
use crate::server::call::Call;
use crate::server::dispatch::{self, Caller, Intake};
use crate::server::journal;
use crate::server::outlet::Next;
use crate::signal::{Deadline, Reason, Signal, Wait};

/// The label of the deadline after which a response begins as a stream. No application has one of this name.
const PATIENCE: &str = "smol-mcp: the head of the response is due";

/// What became of a POST by the time its message has been taken.
pub(super) enum Begun {
    Done(Response<Body>),
    Running(Waiting),
    /// Boxed, since batches are rare.
    Batch(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

/// A call whose answer is not there yet.
pub(super) struct Waiting {
    call: Guard,
    accepts: Accepts,
    endpoint: Arc<Inner>,
    /// Whether the client may come back to the stream of the call.
    kept: bool,
}

/// Leaves a call whose response is dropped before its end: nobody reads it any more.
pub(super) struct Guard {
    call: Option<Arc<Call>>,
    /// The signal of the request, if the handler has been given another one: it is not to notice by itself that its client
    /// has gone.
    apart: Option<Signal>,
    /// Whether the handler runs on when its client hangs up.
    runs_on: bool,
    /// The session of the call. It is in use until the response ends.
    session: Option<Arc<Session>>,
}

impl Guard {
    pub(super) fn new(
        call: Arc<Call>,
        apart: Option<Signal>,
        session: Option<Arc<Session>>,
    ) -> Self {
        let call = Some(call);
        Self {
            call,
            apart,
            runs_on: false,
            session,
        }
    }

    /// Says whether the handler runs on when its client hangs up. It does not by default.
    pub(super) fn runs_on(mut self, runs_on: bool) -> Self {
        self.runs_on = runs_on;
        self
    }

    pub(super) fn call(&self) -> Option<&Arc<Call>> {
        self.call.as_ref()
    }

    /// Hands the duty on.
    fn take(&mut self) -> Self {
        Self {
            call: self.call.take(),
            apart: self.apart.take(),
            runs_on: self.runs_on,
            session: self.session.take(),
        }
    }

    /// There is no more to read here.
    pub(super) fn disarm(&mut self) {
        self.call = None;
    }

    /// Tells the handler of an end that is near. Its answer may still leave.
    pub(super) fn abort(&self, reason: Reason) {
        if let Some(call) = &self.call {
            call.controller.abort(reason);
        }
    }

    /// Nobody reads here any more, for a reason that is known.
    pub(super) fn leave(&mut self, reason: Reason) {
        let Some(call) = self.call.take() else {
            return;
        };
        if !(self.runs_on && matches!(reason, Reason::Disconnected)) {
            call.silence(reason);
        }
    }

    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        match &self.call {
            Some(call) => call.poll_next(cx),
            None => Poll::Ready(Next::Silence),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let fired = self.apart.as_ref().and_then(Signal::reason);
        self.leave(fired.unwrap_or(Reason::Disconnected));
        if let Some(session) = &self.session {
            session.touch();
        }
    }
}

/// Takes the message of a POST. What is answered at once is answered here, without a wait.
pub(super) fn begin(
    endpoint: &Arc<Inner>,
    head: &Head<'_>,
    body: &[u8],
    caller: Caller<'_>,
) -> Begun {
    let accepts = accepts(head.headers);
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
        // A handler that runs on must not see that its client has gone. Whatever else fires the signal is passed on.
        let runs_on = self.endpoint.runs_on() && !self.caller.signal.is_aborted();
        let apart = runs_on.then(|| self.caller.signal.clone());
        let never = Signal::never();
        let signal = if runs_on { &never } else { self.caller.signal };
        let caller = Caller {
            signal,
            ..self.caller
        };
        let intake = dispatch::run(&session.peer, request, route, Some(self.head), caller);
        self.attend(intake, Some(session), apart)
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
        // The caller may have given up while the handler ran in place.
        match self.caller.signal.reason() {
            None | Some(Reason::ServerClosed) => {}
            Some(reason) => {
                waiting.call.leave(reason);
                return Begun::Done(aborted());
            }
        }
        let next = waiting.call.call().and_then(|call| call.take_next());
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
                let text = "Invalid request: a response to nothing";
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
        let known = version.is_ok_and(era::has_batches)
            && !elements.is_empty()
            && !elements.iter().any(|element| has_claim(element));
        let Some(peer) = peer.filter(|_| known) else {
            let answer = dispatch::refuse_batch();
            return Begun::Done(json(answer.status, answer.body));
        };
        let mut batch = Batch {
            answers: Vec::new(),
            calls: Vec::new(),
            session,
            accepts: self.accepts,
        };
        let around = era::Around::Http {
            headers: self.head,
            session: peer.legacy_version(),
        };
        dispatch::batch(&peer, elements, around, self.caller, |intake| {
            batch.take(intake)
        });
        match batch.calls.is_empty() {
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

/// A response with one message, in the form that the client takes. An error with a status of its own is always JSON.
pub(super) fn whole(accepts: Accepts, status: u16, body: Vec<u8>) -> Response<Body> {
    match accepts.json || status != 200 {
        true => json(status, body),
        false => sse::response(Body::full(sse::event(&body))),
    }
}

/// The response to a request that its bearer has given up: it is likely that nobody reads it.
pub(super) fn aborted() -> Response<Body> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "aborted\n")
}

impl Waiting {
    /// Makes the response of the first thing that the call says; `None` if the client does not take it.
    fn respond(&mut self, next: Next, signal: &Signal) -> Option<Response<Body>> {
        match next {
            Next::Answer(answer) => {
                self.call.disarm();
                Some(whole(self.accepts, answer.status, answer.body))
            }
            Next::Message(message) if self.accepts.stream => {
                Some(self.stream(Some(message), signal))
            }
            Next::Release if self.is_polled() => {
                // The stream begins, and says right away that it ends.
                if let Some(call) = self.call.call() {
                    call.release();
                }
                Some(self.stream(None, signal))
            }
            Next::Message(_) | Next::Release => None,
            Next::Silence => Some(self.silence()),
        }
    }

    /// The response to a request whose answer nobody wants, or that is not served to its end.
    fn silence(&mut self) -> Response<Body> {
        let reason = self.call.call().and_then(|call| call.signal.reason());
        self.call.disarm();
        match reason {
            Some(Reason::ServerClosed) => {
                plain(StatusCode::SERVICE_UNAVAILABLE, "the server is closing\n")
            }
            Some(Reason::Cancelled(_) | Reason::Closed) => sse::response(Body::empty()),
            _ => aborted(),
        }
    }

    fn is_polled(&self) -> bool {
        let version = self.call.call().map(|call| call.version);
        self.kept && version.is_some_and(era::has_polling)
    }

    /// Commits to a stream that begins with `first`, or with a sign of life.
    fn stream(&mut self, first: Option<Vec<u8>>, signal: &Signal) -> Response<Body> {
        let mut call = self.call.take();
        let mut out = Vec::new();
        let store = self.endpoint.store.as_ref().filter(|_| self.kept);
        let part = match (store, &call.session, call.call()) {
            (Some(store), Some(session), Some(call)) => {
                let (retry, first) = (self.endpoint.retry, first.as_deref());
                Some(store.begin(session, call, retry, first, &mut out))
            }
            _ => {
                if let Some(first) = first {
                    sse::push(&mut out, &first);
                }
                None
            }
        };
        if part.is_some() {
            call = call.runs_on(self.endpoint.runs_on());
        }
        if out.is_empty() {
            out.extend_from_slice(sse::COMMENT);
        }
        let events = Events::new(call, out, self.endpoint.keep_alive, signal);
        sse::response(Body::stream(events.part(part)))
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
                    if let Some(response) = self.respond(next, signal) {
                        return response;
                    }
                }
                Event::Fired(Reason::Deadline(Some(PATIENCE))) => {
                    return self.stream(None, signal);
                }
                // What ends within the grace is still answered; after it the call is ended by the server.
                Event::Fired(Reason::ServerClosed) => {
                    self.call.abort(Reason::ServerClosed);
                    watched = false;
                }
                Event::Fired(reason) => {
                    self.call.leave(reason);
                    return aborted();
                }
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>, wait: &mut Wait, watched: bool) -> Poll<Event> {
        let fired = match watched {
            true => Pin::new(wait).poll(cx),
            false => Poll::Pending,
        };
        // An answer serves those who wait for the head, but not those who have given up meanwhile.
        match fired {
            Poll::Pending | Poll::Ready(Reason::Deadline(Some(PATIENCE))) => {}
            Poll::Ready(reason) => return Poll::Ready(Event::Fired(reason)),
        }
        match self.call.poll_next(cx) {
            Poll::Ready(next) => Poll::Ready(Event::Next(next)),
            Poll::Pending => fired.map(Event::Fired),
        }
    }
}

enum Event {
    Next(Next),
    Fired(Reason),
}

/// The answers of a batch, as far as they are there.
struct Batch {
    answers: Vec<Vec<u8>>,
    calls: Vec<Guard>,
    session: Option<Arc<Session>>,
    accepts: Accepts,
}

impl Batch {
    fn take(&mut self, intake: Intake) {
        match intake {
            Intake::Silent => {}
            Intake::Answer(answer) => self.answers.push(answer.body),
            Intake::Call(call) => self
                .calls
                .push(Guard::new(call, None, self.session.clone())),
        }
    }

    fn response(self) -> Response<Body> {
        if self.answers.is_empty() {
            return accepted();
        }
        if !self.accepts.json {
            let mut out = Vec::new();
            self.answers
                .iter()
                .for_each(|answer| sse::push(&mut out, answer));
            return sse::response(Body::full(out));
        }
        let mut body = Vec::new();
        for answer in &self.answers {
            body.push(if body.is_empty() { b'[' } else { b',' });
            body.extend_from_slice(answer);
        }
        body.push(b']');
        json(200, body)
    }

    /// Waits for all that is missing. Messages that would precede an answer have no place in an array.
    async fn wait(mut self, signal: Signal) -> Response<Body> {
        let mut wait = Some(signal.aborted());
        for mut call in std::mem::take(&mut self.calls) {
            while call.call().is_some() {
                future::poll_fn(|cx| self.poll_call(&mut call, &mut wait, cx)).await;
            }
        }
        self.response()
    }

    fn poll_call(
        &mut self,
        call: &mut Guard,
        wait: &mut Option<Wait>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        // Before the answer is looked at: who has given up meanwhile gets none.
        match wait.as_mut().map(|wait| Pin::new(wait).poll(cx)) {
            None | Some(Poll::Pending) => {}
            // The signals of all calls have fired with this one; what ends within the grace is still answered.
            Some(Poll::Ready(Reason::ServerClosed)) => *wait = None,
            Some(Poll::Ready(reason)) => {
                call.leave(reason);
                return Poll::Ready(());
            }
        }
        match call.poll_next(cx) {
            Poll::Ready(Next::Message(_) | Next::Release) => Poll::Ready(()),
            Poll::Ready(Next::Answer(answer)) => {
                self.answers.push(answer.body);
                call.disarm();
                Poll::Ready(())
            }
            Poll::Ready(Next::Silence) => {
                call.disarm();
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
