//! Our listener.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::{Request, Response};
use smol_mcp::Signal;
use smol_mcp::http::{Body, Listener, Options};

use crate::seen;

/// Serves until the process ends.
pub fn start() -> SocketAddr {
    let listener = smol::block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let executor = Arc::new(smol::Executor::new());
    let options = Options::new().half_close(true).executor(executor.clone());
    let serving = listener.with_options(options).serve(answer);
    std::thread::spawn(move || smol::block_on(executor.run(serving)));
    address
}

async fn answer(request: Request<Vec<u8>>, _signal: Signal) -> Response<Body> {
    let seen = seen::tell(&request, request.body());
    let response = Response::builder().header(seen::HEADER, seen);
    response.body(Body::empty()).unwrap()
}
