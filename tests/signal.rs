//! The rules of `smol_mcp::signal`, each as a test whose name is the claim.

#[path = "signal/common.rs"]
mod common;
#[path = "signal/deadlines.rs"]
mod deadlines;
#[path = "signal/edges.rs"]
mod edges;
#[path = "signal/hostile.rs"]
mod hostile;
#[path = "signal/rules.rs"]
mod rules;
#[path = "signal/stress.rs"]
mod stress;
#[path = "signal/types.rs"]
mod types;
#[path = "signal/waiting.rs"]
mod waiting;
