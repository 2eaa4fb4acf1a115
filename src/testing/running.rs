//! A request that runs.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use serde_json::{Value, json};

use super::wire::{Message, Wire, fail, is_answer};
use crate::protocol::RpcError;

/// A request that a [`Client`](super::Client) has begun.
///
/// Dropping it does nothing: the request runs on. Its methods panic in the cases in which those of the client do.
pub struct Running {
    pub(super) id: i64,
    pub(super) wire: Arc<Wire>,
}

impl Running {
    /// Returns the id of the request, which is also its progress token.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the params of the next progress notification; `None` if the answer came first.
    #[track_caller]
    pub fn progress(&mut self) -> impl Future<Output = Option<Value>> {
        let at = Location::caller();
        async move {
            let (id, is_progress) = (self.id, |value: &Value| {
                value["method"] == "notifications/progress"
            });
            let found = self
                .wire
                .find(at, |messages| {
                    let next = messages.iter().position(|Message { value, .. }| {
                        let reports = is_progress(value) && value["params"]["progressToken"] == id;
                        reports || is_answer(value, id)
                    })?;
                    match is_progress(&messages[next].value) {
                        true => messages.remove(next).map(Some),
                        false => Some(None),
                    }
                })
                .await;
            match found {
                Some(report) => report.map(|mut message| message.value["params"].take()),
                None => fail(
                    at,
                    format_args!("the connection ended before request {id} was answered"),
                ),
            }
        }
    }

    /// Waits for the result.
    ///
    /// # Panics
    ///
    /// If the answer is an error of the protocol; [`outcome`](Self::outcome) returns those.
    #[track_caller]
    pub fn answer(self) -> impl Future<Output = Value> {
        let at = Location::caller();
        async move { self.wire.result(at, self.id).await }
    }

    /// Waits for the answer, which is the result or an error of the protocol.
    #[track_caller]
    pub fn outcome(self) -> impl Future<Output = Result<Value, RpcError>> {
        let at = Location::caller();
        async move { self.wire.answer(at, self.id).await }
    }

    /// Cancels the request: sends `notifications/cancelled`.
    #[track_caller]
    pub fn cancel(&self, reason: &str) -> impl Future<Output = ()> {
        let at = Location::caller();
        let line = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": self.id, "reason": reason },
        });
        async move { self.wire.send(at, line.to_string()).await }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
