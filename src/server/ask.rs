//! How a handler asks the client, in whatever era.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::asks::{Claim, Way};
use super::context::Context;
use super::failure::{HandlerError, Kind as Failed};
use super::outgoing;
use crate::era::asking::{Answered, Question};
use crate::protocol::jsonrpc::{json_text, object};
use crate::protocol::{
    ClientCapabilities, CreateMessage, CreateMessageResult, Elicit, ElicitAnswer, Roots, RpcError,
};
use crate::signal::{Aborted, Reason};

/// # Asking the client
///
/// A handler may ask the user, the client's model, or the client itself, and wait for the answer:
///
/// ```
/// use smol_mcp::protocol::{Elicit, Field, FormSchema};
/// use smol_mcp::{Context, HandlerError, NoInput};
///
/// async fn publish(_: NoInput, cx: Context) -> Result<String, HandlerError> {
///     let form = FormSchema::new().required("branch", Field::choice(["main", "next"]));
///     let answer = cx.elicit("branch", Elicit::form("Which branch?", form)).await?;
///     if !answer.is_accepted() {
///         return Err(HandlerError::public("Nothing was published."));
///     }
///     Ok(format!("published {}", answer.content["branch"]))
/// }
/// ```
///
/// **From 2026-07-28 on the handler runs again from its top for every round of questions.** A handler that waits for an
/// answer which is not there is dropped at that `.await`: its destructors run, and nothing after it. Its signal does not
/// fire: what it has begun elsewhere has to end by one of them. The client gets the questions as the result of its request,
/// asks, and sends the request again with the answers; the handler runs anew, and the same `.await` returns at once. So:
///
/// * What a handler does before it asks is done again in each round. It has to be harmless to repeat, or guarded by
///   [`set_state`](Self::set_state). A round may never come, or come more than once.
/// * The key tells the answers apart. It has to be the same in each round, and may be used once in a run: to repeat a
///   question whose answer was not good enough, use another key (`"branch-2"`).
/// * Answers of earlier rounds are kept: the client carries them, sealed. A later request cannot change them.
/// * Ask independent questions at once, by [`ask`](Self::ask) or by joining the futures.
///
/// Before 2026-07-28 the question is a request to the client, and the handler waits for the answer, within
/// [`Limits::ask_timeout`](crate::Limits::ask_timeout). Dropping the future then tells the client that the answer is
/// not needed any more; `cx.signal().any(duration).run(cx.elicit(…))` sets another time limit.
///
/// Only handlers of tools, resources and prompts may ask.
///
/// ## When there is no answer
///
/// All methods below that ask return an [`AskError`] then, which may leave the handler by `?`.
impl Context {
    /// Asks the user behind the client, by a form or by a page to open.
    ///
    /// The content of an accepted form fits its schema. Declining and cancelling are answers, not errors.
    /// (MCP 2026-07-28, client/elicitation)
    ///
    /// # Errors
    ///
    /// See [above](#when-there-is-no-answer).
    pub async fn elicit(
        &self,
        key: impl Into<String>,
        elicit: Elicit,
    ) -> Result<ElicitAnswer, AskError> {
        match self.one(key.into(), Question::Elicit(elicit)).await? {
            Answered::Elicit(answer) => Ok(answer),
            _ => unreachable!("an answer is of the kind of its question"),
        }
    }

    /// Asks the client's model for a message. (MCP 2026-07-28, client/sampling)
    ///
    /// # Errors
    ///
    /// See [above](#when-there-is-no-answer).
    pub async fn sample(
        &self,
        key: impl Into<String>,
        sample: CreateMessage,
    ) -> Result<CreateMessageResult, AskError> {
        match self
            .one(key.into(), Question::Sample(Box::new(sample)))
            .await?
        {
            Answered::Sample(answer) => Ok(*answer),
            _ => unreachable!("an answer is of the kind of its question"),
        }
    }

    /// Asks the client for the places in which the server may work. (MCP 2026-07-28, client/roots)
    ///
    /// Check every path against them; the places may be gone.
    ///
    /// # Errors
    ///
    /// See [above](#when-there-is-no-answer).
    pub async fn roots(&self, key: impl Into<String>) -> Result<Roots, AskError> {
        match self.one(key.into(), Question::Roots).await? {
            Answered::Roots(answer) => Ok(answer),
            _ => unreachable!("an answer is of the kind of its question"),
        }
    }

    /// Asks several questions in one round.
    ///
    /// ```
    /// use smol_mcp::protocol::{CreateMessage, SamplingMessage};
    /// use smol_mcp::{Ask, Context, HandlerError, NoInput};
    ///
    /// async fn survey(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    ///     let prime = CreateMessage::new(10).message(SamplingMessage::user("Name a prime."));
    ///     let answers = cx.ask(Ask::new().sample("prime", prime).roots("roots")).await?;
    ///     let (prime, roots) = (answers.sample("prime"), answers.roots("roots"));
    ///     Ok(format!("{prime:?}, {roots:?}"))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// See [above](#when-there-is-no-answer). If the client lacks a capability for one of the questions, none is asked.
    pub async fn ask(&self, ask: Ask) -> Result<Answers, AskError> {
        let answers = self.all(&ask.0).await?;
        let keys = ask.0.into_iter().map(|(key, _)| key);
        Ok(Answers(keys.zip(answers).collect()))
    }

    /// Returns the value of the last [`set_state`](Self::set_state), in this round or in the one before.
    ///
    /// Returns `None` in the first round, and if the value does not deserialise as a `T`.
    pub fn state<T: DeserializeOwned>(&self) -> Option<T> {
        let state = self.0.asks.author_state()?;
        match serde_json::from_value(state) {
            Ok(state) => Some(state),
            Err(err) => {
                log::warn!("the state of an earlier round cannot be read: {err}");
                None
            }
        }
    }

    /// Keeps a value for the next round, in place of the one before.
    ///
    /// The client carries it. It is sealed, so that it comes back unchanged and for this request alone, but the client can
    /// read it. It expires ([`Builder::state_lifetime`](crate::Builder::state_lifetime)), and it may come back more than
    /// once: to do something only once, the server needs a memory of its own. (MCP 2026-07-28, basic/patterns/mrtr)
    ///
    /// # Errors
    ///
    /// Returns an error if the value cannot be serialised as JSON.
    pub fn set_state<T: Serialize>(&self, state: &T) -> Result<(), HandlerError> {
        self.0.asks.set_author_state(serde_json::to_value(state)?);
        Ok(())
    }

    async fn one(&self, key: String, question: Question) -> Result<Answered, AskError> {
        let mut answers = self.all(&[(key, question)]).await?;
        Ok(answers.pop().expect("one answer to one question"))
    }

    async fn all(&self, questions: &[(String, Question)]) -> Result<Vec<Answered>, AskError> {
        let call = &self.0;
        for (key, question) in questions {
            question
                .check()
                .map_err(|invalid| AskError::mistake(format!("{key:?}: {invalid}")))?;
        }
        let claim = Claim::new(call, questions)?;
        let answers = match call.asks.way {
            Way::None => Err(AskError::mistake(format!(
                "{} cannot ask the client",
                call.method.as_str()
            ))),
            Way::Deaf => outgoing::ask(call, &ClientCapabilities::default(), questions).await,
            Way::Live => outgoing::ask(call, &self.client_capabilities(), questions).await,
            Way::Rounds(_) => {
                let client = self.client_capabilities();
                call.asks.by_rounds(call, &client, questions).await
            }
        };
        if answers.is_ok() {
            claim.keep();
        }
        answers
    }
}

/// Several questions, to be asked at once by [`Context::ask`].
#[derive(Debug, Default)]
#[must_use = "questions are asked by `Context::ask`"]
pub struct Ask(Vec<(String, Question)>);

impl Ask {
    /// Makes an empty list of questions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question of [`Context::elicit`].
    pub fn elicit(self, key: impl Into<String>, elicit: Elicit) -> Self {
        self.add(key.into(), Question::Elicit(elicit))
    }

    /// Adds a question of [`Context::sample`].
    pub fn sample(self, key: impl Into<String>, sample: CreateMessage) -> Self {
        self.add(key.into(), Question::Sample(Box::new(sample)))
    }

    /// Adds the question of [`Context::roots`].
    pub fn roots(self, key: impl Into<String>) -> Self {
        self.add(key.into(), Question::Roots)
    }

    fn add(mut self, key: String, question: Question) -> Self {
        self.0.push((key, question));
        self
    }
}

/// The answers to the questions of an [`Ask`], by key.
#[derive(Clone, Debug)]
pub struct Answers(Vec<(String, Answered)>);

impl Answers {
    /// Returns the answer of the user, if this key asked for one.
    pub fn elicit(&self, key: &str) -> Option<&ElicitAnswer> {
        match self.get(key)? {
            Answered::Elicit(answer) => Some(answer),
            _ => None,
        }
    }

    /// Returns the message of the model, if this key asked for one.
    pub fn sample(&self, key: &str) -> Option<&CreateMessageResult> {
        match self.get(key)? {
            Answered::Sample(answer) => Some(answer),
            _ => None,
        }
    }

    /// Returns the roots, if this key asked for them.
    pub fn roots(&self, key: &str) -> Option<&Roots> {
        match self.get(key)? {
            Answered::Roots(answer) => Some(answer),
            _ => None,
        }
    }

    fn get(&self, key: &str) -> Option<&Answered> {
        let mut answers = self.0.iter();
        answers
            .find(|(known, _)| known == key)
            .map(|(_, answer)| answer)
    }
}

/// Why there is no answer to a question.
///
/// When it leaves a handler by `?`, also as a [source](StdError::source) of another error, it becomes what the protocol
/// defines. A missing capability is an error that names it, -32021, or -32602 before 2026-07-28. An answer that does not fit
/// is an error -32602 from 2026-07-28 on; before, the model reads of it, as it does of a refusal, any other error of the
/// client, and a timeout.
#[derive(Clone)]
pub struct AskError(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Unsupported(String),
    Client(RpcError),
    Invalid {
        key: String,
        why: String,
        /// The answer was a parameter of the request itself.
        in_request: bool,
    },
    TimedOut,
    Aborted(Reason),
    Mistake(String),
    Over,
}

impl AskError {
    pub(super) fn unsupported(needs: Map<String, Value>) -> Self {
        Self(Arc::new(Kind::Unsupported(json_text(&needs))))
    }

    pub(super) fn client(error: RpcError) -> Self {
        Self(Arc::new(Kind::Client(error)))
    }

    pub(super) fn invalid(key: &str, why: String, in_request: bool) -> Self {
        let key = key.to_owned();
        Self(Arc::new(Kind::Invalid {
            key,
            why,
            in_request,
        }))
    }

    pub(super) fn timed_out() -> Self {
        Self(Arc::new(Kind::TimedOut))
    }

    pub(super) fn aborted(reason: Reason) -> Self {
        Self(Arc::new(Kind::Aborted(reason)))
    }

    pub(super) fn mistake(text: String) -> Self {
        Self(Arc::new(Kind::Mistake(text)))
    }

    pub(super) fn over() -> Self {
        Self(Arc::new(Kind::Over))
    }

    /// Tells whether the client did not declare the capability for the question, or cannot be asked at all.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported(_))
    }

    /// Tells whether the user refused to let the model be asked: error -1 of the client.
    pub fn is_refused(&self) -> bool {
        self.client_error().is_some_and(|error| error.code == -1)
    }

    /// Returns the error that the client answered with; always `None` from 2026-07-28 on.
    pub fn client_error(&self) -> Option<&RpcError> {
        match &*self.0 {
            Kind::Client(error) => Some(error),
            _ => None,
        }
    }

    /// Tells whether the answer did not come in time; never true from 2026-07-28 on.
    pub fn is_timeout(&self) -> bool {
        matches!(*self.0, Kind::TimedOut)
    }

    /// Tells whether the answer does not fit the question.
    pub fn is_invalid(&self) -> bool {
        matches!(*self.0, Kind::Invalid { .. })
    }

    /// Tells whether nobody waits for the answer of the call any more: its signal has fired, or it has been answered.
    pub fn is_aborted(&self) -> bool {
        matches!(*self.0, Kind::Aborted(_) | Kind::Over)
    }

    /// What the handler that gives up for this reason has failed with.
    pub(super) fn to_failure(&self) -> HandlerError {
        let failed = match &*self.0 {
            Kind::Unsupported(needs) => Failed::Rpc(
                RpcError::new(
                    RpcError::MISSING_CLIENT_CAPABILITY,
                    "Missing required client capability",
                )
                .with_data(object(
                    "requiredCapabilities",
                    needs.parse().unwrap_or_default(),
                )),
            ),
            Kind::Invalid {
                in_request: true, ..
            } => Failed::Rpc(RpcError::invalid_params(self.to_string())),
            Kind::Client(_) | Kind::Invalid { .. } | Kind::TimedOut => {
                Failed::Public(format!("{self}."))
            }
            Kind::Aborted(reason) => Failed::Unexpected(Box::new(Aborted::from(reason.clone()))),
            Kind::Mistake(_) | Kind::Over => Failed::Unexpected(Box::new(self.clone())),
        };
        HandlerError(Box::new(failed))
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Unsupported(needs) => {
                write!(f, "the client lacks {needs}")
            }
            Kind::Client(error) => write!(f, "The client refused: {}", error.message),
            Kind::Invalid { key, why, .. } => write!(f, "Invalid answer to '{key}': {why}"),
            Kind::TimedOut => f.write_str("The client did not answer in time"),
            Kind::Aborted(reason) => write!(f, "aborted: {reason}"),
            Kind::Mistake(text) => f.write_str(text),
            Kind::Over => f.write_str("the request has been answered"),
        }
    }
}

impl fmt::Debug for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AskError({self})")
    }
}

impl StdError for AskError {}
