//! hyper's HTTP/1 server, on smol.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::rt::ReadBufCursor;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use smol::Async;
use smol::io::{AsyncRead, AsyncWrite};
use smol::net::TcpStream;

use crate::seen;

/// Serves until the process ends.
pub fn start() -> SocketAddr {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    let executor = Arc::new(smol::Executor::new());
    let spawner = executor.clone();
    let accepting = async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            spawner.spawn(serve(client.into())).detach();
        }
    };
    std::thread::spawn(move || smol::block_on(executor.run::<()>(accepting)));
    address
}

async fn serve(client: TcpStream) {
    let _ = client.set_nodelay(true);
    let connection = http1::Builder::new()
        .half_close(true)
        .max_headers(100)
        .serve_connection(Io(client), service_fn(answer));
    // What it has to say about a broken request, it has said to the client.
    let _ = connection.await;
}

async fn answer(request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let seen = seen::tell(&Request::from_parts(parts, ()), &body);
    let response = Response::builder().header(seen::HEADER, seen);
    Ok(response.body(Empty::new()).unwrap())
}

/// A socket with the traits that hyper asks for.
struct Io(TcpStream);

impl hyper::rt::Read for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4096];
        let room = buffer.remaining().min(bytes.len());
        let count = ready!(Pin::new(&mut self.0).poll_read(cx, &mut bytes[..room]))?;
        buffer.put_slice(&bytes[..count]);
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}
