//! Moments as numbers.
//!
//! A moment is a count of nanoseconds. The first use of this module in the process is [`ORIGIN`], so that moments
//! before it can be told apart as well; [`NEVER`] is later than all.

#[cfg(not(loom))]
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Later than every moment.
pub(super) const NEVER: u64 = u64::MAX;

/// The moment of the first use. It leaves room for 146 years before and 438 after.
const ORIGIN: u64 = 1 << 62;

#[cfg(not(loom))]
static FIRST_USE: OnceLock<Instant> = OnceLock::new();

/// The present moment.
#[cfg(not(loom))]
pub(super) fn now() -> u64 {
    let now = Instant::now();
    since_first_use(now, *FIRST_USE.get_or_init(|| now))
}

/// The moment of an instant; [`NEVER`] if it is too far away to be counted.
#[cfg(not(loom))]
pub(super) fn moment(instant: Instant) -> u64 {
    since_first_use(instant, *FIRST_USE.get_or_init(Instant::now))
}

/// The instant of a moment, or `None` for [`NEVER`].
#[cfg(not(loom))]
pub(super) fn instant(moment: u64) -> Option<Instant> {
    if moment == NEVER {
        return None;
    }
    let first = *FIRST_USE.get_or_init(Instant::now);
    match moment.checked_sub(ORIGIN) {
        Some(after) => first.checked_add(Duration::from_nanos(after)),
        None => first.checked_sub(Duration::from_nanos(ORIGIN - moment)),
    }
}

/// The moment that lies `duration` after `moment`; [`NEVER`] if that is too far away to be counted.
pub(super) fn after(moment: u64, duration: Duration) -> u64 {
    let seconds = duration.as_secs().checked_mul(1_000_000_000);
    seconds
        .and_then(|nanos| nanos.checked_add(u64::from(duration.subsec_nanos())))
        .and_then(|nanos| moment.checked_add(nanos))
        .unwrap_or(NEVER)
}

#[cfg(not(loom))]
fn since_first_use(instant: Instant, first: Instant) -> u64 {
    match instant.checked_duration_since(first) {
        Some(later) => after(ORIGIN, later),
        None => {
            let earlier = first.duration_since(instant);
            ORIGIN.saturating_sub(u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX))
        }
    }
}

#[cfg(loom)]
std::thread_local! {
    /// The clock of a model, all threads of which are one to the system. It stands still until the model moves it.
    pub(crate) static MODEL: std::cell::Cell<u64> = const { std::cell::Cell::new(ORIGIN) };
}

#[cfg(loom)]
pub(super) fn now() -> u64 {
    MODEL.get()
}

#[cfg(loom)]
pub(super) fn moment(_: Instant) -> u64 {
    unimplemented!("models use durations")
}

#[cfg(loom)]
pub(super) fn instant(_: u64) -> Option<Instant> {
    unimplemented!("models use durations")
}
