//! A server on a socket of its own.

use std::io;
use std::net::ToSocketAddrs;

use futures_lite::future;

use super::{Endpoint, Listener, Service};
use crate::Server;
use crate::executor::{self, Spawner};

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
/// Dropping the future closes all connections, and drops the handlers that run within it.
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
/// Connections and handlers run within this future, and handlers whose clients have left until a
/// [close](Server::close) has given them its grace. If the server was [given an executor](crate::Builder::executor), they
/// run there. [`Options::executor`](super::Options::executor) names another for connections.
///
/// # Errors
///
/// Fails if the listening socket does.
///
/// # Cancellation
///
/// Dropping the future closes all connections, and drops the handlers that run within it.
pub async fn serve_on(listener: Listener, endpoint: Endpoint) -> io::Result<()> {
    serving(listener, endpoint).await
}

/// An object, so that the listener is compiled here, and not once more with each program.
fn serving(listener: Listener, endpoint: Endpoint) -> future::Boxed<io::Result<()>> {
    Box::pin(async move {
        let server = endpoint.server().clone();
        executor::within(server.0.executor(), |executor| {
            let listener = listener.with_executor(executor);
            let spawner = Spawner::on(executor);
            let service = move |request, signal| endpoint.serve(request, signal, &spawner);
            let server = &server;
            async move {
                let ended = serve_with(listener, service, server).await;
                if server.0.is_closed() {
                    // Handlers whose clients have left have the grace, too.
                    server.0.drained().await;
                }
                ended
            }
        })
        .await
    })
}

/// Serves anything on a listener, until the server is closed.
pub(crate) async fn serve_with(
    listener: Listener,
    service: impl Service,
    server: &Server,
) -> io::Result<()> {
    let listener = match &server.0.executor() {
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
