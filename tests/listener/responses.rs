//! Answers as bytes.

use std::future;
use std::io::{self, Read, Write};

use futures_lite::stream;
use http::{Request, Response};
use smol_mcp::Signal;
use smol_mcp::http::{Body, Options, PeerAddr};

use crate::common::{Server, read_until, without_date};

const HEAD: &str = "HTTP/1.1 200 OK\r\ndate: -\r\n";
const ERROR: &str = "HTTP/1.1 500 Internal Server Error\r\ndate: -\r\n";
const LAST: &str = "connection: close\r\n\r\n";

fn pieces<const N: usize>(
    pieces: [&str; N],
) -> impl futures_lite::Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| Ok(piece.as_bytes().to_vec()))
        .collect();
    stream::iter(pieces)
}

/// Pieces whose end is not known in advance.
fn unknown_end() -> impl futures_lite::Stream<Item = io::Result<Vec<u8>>> + Send + 'static {
    stream::unfold(0, |at| async move {
        smol::future::yield_now().await;
        let piece = ["one", "", "three"].get(at)?;
        Some((Ok(piece.as_bytes().to_vec()), at + 1))
    })
}

fn with_status(status: u16, body: Body) -> Response<Body> {
    Response::builder().status(status).body(body).unwrap()
}

async fn gallery(request: Request<Vec<u8>>, _signal: Signal) -> Response<Body> {
    match request.uri().path() {
        "/empty" => Response::new(Body::empty()),
        "/204" => with_status(204, Body::full("never sent")),
        "/304" => with_status(304, Body::empty()),
        "/404" => with_status(404, Body::full("no")),
        "/100" => with_status(100, Body::full("no")),
        "/599" => with_status(599, Body::empty()),
        "/stream" => Response::new(Body::stream(pieces(["hello", "", "0123456789abcdef"]))),
        "/unknown" => Response::new(Body::stream(unknown_end())),
        "/none" => Response::new(Body::stream(pieces([]))),
        "/sized" => Response::new(Body::sized(8, unknown_end())),
        "/sized0" => Response::new(Body::sized(0, unknown_end())),
        "/short" => Response::new(Body::sized(9, unknown_end())),
        "/long" => Response::new(Body::sized(7, unknown_end())),
        "/broken" => Response::new(Body::stream(stream::iter([
            Ok(b"one".to_vec()),
            Err(io::Error::other("secret")),
        ]))),
        "/large" => Response::new(Body::full(vec![b'x'; 5_000_000])),
        "/ours" => Response::builder()
            .header("content-length", "99")
            .header("transfer-encoding", "chunked")
            .header("connection", "x-mine")
            .header("keep-alive", "timeout=5")
            .header("x-mine", "1")
            .header("x-mine", "2")
            .header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .body(Body::full("ok"))
            .unwrap(),
        "/told" => Response::builder()
            .header("content-length", "99")
            .body(Body::empty())
            .unwrap(),
        "/close" => Response::builder()
            .header("connection", "Close")
            .body(Body::empty())
            .unwrap(),
        "/panic" => panic!("on purpose"),
        "/late-panic" => {
            smol::future::yield_now().await;
            panic!("on purpose")
        }
        path => unreachable!("{path}"),
    }
}

/// Holds answers against what is expected, by the request line of each.
#[track_caller]
fn answers<const N: usize>(expected: [(&str, String); N]) {
    let server = Server::start(gallery);
    for (line, expected) in expected {
        let request = format!("{line}\r\nHost: a\r\nConnection: close\r\n\r\n");
        assert_eq!(server.exchange(request), expected, "{line}");
    }
}

#[test]
fn an_answer_is_framed_as_its_status_says() {
    answers([
        (
            "GET /empty HTTP/1.1",
            format!("{HEAD}content-length: 0\r\n{LAST}"),
        ),
        (
            "GET /204 HTTP/1.1",
            format!("HTTP/1.1 204 No Content\r\ndate: -\r\n{LAST}"),
        ),
        (
            "GET /304 HTTP/1.1",
            format!("HTTP/1.1 304 Not Modified\r\ndate: -\r\n{LAST}"),
        ),
        (
            "GET /404 HTTP/1.1",
            format!("HTTP/1.1 404 Not Found\r\ndate: -\r\ncontent-length: 2\r\n{LAST}no"),
        ),
        (
            "GET /100 HTTP/1.1",
            format!("{ERROR}content-length: 0\r\n{LAST}"),
        ),
        (
            "GET /599 HTTP/1.1",
            format!("HTTP/1.1 599 \r\ndate: -\r\ncontent-length: 0\r\n{LAST}"),
        ),
    ]);
}

#[test]
fn a_streamed_answer_is_framed_as_the_client_can_read_it() {
    let streamed = "5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
    answers([
        (
            "GET /stream HTTP/1.1",
            format!("{HEAD}transfer-encoding: chunked\r\n{LAST}{streamed}"),
        ),
        (
            "GET /unknown HTTP/1.1",
            format!(
                "{HEAD}transfer-encoding: chunked\r\n{LAST}3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"
            ),
        ),
        (
            "GET /none HTTP/1.1",
            format!("{HEAD}transfer-encoding: chunked\r\n{LAST}0\r\n\r\n"),
        ),
        (
            "GET /sized HTTP/1.1",
            format!("{HEAD}content-length: 8\r\n{LAST}onethree"),
        ),
        (
            "GET /sized0 HTTP/1.1",
            format!("{HEAD}content-length: 0\r\n{LAST}"),
        ),
        (
            "GET /stream HTTP/1.0",
            format!("{HEAD}{LAST}hello0123456789abcdef"),
        ),
        ("GET /unknown HTTP/1.0", format!("{HEAD}{LAST}onethree")),
        (
            "GET /sized HTTP/1.0",
            format!("{HEAD}content-length: 8\r\n{LAST}onethree"),
        ),
    ]);
}

#[test]
fn an_answer_to_head_tells_the_length_and_has_no_body() {
    answers([
        (
            "HEAD /404 HTTP/1.1",
            format!("HTTP/1.1 404 Not Found\r\ndate: -\r\ncontent-length: 2\r\n{LAST}"),
        ),
        ("HEAD /stream HTTP/1.1", format!("{HEAD}{LAST}")),
        (
            "HEAD /sized HTTP/1.1",
            format!("{HEAD}content-length: 8\r\n{LAST}"),
        ),
        (
            "HEAD /told HTTP/1.1",
            format!("{HEAD}content-length: 99\r\n{LAST}"),
        ),
    ]);
}

#[test]
fn the_listener_frames_whatever_headers_the_service_sets() {
    answers([
        (
            "GET /told HTTP/1.1",
            format!("{HEAD}content-length: 0\r\n{LAST}"),
        ),
        (
            "GET /ours HTTP/1.1",
            format!(
                "HTTP/1.1 200 OK\r\nx-mine: 1\r\nx-mine: 2\r\ndate: -\r\ncontent-length: 2\r\n{LAST}ok"
            ),
        ),
    ]);
}

#[test]
fn a_service_that_panics_is_answered_for() {
    answers([
        (
            "GET /panic HTTP/1.1",
            format!("{ERROR}content-length: 15\r\n{LAST}internal error\n"),
        ),
        (
            "GET /late-panic HTTP/1.1",
            format!("{ERROR}content-length: 15\r\n{LAST}internal error\n"),
        ),
    ]);
}

#[test]
fn a_service_that_panics_before_it_returns_a_future_is_answered_for() {
    let server = Server::start(|request: Request<Vec<u8>>, _signal: Signal| {
        assert_ne!(request.uri().path(), "/panic", "on purpose");
        future::ready(Response::new(Body::full("ok")))
    });
    let mut client = server.connect();
    for (path, end) in [("/", "ok"), ("/panic", "internal error\n"), ("/", "ok")] {
        client
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
            .unwrap();
        read_until(&mut client, end);
    }
}

#[test]
fn a_body_that_breaks_its_promise_ends_the_connection_without_its_end() {
    let server = Server::start(gallery);
    for (path, sent) in [
        ("/short", "onethree"),
        ("/long", "one"),
        ("/broken", "3\r\none\r\n"),
    ] {
        let mut client = server.connect();
        client
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
            .unwrap();
        let mut bytes = Vec::new();
        client.read_to_end(&mut bytes).unwrap();
        let text = without_date(&bytes);
        let (_head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(sent.starts_with(body), "{path}: {text:?}");
        assert!(!text.contains("secret"));
    }
}

#[test]
fn a_connection_is_used_again_after_every_kind_of_answer() {
    let server = Server::start(gallery);
    let mut client = server.connect();
    for _ in 0..3 {
        for (method, path, end) in [
            ("GET", "/empty", "content-length: 0\r\n\r\n"),
            ("GET", "/204", "\r\ndate: -\r\n\r\n"),
            ("HEAD", "/stream", "200 OK\r\ndate: -\r\n\r\n"),
            ("GET", "/stream", "0\r\n\r\n"),
            ("GET", "/unknown", "0\r\n\r\n"),
            ("GET", "/sized", "onethree"),
            ("GET", "/panic", "internal error\n"),
            ("GET", "/ours", "\r\n\r\nok"),
        ] {
            client
                .write_all(format!("{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
                .unwrap();
            let answer = read_until(&mut client, end);
            assert!(answer.starts_with("HTTP/1.1 "), "{answer:?}");
            assert!(!answer.contains("connection:"), "{answer:?}");
        }
    }
}

#[test]
fn a_service_can_close_the_connection() {
    let server = Server::start(gallery);
    let answer = server
        .exchange("GET /close HTTP/1.1\r\nHost: a\r\n\r\nGET /empty HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer, format!("{HEAD}content-length: 0\r\n{LAST}"));
}

#[test]
fn a_large_answer_arrives_whole_at_a_slow_reader() {
    let server = Server::start(gallery);
    let mut client = server.connect();
    client
        .write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 1000];
    loop {
        match client.read(&mut buffer).unwrap() {
            0 => break,
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let body = bytes.split_off(bytes.len() - 5_000_000);
    assert_eq!(
        without_date(&bytes),
        format!("{HEAD}content-length: 5000000\r\n{LAST}")
    );
    assert!(body.iter().all(|&byte| byte == b'x'));
}

#[test]
fn a_ready_answer_arrives_in_one_piece() {
    let server = Server::start(gallery);
    let mut client = server.connect();
    for (path, end) in [("/404", "no"), ("/stream", "hello\r\n")] {
        client
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes())
            .unwrap();
        let mut buffer = [0; 4096];
        let count = client.read(&mut buffer).unwrap();
        let text = without_date(&buffer[..count]);
        assert!(text.contains("\r\n\r\n") && text.contains(end), "{text:?}");
    }
}

#[test]
fn each_event_arrives_in_one_piece() {
    let (sender, events) = async_channel::bounded(1);
    let server = Server::start(move |_request: http::Request<Vec<u8>>, _signal| {
        let events = events.clone();
        async move { Response::new(Body::stream(events)) }
    });
    let mut client = server.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    read_until(&mut client, "\r\n\r\n");
    let mut buffer = [0; 64];
    for round in 0..1000 {
        let event = format!("data: {round:06}\n\n");
        sender
            .send_blocking(Ok(event.clone().into_bytes()))
            .unwrap();
        // Nothing else is under way, so one read returns what one write has sent.
        let count = client.read(&mut buffer).unwrap();
        let text = String::from_utf8_lossy(&buffer[..count]);
        assert_eq!(text, format!("e\r\n{event}\r\n"));
    }
}

#[test]
fn requests_carry_the_address_of_the_peer_if_that_is_wanted() {
    let options = Options::new().peer_addr(true);
    let server = Server::with(options, |request: Request<Vec<u8>>, _| async move {
        let PeerAddr(peer) = request.extensions().get().copied().unwrap();
        Response::new(Body::full(peer.to_string()))
    });
    let mut client = server.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let here = client.local_addr().unwrap().to_string();
    assert!(read_until(&mut client, &here).ends_with(&here));
}

#[test]
fn a_service_that_panics_before_it_has_a_future_is_answered_as_well() {
    let service = |request: http::Request<Vec<u8>>, _| {
        assert_ne!(request.uri().path(), "/panic");
        std::future::ready(http::Response::new(Body::full("served")))
    };
    let server = Server::start(service);
    let request = "GET /panic HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let answers = server.exchange(request);
    assert!(answers.starts_with("HTTP/1.1 500 "), "{answers}");
    assert!(answers.ends_with("served"), "{answers}");
}
