//! What nobody listens to costs nothing: allocations of progress and log messages without a token or a level.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;

use serde_json::json;
use smol_mcp::protocol::{LogLevel, Version};
use smol_mcp::testing::Client;
use smol_mcp::{Context, NoInput, Server, Tool};

struct Counting;

thread_local! {
    /// Allocations of this thread.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the allocator of the system.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(call: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    call();
    COUNT.get() - before
}

/// Asserts that nobody shows it.
struct Unseen;

impl fmt::Display for Unseen {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("formatted although nobody listens")
    }
}

// P20, P21, R223
#[test]
fn what_nobody_listens_to_allocates_nothing() {
    // Without a pause, so that all of it happens on one thread.
    async fn quiet(_: NoInput, cx: Context) -> String {
        let count = allocations(|| {
            for i in 0..1000 {
                cx.progress(i, 1000, Unseen);
                cx.progress(0.5, None, format_args!("{Unseen}"));
                cx.log(LogLevel::Debug, "nobody asked");
            }
        });
        count.to_string()
    }
    async fn falling(_: NoInput, cx: Context) -> String {
        cx.progress(2, None, "two");
        let count = allocations(|| {
            for _ in 0..1000 {
                cx.progress(2, 3, Unseen);
                cx.progress(1.5, None, Unseen);
                cx.progress(f64::NAN, None, Unseen);
            }
        });
        count.to_string()
    }
    assert_ne!(allocations(|| drop(vec![1])), 0);
    let server = Server::builder("t", "1")
        .logging()
        .tool(Tool::new("quiet", quiet))
        .tool(Tool::new("falling", falling))
        .build()
        .unwrap();
    smol::block_on(async {
        for legacy in [None, Some(Version::V2025_11_25), Some(Version::V2024_11_05)] {
            let client = match legacy {
                None => Client::new(&server),
                Some(version) => Client::legacy(&server, version).await,
            };
            let quiet = client.call("quiet", json!({})).await;
            assert_eq!(quiet["content"][0]["text"], "0");
            let falling = client.start("falling", json!({})).await.answer().await;
            assert_eq!(falling["content"][0]["text"], "0");
        }
    });
}
