//! Old news: the system says that there is input, and by the time somebody reads, it is gone.
//!
//! Whoever reads standard input shares the open file with others, and must not block for what they have taken. Each case
//! is a process of its own, this test binary run once more, that makes both ends of its standard streams and polls the
//! server by hand: so the order is certain, and not a matter of luck.

use std::env;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write, stdout};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::pin::{Pin, pin};
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use smol_mcp::{Server, stdio};

use crate::stage::PATIENCE;

/// Names what standard input is to be.
const INPUT: &str = "SMOL_MCP_TEST_INPUT";

/// How a command line runs only [`in_a_child`].
const ARGUMENTS: [&str; 4] = ["readiness::in_a_child", "--exact", "--nocapture", "--quiet"];

/// Tells how often it has been called.
pub(crate) struct Bell(pub(crate) Sender<()>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// The server's end of its input, and the client's.
fn input(kind: &str) -> (OwnedFd, File) {
    match kind {
        "pipe" => {
            let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
            (reader, writer.into())
        }
        "socket" => {
            let (theirs, ours) = UnixStream::pair().expect("a pair");
            (theirs.into(), OwnedFd::from(ours).into())
        }
        #[cfg(target_os = "linux")]
        "terminal" => terminal(),
        _ => panic!("no input: {kind:?}"),
    }
}

/// The side of a terminal that programs use, and the side of who sits at it.
#[cfg(target_os = "linux")]
pub(crate) fn terminal() -> (OwnedFd, File) {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&ours).expect("a terminal");
    unlockpt(&ours).expect("a terminal");
    let name = ptsname(&ours, Vec::new()).expect("its name");
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let theirs = open(name, flags, Mode::empty()).expect("its other side");
    (theirs, ours.into())
}

#[track_caller]
pub(crate) fn expect(rings: &Receiver<()>, what: &str) {
    if rings.recv_timeout(PATIENCE).is_err() {
        panic!("nobody was woken for {what}");
    }
}

/// Waits until the reactor has ended the turn that it is in. Of an event in that turn it would not tell, since the turn had
/// begun before the wait for the event.
fn begin_a_turn(cx: &mut Context<'_>, rings: &Receiver<()>) {
    let mut timer = smol::Timer::after(Duration::from_millis(1));
    while Pin::new(&mut timer).poll(cx).is_pending() {
        expect(rings, "the end of a turn");
    }
    while rings.try_recv().is_ok() {}
}

/// Not a test: what a child process runs.
#[test]
fn in_a_child() {
    let Ok(kind) = env::var(INPUT) else {
        return;
    };
    let (theirs, mut ours) = input(&kind);
    let (output, their_output) = pipe_with(PipeFlags::CLOEXEC).expect("a pipe");
    dup2_stdin(&theirs).expect("standard input");
    let harness = stdout();
    let harness = rustix::io::dup(&harness).expect("standard output");
    dup2_stdout(their_output).expect("standard output");

    let server = Server::builder("t", "1").build().expect("a server");
    let mut serving = pin!(stdio::serve(&server));
    let (ring, rings) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(ring)));
    let mut cx = Context::from_waker(&waker);
    let (done, watched) = mpsc::channel::<()>();
    thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("a read of what was not there has blocked the server");
            exit(1);
        }
    });

    // It waits, is woken, and somebody else reads first.
    assert!(serving.as_mut().poll(&mut cx).is_pending());
    begin_a_turn(&mut cx, &rings);
    ours.write_all(b"\n").expect("room");
    expect(&rings, "the first line");
    let mut stolen = [0; 8];
    let count = File::from(theirs).read(&mut stolen).expect("the line");
    assert_eq!(&stolen[..count], b"\n");
    assert!(serving.as_mut().poll(&mut cx).is_pending());

    // And it is as good as before.
    while rings.try_recv().is_ok() {}
    ours.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .expect("room");
    expect(&rings, "the second line");
    assert!(serving.as_mut().poll(&mut cx).is_pending());
    let mut line = String::new();
    BufReader::new(File::from(output))
        .read_line(&mut line)
        .expect("an answer");
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    drop(done);
    dup2_stdout(harness).expect("standard output");
}

#[track_caller]
fn in_one_process(kind: &str) {
    in_a_process_of_its_own(&ARGUMENTS, INPUT, kind);
}

/// Runs a case in a child process, which ends by itself: this program with these arguments and a variable.
#[track_caller]
pub(crate) fn in_a_process_of_its_own(arguments: &[&str], variable: &str, case: &str) {
    let output = Command::new(env::current_exe().expect("this program"))
        .args(arguments)
        .env(variable, case)
        .output()
        .expect("a child");
    let (text, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let passed = output.status.success() && text.contains("1 passed");
    assert!(passed, "{case}: {}\n{text}{errors}", output.status);
}

#[test]
fn input_that_was_read_by_another_does_not_block_the_reader_of_a_pipe() {
    in_one_process("pipe");
}

#[test]
fn input_that_was_read_by_another_does_not_block_the_reader_of_a_socket() {
    in_one_process("socket");
}

#[cfg(target_os = "linux")]
#[test]
fn input_that_was_read_by_another_does_not_block_the_reader_of_a_terminal() {
    in_one_process("terminal");
}
