//! Stands in for a call and its peer: what the gate, the table and the feed know of them.

use std::sync::Arc;
use std::time::Duration;

use super::feed::Feed;
use super::inflight::{Inflight, Leaving};
use super::outlet::Outlet;
use crate::protocol::jsonrpc::Id;
use crate::signal::{Controller, Reason, Signal};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) body: Vec<u8>,
}

pub(crate) struct Call {
    pub(crate) key: Id,
    pub(crate) peer: Arc<Peer>,
    pub(crate) controller: Controller,
    pub(crate) signal: Signal,
    pub(super) outlet: Outlet,
}

#[derive(Default)]
pub(crate) struct Peer {
    pub(crate) inflight: Inflight,
    pub(crate) feed: Feed,
    pub(crate) server: Server,
}

#[derive(Default)]
pub(crate) struct Server {
    pub(crate) limits: Limits,
}

pub(crate) struct Limits {
    pub(crate) progress_interval: Duration,
    pub(crate) log_backlog: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            progress_interval: Duration::ZERO,
            log_backlog: 2,
        }
    }
}

impl Call {
    pub(crate) fn new(peer: &Arc<Peer>, key: Id) -> Arc<Self> {
        let controller = Controller::new();
        Arc::new(Self {
            key,
            peer: peer.clone(),
            signal: controller.signal(),
            controller,
            outlet: Outlet::default(),
        })
    }

    /// None of them is a subscription.
    pub(crate) fn is_subscription(&self) -> bool {
        false
    }

    /// The log is not part of the model.
    pub(super) fn tell_thrown_away(&self) {}

    pub(crate) fn leave(self: &Arc<Self>) -> Leaving<'_> {
        self.peer.inflight.leave(self)
    }

    pub(crate) fn abort(self: &Arc<Self>, reason: Reason) {
        self.controller.abort(reason);
    }

    /// As the call of the server does, without its logs: the answer is made only if it can still leave.
    pub(crate) fn settle(self: &Arc<Self>, answer: &[u8]) {
        if self.is_open() {
            let body = answer.to_vec();
            self.settle_with(Answer { body });
        } else {
            drop(self.leave());
        }
    }

    pub(crate) fn log(self: &Arc<Self>, message: String) {
        self.say_log(0, message.into_bytes());
    }

    /// As for a handler that has not ended by its deadline.
    pub(crate) fn answer_late(self: &Arc<Self>, answer: &[u8]) {
        let body = answer.to_vec();
        self.close_with(Answer { body });
    }
}
