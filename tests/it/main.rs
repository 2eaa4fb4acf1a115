//! The promises of the crate, each as a test through the public API.
//!
//! Modules stand for promises. What holds on every transport and in every era is a scenario that `everywhere` runs
//! over all of them.

#[path = "../common/schema.rs"]
mod schema;
mod transport;

mod stage;
mod talk;

mod cancel;
mod envelope;
mod eras;
mod errors;
mod executors;
#[cfg(feature = "http")]
mod http;
mod lines;
mod lists;
mod logs;
#[cfg(feature = "http")]
mod modes;
mod progress;
#[cfg(unix)]
mod readiness;
#[cfg(unix)]
mod stdio;
mod stress;
#[cfg(feature = "http")]
mod table;
#[cfg(target_os = "linux")]
mod turns;
