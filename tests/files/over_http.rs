//! The same over HTTP, as a newcomer tries it: with the commands that the server prints.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};

use crate::child::{command, terminate};
use crate::example::lines;
use crate::schema;
use crate::tree::Tree;

const PATIENCE: Duration = Duration::from_secs(60);

struct Served {
    child: Child,
    errors: Receiver<String>,
    address: String,
    /// What it printed before it could be used.
    introduction: Vec<String>,
}

impl Served {
    fn over(tree: &Tree) -> Self {
        let mut child = command()
            .arg(tree.path())
            .args(["--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = lines(child.stderr.take().unwrap());
        let mut introduction = Vec::new();
        while !introduction
            .iter()
            .any(|line: &String| line.contains("--stdio"))
        {
            introduction.push(errors.recv_timeout(PATIENCE).expect("no introduction"));
        }
        let url = introduction[0].strip_prefix("listening on http://");
        let address = url
            .and_then(|url| url.strip_suffix("/mcp"))
            .unwrap()
            .to_owned();
        Self {
            child,
            errors,
            address,
            introduction,
        }
    }

    /// Sends a call, and returns the stream that its answer comes by.
    fn call(&self, tool: &str, arguments: Value) -> BufReader<TcpStream> {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": tool,
                "arguments": arguments,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "progressToken": "t",
                },
            },
        })
        .to_string();
        let (address, length) = (&self.address, body.len());
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
        .unwrap();
        BufReader::new(stream)
    }

    fn error_line(&self) -> String {
        let next = || self.errors.recv_timeout(PATIENCE).expect("no line");
        loop {
            let line = next();
            if !line.is_empty() {
                return line;
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads up to a line with this in it.
fn read_to(stream: &mut BufReader<TcpStream>, text: &str) -> String {
    let mut line = String::new();
    while !line.contains(text) {
        line.clear();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "no {text:?}");
        if line.starts_with("data: ") {
            schema::check_body(&line);
        }
    }
    line
}

#[test]
fn a_call_streams_its_progress_and_its_answer() {
    let tree = Tree::new().file("a.txt", "needle\n").file("b.txt", "");
    let served = Served::over(&tree);
    let mut stream = served.call("search", json!({ "text": "needle" }));
    assert!(read_to(&mut stream, "HTTP/1.1").starts_with("HTTP/1.1 200 "));
    read_to(&mut stream, r#""message":"a.txt""#);
    read_to(&mut stream, r#""message":"b.txt""#);
    read_to(&mut stream, "a.txt:1: needle");
}

#[test]
fn a_client_that_hangs_up_cancels_its_call() {
    let tree = Tree::new().file("a.txt", "text".repeat(1000));
    let served = Served::over(&tree);
    for _ in 0..2 {
        let mut stream = served.call("digest", json!({ "bytes_per_second": 10 }));
        read_to(&mut stream, "progressToken");
        stream.get_ref().shutdown(Shutdown::Both).unwrap();
        drop(stream);
        let line = served.error_line();
        assert!(line.starts_with("cancelled: digest after "), "{line}");
        assert!(line.ends_with(" ms: the client disconnected"), "{line}");
    }
    let mut stream = served.call("list", json!({}));
    read_to(&mut stream, "a.txt 4000");
}

#[test]
fn sigterm_ends_calls_and_the_server() {
    let tree = Tree::new().file("a.txt", "text".repeat(1000));
    let mut served = Served::over(&tree);
    let mut stream = served.call("digest", json!({ "bytes_per_second": 10 }));
    read_to(&mut stream, "progressToken");
    terminate(&served.child);
    let line = served.error_line();
    assert!(line.ends_with(" ms: the server closed"), "{line}");
    read_to(&mut stream, r#""isError":true"#);
    assert!(served.child.wait().unwrap().success());
    let output = lines(served.child.stdout.take().unwrap());
    assert!(
        output.recv_timeout(PATIENCE).is_err(),
        "something on standard output"
    );
}

#[test]
fn the_printed_commands_work() {
    let tree = Tree::new().file("main.rs", "fn main() {}\n".repeat(1000));
    let served = Served::over(&tree);
    let text = served.introduction.join("\n");
    let mut commands = text.split("\n\n").filter(|part| part.starts_with("curl "));
    let shell = |script: &str| {
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", script]).output().expect("a shell")
    };
    if !shell("curl --version").status.success() {
        return;
    }
    let search = shell(commands.next().unwrap());
    let answer = String::from_utf8_lossy(&search.stdout).into_owned();
    assert!(answer.contains(r#""message":"main.rs""#), "{answer}");
    assert!(answer.contains("main.rs:1: fn main() {}"), "{answer}");
    let digest = shell(&format!("timeout -s INT 1 {}", commands.next().unwrap()));
    let answer = String::from_utf8_lossy(&digest.stdout).into_owned();
    assert!(answer.contains("notifications/progress"), "{answer}");
    assert!(
        served
            .error_line()
            .ends_with(" ms: the client disconnected")
    );
}
