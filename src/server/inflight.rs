//! The running calls of one peer: each id once, each with the task that runs its handler.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::{Arc, Mutex, MutexGuard};

use event_listener::Event;
use futures_lite::future;

use super::call::Call;
use crate::protocol::jsonrpc::Id;
use crate::signal::{Reason, Signal};

/// The table of running calls. An entry stays until its handler has settled, whatever became of the answer.
#[derive(Default)]
pub(crate) struct Inflight {
    entries: Mutex<HashMap<Id, Entry>>,
    /// Notified when the last call has settled.
    idle: Event,
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
    fn entries(&self) -> MutexGuard<'_, HashMap<Id, Entry>> {
        self.entries
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn insert(&self, call: &Arc<Call>, most: usize) -> Result<(), Refused> {
        let mut entries = self.entries();
        if entries.len() >= most {
            return Err(Refused::Full);
        }
        match entries.entry(call.key.clone()) {
            hash_map::Entry::Occupied(_) => Err(Refused::Duplicate),
            hash_map::Entry::Vacant(place) => {
                place.insert(Entry {
                    call: call.clone(),
                    task: None,
                });
                Ok(())
            }
        }
    }

    /// Gives a call the task that runs it. If the call has settled meanwhile, or been cleared away, the task is dropped.
    ///
    /// By then its id may be that of the next call, begun by another thread.
    pub(crate) fn own(&self, call: &Arc<Call>, task: smol::Task<()>) {
        match self.entries().get_mut(&call.key) {
            Some(entry) if Arc::ptr_eq(&entry.call, call) => entry.task = Some(task),
            _ => {}
        }
    }

    /// Forgets a call that has settled.
    pub(crate) fn remove(&self, call: &Arc<Call>) {
        let mut entries = self.entries();
        let entry = match entries.get(&call.key) {
            Some(entry) if Arc::ptr_eq(&entry.call, call) => entries.remove(&call.key),
            _ => None,
        };
        let idle = entries.is_empty();
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
        self.entries().get(key).map(|entry| entry.call.clone())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries().len()
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
            .values()
            .map(|entry| entry.call.clone())
            .collect()
    }

    /// Fires the signal of every call. Answers may still leave.
    pub(crate) fn abort_all(&self, reason: &Reason) {
        // Not under the lock: what a signal wakes may come back here.
        for call in self.calls() {
            call.controller.abort(reason.clone());
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
    }

    /// Takes out every call whose handler is a task already.
    fn take_tasks(&self) -> Vec<smol::Task<()>> {
        let mut tasks = Vec::new();
        self.entries().retain(|_, entry| match entry.task.take() {
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
