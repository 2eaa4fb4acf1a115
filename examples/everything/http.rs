//! Serving over HTTP: as a route of a tide app, or by itself. Either way the listener is that of smol-mcp, which notices
//! when a client hangs up.

use std::error::Error;

use smol_mcp::Server;
use smol_mcp::http::{Endpoint, Listener, MemoryStore, serve_on};
use smol_mcp::tide::{Endpoint as Route, listener};

use crate::args::Mount;

/// Serves until the server is closed.
pub(crate) async fn serve(
    server: &Server,
    mount: Mount,
    address: &str,
) -> Result<(), Box<dyn Error>> {
    let socket = Listener::bind(address).await?;
    eprintln!("listening on http://{}/mcp", socket.local_addr()?);
    // Clients of 2025-11-25 and before that lose their connection can come back for what they missed.
    let endpoint = Endpoint::new(server).event_store(MemoryStore::new());
    match mount {
        Mount::Plain => serve_on(socket, endpoint).await?,
        Mount::Tide => {
            let mut app = tide::new();
            app.at("/mcp").all(Route::from(endpoint));
            app.listen(listener(socket).closes_with(server)).await?;
        }
    }
    Ok(())
}
