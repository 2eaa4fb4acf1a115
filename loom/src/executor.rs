//! Stands in for the tasks of handlers.

use std::marker::PhantomData;
use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering};

/// A task that notes when it is dropped before its end. To drop it later has no effect, as with those of an executor.
pub(crate) struct Task<T> {
    state: Option<Arc<State>>,
    output: PhantomData<fn() -> T>,
}

/// What has become of a task.
pub(crate) struct State {
    pub(crate) ended: AtomicBool,
    pub(crate) dropped: AtomicBool,
}

impl State {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            ended: AtomicBool::new(false),
            dropped: AtomicBool::new(false),
        })
    }
}

impl<T> Task<T> {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self {
            state: Some(state),
            output: PhantomData,
        }
    }

    pub(crate) fn detach(mut self) {
        self.state = None;
    }

    pub(crate) async fn cancel(self) {
        drop(self);
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            if !state.ended.load(Ordering::Acquire) {
                state.dropped.store(true, Ordering::Release);
            }
        }
    }
}
