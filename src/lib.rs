//! MCP servers on the smol family: one cancellation signal for every handler.
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
mod era;
#[cfg(feature = "server")]
mod error;
#[cfg(feature = "server")]
mod executor;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "server")]
pub mod lines;
#[cfg(feature = "server")]
pub mod protocol;
#[cfg(feature = "server")]
mod random;
#[cfg(feature = "server")]
mod server;
pub mod signal;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "server")]
pub mod testing;
#[cfg(feature = "tide")]
pub mod tide;

#[cfg(feature = "server")]
pub use error::Error;
#[cfg(feature = "server")]
pub use server::{
    Amount, Answers, Arguments, Ask, AskError, Builder, Cancelled, Context, Failure, HandlerError,
    IntoPromptResult, IntoReadResult, IntoToolHandler, IntoToolResult, IntoTotal, Limits, List,
    Next, NoInput, Outcome, Principal, Progressed, Prompt, Resource, ResourceTemplate, Server,
    Structured, Tool, ToolHandler, Variables,
};
pub use signal::Signal;

/// Compiles the programs of the README.
#[cfg(all(doctest, feature = "stdio"))]
#[doc = include_str!("../README.md")]
struct Readme;
