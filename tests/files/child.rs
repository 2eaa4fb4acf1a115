//! The example as a child process, and a client that speaks to it over stdio.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::example::{self, PATIENCE, lines};
use crate::schema;

/// A server over stdio. Killed when it is dropped.
pub(crate) struct Files {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
    last_id: u64,
}

/// The command that runs the example.
pub(crate) fn command() -> Command {
    example::command("files")
}

pub(crate) fn terminate(child: &Child) {
    kill_process(Pid::from_child(child), Signal::TERM).unwrap();
}

impl Files {
    pub(crate) fn over(dir: impl AsRef<OsStr>) -> Self {
        let mut child = command()
            .arg(dir)
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: lines(child.stdout.take().unwrap()),
            errors: lines(child.stderr.take().unwrap()),
            last_id: 0,
            child,
        }
    }

    /// Begins a call and returns its id, which is its progress token as well.
    pub(crate) fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {
                "name": tool,
                "arguments": arguments,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "progressToken": id,
                },
            },
        }));
        id
    }

    pub(crate) fn cancel(&mut self, id: u64, reason: &str) {
        self.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": id, "reason": reason },
        }));
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Returns the next message, which is one whatever else happens on standard output.
    pub(crate) fn next(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("no message");
        let message: Value = serde_json::from_str(&line).expect("not a message");
        assert_eq!(message["jsonrpc"], "2.0");
        schema::check(&line, None);
        message
    }

    /// Returns the text of the next answer, which is to be of this call; `Err` if the call failed.
    pub(crate) fn answer(&self, id: u64) -> Result<String, String> {
        loop {
            let message = self.next();
            if message["method"] == "notifications/progress" {
                continue;
            }
            assert_eq!(message["id"], id, "{message}");
            let result = &message["result"];
            let texts = result["content"].as_array().unwrap().iter();
            let texts: Vec<_> = texts.map(|block| block["text"].as_str().unwrap()).collect();
            let text = texts.join("\n---\n");
            return match result["isError"].as_bool() {
                Some(true) => Err(text),
                _ => Ok(text),
            };
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Result<String, String> {
        let id = self.begin(tool, arguments);
        self.answer(id)
    }

    /// Waits until a call reports progress from this number on.
    pub(crate) fn wait_for_progress(&self, id: u64, least: u64) {
        loop {
            let message = self.next();
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], id);
            if message["params"]["progress"].as_u64().unwrap() >= least {
                return;
            }
        }
    }

    /// Returns the next line on standard error.
    pub(crate) fn error_line(&self) -> String {
        self.errors.recv_timeout(PATIENCE).expect("no line")
    }

    /// Ends the input.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    pub(crate) fn terminate(&self) {
        terminate(&self.child);
    }

    /// Waits for the end, with the messages that were not looked at.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<Value>) {
        let mut rest = Vec::new();
        while let Ok(line) = self.output.recv_timeout(PATIENCE) {
            rest.push(serde_json::from_str(&line).expect("not a message"));
        }
        (self.child.wait().unwrap(), rest)
    }

    /// Tells whether the process has a file below this directory open. Linux alone tells that.
    pub(crate) fn reads_in(&self, dir: &Path) -> bool {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let mut targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        targets.any(|target| target.starts_with(dir))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
