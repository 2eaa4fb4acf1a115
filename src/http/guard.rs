//! The duty of whoever reads a call: to leave it when nobody reads any more.

use std::sync::Arc;
use std::task::{Context, Poll};

use super::session::{InUse, Session};
use crate::server::call::Call;
use crate::server::outlet::Next;
use crate::signal::{Reason, Signal};

/// Leaves a call whose response is dropped before its end: nobody reads it any more.
pub(super) struct Guard {
    call: Option<Arc<Call>>,
    /// The signal of the request, if the handler does not have it: it is not to notice by itself that its client has gone,
    /// or it was begun by an earlier request.
    apart: Option<Signal>,
    /// Whether the handler runs on when its client hangs up.
    runs_on: bool,
    /// The session of the call. It is in use until the response ends.
    session: Option<InUse>,
}

impl Guard {
    pub(super) fn new(
        call: Arc<Call>,
        apart: Option<Signal>,
        session: Option<Arc<Session>>,
    ) -> Self {
        let call = Some(call);
        Self {
            call,
            apart,
            runs_on: false,
            session: session.map(InUse::new),
        }
    }

    /// Says whether the handler runs on when its client hangs up. It does not by default.
    pub(super) fn runs_on(mut self, runs_on: bool) -> Self {
        self.runs_on = runs_on;
        self
    }

    pub(super) fn call(&self) -> Option<&Arc<Call>> {
        self.call.as_ref()
    }

    pub(super) fn session(&self) -> Option<&Arc<Session>> {
        self.session.as_ref().map(InUse::session)
    }

    /// Hands the duty on.
    pub(super) fn take(&mut self) -> Self {
        Self {
            call: self.call.take(),
            apart: self.apart.take(),
            runs_on: self.runs_on,
            session: self.session.take(),
        }
    }

    /// There is no more to read here.
    pub(super) fn disarm(&mut self) {
        self.call = None;
    }

    /// Tells the handler of an end that is near. Its answer may still leave.
    pub(super) fn abort(&self, reason: Reason) {
        if let Some(call) = &self.call {
            call.abort(reason);
        }
    }

    /// Nobody reads here any more, for a reason that is known.
    pub(super) fn leave(&mut self, reason: Reason) {
        let Some(call) = self.call.take() else {
            return;
        };
        if !(self.runs_on && matches!(reason, Reason::Disconnected)) {
            call.silence(reason);
        }
    }

    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Next> {
        match &self.call {
            Some(call) => call.poll_next(cx),
            None => Poll::Ready(Next::Silence),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let fired = self.apart.as_ref().and_then(Signal::reason);
        self.leave(fired.unwrap_or(Reason::Disconnected));
    }
}
