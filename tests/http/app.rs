//! A tide app around the endpoint, on our listener.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Poll};

use async_channel::Sender;
use smol::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use smol_mcp::http::Listener;
use smol_mcp::signal::Reason;
use smol_mcp::{Limits, Signal};

use crate::common::*;

/// An app on a free port, for as long as the task lives.
async fn listen(app: tide::Server<()>) -> (std::net::SocketAddr, smol::Task<std::io::Result<()>>) {
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = smol::spawn(app.listen(smol_mcp::tide::listener(listener)));
    (address, serving)
}

async fn send(address: std::net::SocketAddr, text: &str) -> smol::Async<std::net::TcpStream> {
    let mut stream = smol::Async::<std::net::TcpStream>::connect(address)
        .await
        .unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

#[test]
fn any_endpoint_of_an_app_finds_the_signal_of_its_request_and_sees_it_fire() {
    smol::block_on(async {
        let (found, finding) = async_channel::unbounded::<Signal>();
        let mut app = tide::with_state(());
        app.at("/slow")
            .get(move |request: tide::Request<()>| wait(request, found.clone()));
        let (address, _serving) = listen(app).await;
        let stream = send(address, "GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
        let signal = bounded("the signal", finding.recv()).await.unwrap();
        assert!(!signal.is_aborted());
        drop(stream);
        let reason = bounded("the signal to fire", signal.aborted()).await;
        assert!(matches!(reason, Reason::Disconnected));
    });
}

async fn wait(request: tide::Request<()>, found: Sender<Signal>) -> tide::Result {
    let signal = request.ext::<Signal>().unwrap().clone();
    found.send(signal.clone()).await?;
    signal.aborted().await;
    Ok("late".into())
}

#[test]
fn a_header_beyond_ascii_and_a_method_that_nobody_knows_do_no_harm() {
    smol::block_on(async {
        let stage = Stage::new();
        let mut app = tide::with_state(());
        app.at("/mcp").all(smol_mcp::tide::endpoint(&stage.server));
        app.at("/echo")
            .get(async |request: tide::Request<()>| -> tide::Result {
                Ok(format!(
                    "{:?}",
                    request
                        .header("x-name")
                        .map(|values| values.as_str().to_owned())
                )
                .into())
            });
        let (address, _serving) = listen(app).await;
        for (request, status) in [
            (
                "GET /echo HTTP/1.1\r\nhost: a\r\nx-name: größe\r\nconnection: close\r\n\r\n",
                "HTTP/1.1 200 ",
            ),
            (
                "BREW /mcp HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
                "HTTP/1.1 501 ",
            ),
            (
                "get /mcp HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
                "HTTP/1.1 501 ",
            ),
            (
                "GET /nowhere HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
                "HTTP/1.1 404 ",
            ),
        ] {
            let mut stream = send(address, request).await;
            let mut answer = Vec::new();
            bounded("an answer", stream.read_to_end(&mut answer))
                .await
                .unwrap();
            let answer = String::from_utf8_lossy(&answer);
            assert!(answer.starts_with(status), "{request:?}: {answer}");
        }
    });
}

// Middlewares of the app see the endpoint's responses, and may add to them
#[test]
fn middleware_may_add_headers_to_a_streamed_response() {
    smol::block_on(async {
        let stage = Stage::new();
        let mut app = tide::with_state(());
        app.with(tide::utils::After(async |mut response: tide::Response| {
            response.insert_header("x-seen", "yes");
            Ok(response)
        }));
        app.at("/mcp").all(smol_mcp::tide::endpoint(&stage.server));
        let (address, _serving) = listen(app).await;
        let request = Req::play("1");
        let mut stream = send(address, std::str::from_utf8(&request.bytes()).unwrap()).await;
        let playing = stage.playing().await;
        playing.progress(1);
        let mut head = vec![0; 4096];
        let count = bounded("the head", stream.read(&mut head)).await.unwrap();
        let head = String::from_utf8_lossy(&head[..count]);
        assert!(
            head.contains("\r\nx-seen: yes\r\n") && head.contains("text/event-stream"),
            "{head}"
        );
        drop(stream);
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
    });
}

#[test]
fn a_listener_that_closes_with_the_server_answers_within_the_grace_and_ends() {
    smol::block_on(async {
        let stage = Stage::new();
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut app = tide::with_state(());
        app.at("/mcp").all(smol_mcp::tide::endpoint(&stage.server));
        let listener = smol_mcp::tide::listener(listener).closes_with(&stage.server);
        let serving = smol::spawn(app.listen(listener));
        let request = Req::play("1");
        let mut stream = send(address, std::str::from_utf8(&request.bytes()).unwrap()).await;
        let playing = stage.playing().await;
        let server = stage.server.clone();
        let closing =
            smol::spawn(async move { server.close(std::time::Duration::from_secs(15)).await });
        assert!(matches!(playing.aborted().await, Reason::ServerClosed));
        playing.finish("played");
        let mut answer = Vec::new();
        bounded("an answer", stream.read_to_end(&mut answer))
            .await
            .unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.ends_with(&said("1", "played")), "{answer}");
        bounded("the close", closing).await;
        bounded("the end of the app", serving).await.unwrap();
    });
}

/// A body without an end, which counts what is read of it.
struct Endless(Arc<AtomicUsize>);

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        buffer.fill(b' ');
        self.0.fetch_add(buffer.len(), Ordering::Relaxed);
        Poll::Ready(Ok(buffer.len()))
    }
}

#[test]
fn behind_any_listener_of_tide_no_more_of_a_body_is_read_than_a_message_may_be_long() {
    let stage = Stage::with(|builder| {
        let mut limits = Limits::default();
        limits.message_bytes = 100_000;
        builder.limits(limits)
    });
    let mut app = tide::with_state(());
    app.at("/mcp").all(smol_mcp::tide::endpoint(&stage.server));
    let read = Arc::default();
    let body = BufReader::new(Endless(Arc::clone(&read)));
    let mut request = tide::http::Request::new(tide::http::Method::Post, "http://localhost/mcp");
    request.insert_header("content-type", "application/json");
    request.set_body(tide::http::Body::from_reader(body, None));
    // An app that is asked like this is one behind a listener which is not ours.
    let response: tide::http::Response = smol::block_on(app.respond(request)).unwrap();
    assert_eq!(response.status(), tide::StatusCode::PayloadTooLarge);
    let read = read.load(Ordering::Relaxed);
    assert!(read < 200_000, "{read} bytes were read");
}
