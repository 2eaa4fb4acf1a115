//! What may go to other threads. A private field must not change it unnoticed.
#![cfg(all(feature = "stdio", feature = "http"))]

use std::io;
use std::time::Duration;

use smol_mcp::protocol::{Content, ReadResult, RpcError, ToolResult};
use smol_mcp::{
    Answers, Ask, AskError, Builder, Context, Error, HandlerError, Limits, Next, Outcome,
    Principal, Prompt, Resource, ResourceTemplate, Server, Tool, http, lines, stdio, testing,
};

fn is_shared<T: Send + Sync + Unpin + 'static>() {}
fn is_sent<T: Send + Unpin + 'static>() {}
fn is_spawned<T: Send>(_: T) {}

#[test]
fn what_a_server_is_made_of_goes_anywhere() {
    is_shared::<Server>();
    is_shared::<Builder>();
    is_shared::<Limits>();
    is_shared::<Tool>();
    is_shared::<Resource>();
    is_shared::<ResourceTemplate>();
    is_shared::<Prompt>();
    is_shared::<Error>();
}

#[test]
fn what_a_handler_may_hold_while_it_waits_goes_anywhere() {
    is_shared::<Context>();
    is_shared::<HandlerError>();
    is_shared::<Principal>();
    is_shared::<Ask>();
    is_shared::<Answers>();
    is_shared::<AskError>();
    is_shared::<Outcome>();
    is_shared::<Result<Content, RpcError>>();
    is_shared::<Result<ToolResult, ReadResult>>();
    is_sent::<Next>();
}

#[test]
fn what_serves_goes_anywhere() {
    is_shared::<http::Endpoint>();
    is_shared::<http::Challenge>();
    is_shared::<http::ProtectedResource>();
    is_shared::<http::MemoryStore>();
    is_sent::<http::Body>();
    is_shared::<testing::Client>();
    is_sent::<testing::Running>();
    is_shared::<testing::Reader>();
    is_shared::<testing::Writer>();
}

#[test]
fn the_functions_futures_can_be_spawned() {
    fn of_a_call(cx: &Context) {
        is_spawned(cx.roots("roots"));
        is_spawned(cx.ask(Ask::new()));
    }
    fn of_a_server(server: &'static Server, endpoint: &'static http::Endpoint) {
        is_spawned(server.close(Duration::ZERO));
        is_spawned(stdio::serve(server));
        is_spawned(lines::serve(server, smol::io::empty(), smol::io::sink()));
        is_spawned(endpoint.handle(Default::default(), server.closed()));
    }
    fn around(next: Next) {
        is_spawned(next.run());
    }
    let _ = (of_a_call, of_a_server, around);
}

#[cfg(unix)]
#[test]
fn what_listens_goes_anywhere() {
    is_shared::<http::Listener>();
    is_shared::<http::Options>();
    is_shared::<http::Closer>();
    fn serving(server: &'static Server, listener: http::Listener, endpoint: http::Endpoint) {
        is_spawned(http::Listener::bind("127.0.0.1:0"));
        is_spawned(listener.closer().close(Duration::ZERO));
        is_spawned(http::serve(server, "127.0.0.1:0"));
        is_spawned(http::serve_on(listener, endpoint));
    }
    fn service(listener: http::Listener, service: http::Endpoint) {
        is_spawned(listener.serve(service));
    }
    let _ = (serving, service);
}

#[test]
fn a_mistake_of_the_author_is_invalid_input_where_io_errors_are_returned() {
    let server = Server::builder("clock", "1.0.0").build().unwrap();
    let err = http::Endpoint::new(&server).host("").unwrap_err();
    let message = err.to_string();
    let err = io::Error::from(err);
    assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
    assert_eq!(err.to_string(), message);
}
