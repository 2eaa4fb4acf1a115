//! Times the steps that a call is made of, without sockets, and prints a table.
//!
//! Run with `cargo run --release` in this folder. A figure is nanoseconds of one step: the least and the median of many
//! batches. Below a step stands what its floor costs, by a crate that does only the reading.

use std::hint::black_box;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_lite::{AsyncWrite, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use smol::Executor;
use smol::future::{poll_once, yield_now};
use smol_mcp::http::{__fuzz as reader, Endpoint};
use smol_mcp::{NoInput, Server, Signal, Tool, lines};

/// Steps of a batch.
const STEPS: usize = 500;
/// Batches of a row, in a time that nobody minds.
const BATCHES: usize = 400;
/// Events of a stream.
const EVENTS: u32 = 500;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"micro","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}"#;

fn call(tool: &str, arguments: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1000001,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},{META}{more}}}}}}}"#
    )
}

/// Nanoseconds of one step: the least, and the median.
fn time(steps: usize, mut batch: impl FnMut()) -> (f64, f64) {
    batch();
    let mut times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let start = Instant::now();
            batch();
            start.elapsed().as_nanos() as f64 / steps as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[BATCHES / 2])
}

fn row(name: &str, (least, median): (f64, f64)) {
    println!("{name:58} {least:8.0} {median:8.0}");
}

/// Times a connection that reads the same line again and again; `answers` tells whether each is answered.
fn time_line(server: &Server, line: &str, answers: bool) -> (f64, f64) {
    let input = format!("{line}\n").repeat(STEPS);
    time(STEPS, || {
        let mut output = Lines(0);
        let end = smol::block_on(lines::serve(server, input.as_bytes(), &mut output));
        end.expect("no error");
        assert_eq!(output.0, if answers { STEPS } else { 0 });
    })
}

/// Counts the lines that are written to it.
struct Lines(usize);

impl AsyncWrite for Lines {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0 += bytes.iter().filter(|byte| **byte == b'\n').count();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Times an endpoint that is called without a socket and answers in JSON.
fn time_post(endpoint: &Endpoint, body: &str) -> (f64, f64) {
    time(STEPS, || {
        for _ in 0..STEPS {
            let response = smol::block_on(endpoint.handle(post("echo", body), Signal::never()));
            assert!(response.body().as_full().is_some());
        }
    })
}

/// Times a stream of events, from each report of a handler to the bytes of its event.
fn time_events(endpoint: &Endpoint, executor: &Executor<'static>) -> (f64, f64) {
    let body = call("steps", "{}", r#","progressToken":7"#);
    time(EVENTS as usize, || {
        let mut events = 0;
        let mut response = smol::block_on(endpoint.handle(post("steps", &body), Signal::never()));
        // One step of the handler for each look, so that nobody is slow and no report is left out.
        smol::block_on(async {
            loop {
                executor.try_tick();
                match poll_once(response.body_mut().next()).await {
                    Some(Some(piece)) => {
                        let piece = piece.expect("no error");
                        events += piece.windows(2).filter(|end| end == b"\n\n").count();
                    }
                    Some(None) => break,
                    None => {}
                }
            }
        });
        assert_eq!(events, EVENTS as usize + 1);
    })
}

fn post(tool: &str, body: &str) -> http::Request<Vec<u8>> {
    let mut request = http::Request::new(body.as_bytes().to_vec());
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = "/mcp".parse().expect("a path");
    let headers = [
        ("host", "127.0.0.1"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    for (name, value) in headers {
        let value = value.parse().expect("a value");
        request.headers_mut().insert(name, value);
    }
    request
}

#[derive(Deserialize)]
struct Echo {
    text: String,
}

fn main() {
    let executor = Arc::new(Executor::new());
    let echo =
        Tool::new("echo", async |input: Echo| input.text).input_schema(json!({ "type": "object" }));
    let steps = Tool::new("steps", async |_: NoInput, cx: smol_mcp::Context| {
        for step in 1..=EVENTS {
            cx.progress(step, EVENTS, "");
            yield_now().await;
        }
    });
    let server = Server::builder("micro", "0.0.0")
        .tool(echo)
        .tool(steps)
        .executor(executor.clone())
        .build()
        .expect("a server");
    let endpoint = Endpoint::new(&server);

    println!("{:58} {:>8} {:>8}", "nanoseconds of", "least", "median");
    let unknown = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/unknown","params":{{"name":"echo","arguments":{{"text":"xxxxxxxxxxxxxxxx"}},{META}}}}}}}"#
    );
    row(
        "envelope: a notification that nobody knows, as a line",
        time_line(&server, &unknown, false),
    );
    row("    floor: serde_json, into a Value", time_value(&unknown));

    let line = call("echo", r#"{"text":"xxxxxxxxxxxxxxxx"}"#, "");
    row(
        "dispatch: a call, as a line in memory, answered",
        time_line(&server, &line, true),
    );
    row("    floor: serde_json, into a Value", time_value(&line));
    row(
        "dispatch: a call, as a request without a socket, answered",
        time_post(&endpoint, &line),
    );
    row(
        "events: one report, to the bytes of its event",
        time_events(&endpoint, &executor),
    );

    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: 0\r\n\r\n";
    let heads = head.repeat(STEPS);
    let read = time(STEPS, || assert_eq!(reader::count(heads.as_bytes()), STEPS));
    row("HTTP: the head of a request, read and checked", read);
    row("    floor: httparse", time_httparse(head));
}

fn time_value(text: &str) -> (f64, f64) {
    time(STEPS, || {
        for _ in 0..STEPS {
            let value: Value = serde_json::from_str(black_box(text)).expect("JSON");
            black_box(value);
        }
    })
}

fn time_httparse(head: &str) -> (f64, f64) {
    time(STEPS, || {
        for _ in 0..STEPS {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            let mut request = httparse::Request::new(&mut headers);
            let status = request.parse(black_box(head.as_bytes()));
            assert!(status.expect("a head").is_complete());
            black_box(&request);
        }
    })
}
