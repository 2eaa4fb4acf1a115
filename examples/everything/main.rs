//! An MCP server with everything that the protocol has: a tour with one idea per module.
//!
//! ```sh
//! cargo run --release --features tide --example everything                          # http://127.0.0.1:8080/mcp, in tide
//! cargo run --release --features tide --example everything -- --plain --listen ADDR # without tide
//! cargo run --release --features tide --example everything -- --stdio
//! ```
//!
//! The names are those that the official conformance suite asks for. Every handler serves all revisions of the protocol
//! without asking for the revision.
//!
//! | module | shows |
//! |---|---|
//! | `content` | what a tool may return, and how it fails |
//! | `arguments` | schemas of arguments, and arguments that travel in headers too |
//! | `progress` | progress and log messages while a client waits, and ending its stream early |
//! | `asks`, `rounds` | asking the user, their model, and their client; several questions, in several rounds |
//! | `forms` | all that a form can hold |
//! | `changes` | telling clients that something has changed |
//! | `prompts`, `resources` | prompts with completion; resources, families of them, and subscriptions |
//! | `http` | mounting it all in tide, or serving it alone |

mod args;
mod arguments;
mod asks;
mod changes;
mod content;
mod forms;
mod http;
mod progress;
mod prompts;
mod resources;
mod rounds;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use async_signal::{Signal, Signals};
use smol::stream::StreamExt;
use smol_mcp::protocol::Cache;
use smol_mcp::{List, Server, stdio};

use crate::args::{Args, Transport};

/// How long calls may still answer after Ctrl-C or SIGTERM.
const GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("everything: {err}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let Some(args) = Args::parse(env::args_os().skip(1))? else {
        eprintln!("{}", args::USAGE);
        return Ok(());
    };
    let server = server()?;
    let signals = Signals::new([Signal::Int, Signal::Term])?;
    smol::block_on(async {
        let _closing = smol::spawn(close_on(signals, server.clone()));
        match &args.transport {
            Transport::Stdio => stdio::serve(&server).await?,
            Transport::Http(mount, address) => http::serve(&server, *mount, address).await?,
        }
        Ok(())
    })
}

fn server() -> Result<Server, smol_mcp::Error> {
    let builder = Server::builder("everything", env!("CARGO_PKG_VERSION"))
        .instructions("A server to try clients with.")
        // The lists are the same for everybody, and say so when they change.
        .cache(Cache::public(Duration::from_secs(60)))
        .list_changed([List::Tools, List::Prompts, List::Resources])
        .subscriptions()
        .logging();
    let builder = content::add(builder);
    let builder = arguments::add(builder);
    let builder = progress::add(builder);
    let builder = asks::add(builder);
    let builder = rounds::add(builder);
    let builder = forms::add(builder);
    let builder = changes::add(builder);
    let builder = prompts::add(builder);
    resources::add(builder)?.build()
}

/// Closes the server at the first Ctrl-C or SIGTERM; serving it then ends by itself.
async fn close_on(mut signals: Signals, server: Server) {
    signals.next().await;
    server.close(GRACE).await;
}
