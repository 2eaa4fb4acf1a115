//! HTTP: requests in, responses out, and a listener that notices when a client leaves.
//!
//! A [`Listener`] owns the sockets and serves any [`Service`]. It reads a whole request, calls the service with a
//! [`Signal`](crate::Signal), and sends the [`Body`] that it gets back. The signal fires when the client hangs up.

mod body;
mod listener;
mod service;

pub use body::Body;
pub use listener::{Closer, Listener, Options, PeerAddr};
pub use service::Service;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use listener::fuzz as __fuzz;
