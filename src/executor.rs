//! Where tasks run: on an executor of the application's choice, or on smol's global one.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use smol::Executor;
pub(crate) use smol::Task;

/// Starts tasks, and leaves each to the caller as an owner.
#[derive(Clone, Default)]
pub(crate) struct Spawner(Option<Arc<Executor<'static>>>);

impl Spawner {
    /// Starts tasks on `executor`, which the application has to run.
    pub(crate) fn on(executor: Arc<Executor<'static>>) -> Self {
        Self(Some(executor))
    }

    /// Returns this one if it was chosen, and else `other`.
    #[allow(dead_code)] // Only listeners have another one to ask.
    pub(crate) fn or(self, other: &Self) -> Self {
        match self.0 {
            Some(_) => self,
            None => other.clone(),
        }
    }

    /// Starts `future`. Dropping the task drops the future.
    pub(crate) fn spawn<T, F>(&self, future: F) -> Task<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        match &self.0 {
            Some(executor) => executor.spawn(future),
            None => smol::spawn(future),
        }
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Spawner(own)"
        } else {
            "Spawner(global)"
        })
    }
}
