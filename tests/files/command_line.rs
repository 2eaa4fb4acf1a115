//! The command line.

use std::net::TcpListener;
use std::process::Output;

use crate::example;

fn run(args: &[&str]) -> Output {
    example::run("files", args)
}

#[track_caller]
fn assert_refused(args: &[&str], line: &str) {
    example::assert_refused("files", args, line);
}

#[test]
fn mistakes_get_one_line_and_exit_2() {
    assert_refused(
        &["--frob"],
        r#"files: unknown flag "--frob" (--help lists the flags)"#,
    );
    assert_refused(
        &["/no/such/dir"],
        r#"files: cannot serve "/no/such/dir": No such file or directory (os error 2)"#,
    );
    assert_refused(
        &["/dev/null"],
        r#"files: cannot serve "/dev/null": Not a directory (os error 20)"#,
    );
    assert_refused(
        &["a", "b"],
        r#"files: only one directory can be served; "b" is a second one"#,
    );
    assert_refused(
        &["--listen"],
        "files: --listen needs an address, such as 127.0.0.1:8080",
    );
    assert_refused(
        &["--stdio", "--listen", "127.0.0.1:0"],
        "files: --stdio and --listen exclude each other",
    );
    assert_refused(
        &["--listen", "nonsense"],
        r#"files: cannot listen on "nonsense": invalid socket address"#,
    );
}

#[test]
fn a_busy_port_gets_one_line_and_exit_2() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let line = format!("files: cannot listen on {address:?}: Address already in use (os error 98)");
    assert_refused(&["--listen", &address], &line);
}

#[test]
fn help_is_told() {
    let output = run(&["--help"]);
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: files [DIR]"));
    assert!(output.status.success());
}
