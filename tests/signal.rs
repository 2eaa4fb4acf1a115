//! The rules of `smol_mcp::signal`, each as a test whose name is the claim.

#[path = "signal/basics.rs"]
mod basics;
#[path = "signal/common.rs"]
mod common;
