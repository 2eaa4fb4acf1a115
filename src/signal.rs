//! Cancellation and deadlines.

#[cfg_attr(loom, path = "signal/alarm_model.rs")]
mod alarm;
#[cfg(not(loom))]
mod blocking;
mod clock;
mod controller;
mod deadline;
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
/// them with [`any`](Self::any). The [module page](self) has the whole story.
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
    /// A duration too long to be counted (584 years) means never.
    pub fn timeout(duration: Duration) -> Self {
        Deadline::after(duration).into()
    }

    /// Makes a signal that fires at `instant`, without allocating and without a timer.
    pub fn at(instant: Instant) -> Self {
        Deadline::at(instant).into()
    }

    /// Makes a signal that has fired; for tests and defaults.
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

    /// Makes a signal that fires as soon as any of these does; none of none ever fires.
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

    /// Says whether the signal has fired.
    ///
    /// A deadline that has passed is seen without any timer or reactor. Costs one load for each source, and if there is a
    /// deadline, a look at the clock.
    #[inline]
    pub fn is_aborted(&self) -> bool {
        self.set.is_fired() || self.deadline.has_passed()
    }

    /// Returns why the signal has fired, or `None` if it has not.
    ///
    /// The answer never changes once there is one: it is the earliest of the firings, also if several had happened before
    /// anybody looked, and a deadline counts from the moment it passed.
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
        let first = match seen {
            true => fired()
                .map(|source| (source.stamp(), source))
                .min_by_key(|(stamp, _)| *stamp),
            false => None,
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
    /// The signal is looked at *first* in every poll. If it has fired, the future is not polled any more but dropped, in
    /// the same poll that returns the error. So a signal that has fired already never polls the future at all, and a future
    /// that is always ready cannot outrun it.
    ///
    /// What runs elsewhere is not stopped by dropping the future that waits for it: the closure of `smol::unblock`
    /// continues, and has to check the signal itself.
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

    /// Gives the items of a stream until it ends or the signal fires.
    ///
    /// Items come as `Ok`. When the signal fires, the stream is dropped and there is one `Err`, then `None` for ever. As
    /// with [`run`](Self::run), the signal is looked at first.
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
    /// Sleeps for this long, or less if the signal fires.
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

    /// Checks the signal, lets other tasks run, and checks again; for loops that compute.
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
    /// For threads that may block, such as those of `smol::unblock`. Without any controller or deadline left it
    /// blocks for ever.
    pub fn wait_blocking(&self) -> Reason {
        loop {
            if let Some(reason) = blocking::wait(self, clock::NEVER) {
                return reason;
            }
        }
    }

    /// Blocks the thread until the signal fires, at most for this long; returns the reason if it fired.
    ///
    /// # Blocking
    ///
    /// For threads that may block, where it replaces `thread::sleep`.
    pub fn wait_timeout(&self, duration: Duration) -> Option<Reason> {
        blocking::wait(self, clock::after(clock::now(), duration))
    }

    /// Blocks the thread for this long, or less if the signal fires.
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
