//! `src/signal.rs` of the crate, built for the model checker, and its models.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test` in this folder.
#![cfg(loom)]
#![allow(dead_code, unused_imports)]

#[path = "../../src"]
mod smol_mcp {
    pub(crate) mod signal;
}

#[cfg(test)]
mod models;
