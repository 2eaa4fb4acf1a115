//! HTTP: requests in, responses out, and a listener that notices when a client leaves.
//!
//! A [`Listener`] owns the sockets and serves any [`Service`]. It reads a whole request, calls the service with a
//! [`Signal`](crate::Signal), and sends the [`Body`] that it gets back. The signal fires when the client hangs up.

mod accepts;
mod authorize;
mod body;
mod cors;
mod endpoint;
mod events;
mod flow;
mod listener;
mod origin;
mod post;
mod serve;
mod service;
mod session;
mod sse;

pub use authorize::{Challenge, ProtectedResource, bearer};
pub use body::Body;
pub use endpoint::Endpoint;
pub use events::{EventStore, MemoryStore, Place};
pub use listener::{Closer, Listener, Options, PeerAddr};
#[cfg(feature = "tide")]
pub(crate) use serve::serve_with;
pub use serve::{serve, serve_on};
pub use service::Service;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use listener::fuzz as __fuzz;
