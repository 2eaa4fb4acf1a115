//! A server that Ctrl-C closes: handlers are told, and calls that end within ten seconds are still answered.
//!
//! Press Ctrl-C twice to end it at once.
//!
//! ```sh
//! cargo run --example shutdown
//! ```

use std::error::Error;
use std::time::Duration;

use async_signal::{Signal, Signals};
use smol::future::{or, pending};
use smol::stream::StreamExt;
use smol_mcp::http::{Endpoint, Listener, serve_on};
use smol_mcp::signal::Reason;
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool};

/// Works until it is told to stop, and then says how far it got.
async fn work(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    for step in 1.. {
        cx.progress(step, None, "working");
        let Err(aborted) = cx.signal().sleep(Duration::from_millis(100)).await else {
            continue;
        };
        return match aborted.reason() {
            Reason::ServerClosed => Ok(format!("stopped at step {step}, since the server closes")),
            _ => Err(aborted.into()),
        };
    }
    Ok("all the steps there are".to_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let tool = Tool::new("work", work).description("Works until the server closes");
    let server = Server::builder("worker", env!("CARGO_PKG_VERSION"))
        .tool(tool)
        .build()?;
    let mut signals = Signals::new([Signal::Int, Signal::Term])?;

    smol::block_on(async {
        let listener = Listener::bind("127.0.0.1:0").await?;
        eprintln!("listening on http://{}/mcp", listener.local_addr()?);
        let stop = async {
            signals.next().await;
            let close = async {
                server.close(Duration::from_secs(10)).await;
                // Serving ends by itself.
                pending().await
            };
            let again = async {
                signals.next().await;
                Ok(())
            };
            or(close, again).await
        };
        or(serve_on(listener, Endpoint::new(&server)), stop).await?;
        Ok(())
    })
}
