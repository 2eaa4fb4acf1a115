//! Tools that block a thread.

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde::Deserialize;
use smol_mcp::protocol::ToolResult;
use smol_mcp::signal::Reason;
use smol_mcp::{Context, HandlerError, NoInput, Tool};

use crate::client;
use crate::common::{call, cancel, each, server, text};

#[derive(Deserialize)]
struct Count {
    to: u32,
}

#[test]
fn a_blocking_tool_takes_and_returns_what_others_do() {
    let tool = Tool::blocking("t", |input: Count, cx: Context| {
        cx.signal().sleep_blocking(Duration::from_millis(1))?;
        if input.to > 9 {
            return Err(HandlerError::public("'to' must be at most 9."));
        }
        assert_ne!(input.to, 5, "not this one");
        Ok(ToolResult::text(format!("counted to {}", input.to)))
    });
    each(
        tool,
        &[
            (r#"{"to":3}"#, Ok("counted to 3")),
            (r#"{"to":3.0}"#, Ok("counted to 3")),
            (r#"{"to":10}"#, Err("'to' must be at most 9.")),
            (r#"{"to":5}"#, Err("The tool failed.")),
            (
                r#"{"to":-1}"#,
                Err("Invalid argument 'to': invalid value: integer `-1`, expected u32."),
            ),
        ],
    );
}

#[test]
fn a_blocking_tool_is_cancelled_while_it_computes() {
    let (told, ended) = async_channel::bounded(1);
    let (begin, begun) = async_channel::bounded(1);
    let tool = Tool::blocking("t", move |_: NoInput, cx: Context| {
        begin.try_send(()).unwrap();
        let mut rounds = 0_u64;
        while cx.signal().check().is_ok() {
            rounds = rounds.wrapping_add(std::hint::black_box(1));
        }
        let cancelled = matches!(cx.signal().reason(), Some(Reason::Cancelled(None)));
        told.try_send(cancelled).unwrap();
        format!("{rounds}")
    });
    let other = Tool::new("other", async |_: NoInput| "done");
    client::with(&server([tool, other]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        begun.recv().await.unwrap();
        // The connection is served meanwhile.
        client.send(&call(2, "other", "{}")).await;
        client.expect(&text(2, "done")).await;
        client.send(&cancel(1)).await;
        assert_eq!(ended.recv().await, Ok(true));
        client.expect_nothing().await;
    });
}

/// Runs in a process of its own, whose pool has one thread.
#[test]
fn a_blocking_call_that_is_cancelled_while_the_pool_is_busy_never_starts() {
    const NAME: &str =
        "blocking::a_blocking_call_that_is_cancelled_while_the_pool_is_busy_never_starts";
    if env::var("BLOCKING_MAX_THREADS").as_deref() != Ok("1") {
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env("BLOCKING_MAX_THREADS", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("1 passed"),
            "{output:?}"
        );
        return;
    }
    let (release, released) = mpsc::channel();
    let released = Mutex::new(released);
    let started = Arc::new(AtomicUsize::new(0));
    let seen = started.clone();
    let tool = Tool::blocking("t", move |_: NoInput, _: Context| {
        seen.fetch_add(1, Ordering::SeqCst);
        released.lock().unwrap().recv().unwrap();
        "done"
    });
    client::with(&server([tool]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.send(&call(2, "t", "{}")).await;
        client.send(&cancel(2)).await;
        client.expect_nothing().await;
        release.send(()).unwrap();
        client.expect(&text(1, "done")).await;
        // Behind the second call in the queue of the pool: once this one has begun, that one is over.
        client.send(&call(3, "t", "{}")).await;
        release.send(()).unwrap();
        client.expect(&text(3, "done")).await;
    });
    assert_eq!(started.load(Ordering::SeqCst), 2);
}
