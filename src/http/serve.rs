//! A server on a socket of its own.

use std::fmt;
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
/// Fails if it cannot listen on the address, which the message then names, or if the listening socket fails later.
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
pub async fn serve(server: &Server, address: impl ToSocketAddrs + fmt::Debug) -> io::Result<()> {
    serve_on(Listener::bind(address).await?, Endpoint::new(server)).await
}

/// Serves an endpoint on a listener, until the server is [closed](Server::close).
///
/// Connections and handlers run within this future, or on the executor of the server, if it was
/// [given one](crate::Builder::executor). [`Options::executor`](super::Options::executor) sets another for connections. After
/// a [close](Server::close) the future also waits for handlers whose clients have left, within the grace.
///
/// # Errors
///
/// Fails if the listening socket does.
///
/// # Cancellation
///
/// Dropping the future closes all connections, and drops the handlers that run within it.
///
/// # Several servers
///
/// Those that share a listener have an endpoint each, and a function chooses between them:
///
/// ```no_run
/// use smol_mcp::Server;
/// use smol_mcp::http::{Endpoint, Listener};
///
/// async fn serve(notes: &Server, admin: &Server) -> std::io::Result<()> {
///     let notes = Endpoint::new(notes).path("/notes");
///     let admin = Endpoint::new(admin).path("/admin");
///     let serve = move |request: http::Request<Vec<u8>>, signal| {
///         let endpoint = match request.uri().path() {
///             "/admin" => admin.clone(),
///             _ => notes.clone(),
///         };
///         async move { endpoint.handle(request, signal).await }
///     };
///     Listener::bind("127.0.0.1:8080").await?.serve(serve).await
/// }
/// # let _ = serve;
/// ```
///
/// That listener does not end with a server: its [`closer`](Listener::closer) ends it, while the servers are closed.
/// Handlers run on a thread of the crate's own, or where [`Builder::executor`](crate::Builder::executor) says.
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
