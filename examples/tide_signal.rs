//! An ordinary endpoint of a tide app that stops its work when its client leaves, beside an MCP endpoint.
//!
//! ```sh
//! cargo run --features tide --example tide_signal
//! curl --max-time 1 http://127.0.0.1:8080/report
//! ```
//!
//! The listener puts a [`Signal`] into every request. It fires when the client hangs up, like curl above or a browser whose
//! tab is closed, and when the listener closes.

use std::env;
use std::error::Error;
use std::time::Duration;

use smol_mcp::http::Listener;
use smol_mcp::{Context, HandlerError, NoInput, Server, Signal, Tool};
use tide::{Request, Response, StatusCode};

/// Slow work, for the endpoint and for the tool.
async fn report(signal: &Signal) -> Result<String, smol_mcp::signal::Aborted> {
    let mut lines = String::new();
    for line in 1..=50 {
        signal.sleep(Duration::from_millis(100)).await?;
        lines += &format!("line {line}\n");
    }
    Ok(lines)
}

async fn endpoint(request: Request<()>) -> tide::Result {
    // Another listener sets no signal: then the work is never aborted.
    let signal = request.ext::<Signal>().cloned().unwrap_or_default();
    match report(&signal).await {
        Ok(lines) => Ok(lines.into()),
        Err(aborted) => {
            eprintln!("stopped: {}", aborted.reason());
            Ok(Response::new(StatusCode::ServiceUnavailable))
        }
    }
}

async fn tool(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    Ok(report(cx.signal()).await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("reports", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("report", tool).description("Writes a report, slowly"))
        .build()?;
    let mut app = tide::new();
    app.at("/report").get(endpoint);
    app.at("/mcp").all(smol_mcp::tide::endpoint(&server));
    let address = env::args().nth(1);
    let address = address.as_deref().unwrap_or("127.0.0.1:8080");
    smol::block_on(async {
        let listener = Listener::bind(address).await?;
        eprintln!("listening on http://{}", listener.local_addr()?);
        app.listen(smol_mcp::tide::listener(listener)).await?;
        Ok(())
    })
}
