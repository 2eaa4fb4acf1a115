//! Bytes in, bytes out.

use std::io::Write;

use crate::common::{Server, echo, read_to_end, read_until};
use crate::rows::{Row, ok, ok_closing, rows};

/// A last request, to see whether the connection can still be used.
const PROBE: &str = "GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Sends a row in two parts and returns everything that comes back.
fn play(server: &Server, row: &Row, split: usize) -> String {
    let mut client = server.connect();
    let (first, second) = row.input.split_at(split);
    client.write_all(first).unwrap();
    if split > 0 {
        // Lets the server read the first part alone, most of the time.
        std::thread::yield_now();
    }
    // A server that has refused the first part may have closed by now.
    let _ = client.write_all(second);
    if row.open {
        client.write_all(PROBE.as_bytes()).unwrap();
    }
    read_to_end(&mut client)
}

fn expected(row: &Row) -> String {
    match row.open {
        true => row.output.clone() + &ok_closing("GET /probe\n"),
        false => row.output.clone(),
    }
}

/// Notes a row whose answer is not the expected one.
fn check(server: &Server, row: &Row, split: usize, wrong: &mut Vec<String>) {
    let (answer, expected) = (play(server, row, split), expected(row));
    if answer != expected {
        let (first, second) = row.input.split_at(split);
        let (first, second) = (
            String::from_utf8_lossy(first),
            String::from_utf8_lossy(second),
        );
        let claim = &row.claim;
        wrong.push(format!(
            "{claim}: {first:?} {second:?}\n  answer   {answer:?}\n  expected {expected:?}"
        ));
    }
}

#[test]
fn every_row_gets_its_answer() {
    let server = Server::start(echo);
    let rows = rows();
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        check(&server, row, 0, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_gets_its_answer_when_split_anywhere() {
    let server = Server::start(echo);
    let mut wrong = Vec::new();
    for row in &rows() {
        for split in 1..row.input.len() {
            check(&server, row, split, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    let server = Server::start(echo);
    let mut client = server.connect();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    assert_eq!(
        read_until(&mut client, "\r\n\r\n"),
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    client.write_all(b"hello").unwrap();
    assert_eq!(read_until(&mut client, "hello"), ok("POST /\nhello"));
    client.write_all(PROBE.as_bytes()).unwrap();
    assert_eq!(read_to_end(&mut client), ok_closing("GET /probe\n"));
}

#[test]
fn a_client_that_waits_with_chunks_is_told_once() {
    let server = Server::start(echo);
    let mut client = server.connect();
    let head =
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    assert_eq!(
        read_until(&mut client, "\r\n\r\n"),
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    for piece in ["1", "\r\n", "x", "\r\n0\r\n", "\r\n"] {
        client.write_all(piece.as_bytes()).unwrap();
    }
    assert_eq!(read_until(&mut client, "\nx"), ok("POST /\nx"));
}

#[test]
fn a_body_that_comes_with_its_head_needs_no_interim_answer() {
    let server = Server::start(echo);
    let request = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    assert_eq!(server.exchange(request), ok_closing("POST /\nhi"));
}

#[test]
fn the_authority_of_an_absolute_target_becomes_the_host() {
    let server = Server::start(|request: http::Request<Vec<u8>>, _| async move {
        let host = request.headers()["host"].clone();
        assert_eq!(request.headers().get_all("host").iter().count(), 1);
        http::Response::new(smol_mcp::http::Body::full(host.as_bytes()))
    });
    let request = "GET http://right:81/ HTTP/1.1\r\nHost: wrong\r\nConnection: close\r\n\r\n";
    assert_eq!(server.exchange(request), ok_closing("right:81"));
}

#[test]
fn header_values_arrive_byte_for_byte() {
    let server = Server::start(|request: http::Request<Vec<u8>>, _| async move {
        let values: Vec<&[u8]> = request
            .headers()
            .get_all("x")
            .iter()
            .map(|value| value.as_bytes())
            .collect();
        assert_eq!(values, [&b"\x80\xff"[..], b"a \t b", b""]);
        http::Response::new(smol_mcp::http::Body::empty())
    });
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nX: \x80\xff\r\nx:\ta \t b \r\nX:\r\nConnection: close\r\n\r\n";
    assert_eq!(server.exchange(request), ok_closing(""));
}

#[test]
fn a_large_body_arrives_whole() {
    let server = Server::start(|request: http::Request<Vec<u8>>, _| async move {
        let good = request
            .body()
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == at as u8);
        http::Response::new(smol_mcp::http::Body::full(format!(
            "{good} {}",
            request.body().len()
        )))
    });
    let body: Vec<u8> = (0..3_000_000_usize).map(|at| at as u8).collect();
    let mut request =
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3000000\r\n\r\n"
            .to_vec();
    request.extend_from_slice(&body);
    assert_eq!(server.exchange(&request), ok_closing("true 3000000"));

    let mut request =
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for chunk in body.chunks(70_001) {
        request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        request.extend_from_slice(chunk);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(server.exchange(&request), ok_closing("true 3000000"));
}

#[test]
fn a_thousand_pipelined_requests_are_answered() {
    let server = Server::start(echo);
    let mut client = server.connect();
    let mut reader = client.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1000) + PROBE;
        client.write_all(request.as_bytes()).unwrap();
    });
    let answers = read_to_end(&mut reader);
    writer.join().unwrap();
    assert_eq!(
        answers,
        ok("GET /\n").repeat(1000) + &ok_closing("GET /probe\n")
    );
}
