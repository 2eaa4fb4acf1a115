//! Log messages: for those who asked, of a server that says that it sends them, before the answer.

use std::sync::Arc;

use serde_json::{Value, json};
use smol::future;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol_mcp::protocol::{LogLevel, Version};
use smol_mcp::{Builder, Context, Limits, NoInput, Tool, lines, testing};

use crate::stage;
use crate::talk::{self, META, Talk};

fn logging(builder: Builder) -> Builder {
    builder.tool(Tool::new("go", |_: NoInput, cx: Context| async move {
        cx.log(LogLevel::Debug, "d");
        cx.log(LogLevel::Warning, json!({ "w": 1 }));
        cx.log(LogLevel::Emergency, json!(null));
    }))
}

fn message(level: &str, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":{data}}}}}"#
    )
}

const DONE: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],$SEAL}}"#;

fn go(level: Option<&str>) -> String {
    let level = level.map(|level| format!(r#""io.modelcontextprotocol/logLevel":"{level}","#));
    let meta = META.replace(":{\"", &format!(":{{{}\"", level.unwrap_or_default()));
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"go",{meta}}}}}"#)
}

// R223, R224, R13: by each request's own level, whatever an earlier one said.
#[test]
fn a_modern_request_gets_what_its_own_level_asks_for() {
    let talk = Talk::with(&logging(talk::builder()).logging().build().unwrap());
    let (debug, warning, emergency) = (
        message("debug", r#""d""#),
        message("warning", r#"{"w":1}"#),
        message("emergency", "null"),
    );
    talk.says(go(Some("debug")), &[&debug, &warning, &emergency, DONE]);
    talk.says(go(None), &[DONE]);
    talk.says(go(Some("warning")), &[&warning, &emergency, DONE]);
    talk.says(go(Some("emergency")), &[&emergency, DONE]);
}

// R222: a server that does not declare the capability sends none.
#[test]
fn a_server_that_does_not_declare_logging_sends_no_messages() {
    let talk = Talk::with(&logging(talk::builder()).build().unwrap());
    talk.says(go(Some("debug")), &[DONE]);
    let discovered =
        talk.asks(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{$META}}"#);
    assert_eq!(discovered["result"]["capabilities"], json!({ "tools": {} }));
    let declares = Talk::with(&logging(talk::builder()).logging().build().unwrap());
    let discovered =
        declares.asks(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{$META}}"#);
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({ "logging": {}, "tools": {} })
    );
}

// R227, R228
#[test]
fn a_legacy_session_gets_what_it_set_its_level_to() {
    for version in [
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ] {
        let server = logging(talk::builder()).logging().build().unwrap();
        let talk = Talk(smol::block_on(smol_mcp::testing::Client::legacy(
            &server, version,
        )));
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"go"}}"#;
        let done = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
        let emergency = message("emergency", "null");
        talk.says(call, &[done]);
        let set = |level: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{{"level":{level}}}}}"#
            )
        };
        talk.says(
            set(r#""alert""#),
            &[r#"{"jsonrpc":"2.0","id":8,"result":{}}"#],
        );
        talk.says(call, &[&emergency, done]);
        for level in [r#""loud""#, "3", "null"] {
            let answer = talk.asks(set(level));
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        talk.says(call, &[&emergency, done]);
        // A modern request on the same connection has nothing of it.
        talk.says(go(None), &[DONE]);
    }
}

/// Logs so many numbers, and lets others run after each if it `pauses`.
fn chatter(count: u64, pauses: bool) -> Tool {
    Tool::new("go", move |_: NoInput, cx: Context| async move {
        for number in 0..count {
            let level = match number {
                1 => LogLevel::Error,
                _ => LogLevel::Info,
            };
            cx.log(level, number);
            if pauses {
                future::yield_now().await;
            }
        }
    })
}

// Every queue has a bound. What is left out is told of in its place, at the greatest of its levels.
#[test]
fn of_too_many_log_messages_at_once_the_oldest_are_left_out_and_the_client_is_told_how_many() {
    for (count, missed) in [
        (4, None),
        (5, Some("1 message was left out: it was not read in time")),
        (
            9,
            Some("5 messages were left out: they were not read in time"),
        ),
    ] {
        let mut limits = Limits::default();
        limits.log_backlog = 4;
        let server = talk::builder().logging().limits(limits);
        let talk = Talk::with(&server.tool(chatter(count, false)).build().unwrap());
        let mut expected = Vec::new();
        if let Some(missed) = missed {
            let level = if count > 5 { "error" } else { "info" };
            expected.push(message(level, &format!("{missed:?}")));
        }
        for number in count - 4..count {
            let level = if number == 1 { "error" } else { "info" };
            expected.push(message(level, &number.to_string()));
        }
        expected.push(DONE.to_owned());
        let expected: Vec<_> = expected.iter().map(|line| &**line).collect();
        talk.says(go(Some("debug")), &expected);
    }
}

// With a client that does not read for a long time, and then reads all: the numbers are there, or counted.
#[test]
fn a_client_that_does_not_read_learns_how_much_it_has_missed() {
    const COUNT: u64 = 20_000;
    let executor = Arc::new(smol::Executor::new());
    let server = talk::builder().logging().limits(stage::limits());
    let server = server.tool(chatter(COUNT, true));
    let server = server.executor(executor.clone()).build().unwrap();
    let (their_input, mut input) = testing::pipe(4096);
    let (mut output, their_output) = testing::pipe(4096);
    let served = server.clone();
    let serving =
        executor.spawn(async move { lines::serve(&served, their_input, their_output).await });
    let call = go(Some("debug")).replace("$META", META) + "\n";
    let test = async {
        input.write_all(call.as_bytes()).await.unwrap();
        while server.calls_in_flight() == 0 {
            future::yield_now().await;
        }
        while server.calls_in_flight() > 0 {
            future::yield_now().await;
        }
        drop(input);
        let mut text = String::new();
        output.read_to_string(&mut text).await.unwrap();
        serving.await.unwrap();
        text
    };
    let text = stage::within("the end of the connection", executor.run(test));
    let (mut next, mut told) = (0, 0);
    for line in text.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        match &message["params"]["data"] {
            Value::Number(number) => {
                assert_eq!(number.as_u64(), Some(next));
                next += 1;
            }
            Value::String(text) => {
                let count = text.split_once(' ').unwrap().0;
                next += count.parse::<u64>().unwrap();
                told += 1;
            }
            _ => assert_eq!(message["id"], 7),
        }
    }
    assert_eq!(next, COUNT);
    assert!(told > 0, "all of it was read in time");
}

#[test]
fn a_server_that_could_keep_no_log_message_is_refused() {
    let mut limits = Limits::default();
    limits.log_backlog = 0;
    let refused = talk::builder().limits(limits).build().unwrap_err();
    let expected = "the limit `log_backlog` must be at least 1";
    assert!(refused.to_string().contains(expected), "{refused}");
}
