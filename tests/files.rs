//! The example `files`, as a child process over real directories: over stdio, over HTTP, and by its command line.
//!
//! `cargo test` builds examples. Before `cargo test --test files` alone, build it: `cargo build --all-features --example files`.

#[path = "files/child.rs"]
mod child;
#[path = "files/command_line.rs"]
mod command_line;
#[path = "files/ends.rs"]
mod ends;
#[path = "common/example.rs"]
mod example;
#[path = "files/over_http.rs"]
mod over_http;
#[path = "files/paths.rs"]
mod paths;
#[path = "common/schema.rs"]
mod schema;
#[path = "files/tools.rs"]
mod tools;
#[path = "files/tree.rs"]
mod tree;
