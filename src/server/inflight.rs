//! The running calls of one peer: each id once, each with the task that runs its handler.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use event_listener::Event;
use futures_lite::future;

use super::call::Call;
use crate::protocol::jsonrpc::Id;
use crate::signal::{Reason, Signal};

/// How long it may take to drop handlers that run on after the grace. One that keeps its thread is left to it.
pub(crate) const DROPPING: Duration = Duration::from_millis(250);

/// The table of running calls. An entry stays until its handler has settled, whatever became of the answer.
#[derive(Default)]
pub(crate) struct Inflight {
    entries: Mutex<Entries>,
    /// Notified when the last call has settled.
    idle: Event,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Id, Entry>,
    /// How many of them are subscriptions, which wait for nothing and which nobody waits for.
    subscriptions: usize,
}

impl Entries {
    fn running(&self) -> usize {
        self.by_key.len() - self.subscriptions
    }
}

struct Entry {
    call: Arc<Call>,
    /// The handler, once it is more than its first poll. Dropping the entry drops the handler.
    task: Option<smol::Task<()>>,
}

/// Why a call cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A call with this id runs still.
    Duplicate,
    /// As many calls run as may.
    Full,
}

impl Inflight {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn insert(&self, call: &Arc<Call>, most: usize) -> Result<(), Refused> {
        let mut entries = self.entries();
        let subscription = call.is_subscription();
        // Subscriptions have a bound of their own.
        if !subscription && entries.running() >= most {
            return Err(Refused::Full);
        }
        match entries.by_key.entry(call.key.clone()) {
            hash_map::Entry::Occupied(_) => return Err(Refused::Duplicate),
            hash_map::Entry::Vacant(place) => place.insert(Entry {
                call: call.clone(),
                task: None,
            }),
        };
        entries.subscriptions += usize::from(subscription);
        Ok(())
    }

    /// Gives a call the task that runs it. If the call has settled meanwhile, or been cleared away, the task is dropped.
    ///
    /// By then its id may be that of the next call, begun by another thread.
    pub(crate) fn own(&self, call: &Arc<Call>, task: smol::Task<()>) {
        match self.entries().by_key.get_mut(&call.key) {
            Some(entry) if Arc::ptr_eq(&entry.call, call) => entry.task = Some(task),
            _ => {}
        }
    }

    /// Forgets a call that has settled.
    pub(crate) fn remove(&self, call: &Arc<Call>) {
        let mut entries = self.entries();
        let entry = match entries.by_key.get(&call.key) {
            Some(entry) if Arc::ptr_eq(&entry.call, call) => entries.by_key.remove(&call.key),
            _ => None,
        };
        if entry
            .as_ref()
            .is_some_and(|entry| entry.call.is_subscription())
        {
            entries.subscriptions -= 1;
        }
        let idle = entries.running() == 0;
        drop(entries);
        if idle {
            self.idle.notify(usize::MAX);
        }
        // The task itself may be the caller: to drop it here would cancel what runs right now.
        if let Some(Entry {
            task: Some(task), ..
        }) = entry
        {
            task.detach();
        }
    }

    pub(crate) fn find(&self, key: &Id) -> Option<Arc<Call>> {
        self.entries()
            .by_key
            .get(key)
            .map(|entry| entry.call.clone())
    }

    /// Returns the number of handlers that run.
    pub(crate) fn len(&self) -> usize {
        self.entries().running()
    }

    /// Waits until no call runs, or until the signal fires.
    pub(crate) async fn drained(&self, patience: &Signal) {
        while self.len() > 0 && !patience.is_aborted() {
            let listener = self.idle.listen();
            if self.len() > 0 {
                let _ = patience.run(listener).await;
            }
        }
    }

    /// Returns the calls that run now.
    pub(crate) fn calls(&self) -> Vec<Arc<Call>> {
        self.entries()
            .by_key
            .values()
            .map(|entry| entry.call.clone())
            .collect()
    }

    /// Fires the signal of every call. Answers may still leave. Subscriptions end.
    pub(crate) fn abort_all(&self, reason: &Reason) {
        // Not under the lock: what a signal wakes may come back here.
        for call in self.calls() {
            call.abort(reason.clone());
        }
    }

    /// Drops every handler that still runs, and waits until all are gone, or until the signal fires.
    ///
    /// What a handler holds is given back where it ran, on its executor: children are killed, files closed.
    pub(crate) async fn clear_within(&self, patience: &Signal) {
        let cancel = async {
            loop {
                let tasks = self.take_tasks();
                for task in tasks {
                    task.cancel().await;
                }
                if self.len() == 0 {
                    return;
                }
                // A handler is in its first poll, on another thread. Its task comes, or it settles.
                future::yield_now().await;
            }
        };
        let _ = patience.run(cancel).await;
        self.clear();
    }

    /// Takes out every call whose handler is a task already.
    fn take_tasks(&self) -> Vec<smol::Task<()>> {
        let mut tasks = Vec::new();
        self.entries()
            .by_key
            .retain(|_, entry| match entry.task.take() {
                Some(task) => {
                    entry.call.end_of_grace();
                    tasks.push(task);
                    false
                }
                None => true,
            });
        tasks
    }

    /// Drops every handler that still runs, without waiting.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut *self.entries());
        drop(entries);
    }
}
