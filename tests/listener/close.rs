//! The end of a listener.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use smol_mcp::Signal;
use smol_mcp::http::{Body, Listener, Options, Service};
use smol_mcp::signal::Reason;

use crate::common::{SOON, Server, echo, read_to_end, read_until};
use crate::rows::{ok, ok_closing, refused};

const CALL: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

fn close(server: &Server, grace: Duration) {
    smol::block_on(server.closer.close(grace));
}

/// Tells when it is dropped.
struct Dropped(Sender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// Waits for its signal, and answers with the reason.
fn obedient(started: Sender<&'static str>) -> impl Service {
    move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let started = started.clone();
        async move {
            started.send("started").unwrap();
            let reason = signal.aborted().await;
            assert!(matches!(reason, Reason::ServerClosed), "{reason:?}");
            http::Response::new(Body::full("closed"))
        }
    }
}

/// Never ends, whatever its signal says.
fn stubborn(events: Sender<&'static str>) -> impl Service {
    move |_request: http::Request<Vec<u8>>, _signal: Signal| {
        let events = events.clone();
        async move {
            let _dropped = Dropped(events.clone());
            events.send("started").unwrap();
            std::future::pending().await
        }
    }
}

#[test]
fn a_call_that_heeds_its_signal_is_answered_within_the_grace() {
    let (sender, started) = channel();
    let server = Server::start(obedient(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    started.recv_timeout(SOON).unwrap();
    close(&server, SOON);
    assert_eq!(read_to_end(&mut client), ok_closing("closed"));
    assert!(TcpStream::connect(server.address).is_err());
    server.join().unwrap();
}

#[test]
fn a_call_that_ignores_its_signal_is_dropped_after_the_grace() {
    let (sender, events) = channel();
    let server = Server::start(stubborn(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(events.recv_timeout(SOON), Ok("started"));
    let before = Instant::now();
    close(&server, Duration::from_millis(100));
    assert!(before.elapsed() >= Duration::from_millis(100));
    // By now, not later.
    assert_eq!(events.try_recv(), Ok("dropped"));
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    server.join().unwrap();
}

#[test]
fn a_call_without_a_client_is_dropped_after_the_grace() {
    let (sender, events) = channel();
    let server = Server::start(stubborn(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(events.recv_timeout(SOON), Ok("started"));
    drop(client);
    close(&server, Duration::from_millis(10));
    assert_eq!(events.try_recv(), Ok("dropped"));
}

#[test]
fn connections_without_a_call_are_closed_at_once() {
    let server = Server::start(echo);
    let mut idle = server.connect();
    idle.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(read_until(&mut idle, "/\n"), ok("GET /\n"));
    let mut fresh = server.connect();
    let mut begun = server.connect();
    begun.write_all(b"GET / HT").unwrap();
    // Served, so the three above have been accepted.
    assert_eq!(
        server.exchange("GET / HTTP/1.0\r\n\r\n"),
        ok_closing("GET /\n")
    );
    close(&server, Duration::from_secs(3600));
    for client in [&mut idle, &mut fresh, &mut begun] {
        // A head that nobody has read makes the kernel reset the connection.
        assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
    }
    server.join().unwrap();
}

#[test]
fn a_half_read_body_is_refused() {
    let server = Server::start(echo);
    let mut client = server.connect();
    client
        .write_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
        )
        .unwrap();
    assert_eq!(
        read_until(&mut client, "\r\n\r\n"),
        "HTTP/1.1 100 Continue\r\n\r\n"
    );
    client.write_all(b"half").unwrap();
    close(&server, SOON);
    assert_eq!(
        read_to_end(&mut client),
        refused(503, "the server is closing")
    );
}

#[test]
fn a_stream_may_end_within_the_grace() {
    let (sender, started) = channel();
    let server = Server::start(move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let started = sender.clone();
        async move {
            let pieces = futures_lite::stream::unfold(Some(signal), move |signal| {
                let started = started.clone();
                async move {
                    started.send("started").unwrap();
                    signal?.aborted().await;
                    Some((Ok(b"bye".to_vec()), None))
                }
            });
            http::Response::new(Body::stream(pieces))
        }
    });
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    started.recv_timeout(SOON).unwrap();
    close(&server, SOON);
    let answer = read_to_end(&mut client);
    assert!(answer.ends_with("3\r\nbye\r\n0\r\n\r\n"), "{answer:?}");
}

/// Answers with a stream of its own making, and hands out the signal.
fn streaming<S>(
    signals: Sender<Signal>,
    stream: impl Fn() -> S + Send + Sync + 'static,
) -> impl Service
where
    S: futures_lite::Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static,
{
    move |_request: http::Request<Vec<u8>>, signal: Signal| {
        signals.send(signal).unwrap();
        let response = http::Response::new(Body::stream(stream()));
        async move { response }
    }
}

/// Calls a service that streams, and closes the listener once the stream has begun. The client may read on, but the close
/// ends by its leaving.
fn close_while_streaming<S>(stream: impl Fn() -> S + Send + Sync + 'static, reads: bool)
where
    S: futures_lite::Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static,
{
    let (sender, signals) = channel();
    let server = Server::start(streaming(sender, stream));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    let signal = signals.recv_timeout(SOON).unwrap();
    client.read_exact(&mut [0]).unwrap();
    let mut reader = client.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        if reads {
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
        }
    });
    let closer = server.closer.clone();
    let closing = std::thread::spawn(move || smol::block_on(closer.close(SOON)));
    let reason = signal.wait_timeout(SOON);
    assert!(matches!(reason, Some(Reason::ServerClosed)), "{reason:?}");
    client.shutdown(Shutdown::Both).unwrap();
    reading.join().unwrap();
    drop(client);
    closing.join().unwrap();
}

// Nobody waits for the stream then, but for the socket.
#[test]
fn a_stream_whose_client_does_not_read_is_told_of_the_close() {
    let huge = || {
        let huge = futures_lite::stream::once(Ok(vec![0; 64 << 20]));
        futures_lite::StreamExt::chain(huge, futures_lite::stream::pending())
    };
    close_while_streaming(huge, false);
}

// Nobody waits for anything then.
#[test]
fn a_stream_that_is_always_ready_is_told_of_the_close() {
    let ready = || futures_lite::stream::repeat_with(|| Ok(vec![0; 1024]));
    close_while_streaming(ready, true);
}

#[test]
fn closing_twice_and_from_two_sides_is_harmless() {
    let (sender, events) = channel();
    let server = Server::start(stubborn(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(events.recv_timeout(SOON), Ok("started"));
    let other = server.closer.clone();
    let patient = std::thread::spawn(move || smol::block_on(other.close(SOON)));
    close(&server, Duration::ZERO);
    patient.join().unwrap();
    close(&server, SOON);
    assert_eq!(events.try_recv(), Ok("dropped"));
}

#[test]
fn a_listener_closed_before_it_is_served_serves_nobody() {
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    smol::block_on(listener.closer().close(Duration::ZERO));
    smol::block_on(listener.serve(echo)).unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn dropping_the_serving_future_drops_the_calls_and_fires_their_signals() {
    let (sender, events) = channel();
    let (signals, kept) = channel();
    let executor = std::sync::Arc::new(smol::Executor::new());
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.with_options(Options::new().executor(executor.clone()));
    let serving = executor.spawn(listener.serve(
        move |_request: http::Request<Vec<u8>>, signal: Signal| {
            let events = sender.clone();
            signals.send(signal).unwrap();
            async move {
                let _dropped = Dropped(events.clone());
                events.send("started").unwrap();
                std::future::pending().await
            }
        },
    ));
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let thread = std::thread::spawn(move || smol::block_on(executor.run(stopped.recv())));
    let mut client = crate::common::connect(address);
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(events.recv_timeout(SOON), Ok("started"));
    drop(serving);
    assert_eq!(events.recv_timeout(SOON), Ok("dropped"));
    let reason = kept.recv().unwrap().wait_timeout(SOON);
    assert!(matches!(reason, Some(Reason::Closed)), "{reason:?}");
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    stop.send_blocking(()).unwrap();
    let _ = thread.join().unwrap();
}

#[test]
fn an_executor_that_is_dropped_takes_its_connections_along() {
    let (sender, events) = channel();
    let executor = std::sync::Arc::new(smol::Executor::new());
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let listener = listener.with_options(Options::new().executor(executor.clone()));
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let thread = std::thread::spawn(move || {
        let serving = async { listener.serve(stubborn(sender)).await.unwrap() };
        let stopped = async { stopped.recv().await.unwrap() };
        // Ends without a close: nobody runs the executor any more.
        smol::block_on(executor.run(futures_lite::future::or(serving, stopped)));
    });
    let mut client = crate::common::connect(address);
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(events.recv_timeout(SOON), Ok("started"));
    stop.send_blocking(()).unwrap();
    thread.join().unwrap();
    assert_eq!(events.try_recv(), Ok("dropped"));
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}
