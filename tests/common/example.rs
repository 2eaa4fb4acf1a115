//! An example as a program: how it is found, run and read.
#![allow(dead_code)] // Each test binary uses its part.

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// Longer than anything takes that is not broken.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The command that runs an example.
pub fn command(name: &str) -> Command {
    Command::new(program(name))
}

/// The file of an example, which `cargo test` has built.
pub fn program(name: &str) -> PathBuf {
    let deps = env::current_exe().unwrap();
    let folder = deps.parent().unwrap();
    let program: PathBuf = [folder, Path::new("../examples"), Path::new(name)]
        .iter()
        .collect();
    assert!(program.exists(), "no {program:?}: build the example first");
    program
}

/// Passes the lines of a stream on. The channel closes at its end.
pub fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Runs an example to its end. It says nothing on standard output.
pub fn run(name: &str, args: &[&str]) -> Output {
    let output = command(name).args(args).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    output
}

/// Runs an example that refuses its arguments with one line.
#[track_caller]
pub fn assert_refused(name: &str, args: &[&str], line: &str) {
    let output = run(name, args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, format!("{line}\n"));
    assert_eq!(output.status.code(), Some(2));
}
