//! The smallest server: one tool over stdio, from a plain `fn main` without any executor.
//!
//! `block_on` is all there is to start: it runs all handlers, side by side. The example `embedded` brings its own executor.
//! A program that has smol finds the same function as `smol::block_on`.
//!
//! Run it and type the following line. (In a pipe the end of the input would abort the call before it is answered.)
//! `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"you"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
//!
//! ```sh
//! cargo run --example hello
//! ```

use std::error::Error;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol_mcp::{Context, HandlerError, Server, Tool, stdio};

#[derive(Deserialize)]
struct Greet {
    name: String,
}

async fn greet(input: Greet, cx: Context) -> Result<String, HandlerError> {
    // If the client cancels, the signal ends the sleep, and `?` ends the handler.
    cx.signal().sleep(Duration::from_millis(100)).await?;
    Ok(format!("Hello, {}!", input.name))
}

fn main() -> Result<(), Box<dyn Error>> {
    let greet = Tool::new("greet", greet)
        .description("Greets somebody")
        .input_schema(json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
        }));
    let server = Server::builder("hello", env!("CARGO_PKG_VERSION"))
        .tool(greet)
        .build()?;
    async_io::block_on(stdio::serve(&server))?;
    Ok(())
}
