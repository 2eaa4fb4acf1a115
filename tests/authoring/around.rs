//! What the author runs around calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use smol_mcp::protocol::{
    Completion, PromptInfo, PromptResult, ResourceContents, ResourceInfo, ResourceTemplateInfo,
    ToolResult,
};
use smol_mcp::{
    Builder, Context, HandlerError, Next, NoInput, Outcome, Prompt, Resource, ResourceTemplate,
    Server, Tool,
};

use crate::client::{self, modern};
use crate::common::{builder, call, cancel, failure, result, text};

/// What happened, in order.
#[derive(Clone, Default)]
struct Record(Arc<Mutex<Vec<String>>>);

impl Record {
    fn add(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    #[track_caller]
    fn expect(&self, texts: &[&str]) {
        assert_eq!(*self.0.lock().unwrap(), texts);
        self.0.lock().unwrap().clear();
    }
}

/// Records what it sees before and after.
fn recording(builder: Builder, name: &'static str, record: &Record) -> Builder {
    let record = record.clone();
    builder.around(move |cx: Context, next: Next| {
        let record = record.clone();
        async move {
            record.add(format!("{name}: {} {}", cx.method(), cx.subject()));
            let outcome = next.run().await;
            record.add(format!("{name}: {}", describe(&outcome)));
            outcome
        }
    })
}

fn describe(outcome: &Result<Outcome, HandlerError>) -> String {
    match outcome {
        Ok(outcome) if outcome.is_error() => "is_error".to_owned(),
        Ok(outcome) => format!("ok, of a tool: {}", outcome.tool_result().is_some()),
        Err(err) => format!("{err:?}"),
    }
}

fn handler(record: &Record) -> Tool {
    let record = record.clone();
    Tool::new("t", move |_: NoInput| {
        record.add("handler");
        async { "done" }
    })
}

#[test]
fn the_first_function_is_the_outermost() {
    let record = Record::default();
    let builder = recording(builder().tool(handler(&record)), "outer", &record);
    let server = recording(builder, "inner", &record).build().unwrap();
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client.expect(&text(1, "done")).await;
    });
    record.expect(&[
        "outer: tools/call t",
        "inner: tools/call t",
        "handler",
        "inner: ok, of a tool: true",
        "outer: ok, of a tool: true",
    ]);
}

#[test]
fn a_call_may_be_refused_before_its_handler_begins() {
    let record = Record::default();
    let blocking = record.clone();
    let server = builder()
        .tool(handler(&record))
        .tool(Tool::blocking("blocking", move |_: NoInput, _| {
            blocking.add("blocking")
        }))
        .around(async |cx: Context, next: Next| {
            smol::future::yield_now().await;
            match cx.client_info() {
                Some(_) => next.run().await,
                None => Err(HandlerError::public("Say who you are.")),
            }
        })
        .build()
        .unwrap();
    client::with(&server, async |client| {
        for (id, tool) in [(1, "t"), (2, "blocking")] {
            client.send(&call(id, tool, "{}")).await;
            client.expect(&failure(id, "Say who you are.")).await;
        }
    });
    record.expect(&[]);
}

#[test]
fn it_sees_how_calls_fail() {
    let record = Record::default();
    let builder = builder()
        .tool(Tool::new("input", async |_: Vec<u8>| "done"))
        .tool(Tool::new("result", async |_: NoInput| {
            ToolResult::error("no")
        }))
        .tool(Tool::new("public", async |_: NoInput| {
            Err::<(), _>(HandlerError::public("no"))
        }))
        .tool(Tool::new("panic", async |_: NoInput| -> () {
            smol::future::yield_now().await;
            panic!("oh")
        }))
        .tool(Tool::new(
            "panic_at_once",
            |_: NoInput| -> std::future::Ready<()> { panic!("oh") },
        ));
    let server = recording(builder, "hook", &record).build().unwrap();
    client::with(&server, async |client| {
        for (id, (tool, seen, said)) in (1..).zip([
            (
                "input",
                "is_error",
                "Invalid arguments: invalid type: map, expected a sequence.",
            ),
            ("result", "is_error", "no"),
            ("public", "HandlerError(public: no)", "no"),
            (
                "panic",
                "HandlerError(broken: the handler panicked: oh)",
                "The tool failed.",
            ),
            (
                "panic_at_once",
                "HandlerError(broken: the handler panicked: oh)",
                "The tool failed.",
            ),
        ]) {
            client.send(&call(id, tool, "{}")).await;
            client.expect(&failure(id, said)).await;
            record.expect(&[
                &format!("hook: tools/call {tool}"),
                &format!("hook: {seen}"),
            ]);
        }
    });
}

#[test]
fn it_may_change_what_a_tool_returns() {
    let tool = Tool::new("t", async |_: NoInput| ToolResult::text("done"));
    let server = builder()
        .tool(tool)
        .around(async |_, next: Next| {
            let mut outcome = next.run().await?;
            if let Some(result) = outcome.tool_result_mut() {
                result.meta.insert("seen".into(), true.into());
            }
            Ok(outcome)
        })
        .build()
        .unwrap();
    client::with(&server, async |client| {
        let answer = client.ask(&call(1, "t", "{}")).await;
        assert!(answer.contains(r#"},"seen":true}}}"#), "{answer}");
    });
}

#[test]
fn everything_that_has_a_handler_passes_through_it() {
    let record = Record::default();
    let template = ResourceTemplate::new(
        ResourceTemplateInfo::new("log:///{build}", "log"),
        async |uri: String, _, _| ResourceContents::text(uri, "log"),
    );
    let builder = builder()
        .tool(handler(&record))
        .resource(Resource::new(
            ResourceInfo::new("memo:///x", "x"),
            async |uri: String, _| ResourceContents::text(uri, "memo"),
        ))
        .resource_template(template.unwrap())
        .prompt(Prompt::new(PromptInfo::new("p"), async |_, _| {
            PromptResult::user("hi")
        }))
        .completion(async |_, _| Ok(Completion::default()));
    let server = recording(builder, "hook", &record).build().unwrap();
    client::with(&server, async |client| {
        for (method, params) in [
            ("resources/read", r#""uri":"memo:///x","#),
            ("resources/read", r#""uri":"log:///7","#),
            ("prompts/get", r#""name":"p","#),
            (
                "completion/complete",
                r#""ref":{"type":"ref/resource","uri":"log:///{build}"},"argument":{"name":"build","value":""},"#,
            ),
            ("tools/list", ""),
            ("server/discover", ""),
        ] {
            let answer = client.ask(&modern("1", method, params, "{}")).await;
            assert!(answer.contains(r#""result":"#), "{answer}");
        }
    });
    record.expect(&[
        "hook: resources/read memo:///x",
        "hook: ok, of a tool: false",
        "hook: resources/read log:///7",
        "hook: ok, of a tool: false",
        "hook: prompts/get p",
        "hook: ok, of a tool: false",
        "hook: completion/complete build",
        "hook: ok, of a tool: false",
    ]);
}

#[test]
fn a_call_that_is_cancelled_while_a_function_waits_never_starts_its_handler() {
    let record = Record::default();
    let (begin, begun) = async_channel::bounded(1);
    let (end, ended) = async_channel::bounded(1);
    let server = builder()
        .tool(handler(&record))
        .around(move |cx: Context, next: Next| {
            let (begin, end) = (begin.clone(), end.clone());
            async move {
                let _ = begin.send(()).await;
                cx.signal().aborted().await;
                let outcome = next.run().await;
                let _ = end.send(describe(&outcome)).await;
                outcome
            }
        })
        .build()
        .unwrap();
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        begun.recv().await.unwrap();
        client.send(&cancel(1)).await;
        let aborted = "HandlerError(unexpected: aborted: cancelled by the client)";
        assert_eq!(ended.recv().await.as_deref(), Ok(aborted));
        client.expect_nothing().await;
    });
    record.expect(&[]);
}

#[test]
fn it_runs_under_the_deadline_of_the_call() {
    let tool = Tool::new("t", async |_: NoInput| "done").deadline(Duration::from_millis(20));
    let server = builder()
        .tool(tool)
        .around(async |cx: Context, next: Next| {
            cx.signal().aborted().await;
            next.run().await
        })
        .build()
        .unwrap();
    client::with(&server, async |client| {
        client.send(&call(1, "t", "{}")).await;
        client
            .expect(&failure(1, "The deadline of this call has passed."))
            .await;
    });
}

#[test]
fn it_gets_the_arguments_to_the_handler_whenever_that_begins() {
    let tool = Tool::new("t", async |input: serde_json::Value| {
        smol_mcp::Structured(input)
    });
    let server: Server = builder()
        .tool(tool.input_schema(json!({ "type": "object" })))
        .around(async |_, next: Next| {
            smol::future::yield_now().await;
            next.run().await
        })
        .build()
        .unwrap();
    client::with(&server, async |client| {
        client.send(&call(1, "t", r#"{"a":[1]}"#)).await;
        let members =
            r#""content":[{"type":"text","text":"{\"a\":[1]}"}],"structuredContent":{"a":[1]}"#;
        client.expect(&result(1, members)).await;
    });
}

/// Tells somebody far away of a call.
async fn audit(outcome: &Result<Outcome, HandlerError>, record: &Record) {
    smol::future::yield_now().await;
    record.add(describe(outcome));
}

// The future has to be `Send` though it lends the outcome across an await.
#[test]
fn an_outcome_can_be_lent_to_what_is_awaited() {
    let record = Record::default();
    let audited = record.clone();
    let server = builder()
        .tool(Tool::new("t", async |_: NoInput| "done"))
        .around(move |_, next: Next| {
            let record = audited.clone();
            async move {
                let outcome = next.run().await;
                audit(&outcome, &record).await;
                outcome
            }
        });
    client::with(&server.build().unwrap(), async |client| {
        let answer = client.ask(&call(1, "t", "{}")).await;
        assert_eq!(answer, text(1, "done"));
    });
    record.expect(&["ok, of a tool: true"]);
}
