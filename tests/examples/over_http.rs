//! Examples that listen.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::child::{Example, request, text};
use crate::example::PATIENCE;
use crate::schema;

/// A connection on which one request has been sent.
struct Post(TcpStream);

impl Post {
    fn new(url: &str, tool: &str, arguments: Value) -> Self {
        let call = json!({ "name": tool, "arguments": arguments });
        let body = request(1, "tools/call", call).to_string();
        let headers = format!(
            "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        );
        Self::send(url, &headers, &body)
    }

    fn send(url: &str, headers: &str, body: &str) -> Self {
        let (host, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all((head + body).as_bytes()).unwrap();
        Self(stream)
    }

    /// Reads until this has come, or to the end.
    fn read_until(&mut self, found: &str) -> String {
        let mut text = String::new();
        let mut buffer = [0; 4096];
        while !text.contains(found) {
            let count = self.0.read(&mut buffer).expect("a response");
            if count == 0 {
                break;
            }
            text += std::str::from_utf8(&buffer[..count]).unwrap();
        }
        text
    }

    /// Reads the response to its end, and returns the text of the result.
    fn answer(mut self) -> String {
        let response = self.read_until("\"result\"");
        let start = response.rfind("{\"jsonrpc\"").expect("a message");
        let rest = response[start..].to_owned() + &self.read_until("\u{0}");
        let mut messages = serde_json::Deserializer::from_str(&rest).into_iter::<Value>();
        let message = messages.next().expect("a message").expect("whole");
        schema::check(&message.to_string(), None);
        text(&message["result"])
    }
}

#[test]
fn http_counts() {
    let example = Example::start("http", &[]);
    assert_eq!(
        Post::new(&example.address(), "count", json!({ "to": 2 })).answer(),
        "counted to 2"
    );
}

/// What stands between quotes behind each of these options of a command.
fn quoted<'a>(command: &'a str, option: &'a str) -> impl Iterator<Item = &'a str> {
    command.split(option).skip(1).map(|rest| {
        let rest = rest.strip_prefix(" '").expect("a quoted value");
        rest.split('\'').next().unwrap()
    })
}

#[test]
fn the_curl_command_at_the_head_of_http_calls_its_tool() {
    let example = Example::start("http", &[]);
    let source = include_str!("../../examples/http.rs");
    let command: String = source
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .skip_while(|line| !line.contains("curl -N"))
        .take_while(|line| !line.contains("```"))
        .collect();
    let headers: String = quoted(&command, "-H")
        .map(|header| format!("{header}\r\n"))
        .collect();
    let body = quoted(&command, "-d").next().expect("a body");
    let mut post = Post::send(&example.address(), &headers, body);
    let begun = post.read_until("\"message\":\"at 1\"");
    assert!(begun.contains("\"message\":\"at 1\""), "{begun}");
}

#[test]
fn embedded_runs_its_handlers_on_the_thread_of_main() {
    let example = Example::start("embedded", &[]);
    let url = example.address();
    let answer = Post::new(&url, "wait", json!({ "ticks": 2 })).answer();
    assert!(
        answer.ends_with(" ticks on thread Some(\"main\")"),
        "{answer}"
    );
    // One that is hung up on does not keep the others from being served.
    let mut hung_up = Post::new(&url, "wait", json!({ "ticks": 1_000_000 }));
    hung_up.read_until("notifications/progress");
    drop(hung_up);
    assert!(
        Post::new(&url, "wait", json!({ "ticks": 1 }))
            .answer()
            .contains("ticks")
    );
}

#[test]
fn shutdown_answers_what_runs_and_then_ends() {
    let example = Example::start("shutdown", &[]);
    let mut post = Post::new(&example.address(), "work", json!({}));
    post.read_until("working");
    example.interrupt();
    let answer = post.answer();
    assert!(answer.ends_with("since the server closes"), "{answer}");
    assert!(example.end().success());
}

#[cfg(feature = "tide")]
#[test]
fn tide_signal_serves_a_page_and_stops_when_its_client_leaves() {
    let example = Example::start("tide_signal", &["127.0.0.1:0"]);
    let url = example.address();
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /report HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    // Whoever asks later is answered later: the report has begun once this one is refused.
    let mut other = Post::new(&format!("{url}/none"), "report", json!({}));
    assert!(other.read_until("404").contains("404"));
    drop(stream);
    assert_eq!(example.error_line(), "stopped: the client disconnected");
}
