//! What one call asks its client, by rounds: the modern way.
//!
//! A handler that asks what has not been answered ends there. The client asks the person, or its model, and sends the
//! request again with the answers; the handler runs again from its top, and this time the answers are there.

use std::future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ask::AskError;
use super::call::Call;
use super::failure::HandlerError;
use super::seal::{Bound, Carried};
use crate::era::Reply;
use crate::era::asking::{self, Answered, InputRequired, Put, Question};
use crate::protocol::ClientCapabilities;
use crate::protocol::jsonrpc::{Params, RpcError, json_text};

/// How a call may ask its client.
#[derive(Debug, Default)]
pub(crate) enum Way {
    /// Not at all.
    #[default]
    None,
    /// Not at all, since nothing but the answer reaches the client: as if it had declared nothing.
    Deaf,
    /// By requests of the server's own, which the client answers while the call runs.
    Live,
    /// By ending the call, which the client then begins again.
    Rounds(Round),
}

/// What a request says of the rounds before it, and what its next one will be bound to.
#[derive(Debug)]
pub(crate) struct Round {
    principal: Option<Box<str>>,
    arguments: Option<Box<RawValue>>,
    /// The request belongs to a later round than the first: what it yields depends on more than its parameters.
    pub(crate) later: bool,
}

/// What a call has asked.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    pub(crate) way: Way,
    state: Mutex<State>,
}

/// Small, since every call has one, and few ask.
#[derive(Debug, Default)]
struct State {
    /// Whoever runs the handler, to be told that it has asked.
    runner: Option<Waker>,
    /// Nothing will be answered any more.
    over: bool,
    asked: Option<Box<Asked>>,
}

impl State {
    fn asked(&mut self) -> &mut Asked {
        self.asked.get_or_insert_default()
    }
}

#[derive(Debug, Default)]
struct Asked {
    /// Answers that came with this request, whatever they are.
    fresh: Map<String, Value>,
    /// Answers that the handler has had, in this round or in earlier ones.
    carried: Carried,
    /// The keys that are asked for, or have been.
    keys: Vec<String>,
    /// What is asked and not answered, in the order of asking.
    open: Vec<(String, Put)>,
    /// Whoever waits for an answer, to be told that the call is over.
    waiting: Vec<Waker>,
}

impl Asks {
    pub(crate) fn new(way: Way) -> Self {
        Self {
            way,
            state: Mutex::default(),
        }
    }

    /// Reads what a request brings from earlier rounds. A state that is none of ours, or not for this request, is
    /// refused: never is it as if there were none.
    pub(crate) fn later_round(
        call: &Whose<'_>,
        params: &Params<'_>,
        principal: Option<&str>,
    ) -> Result<Self, RpcError> {
        let fresh: Option<Map<String, Value>> = match params.get("inputResponses") {
            None => None,
            Some(raw) => Some(raw.get().parse().map_err(|_| {
                RpcError::invalid_params("Invalid 'inputResponses': expected an object")
            })?),
        };
        let text: Option<String> = params.optional("requestState")?;
        let round = Round {
            principal: principal.map(Into::into),
            arguments: params.get("arguments").map(ToOwned::to_owned),
            later: fresh.is_some() || text.is_some(),
        };
        let mut state = State::default();
        if let Some(fresh) = fresh {
            state.asked().fresh = fresh;
        }
        if let Some(text) = text {
            let opened = call.server.seal.open(call.bound(&round), &text);
            state.asked().carried =
                opened.ok_or_else(|| RpcError::invalid_params("Invalid 'requestState'"))?;
        }
        Ok(Self {
            way: Way::Rounds(round),
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What the author keeps from round to round.
    pub(super) fn author_state(&self) -> Option<Value> {
        self.state().asked.as_ref()?.carried.state.clone()
    }

    pub(super) fn set_author_state(&self, value: Value) {
        self.state().asked().carried.state = Some(value);
    }

    /// Takes the keys for questions. A key that is asked for twice would be answered twice by one answer.
    pub(super) fn claim(&self, questions: &[(String, Question)]) -> Result<(), AskError> {
        let mut state = self.state();
        let asked = state.asked();
        for (at, (key, _)) in questions.iter().enumerate() {
            let twice = asked.keys.contains(key)
                || questions[..at].iter().any(|(earlier, _)| earlier == key);
            if twice {
                return Err(AskError::mistake(format!("{key:?} is asked for twice")));
            }
        }
        let keys = questions.iter().map(|(key, _)| key.clone());
        asked.keys.extend(keys);
        Ok(())
    }

    /// Gives keys back whose questions were not answered.
    pub(super) fn release<'a>(&self, keys: impl IntoIterator<Item = &'a String>) {
        let mut state = self.state();
        let asked = state.asked();
        for key in keys {
            asked.keys.retain(|taken| taken != key);
            asked.open.retain(|(open, _)| open != key);
        }
    }

    /// Ends the round if the handler, which waits, waits for its client. Otherwise remembers whom to wake once it asks.
    pub(super) fn end_round(
        &self,
        call: &Call,
        runner: &Waker,
    ) -> Option<Result<Reply, HandlerError>> {
        let Way::Rounds(round) = &self.way else {
            return None;
        };
        let mut state = self.state();
        match &mut state.runner {
            Some(known) => known.clone_from(runner),
            none => *none = Some(runner.clone()),
        }
        let asked = state.asked.as_ref();
        let asking = asked.is_some_and(|asked| !asked.open.is_empty());
        drop(state);
        asking.then(|| self.close_round(call, round))
    }

    /// Ends the round: what is asked, and the state that the client is to bring again.
    fn close_round(&self, call: &Call, round: &Round) -> Result<Reply, HandlerError> {
        let mut state = self.state();
        let asked = state.asked();
        let requests = std::mem::take(&mut asked.open);
        let carried = std::mem::take(&mut asked.carried);
        drop(state);
        let state = match carried.is_empty() {
            true => None,
            false => {
                let server = &call.peer.server;
                let text = server.seal.close(call.whose().bound(round), carried);
                if text.len() > server.limits.message_bytes / 2 {
                    let text = "the answers and the state do not fit into a message";
                    return Err(HandlerError::unexpected(text));
                }
                Some(text)
            }
        };
        Ok(Reply::Other(Box::new(InputRequired { requests, state })))
    }

    /// The call is over: whoever still waits for an answer waits in vain.
    pub(super) fn finish(&self) {
        if !matches!(self.way, Way::Rounds(_)) {
            return;
        }
        let mut state = self.state();
        // It may hold the handler's task, which holds the call.
        let runner = state.runner.take();
        state.over = true;
        let asked = state.asked.as_mut();
        let waiting = asked.map(|asked| std::mem::take(&mut asked.waiting));
        drop(state);
        drop(runner);
        waiting.into_iter().flatten().for_each(Waker::wake);
    }

    /// Returns the answers if all are there, else ends the round.
    pub(super) async fn by_rounds(
        &self,
        call: &Call,
        client: &ClientCapabilities,
        questions: &[(String, Question)],
    ) -> Result<Vec<Answered>, AskError> {
        if let Some(reason) = call.signal.reason() {
            return Err(AskError::aborted(reason));
        }
        match self.look_up(call, client, questions)? {
            Some(answers) => Ok(answers),
            None => future::poll_fn(|cx| self.poll_over(cx)).await,
        }
    }

    /// Finds the answers, or enters the questions that lack one.
    fn look_up(
        &self,
        call: &Call,
        client: &ClientCapabilities,
        questions: &[(String, Question)],
    ) -> Result<Option<Vec<Answered>>, AskError> {
        let mut answers = Vec::with_capacity(questions.len());
        let (mut needs, mut open, mut had) = (Map::new(), Vec::new(), Vec::new());
        let mut state = self.state();
        let asked = state.asked();
        for (key, question) in questions {
            // An answer that the handler has had stands: it may have acted on it.
            let known = asked.carried.answers.get(key);
            match known.or_else(|| asked.fresh.get(key)) {
                Some(answer) => {
                    let read = question.read(&json_text(answer));
                    answers.push(read.map_err(|why| AskError::invalid(key, why, true))?);
                    had.push((key.clone(), answer.clone()));
                }
                None => {
                    asking::unite(&mut needs, question.lacks(call.version, client));
                    let put = asking::put(call.version, question, client, None);
                    open.push((key.clone(), put));
                }
            }
        }
        if !needs.is_empty() {
            return Err(AskError::unsupported(needs));
        }
        asked.carried.answers.extend(had);
        if open.is_empty() {
            return Ok(Some(answers));
        }
        asked.open.extend(open);
        Ok(None)
    }

    /// The runner of the handler takes the questions when it sees that the handler waits.
    fn poll_over<T>(&self, cx: &mut TaskContext<'_>) -> Poll<Result<T, AskError>> {
        let mut state = self.state();
        if state.over {
            return Poll::Ready(Err(AskError::over()));
        }
        let asked = state.asked();
        if !asked
            .waiting
            .iter()
            .any(|known| known.will_wake(cx.waker()))
        {
            asked.waiting.push(cx.waker().clone());
        }
        let runner = state.runner.clone();
        drop(state);
        // Somebody else's task asks, while the handler waits for that task.
        if let Some(runner) = runner.filter(|runner| !runner.will_wake(cx.waker())) {
            runner.wake();
        }
        Poll::Pending
    }
}

/// Which request a state belongs to.
pub(crate) struct Whose<'a> {
    pub(crate) server: &'a super::Inner,
    pub(crate) method: &'a str,
    pub(crate) subject: &'a str,
}

impl<'a> Whose<'a> {
    fn bound(&self, round: &'a Round) -> Bound<'a> {
        Bound {
            principal: round.principal.as_deref(),
            method: self.method,
            subject: self.subject,
            arguments: round.arguments.as_deref(),
        }
    }
}

/// Gives back the keys of questions that nobody waits for any more.
pub(super) struct Claim<'a> {
    call: &'a Arc<Call>,
    keys: Vec<String>,
}

impl<'a> Claim<'a> {
    pub(super) fn new(
        call: &'a Arc<Call>,
        questions: &[(String, Question)],
    ) -> Result<Self, AskError> {
        call.asks.claim(questions)?;
        let keys = questions.iter().map(|(key, _)| key.clone()).collect();
        Ok(Self { call, keys })
    }

    /// The questions have been answered: their keys are used up.
    pub(super) fn keep(mut self) {
        self.keys.clear();
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.keys.is_empty() {
            self.call.asks.release(&self.keys);
        }
    }
}
