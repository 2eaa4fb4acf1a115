//! The server that is measured: `echo` answers at once, `slow` waits for its cancellation.
//!
//! ```sh
//! cargo run --release --features tide --example bench -- stdio
//! cargo run --release --features tide --example bench -- http
//! cargo run --release --features tide --example bench -- unix
//! cargo run --release --features tide --example bench -- tide
//! ```
//!
//! A number as the second argument is the size of the largest message that it reads, in bytes.
//!
//! On standard error it writes lines for the meter, with times of the monotonic clock in nanoseconds: `LISTENING address`,
//! `STARTED tag time`, `CANCELLED tag time` and `FINISHED tag time`. Where progress is wanted, `slow` reports it once.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use serde_json::json;
use smol::Executor;
use smol_mcp::{Context, HandlerError, Limits, Server, Tool, http, stdio};

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
    cx.progress(0, 1, "waiting");
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

/// The server with its two tools. Without an executor their handlers run within the future that serves.
pub fn server(
    executor: Option<&Arc<Executor<'static>>>,
    message_bytes: Option<usize>,
) -> Result<Server, smol_mcp::Error> {
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
    let mut limits = Limits::default();
    limits.calls_per_peer = 200_000;
    limits.message_bytes = message_bytes.unwrap_or(limits.message_bytes);
    let mut builder = Server::builder("bench", env!("CARGO_PKG_VERSION"))
        .tool(echo)
        .tool(slow)
        .limits(limits);
    if let Some(executor) = executor {
        builder = builder.executor(executor.clone());
    }
    builder.build()
}

async fn listen(most: Option<usize>) -> io::Result<http::Listener> {
    let listener = http::Listener::bind("127.0.0.1:0").await?;
    eprintln!("LISTENING {}", listener.local_addr()?);
    Ok(with_options(listener, most))
}

async fn listen_unix(most: Option<usize>) -> io::Result<http::Listener> {
    let path = env::temp_dir().join(format!("smol-mcp-bench-{}", std::process::id()));
    let listener = http::Listener::bind_unix(&path).await?;
    eprintln!("LISTENING unix:{}", path.display());
    Ok(with_options(listener, most))
}

fn with_options(listener: http::Listener, most: Option<usize>) -> http::Listener {
    let mut options = http::Options::new().max_connections(200_000);
    if let Some(bytes) = most {
        options = options.max_body(bytes);
    }
    listener.with_options(options)
}

#[cfg(feature = "tide")]
async fn serve_tide(most: Option<usize>) -> Result<(), Box<dyn Error>> {
    // Without an executor, handlers behind a router would run on another thread.
    let executor = Arc::new(Executor::new());
    let server = server(Some(&executor), most)?;
    let mut app = tide::new();
    app.at("/mcp").all(smol_mcp::tide::endpoint(&server));
    let listener = smol_mcp::tide::listener(listen(most).await?);
    let serving = app.listen(listener.closes_with(&server));
    Ok(executor.run(serving).await?)
}

fn endpoint(server: &Server) -> http::Endpoint {
    http::Endpoint::new(server)
}

/// Everything runs on the thread that calls it.
async fn serve(mode: &str, most: Option<usize>) -> Result<(), Box<dyn Error>> {
    let server = server(None, most)?;
    match mode {
        "stdio" => stdio::serve(&server).await?,
        "http" => http::serve_on(listen(most).await?, endpoint(&server)).await?,
        "unix" => http::serve_on(listen_unix(most).await?, endpoint(&server)).await?,
        #[cfg(feature = "tide")]
        "tide" => serve_tide(most).await?,
        _ => return Err("usage: bench stdio|http|unix|tide".into()),
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mode = env::args().nth(1).unwrap_or_default();
    let most = env::args().nth(2).map(|bytes| bytes.parse()).transpose()?;
    smol::block_on(serve(&mode, most))
}
