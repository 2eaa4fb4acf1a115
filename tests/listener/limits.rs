//! What a client may not do.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::net::sockopt;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use smol_mcp::Signal;
use smol_mcp::http::{Body, Options};
use smol_mcp::signal::Reason;

use crate::common::{SOON, Server, echo, read_to_end, read_until};
use crate::rows::{ok, ok_closing, refused};

const SHORT: Duration = Duration::from_millis(200);

#[test]
fn a_head_may_have_64_kib_and_no_more() {
    let server = Server::start(echo);
    for (over, expected) in [
        (0, ok_closing("GET /\n")),
        (1, refused(431, "the head of the request is too large")),
    ] {
        let start = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: ";
        let end = "\r\n\r\n";
        let filling = "x".repeat(64 * 1024 + over - start.len() - end.len());
        assert_eq!(server.exchange(format!("{start}{filling}{end}")), expected);
    }
}

#[test]
fn a_head_without_end_is_refused_before_it_ends() {
    let server = Server::start(echo);
    for start in ["GET / HTTP/1.1\r\nX: ", "GET /", "G", "GET / HTTP/1.1\r\n"] {
        let mut client = server.connect();
        client.write_all(start.as_bytes()).unwrap();
        let filling = match start.ends_with('\n') {
            true => "X: y\r\n".repeat(11_000),
            false => "x".repeat(66_000),
        };
        client.write_all(filling.as_bytes()).unwrap();
        assert_eq!(
            read_to_end(&mut client),
            refused(431, "the head of the request is too large")
        );
    }
}

#[test]
fn a_head_may_have_100_lines_and_no_more() {
    let server = Server::start(echo);
    for (lines, expected) in [
        (98, ok_closing("GET /\n")),
        (99, refused(431, "too many headers")),
    ] {
        let lines = "X: y\r\n".repeat(lines);
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n");
        assert_eq!(server.exchange(request), expected);
    }
}

#[test]
fn a_body_is_refused_while_it_streams() {
    let server = Server::with(Options::new().max_body(10), echo);
    let too_large = refused(413, "the body of the request is too large");
    let post = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    assert_eq!(
        server.exchange(format!("{post}Content-Length: 10\r\n\r\n0123456789")),
        ok_closing("POST /\n0123456789")
    );
    assert_eq!(
        server.exchange(format!("{post}Content-Length: 11\r\n\r\n")),
        too_large
    );
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(
        server.exchange(format!("{chunked}a\r\n0123456789\r\n0\r\n\r\n")),
        ok_closing("POST /\n0123456789")
    );
    assert_eq!(server.exchange(format!("{chunked}b\r\n")), too_large);
    assert_eq!(
        server.exchange(format!("{chunked}9\r\n012345678\r\n2\r\n")),
        too_large
    );
}

#[test]
fn a_client_that_goes_on_sending_can_read_why_it_was_refused() {
    let server = Server::with(Options::new().max_body(10), echo);
    let mut client = server.connect();
    client
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        .unwrap();
    client.write_all(&vec![b'x'; 1_000_000]).unwrap();
    assert_eq!(
        read_to_end(&mut client),
        refused(413, "the body of the request is too large")
    );
}

#[test]
fn trailers_and_chunk_extensions_are_bounded() {
    let server = Server::start(echo);
    let start = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let long = "x".repeat(70_000);
    let extension = server.exchange(format!("{start}1;{long}"));
    assert_eq!(extension, refused(400, "the chunk extensions are too long"));
    let many = server.exchange(format!("{start}{}", "1;xxxxxxxx\r\na\r\n".repeat(2000)));
    assert_eq!(many, refused(400, "the chunk extensions are too long"));
    let trailer = server.exchange(format!("{start}0\r\nX: {long}"));
    assert_eq!(
        trailer,
        refused(431, "the head of the request is too large")
    );
}

#[test]
fn a_slow_head_is_refused() {
    let server = Server::with(Options::new().head_timeout(SHORT), echo);
    let mut client = server.connect();
    client.write_all(b"GET / HTTP/1.1\r\nHost").unwrap();
    let before = Instant::now();
    assert_eq!(
        read_to_end(&mut client),
        refused(408, "the request took too long to arrive")
    );
    assert!(before.elapsed() >= SHORT);
}

#[test]
fn a_head_that_trickles_is_refused_all_the_same() {
    let server = Server::with(Options::new().head_timeout(SHORT), echo);
    let mut client = server.connect();
    let mut reader = client.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        // Time is what is tested, so it has to pass.
        while client.write_all(b"X").is_ok() {
            std::thread::sleep(SHORT / 20);
        }
    });
    assert!(read_until(&mut reader, "arrive\n").starts_with("HTTP/1.1 408 "));
    drop(reader);
    drop(server);
    writer.join().unwrap();
}

#[test]
fn a_slow_body_is_refused() {
    let server = Server::with(Options::new().body_timeout(SHORT), echo);
    for framing in [
        "Content-Length: 5\r\n\r\nhell",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhell",
    ] {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}");
        assert_eq!(
            server.exchange(request),
            refused(408, "the request took too long to arrive")
        );
    }
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let server = Server::with(Options::new().idle_timeout(SHORT), echo);
    let before = Instant::now();
    let answer = server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer, ok("GET /\n"));
    assert!(before.elapsed() >= SHORT);
}

#[test]
fn a_connection_that_says_nothing_is_closed_without_a_word() {
    let server = Server::with(Options::new().head_timeout(SHORT), echo);
    assert_eq!(server.exchange(""), "");
}

#[test]
fn a_call_has_no_limit_on_time() {
    let options = Options::new()
        .head_timeout(SHORT)
        .body_timeout(SHORT)
        .idle_timeout(SHORT)
        .write_timeout(SHORT);
    let server = Server::with(options, |_request: http::Request<Vec<u8>>, _| async {
        smol::Timer::after(SHORT * 4).await;
        http::Response::new(Body::full("at last"))
    });
    let answer = server.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(answer, ok("at last"));
}

#[test]
fn a_client_that_reads_nothing_counts_as_gone() {
    let (sender, reasons) = channel();
    let options = Options::new().write_timeout(SHORT);
    let server = Server::with(
        options,
        move |_request: http::Request<Vec<u8>>, signal: Signal| {
            let reasons = sender.clone();
            async move {
                smol::spawn(async move { reasons.send(signal.aborted().await).unwrap() }).detach();
                http::Response::new(Body::stream(futures_lite::stream::repeat_with(|| {
                    Ok(vec![b'x'; 10_000])
                })))
            }
        },
    );
    let mut client = server.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let reason = reasons.recv_timeout(SOON);
    assert!(matches!(reason, Ok(Reason::Disconnected)), "{reason:?}");
}

#[test]
fn beyond_the_most_connections_clients_wait_until_one_has_left() {
    let server = Server::with(Options::new().max_connections(2), echo);
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut served: Vec<_> = (0..2).map(|_| server.connect()).collect();
    for client in &mut served {
        client.write_all(request).unwrap();
        assert_eq!(read_until(client, "/\n"), ok("GET /\n"));
    }
    let mut waiting = server.connect();
    waiting.write_all(request).unwrap();
    waiting.set_read_timeout(Some(SHORT)).unwrap();
    assert!(waiting.read(&mut [0]).is_err(), "a third client was served");
    waiting.set_read_timeout(Some(SOON)).unwrap();
    drop(served.pop());
    assert_eq!(read_until(&mut waiting, "/\n"), ok("GET /\n"));
}

#[test]
fn tcp_options_are_set() {
    let server = Server::start(echo);
    let mut client = server.connect();
    client
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    read_until(&mut client, "/\n");
    let here = client.local_addr().unwrap();
    // The server runs in this process: looks for its end of the connection.
    let process = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let end = (3..4096)
        .filter_map(|fd| pidfd_getfd(&process, fd, PidfdGetfdFlags::empty()).ok())
        .find(|fd| {
            let peer = rustix::net::getpeername(fd).ok().flatten();
            peer.is_some_and(|peer| peer == here.into())
        })
        .expect("the server's end of the connection");
    let end = end.as_fd();
    assert!(sockopt::tcp_nodelay(end).unwrap());
    assert!(sockopt::socket_keepalive(end).unwrap());
    assert_eq!(sockopt::tcp_keepidle(end).unwrap(), Duration::from_secs(60));
    assert_eq!(
        sockopt::tcp_keepintvl(end).unwrap(),
        Duration::from_secs(10)
    );
    assert_eq!(sockopt::tcp_keepcnt(end).unwrap(), 6);
}
