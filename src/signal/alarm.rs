//! The one timer that serves all awaited deadlines.
//!
//! A deadline that is not the earliest costs an insertion into a heap; the reactor does not hear of it. Nothing of
//! this exists until the first deadline is awaited. Deadlines that are given up do not move the timer: it goes off, finds
//! nothing due, and is set for the next.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use async_io::Timer;

use super::clock::{self, NEVER};
use super::due::{Due, Place};

static ALARM: LazyLock<Mutex<Alarm>> = LazyLock::new(|| {
    Mutex::new(Alarm {
        due: Due::new(),
        timer: Some(Timer::never()),
        armed: NEVER,
        waker: Waker::from(Arc::new(Ring)),
    })
});

/// Its lock is never held while a waker of somebody else runs, is cloned or is dropped. That is also why the timer is
/// taken out to be set: the reactor may have to drop other timers then, with their wakers.
struct Alarm {
    due: Due,
    /// `None` while a thread sets it. That thread looks at `due` and `armed` again when it puts the timer back.
    timer: Option<Timer>,
    /// What the timer is set to, or [`NEVER`] if it is not, or has gone off.
    armed: u64,
    /// Of the timer.
    waker: Waker,
}

/// An awaited deadline; takes itself out when dropped.
pub(super) struct Entry(Place);

impl Entry {
    /// Has `waker` called when the moment has come, soon after it.
    pub(super) fn new(at: u64, waker: Waker) -> Self {
        let mut alarm = lock();
        let entry = Self(alarm.due.insert(at, waker));
        if at < alarm.armed {
            tend(alarm);
        }
        entry
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut alarm = lock();
        let waker = alarm.due.remove(self.0);
        drop(alarm);
        drop(waker);
    }
}

/// Called by the timer.
struct Ring;

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        let mut alarm = lock();
        alarm.armed = NEVER;
        tend(alarm);
    }
}

fn lock() -> MutexGuard<'static, Alarm> {
    ALARM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes whoever is due and sets the timer for the first of the others.
fn tend(mut alarm: MutexGuard<'_, Alarm>) {
    let mut woken = Vec::new();
    while alarm.due.first().is_some() {
        let now = clock::now();
        while let Some(waker) = alarm.due.pop(now) {
            woken.push(waker);
        }
        let Some(first) = alarm.due.first() else {
            break;
        };
        if first >= alarm.armed {
            break;
        }
        // A moment that the clock of the system cannot express does not come.
        let Some(instant) = clock::instant(first) else {
            break;
        };
        let Some(mut timer) = alarm.timer.take() else {
            break;
        };
        alarm.armed = first;
        let waker = alarm.waker.clone();
        drop(alarm);
        timer.set_at(instant);
        let mut cx = Context::from_waker(&waker);
        let gone_off = Future::poll(Pin::new(&mut timer), &mut cx).is_ready();
        alarm = lock();
        alarm.timer = Some(timer);
        if gone_off {
            alarm.armed = NEVER;
        }
    }
    drop(alarm);
    wake(woken);
}

/// Wakes all, also if some panic; then panics with the first of them.
fn wake(wakers: Vec<Waker>) {
    let mut panicked: Option<Box<dyn Any + Send>> = None;
    for waker in wakers {
        if let Err(panic) = panic::catch_unwind(AssertUnwindSafe(|| waker.wake())) {
            panicked.get_or_insert(panic);
        }
    }
    if let Some(panic) = panicked {
        panic::resume_unwind(panic);
    }
}
