//! Cancellation and deadlines.

/// Tells a handler that nobody waits for its answer any more.
#[derive(Clone, Debug)]
pub struct Signal;
