//! The MCP endpoint over HTTP: called without a socket, on our listener, and mounted in tide on our listener.
//!
//! Every case runs all three ways. Numbers in comments are rows of the conformance checklist.

#[path = "http/app.rs"]
mod app;
#[path = "http/authorize.rs"]
mod authorize;
#[path = "http/batches.rs"]
mod batches;
#[path = "http/cancel.rs"]
mod cancel;
#[path = "http/close.rs"]
mod close;
#[path = "http/common.rs"]
mod common;
#[path = "http/forms.rs"]
mod forms;
#[path = "http/legacy.rs"]
mod legacy;
#[path = "http/mirrored.rs"]
mod mirrored;
#[path = "http/modern.rs"]
mod modern;
#[path = "http/resume.rs"]
mod resume;
#[path = "common/schema.rs"]
mod schema;
#[path = "http/stream.rs"]
mod stream;
