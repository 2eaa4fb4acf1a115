//! An MCP server for a directory: it searches, reads, lists and digests files, and stops when nobody waits any more.
//!
//! ```sh
//! cargo run --release --features tide --example files             # this directory, on http://127.0.0.1:8080/mcp
//! cargo run --release --features tide --example files -- --help   # another directory, another port, or stdio
//! ```
//!
//! Over HTTP it prints two `curl` commands to try, and what to put into a client's configuration.
//!
//! The tools show how a handler heeds its signal: `search` awaits one file after the other, under a stricter signal if the
//! client sets `timeout_ms`; the others are plain functions on a thread that may block, and `digest` is a long one. All of
//! them check the signal inside large files, too.

mod args;
mod digest;
mod http;
mod list;
mod pieces;
mod read;
mod root;
mod search;
mod watch;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_signal::{Signal, Signals};
use smol::stream::StreamExt;
use smol_mcp::{Server, stdio};

use crate::args::{Args, Transport};
use crate::root::Root;

/// How long calls may still answer after Ctrl-C or SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("files: {err}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(args) = Args::parse(env::args_os().skip(1))? else {
        eprintln!("{}", args::USAGE);
        return Ok(());
    };
    let root = Arc::new(Root::open(&args.dir)?);
    let server = server(&root)?;
    let signals = Signals::new([Signal::Int, Signal::Term])?;
    smol::block_on(async {
        let _closing = smol::spawn(close_on(signals, server.clone()));
        match &args.transport {
            Transport::Stdio => stdio::serve(&server).await?,
            Transport::Http(address) => http::serve(&server, &root, address).await?,
        }
        Ok(())
    })
}

fn server(root: &Arc<Root>) -> Result<Server, smol_mcp::Error> {
    Server::builder("files", env!("CARGO_PKG_VERSION"))
        .instructions("Files of one directory. Paths are relative to it, with '/' between names.")
        .tool(search::tool(root.clone()))
        .tool(read::tool(root.clone()))
        .tool(list::tool(root.clone()))
        .tool(digest::tool(root.clone()))
        .build()
}

/// Closes the server at the first Ctrl-C or SIGTERM; serving it then ends by itself.
async fn close_on(mut signals: Signals, server: Server) {
    signals.next().await;
    server.close(GRACE).await;
}
