//! A server on a socket of its own.

use std::io;
use std::net::ToSocketAddrs;

use futures_lite::future;

use http::{Request, Response};

use super::{Body, Endpoint, Listener, Service};
use crate::executor::{self, Spawner};
use crate::{Server, Signal};

/// Listens on a TCP address and serves MCP there at `/mcp`, until the server is [closed](Server::close).
///
/// For port 0, for options, or for a Unix socket, put an [`Endpoint`] on a [`Listener`] and use [`serve_on`].
///
/// # Errors
///
/// Fails if the address cannot be listened on.
///
/// # Cancellation
///
/// Dropping the future closes all connections and drops the handlers that run.
///
/// # Examples
///
/// ```no_run
/// use smol_mcp::{NoInput, Server, Tool, http};
///
/// let server = Server::builder("clock", "1.0.0")
///     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
///     .build()?;
/// smol::block_on(http::serve(&server, "127.0.0.1:8080"))?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub async fn serve(server: &Server, address: impl ToSocketAddrs) -> io::Result<()> {
    serve_on(Listener::bind(address).await?, Endpoint::new(server)).await
}

/// Serves an endpoint on a listener, until the server is [closed](Server::close).
///
/// Connections and handlers run within this future, or on the executor of the server if it was
/// [given one](crate::Builder::executor). [`Options::executor`](super::Options::executor) names another for connections.
///
/// # Errors
///
/// Fails if the listening socket does.
///
/// # Cancellation
///
/// Dropping the future closes all connections and drops the handlers that run.
pub async fn serve_on(listener: Listener, endpoint: Endpoint) -> io::Result<()> {
    let server = endpoint.server().clone();
    executor::within(server.0.executor.clone(), |executor| {
        let listener = listener.with_executor(&executor);
        let served = Served {
            endpoint,
            spawner: Spawner::on(&executor),
        };
        serve_with(listener, served, &server)
    })
    .await
}

/// An endpoint whose handlers run where its connections do.
struct Served {
    endpoint: Endpoint,
    spawner: Spawner,
}

impl Service for Served {
    fn call(
        &self,
        request: Request<Vec<u8>>,
        signal: Signal,
    ) -> impl Future<Output = Response<Body>> + Send {
        self.endpoint.serve(request, signal, &self.spawner)
    }
}

/// Serves anything on a listener, until the server is closed.
pub(crate) async fn serve_with(
    listener: Listener,
    service: impl Service,
    server: &Server,
) -> io::Result<()> {
    let listener = match &server.0.executor {
        Some(executor) => listener.with_executor(executor),
        None => listener,
    };
    let closer = listener.closer();
    let closed = async {
        server.closed().aborted().await;
        closer.close(server.0.grace_left()).await;
        Ok(())
    };
    future::or(listener.serve(service), closed).await
}
