//! Where tasks run: on an executor of the application's choice, else within the future that serves, else on a thread of
//! the crate's own.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use std::{panic, thread};

pub(crate) use async_executor::{Executor, Task};
use futures_lite::future;

/// For how long tasks are run before whoever serves gets its turn.
const TURN: Duration = Duration::from_millis(1);

/// Starts handlers, and leaves each to the caller as an owner.
#[derive(Clone)]
pub(crate) struct Spawner(Way);

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone)]
enum Way {
    /// Not kept alive: an executor that its own tasks keep is never dropped, and neither are they.
    On(Weak<Executor<'static>>),
    /// A function, so that only programs which start something there are linked with all that it brings.
    Global(fn(Boxed) -> Task<()>),
}

impl Spawner {
    /// Starts tasks on `executor`, which somebody has to run.
    pub(crate) fn on(executor: &Arc<Executor<'static>>) -> Self {
        Self(Way::On(Arc::downgrade(executor)))
    }

    /// Starts tasks on the one thread that all share whom nothing of ours serves.
    #[allow(dead_code)] // Byte streams are served by a future that runs tasks.
    pub(crate) fn global() -> Self {
        Self(Way::Global(global::<(), Boxed>))
    }

    /// Starts `future`, unless the executor is gone. Dropping the task drops the future.
    pub(crate) fn spawn<F>(&self, future: F) -> Option<Task<()>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match &self.0 {
            Way::On(executor) => Some(executor.upgrade()?.spawn(future)),
            Way::Global(spawn) => Some(spawn(Box::pin(future))),
        }
    }
}

/// Starts a task on the thread of the process, and the thread with the first one.
///
/// # Panics
///
/// If there can be no thread. The next task tries again.
pub(crate) fn global<T, F>(future: F) -> Task<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    static EXECUTOR: Executor<'static> = Executor::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    THREAD.get_or_init(|| {
        let run = || loop {
            // Tasks keep their panics for whoever waits for them. What else may panic, a waker, does not stop the others.
            let _ = panic::catch_unwind(|| {
                async_io::block_on(EXECUTOR.run(future::pending::<()>()));
            });
        };
        thread::Builder::new()
            .name("smol-mcp".into())
            .spawn(run)
            .expect("a thread for handlers starts");
    });
    EXECUTOR.spawn(future)
}

impl fmt::Debug for Spawner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Way::On(_) => "Spawner(own)",
            Way::Global(_) => "Spawner(global)",
        })
    }
}

/// Runs what `serve` does, and the tasks that it starts on the executor that it is given: `chosen`, which the
/// application runs, or else one that lives and ends with this future.
///
/// `serve` is not to keep it: what serves may be a task on it, and they would keep each other.
pub(crate) async fn within<T, F>(
    chosen: Option<Arc<Executor<'static>>>,
    serve: impl FnOnce(&Arc<Executor<'static>>) -> F,
) -> T
where
    F: Future<Output = T>,
{
    let (own, serving) = match chosen {
        Some(chosen) => (None, serve(&chosen)),
        None => {
            let own = Arc::default();
            let serving = serve(&own);
            (Some(own), serving)
        }
    };
    let tasks = async {
        let Some(executor) = &own else {
            return future::pending().await;
        };
        loop {
            executor.tick().await;
            let begun = Instant::now();
            while executor.try_tick() {
                if begun.elapsed() >= TURN {
                    future::yield_now().await;
                    break;
                }
            }
        }
    };
    // What serves is dropped before the executor, and the executor drops what is left on it.
    future::or(serving, tasks).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[test]
    fn tasks_that_nobody_serves_share_one_thread_with_the_name_of_the_crate() {
        let (first, second) = (global(async { name() }), global(async { name() }));
        let names = async_io::block_on(future::zip(first, second));
        let expected = Some("smol-mcp".to_owned());
        assert_eq!(names, (expected.clone(), expected));
    }
}
