//! A server inside an application with one thread and its own executor.
//!
//! The application is a clockwork that ticks. Over HTTP, clients wait for so many ticks. The handlers, the connections and
//! the tasks of the application all run on the thread of `main`.
//!
//! ```sh
//! cargo run --example embedded
//! ```

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol::{Executor, Timer};
use smol_mcp::http::{Endpoint, Listener, serve_on};
use smol_mcp::{Context, HandlerError, Server, Tool};

#[derive(Deserialize)]
struct Wait {
    ticks: u64,
}

/// What the application does all day.
async fn clockwork(ticks: Arc<AtomicU64>) {
    loop {
        Timer::after(Duration::from_millis(50)).await;
        ticks.fetch_add(1, Ordering::Relaxed);
    }
}

async fn wait(input: Wait, cx: Context, ticks: Arc<AtomicU64>) -> Result<String, HandlerError> {
    let begun = ticks.load(Ordering::Relaxed);
    loop {
        let passed = ticks.load(Ordering::Relaxed) - begun;
        cx.progress(passed, input.ticks, "");
        if passed >= input.ticks {
            return Ok(format!(
                "{passed} ticks on thread {:?}",
                thread::current().name()
            ));
        }
        // Ends the handler when its client hangs up.
        cx.signal().sleep(Duration::from_millis(10)).await?;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let executor = Arc::new(Executor::new());
    let ticks = Arc::new(AtomicU64::new(0));
    executor.spawn(clockwork(ticks.clone())).detach();

    let tool = Tool::new("wait", move |input, cx| wait(input, cx, ticks.clone()))
        .description("Waits for so many ticks of the clockwork")
        .input_schema(json!({
            "type": "object",
            "properties": { "ticks": { "type": "integer", "minimum": 1 } },
            "required": ["ticks"],
        }));
    let server = Server::builder("clockwork", env!("CARGO_PKG_VERSION"))
        .executor(executor.clone())
        .tool(tool)
        .build()?;
    // This runs the application, its server, and every handler.
    smol::block_on(executor.run(async {
        let listener = Listener::bind("127.0.0.1:0").await?;
        eprintln!("listening on http://{}/mcp", listener.local_addr()?);
        serve_on(listener, Endpoint::new(&server)).await?;
        Ok(())
    }))
}
