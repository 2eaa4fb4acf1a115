//! Many clients, few descriptors, and a peer that has stopped. Servers and clients with limits of their own are child
//! processes: this program, with a test that does nothing otherwise.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use rustix::process::{Pid, Resource, Rlimit, Signal as Kill, getrlimit, kill_process, setrlimit};
use smol_mcp::Signal;
use smol_mcp::http::{Body, Endpoint, Listener, Options};
use smol_mcp::signal::Reason;
use smol_mcp::{Context, NoInput, Tool};

use crate::common::{SOON, Server, connect, read_until, reset};

/// Says to a child how many descriptors it may have.
const DESCRIPTORS: &str = "SMOL_MCP_TEST_DESCRIPTORS";
/// Says to a child where to connect.
const ADDRESS: &str = "SMOL_MCP_TEST_ADDRESS";
/// Says to it what to send there.
const REQUEST: &str = "SMOL_MCP_TEST_REQUEST";

/// A child process that ends with its test.
struct Process(Child);

impl Process {
    fn start<'a>(test: &str, variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .envs(variables)
            .stdout(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }

    /// Starts a server that may have so many descriptors.
    fn server(descriptors: u64) -> (Self, SocketAddr) {
        let descriptors = descriptors.to_string();
        let mut process = Self::start("crowd::child_server", [(DESCRIPTORS, &*descriptors)]);
        let output = BufReader::new(process.0.stdout.take().unwrap());
        let address = output.lines().find_map(|line| {
            let line = line.unwrap();
            line.split_once("LISTENING ")?.1.parse().ok()
        });
        (process, address.expect("an address"))
    }

    /// Starts a client that sends a request and reads all that comes, until it is stopped.
    fn client(address: SocketAddr, request: &str) -> Self {
        let address = address.to_string();
        Self::start(
            "crowd::child_client",
            [(ADDRESS, &*address), (REQUEST, request)],
        )
    }

    fn descriptors(&self) -> usize {
        let directory = format!("/proc/{}/fd", self.0.id());
        std::fs::read_dir(directory).unwrap().count()
    }

    /// The memory that this process alone has written, in bytes.
    fn memory(&self) -> usize {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.0.id())).unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("Private_Dirty:"));
        let kib: usize = line
            .unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        kib * 1024
    }

    fn kill(&self, signal: Kill) {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn raise_descriptors(count: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(maximum.map_or(count, |maximum| maximum.min(count)));
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
}

#[test]
#[ignore = "the child of other tests"]
fn child_server() {
    let Ok(descriptors) = std::env::var(DESCRIPTORS) else {
        return;
    };
    raise_descriptors(descriptors.parse().unwrap());
    let live = Arc::new(AtomicUsize::new(0));
    let executor = Arc::new(smol::Executor::new());
    let options = Options::new()
        .executor(executor.clone())
        .max_connections(15_000);
    let serving = async {
        let listener = Listener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .with_options(options);
        println!("LISTENING {}", listener.local_addr().unwrap());
        listener
            .serve(move |request: http::Request<Vec<u8>>, signal: Signal| {
                let live = live.clone();
                async move {
                    if request.uri().path() == "/live" {
                        return http::Response::new(Body::full(format!("{};", live.load(SeqCst))));
                    }
                    drop(request);
                    live.fetch_add(1, SeqCst);
                    signal.aborted().await;
                    live.fetch_sub(1, SeqCst);
                    http::Response::new(Body::empty())
                }
            })
            .await
    };
    smol::block_on(executor.run(serving)).unwrap();
}

#[test]
#[ignore = "the child of other tests"]
fn child_client() {
    let Ok(address) = std::env::var(ADDRESS) else {
        return;
    };
    let mut client = connect(address.parse().unwrap());
    sockopt::set_socket_recv_buffer_size(&client, 4096).unwrap();
    let request = std::env::var(REQUEST).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let _ = std::io::copy(&mut client, &mut std::io::sink());
}

/// Asks on a kept connection how many calls are live, until it is as many as that.
fn wait_for_live(client: &mut TcpStream, count: usize) {
    let before = Instant::now();
    loop {
        client
            .write_all(b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap();
        let answer = read_until(client, ";");
        if answer.ends_with(&format!("\r\n\r\n{count};")) {
            return;
        }
        assert!(before.elapsed() < SOON, "{answer:?} instead of {count}");
    }
}

/// Counts the sockets of a server whose clients have left and that have not been closed.
fn count_close_wait(address: SocketAddr) -> usize {
    let here = format!(":{:04X} ", address.port());
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let lines = table.lines().skip(1);
    lines
        .filter(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (local, state) = (words.next().unwrap(), words.nth(1).unwrap());
            format!("{local} ").ends_with(&here) && state == "08"
        })
        .count()
}

#[test]
fn ten_thousand_hang_ups_leave_nothing_behind() {
    raise_descriptors(20_000);
    let (process, address) = Process::server(20_000);
    let mut control = connect(address);
    let mut memory = 0;
    let mut descriptors = 0;
    for round in 0..10 {
        let mut clients: Vec<_> = (0..1000).map(|_| connect(address)).collect();
        for client in &mut clients {
            client
                .write_all(b"POST /wait HTTP/1.1\r\nHost: a\r\n\r\n")
                .unwrap();
        }
        wait_for_live(&mut control, 1000);
        for (at, client) in clients.into_iter().enumerate() {
            match at % 2 {
                0 => drop(client),
                _ => reset(client),
            }
        }
        wait_for_live(&mut control, 0);
        if round == 0 {
            (memory, descriptors) = (process.memory(), process.descriptors());
        }
    }
    assert_eq!(process.descriptors(), descriptors);
    assert_eq!(count_close_wait(address), 0);
    let grown = process.memory().saturating_sub(memory);
    assert!(grown < 256 * 1024, "{grown} bytes more");
}

#[test]
fn slow_clients_by_the_thousand_cost_little_and_stop_nobody() {
    const COUNT: usize = 10_000;
    raise_descriptors(20_000);
    let (process, address) = Process::server(20_000);
    let mut control = connect(address);
    wait_for_live(&mut control, 0);
    let before = process.memory();
    let mut clients: Vec<_> = (0..COUNT).map(|_| connect(address)).collect();
    for client in &mut clients {
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
            .unwrap();
    }
    wait_for_live(&mut control, 0);
    let each = process.memory().saturating_sub(before) / COUNT;
    println!("{each} bytes for each connection");
    assert!(each <= 2048, "{each} bytes for each connection");
    for client in &mut clients {
        client.write_all(b"y\r\n\r\n").unwrap();
    }
    wait_for_live(&mut control, COUNT);
    let each = process.memory().saturating_sub(before) / COUNT;
    println!("{each} bytes for each call");
    assert!(each <= 4096, "{each} bytes for each call");
}

#[test]
fn a_lack_of_descriptors_passes() {
    let (_process, address) = Process::server(40);
    let mut clients: Vec<_> = (0..60).map(|_| connect(address)).collect();
    let request = b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n";
    for client in &mut clients {
        client.write_all(request).unwrap();
    }
    let last = clients.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert!(last.read(&mut [0]).is_err(), "the last client was served");
    last.set_read_timeout(Some(SOON)).unwrap();
    // Each client that is served and leaves makes room for another.
    for mut client in clients {
        read_until(&mut client, ";");
    }
}

#[test]
fn a_peer_that_has_stopped_is_given_up() {
    let (sender, reasons) = channel();
    let options = Options::new().write_timeout(Duration::from_millis(200));
    let server = Server::with(
        options,
        move |_request: http::Request<Vec<u8>>, signal: Signal| {
            let reasons = sender.clone();
            async move {
                reasons.send(None).unwrap();
                smol::spawn(async move { reasons.send(Some(signal.aborted().await)).unwrap() })
                    .detach();
                http::Response::new(Body::stream(futures_lite::stream::repeat_with(|| {
                    Ok(vec![b'x'; 10_000])
                })))
            }
        },
    );
    let process = Process::client(server.address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(matches!(reasons.recv_timeout(SOON), Ok(None)));
    process.kill(Kill::STOP);
    let reason = reasons.recv_timeout(SOON);
    assert!(
        matches!(reason, Ok(Some(Reason::Disconnected))),
        "{reason:?}"
    );
}

#[test]
fn a_peer_that_has_stopped_is_given_up_between_signs_of_life() {
    let (sender, reasons) = channel();
    let waits = Tool::new("waits", move |_: NoInput, cx: Context| {
        let reasons = sender.clone();
        async move {
            reasons.send(None).unwrap();
            reasons.send(Some(cx.signal().aborted().await)).unwrap();
            ""
        }
    });
    let mcp = smol_mcp::Server::builder("waiting", "1")
        .tool(waits)
        .build()
        .unwrap();
    // Nothing is sent but comments, which soon fill buffers as small as these.
    let endpoint = Endpoint::new(&mcp)
        .patience(Duration::ZERO)
        .keep_alive(Duration::from_millis(1));
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    sockopt::set_socket_send_buffer_size(&socket, 4096).unwrap();
    let options = Options::new().write_timeout(Duration::from_millis(200));
    let server = Server::bound(Listener::from_tcp(socket).unwrap(), options, endpoint);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: waits\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let process = Process::client(server.address, &request);
    assert!(matches!(reasons.recv_timeout(SOON), Ok(None)));
    process.kill(Kill::STOP);
    let reason = reasons.recv_timeout(SOON);
    assert!(
        matches!(reason, Ok(Some(Reason::Disconnected))),
        "{reason:?}"
    );
}
