//! One counterpart of the server: a stdio connection, a legacy HTTP session, or all of HTTP that has no session.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::Inner;
use super::feed::Feed;
use super::inflight::Inflight;
use super::outgoing::Outgoing;
use super::subscriptions::{Change, MOST_ADDRESSES, MOST_RESOURCES};
use crate::era::legacy;
use crate::protocol::jsonrpc::Id;
use crate::protocol::{LogLevel, Version};

/// What the server knows of a counterpart. Ids, sessions and cancellations of one peer never touch another.
pub(crate) struct Peer {
    pub(crate) server: Arc<Inner>,
    pub(crate) kind: Kind,
    pub(crate) inflight: Inflight,
    /// What is to be written to the one stream of the peer, where it has one.
    pub(crate) feed: Feed,
    /// What the server has asked the client.
    pub(crate) outgoing: Outgoing,
    session: Mutex<Option<legacy::Session>>,
    told: Mutex<Told>,
    next_key: AtomicI64,
}

/// What a legacy client is told without having a request open.
#[derive(Default)]
struct Told {
    /// It has said that its side is ready: until then it is told nothing.
    ready: bool,
    /// The resources that it has subscribed to, in their order.
    resources: Vec<String>,
    /// How long their addresses are in all.
    bytes: usize,
}

impl Told {
    /// The place of a resource, or where it would stand.
    fn place(&self, uri: &str) -> Result<usize, usize> {
        self.resources.binary_search_by(|known| (**known).cmp(uri))
    }
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
            outgoing: Outgoing::default(),
            session: Mutex::default(),
            told: Mutex::default(),
            next_key: AtomicI64::new(0),
        });
        server.register(&peer);
        if server.is_closed() {
            // Whoever closed the server may have looked for peers before there was this one.
            peer.feed.close();
        }
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

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The client's side of a legacy session is ready.
    pub(crate) fn set_ready(&self) {
        if self.session().is_some() {
            self.told().ready = true;
        }
    }

    /// Tells whether a legacy client is to be told of a change.
    pub(crate) fn is_told_of(&self, change: Change<'_>) -> bool {
        let told = self.told();
        told.ready
            && match change {
                Change::List(_) => true,
                Change::Resource(uri) => told.place(uri).is_ok(),
            }
    }

    /// Subscribes a legacy client to a resource. Refuses too many, and tells how many of what that is.
    pub(crate) fn subscribe(&self, uri: String) -> Result<(), (usize, &'static str)> {
        let mut told = self.told();
        let Err(place) = told.place(&uri) else {
            return Ok(());
        };
        if told.resources.len() == MOST_RESOURCES {
            return Err((MOST_RESOURCES, ""));
        }
        let bytes = told.bytes.saturating_add(uri.len());
        if bytes > MOST_ADDRESSES {
            return Err((MOST_ADDRESSES, " bytes of addresses"));
        }
        told.bytes = bytes;
        told.resources.insert(place, uri);
        Ok(())
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        let mut told = self.told();
        if let Ok(place) = told.place(uri) {
            told.bytes -= told.resources.remove(place).len();
        }
    }

    /// The key of a request in the table of running calls.
    pub(crate) fn key(&self, id: &Id) -> Id {
        match self.kind {
            Kind::Stream => id.clone(),
            // Each request has a response of its own, so equal ids harm nobody; and there are clients that know but one.
            Kind::Session | Kind::Crowd => Id::from(self.next_key.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
