//! Whoever shares a thread with the server gets its turns, whatever the standard streams are.
//!
//! A regular file can always be read, so nothing makes the server wait. A terminal that nobody reads must not be waited for
//! in a write. Each case is a process of its own, this test binary run once more, with standard streams that it makes.

use std::cell::Cell;
use std::env;
use std::fs::{self, File};
use std::future::Future;
use std::io::{Read, Write, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::pin::pin;
use std::process::exit;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use smol::future::yield_now;
use smol::{LocalExecutor, Timer};
use smol_mcp::{Server, stdio};

use crate::readiness::{Bell, expect, in_a_process_of_its_own, terminal};
use crate::stage::PATIENCE;

/// Names the case.
const CASE: &str = "SMOL_MCP_TEST_TURNS";

/// How a command line runs only [`in_a_child`].
const ARGUMENTS: [&str; 4] = ["turns::in_a_child", "--exact", "--nocapture", "--quiet"];

/// How many lines: what is answered is more than a terminal and the server keep.
const LINES: usize = 25_000;

/// Makes a file with many lines standard input.
fn read_from_a_file() {
    let path: PathBuf = env::temp_dir().join(format!("smol-mcp-turns-{}", std::process::id()));
    let lines = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(LINES);
    fs::write(&path, lines).expect("a file");
    let file = File::open(&path).expect("the file");
    fs::remove_file(&path).expect("the file");
    dup2_stdin(file).expect("standard input");
}

/// Ends the process if it hangs.
fn watch() -> mpsc::Sender<()> {
    let (done, watched) = mpsc::channel::<()>();
    thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("the server has blocked its thread");
            exit(1);
        }
    });
    done
}

/// Not a test: what a child process runs.
#[test]
fn in_a_child() {
    let Ok(case) = env::var(CASE) else {
        return;
    };
    let harness = stdout().as_fd().try_clone_to_owned().expect("a file");
    let done = watch();
    match &*case {
        "file" => from_a_file(),
        "terminal" => into_a_terminal(),
        "pipe" => {
            let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
            at_once(theirs, File::from(ours));
        }
        "socket" => {
            let (theirs, ours) = UnixStream::pair().expect("a pair");
            at_once(theirs.into(), ours);
        }
        _ => panic!("no case: {case:?}"),
    }
    drop(done);
    dup2_stdout(harness).expect("standard output");
}

/// What is there already is answered by the first poll, before the reactor has said anything.
fn at_once(theirs: OwnedFd, mut ours: impl Write) {
    ours.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .expect("room");
    dup2_stdin(theirs).expect("standard input");
    let (answers, output) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
    dup2_stdout(output).expect("standard output");
    let server = Server::builder("t", "1").build().expect("a server");
    let mut serving = pin!(stdio::serve(&server));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(serving.as_mut().poll(&mut cx).is_pending());
    rustix::io::ioctl_fionbio(&answers, true).expect("a mode");
    let mut answer = [0; 64];
    let count = rustix::io::read(&answers, &mut answer).expect("an answer");
    assert_eq!(
        &answer[..count],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
    );
}

fn from_a_file() {
    read_from_a_file();
    dup2_stdout(File::create("/dev/null").expect("/dev/null")).expect("standard output");
    let server = Server::builder("t", "1").build().expect("a server");
    let (turns, is_late) = (Cell::new(0), Cell::new(true));
    let executor = LocalExecutor::new();
    let serving = executor.spawn(stdio::serve(&server));
    let _counts = executor.spawn(async {
        loop {
            turns.set(turns.get() + 1);
            yield_now().await;
        }
    });
    let _waits = executor.spawn(async {
        Timer::after(Duration::from_millis(1)).await;
        is_late.set(false);
    });
    smol::block_on(executor.run(serving)).expect("an end");
    assert!(turns.get() >= 4, "{} turns", turns.get());
    assert!(!is_late.get(), "the timer has not fired");
    assert_eq!((&stdin()).read(&mut [0]).expect("an end"), 0);
}

fn into_a_terminal() {
    read_from_a_file();
    let (theirs, mut ours) = terminal();
    dup2_stdout::<OwnedFd>(theirs).expect("standard output");
    let server = Server::builder("t", "1").build().expect("a server");
    let mut serving = pin!(stdio::serve(&server));
    let (ring, rings) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(ring)));
    let mut cx = Context::from_waker(&waker);

    // It comes back although the terminal is full. It does not wait for its input.
    let mut turns = 0;
    loop {
        assert!(serving.as_mut().poll(&mut cx).is_pending());
        turns += 1;
        if rings.try_recv().is_err() {
            break;
        }
        while rings.try_recv().is_ok() {}
    }
    assert!(turns < 1_000, "it is busy waiting");

    // And goes on when somebody reads.
    let expected = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n".repeat(LINES);
    let mut text = vec![0; expected.len()];
    let reader = thread::spawn(move || ours.read_exact(&mut text).map(|()| text));
    loop {
        match serving.as_mut().poll(&mut cx) {
            Poll::Ready(ended) => break ended.expect("an end"),
            Poll::Pending => expect(&rings, "room in the terminal"),
        }
    }
    let text = reader.join().expect("no panic").expect("the answers");
    assert!(text == expected.as_bytes());
}

#[track_caller]
fn in_one_process(case: &str) {
    in_a_process_of_its_own(&ARGUMENTS, CASE, case);
}

#[test]
fn a_message_that_is_there_already_is_answered_before_the_reactor_is_asked() {
    // Elsewhere a pipe has no mode of its own, so that the kernel is asked, and the reactor waits.
    if cfg!(target_os = "linux") {
        in_one_process("pipe");
    }
    in_one_process("socket");
}

#[test]
fn a_file_of_many_lines_leaves_their_turns_to_tasks_and_timers() {
    in_one_process("file");
}

#[test]
fn a_terminal_that_nobody_reads_does_not_block_the_thread() {
    in_one_process("terminal");
}
