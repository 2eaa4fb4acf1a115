//! Waiting with a thread instead of a task.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use super::clock::{self, NEVER};
use super::{Reason, Signal, Wait};

/// Blocks the thread until the signal fires, or until the moment `until`; returns the reason in the first case.
///
/// Deadlines are waited for with the timeout of the lock, so that no timer and no other thread takes part.
pub(super) fn wait(signal: &Signal, until: u64) -> Option<Reason> {
    if let Some(reason) = signal.reason() {
        return Some(reason);
    }
    let until = until.min(signal.deadline.at);
    let park = Arc::new(Park::default());
    let mut wait = Wait::new(signal.clone());
    if let Some(reason) = wait.enrol_without_alarm(&Waker::from(park.clone())) {
        return Some(reason);
    }
    park.until(until);
    wait.leave();
    signal.reason()
}

#[derive(Default)]
struct Park {
    woken: Mutex<bool>,
    condition: Condvar,
}

impl Park {
    /// Blocks until it is woken or the moment has come.
    fn until(&self, moment: u64) {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        while !*woken {
            if moment == NEVER {
                let waited = self.condition.wait(woken);
                woken = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = moment.saturating_sub(clock::now());
            if left == 0 {
                return;
            }
            let left = Duration::from_nanos(left);
            let waited = self.condition.wait_timeout(woken, left);
            woken = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Wake for Park {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condition.notify_one();
    }
}
