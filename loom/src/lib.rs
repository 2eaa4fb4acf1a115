//! What several threads touch at a time, built for the model checker: `src/signal.rs`, and of the server the gate of a
//! call, the table of calls in flight, and the feed of a connection. All else that these name is stood in for here.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test` in this folder.
#![cfg(loom)]
#![allow(dead_code, unused_imports)]

#[path = "../../src"]
mod smol_mcp {
    pub(crate) mod signal;

    pub(crate) mod server {
        pub(crate) mod amount;
        #[path = "../../loom/src/call.rs"]
        pub(crate) mod call;
        pub(crate) mod feed;
        pub(crate) mod inflight;
        pub(crate) mod outlet;
        mod queue;
        mod sync;

        /// What a client reads.
        mod messages {
            pub(super) fn left_out(_: u8, count: usize) -> Vec<u8> {
                format!("-{count}").into_bytes()
            }
        }
    }
}

// As the files find them in the crate itself.
pub(crate) use smol_mcp::{server, signal};

/// Ids of requests, and levels of log messages.
mod protocol {
    pub(crate) type LogLevel = u8;

    pub(crate) mod jsonrpc {
        pub(crate) type Id = i64;
    }
}

mod executor;

#[cfg(test)]
mod calls;
#[cfg(test)]
mod explore;
#[cfg(test)]
mod signals;
