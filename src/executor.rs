//! Where handlers run that outlive their first poll.

use std::fmt;
use std::sync::Arc;

/// The executor that the application gave, or smol's global one.
#[derive(Clone, Default)]
pub(crate) struct Spawner(Option<Arc<smol::Executor<'static>>>);

impl Spawner {
    pub(crate) fn new(executor: Arc<smol::Executor<'static>>) -> Self {
        Self(Some(executor))
    }

    /// Starts a task. It is dropped with its handle.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> smol::Task<T> {
        match &self.0 {
            Some(executor) => executor.spawn(future),
            None => smol::spawn(future),
        }
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "an executor of the application's"
        } else {
            "smol's global executor"
        })
    }
}
