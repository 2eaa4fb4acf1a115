//! The locks of what `loom/` has models of. Under `--cfg loom` they are those of the model checker.

#[cfg(not(loom))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};
