//! Standard input and output, with a real child process: this test binary itself, run once more.

use std::env;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, exit};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use smol::channel;
use smol::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::{UnixListener, UnixStream};
use smol::process::{Child, Command, Stdio};
use smol::stream::StreamExt;
use smol_mcp::testing::Client;
use smol_mcp::{Server, stdio};

use crate::stage::{self, Director};
use crate::transport::{Era, Lines, Scene};

/// Names the socket through which a child's stage is directed.
const STAGE: &str = "SMOL_MCP_TEST_STAGE";

/// Sets the number of calls that may run at a time.
const CALLS: &str = "SMOL_MCP_TEST_CALLS";

/// Sets the grace after the end of input, in milliseconds.
const GRACE: &str = "SMOL_MCP_TEST_GRACE";

/// How a command line runs only [`in_a_child`].
pub(crate) const ARGUMENTS: [&str; 4] = ["stdio::in_a_child", "--exact", "--nocapture", "--quiet"];

/// Not a test: what a child process runs.
///
/// The test harness writes to standard output, so the child's protocol comes in on what is standard error for the
/// harness, and changes places here.
#[test]
fn in_a_child() {
    let Ok(path) = env::var(STAGE) else {
        return;
    };
    rustix::stdio::dup2_stdout(io::stderr()).expect("standard output");
    rustix::stdio::dup2_stderr(File::create("/dev/null").expect("/dev/null")).expect("stderr");
    let served = smol::block_on(serve(&path));
    exit(match served {
        Ok(()) => 0,
        Err(_) => 1,
    });
}

async fn serve(path: &str) -> io::Result<()> {
    let (tell, events) = channel::unbounded();
    let (commands, obey) = channel::unbounded();
    let stage = stage::Stage::new(tell.clone());
    let mut limits = stage::limits();
    if let Ok(calls) = env::var(CALLS) {
        limits.calls_per_peer = calls.parse().expect("a number");
    }
    if let Ok(millis) = env::var(GRACE) {
        limits.grace = Duration::from_millis(millis.parse().expect("a number"));
    }
    let builder = Server::builder("stage", "1.0.0").limits(limits);
    let server = stage::server(&stage, builder);
    let socket = UnixStream::connect(path).await?;
    let told = smol::spawn(send_lines(socket.clone(), events));
    smol::spawn(receive_lines(socket, commands)).detach();
    smol::spawn(stage::direct(server.clone(), stage, obey)).detach();
    stdio::serve(&server).await?;
    // The last events may not have left.
    let _ = tell.send(String::new()).await;
    told.await;
    Ok(())
}

/// Sends lines until an empty one.
async fn send_lines(mut socket: UnixStream, lines: channel::Receiver<String>) {
    while let Ok(line) = lines.recv().await {
        if line.is_empty() {
            return;
        }
        if socket
            .write_all(format!("{line}\n").as_bytes())
            .await
            .is_err()
        {
            return;
        }
    }
}

async fn receive_lines(socket: UnixStream, lines: channel::Sender<String>) {
    let mut received = BufReader::new(socket).lines();
    while let Some(Ok(line)) = received.next().await {
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

/// A name in the file system that nobody else has.
fn temporary() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    env::temp_dir().join(format!("smol-mcp-{}-{number}", std::process::id()))
}

fn socket() -> (PathBuf, UnixListener) {
    let path = temporary();
    let listener = UnixListener::bind(&path).expect("a socket");
    (path, listener)
}

/// A scene whose server runs in a child process.
pub(crate) fn child(era: Era) -> Scene {
    child_with(era, "1024")
}

fn child_with(era: Era, calls: &str) -> Scene {
    let (path, listener) = socket();
    let mut child = command()
        .env(STAGE, &path)
        .env(CALLS, calls)
        .kill_on_drop(true)
        .spawn()
        .expect("a child");
    let (socket, _) =
        stage::within("a call of the child", listener.accept()).expect("a child that calls");
    std::fs::remove_file(&path).expect("the socket's name");
    let (tell, events) = channel::unbounded();
    let (commands, obey) = channel::unbounded();
    smol::spawn(receive_lines(socket.clone(), tell)).detach();
    smol::spawn(send_lines(socket, obey)).detach();
    let (input, output) = (
        child.stderr.take().expect("piped"),
        child.stdin.take().expect("piped"),
    );
    Scene {
        client: Box::new(Lines::new(Client::over(input, output), era, child)),
        director: Director::remote(events, commands),
        era,
        server: None,
    }
}

/// A child process with pipes on all that the protocol needs.
fn command() -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    command
        .args(ARGUMENTS)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

/// A child without a stage, and what it says of its stage to nobody.
fn plain(configure: impl FnOnce(&mut Command)) -> Child {
    // It calls a socket that a thread of the test answers by silence.
    let (path, listener) = socket();
    let mut command = command();
    command.env(STAGE, &path).kill_on_drop(true);
    configure(&mut command);
    let child = command.spawn().expect("a child");
    smol::spawn(async move {
        if let Ok((socket, _)) = listener.accept().await {
            let _ = std::fs::remove_file(&path);
            let (_keep, obey) = channel::unbounded::<String>();
            let (tell, _events) = channel::unbounded();
            let told = smol::spawn(receive_lines(socket.clone(), tell));
            send_lines(socket, obey).await;
            drop(told);
        }
    })
    .detach();
    child
}

fn call(id: i64, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{}}}}}"#,
        crate::talk::META
    ) + "\n"
}

/// What a call of `echo` with `{}` is answered.
fn echoed(id: i64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{{}}"}}],"resultType":"complete","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"stage","version":"1.0.0"}}}}}}}}"#
    ) + "\n"
}

/// All that a child writes, and how it ends.
#[track_caller]
fn output(mut child: Child) -> (String, ExitStatus) {
    let mut text = String::new();
    let read = async {
        if let Some(mut stream) = child.stderr.take() {
            stream.read_to_string(&mut text).await.expect("UTF-8");
        }
        child.status().await.expect("a status")
    };
    let status = stage::within("the end of the child", read);
    (text, status)
}

// R127, R123: no input at all, from a file that cannot be polled.
#[test]
fn without_any_input_it_ends_at_once_and_says_nothing() {
    let child = plain(|command| {
        command.stdin(Stdio::null());
    });
    let (text, status) = output(child);
    assert_eq!((&*text, status.code()), ("", Some(0)));
}

// A regular file cannot be polled either. Its last line has no line feed.
#[test]
fn input_from_a_file_is_served_to_its_last_line() {
    let path = temporary();
    let lines = call(1, "echo", "{}") + call(2, "echo", "{}").trim_end();
    std::fs::write(&path, lines).expect("a file");
    let file = File::open(&path).expect("the file");
    let child = plain(|command| {
        command.stdin(file);
    });
    let (text, status) = output(child);
    std::fs::remove_file(&path).expect("the file");
    assert_eq!((text, status.code()), (echoed(1) + &echoed(2), Some(0)));
}

// Output into a file.
#[test]
fn output_into_a_file_is_whole() {
    let path = temporary();
    let file = File::create(&path).expect("a file");
    let mut child = plain(|command| {
        command.stderr(file);
    });
    let mut input = child.stdin.take().expect("piped");
    let many = 1..=500;
    let write = async {
        for id in many.clone() {
            input.write_all(call(id, "echo", "{}").as_bytes()).await?;
        }
        io::Result::Ok(())
    };
    stage::within("the child to read", write).expect("it reads");
    drop(input);
    let (_, status) = output(child);
    let text = std::fs::read_to_string(&path).expect("UTF-8");
    std::fs::remove_file(&path).expect("the file");
    let expected: String = many.map(echoed).collect();
    assert_eq!((text, status.code()), (expected, Some(0)));
}

// R122, R123: however a handler ends, only messages are written, one a line; also when it panics.
#[test]
fn nothing_but_messages_is_written() {
    let mut child = plain(|_| {});
    let mut input = child.stdin.take().expect("piped");
    let lines = [
        "not json\n".to_owned(),
        call(1, "play", r#"{"name":"a\nb","end":"panic"}"#),
        call(2, "echo", r#"{"a":"\n\r\u2028\u2029\u0000"}"#),
        "\n\n".to_owned(),
    ];
    let lines = lines.concat();
    let write = input.write_all(lines.as_bytes());
    stage::within("the child to read", write).expect("it reads");
    drop(input);
    let (text, status) = output(child);
    assert_eq!(status.code(), Some(0));
    assert!(text.ends_with('\n'));
    let ids: Vec<_> = text
        .split_terminator('\n')
        .map(|line| serde_json::from_str::<Value>(line).expect("a message")["id"].clone())
        .collect();
    assert_eq!(ids.len(), 3, "{text}");
}

// The end of a client that does not say good-bye: its pipes break, the server ends.
#[test]
fn it_ends_when_its_client_is_gone() {
    let mut child = plain(|_| {});
    let mut input = child.stdin.take().expect("piped");
    drop(child.stderr.take());
    let line = call(1, "echo", "{}");
    let write = input.write_all(line.as_bytes());
    stage::within("the child to read", write).expect("it reads");
    let status = stage::within("the end of the child", child.status()).expect("a status");
    assert_eq!(status.code(), Some(0));
}

// Issue 2: a signal of the system ends it, while its input is open and silent and a call runs.
#[test]
fn it_can_be_terminated_while_its_input_is_open() {
    let mut child = plain(|_| {});
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let begin = async {
        input
            .write_all(call(1, "play", r#"{"name":"a"}"#).as_bytes())
            .await
            .expect("it reads");
        input
            .write_all(call(2, "echo", "{}").as_bytes())
            .await
            .expect("it reads");
        lines.next().await.expect("an answer").expect("a line")
    };
    assert_eq!(
        stage::within("the answer of `echo`", begin) + "\n",
        echoed(2)
    );
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let status = stage::within("the end of the child", child.status()).expect("a status");
    assert_eq!(status.signal(), Some(15));
}

// The mode of an open file belongs to all who share it: parents, and standard error.
#[test]
fn no_shared_file_is_made_non_blocking() {
    let is_blocking = |file: &OwnedFd| {
        let flags = rustix::fs::fcntl_getfl(file).expect("flags");
        !flags.contains(rustix::fs::OFlags::NONBLOCK)
    };
    let pipes = || {
        let (their_input, input) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        let (output, their_output) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).expect("a pipe");
        (their_input, input, output, their_output)
    };
    let sockets = || {
        let (input, output) = (
            std::os::unix::net::UnixStream::pair(),
            std::os::unix::net::UnixStream::pair(),
        );
        let ((their_input, input), (output, their_output)) =
            (input.expect("a pair"), output.expect("a pair"));
        (
            their_input.into(),
            input.into(),
            output.into(),
            their_output.into(),
        )
    };
    for (their_input, input, output, their_output) in [pipes(), sockets()] {
        let (shared_input, shared_output) = (
            their_input.try_clone().expect("a file"),
            their_output.try_clone().expect("a file"),
        );
        let mut child = plain(|command| {
            command.stdin(their_input).stderr(their_output);
        });
        let mut output = BufReader::new(smol::Unblock::new(File::from(output)));
        let mut input = File::from(input);
        for id in 1..10 {
            io::Write::write_all(&mut input, call(id, "echo", "{}").as_bytes()).expect("it reads");
            let mut line = String::new();
            let read = output.read_line(&mut line);
            stage::within("the answer of `echo`", read).expect("an answer");
            assert_eq!(line, echoed(id));
            assert!(is_blocking(&shared_input) && is_blocking(&shared_output));
        }
        drop(input);
        drop(shared_input);
        let status = stage::within("the end of the child", child.status()).expect("a status");
        assert_eq!(status.code(), Some(0));
        assert!(is_blocking(&shared_output));
    }
}

// R127, P15: ten thousand calls, each of which waits for its signal, end with their input.
#[test]
fn ten_thousand_calls_fire_at_the_end_of_input() {
    let mut limits = stage::limits();
    limits.calls_per_peer = 10_000;
    let count = 10_000;
    for over_a_process in [false, true] {
        let mut scene = match over_a_process {
            false => {
                crate::transport::memory(Era::Modern, |builder| builder.limits(limits.clone()))
            }
            true => child_with(Era::Modern, "10000"),
        };
        for id in 1000..1000 + count {
            scene.call(id, "play", json!({ "name": "x" }));
        }
        for _ in 0..count {
            scene.director.expect("begun x");
        }
        // One more is one too many, and is told so.
        scene.call(1, "play", json!({ "name": "x" }));
        let refused = scene.client.next(1).expect("an answer");
        assert_eq!(
            refused["error"]["message"],
            "Too many requests in flight: at most 10000"
        );
        scene.client.leave();
        for _ in 0..count {
            scene.director.expect("fired x: the connection closed");
        }
        for id in 1000..1000 + count {
            assert_eq!(scene.text(id), "x ended");
        }
        assert_eq!(scene.client.next(1000), None);
    }
}

// A child that ignores the end of its input is given up after its grace, by itself.
#[test]
fn the_end_of_input_ends_it_within_the_grace() {
    let mut child = plain(|command| {
        command.env(GRACE, "50");
    });
    let mut input = child.stdin.take().expect("piped");
    let line = call(1, "play", r#"{"name":"a","deaf":true}"#);
    let write = input.write_all(line.as_bytes());
    stage::within("the child to read", write).expect("it reads");
    drop(input);
    let (text, status) = output(child);
    assert_eq!((&*text, status.code()), ("", Some(0)));
}
