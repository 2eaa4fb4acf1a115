//! What a client is told while it waits: how far the work is, log messages, and that it may come back later.

use std::time::Duration;

use smol_mcp::protocol::LogLevel;
use smol_mcp::{Builder, Context, HandlerError, NoInput, Tool};

const STEP: Duration = Duration::from_millis(50);

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("test_tool_with_progress", progress)
                .description("Works for a moment and says how far it is"),
        )
        .tool(
            Tool::new("test_tool_with_logging", logging)
                .description("Works for a moment and logs what it does"),
        )
        .tool(
            Tool::new("test_logging_tool", logging)
                .description("Logs too: whether a client sees it is its own choice"),
        )
        .tool(Tool::new("test_reconnection", reconnection).description(
            "Lets go of the connection; the answer is there for a client that comes back",
        ))
}

/// Progress goes to clients that asked for it, at no cost for others. Once nobody waits any more the sleep ends early, and
/// `?` ends the handler.
async fn progress(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    for percent in [0, 50, 100] {
        cx.progress(percent, 100, format_args!("{percent} % done"));
        cx.signal().sleep(STEP).await?;
    }
    Ok("all done".to_owned())
}

async fn logging(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    for step in ["started", "processing", "ended"] {
        cx.log(LogLevel::Info, step);
        cx.signal().sleep(STEP).await?;
    }
    Ok("said three things".to_owned())
}

/// For long calls: clients of 2025-11-25 over HTTP come back for the answer, all others wait for it.
async fn reconnection(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    cx.release_stream();
    cx.signal().sleep(2 * STEP).await?;
    Ok("welcome back".to_owned())
}
