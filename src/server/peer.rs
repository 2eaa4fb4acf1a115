//! One counterpart of the server: a stdio connection, a legacy HTTP session, or all of HTTP that has no session.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::Inner;
use super::feed::Feed;
use super::inflight::Inflight;
use crate::era::legacy;
use crate::lines::DROPPING;
use crate::protocol::jsonrpc::Id;
use crate::protocol::{LogLevel, Version};
use crate::signal::{Reason, Signal};

/// What the server knows of a counterpart. Ids, sessions and cancellations of one peer never touch another.
pub(crate) struct Peer {
    pub(crate) server: Arc<Inner>,
    pub(crate) kind: Kind,
    pub(crate) inflight: Inflight,
    /// What is to be written to the one stream of the peer, where it has one.
    pub(crate) feed: Feed,
    session: Mutex<Option<legacy::Session>>,
    next_key: AtomicI64,
}

/// Whether the ids of requests are those of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One client, one stream: a byte stream such as stdin and stdout.
    Stream,
    /// One client, many streams: a legacy HTTP session.
    Session,
    /// Many clients: requests over HTTP outside of sessions. Ids of different clients may be equal.
    Crowd,
}

impl Peer {
    /// Creates a peer, known to the server from now on.
    pub(crate) fn new(server: &Arc<Inner>, kind: Kind) -> Arc<Self> {
        let peer = Arc::new(Self {
            server: server.clone(),
            kind,
            inflight: Inflight::default(),
            feed: Feed::default(),
            session: Mutex::default(),
            next_key: AtomicI64::new(0),
        });
        server.register(&peer);
        peer
    }

    fn session(&self) -> MutexGuard<'_, Option<legacy::Session>> {
        self.session
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The revision that `initialize` agreed on, once it has.
    pub(crate) fn legacy_version(&self) -> Option<Version> {
        self.session().as_ref().map(|session| session.version)
    }

    /// What `initialize` agreed on.
    pub(crate) fn legacy_session(&self) -> Option<legacy::Session> {
        self.session().clone()
    }

    /// The least level of log messages that the client asked for by `logging/setLevel`.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.session()
            .as_ref()
            .and_then(|session| session.log_level)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        if let Some(session) = &mut *self.session() {
            session.log_level = Some(level);
        }
    }

    /// Begins the legacy session; refuses if there is one.
    pub(crate) fn begin_session(&self, session: legacy::Session) -> bool {
        let mut place = self.session();
        let free = place.is_none();
        if free {
            *place = Some(session);
        }
        free
    }

    /// The key of a request in the table of running calls.
    pub(crate) fn key(&self, id: &Id) -> Id {
        match self.kind {
            Kind::Stream | Kind::Session => id.clone(),
            Kind::Crowd => Id::from(self.next_key.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// Fires every signal; answers may leave for the grace, then what still runs is dropped.
    pub(crate) async fn close(&self, reason: Reason, grace: Duration) {
        self.inflight.abort_all(&reason);
        self.inflight.drained(&Signal::timeout(grace)).await;
        self.feed.close();
        self.inflight.clear_within(&Signal::timeout(DROPPING)).await;
    }
}
