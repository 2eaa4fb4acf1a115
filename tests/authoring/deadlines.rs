//! Deadlines that the author sets: per tool, and for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_channel::Sender;
use smol_mcp::protocol::{PromptInfo, PromptResult};
use smol_mcp::signal::Reason;
use smol_mcp::{Builder, Context, HandlerError, NoInput, Prompt, Server, Tool};

use crate::client::{self, modern};
use crate::common::{builder, call, failure, text};

const SHORT: Duration = Duration::from_millis(40);
const LONG: Duration = Duration::from_secs(600);
const LATE: &str = "The deadline of this call has passed.";

/// A server that counts its diagnostics.
fn counting(builder: Builder) -> (Server, Arc<AtomicUsize>) {
    let failures = Arc::new(AtomicUsize::new(0));
    let counted = failures.clone();
    let builder = builder.on_error(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    (builder.build().unwrap(), failures)
}

/// Heeds its signal.
async fn heeding(_: NoInput, cx: Context) -> Result<&'static str, HandlerError> {
    cx.signal().sleep(LONG).await?;
    Ok("done")
}

#[test]
fn a_handler_that_heeds_its_deadline_is_answered_for_with_a_public_text() {
    let tool = Tool::new("t", heeding).deadline(SHORT);
    let (server, failures) = counting(builder().tool(tool));
    client::with(&server, async |client| {
        let begun = Instant::now();
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, LATE)).await;
        assert!(begun.elapsed() >= SHORT);
    });
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

#[test]
fn a_handler_may_say_what_its_deadline_means() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        match cx.signal().sleep(LONG).await {
            Ok(()) => Ok("done"),
            Err(aborted) if matches!(aborted.reason(), Reason::Deadline(_)) => Ok("half of it"),
            Err(_) => Err(HandlerError::public("stopped")),
        }
    });
    let (server, _) = counting(builder().tool(tool.deadline(SHORT)));
    client::with(&server, async |client| {
        let answer = client.ask(&call(1, "t", "{}")).await;
        // Who is first, the handler or the answer for it, is open.
        assert!(
            [text(1, "half of it"), failure(1, LATE)].contains(&answer),
            "{answer}"
        );
    });
}

#[test]
fn a_handler_that_ignores_its_deadline_runs_on_and_its_result_is_thrown_away() {
    let (go, wait) = async_channel::bounded::<()>(1);
    let (end, ended) = async_channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let (wait, end) = (wait.clone(), end.clone());
        async move {
            let _ = wait.recv().await;
            let _ = end.send(cx.signal().is_aborted()).await;
            cx.progress(1, None, "too late");
            Err::<(), _>(HandlerError::unexpected("too late"))
        }
    });
    let (server, failures) = counting(builder().tool(tool.deadline(SHORT)));
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, LATE)).await;
        // The id is not free before the handler has settled.
        let answer = client.ask(&call(1, "t", "{}")).await;
        assert!(answer.contains("'id' is in use"), "{answer}");
        go.send(()).await.unwrap();
        assert_eq!(ended.recv().await, Ok(true));
        client.expect_nothing().await;
    });
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

/// Passes on what is logged as a warning of the tool `overdue`.
struct Warnings(Sender<String>);

impl log::Log for Warnings {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() == log::Level::Warn
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        if self.enabled(record.metadata()) && line.contains("overdue") {
            let _ = self.0.try_send(line);
        }
    }

    fn flush(&self) {}
}

// failures.md: one hung call blocks its client, and no line in the log tells of it.
#[test]
fn a_handler_that_runs_for_twice_its_deadline_is_warned_of_once() {
    let (tell, warnings) = async_channel::unbounded();
    log::set_logger(Box::leak(Box::new(Warnings(tell)))).expect("the only logger");
    log::set_max_level(log::LevelFilter::Warn);
    let (go, wait) = async_channel::bounded::<()>(1);
    let tool = Tool::new("overdue", move |_: NoInput| {
        let wait = wait.clone();
        async move {
            let _ = wait.recv().await;
            // Its waker is called once more.
            smol::future::yield_now().await;
        }
    });
    let (server, failures) = counting(builder().tool(tool.deadline(SHORT)));
    client::with(&server, async |client| {
        let begun = Instant::now();
        client.send(&call(1, "overdue", "{}")).await;
        client.expect(&failure(1, LATE)).await;
        let line = warnings.recv().await.expect("a warning");
        assert!(begun.elapsed() >= SHORT * 2);
        let named = "tools/call overdue (1): still runs after ";
        assert!(line.starts_with(named), "{line}");
        go.send(()).await.unwrap();
        client.expect_nothing().await;
    });
    assert!(warnings.is_empty());
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

#[test]
fn a_deadline_that_is_not_reached_changes_nothing() {
    let waits = Tool::new("waits", async |_: NoInput, cx: Context| {
        cx.signal()
            .sleep(Duration::from_millis(1))
            .await
            .map(|()| "done")
    });
    let ready = Tool::new("ready", async |_: NoInput, cx: Context| {
        format!(
            "{}",
            cx.signal().remaining().is_some_and(|left| left <= LONG)
        )
    });
    let (server, _) = counting(
        builder()
            .tool(waits.deadline(LONG))
            .tool(ready.deadline(LONG)),
    );
    client::with(&server, async |client| {
        client.send(&call(1, "waits", "{}")).await;
        client.expect(&text(1, "done")).await;
        client.send(&call(2, "ready", "{}")).await;
        client.expect(&text(2, "true")).await;
    });
}

#[test]
fn the_servers_deadline_holds_for_every_handler_without_one_of_its_own() {
    let own = Tool::new("own", async |_: NoInput, cx: Context| {
        let left = cx.signal().remaining().expect("a deadline");
        format!("{}", left > Duration::from_secs(60))
    });
    let prompt = Prompt::new(PromptInfo::new("p"), async |_, cx: Context| {
        cx.signal().sleep(LONG).await?;
        Ok::<_, HandlerError>(PromptResult::user("hi"))
    });
    let builder = builder()
        .deadline(SHORT)
        .tool(Tool::new("t", heeding))
        .tool(own.deadline(LONG))
        .prompt(prompt);
    let (server, failures) = counting(builder);
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, LATE)).await;
        client.send(&call(2, "own", "{}")).await;
        client.expect(&text(2, "true")).await;
        client
            .send(&modern("3", "prompts/get", r#""name":"p","#, "{}"))
            .await;
        let error = format!(r#"{{"code":-32603,"message":"{LATE}"}}"#);
        client
            .expect(&format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#))
            .await;
    });
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

#[test]
fn a_deadline_of_the_handlers_own_is_an_ordinary_failure() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        cx.signal().any(SHORT).sleep(LONG).await.map(|()| "done")
    });
    let (server, failures) = counting(builder().tool(tool));
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, "The tool failed.")).await;
    });
    assert_eq!(failures.load(Ordering::SeqCst), 1);
}

#[test]
fn a_handler_that_is_dropped_on_abort_is_dropped_at_its_deadline() {
    let tool = Tool::new("t", async |_: NoInput| std::future::pending::<()>().await);
    let (server, failures) = counting(builder().tool(tool.deadline(SHORT).drop_on_abort()));
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, LATE)).await;
        // Settled: the id is free.
        while server.calls_in_flight() > 0 {
            smol::future::yield_now().await;
        }
        client.send(&call(1, "t", "{}")).await;
        client.expect(&failure(1, LATE)).await;
    });
    assert_eq!(failures.load(Ordering::SeqCst), 0);
}

#[test]
fn subscriptions_have_no_deadline() {
    let builder = builder()
        .deadline(SHORT)
        .tool(Tool::new("t", heeding))
        .list_changed([smol_mcp::List::Tools]);
    let (server, _) = counting(builder);
    client::with(&server, async |client| {
        let listen = r#""notifications":{"toolsListChanged":true},"#;
        client
            .send(&modern("1", "subscriptions/listen", listen, "{}"))
            .await;
        let acknowledged = client.next().await;
        assert!(acknowledged.contains("acknowledged"), "{acknowledged}");
        // Answered when as much time has passed.
        client.send(&call(2, "t", "{}")).await;
        client.expect(&failure(2, LATE)).await;
        server.list_changed(smol_mcp::List::Tools);
        let changed = client.next().await;
        assert!(
            changed.contains("notifications/tools/list_changed"),
            "{changed}"
        );
    });
}
