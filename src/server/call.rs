//! One running request: its signal, and the gate through which what it says leaves.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;

use super::asks::{Asks, Way, Whose};
use super::failure::{HandlerError, Kind};
use super::inflight::Leaving;
use super::journal;
use super::peer::Peer;
use super::principal::Principal;
use super::progress::Amount;
use super::subscriptions;
use crate::era::{self, Method, Refusal, Reply};
use crate::protocol::jsonrpc::{Id, RpcError};
use crate::protocol::{Cache, LogLevel, ProgressToken, ToolResult, Version};
use crate::signal::{Controller, Deadline, Reason, Signal};

/// How many messages of one call wait for a slow client before progress coalesces.
const WAITING: usize = 16;

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

/// What a call has to say next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A message that belongs to the call and precedes its answer.
    Message(Vec<u8>),
    /// The answer. Nothing follows.
    Answer(Answer),
    /// Nothing follows, not even an answer: the client does not want it.
    Silence,
    /// The handler lets go of the stream. What follows may wait until the client asks for it.
    Release,
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
    outlet: Mutex<Outlet>,
}

/// The exit gate of a call, and what waits before it.
#[derive(Default)]
struct Outlet {
    gate: Gate,
    queue: VecDeque<Queued>,
    answer: Option<Answer>,
    last_progress: Option<Amount>,
    /// Progress that came too soon after the last one. The next one replaces it, or the answer lets it out.
    held: Option<Queued>,
    /// When progress was sent last, where it is limited.
    sent: Option<Instant>,
    /// The handler has let go of its stream, and no transport has been told yet.
    released: bool,
    /// The transport learns of news: by the peer's list of calls with something to say, or by a waker of its own.
    listed: bool,
    waker: Option<Waker>,
}

struct Queued {
    message: Vec<u8>,
    progress: bool,
}

/// Open until the call is answered or its client does not want the answer. Only this decides what leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gate {
    #[default]
    Open,
    Answered,
    Silent,
}

impl Outlet {
    /// Tells whether progress may be sent again, and if so notes that it is.
    fn is_due(&mut self, interval: Duration) -> bool {
        let now = Instant::now();
        let due = self.sent.is_none_or(|sent| now - sent >= interval);
        if due {
            self.sent = Some(now);
            self.held = None;
        }
        due
    }

    /// Lets the answer out, after the last progress, and closes the gate.
    fn close_with(&mut self, answer: Answer) {
        let held = self.held.take();
        self.queue.extend(held);
        self.gate = Gate::Answered;
        self.answer = Some(answer);
    }

    fn next(&mut self) -> Option<Next> {
        if let Some(queued) = self.queue.pop_front() {
            return Some(Next::Message(queued.message));
        }
        match self.answer.take() {
            Some(answer) => Some(Next::Answer(answer)),
            None if self.gate == Gate::Silent => Some(Next::Silence),
            None => std::mem::take(&mut self.released).then_some(Next::Release),
        }
    }
}

/// How a call is to be begun.
pub(crate) struct Begin {
    pub(crate) key: Id,
    pub(crate) id: Id,
    pub(crate) version: Version,
    pub(crate) method: Method,
    pub(crate) subject: Arc<str>,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) meta: Option<Box<RawValue>>,
    pub(crate) asks: Asks,
    /// How long the handler may take.
    pub(crate) deadline: Option<Duration>,
    pub(crate) principal: Option<Principal>,
}

impl Call {
    pub(crate) fn new(peer: Arc<Peer>, begin: Begin, caller: &Signal) -> Arc<Self> {
        let controller = Controller::new();
        let deadline = begin
            .deadline
            .map(|deadline| Deadline::after(deadline).named(DEADLINE));
        let signal = controller.signal().any(caller).any(deadline);
        let Begin {
            key,
            id,
            version,
            method,
            subject,
            progress_token,
            log_level,
            meta,
            asks,
            principal,
            ..
        } = begin;
        let (started, outlet) = (Instant::now(), Mutex::default());
        Arc::new(Self {
            key,
            id,
            peer,
            version,
            method,
            subject,
            controller,
            signal,
            progress_token,
            log_level,
            meta,
            started,
            asks,
            deadline,
            principal,
            outlet,
        })
    }

    fn outlet(&self) -> MutexGuard<'_, Outlet> {
        // Nothing of ours panics while it holds the lock; a waker might, after the state is whole.
        self.outlet
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Tells whether an answer could still leave.
    pub(crate) fn is_open(&self) -> bool {
        self.outlet().gate == Gate::Open
    }

    /// Queues a message that precedes the answer. Returns whether it will leave.
    pub(crate) fn say(self: &Arc<Self>, message: Vec<u8>) -> bool {
        let mut outlet = self.outlet();
        if outlet.gate != Gate::Open {
            return false;
        }
        outlet.queue.push_back(Queued {
            message,
            progress: false,
        });
        self.announce(outlet);
        true
    }

    /// Queues a message unless it waits already.
    pub(crate) fn say_once(self: &Arc<Self>, message: Vec<u8>) {
        let waits = {
            let outlet = self.outlet();
            outlet.queue.iter().any(|queued| queued.message == message)
        };
        if !waits {
            self.say(message);
        }
    }

    /// Queues progress, if it is more than there was. `write` makes the message, once that is known.
    pub(crate) fn say_progress(
        self: &Arc<Self>,
        progress: Amount,
        write: impl FnOnce() -> Vec<u8>,
    ) {
        let mut outlet = self.outlet();
        let rises = outlet
            .last_progress
            .is_none_or(|last| progress.exceeds(last));
        if outlet.gate != Gate::Open || !rises {
            return;
        }
        outlet.last_progress = Some(progress);
        drop(outlet);
        // The author's `Display` runs here, and may do anything, even report progress.
        let queued = Queued {
            message: write(),
            progress: true,
        };
        let mut outlet = self.outlet();
        if outlet.gate != Gate::Open || outlet.last_progress != Some(progress) {
            return;
        }
        let interval = self.peer.server.limits.progress_interval;
        if !interval.is_zero() && !outlet.is_due(interval) {
            outlet.held = Some(queued);
            return;
        }
        match outlet.queue.len() >= WAITING {
            true => match outlet.queue.back_mut() {
                Some(last) if last.progress => *last = queued,
                _ => outlet.queue.push_back(queued),
            },
            false => outlet.queue.push_back(queued),
        }
        self.announce(outlet);
    }

    /// Lets go of the stream that carries the call, where the transport can do without.
    pub(crate) fn release(self: &Arc<Self>) {
        let mut outlet = self.outlet();
        if outlet.gate == Gate::Open {
            outlet.released = true;
            self.announce(outlet);
        }
    }

    /// Tells whether there is nothing left to say, and never will be.
    pub(crate) fn is_over(&self) -> bool {
        let outlet = self.outlet();
        outlet.gate != Gate::Open && outlet.queue.is_empty() && outlet.answer.is_none()
    }

    /// Wakes whoever reads the call, to look whether it still should.
    pub(crate) fn nudge(&self) {
        let waker = self.outlet().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the outcome of the handler: the one place from which an answer leaves.
    pub(crate) fn settle(self: &Arc<Self>, outcome: Result<Reply, HandlerError>) {
        if self.is_open() {
            let outcome = outcome.and_then(|reply| match reply.check() {
                Ok(()) => Ok(reply),
                Err(mistake) => Err(HandlerError::unexpected(format!("the result: {mistake}"))),
            });
            journal::ended(self, &outcome);
            let answer = self.answer(outcome);
            // Before the answer can be seen: who sees it may use the id again.
            let _leaving = self.leave();
            let mut outlet = self.outlet();
            if outlet.gate == Gate::Open {
                outlet.close_with(answer);
                self.announce(outlet);
            }
        } else {
            journal::thrown_away(self);
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
        let elapsed = self.started.elapsed();
        log::warn!(
            "{}: not done by its deadline, after {elapsed:?}",
            self.named()
        );
        let answer = self.failure(LATE.to_owned());
        let mut outlet = self.outlet();
        if outlet.gate == Gate::Open {
            outlet.close_with(answer);
            self.announce(outlet);
        }
    }

    /// Leaves the tables of what is not over.
    fn leave(self: &Arc<Self>) -> Leaving<'_> {
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

    /// Ends the call for its client: nothing leaves any more, and the handler learns why. Returns whether that came
    /// before the answer had left.
    pub(crate) fn silence(self: &Arc<Self>, reason: Reason) -> bool {
        let mut outlet = self.outlet();
        outlet.queue.clear();
        outlet.held = None;
        let kept_back = outlet.answer.take().is_some() || outlet.gate == Gate::Open;
        if outlet.gate == Gate::Open {
            outlet.gate = Gate::Silent;
        }
        self.announce(outlet);
        self.controller.abort(reason);
        // No handler will settle it.
        if self.is_subscription() {
            if kept_back {
                journal::thrown_away(self);
            }
            drop(self.leave());
        }
        kept_back
    }

    /// Tells the transport, after the lock is given back.
    fn announce(self: &Arc<Self>, mut outlet: MutexGuard<'_, Outlet>) {
        if let Some(waker) = outlet.waker.take() {
            drop(outlet);
            waker.wake();
        } else if outlet.listed {
            // It stands in the list already, or its transport looks at it by itself.
        } else {
            outlet.listed = true;
            drop(outlet);
            self.peer.feed.push(self.clone());
        }
    }

    /// Marks the call as looked at by whoever holds it, so that it does not enter the peer's list.
    pub(crate) fn hold(&self) {
        self.outlet().listed = true;
    }

    /// Takes what there is to say, for the peer's one stream, each message with a line feed.
    ///
    /// From here on the call enters the peer's list again when it has more.
    pub(crate) fn drain_lines(&self, out: &mut Vec<u8>) {
        let mut outlet = self.outlet();
        outlet.listed = false;
        let Outlet { queue, answer, .. } = &mut *outlet;
        let answer = answer.take().map(|answer| answer.body);
        for message in queue.drain(..).map(|queued| queued.message).chain(answer) {
            out.extend_from_slice(&message);
            out.push(b'\n');
        }
    }

    /// Takes what there is to say now.
    pub(crate) fn take_next(&self) -> Option<Next> {
        self.outlet().next()
    }

    /// Takes what there is to say next, for a stream of the call's own.
    pub(crate) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        let mut outlet = self.outlet();
        if let Some(next) = outlet.next() {
            return Poll::Ready(next);
        }
        match &mut outlet.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Makes the answer of an outcome, and tells the operator of what the client is not told.
    fn answer(&self, outcome: Result<Reply, HandlerError>) -> Answer {
        let error = match outcome {
            Ok(reply) => return self.result(reply),
            Err(error) => error,
        };
        self.report(&error);
        let aborted = error.is_aborted() && self.signal.is_aborted();
        match *error.0 {
            Kind::Rpc(error) => {
                let refusal = era::adapt(self.version, error);
                Answer::refusal(Some(&self.id), &refusal)
            }
            Kind::NotFound => {
                let refusal = era::adapt(
                    self.version,
                    era::resource_not_found(self.version, &self.subject),
                );
                Answer::refusal(Some(&self.id), &refusal)
            }
            Kind::Public(text) => self.failure(text),
            // The handler heeded the deadline that its author set, which is no secret.
            Kind::Unexpected(_) if self.is_late() => self.failure(LATE.to_owned()),
            // The client may still read this, within the grace of a close.
            Kind::Unexpected(_) if aborted => self.failure(ABORTED.to_owned()),
            Kind::Unexpected(_) | Kind::Broken(_) => self.failure(GENERIC.to_owned()),
        }
    }

    fn result(&self, mut reply: Reply) -> Answer {
        if let (Reply::Read(read), Way::Rounds(round)) = (&mut reply, &self.asks.way) {
            // What depends on answers is no one else's, and not for the next time either.
            if round.later {
                read.cache = Some(Cache::default());
            }
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
