//! One running request: what it is, its signal, and what its outcome is answered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::asks::{Asks, Way, Whose};
use super::failure::{HandlerError, Kind};
use super::inflight::Leaving;
use super::journal;
use super::outlet::Outlet;
use super::peer::Peer;
use super::principal::Principal;
use super::subscriptions;
use crate::era::{self, Method, Refusal, Reply};
use crate::protocol::jsonrpc::{Id, RpcError};
use crate::protocol::{LogLevel, ProgressToken, ToolResult, Version};
use crate::signal::{Controller, Deadline, Reason, Signal};

/// What a client reads of a failure that is not for it.
const GENERIC: &str = "The tool failed.";

/// What a client reads of a handler that stopped when its signal fired.
const ABORTED: &str = "The call was aborted.";

/// The label of the deadline that the author of a tool or of the server set.
const DEADLINE: &str = "the call's deadline";

/// What a client reads of a handler that has not ended by the deadline its author set.
const LATE: &str = "The deadline of this call has passed.";

/// One message that answers a request, with the HTTP status that goes with it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
    pub(crate) status: u16,
    /// It names no request, since the id could not be read.
    pub(crate) anonymous: bool,
}

impl Answer {
    pub(crate) fn result(body: Vec<u8>) -> Self {
        Self {
            body,
            status: 200,
            anonymous: false,
        }
    }

    pub(crate) fn refusal(id: Option<&Id>, refusal: &Refusal) -> Self {
        Self {
            body: era::refuse(id, &refusal.error),
            status: refusal.status,
            anonymous: id.is_none(),
        }
    }
}

/// One request, from its envelope to its answer.
pub(crate) struct Call {
    /// Its place in the table of its peer. For a peer that shares no ids with others it is the id itself.
    pub(crate) key: Id,
    pub(crate) id: Id,
    pub(crate) peer: Arc<Peer>,
    pub(crate) version: Version,
    pub(crate) method: Method,
    /// The tool, prompt or resource, for those who read logs.
    pub(crate) subject: Arc<str>,
    /// Fires what the handler sees. Kept by the call, so that the signal is never left without one.
    pub(crate) controller: Controller,
    pub(crate) signal: Signal,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) log_level: Option<LogLevel>,
    /// The `_meta` of the request as it came.
    pub(crate) meta: Option<Box<RawValue>>,
    pub(crate) started: Instant,
    /// What the handler asks its client.
    pub(crate) asks: Asks,
    /// When the client is answered for a handler that is late. The signal fires then too.
    pub(crate) deadline: Option<Deadline>,
    /// Whom the request comes from, where the transport knows.
    pub(crate) principal: Option<Principal>,
    pub(super) outlet: Outlet,
}

/// The deadline of a call whose handler may take this long.
pub(super) fn deadline(limit: Duration) -> Deadline {
    Deadline::after(limit).named(DEADLINE)
}

impl Call {
    /// Takes the outcome of the handler: the one place from which an answer leaves.
    pub(crate) fn settle(self: &Arc<Self>, outcome: Result<Reply, HandlerError>) {
        if self.is_open() {
            let outcome = outcome.and_then(|reply| match reply.check() {
                Ok(()) => Ok(reply),
                Err(mistake) => Err(HandlerError::unexpected(format!("the result: {mistake}"))),
            });
            journal::ended(self, &outcome);
            let answer = self.answer(outcome);
            self.settle_with(answer);
        } else {
            self.tell_thrown_away();
            drop(self.leave());
        }
        self.asks.finish();
    }

    /// Tells whether the deadline is what fired the signal.
    pub(crate) fn is_late(&self) -> bool {
        let fired = self.deadline.and_then(|_| self.signal.reason());
        matches!(fired, Some(Reason::Deadline(Some(DEADLINE))))
    }

    /// Answers for a handler that has not ended by its deadline.
    pub(crate) fn answer_late(self: &Arc<Self>) {
        self.close_with(self.failure(LATE.to_owned()));
    }

    /// Tells the operator of a handler that does not heed its deadline.
    pub(crate) fn warn_overdue(&self) {
        let elapsed = self.started.elapsed();
        log::warn!(
            "{}: still runs after {elapsed:?}, twice its deadline",
            self.named()
        );
    }

    /// Writes to the log that nobody will read what the call comes to.
    pub(super) fn tell_thrown_away(&self) {
        journal::thrown_away(self);
    }

    /// Leaves the tables of what is not over.
    pub(super) fn leave(self: &Arc<Self>) -> Leaving<'_> {
        if self.is_subscription() {
            self.peer.server.bus.remove(self);
        }
        self.peer.inflight.leave(self)
    }

    /// Tells whether this is a request that stays open without a handler.
    pub(crate) fn is_subscription(&self) -> bool {
        self.method == Method::Listen
    }

    /// Ends the call from the server's side: the handler learns why, and may still answer.
    pub(crate) fn abort(self: &Arc<Self>, reason: Reason) {
        if self.is_subscription() {
            subscriptions::end(self, &reason);
        }
        self.controller.abort(reason);
    }

    /// What a state of this request belongs to.
    pub(super) fn whose(&self) -> Whose<'_> {
        Whose {
            server: &self.peer.server,
            method: self.method.as_str(),
            subject: &self.subject,
        }
    }

    /// Makes the answer of an outcome, and tells the operator of what the client is not told.
    fn answer(&self, outcome: Result<Reply, HandlerError>) -> Answer {
        let error = match outcome {
            Ok(reply) => return self.result(reply),
            Err(error) => error,
        };
        self.report(&error);
        let aborted = error.is_aborted() && self.signal.is_aborted();
        let text = match *error.0 {
            Kind::Rpc(error) => return self.refusal(error),
            Kind::NotFound => {
                return self.refusal(era::resource_not_found(self.version, &self.subject));
            }
            Kind::Public(text) => text,
            // The handler heeded the deadline that its author set, which is no secret.
            Kind::Unexpected(_) if self.is_late() => LATE.to_owned(),
            // The client may still read this, within the grace of a close.
            Kind::Unexpected(_) if aborted => ABORTED.to_owned(),
            Kind::Unexpected(_) | Kind::Broken(_) => GENERIC.to_owned(),
        };
        self.failure(text)
    }

    #[cold]
    #[inline(never)]
    fn refusal(&self, error: RpcError) -> Answer {
        Answer::refusal(Some(&self.id), &era::adapt(self.version, error))
    }

    fn result(&self, mut reply: Reply) -> Answer {
        // What depends on answers is no one else's, and not for the next time either.
        if matches!(&self.asks.way, Way::Rounds(round) if round.later) {
            reply.keep_private();
        }
        Answer {
            body: era::answer(self.version, &self.id, reply, self.peer.server.stamp()),
            status: 200,
            anonymous: false,
        }
    }

    /// A failure travels as a result where a model can read it, else as an error.
    fn failure(&self, text: String) -> Answer {
        match self.method {
            Method::CallTool => self.result(Reply::Tool(ToolResult::error(text))),
            _ if text == GENERIC => {
                Answer::refusal(Some(&self.id), &Refusal::new(200, RpcError::internal()))
            }
            _ => {
                let error = RpcError::new(RpcError::INTERNAL_ERROR, text);
                Answer::refusal(Some(&self.id), &Refusal::new(200, error))
            }
        }
    }

    /// How the call is named in the log.
    pub(super) fn named(&self) -> journal::Request<'_> {
        journal::Request {
            method: self.method.as_str(),
            subject: &self.subject,
            id: &self.id,
        }
    }

    /// Tells the operator of a failure that nobody expected. After the signal has fired, a handler may fail, panic or be
    /// dropped: nobody waits for it.
    fn report(&self, error: &HandlerError) {
        let expected = error.is_public() || self.signal.is_aborted();
        if !expected {
            self.peer.server.report(self, error);
        }
    }
}
