//! A tool that runs a command, and kills it with everything that it has started when nobody waits for it any more.
//!
//! The operator chooses the command, not the client.
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

/// A child and its descendants. If it is dropped before the child has ended, they are killed.
struct Group {
    child: Child,
    leader: Option<Pid>,
}

impl Group {
    fn spawn(command: &[String]) -> Result<Self, HandlerError> {
        let (program, arguments) = command.split_first().ok_or_else(no_command)?;
        let mut command = std::process::Command::new(program);
        // In a new group, so that one signal reaches all of them and no other process.
        command.args(arguments).process_group(0);
        let mut command = Command::from(command);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    /// Kills all of them, and waits for the end of the child, so that no zombie stays.
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
            // An error means that they are gone already, or cannot be killed.
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
    // From here on the process id may be another's.
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
