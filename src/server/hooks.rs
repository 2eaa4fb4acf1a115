//! What the author has to say to calls, and is told of: failures, cancellations and progress.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::Inner;
use super::around::{Hook, RunAround};
use super::call::Call;
use super::failure::HandlerError;
use super::running::text_of;
use crate::protocol::Version;
use crate::protocol::jsonrpc::Id;

type OnFailure = dyn Fn(&Failure<'_>) + Send + Sync;
type OnCancelled = dyn Fn(&Cancelled<'_>) + Send + Sync;
type OnProgressed = dyn Fn(&Progressed<'_>) + Send + Sync;

/// What the author has to say to calls, and wants to be told of.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) on_error: Option<Box<OnFailure>>,
    pub(crate) on_cancelled: Option<Box<OnCancelled>>,
    pub(crate) on_progress: Option<Box<OnProgressed>>,
    /// What runs around calls, from the outside in.
    pub(crate) around: Vec<Hook>,
    /// Begins a call with all that runs around it, if anything does.
    pub(crate) run_around: Option<RunAround>,
}

/// An unexpected failure of a handler, as the operator sees it. The client reads a generic text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// The method of the request: `tools/call`.
    pub method: &'static str,
    /// The tool, prompt or resource.
    pub subject: &'a str,
    /// The id of the request.
    pub request_id: &'a Id,
    /// The protocol revision that the request fell under.
    pub protocol_version: Version,
    /// The time since the request arrived.
    pub elapsed: Duration,
    /// What it failed with.
    pub error: &'a HandlerError,
}

/// A cancellation that a client has sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cancelled<'a> {
    /// The id of the request that the client does not want any more.
    pub request_id: &'a Id,
    /// Why, in the client's words: untrusted, and at most 256 characters.
    pub reason: Option<&'a str>,
    /// Whether a running request was found and aborted.
    pub aborted: bool,
}

/// Progress that a client reports on a question (before 2026-07-28).
#[derive(Debug)]
#[non_exhaustive]
pub struct Progressed<'a> {
    /// The id of the client's request that is being served.
    pub call: &'a Id,
    /// The key of the question.
    pub key: &'a str,
    /// The method of the server's request: `sampling/createMessage`.
    pub method: &'static str,
    /// How far it is, as the client says.
    pub progress: f64,
    /// How far it has to go, if the client knows.
    pub total: Option<f64>,
    /// A text of the client: untrusted.
    pub message: Option<&'a str>,
}

impl Inner {
    /// Tells the operator what the client is not told.
    pub(super) fn report(&self, call: &Call, error: &HandlerError) {
        let (method, elapsed) = (call.method.as_str(), call.started.elapsed());
        tell(&|| {
            // Also what formats the author's error is the author's.
            log::error!("{}: {error}", call.named());
            if let Some(on_error) = &self.hooks.on_error {
                on_error(&Failure {
                    method,
                    subject: &call.subject,
                    request_id: &call.id,
                    protocol_version: call.version,
                    elapsed,
                    error,
                });
            }
        });
    }

    /// Tells the author of a cancellation.
    pub(super) fn report_cancelled(&self, cancelled: &Cancelled<'_>) {
        log::debug!(
            "cancelled: {} ({:?}), aborted: {}",
            cancelled.request_id,
            cancelled.reason.unwrap_or("no reason given"),
            cancelled.aborted
        );
        if let Some(on_cancelled) = &self.hooks.on_cancelled {
            tell(&|| on_cancelled(cancelled));
        }
    }

    /// Tells the author of progress on something that a client was asked.
    pub(super) fn report_progress(&self, progressed: &Progressed<'_>) {
        if let Some(on_progress) = &self.hooks.on_progress {
            tell(&|| on_progress(progressed));
        }
    }
}

/// Tells the author of something. It is told where a message is read or answered, and its panic is for the log alone.
#[inline(never)]
pub(super) fn tell(told: &dyn Fn()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(told)) {
        let text = text_of(&*panic);
        log::error!("a hook panicked: {text}");
    }
}
