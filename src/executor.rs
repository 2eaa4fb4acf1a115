//! Where tasks run: on an executor of the application's choice, else within the future that serves, else on smol's
//! global executor.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures_lite::future;
use smol::Executor;
pub(crate) use smol::Task;

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

    /// Starts tasks on smol's global executor.
    #[allow(dead_code)] // Byte streams are served by a future that runs tasks.
    pub(crate) fn global() -> Self {
        Self(Way::Global(smol::spawn))
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
pub(crate) async fn within<T, F>(
    chosen: Option<Arc<Executor<'static>>>,
    serve: impl FnOnce(Arc<Executor<'static>>) -> F,
) -> T
where
    F: Future<Output = T>,
{
    let own = chosen.is_none();
    let executor = chosen.unwrap_or_default();
    let serving = serve(executor.clone());
    let tasks = async {
        if !own {
            future::pending::<()>().await;
        }
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
