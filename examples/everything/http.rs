//! Serving over HTTP: as a route of a tide app, or by itself. Either way the listener is ours, which notices when a client
//! hangs up.

use std::error::Error;

use smol::future;
use smol_mcp::Server;
use smol_mcp::http::{Endpoint, Listener, serve_on};

use crate::GRACE;
use crate::args::Mount;

/// Serves until the server is closed.
pub(crate) async fn serve(
    server: &Server,
    mount: Mount,
    address: &str,
) -> Result<(), Box<dyn Error>> {
    let socket = Listener::bind(address).await;
    let socket = socket.map_err(|err| format!("cannot listen on {address}: {err}"))?;
    eprintln!("listening on http://{}/mcp", socket.local_addr()?);
    match mount {
        Mount::Plain => serve_on(socket, Endpoint::new(server)).await?,
        Mount::Tide => in_tide(server, socket).await?,
    }
    Ok(())
}

async fn in_tide(server: &Server, socket: Listener) -> std::io::Result<()> {
    let closer = socket.closer();
    let closed = async {
        server.closed().await;
        closer.close(GRACE).await;
        Ok(())
    };
    let mut app = tide::new();
    app.at("/mcp").all(smol_mcp::tide::endpoint(server));
    future::or(app.listen(smol_mcp::tide::listener(socket)), closed).await
}
