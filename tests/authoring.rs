//! What an author says of a tool, and what becomes of it: handlers, inputs, checks, deadlines, hooks and mistakes.
#![cfg(all(feature = "server", unix))]

#[path = "authoring/around.rs"]
mod around;
#[path = "authoring/blocking.rs"]
mod blocking;
#[path = "common/client.rs"]
mod client;
#[path = "authoring/common.rs"]
mod common;
#[path = "authoring/deadlines.rs"]
mod deadlines;
#[path = "authoring/handlers.rs"]
mod handlers;
#[path = "authoring/inputs.rs"]
mod inputs;
#[path = "authoring/mistakes.rs"]
mod mistakes;
#[path = "authoring/options.rs"]
mod options;
#[cfg(feature = "validate")]
#[path = "authoring/schemas.rs"]
mod schemas;
#[path = "authoring/state.rs"]
mod state;
#[path = "authoring/told.rs"]
mod told;
#[cfg(feature = "schemars")]
#[path = "authoring/typed.rs"]
mod typed;
