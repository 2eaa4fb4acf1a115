//! How handlers ask the client: by rounds from 2026-07-28 on, by requests of the server's own before.
#![cfg(all(feature = "server", unix))]

#[path = "common/client.rs"]
mod client;
#[path = "asks/common.rs"]
mod common;
#[path = "asks/ends.rs"]
mod ends;
#[path = "asks/requests.rs"]
mod requests;
#[path = "asks/rounds.rs"]
mod rounds;
#[path = "asks/states.rs"]
mod states;
