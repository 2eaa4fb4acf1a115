//! The examples as child processes, each doing what its head says.
//!
//! `cargo test` builds examples. Before `cargo test --test examples` alone, build them: `cargo build --examples`.
#![cfg(unix)]

#[path = "examples/child.rs"]
mod child;
#[path = "common/example.rs"]
mod example;
#[path = "examples/over_http.rs"]
mod over_http;
#[path = "examples/over_lines.rs"]
mod over_lines;
#[path = "examples/processes.rs"]
mod processes;
#[path = "common/schema.rs"]
mod schema;
