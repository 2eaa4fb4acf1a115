//! What an idle legacy session costs.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use smol_mcp::http::{Endpoint, MemoryStore};
use smol_mcp::{NoInput, Server, Signal, Tool};

/// Counts the bytes that are taken and not given back.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SESSIONS: usize = 1000;

fn post(body: &str) -> http::Request<Vec<u8>> {
    http::Request::post("/mcp")
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(body.as_bytes().to_vec())
        .unwrap()
}

/// Opens sessions, and returns the bytes that each keeps.
fn cost(endpoint: &Endpoint) -> isize {
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"client","version":"1.0.0"}}}"#;
    let before = LIVE.load(Ordering::Relaxed);
    for _ in 0..SESSIONS {
        let response = smol::block_on(endpoint.handle(post(initialize), Signal::never()));
        assert!(response.headers().contains_key("mcp-session-id"));
    }
    (LIVE.load(Ordering::Relaxed) - before) / SESSIONS as isize
}

#[test]
fn an_idle_session_keeps_less_than_two_kibibytes() {
    let tool = Tool::new("now", |_: NoInput| async { "noon" });
    let server = Server::builder("clock", "1.0.0")
        .tool(tool)
        .build()
        .unwrap();
    let plain = cost(&Endpoint::new(&server));
    let kept = cost(&Endpoint::new(&server).event_store(MemoryStore::new()));
    println!("{plain} bytes for an idle session, {kept} with an event store");
    assert!(plain < 2048, "{plain}");
    assert!(kept < 2048, "{kept}");
}
