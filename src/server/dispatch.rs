//! One inbound message, from its route to its answer. Read downwards.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::{Map, Value, json};

use super::asks::{Asks, Way, Whose};
use super::call::{Answer, Begin, Call};
use super::context::Context;
use super::failure::HandlerError;
use super::inflight::Refused;
use super::peer::{Kind, Peer};
use super::subscriptions;
use super::tools::{Tool, Work};
use super::{Cancelled, Inner};
use crate::era::asking;
use crate::era::modern::Opening;
use crate::era::{self, Around, Method, Mirrored, Refusal, Route, legacy, modern};
use crate::protocol::jsonrpc::{
    self, Id, Malformed, Message, Notification, Params, Request, Response, RpcError,
};
use crate::protocol::subscriptions::SubscriptionFilter;
use crate::protocol::{CompletionRequest, LogLevel, ProgressToken, Version, meta};
use crate::signal::{Reason, Signal};

/// The author's function that completes arguments.
pub(crate) type Completer = Box<dyn Fn(CompletionRequest, Context) -> Work + Send + Sync>;

/// What came of an inbound message.
pub(crate) enum Intake {
    /// There is nothing to say.
    Silent,
    /// It is answered already.
    Answer(Answer),
    /// A handler has begun, and may have ended. The call is [held](Call::hold): whoever takes it looks at it.
    Call(Arc<Call>),
}

/// Takes any message of a peer that has one stream.
pub(crate) fn receive(peer: &Arc<Peer>, bytes: &[u8], caller: &Signal) -> Intake {
    match jsonrpc::parse(bytes) {
        Ok(Message::Request(request)) => {
            let around = Around::Stream {
                legacy: peer.legacy_version(),
            };
            match era::route(&request, around, &peer.server.offers) {
                Ok(route) => run(peer, request, route, None, caller),
                Err(refusal) => Intake::Answer(Answer::refusal(Some(&request.id), &refusal)),
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
        Err(malformed) => refuse_malformed(&malformed),
    }
}

pub(crate) fn refuse_batch() -> Answer {
    let error =
        RpcError::invalid_request("Invalid request: not an object (batches are not supported)");
    Answer::refusal(None, &Refusal::new(400, error))
}

fn refuse_malformed(malformed: &Malformed) -> Intake {
    match malformed.notification {
        true => Intake::Silent,
        false => Intake::Answer(Answer::refusal(
            malformed.id.as_ref(),
            &Refusal::new(400, malformed.error.clone()),
        )),
    }
}

/// Takes a line that holds an array, of a peer whose revision knows such. Each element is answered for itself.
pub(crate) fn receive_batch(
    peer: &Arc<Peer>,
    bytes: &[u8],
    caller: &Signal,
    mut take: impl FnMut(Intake),
) {
    let around = Around::Stream {
        legacy: peer.legacy_version(),
    };
    match jsonrpc::parse(bytes) {
        Ok(Message::Batch(elements)) if !elements.is_empty() => elements
            .into_iter()
            .for_each(|text| take(element(peer, text.get(), around, caller))),
        Ok(_) => take(Intake::Answer(refuse_batch())),
        Err(malformed) => take(refuse_malformed(&malformed)),
    }
}

/// Takes one element of a batch. None of them opens a session.
pub(crate) fn element(peer: &Arc<Peer>, text: &str, around: Around<'_>, caller: &Signal) -> Intake {
    match jsonrpc::parse_str(text) {
        Ok(Message::Request(request)) => match era::route(&request, around, &peer.server.offers) {
            Ok(route @ Route::Legacy(..)) => run(peer, request, route, None, caller),
            Ok(Route::Handshake | Route::Modern(_)) => {
                let error = RpcError::invalid_request("Invalid request: not in a batch");
                Intake::Answer(Answer::refusal(
                    Some(&request.id),
                    &Refusal::new(400, error),
                ))
            }
            Err(refusal) => Intake::Answer(Answer::refusal(Some(&request.id), &refusal)),
        },
        Ok(Message::Notification(notification)) => {
            notify(peer, &notification);
            Intake::Silent
        }
        Ok(Message::Response(response)) => {
            respond(peer, response);
            Intake::Silent
        }
        Ok(Message::Batch(_)) => Intake::Answer(refuse_batch()),
        Err(malformed) => refuse_malformed(&malformed),
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
    caller: &Signal,
) -> Intake {
    let arrival = Arrival {
        peer,
        id: request.id,
        params: request.params,
        headers,
        caller,
    };
    let outcome = if peer.server.is_closed() {
        Err(Refusal::new(
            503,
            RpcError::new(RpcError::INTERNAL_ERROR, "The server is closing"),
        ))
    } else {
        match route {
            Route::Handshake => arrival.handshake(),
            Route::Modern(opening) => arrival.modern(opening),
            Route::Legacy(version, method) => arrival.legacy(version, method),
        }
    };
    match outcome {
        Ok(intake) => intake,
        Err(refusal) => Intake::Answer(Answer::refusal(Some(&arrival.id), &refusal)),
    }
}

/// A request on its way to its handler.
struct Arrival<'a> {
    peer: &'a Arc<Peer>,
    id: Id,
    params: Params<'a>,
    headers: Option<&'a dyn Mirrored>,
    caller: &'a Signal,
}

/// What a request's envelope says of how its call is to be run.
struct Terms {
    version: Version,
    method: Method,
    progress_token: Option<ProgressToken>,
    log_level: Option<LogLevel>,
    /// The client is asked by rounds of requests, not within one.
    rounds: bool,
}

impl Arrival<'_> {
    fn server(&self) -> &Arc<Inner> {
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
            let (capabilities, instructions) =
                (server.capabilities(), server.instructions.as_deref());
            legacy::write_handshake(out, version, &capabilities, &server.info, instructions);
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
            rounds: true,
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
            rounds: false,
        })
    }

    fn dispatch(&self, terms: Terms) -> Result<Intake, Refusal> {
        let version = terms.version;
        let result = match terms.method {
            Method::CallTool => return self.call_tool(terms),
            Method::ReadResource => self.read_resource(terms),
            Method::GetPrompt => self.get_prompt(terms),
            Method::Complete => self.complete(terms),
            Method::Discover => Ok(self.discover(version)),
            Method::ListTools => self.list(|cursor| {
                self.server()
                    .tools
                    .page(version, cursor, self.server().stamp())
            }),
            Method::ListResources => self.list(|cursor| {
                self.server()
                    .resources
                    .page(version, cursor, self.server().stamp())
            }),
            Method::ListTemplates => self.list(|cursor| {
                self.server()
                    .templates
                    .page(version, cursor, self.server().stamp())
            }),
            Method::ListPrompts => self.list(|cursor| {
                self.server()
                    .prompts
                    .page(version, cursor, self.server().stamp())
            }),
            Method::Ping => Ok(self.respond(|out| out.extend_from_slice(b"{}"))),
            Method::Listen => return self.listen(terms),
            // Nothing is kept of the clients of a crowd.
            Method::SetLevel | Method::Subscribe | Method::Unsubscribe
                if self.peer.kind == Kind::Crowd =>
            {
                Err(RpcError::method_not_found(terms.method.as_str()))
            }
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
            let mut result = json!({
                "supportedVersions": modern::supported_names(|_| true),
                "capabilities": server.capabilities(),
            });
            if let Some(instructions) = &server.instructions {
                result["instructions"] = instructions.as_str().into();
            }
            jsonrpc::write_json(out, &result);
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

    fn list(
        &self,
        page: impl FnOnce(Option<&str>) -> Result<Arc<[u8]>, RpcError>,
    ) -> Result<Intake, RpcError> {
        let cursor: Option<String> = self.params.optional("cursor")?;
        let page = page(cursor.as_deref())?;
        Ok(self.respond(|out| out.extend_from_slice(&page)))
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
                let message = format!("Too many subscriptions: at most {most}");
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
        let wanted: SubscriptionFilter = self
            .params
            .required("notifications")
            .map_err(|error| era::adapt(version, error))?;
        let call = self.enter(terms, "".into())?;
        match subscriptions::listen(&call, wanted) {
            Ok(()) => Ok(Intake::Call(call)),
            Err(error) => {
                self.peer.inflight.remove(&call);
                Err(era::adapt(version, error))
            }
        }
    }

    fn call_tool(&self, terms: Terms) -> Result<Intake, Refusal> {
        let version = terms.version;
        let (tool, arguments) = self
            .find_tool()
            .map_err(|error| era::adapt(version, error))?;
        if let Some(headers) = self.headers.filter(|_| !tool.header_params.is_empty()) {
            let arguments: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
            modern::mirrored_params(headers, &tool.header_params, &arguments)?;
        }
        self.start(terms, tool.name().into(), |cx| tool.call(arguments, cx))
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

    fn read_resource(&self, terms: Terms) -> Result<Intake, RpcError> {
        let (server, version) = (self.server(), terms.version);
        let uri: String = self.params.required("uri")?;
        let subject: Arc<str> = uri.as_str().into();
        if let Some(resource) = server.resources.get(&uri) {
            return self
                .start(terms, subject, |cx| resource.read(uri, cx))
                .map_err(|refusal| refusal.error);
        }
        let found = server
            .templates
            .find(|template| Some((template.clone(), template.variables(&uri)?)));
        match found {
            Some((template, variables)) => self
                .start(terms, subject, |cx| template.read(uri, variables, cx))
                .map_err(|refusal| refusal.error),
            None => Err(era::resource_not_found(version, &uri)),
        }
    }

    fn get_prompt(&self, terms: Terms) -> Result<Intake, RpcError> {
        let name: String = self.params.required("name")?;
        let arguments: BTreeMap<String, String> =
            self.params.optional("arguments")?.unwrap_or_default();
        let prompt = self.server().prompts.get(&name).ok_or_else(|| {
            RpcError::invalid_params(format!("Unknown prompt: {}", jsonrpc::excerpt(&name)))
        })?;
        prompt.check_arguments(&arguments)?;
        self.start(terms, name.into(), |cx| prompt.get(arguments, cx))
            .map_err(|refusal| refusal.error)
    }

    fn complete(&self, terms: Terms) -> Result<Intake, RpcError> {
        let request: CompletionRequest = self.params.all()?;
        self.check_reference(&request)?;
        let server = self.server().clone();
        let Some(completer) = &server.completer else {
            return Err(RpcError::method_not_found(terms.method.as_str()));
        };
        self.start(terms, request.name.as_str().into(), |cx| {
            completer(request, cx)
        })
        .map_err(|refusal| refusal.error)
    }

    /// Refuses completion for what the server does not have.
    fn check_reference(&self, request: &CompletionRequest) -> Result<(), RpcError> {
        use crate::protocol::CompletionRef;
        let server = self.server();
        match &request.reference {
            CompletionRef::Prompt(prompt) => match server.prompts.get(&prompt.name) {
                None => Err(RpcError::invalid_params(format!(
                    "Unknown prompt: {}",
                    jsonrpc::excerpt(&prompt.name)
                ))),
                Some(prompt)
                    if prompt
                        .info
                        .arguments
                        .iter()
                        .all(|argument| argument.name != request.name) =>
                {
                    Err(RpcError::invalid_params(format!(
                        "Unknown argument: {}",
                        jsonrpc::excerpt(&request.name)
                    )))
                }
                Some(_) => Ok(()),
            },
            CompletionRef::Resource(resource) => {
                let uri = &resource.uri;
                let known = server.templates.get(uri).is_some()
                    || server.resources.get(uri).is_some()
                    || server
                        .templates
                        .find(|template| template.variables(uri))
                        .is_some();
                match known {
                    true => Ok(()),
                    false => Err(RpcError::invalid_params(format!(
                        "Unknown resource: {}",
                        jsonrpc::excerpt(uri)
                    ))),
                }
            }
        }
    }

    /// Enters the call in the table, begins its handler, and polls it once.
    fn start(
        &self,
        terms: Terms,
        subject: Arc<str>,
        begin: impl FnOnce(Context) -> Work,
    ) -> Result<Intake, Refusal> {
        let call = self.enter(terms, subject)?;
        first_poll(&call, begin);
        Ok(Intake::Call(call))
    }

    /// How the handler may ask, and what it has been answered.
    fn asks(&self, terms: &Terms, subject: &str) -> Result<Asks, RpcError> {
        if !asking::may_ask(terms.method) {
            return Ok(Asks::default());
        }
        if !terms.rounds {
            return Ok(Asks::new(Way::Live));
        }
        let whose = Whose {
            server: self.server(),
            method: terms.method.as_str(),
            subject,
        };
        let principal = self.headers.and_then(|headers| headers.principal());
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
        };
        let call = Call::new(self.peer.clone(), begun, self.caller);
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
                Refused::Full => {
                    let message = format!("Too many requests in flight: at most {most}");
                    Refusal::new(503, RpcError::new(RpcError::INTERNAL_ERROR, message))
                }
            })?;
        Ok(call)
    }
}

/// Begins the handler and polls it where the message was read. What does not end at once goes to the executor.
fn first_poll(call: &Arc<Call>, begin: impl FnOnce(Context) -> Work) {
    // A call that is over before its handler starts never starts it.
    if call.signal.is_aborted() {
        return call.settle(Err(HandlerError::unexpected(
            "aborted before the handler started",
        )));
    }
    let cx = Context(call.clone());
    let work = match catch_unwind(AssertUnwindSafe(|| begin(cx))) {
        Ok(work) => work,
        Err(panic) => return call.settle(Err(panicked(&*panic))),
    };
    let mut running = Running {
        work: Some(work),
        call: call.clone(),
    };
    let mut noop = TaskContext::from_waker(Waker::noop());
    if Pin::new(&mut running).poll(&mut noop).is_pending() {
        let task = call.peer.server.spawner.spawn(running);
        call.peer.inflight.own(call, task);
    }
}

/// A handler that runs. Whatever becomes of it, the call is settled once.
struct Running {
    work: Option<Work>,
    call: Arc<Call>,
}

impl Future for Running {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Some(work) = &mut self.work else {
            return Poll::Ready(());
        };
        let outcome = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
            // The handler waits for its client: it ends here, and begins anew with the answers.
            Ok(Poll::Pending) if self.call.asks.is_asking(cx.waker()) => {
                self.call.asks.end_round(&self.call)
            }
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => Err(panicked(&*panic)),
        };
        // What the handler held is given back before its client learns that it has ended.
        let dropped = catch_unwind(AssertUnwindSafe(|| self.work = None));
        self.call
            .settle(dropped.map_err(|panic| panicked(&*panic)).and(outcome));
        Poll::Ready(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            // Executors abort the process when a future panics while they drop it.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(work)));
            self.call.settle(Err(HandlerError::broken(
                "the handler was dropped before its end".into(),
            )));
        }
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> HandlerError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    HandlerError::broken(format!(
        "the handler panicked: {}",
        text.unwrap_or("no message")
    ))
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
    // Among the requests of many clients an id says nothing.
    let call = match peer.kind {
        Kind::Crowd => None,
        Kind::Stream | Kind::Session => peer.inflight.find(&id),
    };
    let text = match &abort {
        Reason::Cancelled(text) => text.clone(),
        _ => None,
    };
    let aborted = call.is_some_and(|call| call.silence(abort));
    peer.server.report_cancelled(&Cancelled {
        request_id: &id,
        reason: text.as_deref(),
        aborted,
    });
}
