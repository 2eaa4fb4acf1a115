//! Many calls at a time, all of them answered.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::{env, fs, process};

use serde_json::{Value, json};

use crate::example::PATIENCE;
use crate::process::Process;

/// Calls that are answered at once, at a time.
const BUSY: usize = 64;
/// Calls that wait meanwhile.
const WAITING: usize = 64;
const CALLS: usize = 6400;
/// A message that is read.
const LARGE: usize = 256 * 1024;
/// More than a server is told to read.
const TOO_LARGE: usize = 5 * 1024 * 1024;

fn call(id: u64, tool: &str, arguments: Value) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    })
    .to_string()
}

fn echo(id: u64) -> String {
    call(id, "echo", json!({ "text": format!("text {id}") }))
}

fn slow(id: u64) -> String {
    call(id, "slow", json!({ "tag": id.to_string(), "seconds": 600 }))
}

fn cancelled(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id },
    })
    .to_string()
}

/// Asserts that this is the answer to [`echo`], and returns its id.
fn check(answer: &Value) -> u64 {
    let id = answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"));
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(text, &format!("text {id}"), "{answer}");
    id
}

/// Calls in flight while others wait, a message that is too large, and the end.
pub(crate) fn over_stdio(mut process: Process) {
    let mut ids = 1_u64..;
    let waiting: Vec<u64> = ids.by_ref().take(WAITING).collect();
    for &id in &waiting {
        process.send(&slow(id));
        assert!(process.error().starts_with(&format!("STARTED {id} ")));
    }
    let threads = process.figure("Threads");

    let mut busy = HashSet::new();
    for id in ids.by_ref().take(CALLS) {
        process.send(&echo(id));
        busy.insert(id);
        if busy.len() == BUSY {
            let answer = receive(&process);
            assert!(busy.remove(&check(&answer)), "{answer}");
        }
        if id % 500 == 0 {
            assert_eq!(process.figure("Threads"), threads);
        }
    }
    while !busy.is_empty() {
        let answer = receive(&process);
        assert!(busy.remove(&check(&answer)), "{answer}");
    }

    let (id, text) = (ids.next().unwrap(), "x".repeat(LARGE));
    process.send(&call(id, "echo", json!({ "text": text })));
    let answer = receive(&process);
    assert_eq!(answer["result"]["content"][0]["text"], text);
    let id = ids.next().unwrap();
    process.send(&call(id, "echo", json!({ "text": "x".repeat(TOO_LARGE) })));
    let refusal = receive(&process);
    assert_eq!(
        (&refusal["id"], &refusal["error"]["code"]),
        (&json!(id), &json!(-32700)),
        "{refusal}"
    );

    for id in waiting {
        process.send(&cancelled(id));
        assert!(process.error().starts_with(&format!("CANCELLED {id} ")));
    }
    let id = ids.next().unwrap();
    process.send(&echo(id));
    assert_eq!(check(&receive(&process)), id);
    assert_eq!(process.figure("Threads"), threads);
    println!(
        "at the most {} KiB of address space, {} resident",
        process.figure("VmPeak"),
        process.figure("VmHWM")
    );
    assert!(process.end().success());
}

fn receive(process: &Process) -> Value {
    let line = process.receive();
    serde_json::from_str(&line).unwrap_or_else(|err| panic!("{err}: {line:?}"))
}

/// Calls from a file, answered into a file: neither can be waited for, so threads read and write them.
pub(crate) fn over_files(limits: &str) {
    let folder = env::temp_dir().join(format!("smol-mcp-test-files-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (calls, answers) = (folder.join("calls"), folder.join("answers"));
    let mut text = String::new();
    for id in 1..=CALLS as u64 {
        text += &(echo(id) + "\n");
    }
    fs::write(&calls, text).unwrap();
    let mode = format!("<'{}' >'{}' stdio", calls.display(), answers.display());
    let ended = Process::start(&mode, limits).end();
    let answers = fs::read_to_string(&answers).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(ended.success(), "{ended}");
    let ids: HashSet<u64> = answers
        .lines()
        .map(|line| check(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(ids.len(), CALLS);
}

/// The same on connections of their own, which hang up.
pub(crate) fn over_http(process: Process) {
    let address = process.address();
    let connect = || {
        let connection = TcpStream::connect(&address).unwrap();
        connection.set_nodelay(true).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        connection
    };
    let mut ids = 1_u64..;
    let waiting: Vec<(u64, TcpStream)> = (ids.by_ref().take(WAITING))
        .map(|id| (id, connect()))
        .collect();
    for (id, connection) in &waiting {
        post(connection, "slow", &slow(*id));
        assert!(process.error().starts_with(&format!("STARTED {id} ")));
    }
    let threads = process.figure("Threads");

    let busy: Vec<TcpStream> = (0..BUSY).map(|_| connect()).collect();
    for _ in 0..CALLS / BUSY {
        let sent: Vec<u64> = ids.by_ref().take(BUSY).collect();
        for (connection, &id) in busy.iter().zip(&sent) {
            post(connection, "echo", &echo(id));
        }
        for (connection, &id) in busy.iter().zip(&sent) {
            let (head, body) = response(connection);
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert_eq!(check(&serde_json::from_slice(&body).unwrap()), id);
        }
        assert_eq!(process.figure("Threads"), threads);
    }

    let (id, text) = (ids.next().unwrap(), "x".repeat(LARGE));
    let body = call(id, "echo", json!({ "text": text }));
    post(&busy[0], "echo", &body);
    let answer: Value = serde_json::from_slice(&response(&busy[0]).1).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], text);
    let large = connect();
    (&large)
        .write_all(head("echo", TOO_LARGE).as_bytes())
        .unwrap();
    let (head, _) = response(&large);
    assert!(head.starts_with("HTTP/1.1 413 "), "{head}");

    for (id, connection) in waiting {
        drop(connection);
        assert!(process.error().starts_with(&format!("CANCELLED {id} ")));
    }
    let id = ids.next().unwrap();
    post(&busy[0], "echo", &echo(id));
    assert_eq!(
        check(&serde_json::from_slice(&response(&busy[0]).1).unwrap()),
        id
    );
    assert_eq!(process.figure("Threads"), threads);
    println!(
        "at the most {} KiB of address space, {} resident",
        process.figure("VmPeak"),
        process.figure("VmHWM")
    );
}

fn head(tool: &str, length: usize) -> String {
    [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        &format!("Mcp-Name: {tool}"),
        &format!("Content-Length: {length}"),
        "",
        "",
    ]
    .join("\r\n")
}

fn post(mut connection: &TcpStream, tool: &str, body: &str) {
    let request = head(tool, body.len()) + body;
    connection.write_all(request.as_bytes()).unwrap();
}

/// Reads a response whose length its head tells.
fn response(mut connection: &TcpStream) -> (String, Vec<u8>) {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let end = all.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(all[..end].to_vec()).unwrap();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().unwrap();
            if all.len() - end - 4 >= length {
                return (head, all.split_off(end + 4));
            }
        }
        let count = connection.read(&mut piece).unwrap();
        assert!(
            count > 0,
            "closed after {:?}",
            String::from_utf8_lossy(&all)
        );
        all.extend_from_slice(&piece[..count]);
    }
}
