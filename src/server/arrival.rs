//! One request, from its route to its answer. Read downwards.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::around::Handler;
use super::asks::{Asks, Way, Whose};
use super::call::{self, Answer, Call};
use super::context::Context;
use super::dispatch::{Caller, Intake, closing};
use super::inflight::Refused;
use super::methods::Serve;
use super::outlet::Outlet;
use super::peer::{Kind, Peer};
use super::registry::Items;
use super::running;
use super::subscriptions;
use super::tools::Tool;
use super::work::Work;
use super::{Inner, Principal};
use crate::era::asking;
use crate::era::modern::Opening;
use crate::era::{self, Method, Mirrored, Refusal, legacy, modern};
use crate::protocol::jsonrpc::{self, Id, Params, RpcError};
use crate::protocol::subscriptions::SubscriptionFilter;
use crate::protocol::{LogLevel, ProgressToken, Version, meta};
use crate::signal::Controller;

/// A request on its way to its handler.
pub(super) struct Arrival<'a> {
    pub(super) peer: &'a Arc<Peer>,
    pub(super) id: Id,
    pub(super) params: Params<'a>,
    /// Those that mirror the body, where there are any.
    pub(super) headers: Option<&'a dyn Mirrored>,
    pub(super) caller: Caller<'a>,
}

/// What a request's envelope says of how its call is to be run.
pub(super) struct Terms {
    pub(super) version: Version,
    pub(super) method: Method,
    progress_token: Option<ProgressToken>,
    log_level: Option<LogLevel>,
    /// How long the handler may take, if its tool says so.
    deadline: Option<Duration>,
}

impl Arrival<'_> {
    pub(super) fn server(&self) -> &Arc<Inner> {
        &self.peer.server
    }

    /// Serves `initialize`.
    pub(super) fn handshake(&self) -> Result<Intake, Refusal> {
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

    pub(super) fn modern(&self, opening: Opening) -> Result<Intake, Refusal> {
        let Opening {
            version,
            method,
            progress_token,
            log_level,
        } = opening;
        self.dispatch(Terms {
            version,
            method,
            progress_token,
            log_level,
            deadline: None,
        })
    }

    pub(super) fn legacy(&self, version: Version, method: Method) -> Result<Intake, Refusal> {
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
            Method::Discover => Ok(self.discover()),
            Method::ListTools => self.list(self.server().tools.items(), version),
            Method::Ping => Ok(self.done()),
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

    /// Answers at once that it is done.
    fn done(&self) -> Intake {
        self.respond(|out| out.extend_from_slice(b"{}"))
    }

    fn discover(&self) -> Intake {
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
        Ok(self.done())
    }

    /// Tells a legacy client of a resource from now on. It need not exist yet.
    fn subscribe(&self) -> Result<Intake, RpcError> {
        let uri: String = self.params.required("uri")?;
        match self.peer.subscribe(uri) {
            Ok(()) => Ok(self.done()),
            Err((most, of_what)) => {
                let message = format!("Too many subscriptions: at most {most}{of_what}");
                Err(RpcError::new(RpcError::INTERNAL_ERROR, message))
            }
        }
    }

    fn unsubscribe(&self) -> Result<Intake, RpcError> {
        let uri: String = self.params.required("uri")?;
        self.peer.unsubscribe(&uri);
        Ok(self.done())
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
        let mirrors = era::is_modern(version) && !tool.header_params.is_empty();
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
        if !era::is_modern(terms.version) {
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
        let deadline = terms.deadline.or(self.server().deadline);
        let deadline = deadline.map(call::deadline);
        let controller = Controller::new();
        let call = Arc::new(Call {
            key: self.peer.key(&self.id),
            id: self.id.clone(),
            peer: self.peer.clone(),
            version: terms.version,
            method: terms.method,
            subject,
            signal: controller.signal().any(self.caller.signal).any(deadline),
            controller,
            progress_token: terms.progress_token,
            log_level: terms.log_level,
            meta: self.params.get("_meta").map(ToOwned::to_owned),
            started: Instant::now(),
            asks,
            deadline,
            principal: self.principal().cloned(),
            outlet: Outlet::default(),
        });
        call.hold();
        let most = self.server().limits.calls_per_peer;
        let most = match self.peer.kind {
            Kind::Stream | Kind::Session => most,
            Kind::Crowd => most.saturating_mul(64),
        };
        match self.peer.inflight.insert(&call, most) {
            Ok(()) => Ok(call),
            Err(refused) => Err(not_entered(refused, most)),
        }
    }
}

/// The answer to a request that found no place in the table.
#[cold]
fn not_entered(refused: Refused, most: usize) -> Refusal {
    match refused {
        Refused::Duplicate => {
            let text = "Invalid request: 'id' is in use";
            Refusal::new(400, RpcError::invalid_request(text))
        }
        // It was not when this request came.
        Refused::Shut => closing(),
        Refused::Full => {
            let message = format!("Too many requests in flight: at most {most}");
            Refusal::new(503, RpcError::new(RpcError::INTERNAL_ERROR, message))
        }
    }
}
