//! Standard input and output, with a real child process: this test binary itself, run once more.

use std::env;
use std::fs::File;
use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};

use smol::channel;
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::{UnixListener, UnixStream};
use smol::process::{Child, Command, Stdio};
use smol::stream::StreamExt;
use smol_mcp::testing::Client;
use smol_mcp::{Server, stdio};

use crate::stage::{self, Director};
use crate::transport::{Era, Lines, Scene};

/// Names the socket through which a child's stage is directed.
const STAGE: &str = "SMOL_MCP_TEST_STAGE";

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
    let builder = Server::builder("stage", "1.0.0").limits(stage::limits());
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

/// A scene whose server runs in a child process.
pub(crate) fn child(era: Era) -> Scene {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!(
        "smol-mcp-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let path = env::temp_dir().join(name);
    let listener = UnixListener::bind(&path).expect("a socket");
    let mut child = command()
        .env(STAGE, &path)
        .kill_on_drop(true)
        .spawn()
        .expect("a child");
    let (socket, _) = stage::block_on(listener.accept())
        .expect("in time")
        .expect("a child that calls");
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
