//! What the log tells of each request at level `debug`: one line, in one form, and nothing while nobody listens.
#![cfg(all(feature = "server", unix))]

#[path = "common/client.rs"]
mod client;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_channel::{Receiver, Sender};
use log::{Level, LevelFilter, Log, Metadata, Record};
use serde::Deserialize;
use smol::Executor;
use smol_mcp::protocol::{Elicit, FormSchema, ResourceInfo, ResourceTemplateInfo, ToolResult};
use smol_mcp::{
    Context, HandlerError, NoInput, Resource, ResourceTemplate, Server, Structured, Tool,
};

use client::{Client, modern};

/// Keeps what a level at most of `debug` lets through. There is one for the whole process, so one test has it at a time.
struct Logger(Mutex<Option<Sender<(Level, String)>>>);

static LOGGER: Logger = Logger(Mutex::new(None));
static TURN: Mutex<()> = Mutex::new(());

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("smol_mcp")
    }

    fn log(&self, record: &Record<'_>) {
        let ours = record.target() == "smol_mcp::calls" || record.level() < Level::Debug;
        if ours && self.enabled(record.metadata()) {
            let line = (record.level(), record.args().to_string());
            if let Some(to) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = to.try_send(line);
            }
        }
    }

    fn flush(&self) {}
}

/// The lines of one test.
struct Lines {
    lines: Receiver<(Level, String)>,
    _turn: MutexGuard<'static, ()>,
}

impl Lines {
    fn at(level: LevelFilter) -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let (to, lines) = async_channel::unbounded();
        *LOGGER.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
        // Another test may have set it.
        let _ = log::set_logger(&LOGGER);
        log::set_max_level(level);
        Self { lines, _turn: turn }
    }

    async fn next(&self) -> (Level, String) {
        self.lines.recv().await.expect("a line")
    }

    /// Expects the next line about a request, `…` standing for how long it took.
    async fn expect(&self, expected: &str) {
        let (level, line) = self.next().await;
        assert_eq!((level, &*without_time(&line)), (Level::Debug, expected));
    }

    fn expect_no_more(&self) {
        let line = self.lines.try_recv().ok();
        assert_eq!(line, None);
    }
}

fn without_time(line: &str) -> String {
    let Some((before, rest)) = line.split_once(" after ") else {
        return line.to_owned();
    };
    let end = rest.find(':').unwrap_or(rest.len());
    let (time, after) = rest.split_at(end);
    let digits = time.trim_end_matches(|c: char| c.is_alphabetic());
    assert!(
        digits.parse::<f64>().is_ok() && time.ends_with('s'),
        "{line}"
    );
    format!("{before} after …{after}")
}

#[derive(Deserialize)]
struct Input {
    #[allow(dead_code)]
    n: u32,
}

fn server(executor: &Arc<Executor<'static>>) -> Server {
    let never = async |_: NoInput, _: Context| std::future::pending::<()>().await;
    let heeds = async |_: NoInput, cx: Context| -> Result<(), HandlerError> {
        cx.signal().aborted().await;
        cx.signal().check()?;
        Ok(())
    };
    Server::builder("t", "0")
        .tool(Tool::new("fine", async |_: NoInput| "done"))
        .tool(Tool::new("reads", async |_: Input| "done"))
        .tool(Tool::new("public", async |_: NoInput| -> Result<(), _> {
            Err(HandlerError::public("No\nway"))
        }))
        .tool(Tool::new("says", async |_: NoInput| {
            ToolResult::error("No")
        }))
        .tool(Tool::new("panics", async |_: NoInput| -> () {
            panic!("oops")
        }))
        .tool(Tool::new("fails", async |_: NoInput| {
            "x".parse::<u32>().map(Structured)
        }))
        .tool(Tool::new("heeds", heeds))
        .tool(Tool::new("late", heeds).deadline(Duration::from_millis(5)))
        .tool(
            Tool::new("deaf", async |_: NoInput, cx: Context| {
                cx.signal().aborted().await;
                // Once more, so that its client is answered before it ends.
                smol::future::yield_now().await;
            })
            .deadline(Duration::from_millis(5)),
        )
        .tool(Tool::new("never", never))
        .tool(Tool::new(
            "asks",
            async |_: NoInput, cx: Context| -> Result<(), HandlerError> {
                let form = Elicit::form("Yes?", FormSchema::new());
                cx.elicit("yes", form).await?;
                Ok(())
            },
        ))
        .resource(Resource::new(ResourceInfo::new("a:b", "b"), |_, _| async {
            Err::<smol_mcp::protocol::ResourceContents, _>(HandlerError::not_found())
        }))
        .resource_template(
            ResourceTemplate::new(
                ResourceTemplateInfo::new("c:{+any}", "any"),
                |uri, _, _| async { smol_mcp::protocol::ResourceContents::text(uri, "") },
            )
            .expect("a template"),
        )
        .executor(executor.clone())
        .build()
        .expect("a server")
}

fn call(id: u32, tool: &str, arguments: &str) -> String {
    let params = format!(r#""name":"{tool}","arguments":{arguments},"#);
    modern(
        &id.to_string(),
        "tools/call",
        &params,
        r#"{"elicitation":{}}"#,
    )
}

fn cancel(id: u32) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"too\nslow"}}}}"#)
        .replace('\n', "\\n")
}

fn with(level: LevelFilter, test: impl AsyncFnOnce(&mut Client, &Lines)) {
    let lines = Lines::at(level);
    let executor = Arc::new(Executor::new());
    client::with(&server(&executor), async |client| {
        executor.run(test(client, &lines)).await;
        lines.expect_no_more();
    });
    // What handlers say that are dropped now is not for the next test.
    while executor.try_tick() {}
}

#[test]
fn what_is_answered_is_one_line() {
    with(LevelFilter::Debug, async |client, lines| {
        client.ask(&call(1, "fine", "{}")).await;
        lines.expect("tools/call fine (1): answered after …").await;
        client.ask(&modern(r#""a""#, "tools/list", "", "{}")).await;
        lines.expect(r#"tools/list ("a"): answered after …"#).await;
        client
            .ask(&modern("3", "resources/read", r#""uri":"c:d","#, "{}"))
            .await;
        lines
            .expect(r"resources/read c:d (3): answered after …")
            .await;
        client.ask(&call(4, "asks", "{}")).await;
        lines.expect("tools/call asks (4): asked after …").await;
    });
}

#[test]
fn what_fails_is_one_line_and_what_nobody_expected_is_an_error_too() {
    with(LevelFilter::Debug, async |client, lines| {
        for (tool, why) in [
            ("public", r"No\nway"),
            ("says", "No"),
            ("reads", "Invalid arguments: missing field `n`."),
        ] {
            client.ask(&call(1, tool, "{}")).await;
            lines
                .expect(&format!("tools/call {tool} (1): failed after …: {why}"))
                .await;
        }
        for (tool, why) in [
            ("panics", "the handler panicked: oops"),
            ("fails", "invalid digit found in string"),
        ] {
            client.ask(&call(2, tool, "{}")).await;
            lines
                .expect(&format!("tools/call {tool} (2): failed after …: {why}"))
                .await;
            let error = (Level::Error, format!("tools/call {tool} (2): {why}"));
            assert_eq!(lines.next().await, error);
        }
        client
            .ask(&modern("3", "resources/read", r#""uri":"a:b","#, "{}"))
            .await;
        lines
            .expect("resources/read a:b (3): failed after …: not found")
            .await;
    });
}

#[test]
fn what_is_refused_is_one_line_without_a_time() {
    with(LevelFilter::Debug, async |client, lines| {
        client.ask(&call(1, "none", "{}")).await;
        lines
            .expect("tools/call (1): refused: Unknown tool: none (-32602)")
            .await;
        client
            .ask(&modern(r#""\n""#, r"a\u001b[2J", "", "{}"))
            .await;
        lines
            .expect(r#"a\u{1b}[2J ("\n"): refused: Method not found: a\u{1b}[2J (-32601)"#)
            .await;
        client.send(&call(2, "never", "{}")).await;
        client.ask(&call(2, "fine", "{}")).await;
        lines
            .expect("tools/call (2): refused: Invalid request: 'id' is in use (-32600)")
            .await;
        client.send(&cancel(2)).await;
        client
            .ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#)
            .await;
        let (_, line) = lines.next().await;
        assert!(line.starts_with("tools/list (3): refused: "), "{line}");
    });
}

#[test]
fn what_is_cancelled_is_one_line_with_the_reason_once_its_handler_has_ended() {
    with(LevelFilter::Debug, async |client, lines| {
        client.send(&call(1, "heeds", "{}")).await;
        client.send(&cancel(1)).await;
        lines
            .expect(r"tools/call heeds (1): discarded after …: cancelled by the client: too\nslow")
            .await;
        let listen = modern("2", "subscriptions/listen", r#""notifications":{},"#, "{}");
        client.ask(&listen).await;
        client.send(&cancel(2)).await;
        lines
            .expect(
                r"subscriptions/listen (2): discarded after …: cancelled by the client: too\nslow",
            )
            .await;
    });
}

#[test]
fn what_is_late_is_one_line_once_its_handler_has_ended() {
    with(LevelFilter::Debug, async |client, lines| {
        client.ask(&call(1, "late", "{}")).await;
        lines
            .expect(r#"tools/call late (1): late after …: aborted: deadline "the call's deadline" passed"#)
            .await;
        client.ask(&call(2, "deaf", "{}")).await;
        lines
            .expect(r#"tools/call deaf (2): late after …: deadline "the call's deadline" passed"#)
            .await;
    });
}

/// An error that nobody may show.
#[derive(Debug)]
struct Unseen;

impl fmt::Display for Unseen {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("formatted although nobody listens")
    }
}

impl std::error::Error for Unseen {}

#[test]
fn without_debug_nothing_is_formatted() {
    let lines = Lines::at(LevelFilter::Off);
    let fails = Tool::new("fails", async |_: NoInput| Err::<(), _>(Unseen));
    let server = Server::builder("t", "0")
        .tool(fails)
        .build()
        .expect("a server");
    client::with(&server, async |client| {
        let answer = client.ask(&call(1, "fails", "{}")).await;
        assert!(answer.contains("The tool failed."), "{answer}");
        log::set_max_level(LevelFilter::Warn);
        client.ask(&call(1, "none", "{}")).await;
        client.ask(&modern("2", "tools/list", "", "{}")).await;
    });
    lines.expect_no_more();
}

/// What cannot be written.
#[derive(Debug)]
struct Unwritable;

impl fmt::Display for Unwritable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("on purpose")
    }
}

impl std::error::Error for Unwritable {}

#[test]
fn an_error_that_panics_while_it_is_written_keeps_nobody_from_an_answer() {
    let lines = Lines::at(LevelFilter::Debug);
    let server = Server::builder("t", "0")
        .tool(Tool::new("fail", async |_: NoInput| {
            Err::<(), _>(Unwritable)
        }))
        .build()
        .unwrap();
    smol::block_on(async {
        let client = smol_mcp::testing::Client::new(&server);
        let result = client.call("fail", serde_json::json!({})).await;
        assert_eq!(result["content"][0]["text"], "The tool failed.", "{result}");
        // The line about the request, and the one for the operator.
        for _ in 0..2 {
            let told = "a hook panicked: on purpose";
            assert_eq!(lines.next().await, (Level::Error, told.to_owned()));
        }
    });
}
