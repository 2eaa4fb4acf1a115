//! The running calls of one peer: each id once, each with the task that runs its handler.

use std::collections::HashMap;
use std::collections::hash_map;
use std::sync::Arc;
use std::time::Duration;

use event_listener::Event;
use futures_lite::future;

use super::call::Call;
use super::sync::{Mutex, MutexGuard};
use crate::executor::Task;
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
    /// How many calls have left the table, and are about to hand over their answer.
    leaving: usize,
    /// Everything was told to end: what came now would not be told.
    shut: bool,
}

impl Entries {
    fn running(&self) -> usize {
        self.by_key.len() - self.subscriptions
    }

    fn is_idle(&self) -> bool {
        self.running() + self.leaving == 0
    }

    /// The entry of this very call, not of another one with its key.
    fn of(&mut self, call: &Arc<Call>) -> Option<&mut Entry> {
        let entry = self.by_key.get_mut(&call.key)?;
        Arc::ptr_eq(&entry.call, call).then_some(entry)
    }
}

/// A call that has left the table and is not done yet.
#[must_use]
pub(crate) struct Leaving<'a>(&'a Inflight);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut entries = self.0.entries();
        entries.leaving -= 1;
        let idle = entries.is_idle();
        drop(entries);
        if idle {
            self.0.idle.notify(usize::MAX);
        }
    }
}

struct Entry {
    call: Arc<Call>,
    /// The handler, once it is more than its first poll. Dropping the entry drops the handler.
    task: Option<Task<()>>,
}

/// Why a call cannot begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A call with this id runs still.
    Duplicate,
    /// As many calls run as may.
    Full,
    /// All calls have been told to end.
    Shut,
}

impl Inflight {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn insert(&self, call: &Arc<Call>, most: usize) -> Result<(), Refused> {
        let mut entries = self.entries();
        if entries.shut {
            return Err(Refused::Shut);
        }
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
    pub(crate) fn own(&self, call: &Arc<Call>, task: Task<()>) {
        if let Some(entry) = self.entries().of(call) {
            entry.task = Some(task);
        }
    }

    /// Takes a call that settles out of the table: from now on its id may be used again, as its client may do as soon as
    /// it sees the answer. The peer counts as busy until the guard is dropped, which is when the answer stands where the
    /// transport finds it.
    pub(crate) fn leave(&self, call: &Arc<Call>) -> Leaving<'_> {
        let mut entries = self.entries();
        entries.leaving += 1;
        let known = entries.of(call).is_some();
        let entry = known.then(|| entries.by_key.remove(&call.key)).flatten();
        if known && call.is_subscription() {
            entries.subscriptions -= 1;
        }
        drop(entries);
        // The task itself may be the caller: to drop it here would cancel what runs right now.
        if let Some(Entry {
            task: Some(task), ..
        }) = entry
        {
            task.detach();
        }
        Leaving(self)
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
        while !self.entries().is_idle() && !patience.is_aborted() {
            let listener = self.idle.listen();
            if !self.entries().is_idle() {
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

    /// Fires the signal of every call, and lets no other in. Answers may still leave. Subscriptions end.
    pub(crate) fn abort_all(&self, reason: &Reason) {
        self.entries().shut = true;
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
    fn take_tasks(&self) -> Vec<Task<()>> {
        let mut tasks = Vec::new();
        self.entries()
            .by_key
            .retain(|_, entry| match entry.task.take() {
                Some(task) => {
                    tasks.push(task);
                    false
                }
                None => true,
            });
        tasks
    }

    /// Drops every handler that still runs, without waiting.
    pub(crate) fn clear(&self) {
        let mut entries = self.entries();
        entries.subscriptions = 0;
        let by_key = std::mem::take(&mut entries.by_key);
        drop(entries);
        drop(by_key);
    }
}
