//! The example as a child process, with limits.

use std::fs;
use std::io::Write;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use crate::example::{self, PATIENCE, lines};

/// A running server. Killed when it is dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Receiver<String>,
}

impl Process {
    /// Starts a server that reads messages of a mebibyte, after a shell has executed `limits`.
    pub(crate) fn start(mode: &str, limits: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", &format!("{limits}\nexec \"$0\" {mode} 1048576")])
            .arg(example::program("bench"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: lines(child.stdout.take().unwrap()),
            errors: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        let line = self.error();
        let address = line.strip_prefix("LISTENING ");
        address.unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    /// The next line on standard error.
    pub(crate) fn error(&self) -> String {
        let line = self.errors.recv_timeout(PATIENCE);
        line.expect("a line on standard error")
    }

    /// The next line on standard output.
    pub(crate) fn receive(&self) -> String {
        let line = self.output.recv_timeout(PATIENCE);
        line.unwrap_or_else(|err| panic!("{err}: {:?}", self.errors.try_iter().last()))
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open input");
        let line = format!("{line}\n");
        if let Err(err) = input.write_all(line.as_bytes()) {
            panic!("{err}: {:?}", self.errors.iter().last());
        }
    }

    /// A figure that the system keeps of it: `Threads`, or kibibytes of `VmPeak` and `VmHWM`.
    pub(crate) fn figure(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("a running server");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .expect("a line of its status");
        let number = line.split_whitespace().next();
        number.expect("a figure").parse().unwrap()
    }

    /// Ends its input and waits for its end, which is that of standard error, too.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.input = None;
        loop {
            match self.errors.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
