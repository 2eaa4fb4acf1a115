//! Who is connected: the table that a listener, its closers and its connections share.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use async_executor::{Executor, Task};
use async_io::Timer;
use event_listener::Event;
use slab::Slab;

use super::options::Options;

/// A deadline that never comes.
const NEVER: u64 = u64::MAX;

/// The table of connections.
pub(super) struct Seats {
    options: OnceLock<Options>,
    born: Instant,
    /// Milliseconds since `born`, as of the last tick. Deadlines are compared with it, so that none needs a timer.
    now: AtomicU64,
    /// Set once, before all wakers below are woken; whoever registers a waker reads it afterwards.
    closing: AtomicBool,
    /// Whether the listening socket is open.
    accepting: AtomicBool,
    /// Whether the listener waits for a free seat.
    full: AtomicBool,
    taken: Mutex<Slab<Taken>>,
    /// The task that accepts.
    server: WakerSlot,
    /// Notified when `accepting` has ended and when the last seat gets free while closing.
    emptied: Event,
}

/// One row of the table. It owns the connection's task.
struct Taken {
    link: Arc<Link>,
    task: Option<Task<()>>,
}

/// What others may do to a connection: wake it, after they changed something that it looks at.
struct Link {
    /// In milliseconds like `Seats::now`; written by the connection alone.
    deadline: AtomicU64,
    waker: WakerSlot,
}

/// A connection's place in the table; dropping it frees the place.
pub(super) struct Seat {
    seats: Arc<Seats>,
    link: Arc<Link>,
    key: usize,
}

impl Seats {
    pub(super) fn new() -> Self {
        Self {
            options: OnceLock::new(),
            born: Instant::now(),
            now: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            accepting: AtomicBool::new(false),
            full: AtomicBool::new(false),
            taken: Mutex::new(Slab::new()),
            server: WakerSlot::default(),
            emptied: Event::new(),
        }
    }

    /// Settles the options, once.
    pub(super) fn begin(&self, options: Options) {
        // A listener is served once, so nothing has been set before.
        let _ = self.options.set(options);
        self.accepting.store(true, SeqCst);
    }

    pub(super) fn options(&self) -> &Options {
        self.options.get_or_init(Options::new)
    }

    /// Starts a connection on a seat of its own.
    ///
    /// The executor is not kept here: its tasks hold the table, and would hold each other.
    pub(super) fn admit<F>(
        self: &Arc<Self>,
        executor: &Executor<'static>,
        connection: impl FnOnce(Seat) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let link = Arc::new(Link {
            deadline: AtomicU64::new(NEVER),
            waker: WakerSlot::default(),
        });
        let key = self.lock().insert(Taken {
            link: link.clone(),
            task: None,
        });
        let connection = connection(Seat {
            seats: self.clone(),
            link,
            key,
        });
        // Locked until the row is whole: a connection that ends at once waits here before it frees its seat.
        let mut taken = self.lock();
        taken[key].task = Some(executor.spawn(connection));
    }

    /// Whether all seats are taken. If so, the server is woken when one gets free.
    pub(super) fn is_full(&self) -> bool {
        // Before the look at the table, so that a seat that gets free in between is noticed.
        self.full.store(true, SeqCst);
        let full = self.lock().len() >= self.options().max_connections;
        self.full.store(full, SeqCst);
        full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// Has the server woken when it should look again.
    pub(super) fn register_server(&self, cx: &Context<'_>) {
        self.server.register(cx);
    }

    /// Says that the listening socket is closed.
    pub(super) fn stop_accepting(&self) {
        if self.accepting.swap(false, SeqCst) {
            self.emptied.notify(usize::MAX);
        }
    }

    /// Brings the time up to date.
    pub(super) fn look_at_clock(&self) {
        self.now.store(self.age(), SeqCst);
    }

    /// How long ago the table was made, in milliseconds.
    fn age(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    /// Wakes every connection whose deadline has come.
    pub(super) fn sweep(&self) {
        self.look_at_clock();
        let now = self.now.load(SeqCst);
        let late: Vec<Arc<Link>> = self
            .lock()
            .iter()
            .filter(|(_, row)| row.link.deadline.load(SeqCst) <= now)
            .map(|(_, row)| row.link.clone())
            .collect();
        late.iter().for_each(|link| link.waker.wake());
    }

    /// Tells the server and every connection to come to an end.
    pub(super) fn close(&self) {
        self.closing.store(true, SeqCst);
        self.server.wake();
        let all: Vec<Arc<Link>> = self
            .lock()
            .iter()
            .map(|(_, row)| row.link.clone())
            .collect();
        all.iter().for_each(|link| link.waker.wake());
    }

    /// Drops every connection, once its executor gets to it.
    pub(super) fn abandon(&self) {
        let tasks: Vec<Task<()>> = self
            .lock()
            .iter_mut()
            .filter_map(|(_, row)| row.task.take())
            .collect();
        // Outside the lock, which a connection takes when it is dropped.
        drop(tasks);
    }

    /// Waits until nobody is connected and nothing is accepted. Returns false if that takes longer than `limit`.
    ///
    /// Boxed, since it happens once.
    pub(super) fn emptied_within(
        &self,
        limit: Duration,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        let emptied = async {
            loop {
                let listener = self.emptied.listen();
                if self.is_empty() && !self.accepting.load(SeqCst) {
                    return true;
                }
                listener.await;
            }
        };
        let late = async move {
            Timer::after(limit).await;
            false
        };
        Box::pin(futures_lite::future::or(emptied, late))
    }

    fn free(&self, key: usize) {
        let mut taken = self.lock();
        let row = taken.remove(key);
        let empty = taken.is_empty();
        drop(taken);
        // The task is the one that runs right now: it ends by itself.
        if let Some(task) = row.task {
            task.detach();
        }
        if self.is_closing() {
            if empty {
                self.emptied.notify(usize::MAX);
                self.server.wake();
            }
        } else if self.full.load(SeqCst) {
            self.server.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Slab<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Seats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seats")
            .field("taken", &self.lock().len())
            .field("closing", &self.is_closing())
            .finish_non_exhaustive()
    }
}

impl Seat {
    pub(super) fn options(&self) -> &Options {
        self.seats.options()
    }

    /// Has the connection woken when a limit passes and when the server closes. Look at both afterwards.
    pub(super) fn register(&self, cx: &Context<'_>) {
        self.link.waker.register(cx);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.seats.is_closing()
    }

    /// Begins a limit on time, instead of the one before.
    pub(super) fn limit(&self, limit: Duration) {
        // Not by `Seats::now`, which is old when the executor was busy: a limit is never early. One more, because what is
        // left of a millisecond is cut off.
        let limit = u64::try_from(limit.as_millis()).unwrap_or(NEVER);
        let deadline = self.seats.age().saturating_add(limit).saturating_add(1);
        self.link.deadline.store(deadline, SeqCst);
    }

    /// Ends the limit on time.
    pub(super) fn unlimit(&self) {
        self.link.deadline.store(NEVER, SeqCst);
    }

    /// Whether the limit has passed.
    pub(super) fn is_late(&self) -> bool {
        self.seats.now.load(SeqCst) >= self.link.deadline.load(SeqCst)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.free(self.key);
    }
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seat").field(&self.key).finish()
    }
}

/// The waker of the one task that waits here.
#[derive(Default)]
struct WakerSlot(Mutex<Option<Waker>>);

impl WakerSlot {
    fn register(&self, cx: &Context<'_>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !slot.as_ref().is_some_and(|old| old.will_wake(cx.waker())) {
            let old = slot.replace(cx.waker().clone());
            drop(slot);
            drop(old);
        }
    }

    fn wake(&self) {
        let slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = slot.clone();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
