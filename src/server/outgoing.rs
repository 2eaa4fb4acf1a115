//! Requests of the server's own, to a legacy client: sent within a call, answered by the client while the call runs.

use std::future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use super::Progressed;
use super::ask::AskError;
use super::call::Call;
use super::peer::Peer;
use crate::era::asking::{self, Answered, Put, Question, Token};
use crate::protocol::ClientCapabilities;
use crate::protocol::base64;
use crate::protocol::jsonrpc::{self, Id, Params, Response, RpcError};
use crate::random;
use crate::signal::Reason;

/// What the server has asked one peer and waits for.
#[derive(Default)]
pub(crate) struct Outgoing(Mutex<Waiting>);

/// Ids count up and are never used again: who is entered stands behind all others.
#[derive(Default)]
struct Waiting {
    last: i64,
    slots: Vec<(i64, Arc<dyn Awaited>)>,
}

impl Waiting {
    fn place(&self, id: i64) -> Option<usize> {
        self.slots.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    fn remove(&mut self, id: i64) -> Option<Arc<dyn Awaited>> {
        self.place(id).map(|place| self.slots.remove(place).1)
    }
}

/// An answer that is waited for, known to the table by this alone: a program that asks nothing is linked without the rest.
trait Awaited: Send + Sync {
    fn answered(&self, response: &Response<'_>);

    fn progressed(&self, peer: &Peer, params: &Params<'_>);
}

/// The place of one answer.
struct Slot {
    key: String,
    method: &'static str,
    call: Id,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    answer: Option<Result<String, RpcError>>,
    /// The client has said that it is at work.
    heard: bool,
    waker: Option<Waker>,
}

enum Heard {
    Answer(Result<String, RpcError>),
    Progress,
}

impl Awaited for Slot {
    fn answered(&self, response: &Response<'_>) {
        let answer = match (response.result, response.error) {
            (Some(result), _) => Ok(result.get().to_owned()),
            (None, error) => Err(read_error(error.map_or("null", |raw| raw.get()))),
        };
        self.change(|state| state.answer = Some(answer));
    }

    fn progressed(&self, peer: &Peer, params: &Params<'_>) {
        let float = |name| params.number(name)?.as_f64();
        let Some(progress) = float("progress") else {
            return;
        };
        let message: Option<String> = params.optional("message").unwrap_or_default();
        peer.server.report_progress(&Progressed {
            call: &self.call,
            key: &self.key,
            method: self.method,
            progress,
            total: float("total"),
            message: message.as_deref(),
        });
        self.change(|state| state.heard = true);
    }
}

impl Slot {
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn poll_heard(&self, cx: &mut Context<'_>) -> Poll<Heard> {
        let mut state = self.state();
        if let Some(answer) = state.answer.take() {
            return Poll::Ready(Heard::Answer(answer));
        }
        if std::mem::take(&mut state.heard) {
            return Poll::Ready(Heard::Progress);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Outgoing {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn enter(&self, slot: Arc<dyn Awaited>) -> i64 {
        let mut waiting = self.waiting();
        waiting.last += 1;
        let id = waiting.last;
        waiting.slots.push((id, slot));
        id
    }

    /// Takes an answer of the client's. One that nobody waits for, or no more, is dropped.
    pub(crate) fn answered(&self, response: &Response<'_>) {
        let slot = response
            .id
            .as_i64()
            .and_then(|id| self.waiting().remove(id));
        let Some(slot) = slot else {
            return log::debug!("a response to no request: {}", response.id);
        };
        slot.answered(response);
    }

    /// Takes progress of the client's, and tells whoever wants to know.
    pub(crate) fn progressed(&self, peer: &Peer, params: &Params<'_>) {
        let token = params.number("progressToken");
        let slot = token
            .and_then(|token| token.as_i64())
            .and_then(|token| self.slot(token));
        if let Some(slot) = slot {
            slot.progressed(peer, params);
        }
    }

    fn slot(&self, id: i64) -> Option<Arc<dyn Awaited>> {
        let waiting = self.waiting();
        let place = waiting.place(id)?;
        Some(waiting.slots[place].1.clone())
    }

    fn forget(&self, id: i64) -> bool {
        self.waiting().remove(id).is_some()
    }
}

/// Reads a client's error. What is not as it should be is an error all the same.
fn read_error(text: &str) -> RpcError {
    let mut error: Value = text.parse().unwrap_or_default();
    let code = error["code"].as_i64();
    let message = error["message"].as_str();
    let mut read = RpcError::new(
        code.unwrap_or(RpcError::INTERNAL_ERROR),
        jsonrpc::excerpt(message.unwrap_or_default()).into_owned(),
    );
    read.data = error.get_mut("data").map(Value::take);
    read
}

/// Asks all questions at once, and waits for their answers.
pub(super) async fn ask(
    call: &Arc<Call>,
    client: &ClientCapabilities,
    questions: &[(String, Question)],
) -> Result<Vec<Answered>, AskError> {
    if let Some(reason) = call.signal.reason() {
        return Err(AskError::aborted(reason));
    }
    let mut needs = Map::new();
    for (_, question) in questions {
        asking::unite(&mut needs, question.lacks(call.version, client));
    }
    if !needs.is_empty() {
        return Err(AskError::unsupported(needs));
    }
    let page = random::bytes::<16>().map_err(|err| AskError::mistake(err.to_string()))?;
    let mut sent = Vec::with_capacity(questions.len());
    for (at, (key, question)) in questions.iter().enumerate() {
        let page = format!("{}{at}", base64::encode_url(&page));
        let put = |request| {
            let token = Token {
                request,
                page: &page,
            };
            asking::put(call.version, question, client, Some(token))
        };
        sent.push(Sent::send(call, key, question, put)?);
    }
    let mut answers = Vec::with_capacity(questions.len());
    for (sent, (key, question)) in sent.into_iter().zip(questions) {
        let answer = sent.wait().await?;
        let read = question.read(&answer);
        answers.push(read.map_err(|why| AskError::invalid(key, why, false))?);
    }
    Ok(answers)
}

/// A request on its way. Dropped before its answer is there, it is cancelled.
struct Sent<'a> {
    call: &'a Arc<Call>,
    id: i64,
    slot: Arc<Slot>,
    why: &'static str,
}

impl<'a> Sent<'a> {
    fn send(
        call: &'a Arc<Call>,
        key: &str,
        question: &Question,
        put: impl FnOnce(i64) -> Put,
    ) -> Result<Self, AskError> {
        let slot = Arc::new(Slot {
            key: key.to_owned(),
            method: question.method(),
            call: call.id.clone(),
            state: Mutex::default(),
        });
        let id = call.peer.outgoing.enter(slot.clone());
        let sent = Self {
            call,
            id,
            slot,
            why: "No longer needed",
        };
        let put = put(id);
        if call.say(jsonrpc::request(&Id::from(id), put.method, &put.params)) {
            return Ok(sent);
        }
        // Nothing has left that would have to be cancelled.
        call.peer.outgoing.forget(id);
        Err(AskError::aborted(
            call.signal.reason().unwrap_or(Reason::Closed),
        ))
    }

    /// Waits as long as the client may take. Each sign of life begins the wait anew, up to the greatest in all.
    async fn wait(mut self) -> Result<String, AskError> {
        let limits = &self.call.peer.server.limits;
        let last = Instant::now().checked_add(limits.ask_timeout_in_all);
        loop {
            let left = last.map_or(Duration::MAX, |last| {
                last.saturating_duration_since(Instant::now())
            });
            let patience = self.call.signal.any(limits.ask_timeout.min(left));
            let heard = patience.run(future::poll_fn(|cx| self.slot.poll_heard(cx)));
            match heard.await {
                Ok(Heard::Answer(answer)) => return answer.map_err(AskError::client),
                Ok(Heard::Progress) => {}
                Err(_) => {
                    if let Some(reason) = self.call.signal.reason() {
                        return Err(AskError::aborted(reason));
                    }
                    self.why = "The request timed out";
                    return Err(AskError::timed_out());
                }
            }
        }
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        if !self.call.peer.outgoing.forget(self.id) {
            return;
        }
        let params = {
            let mut params = jsonrpc::object("requestId", self.id.into());
            params["reason"] = self.why.into();
            params
        };
        let message = jsonrpc::notification("notifications/cancelled", &params);
        // The stream of a call that its client has given up is closed, but what the call asked may still stand open
        // before somebody.
        if !self.call.say(message.clone()) {
            self.call.peer.feed.send(message);
        }
    }
}
