//! MCP servers on the smol family: one cancellation signal for every handler.
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
pub mod protocol;
pub mod signal;

pub use signal::Signal;
