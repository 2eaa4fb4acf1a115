//! Points in time at which a signal fires.

use std::fmt;
use std::time::{Duration, Instant};

use super::clock::{self, NEVER};

/// A moment in time at which a [`Signal`](super::Signal) fires, with an optional label.
///
/// A deadline is a number: making and combining it costs no allocation, no timer and no thread.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use smol_mcp::Signal;
/// use smol_mcp::signal::{Deadline, Reason};
///
/// let signal = Signal::from(Deadline::after(Duration::ZERO).named("upstream"));
/// assert!(matches!(signal.reason(), Some(Reason::Deadline(Some("upstream")))));
/// ```
#[derive(Clone, Copy)]
pub struct Deadline {
    /// When, as [`clock`] counts.
    pub(super) at: u64,
    pub(super) label: Option<&'static str>,
}

impl Deadline {
    pub(super) const NEVER: Self = Self {
        at: NEVER,
        label: None,
    };

    /// Makes a deadline that passes `duration` after this call; never, if that is too long to count.
    pub fn after(duration: Duration) -> Self {
        Self {
            at: clock::after(clock::now(), duration),
            label: None,
        }
    }

    /// Makes a deadline that passes at `instant`.
    pub fn at(instant: Instant) -> Self {
        Self {
            at: clock::moment(instant),
            label: None,
        }
    }

    /// Names the deadline; the name is part of the reason when it passes.
    #[must_use]
    pub const fn named(mut self, label: &'static str) -> Self {
        self.label = Some(label);
        self
    }

    /// The earlier of two; of equal ones `self`.
    pub(super) fn earlier(self, other: Self) -> Self {
        if other.at < self.at { other } else { self }
    }

    #[inline]
    pub(super) fn has_passed(self) -> bool {
        self.at != NEVER && self.at <= clock::now()
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline")
            .field("label", &self.label)
            .field("remaining", &remaining(self.at))
            .finish()
    }
}

/// What is left until a moment: zero if it has passed, `None` if it never comes.
pub(super) fn remaining(at: u64) -> Option<Duration> {
    (at != NEVER).then(|| Duration::from_nanos(at.saturating_sub(clock::now())))
}
