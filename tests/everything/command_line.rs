//! The command line, and the end.

use std::net::{TcpListener, TcpStream};
use std::process::{Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::example::{self, PATIENCE, lines};

fn run(args: &[&str]) -> Output {
    example::run("everything", args)
}

#[track_caller]
fn assert_refused(args: &[&str], line: &str) {
    example::assert_refused("everything", args, line);
}

#[test]
fn mistakes_get_one_line_and_exit_2() {
    assert_refused(
        &["--frob"],
        r#"everything: unknown argument "--frob" (--help lists the arguments)"#,
    );
    assert_refused(
        &["here"],
        r#"everything: unknown argument "here" (--help lists the arguments)"#,
    );
    assert_refused(
        &["--listen"],
        "everything: --listen needs an address, such as 127.0.0.1:8080",
    );
    assert_refused(
        &["--stdio", "--listen", "127.0.0.1:0"],
        "everything: --stdio excludes --listen and --plain",
    );
    assert_refused(
        &["--plain", "--stdio"],
        "everything: --stdio excludes --listen and --plain",
    );
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let line =
        format!("everything: cannot listen on {address:?}: Address already in use (os error 98)");
    assert_refused(&["--listen", &address], &line);
}

#[test]
fn help_is_told() {
    let output = run(&["--help"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: everything [--plain]"));
    assert!(output.status.success());
}

#[test]
fn a_signal_ends_it_in_either_mount() {
    for (mount, signal) in [(None, Signal::TERM), (Some("--plain"), Signal::INT)] {
        let mut child = example::command("everything")
            .args(mount)
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = lines(child.stderr.take().unwrap());
        let line = errors.recv_timeout(PATIENCE).unwrap();
        let url = line.strip_prefix("listening on http://").unwrap();
        let _idle = TcpStream::connect(url.strip_suffix("/mcp").unwrap()).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(errors.recv_timeout(PATIENCE).ok(), None);
    }
}
