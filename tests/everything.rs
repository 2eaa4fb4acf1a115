//! The example `everything`, as a child process: all that it offers, over stdio, under each revision; and its command line.
//!
//! Over HTTP the conformance suite judges it. `cargo test` builds examples; before `cargo test --test everything` alone,
//! build it: `cargo build --all-features --example everything`.

#[path = "everything/child.rs"]
mod child;
#[path = "everything/command_line.rs"]
mod command_line;
#[path = "common/example.rs"]
mod example;
#[path = "everything/offers.rs"]
mod offers;
#[path = "common/schema.rs"]
mod schema;
