//! What a handler gets beside its input.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Server;
use super::amount::{Amount, IntoTotal};
use super::call::Call;
use super::messages;
use super::principal::Principal;
use super::progress;
use crate::era;
use crate::protocol::jsonrpc::Id;
use crate::protocol::meta::{self, Meta};
use crate::protocol::{ClientCapabilities, Implementation, LogLevel, ProgressToken, Version};
use crate::signal::Signal;

/// The request that a handler serves: its signal, its progress, and who asks.
///
/// Cheap to clone. It may outlive the request: after the end of that, nothing is sent through it.
#[derive(Clone)]
pub struct Context(pub(crate) Arc<Call>);

impl Context {
    /// Returns the signal that fires when nobody waits for the answer any more.
    ///
    /// It works alike in every protocol revision and transport. Its [`Reason`](crate::signal::Reason) tells what happened.
    /// A handler can make it stricter: `cx.signal().any(Duration::from_secs(10))`.
    ///
    /// It does not fire because the call has been answered. Work that outlives its handler is told of nothing by it, and
    /// needs another signal, such as [`Server::closed`].
    pub fn signal(&self) -> &Signal {
        &self.0.signal
    }

    /// Reports progress to a client that asked for it; otherwise does nothing, and formats nothing.
    ///
    /// The number has to rise from report to report; one that does not, or is not finite, is dropped. `total` is a
    /// number or `None`; pass an `Option` as `total.map(Amount::from)`. Nothing is sent after the answer, nor once the client
    /// does not want an answer. A client that reads slowly gets the newest report instead of all. Never blocks.
    /// (MCP 2026-07-28, basic/patterns/progress)
    pub fn progress(
        &self,
        progress: impl Into<Amount>,
        total: impl IntoTotal,
        message: impl fmt::Display,
    ) {
        let Some(token) = &self.0.progress_token else {
            return;
        };
        let (progress, total) = (
            progress.into(),
            total.into_total().filter(|total| total.is_finite()),
        );
        if progress.is_finite() {
            let message =
                era::has_progress_message(self.0.version).then_some(&message as &dyn fmt::Display);
            self.0.say_progress(progress, || {
                progress::notification(token, progress, total, message)
            });
        }
    }

    /// Returns the client's token for progress, if it asked for it.
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.0.progress_token.as_ref()
    }

    /// Sends a log message to the client, if it asked for messages of this level and the server offers them
    /// ([`Builder::logging`](crate::Builder::logging)).
    ///
    /// The messages of a request precede its answer, on the same stream. They must hold no secrets. Never blocks: for a
    /// client that reads slowly, [`Limits::log_backlog`](crate::Limits::log_backlog) messages of a call wait; beyond that
    /// the oldest are dropped, and a message in their place tells how many.
    /// (MCP 2026-07-28, server/utilities/logging)
    pub fn log(&self, level: LogLevel, data: impl Into<Value>) {
        let offered = self.0.peer.server.offers.logging;
        if !offered || self.0.log_level.is_none_or(|least| level < least) {
            return;
        }
        let message = messages::notification(level, data.into());
        self.0.say_log(level, message);
    }

    /// Ends the stream that carries the response; the client comes back for the rest.
    ///
    /// This is for long calls, under the one revision whose clients poll (2025-11-25), over HTTP with sessions and an
    /// event store (`http::Endpoint::event_store`). Messages so far are sent, the handler runs on, and its later messages
    /// are sent when the client asks for them by GET with `Last-Event-ID`. Everywhere else it does nothing. The signal
    /// does not fire.
    pub fn release_stream(&self) {
        self.0.release();
    }

    /// Returns the server, to change its lists or to tell clients of a change.
    pub fn server(&self) -> Server {
        Server(self.0.peer.server.clone())
    }

    /// Returns on whose behalf the request is made.
    ///
    /// Over HTTP that is what `http::Endpoint::authorize` returned; elsewhere there is none.
    pub fn principal(&self) -> Option<&Principal> {
        self.0.principal.as_ref()
    }

    /// Returns the protocol revision that the request falls under.
    pub fn protocol_version(&self) -> Version {
        self.0.version
    }

    /// Returns the method of the request: `tools/call`.
    pub fn method(&self) -> &'static str {
        self.0.method.as_str()
    }

    /// Returns what the request is about: the name of the tool or prompt, the address of the resource, the name of the
    /// argument to complete.
    pub fn subject(&self) -> &str {
        &self.0.subject
    }

    /// Returns the id of the request. Requests of different clients may have the same.
    pub fn request_id(&self) -> &Id {
        &self.0.id
    }

    /// Returns the name and version that the client gives. Not verified: for display and logs.
    pub fn client_info(&self) -> Option<Implementation> {
        match era::is_modern(self.0.version) {
            true => serde_json::from_str(self.meta_members()?.client_info?.get()).ok(),
            false => Some(self.0.peer.legacy_session()?.client_info),
        }
    }

    /// Returns what the client declared that it can do: with this request, or in its `initialize`.
    pub fn client_capabilities(&self) -> ClientCapabilities {
        let declared = match era::is_modern(self.0.version) {
            true => self
                .meta_members()
                .and_then(|meta| meta.capabilities)
                .map(ClientCapabilities::from_raw),
            false => self
                .0
                .peer
                .legacy_session()
                .map(|session| session.capabilities),
        };
        declared.unwrap_or_default()
    }

    /// Returns a member of the request's `_meta`: `traceparent`, or one of the application's own.
    pub fn meta(&self, name: &str) -> Option<Value> {
        let raw = self.0.meta.as_ref()?;
        let mut members: serde_json::Map<String, Value> = raw.get().parse().ok()?;
        members.get_mut(name).map(Value::take)
    }

    fn meta_members(&self) -> Option<Meta<'_>> {
        meta::read(self.0.meta.as_deref()?)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", &self.0.method.as_str())
            .field("subject", &self.0.subject)
            .field("id", &self.0.id)
            .field("version", &self.0.version)
            .finish_non_exhaustive()
    }
}
