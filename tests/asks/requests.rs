//! Questions by requests of the server's own, before 2026-07-28.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::with;
use crate::common::*;
use serde_json::{Value, json};
use smol_mcp::protocol::{CreateMessage, Elicit, Field, FormSchema, SamplingMessage};
use smol_mcp::{Ask, AskError, Context, HandlerError, Limits, NoInput, Tool};

#[test]
fn the_same_handler_asks_a_legacy_client_by_a_request() {
    // R288, R290; legacy.md §5
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", ALL).await;
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]},"_meta":{"progressToken":1}}}"#;
        assert_eq!(client.ask(&legacy_call("1", "greet")).await, request);
        let answer =
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ada"}}}"#;
        assert_eq!(client.ask(answer).await, legacy_text("1", "Hello, Ada!"));
        // A second answer is an answer to nothing.
        client.send(answer).await;
        client
            .send(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#)
            .await;
        client.expect_nothing().await;
    });
}

#[test]
fn ids_of_the_servers_requests_are_never_used_again() {
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", ALL).await;
        for id in 1..4 {
            let request: Value =
                serde_json::from_str(&client.ask(&legacy_call("7", "greet")).await).unwrap();
            assert_eq!(request["id"], id);
            assert_eq!(request["params"]["_meta"]["progressToken"], id);
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"cancel"}}}}"#);
            assert_eq!(
                client.ask(&answer).await,
                legacy_text("7", "Hello, cancel.")
            );
        }
    });
}

#[test]
fn each_revision_is_asked_in_its_own_words() {
    // R264, R289; legacy.md §5
    let form = FormSchema::new()
        .required(
            "size",
            Field::choice([("s", "Small"), ("l", "Large")]).default_value("s"),
        )
        .optional("amount", Field::integer().default_value(3))
        .optional("gift", Field::boolean().default_value(true));
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let form = form.clone();
        async move {
            let action = cx
                .elicit("order", Elicit::form("Order", form))
                .await?
                .action;
            Ok::<_, HandlerError>(action.as_str())
        }
    });
    let server = serve(tool);
    let newest = r#"{"mode":"form","message":"Order","requestedSchema":{"type":"object","properties":{"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"s"},"amount":{"type":"integer","default":3},"gift":{"type":"boolean","default":true}},"required":["size"]},"_meta":{"progressToken":1}}"#;
    let older = r#"{"message":"Order","requestedSchema":{"type":"object","properties":{"size":{"enum":["s","l"],"enumNames":["Small","Large"],"type":"string"},"amount":{"type":"integer"},"gift":{"default":true,"type":"boolean"}},"required":["size"]},"_meta":{"progressToken":1}}"#;
    for (version, params) in [("2025-11-25", newest), ("2025-06-18", older)] {
        with(&server, async |client| {
            client.initialize(version, ALL).await;
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{params}}}"#
            );
            assert_eq!(client.ask(&legacy_call("1", "t")).await, request);
            let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
            assert_eq!(client.ask(answer).await, legacy_text("1", "decline"));
        });
    }
    with(&server, async |client| {
        client.initialize("2025-03-26", ALL).await;
        let missing = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}"#;
        assert_eq!(client.ask(&legacy_call("1", "t")).await, missing);
    });
}

#[test]
fn pages_are_opened_from_2025_11_25_on_and_have_an_id() {
    // R289; legacy.md §5
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let page = Elicit::url("Sign in.", "https://h.example/");
        Ok::<_, HandlerError>(cx.elicit("page", page).await?.action.as_str())
    });
    let server = serve(tool);
    let missing = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"url":{}}}}}}"#;
    for (version, capabilities) in [
        ("2025-11-25", ALL),
        ("2025-06-18", r#"{"elicitation":{"url":{}}}"#),
    ] {
        with(&server, async |client| {
            client.initialize(version, capabilities).await;
            assert_eq!(client.ask(&legacy_call("1", "t")).await, missing);
        });
    }
    with(&server, async |client| {
        client
            .initialize("2025-11-25", r#"{"elicitation":{"url":{}}}"#)
            .await;
        let mut request: Value =
            serde_json::from_str(&client.ask(&legacy_call("1", "t")).await).unwrap();
        let id = request["params"]["elicitationId"].take();
        assert!(id.as_str().is_some_and(|id| id.len() > 20), "{id}");
        let expected = json!({"mode": "url", "message": "Sign in.", "url": "https://h.example/", "elicitationId": null, "_meta": {"progressToken": 1}});
        assert_eq!(request["params"], expected);
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#;
        assert_eq!(client.ask(answer).await, legacy_text("1", "accept"));
    });
}

#[test]
fn conversations_are_split_for_older_revisions() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let blocks = vec!["one".into(), "two".into()];
        let message = SamplingMessage::new(smol_mcp::protocol::Role::User, blocks);
        let answer = cx
            .sample("m", CreateMessage::new(5).message(message))
            .await?;
        Ok::<_, HandlerError>(answer.content[0].as_text().unwrap().to_owned())
    });
    let server = serve(tool);
    let split = r#"[{"role":"user","content":{"type":"text","text":"one"}},{"role":"user","content":{"type":"text","text":"two"}}]"#;
    let whole = r#"[{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}]"#;
    for (version, messages) in [
        ("2025-11-25", whole),
        ("2025-06-18", split),
        ("2024-11-05", split),
    ] {
        with(&server, async |client| {
            client.initialize(version, ALL).await;
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{{"messages":{messages},"maxTokens":5,"_meta":{{"progressToken":1}}}}}}"#
            );
            assert_eq!(client.ask(&legacy_call("1", "t")).await, request);
            let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text","text":"7"},"model":"m"}}"#;
            assert!(client.ask(answer).await.contains(r#""text":"7""#));
        });
    }
}

#[test]
fn a_legacy_client_without_the_capability_is_not_asked() {
    // R288
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", "{}").await;
        let missing = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}"#;
        assert_eq!(client.ask(&legacy_call("1", "greet")).await, missing);
        client.expect_nothing().await;
    });
}

#[test]
fn errors_of_the_client_are_told_apart() {
    // legacy.md §5: -1 is a refusal by the person
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        match cx.sample("m", question()).await {
            Err(err) if err.is_refused() => Ok("refused".to_owned()),
            Err(err) => Err(HandlerError::from(err)),
            Ok(_) => Ok("answered".to_owned()),
        }
    });
    with(&serve(tool), async |client| {
        client.initialize("2025-06-18", ALL).await;
        let cases = [
            (
                r#""error":{"code":-1,"message":"User rejected sampling request"}"#,
                legacy_text("1", "refused"),
            ),
            (
                r#""error":{"code":-32601,"message":"Method not found"}"#,
                legacy_failure("1", "The client refused: Method not found."),
            ),
            (r#""error":7"#, legacy_failure("1", "The client refused: .")),
            (
                r#""result":{"role":"assistant"}"#,
                legacy_failure("1", "Invalid answer to 'm': missing field `content`."),
            ),
        ];
        for (at, (answer, expected)) in cases.iter().enumerate() {
            client.send(&legacy_call("1", "t")).await;
            client.next().await;
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#, at + 1);
            assert_eq!(&client.ask(&answer).await, expected);
        }
    });
}

#[test]
fn a_question_without_an_answer_times_out_and_is_cancelled() {
    // R44, R144
    let mut limits = Limits::default();
    limits.ask_timeout = Duration::ZERO;
    let server = builder()
        .tool(Tool::new("greet", greet))
        .limits(limits)
        .build()
        .unwrap();
    with(&server, async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call("1", "greet")).await;
        assert!(client.next().await.contains("elicitation/create"));
        client.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"The request timed out","requestId":1}}"#).await;
        client
            .expect(&legacy_failure("1", "The client did not answer in time."))
            .await;
        client
            .send(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#)
            .await;
        client.expect_nothing().await;
    });
}

#[test]
fn progress_does_not_keep_a_question_open_for_ever() {
    // R45: the limit on each wait is far away, and so the one on all of them ends it.
    let mut limits = Limits::default();
    limits.ask_timeout = Duration::from_secs(3600);
    limits.ask_timeout_in_all = Duration::from_millis(50);
    let server = builder()
        .tool(Tool::new("greet", greet))
        .limits(limits)
        .build()
        .unwrap();
    with(&server, async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call("1", "greet")).await;
        assert!(client.next().await.contains("elicitation/create"));
        for progress in 1..100 {
            client
                .send(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":{progress}}}}}"#
                ))
                .await;
        }
        client.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"The request timed out","requestId":1}}"#).await;
        client
            .expect(&legacy_failure("1", "The client did not answer in time."))
            .await;
    });
}

#[test]
fn a_cancelled_call_takes_its_question_back() {
    // R144
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call("1", "greet")).await;
        assert!(client.next().await.contains("elicitation/create"));
        client
            .send(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            )
            .await;
        client.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"No longer needed","requestId":1}}"#).await;
        client
            .send(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#)
            .await;
        client.expect_nothing().await;
    });
}

#[test]
fn a_question_is_taken_back_before_the_answer_of_a_call_that_ends_otherwise() {
    let failed = |text: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":true}}}}"#
        )
    };
    let aborted = failed("The call was aborted.");
    for (end, answer) in [
        ("input", aborted.clone()),
        ("close", aborted),
        ("deadline", failed("The deadline of this call has passed.")),
    ] {
        let tool = match end {
            "deadline" => Tool::new("greet", greet).deadline(Duration::from_millis(200)),
            _ => Tool::new("greet", greet),
        };
        let server = serve(tool);
        with(&server, async |client| {
            client.initialize("2025-11-25", ALL).await;
            client.send(&legacy_call("1", "greet")).await;
            assert!(client.next().await.contains("elicitation/create"));
            let closing = match end {
                "input" => {
                    client.leave();
                    None
                }
                "close" => {
                    let server = server.clone();
                    Some(smol::spawn(async move {
                        server.close(Duration::from_secs(60)).await;
                    }))
                }
                _ => None,
            };
            client.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"No longer needed","requestId":1}}"#).await;
            client.expect(&answer).await;
            if let Some(closing) = closing {
                closing.await;
            }
        });
    }
}

#[test]
fn a_handler_that_waits_no_longer_takes_its_question_back() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let asked = async { cx.elicit("name", name_form()).await.map(|_| "answered") };
        let patience = async {
            smol::future::yield_now().await;
            Ok("gave up")
        };
        Ok::<_, HandlerError>(smol::future::or(asked, patience).await?)
    });
    with(&serve(tool), async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call("1", "t")).await;
        assert!(client.next().await.contains("elicitation/create"));
        client.expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"No longer needed","requestId":1}}"#).await;
        client.expect(&legacy_text("1", "gave up")).await;
    });
}

#[test]
fn questions_asked_at_once_are_all_sent_before_the_first_answer() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let answers = cx
            .ask(Ask::new().elicit("name", name_form()).roots("roots"))
            .await?;
        let (name, roots) = (
            answers.elicit("name").unwrap(),
            answers.roots("roots").unwrap(),
        );
        assert!(answers.sample("name").is_none());
        Ok::<_, HandlerError>(format!("{} {}", name.action, roots.roots.len()))
    });
    with(&serve(tool), async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call("1", "t")).await;
        assert!(client.next().await.contains("elicitation/create"));
        client.expect(r#"{"jsonrpc":"2.0","id":2,"method":"roots/list","params":{"_meta":{"progressToken":2}}}"#).await;
        client
            .send(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#)
            .await;
        client
            .send(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#)
            .await;
        client.expect(&legacy_text("1", "decline 0")).await;
    });
}

#[test]
fn progress_of_the_client_is_observed() {
    // P22
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = seen.clone();
    let server = builder()
        .tool(Tool::new("greet", greet))
        .on_progress(move |progressed| {
            let line = format!(
                "{} {} {} {} {:?} {:?}",
                progressed.call,
                progressed.key,
                progressed.method,
                progressed.progress,
                progressed.total,
                progressed.message
            );
            observed.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    with(&server, async |client| {
        client.initialize("2025-11-25", ALL).await;
        client.send(&legacy_call(r#""x""#, "greet")).await;
        client.next().await;
        for params in [
            r#"{"progressToken":1,"progress":1,"total":2,"message":"reading"}"#,
            r#"{"progressToken":2,"progress":1}"#,
            r#"{"progressToken":"1","progress":1}"#,
            r#"{"progressToken":1}"#,
            r#"{"progressToken":1,"progress":2.5}"#,
        ] {
            client
                .send(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
                ))
                .await;
        }
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#;
        assert_eq!(
            client.ask(answer).await,
            legacy_text(r#""x""#, "Hello, decline.")
        );
        let expected = [
            r#""x" user_name elicitation/create 1 Some(2.0) Some("reading")"#,
            r#""x" user_name elicitation/create 2.5 None None"#,
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
    });
}

#[test]
fn changed_roots_are_heard_without_a_word() {
    // R294
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", ALL).await;
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
            .await;
        client.expect_nothing().await;
    });
}

#[test]
fn an_error_around_a_question_without_an_answer_says_what_is_behind_it() {
    // basic/index: -32021 is an obligation, whatever a handler makes of the error
    #[derive(Debug)]
    struct Wrapped(AskError);
    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("could not ask")
        }
    }
    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        cx.roots("r").await.map(|_| "done").map_err(Wrapped)
    });
    with(&serve(tool), async |client| {
        let missing = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"roots":{}}}}}"#;
        assert_eq!(client.ask(&call("1", "t", "", "{}")).await, missing);
    });
}
