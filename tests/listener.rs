//! The HTTP listener, through its sockets.
#![cfg(feature = "http")]

#[path = "listener/bind.rs"]
mod bind;
#[path = "listener/close.rs"]
mod close;
#[path = "listener/common.rs"]
mod common;
#[path = "listener/crowd.rs"]
mod crowd;
#[path = "listener/hang_up.rs"]
mod hang_up;
#[path = "listener/limits.rs"]
mod limits;
#[path = "listener/peers.rs"]
mod peers;
#[path = "listener/responses.rs"]
mod responses;
#[path = "listener/rows.rs"]
mod rows;
#[path = "listener/wire.rs"]
mod wire;
