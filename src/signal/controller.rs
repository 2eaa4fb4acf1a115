//! What fires a signal: controllers, and the guard that fires when it is dropped.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::source::Source;
use super::sync::Arc;
use super::{Reason, Signal};

/// The right to fire a [`Signal`].
///
/// Clones fire the same signal. Dropping a controller fires nothing; after the last one is dropped, the signal never fires.
/// To fire the signal on drop, use [`abort_on_drop`](Self::abort_on_drop).
///
/// # Examples
///
/// ```
/// use smol_mcp::signal::{Controller, Reason};
///
/// let controller = Controller::new();
/// let signal = controller.signal();
/// assert!(!signal.is_aborted());
///
/// assert!(controller.abort(Reason::Disconnected));
/// assert!(!controller.abort(Reason::Closed)); // too late: the first reason stays
/// assert!(matches!(signal.reason(), Some(Reason::Disconnected)));
/// ```
pub struct Controller {
    /// Counted as a controller in the source.
    source: Arc<Source>,
}

// As for `Signal`.
impl UnwindSafe for Controller {}
impl RefUnwindSafe for Controller {}

impl Controller {
    /// Makes a controller of a new signal.
    pub fn new() -> Self {
        Self {
            source: Arc::new(Source::new()),
        }
    }

    /// Makes a controller below another signal: the signal that is returned fires with this controller, and also with
    /// `parent`. The parent is not affected.
    ///
    /// Make one for a scope, not for every call: checking a signal costs more the more sources it has.
    ///
    /// # Examples
    ///
    /// ```
    /// use smol_mcp::signal::{Controller, Reason};
    ///
    /// let parent = Controller::new();
    /// let (child, signal) = Controller::below(&parent.signal());
    ///
    /// parent.abort(Reason::Closed);
    /// assert!(signal.is_aborted());
    /// assert!(!child.signal().is_aborted()); // the child's own source has not fired
    /// ```
    pub fn below(parent: &Signal) -> (Self, Signal) {
        let controller = Self::new();
        let signal = parent.any(controller.signal());
        (controller, signal)
    }

    /// Returns the signal that this controller fires.
    pub fn signal(&self) -> Signal {
        Signal::of(self.source.clone())
    }

    /// Fires the signal. Returns `true` if this call decided the reason, `false` if another was first.
    ///
    /// When it returns, the signal has fired in either case, and the wakers of all waiters have been called.
    /// It may be called anywhere: in a destructor, in a waker, inside [`Signal::run`].
    ///
    /// # Blocking
    ///
    /// The wakers run on this thread, and other threads that begin or give up a wait for the same signal may have to wait
    /// until they have run. So a waker must not block on such a thread; those of executors do not block.
    ///
    /// # Panics
    ///
    /// If a waker panics, with its panic, after all the others have been called.
    pub fn abort(&self, reason: Reason) -> bool {
        self.source.fire(reason)
    }

    /// Makes a guard that fires the signal when it is dropped.
    pub fn abort_on_drop(self, reason: Reason) -> AbortOnDrop {
        AbortOnDrop {
            armed: Some((self, reason)),
        }
    }
}

impl Default for Controller {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for Controller {
    fn clone(&self) -> Self {
        self.source.add_controller();
        Self {
            source: self.source.clone(),
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.source.remove_controller();
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("reason", &self.signal().reason())
            .finish()
    }
}

/// A guard that fires a signal when it is dropped, also during a panic.
///
/// # Examples
///
/// ```
/// use smol_mcp::signal::{Controller, Reason};
///
/// let guard = Controller::new().abort_on_drop(Reason::Closed);
/// let signal = guard.signal();
/// drop(guard);
/// assert!(matches!(signal.reason(), Some(Reason::Closed)));
/// ```
#[must_use = "dropping the guard fires the signal"]
pub struct AbortOnDrop {
    /// `None` only while the guard is taken apart.
    armed: Option<(Controller, Reason)>,
}

impl AbortOnDrop {
    /// Returns the controller.
    pub fn controller(&self) -> &Controller {
        let Some((controller, _)) = &self.armed else {
            unreachable!("only `disarm` takes the controller, and it consumes the guard");
        };
        controller
    }

    /// Returns the signal that the guard fires.
    pub fn signal(&self) -> Signal {
        self.controller().signal()
    }

    /// Returns the controller without firing.
    pub fn disarm(mut self) -> Controller {
        let Some((controller, _)) = self.armed.take() else {
            unreachable!("only `disarm` takes the controller, and it consumes the guard");
        };
        controller
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some((controller, reason)) = self.armed.take() {
            controller.abort(reason);
        }
    }
}

impl fmt::Debug for AbortOnDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.armed.as_ref().map(|(_, reason)| reason);
        f.debug_tuple("AbortOnDrop").field(&reason).finish()
    }
}
