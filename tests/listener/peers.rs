//! Real clients and a real proxy. Each test does nothing on a machine without its program.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use smol_mcp::Signal;
use smol_mcp::http::{Body, Service};
use smol_mcp::signal::Reason;

use crate::common::{SOON, Server, echo, read_until};

/// Runs a program to its end, and returns what it prints, or `None` if it is not installed.
fn run(program: &str, arguments: &[&str], input: &[u8]) -> Option<String> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Err(err) if err.kind() == ErrorKind::NotFound => {
            eprintln!("{program} is not installed");
            return None;
        }
        child => child.unwrap(),
    };
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Answers `/slow` never, `/events` with one event and no end, and the rest with an echo. Tells when a call of the first two
/// starts, and why its signal fires.
fn service(reasons: Sender<Option<Reason>>) -> impl Service {
    move |request: http::Request<Vec<u8>>, signal: Signal| {
        let reasons = reasons.clone();
        async move {
            match request.uri().path() {
                "/slow" => {
                    reasons.send(None).unwrap();
                    reasons.send(Some(signal.aborted().await)).unwrap();
                    http::Response::new(Body::empty())
                }
                "/events" => {
                    reasons.send(None).unwrap();
                    smol::spawn(async move { reasons.send(Some(signal.aborted().await)).unwrap() })
                        .detach();
                    let first = futures_lite::stream::once(Ok(b"data: one\n\n".to_vec()));
                    let rest = futures_lite::stream::pending();
                    http::Response::new(Body::stream(futures_lite::StreamExt::chain(first, rest)))
                }
                _ => echo(request, signal).await,
            }
        }
    }
}

fn assert_started(reasons: &Receiver<Option<Reason>>) {
    assert!(matches!(reasons.recv_timeout(SOON), Ok(None)));
}

fn assert_disconnected(reasons: &Receiver<Option<Reason>>) {
    let reason = reasons.recv_timeout(SOON);
    assert!(
        matches!(reason, Ok(Some(Reason::Disconnected))),
        "{reason:?}"
    );
}

#[test]
fn curl_sends_every_kind_of_request_and_hangs_up() {
    let (sender, reasons) = channel();
    let server = Server::start(service(sender));
    let url = format!("http://{}", server.address);
    let large = "x".repeat(2_000_000);
    for (arguments, input, answer) in [
        (vec!["-d", "hello"], "", "POST /\nhello".to_owned()),
        (vec!["--http1.0"], "", "GET /\n".into()),
        (vec!["-X", "DELETE"], "", "DELETE /\n".into()),
        (
            vec!["-H", "Transfer-Encoding: chunked", "-d", "@-"],
            "hi",
            "POST /\nhi".into(),
        ),
        // Waits to be told to go on.
        (
            vec!["-H", "Expect: 100-continue", "-d", "@-"],
            &large,
            format!("POST /\n{large}"),
        ),
    ] {
        let arguments = [&["-s", "-m", "20", &url][..], &arguments].concat();
        let Some(output) = run("curl", &arguments, input.as_bytes()) else {
            return;
        };
        assert_eq!(output, answer, "{arguments:?}");
    }
    for path in ["slow", "events"] {
        run("curl", &["-s", "-m", "0.2", &format!("{url}/{path}")], b"");
        assert_started(&reasons);
        assert_disconnected(&reasons);
    }
}

#[test]
fn wrk_gets_an_answer_to_every_request() {
    let server = Server::start(echo);
    let url = format!("http://{}/", server.address);
    if let Some(output) = run("wrk", &["-t1", "-c16", "-d1s", &url], b"") {
        assert!(output.contains("Requests/sec"), "{output}");
        assert!(
            !output.contains("Socket errors") && !output.contains("Non-2xx"),
            "{output}"
        );
    }
}

/// A proxy in front of a server, with a Unix socket for each version that it speaks to the server.
struct Proxy {
    child: Child,
    directory: PathBuf,
}

impl Proxy {
    fn start(address: SocketAddr) -> Option<Self> {
        let directory = std::env::temp_dir().join(format!("smol-mcp-nginx-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let folder = directory.display();
        let front = |version: &str| {
            format!(
                "server {{ listen unix:{folder}/{version}.sock; location / {{ proxy_pass http://{address}; \
                 proxy_http_version {version}; proxy_set_header Connection \"\"; proxy_buffering off; }} }}"
            )
        };
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/{name}; "))
            .concat();
        let text = format!(
            "daemon off; pid {folder}/pid; error_log stderr crit; events {{}} \
             http {{ access_log off; {temporary} {} {} }}",
            front("1.0"),
            front("1.1"),
        );
        let config = directory.join("nginx.conf");
        std::fs::write(&config, text).unwrap();
        match Command::new("nginx")
            .arg("-p")
            .arg(&directory)
            .arg("-c")
            .arg(&config)
            .spawn()
        {
            Err(err) if err.kind() == ErrorKind::NotFound => {
                eprintln!("nginx is not installed");
                None
            }
            child => Some(Self {
                child: child.unwrap(),
                directory,
            }),
        }
    }

    fn connect(&self, version: &str) -> UnixStream {
        let path = self.directory.join(format!("{version}.sock"));
        let client = connect_when_there(&path);
        client.set_read_timeout(Some(SOON)).unwrap();
        client
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // Ends its workers too, which a kill would leave behind.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn connect_when_there(path: &Path) -> UnixStream {
    let before = Instant::now();
    loop {
        match UnixStream::connect(path) {
            Ok(client) => return client,
            Err(err) => assert!(before.elapsed() < SOON, "{err}"),
        }
        std::thread::yield_now();
    }
}

#[test]
fn nginx_passes_requests_streams_and_hang_ups_on_in_both_versions() {
    let (sender, reasons) = channel();
    let server = Server::start(service(sender));
    let Some(proxy) = Proxy::start(server.address) else {
        return;
    };
    for version in ["1.0", "1.1"] {
        let mut client = proxy.connect(version);
        for _ in 0..3 {
            client
                .write_all(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")
                .unwrap();
            let answer = read_until(&mut client, "POST /x\nhello");
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer:?}");
        }
        client
            .write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        assert_started(&reasons);
        drop(client);
        assert_disconnected(&reasons);

        let mut client = proxy.connect(version);
        client
            .write_all(b"GET /events HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        assert_started(&reasons);
        let mut events = String::new();
        while !events.contains("data: one\n\n") {
            let mut buffer = [0; 1024];
            let count = client.read(&mut buffer).unwrap();
            assert!(count > 0, "{events:?}");
            events += &String::from_utf8_lossy(&buffer[..count]);
        }
        drop(client);
        assert_disconnected(&reasons);
    }
}
