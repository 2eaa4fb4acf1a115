//! Servers for the Model Context Protocol on the smol family: one cancellation signal for every handler.
//!
//! A tool is an async function. It runs until it has an answer, or until nobody waits for one any more: the client has
//! cancelled the call, hung up or left, the server closes, or a deadline has passed. A [`Signal`] tells it so, in the same
//! way for every transport and every revision of the protocol. There is no runtime to start, and no tokio.
//!
//! The crate has no client. A server runs inside a tokio application as a guest, but an application that wants tokio's
//! whole ecosystem is better served by the official SDK, rmcp.
//!
//! # Features
//!
//! | feature | brings |
//! |---|---|
//! | (none) | [`Signal`] alone |
//! | `server` | the protocol and the server core, and `lines` for any pair of byte streams; implied by the others |
//! | `stdio` (default) | standard input and output |
//! | `http` (default) | the HTTP endpoint and a listener |
//! | `tide` | an endpoint and a listener for tide apps |
//! | `schemars` | JSON Schemas derived from types |
//! | `validate` | arguments and structured results checked against their JSON Schemas |
#![cfg_attr(all(feature = "stdio", feature = "http"), doc = include_str!("guide.md"))]
#![forbid(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
// Some of what these layers offer is for HTTP alone.
#[cfg_attr(not(feature = "http"), allow(dead_code))]
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
#[cfg_attr(not(feature = "http"), allow(dead_code))]
pub mod protocol;
#[cfg(feature = "server")]
mod random;
#[cfg(all(unix, any(feature = "stdio", feature = "http")))]
mod readiness;
#[cfg(feature = "server")]
#[cfg_attr(not(feature = "http"), allow(dead_code))]
mod server;
pub mod signal;
#[cfg(feature = "stdio")]
pub mod stdio;
#[cfg(feature = "server")]
pub mod testing;
#[cfg(feature = "tide")]
pub mod tide;
#[cfg(all(unix, any(feature = "stdio", feature = "http")))]
mod unix;

#[cfg(feature = "server")]
pub use error::Error;
#[cfg(feature = "server")]
pub use server::{
    Amount, Answers, Arguments, Ask, AskError, Builder, Cancelled, Context, Failure, HandlerError,
    IntoPromptResult, IntoReadResult, IntoToolResult, IntoTotal, Limits, List, Next, NoInput,
    Outcome, Principal, Progressed, Prompt, Resource, ResourceTemplate, Server, Structured, Tool,
    ToolFn, Variables, with_state,
};
pub use signal::Signal;

/// Compiles the programs of the README.
#[cfg(all(doctest, feature = "stdio"))]
#[doc = include_str!("../README.md")]
struct Readme;
