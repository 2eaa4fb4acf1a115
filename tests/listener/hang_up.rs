//! Clients that leave while they are waited on.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::thread::ThreadId;
use std::time::Duration;

use futures_lite::Stream;
use smol_mcp::Signal;
use smol_mcp::http::{Body, Listener, Options, Service};
use smol_mcp::signal::Reason;

use crate::common::{SOON, Server, half_close, read_to_end, read_until, reset};
use crate::rows::ok_closing;

const CALL: &str = "POST /call HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";

/// What a service tells its test.
#[derive(Debug, PartialEq)]
enum Event {
    Started,
    Ended(String),
}

fn ended(reason: Option<Reason>) -> Event {
    Event::Ended(format!("{reason:?}"))
}

fn disconnected() -> Event {
    ended(Some(Reason::Disconnected))
}

fn next(events: &Receiver<Event>) -> Event {
    events.recv_timeout(SOON).expect("an event")
}

/// Waits for its signal and answers late.
fn patient(events: Sender<Event>) -> impl Service {
    move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let events = events.clone();
        async move {
            events.send(Event::Started).unwrap();
            let reason = signal.aborted().await;
            // A call is polled on after its client has left.
            smol::future::yield_now().await;
            events.send(ended(Some(reason))).unwrap();
            http::Response::new(Body::full("too late"))
        }
    }
}

/// Yields the pieces that are there from the start, and no more. Tells when it is dropped, and what its signal says then.
struct Endless {
    pieces: Vec<&'static str>,
    signal: Signal,
    events: Sender<Event>,
}

impl Stream for Endless {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.pieces.pop() {
            Some(piece) => Poll::Ready(Some(Ok(piece.into()))),
            None => Poll::Pending,
        }
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.events.send(ended(self.signal.reason()));
    }
}

/// Streams without an end.
fn endless(pieces: &'static [&'static str], events: Sender<Event>) -> impl Service {
    move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let events = events.clone();
        async move {
            events.send(Event::Started).unwrap();
            let pieces = pieces.to_vec();
            http::Response::new(Body::stream(Endless {
                pieces,
                signal,
                events,
            }))
        }
    }
}

#[test]
fn each_of_a_thousand_closes_before_the_head_is_seen() {
    let (sender, events) = channel();
    let server = Server::start(patient(sender));
    for round in 0..1000 {
        let mut client = server.connect();
        client.write_all(CALL.as_bytes()).unwrap();
        assert_eq!(next(&events), Event::Started);
        match round % 3 {
            0 => drop(client),
            1 => reset(client),
            _ => half_close(&client),
        }
        assert_eq!(next(&events), disconnected(), "round {round}");
    }
}

#[test]
fn each_of_a_thousand_closes_within_a_stream_is_seen() {
    let (sender, events) = channel();
    let server = Server::start(endless(&["one\n"], sender));
    for round in 0..1000 {
        let mut client = server.connect();
        client.write_all(CALL.as_bytes()).unwrap();
        assert_eq!(next(&events), Event::Started);
        read_until(&mut client, "one\n\r\n");
        match round % 3 {
            0 => drop(client),
            1 => reset(client),
            _ => half_close(&client),
        }
        assert_eq!(next(&events), disconnected(), "round {round}");
    }
}

#[test]
fn each_of_a_thousand_closes_before_the_first_piece_is_seen() {
    let (sender, events) = channel();
    let server = Server::start(endless(&[], sender));
    for round in 0..1000 {
        let mut client = server.connect();
        client.write_all(CALL.as_bytes()).unwrap();
        // The head does not wait for the first piece.
        read_until(&mut client, "transfer-encoding: chunked\r\n\r\n");
        match round % 2 {
            0 => drop(client),
            _ => reset(client),
        }
        assert_eq!(next(&events), Event::Started);
        assert_eq!(next(&events), disconnected(), "round {round}");
    }
}

#[test]
fn each_of_a_thousand_closes_with_the_next_request_in_the_buffer_is_seen() {
    let (sender, events) = channel();
    let server = Server::start(patient(sender));
    let behind = [CALL.to_owned(), CALL.repeat(10), CALL[..20].to_owned()];
    for round in 0..1000 {
        let mut client = server.connect();
        client
            .write_all((CALL.to_owned() + &behind[round % 3]).as_bytes())
            .unwrap();
        assert_eq!(next(&events), Event::Started);
        match round % 2 {
            0 => drop(client),
            _ => reset(client),
        }
        assert_eq!(next(&events), disconnected(), "round {round}");
    }
    drop(server);
    assert!(
        events.try_recv().is_err(),
        "the next request was served to nobody"
    );
}

#[test]
fn a_close_after_more_was_pipelined_while_the_call_ran_is_seen() {
    let (sender, events) = channel();
    let server = Server::start(patient(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(next(&events), Event::Started);
    client.write_all(CALL.repeat(20).as_bytes()).unwrap();
    drop(client);
    assert_eq!(next(&events), disconnected());
}

#[test]
fn each_of_a_thousand_closes_on_a_unix_socket_is_seen() {
    let path = std::env::temp_dir().join(format!("smol-mcp-hang-up-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let (sender, events) = channel();
    let listener = smol::block_on(Listener::bind_unix(&path)).unwrap();
    assert!(listener.local_addr().is_err());
    let (patient, endless) = (patient(sender.clone()), endless(&["one\n"], sender));
    let (patient, endless) = (Arc::new(patient), Arc::new(endless));
    let server = Server::on(
        listener,
        move |request: http::Request<Vec<u8>>, signal: Signal| {
            let (patient, endless) = (patient.clone(), endless.clone());
            async move {
                match request.uri().path() {
                    "/call" => patient.call(request, signal).await,
                    _ => endless.call(request, signal).await,
                }
            }
        },
    );
    for round in 0..1000 {
        let mut client = UnixStream::connect(&path).unwrap();
        let call = match round % 4 {
            0 => CALL.to_owned(),
            1 => CALL.repeat(2),
            2 => CALL.replace("/call", "/stream"),
            _ => CALL.replace("/call", "/stream") + CALL,
        };
        client.write_all(call.as_bytes()).unwrap();
        assert_eq!(next(&events), Event::Started);
        if round % 4 >= 2 {
            read_until(&mut client, "one\n\r\n");
        }
        drop(client);
        assert_eq!(next(&events), disconnected(), "round {round}");
    }
    drop(server);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_socket_is_closed_while_the_call_goes_on() {
    let (sender, events) = channel();
    let (release, released) = async_channel::bounded::<()>(1);
    let server = Server::start(move |_request: http::Request<Vec<u8>>, _signal| {
        let (events, released) = (sender.clone(), released.clone());
        async move {
            events.send(Event::Started).unwrap();
            // Ignores its signal.
            released.recv().await.unwrap();
            events.send(Event::Ended("by itself".into())).unwrap();
            http::Response::new(Body::full("to nobody"))
        }
    });
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(next(&events), Event::Started);
    half_close(&client);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
    assert!(events.try_recv().is_err());
    release.send_blocking(()).unwrap();
    assert_eq!(next(&events), Event::Ended("by itself".into()));
}

#[test]
fn a_computing_call_finds_its_signal_fired_at_a_checkpoint() {
    let (sender, events) = channel();
    let server = Server::start(move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let events = sender.clone();
        async move {
            events.send(Event::Started).unwrap();
            while signal.checkpoint().await.is_ok() {
                std::hint::black_box((0..1000).sum::<u64>());
            }
            events.send(ended(signal.reason())).unwrap();
            http::Response::new(Body::empty())
        }
    });
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(next(&events), Event::Started);
    drop(client);
    assert_eq!(next(&events), disconnected());
}

#[test]
fn a_client_that_leaves_after_its_answer_has_not_hung_up() {
    let (sender, signals) = channel();
    let server = Server::start(move |request: http::Request<Vec<u8>>, signal: Signal| {
        let signals = sender.clone();
        async move {
            signals.send(signal).unwrap();
            http::Response::new(match request.uri().path() {
                "/whole" => Body::full("end"),
                "/slow" => {
                    smol::future::yield_now().await;
                    Body::full("end")
                }
                // The end is known with the last piece, or only when it is asked for.
                "/known" => Body::stream(futures_lite::stream::iter([Ok(b"end".to_vec())])),
                _ => Body::stream(futures_lite::stream::unfold(1, |left| async move {
                    (left > 0).then(|| (Ok(b"end".to_vec()), left - 1))
                })),
            })
        }
    });
    for path in ["/whole", "/slow", "/known", "/asked"] {
        for _ in 0..100 {
            let mut client = server.connect();
            client
                .write_all(CALL.replace("/call", path).as_bytes())
                .unwrap();
            let end = match path {
                "/known" | "/asked" => "end\r\n0\r\n\r\n",
                _ => "end",
            };
            read_until(&mut client, end);
        }
    }
    drop(server);
    assert_eq!(
        signals
            .iter()
            .inspect(|signal| assert!(!signal.is_aborted()))
            .count(),
        400
    );
}

/// What has been logged, and by which thread.
struct Log(Mutex<Vec<(ThreadId, String)>>);

static LOG: Log = Log(Mutex::new(Vec::new()));

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = (std::thread::current().id(), record.args().to_string());
        // Crates below tell of every wake-up.
        if record.target().starts_with("smol_mcp") {
            self.0.lock().unwrap().push(line);
        }
    }

    fn flush(&self) {}
}

#[test]
fn a_client_that_leaves_after_its_answer_is_not_worth_a_line_in_the_log() {
    log::set_logger(&LOG).expect("no other test sets a logger");
    log::set_max_level(log::LevelFilter::Trace);
    let server = Server::start(|request: http::Request<Vec<u8>>, _signal| async move {
        assert_ne!(request.uri().path(), "/panic");
        let last = futures_lite::stream::iter([Ok(b"data: end\n\n".to_vec())]);
        http::Response::new(match request.uri().path() {
            "/whole" => Body::full("end"),
            _ => Body::stream(last),
        })
    });
    let told = |server: &Server| {
        let lines = LOG.0.lock().unwrap();
        let own = lines.iter().filter(|line| line.0 == server.thread_id());
        own.map(|line| line.1.clone()).collect::<Vec<_>>()
    };
    for round in 0..300 {
        let mut client = server.connect();
        let (path, end) = match round % 2 {
            0 => ("/whole", "end"),
            _ => ("/stream", "end\n\n\r\n0\r\n\r\n"),
        };
        client
            .write_all(CALL.replace("/call", path).as_bytes())
            .unwrap();
        read_until(&mut client, end);
        match round % 3 {
            0 => drop(client),
            1 => reset(client),
            _ => half_close(&client),
        }
    }
    assert_eq!(told(&server), Vec::<String>::new());
    // It would have been seen.
    let mut client = server.connect();
    client
        .write_all(CALL.replace("/call", "/panic").as_bytes())
        .unwrap();
    read_until(&mut client, "internal error\n");
    assert_eq!(told(&server), ["a service panicked"]);
}

#[test]
fn what_a_client_sends_ahead_is_read_up_to_a_bound() {
    let (sender, events) = channel();
    let server = Server::start(patient(sender));
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(next(&events), Event::Started);
    // More than sockets hold: if it were read, all of it would be taken.
    client
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let err = client.write_all(&vec![b'x'; 64 << 20]).unwrap_err();
    assert_eq!(err.kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_half_closed_client_gets_its_answer_if_that_is_allowed() {
    let (release, released) = async_channel::bounded::<()>(1);
    let (sender, events) = channel();
    let options = Options::new().half_close(true);
    let server = Server::with(
        options,
        move |_request: http::Request<Vec<u8>>, signal: Signal| {
            let (events, released) = (sender.clone(), released.clone());
            async move {
                events.send(Event::Started).unwrap();
                released.recv().await.unwrap();
                assert!(!signal.is_aborted());
                http::Response::new(Body::full("still here"))
            }
        },
    );
    let mut client = server.connect();
    client.write_all(CALL.as_bytes()).unwrap();
    assert_eq!(next(&events), Event::Started);
    half_close(&client);
    release.send_blocking(()).unwrap();
    let answer = read_to_end(&mut client);
    assert_eq!(
        answer,
        ok_closing("still here").replace("connection: close\r\n", "")
    );
}

#[test]
fn a_client_that_sends_too_much_ahead_is_noticed_by_a_write() {
    let (sender, events) = channel();
    let (pieces, source) = async_channel::bounded::<io::Result<Vec<u8>>>(1);
    let server = Server::start(move |_request: http::Request<Vec<u8>>, signal: Signal| {
        let (events, source) = (sender.clone(), source.clone());
        async move {
            events.send(Event::Started).unwrap();
            let mut source = Box::pin(source);
            let guard = Endless {
                pieces: vec![],
                signal,
                events,
            };
            let pieces = futures_lite::stream::poll_fn(move |cx| {
                let _ = &guard;
                source.as_mut().poll_next(cx)
            });
            http::Response::new(Body::stream(pieces))
        }
    });
    let mut client = server.connect();
    client
        .write_all((CALL.to_owned() + &CALL.repeat(1000)).as_bytes())
        .unwrap();
    assert_eq!(next(&events), Event::Started);
    drop(client);
    // The first write makes the peer reset the connection, and a later one fails.
    while let Ok(()) = pieces.send_blocking(Ok(vec![b'x'; 1000])) {
        if let Ok(event) = events.recv_timeout(Duration::from_millis(1)) {
            assert_eq!(event, disconnected());
            return;
        }
    }
}
