//! The server whose calls are counted: `counts stdio`, or `counts http`, which ends with its standard input.
//!
//! `echo` answers at once, `steps` reports progress and answers, `slow` reports that it has begun and waits for its
//! cancellation, and `counts` tells how often and how much the process has allocated so far.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol::Executor;
use smol_mcp::{Context, NoInput, Server, Tool, http, stdio};

/// Counts the allocations of all threads.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn note(size: usize) {
    COUNT.fetch_add(1, Relaxed);
    BYTES.fetch_add(size as u64, Relaxed);
}

// SAFETY: passes everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    /// A block that grows or shrinks is one more allocation.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Deserialize)]
struct Echo {
    text: String,
}

async fn echo(input: Echo) -> String {
    input.text
}

async fn steps(_: NoInput, cx: Context) {
    cx.progress(1, 1, "done");
}

async fn slow(_: NoInput, cx: Context) {
    cx.progress(1, None, "begun");
    cx.signal().aborted().await;
}

async fn counts(_: NoInput) -> String {
    format!("{} {}", COUNT.load(Relaxed), BYTES.load(Relaxed))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let echo = Tool::new("echo", echo).input_schema(json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "required": ["text"],
    }));
    let executor = Arc::new(Executor::new());
    let server = Server::builder("counts", "0.0.0")
        .tool(echo)
        .tool(Tool::new("steps", steps))
        .tool(Tool::new("slow", slow))
        .tool(Tool::new("counts", counts))
        .executor(executor.clone())
        .build()?;
    match mode.as_str() {
        "stdio" => smol::block_on(executor.run(stdio::serve(&server)))?,
        "http" => smol::block_on(executor.run(over_http(server, &executor)))?,
        _ => return Err("usage: counts stdio|http".into()),
    }
    Ok(())
}

async fn over_http(server: Server, executor: &Arc<Executor<'static>>) -> io::Result<()> {
    let options = http::Options::new().executor(executor.clone());
    let listener = http::Listener::bind("127.0.0.1:0")
        .await?
        .with_options(options);
    eprintln!("LISTENING {}", listener.local_addr()?);
    let served = server.clone();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        smol::block_on(server.close(Duration::ZERO));
    });
    http::serve_on(listener, http::Endpoint::new(&served)).await
}
