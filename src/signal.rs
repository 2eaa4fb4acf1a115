//! Cancellation and deadlines.
//!
//! A [`Signal`] tells work that nobody waits for its result any more, and why. It is a value: pass it on, clone it, combine
//! it with others, make it stricter with a deadline. A [`Controller`] fires it. Cancellation is cooperative: nothing is
//! killed, the work stops because it looks at its signal, or because it runs under it.
//!
//! ```
//! use std::time::Duration;
//! use smol_mcp::Signal;
//! use smol_mcp::signal::{Aborted, Deadline};
//!
//! async fn import(signal: &Signal) -> Result<usize, Aborted> {
//!     // The caller's signal, made stricter by a deadline of our own.
//!     let signal = signal.any(Deadline::after(Duration::from_secs(10)).named("upstream"));
//!     let rows = signal.run(fetch()).await?; // stops at once when it fires
//!     let mut sum = 0;
//!     for chunk in rows.chunks(2) {
//!         signal.checkpoint().await?; // between units of work: check, and let others run
//!         sum += chunk.iter().sum::<usize>();
//!     }
//!     Ok(sum)
//! }
//! # async fn fetch() -> Vec<usize> { vec![1, 2, 3] }
//! # assert_eq!(smol::block_on(import(&Signal::never())).unwrap(), 6);
//! # assert!(smol::block_on(import(&Signal::timeout(Duration::ZERO))).is_err());
//! ```
//!
//! # In five minutes
//!
//! **Look.** [`check`](Signal::check) is for `?` between steps; [`is_aborted`](Signal::is_aborted) and
//! [`reason`](Signal::reason) say the same as a `bool` and as a [`Reason`].
//!
//! **Wait.** [`aborted`](Signal::aborted), or just `signal.await`, waits until the signal fires.
//! [`wait_blocking`](Signal::wait_blocking) and [`wait_timeout`](Signal::wait_timeout) do so on a thread.
//!
//! **Run under it.** [`run`](Signal::run) drops a future as soon as the signal fires, and [`until`](Signal::until) a stream.
//! [`sleep`](Signal::sleep) is a sleep that ends early.
//!
//! **Combine.** [`any`](Signal::any) takes whatever can end the work: another signal, a [`Duration`], an [`Instant`], a
//! [`Deadline`] with a name, or an `Option` of these. [`any_of`](Signal::any_of) and `collect` take many.
//!
//! **Fire.** [`Controller::new`] makes a controller, and [`abort`](Controller::abort) fires its signal, with a reason.
//! [`abort_on_drop`](Controller::abort_on_drop) makes a guard of it. [`Controller::below`] makes a signal that can be fired
//! alone and also fires with its parent.
//!
//! ```
//! use smol_mcp::signal::{Controller, Reason};
//!
//! let session = Controller::new();
//! let (request, signal) = Controller::below(&session.signal());
//! let worker = std::thread::spawn(move || signal.wait_blocking());
//!
//! session.abort(Reason::Closed); // ends every request below it
//! assert!(matches!(worker.join().unwrap(), Reason::Closed));
//! # drop(request);
//! ```
//!
//! # What is guaranteed
//!
//! * The first firing decides the reason, once. It is the same for the signal, for all its clones, and for every composite
//!   in which it was the first. Of several sources the earliest counts; a source that fired before the deadline beats it,
//!   no matter when the signal is checked.
//! * If [`is_aborted`](Signal::is_aborted) says so, there is a [`reason`](Signal::reason) and
//!   [`check`](Signal::check) fails, on every thread that sees it. When [`abort`](Controller::abort) has returned, whatever
//!   it returned, the signal is aborted.
//! * A check sees a passed deadline without any timer. Waiters are woken a little after the deadline, never before.
//! * Durations count from the call of `any`, `timeout` or [`Deadline::after`]. One that is too long to count means never. The
//!   earlier deadline wins; of equal ones, that of the left operand.
//! * Dropping a controller fires nothing. A signal that never fires is a mistake one can see; an accidental cancellation is
//!   not.
//! * [`run`](Signal::run) looks at the signal first in every poll, and drops the future in the poll that returns the error.
//! * [`abort`](Controller::abort) may be called anywhere: in a destructor, inside `run`, inside a waker. A waker may drop
//!   waiters, poll new ones, fire other signals or panic; nothing deadlocks, and every other waiter is woken.
//!
//! # Coming from elsewhere
//!
//! | `AbortSignal` | here |
//! |---|---|
//! | `new AbortController()`, `.signal` | [`Controller::new`], [`signal`](Controller::signal) |
//! | `controller.abort(reason)` | [`abort`](Controller::abort); the reason is a [`Reason`] |
//! | `signal.aborted`, `signal.reason` | [`is_aborted`](Signal::is_aborted), [`reason`](Signal::reason) |
//! | `signal.throwIfAborted()` | [`check`](Signal::check)`()?` |
//! | `AbortSignal.timeout(ms)`, `AbortSignal.any([a, b])`, `AbortSignal.abort()` | [`timeout`](Signal::timeout), [`any`](Signal::any), [`fired`](Signal::fired) |
//! | `addEventListener("abort", f)` | no callbacks: spawn a task that awaits the signal |
//! | `fetch(url, { signal })` | `signal.run(fetch(url))` |
//!
//! | Go's `context` | here |
//! |---|---|
//! | `ctx, cancel := context.WithCancel(parent)` | `let (controller, signal) = `[`Controller::below`]`(&parent)` |
//! | `defer cancel()` | [`abort_on_drop`](Controller::abort_on_drop) |
//! | `context.WithTimeout`, `WithDeadline` | `parent.`[`any`](Signal::any)`(duration)`, `.any(instant)`; nothing to cancel |
//! | `cancel(cause)`, `context.Cause(ctx)` | [`abort`](Controller::abort), [`reason`](Signal::reason) |
//! | `<-ctx.Done()` | `signal.await` |
//! | `ctx.Err()` | [`check`](Signal::check) |
//! | `select` on `Done` and work | [`run`](Signal::run) |
//! | `context.AfterFunc` | spawn a task that awaits the signal |
//! | `context.Background()`, `ctx.Value` | [`Signal::never`]; a signal carries no values |
//!
//! | `CancellationToken` of tokio-util | here |
//! |---|---|
//! | `CancellationToken::new()` | [`Controller::new`]; only a controller fires, a signal only observes |
//! | `token.cancel()` | [`abort`](Controller::abort), with a reason |
//! | `is_cancelled`, `cancelled().await` | [`is_aborted`](Signal::is_aborted), [`aborted`](Signal::aborted)`().await` |
//! | `child_token()` | [`Controller::below`] |
//! | `run_until_cancelled(f)` | [`run`](Signal::run): looks at the signal first, and a `Result` |
//! | `drop_guard()` | [`abort_on_drop`](Controller::abort_on_drop) |
//! | `tokio::time::timeout` around it | [`any`](Signal::any)`(duration)` |
//!
//! # Patterns
//!
//! **Blocking work.** Move a clone into the closure and check it between steps. Dropping the future of `unblock` does
//! not stop the closure, so `run` around it would only stop the *waiting*.
//!
//! ```
//! use std::time::Duration;
//! use smol_mcp::signal::{Aborted, Controller, Reason};
//!
//! # smol::block_on(async {
//! let controller = Controller::new();
//! let signal = controller.signal();
//! let work = smol::unblock(move || {
//!     for step in 0.. {
//!         signal.check()?;
//!         # let _ = step;
//!         // Instead of `thread::sleep`: a pause that ends with the signal.
//!         signal.sleep_blocking(Duration::from_millis(1))?;
//!     }
//!     Ok::<_, Aborted>(())
//! });
//! controller.abort(Reason::Disconnected);
//! assert!(work.await.is_err());
//! # });
//! ```
//!
//! **Child processes.** To kill a child, `run` and `kill_on_drop` are enough. To end it gently, ask it to end, give it a
//! grace period under a *fresh* signal, then kill it. Await its status in any case, so that no zombie stays.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> std::io::Result<()> {
//! use std::time::Duration;
//! use smol::process::Command;
//! use smol_mcp::Signal;
//!
//! # smol::block_on(async {
//! let signal = Signal::timeout(Duration::from_millis(20)); // of the caller
//! let mut child = Command::new("sleep").arg("60").kill_on_drop(true).spawn()?;
//! let status = match signal.run(child.status()).await {
//!     Ok(status) => status?,
//!     Err(_aborted) => {
//!         // Sends SIGTERM.
//!         Command::new("kill").arg(child.id().to_string()).status().await?;
//!         match Signal::timeout(Duration::from_secs(5)).run(child.status()).await {
//!             Ok(status) => status?,
//!             Err(_too_slow) => {
//!                 child.kill()?;
//!                 child.status().await?
//!             }
//!         }
//!     }
//! };
//! assert!(!status.success());
//! # Ok(())
//! # })
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! **Cleaning up** after the signal has fired needs a fresh signal, since everything under the fired one ends at once.
//!
//! ```
//! use std::time::Duration;
//! use smol_mcp::Signal;
//! # use smol_mcp::signal::{Aborted, Reason};
//! # async fn transaction() {}
//! # async fn roll_back() {}
//! # async fn example(signal: Signal) -> Result<(), Aborted> {
//! if let Err(aborted) = signal.run(transaction()).await {
//!     let _ = Signal::timeout(Duration::from_secs(2)).run(roll_back()).await;
//!     return Err(aborted);
//! }
//! # Ok(())
//! # }
//! # assert!(smol::block_on(example(Signal::fired(Reason::Closed))).is_err());
//! ```
//!
//! **Reacting to a firing** is a task, not a callback. Dropping the task unregisters it.
//!
//! ```
//! use smol_mcp::signal::{Controller, Reason};
//!
//! # smol::block_on(async {
//! let controller = Controller::new();
//! let signal = controller.signal();
//! let (interrupt, interrupted) = smol::channel::bounded(1);
//! let task = smol::spawn(async move {
//!     let reason = signal.aborted().await;
//!     let _ = interrupt.try_send(reason);
//! });
//! controller.abort(Reason::Closed);
//! assert!(matches!(interrupted.recv().await, Ok(Reason::Closed)));
//! # task.await;
//! # });
//! ```
//!
//! **Tight loops.** A check costs about a nanosecond without a deadline, and a reading of the clock with one. With a
//! deadline, check at most once in a microsecond of work.
//!
//! ```
//! use smol_mcp::Signal;
//! use smol_mcp::signal::Aborted;
//!
//! fn sum(numbers: &[u64], signal: &Signal) -> Result<u64, Aborted> {
//!     let mut sum = 0;
//!     for chunk in numbers.chunks(4096) {
//!         signal.check()?;
//!         sum += chunk.iter().sum::<u64>();
//!     }
//!     Ok(sum)
//! }
//! # assert_eq!(sum(&[1, 2, 3], &Signal::never()).unwrap(), 6);
//! ```
//!
//! **One controller for a scope, not for every call.** Checking and waiting cost more the more sources a signal has. A
//! function that only needs a shorter deadline uses `signal.any(duration)`, which adds no source.
//!
//! # What dropping does
//!
//! | dropped | effect |
//! |---|---|
//! | [`Signal`] | none |
//! | [`Controller`] | none; when the last one is dropped, the source can never fire |
//! | [`AbortOnDrop`] | fires |
//! | [`Wait`] | leaves the waiters and gives up the deadline; nothing stays behind |
//! | [`Run`], [`Until`] | drops the future or stream inside, then as `Wait`; what that had done stays done |
//! | the future of [`sleep`](Signal::sleep) | as `Wait` |
//! | the future of [`checkpoint`](Signal::checkpoint) | none |
//!
//! A waiter that is dropped while its source fires leaves the list when the firing thread has woken all waiters; until then
//! its waker may still be called.
//!
//! # What it costs
//!
//! | operation | cost |
//! |---|---|
//! | check | one load for each source; with a deadline also a reading of the clock |
//! | clone | one reference count for each of up to two sources, or one for more |
//! | `any` with a deadline | a clone and a reading of the clock; no allocation, no timer, no thread |
//! | `any` with a signal | a comparison of pointers and a clone; with three sources or more also an allocation |
//! | [`Controller::new`] | one allocation of about a hundred bytes |
//! | waiting, first poll | a place in a list for each source, an allocation each, and one for the first waiter of a source; with a deadline a place in a heap |
//! | waiting, polled again by the same task | as a check |
//! | firing, nobody ever waited | no lock and no allocation |
//! | firing | calls every waker once |
//!
//! All awaited deadlines share one timer, so that a deadline which is not the earliest does not wake the reactor. The
//! reactor starts, with its thread, when a task first awaits a deadline; threads that block need neither. A signal costs
//! more the more sources it has, as in a long chain of controllers below each other: a chain of a hundred takes some tens of
//! microseconds to build.
//!
//! # What is not offered
//!
//! * Callbacks. They would run on the thread that fires, under whatever locks it holds.
//! * Stopping threads, or futures that were not given to `run`.
//! * Resetting a fired signal. Make a new one.
//! * An ambient signal of the current task. Pass it on.
//! * Weak signals. A signal keeps its sources alive, but a source does not know its signals: there is nothing to collect.
//! * Waiting until everything has stopped. Whatever owns the tasks can do that.

#[cfg_attr(loom, path = "signal/alarm_model.rs")]
mod alarm;
#[cfg(not(loom))]
mod blocking;
mod clock;
mod controller;
mod deadline;
#[cfg(not(loom))]
mod due;
mod ledger;
mod reason;
mod run;
mod set;
mod source;
mod sync;
mod wait;
mod waiters;

use std::fmt;
use std::future::IntoFuture;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::{Duration, Instant};

use futures_lite::Stream;

pub use self::controller::{AbortOnDrop, Controller};
pub use self::deadline::Deadline;
pub use self::reason::{Aborted, Reason};
pub use self::run::{Run, Until};
pub use self::wait::Wait;

use self::set::Set;
use self::source::Source;
use self::sync::Arc;

#[cfg(loom)]
#[allow(unused_imports)]
pub(crate) use self::clock::MODEL;

/// Tells work that nobody waits for its result any more, and why.
///
/// A signal observes any number of sources, each of which a [`Controller`] fires, and at most one deadline. It fires when
/// the first of them does, and then stays fired with that reason. Signals are values: clone them, pass them on, combine
/// them with [`any`](Self::any). The [module page](self) says more.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use smol_mcp::Signal;
/// use smol_mcp::signal::{Controller, Reason};
///
/// let controller = Controller::new();
/// let signal = controller.signal().any(Duration::from_secs(10));
/// assert!(signal.check().is_ok());
///
/// controller.abort(Reason::Disconnected);
/// assert_eq!(signal.check().unwrap_err().to_string(), "aborted: the client disconnected");
/// ```
#[derive(Clone)]
pub struct Signal {
    set: Set,
    deadline: Deadline,
}

// All that can be seen of a signal is changed in one step and never back; a panic leaves nothing half done.
impl UnwindSafe for Signal {}
impl RefUnwindSafe for Signal {}

impl Signal {
    /// Makes a signal that never fires, without allocating.
    pub const fn never() -> Self {
        Self {
            set: Set::Never,
            deadline: Deadline::NEVER,
        }
    }

    /// Makes a signal that fires `duration` after this call, without allocating and without a timer.
    ///
    /// A duration that is too long to count (about 438 years) means never.
    pub fn timeout(duration: Duration) -> Self {
        Deadline::after(duration).into()
    }

    /// Makes a signal that fires at `instant`, without allocating and without a timer.
    pub fn at(instant: Instant) -> Self {
        Deadline::at(instant).into()
    }

    /// Makes a signal that has fired already, for tests and defaults.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::Signal;
    /// use smol_mcp::signal::Reason;
    ///
    /// assert!(Signal::fired(Reason::Closed).is_aborted());
    /// ```
    pub fn fired(reason: Reason) -> Self {
        let source = Source::new();
        source.fire(reason);
        source.remove_controller();
        Self::of(Arc::new(source))
    }

    fn of(source: Arc<Source>) -> Self {
        Self {
            set: Set::One(source),
            deadline: Deadline::NEVER,
        }
    }

    /// Makes a signal that fires as soon as this one or the other does.
    ///
    /// The other is a [`Signal`], a [`Duration`] from now, an [`Instant`], a [`Deadline`], or an `Option` of one of these.
    /// Of two deadlines the earlier counts, of equal ones that of `self`. Nothing is registered anywhere: the signal that is
    /// returned costs nothing while nobody waits for it, and the sources do not know of it. It allocates only if it has
    /// more than two sources.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use smol_mcp::Signal;
    /// use smol_mcp::signal::{Controller, Deadline, Reason};
    ///
    /// let request = Controller::new();
    /// let server = Controller::new();
    /// let limit: Option<Duration> = None;
    /// let signal = request
    ///     .signal()
    ///     .any(&server.signal())
    ///     .any(limit)
    ///     .any(Deadline::after(Duration::from_secs(10)).named("upstream"));
    ///
    /// server.abort(Reason::ServerClosed);
    /// assert!(matches!(signal.reason(), Some(Reason::ServerClosed)));
    /// ```
    #[must_use]
    pub fn any(&self, other: impl Into<Signal>) -> Signal {
        let other = other.into();
        Self {
            set: self.set.union(other.set),
            deadline: self.deadline.earlier(other.deadline),
        }
    }

    /// Makes a signal that fires as soon as any of these does. Made of none, it never fires.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use smol_mcp::Signal;
    ///
    /// assert!(Signal::any_of([Duration::MAX, Duration::ZERO]).is_aborted());
    ///
    /// let none: Signal = Vec::<Signal>::new().into_iter().collect();
    /// assert!(!none.is_aborted());
    /// ```
    pub fn any_of<T: Into<Signal>>(signals: impl IntoIterator<Item = T>) -> Signal {
        signals.into_iter().collect()
    }

    /// Tells whether the signal has fired.
    ///
    /// It sees a passed deadline without any timer or reactor. It costs one load for each source, and a reading of the clock
    /// if there is a deadline.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.set.is_fired() || self.deadline.has_passed()
    }

    /// Returns why the signal has fired, or `None` if it has not.
    ///
    /// The reason never changes once there is one. It is that of the earliest firing, even if several happened before the
    /// first check; a deadline counts from the moment it passed.
    pub fn reason(&self) -> Option<Reason> {
        let deadline = self.deadline;
        let passed = deadline.has_passed();
        if passed {
            // Before looking at the sources: whatever is not seen to have fired is stamped later than this.
            ledger::enter(deadline.at);
        }
        let fired = || self.set.sources().iter().filter(|source| source.is_fired());
        // Every source that is seen to have fired gets its stamp before any are compared: one that is still not seen to
        // have fired in the comparison cannot get a lesser stamp than the winner. If none is seen now, there is no winner,
        // whatever another look would show.
        let mut seen = false;
        for source in fired() {
            source.stamp();
            seen = true;
        }
        let first = if seen {
            let stamped = fired().map(|source| (source.stamp(), source));
            stamped.min_by_key(|(stamp, _)| *stamp)
        } else {
            None
        };
        match first {
            Some((stamp, source)) if stamp < deadline.at => Some(source.reason()),
            None if !passed => None,
            _ => Some(Reason::Deadline(deadline.label)),
        }
    }

    /// Returns an error if the signal has fired; for `?` between steps of work.
    ///
    /// # Errors
    ///
    /// [`Aborted`] with the reason.
    #[inline]
    pub fn check(&self) -> Result<(), Aborted> {
        if !self.is_aborted() {
            return Ok(());
        }
        self.refuse()
    }

    #[cold]
    fn refuse(&self) -> Result<(), Aborted> {
        match self.reason() {
            Some(reason) => Err(reason.into()),
            None => Ok(()),
        }
    }

    /// Returns the deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        clock::instant(self.deadline.at)
    }

    /// Returns how long it is until the deadline: zero when it has passed, `None` if there is none.
    pub fn remaining(&self) -> Option<Duration> {
        deadline::remaining(self.deadline.at)
    }

    /// Waits until the signal fires, and returns the reason.
    ///
    /// `signal.await` does the same. The future owns a clone of the signal, so that it can be spawned.
    ///
    /// # Cancellation
    ///
    /// See [`Wait`].
    pub fn aborted(&self) -> Wait {
        Wait::new(self.clone())
    }

    /// Runs a future until it is ready or the signal fires.
    ///
    /// Every poll checks the signal *first*. If it has fired, the future is not polled any more but dropped, in the same poll
    /// that returns the error. So under a signal that has fired already the future is never polled, and a future that is
    /// always ready cannot outrun the signal.
    ///
    /// Dropping a future does not stop work elsewhere that it waits for: the closure of `smol::unblock` runs on, and has to
    /// check the signal itself.
    ///
    /// # Errors
    ///
    /// [`Aborted`] with the reason if the signal fired first.
    ///
    /// # Cancellation
    ///
    /// See [`Run`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use smol_mcp::Signal;
    /// use futures_lite::future;
    ///
    /// future::block_on(async {
    ///     assert_eq!(Signal::never().run(async { 1 }).await?, 1);
    ///
    ///     let signal = Signal::timeout(Duration::from_millis(1));
    ///     assert!(signal.run(future::pending::<()>()).await.is_err());
    ///     # Ok::<_, smol_mcp::signal::Aborted>(())
    /// })?;
    /// # Ok::<_, smol_mcp::signal::Aborted>(())
    /// ```
    pub fn run<F: Future>(&self, future: F) -> Run<F> {
        Run::new(future, self.aborted())
    }

    /// Yields the items of a stream until it ends or the signal fires.
    ///
    /// Items are `Ok`. When the signal fires, the stream is dropped, and one `Err` comes, then `None` for ever. As in
    /// [`run`](Self::run), every poll checks the signal first.
    ///
    /// # Cancellation
    ///
    /// See [`Until`].
    pub fn until<S: Stream>(&self, stream: S) -> Until<S> {
        Until::new(stream, self.aborted())
    }
}

#[cfg(not(loom))]
impl Signal {
    /// Sleeps for `duration`, or less if the signal fires.
    ///
    /// # Errors
    ///
    /// [`Aborted`] with the reason if the signal fired first.
    ///
    /// # Cancellation
    ///
    /// Dropping the future ends the sleep; nothing of it stays behind.
    pub async fn sleep(&self, duration: Duration) -> Result<(), Aborted> {
        self.check()?;
        let until = clock::after(clock::now(), duration);
        let reason = self.no_later_than(until).aborted().await;
        self.outcome_of_sleep(until, reason)
    }

    /// Checks the signal, lets other tasks run, and checks again: for loops that compute.
    ///
    /// # Errors
    ///
    /// [`Aborted`] with the reason if the signal has fired.
    ///
    /// # Cancellation
    ///
    /// Dropping the future has no effect.
    pub async fn checkpoint(&self) -> Result<(), Aborted> {
        self.check()?;
        futures_lite::future::yield_now().await;
        self.check()
    }

    /// Blocks the thread until the signal fires, and returns the reason.
    ///
    /// # Blocking
    ///
    /// For threads that may block, such as those of `smol::unblock`. If there is neither a controller nor a deadline left,
    /// it blocks for ever.
    pub fn wait_blocking(&self) -> Reason {
        loop {
            if let Some(reason) = blocking::wait(self, clock::NEVER) {
                return reason;
            }
        }
    }

    /// Blocks the thread until the signal fires, for at most `duration`; returns the reason if it fired.
    ///
    /// # Blocking
    ///
    /// For threads that may block, where it replaces `thread::sleep`.
    pub fn wait_timeout(&self, duration: Duration) -> Option<Reason> {
        blocking::wait(self, clock::after(clock::now(), duration))
    }

    /// Blocks the thread for `duration`, or less if the signal fires.
    ///
    /// # Errors
    ///
    /// [`Aborted`] with the reason if the signal fired first.
    ///
    /// # Blocking
    ///
    /// For threads that may block.
    pub fn sleep_blocking(&self, duration: Duration) -> Result<(), Aborted> {
        self.check()?;
        let until = clock::after(clock::now(), duration);
        let reason = self.no_later_than(until).wait_blocking();
        self.outcome_of_sleep(until, reason)
    }

    /// The signal that ends a sleep; if the signal's own deadline is not later, that one ends it.
    fn no_later_than(&self, until: u64) -> Self {
        let end = Deadline {
            at: until,
            label: None,
        };
        Self {
            set: self.set.clone(),
            deadline: self.deadline.earlier(end),
        }
    }

    fn outcome_of_sleep(&self, until: u64, reason: Reason) -> Result<(), Aborted> {
        match reason {
            Reason::Deadline(_) if until < self.deadline.at => Ok(()),
            reason => Err(reason.into()),
        }
    }
}

impl Default for Signal {
    /// Makes a signal that never fires.
    fn default() -> Self {
        Self::never()
    }
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("sources", &self.set.sources().len())
            .field("remaining", &self.remaining())
            .field("reason", &self.reason())
            .finish()
    }
}

impl IntoFuture for Signal {
    type Output = Reason;
    type IntoFuture = Wait;

    fn into_future(self) -> Wait {
        Wait::new(self)
    }
}

impl IntoFuture for &Signal {
    type Output = Reason;
    type IntoFuture = Wait;

    fn into_future(self) -> Wait {
        self.aborted()
    }
}

impl From<&Signal> for Signal {
    fn from(signal: &Signal) -> Self {
        signal.clone()
    }
}

impl From<Deadline> for Signal {
    fn from(deadline: Deadline) -> Self {
        Self {
            set: Set::Never,
            deadline,
        }
    }
}

impl From<Duration> for Signal {
    fn from(duration: Duration) -> Self {
        Self::timeout(duration)
    }
}

impl From<Instant> for Signal {
    fn from(instant: Instant) -> Self {
        Self::at(instant)
    }
}

impl<T: Into<Signal>> From<Option<T>> for Signal {
    /// Takes `None` for a signal that never fires.
    fn from(signal: Option<T>) -> Self {
        signal.map_or(Self::never(), T::into)
    }
}

impl<T: Into<Signal>> FromIterator<T> for Signal {
    fn from_iter<I: IntoIterator<Item = T>>(signals: I) -> Self {
        let mut deadline = Deadline::NEVER;
        let mut sources = Vec::new();
        for signal in signals {
            let signal: Signal = signal.into();
            deadline = deadline.earlier(signal.deadline);
            sources.extend_from_slice(signal.set.sources());
        }
        Self {
            set: sources.into_iter().collect(),
            deadline,
        }
    }
}
