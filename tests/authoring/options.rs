//! Checks before the handler, and handlers that are dropped.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::Value;
use smol_mcp::{Context, HandlerError, NoInput, Tool};

use crate::client;
use crate::common::{call, cancel, each, server, text};

#[derive(Deserialize)]
struct Table {
    table: u64,
}

async fn is_free(arguments: Value, _: Context) -> Result<(), HandlerError> {
    smol::future::yield_now().await;
    match arguments["table"].as_u64() {
        Some(1..=8) => Ok(()),
        Some(9) => Err(HandlerError::unexpected("the plan of tables is lost")),
        _ => Err(HandlerError::public("'table' must be 1 to 8.")),
    }
}

#[test]
fn a_check_runs_before_the_handler_and_ends_the_call_like_it() {
    let tool = Tool::new("t", async |input: Table| format!("table {}", input.table));
    each(
        tool.check_with(is_free),
        &[
            (r#"{"table":3}"#, Ok("table 3")),
            (r#"{"table":10}"#, Err("'table' must be 1 to 8.")),
            (r#"{"table":9}"#, Err("The tool failed.")),
            (r#"{}"#, Err("'table' must be 1 to 8.")),
        ],
    );
}

#[test]
fn what_passes_the_check_still_has_to_be_an_input() {
    let tool = Tool::new("t", async |input: Table| format!("table {}", input.table));
    each(
        tool.check_with(async |_, _| Ok(())),
        &[(
            r#"{"table":"x"}"#,
            Err("Invalid argument 'table': invalid type: string \"x\", expected u64."),
        )],
    );
}

/// Tells over a channel when it is dropped.
struct Told(async_channel::Sender<&'static str>, &'static str);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.try_send(self.1);
    }
}

#[test]
fn a_call_that_is_cancelled_while_it_is_checked_never_starts_its_handler() {
    let (checking, begun) = async_channel::bounded(1);
    let (done, checked) = async_channel::bounded(1);
    let started = Arc::new(AtomicBool::new(false));
    let seen = started.clone();
    let tool = Tool::new("t", move |_: NoInput| {
        seen.store(true, Ordering::SeqCst);
        async { "done" }
    })
    .check_with(move |_, cx: Context| {
        let (checking, done) = (checking.clone(), done.clone());
        async move {
            // The check does not heed the signal, and lets the call pass.
            checking.send(()).await?;
            cx.signal().aborted().await;
            let _told = Told(done, "checked");
            Ok(())
        }
    });
    client::with(&server([tool]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        begun.recv().await.unwrap();
        client.send(&cancel(1)).await;
        assert_eq!(checked.recv().await, Ok("checked"));
        client.expect_nothing().await;
    });
    assert!(!started.load(Ordering::SeqCst), "the handler has started");
}

#[test]
fn a_handler_that_wishes_so_is_dropped_when_its_call_is_cancelled() {
    let (sender, dropped) = async_channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput| {
        let told = Told(sender.clone(), "dropped");
        async move {
            let _told = told;
            pending::<()>().await;
        }
    });
    let quick = Tool::new("quick", async |_: NoInput| "done").drop_on_abort();
    client::with(&server([tool.drop_on_abort(), quick]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect_nothing().await;
        client.send(&cancel(1)).await;
        assert_eq!(dropped.recv().await, Ok("dropped"));
        client.expect_nothing().await;
        // Without a cancellation it makes no difference.
        client.send(&call(2, "quick", "{}")).await;
        client.expect(&text(2, "done")).await;
    });
}

#[test]
fn a_handler_that_does_not_wish_so_runs_to_its_end() {
    let (sender, ended) = async_channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let sender = sender.clone();
        async move {
            cx.signal().aborted().await;
            smol::future::yield_now().await;
            let _ = sender.send("ended").await;
        }
    });
    client::with(&server([tool]), async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect_nothing().await;
        client.send(&cancel(1)).await;
        assert_eq!(ended.recv().await, Ok("ended"));
        client.expect_nothing().await;
    });
}
