//! One inbound message, from its route to its answer. Read downwards.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::around::Handler;
use super::asks::{Asks, Way, Whose};
use super::call::{Answer, Begin, Call};
use super::context::Context;
use super::inflight::Refused;
use super::journal;
use super::methods::Serve;
use super::peer::{Kind, Peer};
use super::registry::Items;
use super::running;
use super::subscriptions;
use super::tools::Tool;
use super::work::Work;
use super::{Cancelled, Inner, Principal};
use crate::era::asking;
use crate::era::modern::Opening;
use crate::era::{self, Around, Field, Method, Mirrored, Refusal, Route, legacy, modern};
use crate::executor::Spawner;
use crate::protocol::jsonrpc::{
    self, Id, Malformed, Message, Notification, Params, Request, Response, RpcError,
};
use crate::protocol::subscriptions::SubscriptionFilter;
use crate::protocol::{CompletionRequest, LogLevel, ProgressToken, Version, meta};
use crate::signal::{Reason, Signal};

/// The author's function that completes arguments.
pub(crate) type Completer = Arc<dyn Fn(CompletionRequest, Context) -> Work + Send + Sync>;

/// What came of an inbound message.
pub(crate) enum Intake {
    /// There is nothing to say.
    Silent,
    /// It is answered already.
    Answer(Answer),
    /// A handler has begun, and may have ended. The call is [held](Call::hold): whoever takes it looks at it.
    Call(Arc<Call>),
}

/// What a message comes with.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// Fires when the transport does not wait for the answer any more.
    pub(crate) signal: &'a Signal,
    /// Where a handler runs that waits.
    pub(crate) spawner: &'a Spawner,
}

/// Takes any message of a peer that has one stream.
pub(crate) fn receive(peer: &Arc<Peer>, bytes: &[u8], caller: Caller<'_>) -> Intake {
    match jsonrpc::parse(bytes) {
        Ok(Message::Request(request)) => {
            let around = Around::Stream {
                legacy: peer.legacy_version(),
            };
            match era::route(&request, around, &peer.server.offers) {
                Ok(route) => run(peer, request, route, None, caller),
                Err(refusal) => refuse(&request.method, &request.id, &refusal),
            }
        }
        Ok(Message::Notification(notification)) => {
            notify(peer, &notification);
            Intake::Silent
        }
        Ok(Message::Response(response)) => {
            respond(peer, response);
            Intake::Silent
        }
        Ok(Message::Batch(_)) => Intake::Answer(refuse_batch()),
        Err(malformed) => refuse_malformed(malformed),
    }
}

pub(crate) fn refuse_batch() -> Answer {
    let error =
        RpcError::invalid_request("Invalid request: not an object (batches are not supported)");
    Answer::refusal(None, &Refusal::new(400, error))
}

/// Answers a request that does not begin.
fn refuse(method: &str, id: &Id, refusal: &Refusal) -> Intake {
    journal::refused(method, id, &refusal.error);
    Intake::Answer(Answer::refusal(Some(id), refusal))
}

fn refuse_malformed(malformed: Malformed) -> Intake {
    match malformed.notification {
        true => Intake::Silent,
        false => Intake::Answer(Answer::refusal(
            malformed.id.as_ref(),
            &Refusal::new(400, malformed.error),
        )),
    }
}

/// Takes a line that holds an array, of a peer whose revision knows such. Each element is answered for itself.
pub(crate) fn receive_batch(
    peer: &Arc<Peer>,
    bytes: &[u8],
    caller: Caller<'_>,
    mut take: impl FnMut(Intake),
) {
    let around = Around::Stream {
        legacy: peer.legacy_version(),
    };
    match jsonrpc::parse(bytes) {
        Ok(Message::Batch(elements)) if !elements.is_empty() => {
            batch(peer, &elements, around, caller, take);
        }
        Ok(_) => take(Intake::Answer(refuse_batch())),
        Err(malformed) => take(refuse_malformed(malformed)),
    }
}

/// Takes the elements of a batch, up to as many as calls may run, and as their answers fit into a message. The requests
/// behind those are refused, so that one message does not become answers without end.
pub(crate) fn batch(
    peer: &Arc<Peer>,
    elements: &[&RawValue],
    around: Around<'_>,
    caller: Caller<'_>,
    mut take: impl FnMut(Intake),
) {
    let limits = &peer.server.limits;
    let mut room = limits.message_bytes;
    for (at, text) in elements.iter().enumerate() {
        let full = at >= limits.calls_per_peer || room == 0;
        let intake = element(peer, text.get(), around, caller, full);
        if let Intake::Answer(answer) = &intake {
            room = room.saturating_sub(answer.body.len());
        }
        take(intake);
    }
}

/// Takes one element of a batch. None of them opens a session.
fn element(
    peer: &Arc<Peer>,
    text: &str,
    around: Around<'_>,
    caller: Caller<'_>,
    full: bool,
) -> Intake {
    match jsonrpc::parse_str(text) {
        Ok(Message::Request(request)) if full => {
            let error = RpcError::new(RpcError::INTERNAL_ERROR, "Too much for one batch");
            refuse(&request.method, &request.id, &Refusal::new(503, error))
        }
        Ok(Message::Request(request)) => {
            let element = match around {
                Around::Http { headers, .. } => Some(Element(headers)),
                Around::Stream { .. } | Around::Direct => None,
            };
            let headers = element.as_ref().map(|element| element as &dyn Mirrored);
            match era::route(&request, around, &peer.server.offers) {
                Ok(route @ Route::Legacy(..)) => run(peer, request, route, headers, caller),
                Ok(Route::Handshake | Route::Modern(_)) => {
                    let error = RpcError::invalid_request("Invalid request: not in a batch");
                    refuse(&request.method, &request.id, &Refusal::new(400, error))
                }
                Err(refusal) => refuse(&request.method, &request.id, &refusal),
            }
        }
        Ok(Message::Notification(notification)) => {
            notify(peer, &notification);
            Intake::Silent
        }
        Ok(Message::Response(response)) => {
            respond(peer, response);
            Intake::Silent
        }
        Ok(Message::Batch(_)) => Intake::Answer(refuse_batch()),
        Err(malformed) => refuse_malformed(malformed),
    }
}

/// The surroundings of an element of a batch: no header mirrors it, and an array has room for its answer alone.
struct Element<'a>(&'a dyn Mirrored);

impl Mirrored for Element<'_> {
    fn principal(&self) -> Option<&Principal> {
        self.0.principal()
    }

    fn field(&self, _: &str) -> Field<'_> {
        Field::new(std::iter::empty())
    }

    fn takes_messages(&self) -> bool {
        false
    }
}

/// Takes the answer to a request of the server's own.
pub(crate) fn respond(peer: &Arc<Peer>, response: Response<'_>) {
    peer.outgoing.answered(&response);
}

/// Takes a request whose route is known.
///
/// `headers` are those that mirror the body, where there are any.
pub(crate) fn run(
    peer: &Arc<Peer>,
    request: Request<'_>,
    route: Route,
    headers: Option<&dyn Mirrored>,
    caller: Caller<'_>,
) -> Intake {
    let (method, begun) = (request.method, journal::begun());
    let arrival = Arrival {
        peer,
        id: request.id,
        params: request.params,
        headers,
        caller,
    };
    let outcome = if peer.server.is_closed() {
        Err(closing())
    } else {
        match route {
            Route::Handshake => arrival.handshake(),
            Route::Modern(opening) => arrival.modern(opening),
            Route::Legacy(version, method) => arrival.legacy(version, method),
        }
    };
    match outcome {
        Ok(intake) => {
            if let Intake::Answer(_) = intake {
                journal::answered(&method, &arrival.id, begun);
            }
            intake
        }
        Err(refusal) => refuse(&method, &arrival.id, &refusal),
    }
}

fn closing() -> Refusal {
    let error = RpcError::new(RpcError::INTERNAL_ERROR, "The server is closing");
    Refusal::new(503, error)
}

/// A request on its way to its handler.
pub(super) struct Arrival<'a> {
    peer: &'a Arc<Peer>,
    id: Id,
    pub(super) params: Params<'a>,
    headers: Option<&'a dyn Mirrored>,
    caller: Caller<'a>,
}

/// What a request's envelope says of how its call is to be run.
pub(super) struct Terms {
    pub(super) version: Version,
    pub(super) method: Method,
    progress_token: Option<ProgressToken>,
    log_level: Option<LogLevel>,
    /// The request stands for itself: its headers mirror its body, and its client is asked by further requests.
    modern: bool,
    /// How long the handler may take.
    deadline: Option<Duration>,
}

impl Arrival<'_> {
    pub(super) fn server(&self) -> &Arc<Inner> {
        &self.peer.server
    }

    fn handshake(&self) -> Result<Intake, Refusal> {
        let session = legacy::handshake(&self.params)?;
        let version = session.version;
        // The clients of a crowd are not told apart: nothing is kept of them.
        if self.peer.kind != Kind::Crowd && !self.peer.begin_session(session) {
            return Err(Refusal::new(
                200,
                RpcError::invalid_request("Invalid request: already initialized"),
            ));
        }
        let server = self.server();
        Ok(self.respond(|out| {
            let offers = match self.peer.kind {
                Kind::Stream | Kind::Session => server.offers,
                Kind::Crowd => server.offers.without_session(),
            };
            let instructions = server.instructions.as_deref();
            legacy::write_handshake(out, version, offers, &server.info, instructions);
        }))
    }

    fn modern(&self, opening: Opening) -> Result<Intake, Refusal> {
        let Opening {
            version,
            method,
            progress_token,
            log_level,
            ..
        } = opening;
        self.dispatch(Terms {
            version,
            method,
            progress_token,
            log_level,
            modern: true,
            deadline: None,
        })
    }

    fn legacy(&self, version: Version, method: Method) -> Result<Intake, Refusal> {
        let progress_token = self
            .params
            .get("_meta")
            .and_then(meta::read)
            .and_then(|meta| serde_json::from_str(meta.progress_token?.get()).ok());
        self.dispatch(Terms {
            version,
            method,
            progress_token,
            log_level: self.peer.log_level(),
            modern: false,
            deadline: None,
        })
    }

    fn dispatch(&self, terms: Terms) -> Result<Intake, Refusal> {
        let version = terms.version;
        let result = match terms.method {
            Method::CallTool => return self.call_tool(terms),
            Method::ReadResource | Method::ListResources | Method::ListTemplates => {
                return self.serve(self.server().methods.resources, terms);
            }
            Method::GetPrompt | Method::ListPrompts => {
                return self.serve(self.server().methods.prompts, terms);
            }
            Method::Complete => return self.serve(self.server().methods.completion, terms),
            Method::Discover => Ok(self.discover(version)),
            Method::ListTools => self.list(self.server().tools.items(), version),
            Method::Ping => Ok(self.respond(|out| out.extend_from_slice(b"{}"))),
            Method::Listen => return self.listen(terms),
            Method::SetLevel => self.set_level(),
            Method::Subscribe => self.subscribe(),
            Method::Unsubscribe => self.unsubscribe(),
            Method::Initialize => Err(RpcError::method_not_found(terms.method.as_str())),
        };
        result.map_err(|error| era::adapt(version, error))
    }

    /// Answers at once with a result that `write` writes.
    fn respond(&self, write: impl FnOnce(&mut Vec<u8>)) -> Intake {
        let mut body = Vec::with_capacity(256);
        jsonrpc::begin_result(&mut body, &self.id);
        write(&mut body);
        body.push(b'}');
        Intake::Answer(Answer::result(body))
    }

    fn discover(&self, _: Version) -> Intake {
        let server = self.server();
        self.respond(|out| {
            let start = out.len();
            let instructions = server.instructions.as_deref();
            modern::write_discovery(out, &server.offers.to_json(), instructions);
            modern::seal(
                out,
                start,
                "complete",
                Some(server.stamp().cache),
                Default::default(),
                server.stamp(),
            );
        })
    }

    /// Answers with one page of a list.
    pub(super) fn list(&self, items: &Items, version: Version) -> Result<Intake, RpcError> {
        let cursor: Option<String> = self.params.optional("cursor")?;
        let page = items.page(version, cursor.as_deref(), self.server().stamp())?;
        Ok(self.respond(|out| out.extend_from_slice(&page)))
    }

    /// Serves what is linked only where it is offered.
    fn serve(&self, serve: Option<Serve>, terms: Terms) -> Result<Intake, Refusal> {
        match serve {
            Some(serve) => serve(self, terms),
            None => Err(era::adapt(
                terms.version,
                RpcError::method_not_found(terms.method.as_str()),
            )),
        }
    }

    fn set_level(&self) -> Result<Intake, RpcError> {
        let level: LogLevel = self.params.required("level")?;
        self.peer.set_log_level(level);
        Ok(self.respond(|out| out.extend_from_slice(b"{}")))
    }

    /// Tells a legacy client of a resource from now on. It need not exist yet.
    fn subscribe(&self) -> Result<Intake, RpcError> {
        let uri: String = self.params.required("uri")?;
        match self.peer.subscribe(uri) {
            true => Ok(self.respond(|out| out.extend_from_slice(b"{}"))),
            false => {
                let most = subscriptions::MOST_RESOURCES;
                let kilobytes = subscriptions::MOST_ADDRESSES / 1024;
                let message = format!(
                    "Too many subscriptions: at most {most}, with addresses of {kilobytes} KiB in all"
                );
                Err(RpcError::new(RpcError::INTERNAL_ERROR, message))
            }
        }
    }

    fn unsubscribe(&self) -> Result<Intake, RpcError> {
        let uri: String = self.params.required("uri")?;
        self.peer.unsubscribe(&uri);
        Ok(self.respond(|out| out.extend_from_slice(b"{}")))
    }

    /// Begins a subscription: a call that stays open, without a handler.
    fn listen(&self, terms: Terms) -> Result<Intake, Refusal> {
        let version = terms.version;
        if self.is_deaf() {
            let error = RpcError::invalid_request("Invalid request: must accept text/event-stream");
            return Err(Refusal::new(406, error));
        }
        let wanted: SubscriptionFilter = self
            .params
            .required("notifications")
            .map_err(|error| era::adapt(version, error))?;
        let call = self.enter(terms, "".into())?;
        match subscriptions::listen(&call, wanted) {
            Ok(()) => Ok(Intake::Call(call)),
            Err(error) => {
                drop(self.peer.inflight.leave(&call));
                Err(era::adapt(version, error))
            }
        }
    }

    fn call_tool(&self, mut terms: Terms) -> Result<Intake, Refusal> {
        let version = terms.version;
        let (tool, arguments) = self
            .find_tool()
            .map_err(|error| era::adapt(version, error))?;
        let mirrors = terms.modern && !tool.header_params.is_empty();
        if let Some(headers) = self.headers.filter(|_| mirrors) {
            let arguments: Map<String, Value> = arguments.parse().unwrap_or_default();
            modern::mirrored_params(headers, &tool.header_params, &arguments)?;
        }
        terms.deadline = tool.deadline;
        let subject = tool.name().into();
        if self.server().run_around().is_none() {
            return self.begin(terms, subject, |cx| tool.call(arguments, cx));
        }
        // A hook may wait before the handler begins, for longer than the message is there.
        let arguments = arguments.to_owned();
        let call = Box::new(move |cx| tool.call(&arguments, cx));
        self.start(terms, subject, call)
    }

    /// Finds the tool and its arguments, `{}` where they are left out.
    fn find_tool(&self) -> Result<(Arc<Tool>, &str), RpcError> {
        let raw = self
            .params
            .get("name")
            .ok_or_else(|| RpcError::invalid_params("Missing 'name'"))?;
        let name = meta::text(raw)
            .ok_or_else(|| RpcError::invalid_params("Invalid 'name': expected a string"))?;
        let tool = self.server().tools.get(&name).ok_or_else(|| {
            RpcError::invalid_params(format!("Unknown tool: {}", jsonrpc::excerpt(&name)))
        })?;
        match self.params.get("arguments") {
            None => Ok((tool, "{}")),
            Some(raw) if meta::is_object(raw) => Ok((tool, raw.get())),
            Some(_) => Err(RpcError::invalid_params(
                "Invalid 'arguments': expected an object",
            )),
        }
    }

    /// Begins a handler inside of what the author runs around it.
    pub(super) fn start(
        &self,
        terms: Terms,
        subject: Arc<str>,
        handler: Handler,
    ) -> Result<Intake, Refusal> {
        match self.server().run_around() {
            None => self.begin(terms, subject, handler),
            Some(around) => self.begin(terms, subject, |cx| around(cx, handler)),
        }
    }

    /// Enters the call in the table, begins its handler, and polls it once.
    fn begin(
        &self,
        terms: Terms,
        subject: Arc<str>,
        begin: impl FnOnce(Context) -> Work,
    ) -> Result<Intake, Refusal> {
        let call = self.enter(terms, subject)?;
        running::begin(&call, self.caller.spawner, begin);
        Ok(Intake::Call(call))
    }

    /// Whom the request comes from, where the transport knows.
    fn principal(&self) -> Option<&Principal> {
        self.headers.and_then(|headers| headers.principal())
    }

    /// Tells whether nothing but the answer reaches the client.
    fn is_deaf(&self) -> bool {
        self.headers
            .is_some_and(|headers| !headers.takes_messages())
    }

    /// How the handler may ask, and what it has been answered.
    fn asks(&self, terms: &Terms, subject: &str) -> Result<Asks, RpcError> {
        if !asking::may_ask(terms.method) {
            return Ok(Asks::default());
        }
        if !terms.modern {
            return Ok(Asks::new(match self.is_deaf() {
                true => Way::Deaf,
                false => Way::Live,
            }));
        }
        let whose = Whose {
            server: self.server(),
            method: terms.method.as_str(),
            subject,
        };
        let principal = self.principal().map(Principal::id);
        Asks::later_round(&whose, &self.params, principal)
    }

    /// Enters the call in the table.
    fn enter(&self, terms: Terms, subject: Arc<str>) -> Result<Arc<Call>, Refusal> {
        let asks = self
            .asks(&terms, &subject)
            .map_err(|error| era::adapt(terms.version, error))?;
        let Terms {
            version,
            method,
            progress_token,
            log_level,
            deadline,
            ..
        } = terms;
        let meta = self.params.get("_meta").map(ToOwned::to_owned);
        let (key, id) = (self.peer.key(&self.id), self.id.clone());
        let begun = Begin {
            key,
            id,
            version,
            method,
            subject,
            progress_token,
            log_level,
            meta,
            asks,
            deadline: deadline.or(self.server().deadline),
            principal: self.principal().cloned(),
        };
        let call = Call::new(self.peer.clone(), begun, self.caller.signal);
        call.hold();
        let most = self.server().limits.calls_per_peer;
        let most = match self.peer.kind {
            Kind::Stream | Kind::Session => most,
            Kind::Crowd => most.saturating_mul(64),
        };
        self.peer
            .inflight
            .insert(&call, most)
            .map_err(|refused| match refused {
                Refused::Duplicate => Refusal::new(
                    400,
                    RpcError::invalid_request("Invalid request: 'id' is in use"),
                ),
                // It was not when this request came.
                Refused::Shut => closing(),
                Refused::Full => {
                    let message = format!("Too many requests in flight: at most {most}");
                    Refusal::new(503, RpcError::new(RpcError::INTERNAL_ERROR, message))
                }
            })?;
        Ok(call)
    }
}

/// Takes a notification. None is answered; what is unknown or malformed is ignored.
pub(crate) fn notify(peer: &Arc<Peer>, notification: &Notification<'_>) {
    match &*notification.method {
        // The second spelling is that of clients that shipped it.
        "notifications/cancelled" | "notifications/canceled" => cancel(peer, &notification.params),
        "notifications/progress" => peer.outgoing.progressed(peer, &notification.params),
        "notifications/initialized" => peer.set_ready(),
        _ => {}
    }
}

/// Aborts the request that a client does not wait for any more.
fn cancel(peer: &Arc<Peer>, params: &Params<'_>) {
    let Ok(Some(id)) = params.optional::<Id>("requestId") else {
        return;
    };
    let reason: Option<String> = params.optional("reason").unwrap_or_default();
    let abort = match &reason {
        Some(text) => Reason::cancelled(text),
        None => Reason::Cancelled(None),
    };
    let calls: Vec<_> = match peer.kind {
        // Among the requests of many clients an id says nothing.
        Kind::Crowd => Vec::new(),
        Kind::Stream => peer.inflight.find(&id).into_iter().collect(),
        // Clients that use an id for several requests at a time mean all of them.
        Kind::Session => peer.inflight.calls(),
    };
    let text = match &abort {
        Reason::Cancelled(text) => text.clone(),
        _ => None,
    };
    let mut aborted = false;
    for call in calls.iter().filter(|call| call.id == id) {
        aborted |= call.silence(abort.clone());
    }
    peer.server.report_cancelled(&Cancelled {
        request_id: &id,
        reason: text.as_deref(),
        aborted,
    });
}
