//! What the fuzz targets call; built under `cfg(fuzzing)` alone.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use async_io::Async;
use futures_lite::{AsyncReadExt as _, future};
use http::{Request, Response};

use super::connection::{self, Connection};
use super::options::Options;
use super::reader::{Limits, Reader};
use super::seats::Seats;
use super::socket::Socket;
use crate::Signal;
use crate::http::Body;

/// A request as text, or the status of a refusal.
pub type Outcome = Result<String, u16>;

/// Reads requests from `bytes`, which arrive in pieces of at most `piece` bytes.
pub fn read(bytes: &[u8], piece: usize) -> Vec<Outcome> {
    let limits = Limits {
        head: 4096,
        headers: 20,
        body: 4096,
    };
    let mut reader = Reader::default();
    let mut outcomes = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        reader.input.push(piece);
        loop {
            match reader.next(&limits) {
                Ok(Some((request, terms))) => outcomes.push(Ok(format!("{request:?} {terms:?}"))),
                Ok(None) => break,
                Err(refusal) => {
                    outcomes.push(Err(refusal.status));
                    return outcomes;
                }
            }
        }
        reader.input.settle();
    }
    outcomes
}

/// Reads requests from `bytes` and counts them: what the benchmark times.
pub fn count(bytes: &[u8]) -> usize {
    let limits = Limits {
        head: 64 * 1024,
        headers: 100,
        body: 4096,
    };
    let mut reader = Reader::default();
    reader.input.push(bytes);
    let requests = std::iter::from_fn(|| reader.next(&limits).ok().flatten());
    requests.map(std::hint::black_box).count()
}

/// Lets a whole connection read `bytes` in two parts and then the end, and returns all that it sends.
pub fn converse(bytes: &[u8], split: usize) -> Vec<u8> {
    let (mut client, server) = UnixStream::pair().expect("a pair of sockets");
    server.set_nonblocking(true).expect("a non-blocking socket");
    let executor = Arc::new(async_executor::Executor::new());
    let seats = Arc::new(Seats::new());
    seats.begin(Options::new().half_close(true).max_body(4096));
    let socket = Socket::new(server.into(), false).expect("a socket in the reactor");
    let service = Arc::new(echo);
    seats.admit(&executor, |seat| {
        connection::serve(Connection::new(socket, seat, None), service)
    });

    let (first, second) = bytes.split_at(split.min(bytes.len()));
    // A server that has refused the first part may have closed.
    let _ = client.write_all(first);
    while executor.try_tick() {}
    let _ = client.write_all(second);
    let _ = client.shutdown(Shutdown::Write);
    let client = Async::new(client).expect("a client in the reactor");
    let answer = async_io::block_on(executor.run(receive(client)));
    seats.close();
    seats.stop_accepting();
    assert!(async_io::block_on(
        executor.run(seats.emptied_within(Duration::from_secs(10)))
    ));
    answer
}

async fn receive(mut client: Async<UnixStream>) -> Vec<u8> {
    let mut answer = Vec::new();
    // What a reset leaves behind counts too.
    let _: io::Result<usize> = client.read_to_end(&mut answer).await;
    answer
}

/// Answers at once, later, or piece by piece.
async fn echo(request: Request<Vec<u8>>, _signal: Signal) -> Response<Body> {
    let path = request.uri().path().to_owned();
    let body = request.into_body();
    if path.contains('l') {
        future::yield_now().await;
    }
    Response::new(match path.contains('s') {
        true => Body::stream(futures_lite::stream::iter([Ok(body)])),
        false => Body::full(body),
    })
}
