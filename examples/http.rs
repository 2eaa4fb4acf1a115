//! A tool over HTTP that takes its time, reports progress, and stops when its client hangs up.
//!
//! ```sh
//! cargo run --example http
//! ```
//!
//! Call it with the address that it prints, and interrupt curl: the counting stops.
//!
//! ```sh
//! curl -N http://127.0.0.1:PORT/mcp \
//!   -H 'content-type: application/json' -H 'mcp-protocol-version: 2026-07-28' \
//!   -H 'mcp-method: tools/call' -H 'mcp-name: count' \
//!   -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
//!         "name": "count", "arguments": {"to": 50},
//!         "_meta": {"progressToken": 1, "io.modelcontextprotocol/protocolVersion": "2026-07-28",
//!           "io.modelcontextprotocol/clientCapabilities": {}}}}'
//! ```

use std::error::Error;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol_mcp::http::{Endpoint, Listener, serve_on};
use smol_mcp::{Context, HandlerError, Server, Tool};

#[derive(Deserialize)]
struct Count {
    to: u32,
}

async fn count(input: Count, cx: Context) -> Result<String, HandlerError> {
    for number in 1..=input.to {
        cx.progress(number, input.to, format_args!("at {number}"));
        cx.signal().sleep(Duration::from_millis(200)).await?;
    }
    Ok(format!("counted to {}", input.to))
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = Tool::new("count", count)
        .description("Counts, slowly")
        .input_schema(json!({
            "type": "object",
            "properties": { "to": { "type": "integer", "minimum": 1 } },
            "required": ["to"],
        }));
    let server = Server::builder("counter", env!("CARGO_PKG_VERSION"))
        .tool(count)
        .build()?;
    async_io::block_on(async {
        let listener = Listener::bind("127.0.0.1:0").await?;
        eprintln!("listening on http://{}/mcp", listener.local_addr()?);
        serve_on(listener, Endpoint::new(&server)).await?;
        Ok(())
    })
}
