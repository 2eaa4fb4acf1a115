//! With backtraces switched on, an error of tide's walks the stack, for which much of the program is read. Nothing ordinary
//! makes one, a hang-up included.
//!
//! The app is a child process: this program, with a test that does nothing otherwise.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::json;
use smol_mcp::http::Listener;
use smol_mcp::{Context, NoInput, Server, Tool};

/// Set for the child.
const CHILD: &str = "SMOL_MCP_TEST_APP";
/// Longer than anything takes that is not broken.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the ordinary may cost, and the least that an error costs: the tables that the stack is unwound by, in the first place.
const LITTLE: usize = 192 * 1024;
const MUCH: usize = 2 * LITTLE;

#[test]
#[ignore = "the child of other tests"]
fn child_app() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let echo = Tool::new("echo", async |_: NoInput| "echoed");
    let wait = Tool::new("wait", async |_: NoInput, cx: Context| {
        cx.progress(1, 2, "waiting");
        let reason = cx.signal().await;
        println!("\nGONE {reason:?}");
    });
    let server = Server::builder("app", "1").tool(echo).tool(wait).build();
    let mut app = tide::new();
    app.at("/mcp")
        .all(smol_mcp::tide::endpoint(&server.unwrap()));
    app.at("/error")
        .get(async |_| -> tide::Result { Err(tide::Error::from_str(400, "made for comparison")) });
    smol::block_on(async {
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        println!("\nLISTENING {}", listener.local_addr().unwrap());
        app.listen(smol_mcp::tide::listener(listener)).await
    })
    .unwrap();
}

/// An app in a process of its own, with backtraces or without. Killed when it is dropped.
struct App {
    child: Child,
    lines: Receiver<String>,
    address: String,
}

impl App {
    fn start(backtraces: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["child_app", "--exact", "--ignored", "--nocapture"])
            .env(CHILD, "1")
            .env("RUST_BACKTRACE", backtraces)
            .env_remove("RUST_LIB_BACKTRACE")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut app = Self {
            child,
            lines,
            address: String::new(),
        };
        app.address = app.told("LISTENING ");
        app
    }

    /// The rest of the next line that begins like this.
    fn told(&self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect(beginning);
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
    }

    /// Sends a request, and returns the connection, and the response up to where it holds `end`.
    fn ask(&self, request: &str, end: &str) -> (TcpStream, String) {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let (mut response, mut piece) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&response).contains(end) {
            let count = connection.read(&mut piece).unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&response));
            response.extend_from_slice(&piece[..count]);
        }
        (connection, String::from_utf8(response).unwrap())
    }

    fn expect(&self, request: &str, status: u16) {
        let (_, response) = self.ask(request, "\r\n\r\n");
        let beginning = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&beginning), "{request}: {response}");
    }

    /// All that clients do to an app on an ordinary day.
    fn ordinary(&self) {
        self.expect(&call("echo", ""), 200);
        self.expect(&call("nothing", ""), 200);
        self.expect(&post("{", ""), 400);
        self.expect(&post("{}", "Origin: http://elsewhere.example\r\n"), 403);
        self.expect("GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404);
        self.expect("PUT /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405);
        self.expect("BREW /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501);
        let accented = "GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Name: größe\r\n\r\n";
        self.expect(accented, 404);

        // A stream that is left, and a connection that is reset while the handler waits.
        let (stream, _) = self.ask(&call("wait", r#","progressToken":1"#), "progress");
        drop(stream);
        assert_eq!(self.told("GONE "), "Disconnected");
        let (stream, _) = self.ask(&call("wait", r#","progressToken":1"#), "progress");
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
        drop(stream);
        assert_eq!(self.told("GONE "), "Disconnected");
        // Half of a head, and half of a body.
        for half in ["POST /mcp HTT", &call("echo", "")[..200]] {
            let mut connection = TcpStream::connect(&self.address).unwrap();
            connection.write_all(half.as_bytes()).unwrap();
        }
        self.expect(&call("echo", ""), 200);
    }

    /// The most memory that this process has had so far, in bytes. Symbols are mapped from the program's file.
    fn memory(&self) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
        kib.parse::<usize>().unwrap() * 1024
    }
}

impl Drop for App {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn post(body: &str, more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n{more}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn call(tool: &str, meta: &str) -> String {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": tool, "arguments": {}, "_meta": "META" },
    });
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}"#
    );
    let body = body.to_string().replace(r#""META""#, &meta);
    post(&body, &format!("Mcp-Name: {tool}\r\n"))
}

#[test]
fn nothing_ordinary_makes_an_error_of_tides() {
    let [with, without] = ["1", "0"].map(|backtraces| {
        let app = App::start(backtraces);
        app.expect(&call("echo", ""), 200);
        let before = app.memory();
        for _ in 0..20 {
            app.ordinary();
        }
        let ordinary = app.memory();
        app.expect("GET /error HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400);
        (ordinary - before, app.memory() - ordinary)
    });
    for (ordinary, error) in [with, without] {
        println!("{ordinary} bytes more for the ordinary, {error} for an error");
        assert!(ordinary < LITTLE, "{ordinary} bytes more");
    }
    let (seen, unseen) = (with.1, without.1);
    assert!(unseen < LITTLE, "{unseen} bytes without backtraces");
    assert!(
        seen > MUCH,
        "an error costs {seen} bytes only: this test sees nothing"
    );
}
