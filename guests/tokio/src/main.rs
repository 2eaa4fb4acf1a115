//! A server as a guest of tokio's: its tasks run on tokio's threads, and its handlers use what is tokio's.
//!
//! ```sh
//! cargo run
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol::Executor;
use smol_mcp::http::{Endpoint, Listener, serve_on};
use smol_mcp::{Context, HandlerError, Server, Tool};
use tokio::time;

#[derive(Deserialize)]
struct Count {
    to: u32,
}

/// Sleeps by tokio's clock, which works only inside of tokio.
async fn count(input: Count, cx: Context) -> Result<String, HandlerError> {
    let mut interval = time::interval(Duration::from_millis(20));
    for number in 1..=input.to {
        cx.signal().run(interval.tick()).await?;
        cx.progress(number, input.to, format_args!("at {number}"));
    }
    // A task of tokio's, given up when nobody waits for it any more.
    let mut task = tokio::spawn(async move { format!("counted to {}", input.to) });
    let joined = cx.signal().run(&mut task).await;
    if joined.is_err() {
        task.abort();
    }
    Ok(joined??)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An executor of smol's is a future like any other. Tokio runs it, and so all that runs on it is inside of tokio.
    let executor = Arc::new(Executor::new());
    let running = executor.clone();
    tokio::spawn(async move { running.run(std::future::pending::<()>()).await });

    let count = Tool::new("count", count)
        .description("Counts, slowly")
        .input_schema(json!({
            "type": "object",
            "properties": { "to": { "type": "integer", "minimum": 1 } },
            "required": ["to"],
        }));
    let server = Server::builder("guest", "1.0.0")
        .executor(executor)
        .tool(count)
        .build()?;
    let listener = Listener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let serving = tokio::spawn(serve_on(listener, Endpoint::new(&server)));

    tokio::signal::ctrl_c().await?;
    server.close(Duration::from_secs(1)).await;
    serving.await??;
    Ok(())
}
