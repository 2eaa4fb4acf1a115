//! A tool that runs a command, and ends it with everything it has started when nobody waits for it any more.
//!
//! The command is the operator's choice, not the client's.
//!
//! ```sh
//! cargo run --example child_process -- ping -c 100 localhost
//! ```

use std::env;
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use smol::io::{AsyncBufReadExt, BufReader};
use smol::process::{Child, Command};
use smol::stream::StreamExt;
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool, stdio};

/// A child and its descendants. They are killed when it is dropped before its end.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    fn spawn(command: &[String]) -> Result<Self, HandlerError> {
        let (program, arguments) = command.split_first().ok_or_else(no_command)?;
        let mut command = std::process::Command::new(program);
        // A group of its own, so that one signal reaches all of them and nobody else.
        command.args(arguments).process_group(0);
        let mut command = Command::from(command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    /// Kills all of them, and awaits the end of the child, so that no zombie stays.
    async fn kill(mut self) -> Result<(), HandlerError> {
        if let Some(leader) = self.leader.take() {
            kill_process_group(leader, Signal::KILL)?;
        }
        self.child.status().await?;
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // They are gone already, or cannot be helped.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

fn no_command() -> HandlerError {
    HandlerError::public("The server was started without a command.")
}

/// Reports each line that the command prints.
async fn watch(group: &mut Group, cx: &Context) -> Result<String, HandlerError> {
    let mut count = 0;
    if let Some(output) = group.child.stdout.take() {
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.try_next().await? {
            count += 1;
            cx.progress(count, None, line);
        }
    }
    let status = group.child.status().await?;
    // From here on the number may be somebody else's.
    group.leader = None;
    Ok(format!("{count} lines, {status}"))
}

async fn run(command: Arc<[String]>, cx: Context) -> Result<String, HandlerError> {
    let mut group = Group::spawn(&command)?;
    match cx.signal().run(watch(&mut group, &cx)).await {
        Ok(outcome) => outcome,
        Err(aborted) => {
            group.kill().await?;
            Err(aborted.into())
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let command: Arc<[String]> = env::args().skip(1).collect();
    let tool = Tool::new("run", move |_: NoInput, cx| run(command.clone(), cx))
        .description("Runs the command, and reports the lines that it prints");
    let server = Server::builder("runner", env!("CARGO_PKG_VERSION"))
        .tool(tool)
        .build()?;
    smol::block_on(stdio::serve(&server))?;
    Ok(())
}
