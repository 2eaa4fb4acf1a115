//! The primitives that the rest of the module is written in, and the two switches that exchange them.
//!
//! Under `--cfg loom` they are those of the model checker. Where there are no atomics of 64 bits (or under
//! `--cfg smol_mcp_no_atomic64`, with which the tests run that case anywhere) a lock stands in for them.

#[cfg(not(loom))]
pub(super) use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

#[cfg(loom)]
pub(super) use loom::sync::{
    Arc, Mutex,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

#[cfg(loom)]
pub(super) use loom::sync::atomic::AtomicU64;

#[cfg(all(not(loom), target_has_atomic = "64", not(smol_mcp_no_atomic64)))]
pub(super) use std::sync::atomic::AtomicU64;

#[cfg(all(not(loom), any(not(target_has_atomic = "64"), smol_mcp_no_atomic64)))]
pub(super) use locked::AtomicU64;

/// A number behind a lock, with the part of the interface of an atomic that is used here.
///
/// Every operation takes the lock, so all of them acquire and release whatever their ordering says.
#[cfg(all(not(loom), any(not(target_has_atomic = "64"), smol_mcp_no_atomic64)))]
mod locked {
    use std::mem;
    use std::sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering};

    #[derive(Debug)]
    pub(in super::super) struct AtomicU64(Mutex<u64>);

    impl AtomicU64 {
        pub(in super::super) const fn new(value: u64) -> Self {
            Self(Mutex::new(value))
        }

        fn lock(&self) -> MutexGuard<'_, u64> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        pub(in super::super) fn load(&self, _: Ordering) -> u64 {
            *self.lock()
        }

        pub(in super::super) fn fetch_max(&self, value: u64, _: Ordering) -> u64 {
            let mut current = self.lock();
            let larger = value.max(*current);
            mem::replace(&mut current, larger)
        }

        pub(in super::super) fn compare_exchange(
            &self,
            expected: u64,
            new: u64,
            _: Ordering,
            _: Ordering,
        ) -> Result<u64, u64> {
            let mut current = self.lock();
            if *current != expected {
                return Err(*current);
            }
            *current = new;
            Ok(expected)
        }
    }
}

/// A cell that is written once, for the model checker, which has none of its own.
///
/// As with the one of the standard library, a failed `set` returns only when the value of the other can be read.
#[cfg(loom)]
#[derive(Debug)]
pub(super) struct OnceLock<T> {
    ready: loom::sync::atomic::AtomicBool,
    value: Mutex<()>,
    inner: std::sync::OnceLock<T>,
}

#[cfg(loom)]
impl<T> OnceLock<T> {
    pub(super) fn new() -> Self {
        Self {
            ready: loom::sync::atomic::AtomicBool::new(false),
            value: Mutex::new(()),
            inner: std::sync::OnceLock::new(),
        }
    }

    pub(super) fn set(&self, value: T) -> Result<(), T> {
        let _guard = self.value.lock().unwrap();
        self.inner.set(value)?;
        self.ready.store(true, Ordering::Release);
        Ok(())
    }

    pub(super) fn get(&self) -> Option<&T> {
        if !self.ready.load(Ordering::Acquire) {
            return None;
        }
        self.inner.get()
    }
}
