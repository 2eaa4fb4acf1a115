//! MCP servers on the smol family: one cancellation signal for every handler.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "http")]
pub mod http;
pub mod signal;

#[cfg(feature = "http")]
mod executor;

pub use signal::Signal;
