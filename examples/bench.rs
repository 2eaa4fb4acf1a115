//! The server that is measured: `echo` answers at once, `slow` waits for its cancellation.
//!
//! ```sh
//! cargo run --release --features tide --example bench -- stdio
//! cargo run --release --features tide --example bench -- http
//! cargo run --release --features tide --example bench -- tide
//! ```
//!
//! On standard error it writes lines for the meter, with times of the monotonic clock in nanoseconds: `LISTENING address`,
//! `STARTED tag time`, `CANCELLED tag time` and `FINISHED tag time`.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::json;
use smol_mcp::{Context, HandlerError, Server, Tool, http, stdio};

#[derive(Deserialize)]
struct Echo {
    text: String,
}

async fn echo(input: Echo) -> String {
    input.text
}

#[derive(Deserialize)]
struct Slow {
    #[serde(default)]
    tag: String,
    #[serde(default = "ten")]
    seconds: f64,
}

fn ten() -> f64 {
    10.0
}

async fn slow(input: Slow, cx: Context) -> Result<&'static str, HandlerError> {
    mark("STARTED", &input.tag);
    let seconds = Duration::try_from_secs_f64(input.seconds)?;
    match cx.signal().sleep(seconds).await {
        Ok(()) => {
            mark("FINISHED", &input.tag);
            Ok("done")
        }
        Err(_) => {
            mark("CANCELLED", &input.tag);
            Ok("cancelled")
        }
    }
}

/// Writes a line in one piece.
fn mark(what: &str, tag: &str) {
    let now = clock_gettime(ClockId::Monotonic);
    let line = format!("{what} {tag} {}{:09}\n", now.tv_sec, now.tv_nsec);
    // The meter may be gone.
    let _ = io::stderr().write_all(line.as_bytes());
}

fn server() -> Result<Server, smol_mcp::Error> {
    let echo = Tool::new("echo", echo)
        .description("Returns its text")
        .input_schema(json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        }));
    let slow = Tool::new("slow", slow)
        .description("Waits for its cancellation, or for some seconds")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "tag": { "type": "string" },
                "seconds": { "type": "number", "default": ten() },
            },
        }));
    Server::builder("bench", env!("CARGO_PKG_VERSION"))
        .tool(echo)
        .tool(slow)
        .build()
}

async fn serve_http(server: &Server) -> io::Result<()> {
    let listener = http::Listener::bind("127.0.0.1:0").await?;
    eprintln!("LISTENING {}", listener.local_addr()?);
    http::serve_on(listener, http::Endpoint::new(server)).await
}

#[cfg(feature = "tide")]
async fn serve_tide(server: &Server) -> io::Result<()> {
    let listener = http::Listener::bind("127.0.0.1:0").await?;
    eprintln!("LISTENING {}", listener.local_addr()?);
    let mut app = tide::new();
    app.at("/mcp").all(smol_mcp::tide::endpoint(server));
    app.listen(smol_mcp::tide::listener(listener)).await
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = server()?;
    match env::args().nth(1).as_deref() {
        Some("stdio") => smol::block_on(stdio::serve(&server))?,
        Some("http") => smol::block_on(serve_http(&server))?,
        #[cfg(feature = "tide")]
        Some("tide") => smol::block_on(serve_tide(&server))?,
        _ => return Err("usage: bench stdio|http|tide".into()),
    }
    Ok(())
}
