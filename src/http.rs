//! HTTP: requests in, responses out, and a listener that notices when a client leaves.
//!
//! A [`Listener`] owns the sockets and serves any [`Service`]. It reads a whole request, calls the service with a
//! [`Signal`](crate::Signal), and sends the [`Body`] that it gets back. The signal fires when the client hangs up.
//!
//! An [`Endpoint`] is such a service: MCP for a [`Server`](crate::Server), in every revision at once. The body and the
//! headers of a message decide which rules it falls under. [`serve`] puts an endpoint on a listener; [`Endpoint::handle`]
//! needs no socket.
//!
//! [`Listener`], [`serve`] and [`serve_on`] need a Unix; an [`Endpoint`] does not.
//!
//! Requests and responses are those of the crate `http`, version 1: `cargo add http` to name their types. Where this module
//! is imported as `http`, that crate is `::http`.
//!
//! # When the response begins
//!
//! If a handler is ready soon and sends no message before its result, the response is JSON, and a failure may set the
//! status. Its first message makes the response a stream of events, and so does the end of [`Endpoint::patience`]; a
//! failure is then the last event. Clients that accept only JSON get only the answer. A stream without messages carries a
//! comment once in [`Endpoint::keep_alive`].
//!
//! # When the client leaves
//!
//! | request | closing the connection |
//! |---|---|
//! | of 2026-07-28 and later | fires the handler's signal with [`Reason::Disconnected`]; nothing more is sent |
//! | legacy, in a session | the same; with an [event store](Endpoint::event_store), once the response has begun as a stream, the handler runs on, and the client may come back |
//! | legacy, [without sessions](Endpoint::sessionless) | the same as for 2026-07-28 |
//!
//! Legacy clients cancel by `notifications/cancelled`: in a session, that fires the signals of its requests with that id,
//! and ends their responses. Without sessions it is not known whose the id is, so the notification is only
//! [observed](crate::Builder::on_cancelled), as it is over HTTP from 2026-07-28 on. When a session ends, by DELETE or
//! because it is idle, the signals of its requests fire with [`Reason::Closed`].
//!
//! # Limits
//!
//! Sessions are bounded in number, and end when they are idle ([`Endpoint::sessions`]): when their client waits for nothing,
//! whatever still runs for it. One takes about 1.6 KiB. Idle ones are looked for when requests come, at most once a minute:
//! there is no background task. Of the results that nobody fetched, a session keeps the newest 64 when its next stream begins,
//! and a [`MemoryStore`] has its own limits. The HTTP transport of 2024-11-05, with two endpoints, is not served.
//!
//! [`Reason::Disconnected`]: crate::signal::Reason::Disconnected
//! [`Reason::Closed`]: crate::signal::Reason::Closed

mod accepts;
mod authorize;
mod batch;
mod body;
mod cors;
mod endpoint;
mod events;
mod flow;
mod guard;
mod headers;
#[cfg(unix)]
mod listener;
mod messages;
mod origin;
mod post;
mod respond;
mod resume;
#[cfg(unix)]
mod serve;
mod service;
mod session;
mod sessions;
mod sse;
mod waiting;

pub use authorize::{Challenge, ProtectedResource, bearer};
pub use body::Body;
pub use endpoint::Endpoint;
pub use events::{EventStore, MemoryStore, Place};
#[cfg(unix)]
pub use listener::{Closer, Listener, Options, PeerAddr};
#[cfg(all(unix, feature = "tide"))]
pub(crate) use serve::serve_with;
#[cfg(unix)]
pub use serve::{serve, serve_on};
pub use service::Service;

#[cfg(fuzzing)]
#[doc(hidden)]
pub use listener::fuzz as __fuzz;
