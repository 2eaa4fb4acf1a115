//! How handlers ask the client: by rounds from 2026-07-28 on, by requests of the server's own before.
#![cfg(all(feature = "server", unix))]

#[path = "common/client.rs"]
mod client;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{META, modern, text, with};
use serde_json::{Value, json};
use smol_mcp::protocol::{
    CreateMessage, Elicit, Field, FormSchema, PromptInfo, PromptResult, ResourceContents,
    ResourceInfo, SamplingContent, SamplingMessage,
};
use smol_mcp::{
    Ask, AskError, Builder, Context, HandlerError, Limits, NoInput, Prompt, Resource, Server, Tool,
};

const ALL: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;

fn builder() -> Builder {
    Server::builder("t", "0")
}

fn serve(tool: Tool) -> Server {
    builder().tool(tool).build().unwrap()
}

fn name_form() -> Elicit {
    let schema = FormSchema::new().required("name", Field::text());
    Elicit::form("What is your name?", schema)
}

fn question() -> CreateMessage {
    CreateMessage::new(100).message(SamplingMessage::user("Name a prime."))
}

async fn greet(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let answer = cx.elicit("user_name", name_form()).await?;
    match answer.is_accepted() {
        true => Ok(format!(
            "Hello, {}!",
            answer.content["name"].as_str().unwrap()
        )),
        false => Ok(format!("Hello, {}.", answer.action)),
    }
}

fn call(id: &str, tool: &str, params: &str, capabilities: &str) -> String {
    modern(
        id,
        "tools/call",
        &format!(r#""name":"{tool}",{params}"#),
        capabilities,
    )
}

/// The parts of an `input_required` result: its requests, and the state.
fn required(answer: &str) -> (Value, Option<String>) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let state = answer["result"]
        .get("requestState")
        .map(|state| state.as_str().unwrap().to_owned());
    (answer["result"]["inputRequests"].clone(), state)
}

const NAME_REQUEST: &str = r#""user_name":{"method":"elicitation/create","params":{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;

fn name_required(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"inputRequests":{{{NAME_REQUEST}}},"resultType":"input_required",{META}}}}}"#
    )
}

fn error(id: &str, code: i64, message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#,
        json!(message)
    )
}

// ---- by rounds ----

#[test]
fn a_single_question_needs_no_state() {
    // R243, R245, R247, R264; R340: no caching fields; fixture: must complete without a requestState.
    with(&serve(Tool::new("greet", greet)), async |client| {
        assert_eq!(
            client.ask(&call("1", "greet", "", ALL)).await,
            name_required("1")
        );
        let answers =
            r#""inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}},"#;
        assert_eq!(
            client.ask(&call("2", "greet", answers, ALL)).await,
            text("2", "Hello, Ada!")
        );
    });
}

#[test]
fn declining_and_turning_away_are_answers() {
    // R267, R268
    with(&serve(Tool::new("greet", greet)), async |client| {
        for action in ["decline", "cancel"] {
            let answers = format!(r#""inputResponses":{{"user_name":{{"action":"{action}"}}}},"#);
            let answer = client.ask(&call("1", "greet", &answers, ALL)).await;
            assert_eq!(answer, text("1", &format!("Hello, {action}.")));
        }
    });
}

#[test]
fn what_was_not_asked_is_ignored_and_what_is_missing_is_asked_again() {
    // R262, R263
    with(&serve(Tool::new("greet", greet)), async |client| {
        let wrong = r#""inputResponses":{"other":{"action":"accept","content":{"name":"Ada"}}},"#;
        assert_eq!(
            client.ask(&call("1", "greet", wrong, ALL)).await,
            name_required("1")
        );
        assert_eq!(
            client
                .ask(&call("2", "greet", r#""inputResponses":{},"#, ALL))
                .await,
            name_required("2")
        );
        let more = r#""inputResponses":{"x":7,"user_name":{"action":"accept","content":{"name":"Ada"}},"y":null},"#;
        assert_eq!(
            client.ask(&call("3", "greet", more, ALL)).await,
            text("3", "Hello, Ada!")
        );
    });
}

#[test]
fn answers_that_are_none_are_refused() {
    // R260, R261, R269
    with(&serve(Tool::new("greet", greet)), async |client| {
        for none in ["null", "7", "[]", r#""x""#] {
            let params = format!(r#""inputResponses":{none},"#);
            let message = "Invalid 'inputResponses': expected an object";
            assert_eq!(
                client.ask(&call("1", "greet", &params, ALL)).await,
                error("1", -32602, message)
            );
        }
        let wrong = [
            ("null", "invalid type: null, expected an object"),
            ("7", "invalid type: integer `7`, expected an object"),
            ("{}", "missing field `action`"),
            (r#"{"action":"accept"}"#, r#"field "name": missing"#),
            (
                r#"{"action":"accept","content":{"name":7}}"#,
                r#"field "name": not a string"#,
            ),
            (r#"{"roots":[]}"#, "missing field `action`"),
        ];
        for (answer, why) in wrong {
            let params = format!(r#""inputResponses":{{"user_name":{answer}}},"#);
            let message = format!("Invalid answer to 'user_name': {why}");
            assert_eq!(
                client.ask(&call("1", "greet", &params, ALL)).await,
                error("1", -32602, &message)
            );
        }
    });
}

#[test]
fn a_missing_capability_is_named_and_nothing_else() {
    // R248, R249, R250 and the error of basic/index
    let everything = Tool::new("everything", async |_: NoInput, cx: Context| {
        let tools = question().tool_choice(smol_mcp::protocol::sampling::ToolChoiceMode::Auto);
        let page = Elicit::url("Sign in.", "https://h.example/");
        cx.ask(
            Ask::new()
                .elicit("page", page)
                .elicit("form", name_form())
                .sample("model", tools)
                .roots("roots"),
        )
        .await?;
        Ok::<_, AskError>("answered")
    });
    let cases = [
        (
            r#"{}"#,
            json!({"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}),
        ),
        (
            r#"{"elicitation":{},"sampling":{}}"#,
            json!({"elicitation":{"url":{}},"roots":{},"sampling":{"tools":{}}}),
        ),
        (
            r#"{"elicitation":{"url":{}},"sampling":{"tools":{}},"roots":{}}"#,
            json!({"elicitation":{"form":{}}}),
        ),
    ];
    with(&serve(everything), async |client| {
        for (declared, missing) in cases {
            let expected = format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32021,"message":"Missing required client capability","data":{{"requiredCapabilities":{missing}}}}}}}"#
            );
            assert_eq!(
                client.ask(&call("1", "everything", "", declared)).await,
                expected
            );
        }
        let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}"#;
        let (requests, state) = required(&client.ask(&call("1", "everything", "", all)).await);
        assert_eq!(requests.as_object().unwrap().len(), 4);
        assert_eq!(state, None);
    });
}

#[test]
fn a_question_that_would_break_the_protocol_is_not_put() {
    // R28, R264, R282, R283
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = told.clone();
    let page = Tool::new("page", async |_: NoInput, cx: Context| {
        let page = Elicit::url("Sign in.", "h.example/sign-in");
        Ok::<_, HandlerError>(cx.elicit("page", page).await?.action.as_str())
    });
    let model = Tool::new("model", async |_: NoInput, cx: Context| {
        let unasked = SamplingContent::tool_result("1", Vec::new());
        let message = SamplingMessage::new(smol_mcp::protocol::Role::User, vec![unasked]);
        cx.sample("model", question().message(message)).await?;
        Ok::<_, HandlerError>("done")
    });
    let labelled = Tool::new("labelled", async |_: NoInput, cx: Context| {
        let mut message = SamplingMessage::user("Name a prime.");
        message.meta.insert("com.mcp/x-".into(), json!(1));
        cx.sample("labelled", question().message(message)).await?;
        Ok::<_, HandlerError>("done")
    });
    let server = builder()
        .tool(page)
        .tool(model)
        .tool(labelled)
        .on_error(move |failure| tells.lock().unwrap().push(failure.error.to_string()))
        .build()
        .unwrap();
    let all = r#"{"elicitation":{"url":{}},"sampling":{"tools":{}}}"#;
    let failed = |meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"The tool failed."}}],"isError":true{meta}}}}}"#
        )
    };
    with(&server, async |client| {
        for tool in ["page", "model", "labelled"] {
            let modern = failed(&format!(r#","resultType":"complete",{META}"#));
            assert_eq!(client.ask(&call("1", tool, "", all)).await, modern);
        }
        client.initialize("2025-11-25", all).await;
        for tool in ["page", "model", "labelled"] {
            assert_eq!(client.ask(&legacy_call("1", tool)).await, failed(""));
        }
        client.expect_nothing().await;
    });
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 6);
    assert!(
        told[0].contains(r#"not a URL: "h.example/sign-in""#),
        "{told:?}"
    );
    assert!(told[1].contains("do not pair up"), "{told:?}");
    assert!(told[2].contains(r#"the key "com.mcp/x-" of"#), "{told:?}");
}

#[test]
fn what_one_request_declares_another_does_not() {
    // R13, R23
    with(&serve(Tool::new("greet", greet)), async |client| {
        assert_eq!(
            client.ask(&call("1", "greet", "", ALL)).await,
            name_required("1")
        );
        let missing = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32021,"message":"Missing required client capability","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}"#;
        assert_eq!(client.ask(&call("2", "greet", "", "{}")).await, missing);
        // Not even what a legacy session of the same connection has agreed on.
        client.initialize("2025-11-25", ALL).await;
        assert_eq!(client.ask(&call("2", "greet", "", "{}")).await, missing);
    });
}

#[test]
fn a_handler_may_do_without() {
    // modern.md §6.2
    let modest = Tool::new("modest", async |_: NoInput, cx: Context| {
        let mut ask = Ask::new().sample("model", question());
        if cx.client_capabilities().elicitation_form() {
            ask = ask.elicit("name", name_form());
        }
        cx.ask(ask).await?;
        Ok::<_, HandlerError>("done")
    });
    with(&serve(modest), async |client| {
        let answer = client
            .ask(&call("1", "modest", "", r#"{"sampling":{}}"#))
            .await;
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"inputRequests":{{"model":{{"method":"sampling/createMessage","params":{{"messages":[{{"role":"user","content":{{"type":"text","text":"Name a prime."}}}}],"maxTokens":100}}}}}},"resultType":"input_required",{META}}}}}"#
        );
        assert_eq!(answer, expected);
    });
}

#[test]
fn context_of_servers_is_not_asked_for_without_the_capability() {
    // R251
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let sample =
            question().include_context(smol_mcp::protocol::sampling::IncludeContext::AllServers);
        cx.sample("model", sample).await?;
        Ok::<_, HandlerError>("done")
    });
    with(&serve(tool), async |client| {
        let (requests, _) = required(&client.ask(&call("1", "t", "", r#"{"sampling":{}}"#)).await);
        assert_eq!(requests["model"]["params"].get("includeContext"), None);
        let (requests, _) = required(
            &client
                .ask(&call("1", "t", "", r#"{"sampling":{"context":{}}}"#))
                .await,
        );
        assert_eq!(requests["model"]["params"]["includeContext"], "allServers");
    });
}

#[test]
fn questions_asked_at_once_stand_in_one_result_in_their_order() {
    // R246
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let (roots, (model, name)) = smol::future::try_zip(
            cx.roots("z"),
            smol::future::try_zip(cx.sample("m", question()), cx.elicit("a", name_form())),
        )
        .await?;
        Ok::<_, AskError>(format!(
            "{} {} {}",
            roots.roots.len(),
            model.model,
            name.action
        ))
    });
    with(&serve(tool), async |client| {
        let answer = client.ask(&call("1", "t", "", ALL)).await;
        let order: Vec<_> = [
            r#""z":{"method":"roots/list","params":{}}"#,
            r#""m":{"#,
            r#""a":{"#,
        ]
        .iter()
        .map(|key| {
            answer
                .find(key)
                .unwrap_or_else(|| panic!("{key} in {answer}"))
        })
        .collect();
        assert!(order.is_sorted(), "{answer}");
        let answers = r#""inputResponses":{"z":{"roots":[{"uri":"file:///x"}]},"m":{"role":"assistant","content":{"type":"text","text":"7"},"model":"m1"},"a":{"action":"decline"}},"#;
        assert_eq!(
            client.ask(&call("2", "t", answers, ALL)).await,
            text("2", "1 m1 decline")
        );
    });
}

async fn two_rounds(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let name = cx.elicit("name", name_form()).await?;
    let roots = cx.roots("roots").await?;
    Ok(format!(
        "{} {}",
        name.content["name"].as_str().unwrap(),
        roots.roots.len()
    ))
}

const NAME: &str = r#""name":{"action":"accept","content":{"name":"Ada"}}"#;

#[test]
fn answers_of_earlier_rounds_come_back_in_the_state() {
    // R259: nothing is kept here; the client carries it.
    let server = serve(Tool::new("two", two_rounds));
    with(&server, async |client| {
        let (requests, state) = required(&client.ask(&call("1", "two", "", ALL)).await);
        assert_eq!((requests.get("name").is_some(), state), (true, None));
        let first = format!(r#""inputResponses":{{{NAME}}},"#);
        let (requests, state) = required(&client.ask(&call("2", "two", &first, ALL)).await);
        assert_eq!(
            requests,
            json!({"roots": {"method": "roots/list", "params": {}}})
        );
        let second = format!(
            r#""inputResponses":{{"roots":{{"roots":[]}}}},"requestState":"{}","#,
            state.unwrap()
        );
        assert_eq!(
            client.ask(&call("3", "two", &second, ALL)).await,
            text("3", "Ada 0")
        );
    });
}

#[test]
fn an_answer_that_was_had_stands() {
    with(&serve(Tool::new("two", two_rounds)), async |client| {
        let first = format!(r#""inputResponses":{{{NAME}}},"#);
        let (_, state) = required(&client.ask(&call("1", "two", &first, ALL)).await);
        let second = format!(
            r#""inputResponses":{{"name":{{"action":"accept","content":{{"name":"Eve"}}}},"roots":{{"roots":[]}}}},"requestState":"{}","#,
            state.unwrap()
        );
        assert_eq!(
            client.ask(&call("2", "two", &second, ALL)).await,
            text("2", "Ada 0")
        );
    });
}

#[test]
fn a_state_that_is_not_ours_or_not_for_this_is_refused_never_asked_again() {
    // R252, R253, R254, R257
    let server = builder()
        .tool(Tool::new("two", two_rounds))
        .tool(Tool::new("other", two_rounds))
        .build()
        .unwrap();
    with(&server, async |client| {
        let first = format!(r#""arguments":{{"a":1,"b":2}},"inputResponses":{{{NAME}}},"#);
        let (_, state) = required(&client.ask(&call("1", "two", &first, ALL)).await);
        let state = state.unwrap();
        let again = |arguments: &str, state: &str| {
            format!(
                r#""arguments":{arguments},"inputResponses":{{"roots":{{"roots":[]}}}},"requestState":{state},"#
            )
        };
        let refused = [
            call(
                "2",
                "two",
                &again(r#"{"a":1,"b":2}"#, &format!(r#""{state}-TAMPERED""#)),
                ALL,
            ),
            call("2", "two", &again(r#"{"a":1,"b":2}"#, r#""""#), ALL),
            call("2", "two", &again(r#"{"a":1,"b":2}"#, r#""v1.a.b.c""#), ALL),
            call(
                "2",
                "two",
                &again(r#"{"a":1,"b":3}"#, &format!(r#""{state}""#)),
                ALL,
            ),
            call("2", "two", &again(r#"{}"#, &format!(r#""{state}""#)), ALL),
            call(
                "2",
                "other",
                &again(r#"{"a":1,"b":2}"#, &format!(r#""{state}""#)),
                ALL,
            ),
        ];
        for request in refused {
            assert_eq!(
                client.ask(&request).await,
                error("2", -32602, "Invalid 'requestState'")
            );
        }
        let number = call("2", "two", &again("{}", "7"), ALL);
        let message = "Invalid 'requestState': invalid type: integer `7`, expected a string";
        assert_eq!(client.ask(&number).await, error("2", -32602, message));
        // The same arguments, spelt in another way.
        let good = call(
            "3",
            "two",
            &again(r#"{ "b": 2, "a": 1 }"#, &format!(r#""{state}""#)),
            ALL,
        );
        assert_eq!(client.ask(&good).await, text("3", "Ada 0"));
    });
}

#[test]
fn a_state_expires() {
    // R256
    let server = builder()
        .tool(Tool::new("two", two_rounds))
        .state_lifetime(Duration::ZERO)
        .build()
        .unwrap();
    with(&server, async |client| {
        let first = format!(r#""inputResponses":{{{NAME}}},"#);
        let (_, state) = required(&client.ask(&call("1", "two", &first, ALL)).await);
        let second = format!(r#""requestState":"{}","#, state.unwrap());
        assert_eq!(
            client.ask(&call("2", "two", &second, ALL)).await,
            error("2", -32602, "Invalid 'requestState'")
        );
    });
}

#[test]
fn processes_with_the_same_keys_open_each_others_states() {
    let key = |byte: u8| vec![byte; 32];
    let server = |keys: Vec<Vec<u8>>| {
        builder()
            .tool(Tool::new("two", two_rounds))
            .state_keys(keys)
            .build()
            .unwrap()
    };
    let mut carried = String::new();
    with(&server(vec![key(1)]), async |client| {
        let first = format!(r#""inputResponses":{{{NAME}}},"#);
        carried = required(&client.ask(&call("1", "two", &first, ALL)).await)
            .1
            .unwrap();
    });
    let second =
        format!(r#""inputResponses":{{"roots":{{"roots":[]}}}},"requestState":"{carried}","#);
    with(&server(vec![key(2), key(1)]), async |client| {
        assert_eq!(
            client.ask(&call("2", "two", &second, ALL)).await,
            text("2", "Ada 0")
        );
    });
    with(&server(vec![key(2)]), async |client| {
        assert_eq!(
            client.ask(&call("2", "two", &second, ALL)).await,
            error("2", -32602, "Invalid 'requestState'")
        );
    });
    let err = builder().state_keys(["short"]).build().unwrap_err();
    assert_eq!(err.to_string(), "a state key must have at least 32 bytes");
}

#[test]
fn the_handler_runs_from_its_top_and_its_own_state_guards_what_it_does_once() {
    let (runs, effects) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (ran, effect) = (runs.clone(), effects.clone());
    let tool = Tool::new("order", move |_: NoInput, cx: Context| {
        let (runs, effects) = (runs.clone(), effects.clone());
        async move {
            runs.fetch_add(1, Ordering::SeqCst);
            let order = match cx.state::<u64>() {
                Some(order) => order,
                None => {
                    effects.fetch_add(1, Ordering::SeqCst);
                    cx.set_state(&41_u64)?;
                    41
                }
            };
            let sure = cx
                .elicit("sure", Elicit::form("Sure?", FormSchema::new()))
                .await?;
            Ok::<_, HandlerError>(format!(
                "{order} {} {:?}",
                sure.action,
                cx.state::<String>()
            ))
        }
    });
    with(&serve(tool), async |client| {
        let (_, state) = required(&client.ask(&call("1", "order", "", ALL)).await);
        let again = format!(
            r#""inputResponses":{{"sure":{{"action":"accept"}}}},"requestState":"{}","#,
            state.unwrap()
        );
        assert_eq!(
            client.ask(&call("2", "order", &again, ALL)).await,
            text("2", "41 accept None")
        );
        assert_eq!(ran.load(Ordering::SeqCst), 2);
        assert_eq!(effect.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn keys_and_states_that_look_like_nothing_are_something() {
    for state in [
        json!(0),
        json!(""),
        json!(false),
        json!([]),
        json!({}),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(9_007_199_254_740_993_u64),
        json!("x".repeat(10_000)),
    ] {
        let (kept, expected) = (state.clone(), text("2", "as it was"));
        let tool = Tool::new("t", move |_: NoInput, cx: Context| {
            let kept = kept.clone();
            async move {
                let before = cx.state::<Value>();
                cx.set_state(&kept)?;
                let empty = cx
                    .elicit("", Elicit::form("Sure?", FormSchema::new()))
                    .await?;
                assert!(empty.is_accepted());
                Ok::<_, HandlerError>(match before == Some(kept) {
                    true => "as it was".to_owned(),
                    false => format!("{before:?}"),
                })
            }
        });
        with(&serve(tool), async |client| {
            let (_, carried) = required(&client.ask(&call("1", "t", "", ALL)).await);
            let again = format!(
                r#""inputResponses":{{"":{{"action":"accept"}}}},"requestState":"{}","#,
                carried.expect("a state")
            );
            assert_eq!(
                client.ask(&call("2", "t", &again, ALL)).await,
                expected,
                "{state}"
            );
        });
    }
}

#[test]
fn an_error_that_is_swallowed_does_not_swallow_the_question() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let answer = cx.elicit("user_name", name_form()).await;
        answer.map_or("no answer", |_| "an answer")
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
    });
}

#[test]
fn destructors_run_when_a_round_ends() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let dropped = drops.clone();
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let held = Held(drops.clone());
        async move {
            let _held = held;
            cx.elicit("user_name", name_form()).await?;
            Ok::<_, HandlerError>("done")
        }
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        // The id is free again.
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
    });
}

#[test]
fn a_question_may_come_after_a_wait_and_from_another_task() {
    let (open, gate) = gate();
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let gate = gate.clone();
        async move {
            gate.wait().await;
            let task = smol::spawn(async move { cx.elicit("user_name", name_form()).await });
            let answer = task.await?;
            Ok::<_, HandlerError>(answer.content["name"].as_str().unwrap().to_owned())
        }
    });
    with(&serve(tool), async |client| {
        client.send(&call("1", "t", "", ALL)).await;
        client.expect_nothing().await;
        open.open();
        client.expect(&name_required("1")).await;
        let answers =
            r#""inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}},"#;
        assert_eq!(
            client.ask(&call("2", "t", answers, ALL)).await,
            text("2", "Ada")
        );
    });
}

#[test]
fn a_question_that_lost_a_race_is_not_asked() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let asked = async { cx.elicit("user_name", name_form()).await.map(|_| "asked") };
        let first = smol::future::or(asked, async { Ok("not asked") }).await?;
        smol::future::yield_now().await;
        // The key is free again.
        if cx.client_capabilities().roots() {
            cx.roots("user_name").await?;
        }
        Ok::<_, HandlerError>(first)
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client
                .ask(&call("1", "t", "", r#"{"elicitation":{}}"#))
                .await,
            text("1", "not asked")
        );
        let (requests, _) = required(&client.ask(&call("2", "t", "", ALL)).await);
        assert_eq!(
            requests,
            json!({"user_name": {"method": "roots/list", "params": {}}})
        );
    });
}

#[test]
fn a_thread_that_asks_is_let_go_when_the_round_ends() {
    let (sender, receiver) = smol::channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let sender = sender.clone();
        async move {
            smol::unblock(move || {
                let answer = smol::block_on(cx.roots("roots"));
                let ended = answer.as_ref().is_err_and(AskError::is_aborted);
                sender.try_send(ended).unwrap();
                answer
            })
            .await?;
            Ok::<_, HandlerError>("done")
        }
    });
    with(&serve(tool), async |client| {
        let (requests, _) = required(&client.ask(&call("1", "t", "", ALL)).await);
        assert!(requests.get("roots").is_some());
        assert!(receiver.recv().await.unwrap());
    });
}

#[test]
fn a_question_after_the_answer_is_answered_by_nobody() {
    let (open, gate) = gate();
    let (sender, receiver) = smol::channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let (gate, sender) = (gate.clone(), sender.clone());
        async move {
            smol::spawn(async move {
                gate.wait().await;
                let answer = cx.roots("roots").await;
                sender.send(answer.map(drop)).await
            })
            .detach();
            "done"
        }
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            text("1", "done")
        );
        client.initialize("2025-11-25", ALL).await;
        assert_eq!(
            client.ask(&legacy_call("2", "t")).await,
            legacy_text("2", "done")
        );
        open.open();
        for _ in 0..2 {
            let answer = receiver.recv().await.unwrap();
            assert!(answer.is_err_and(|err| err.is_aborted()));
        }
        client.expect_nothing().await;
    });
}

#[test]
fn one_key_asks_one_question() {
    // R246
    let failures = Arc::new(Mutex::new(Vec::new()));
    let seen = failures.clone();
    let server = builder()
        .tool(Tool::new("t", async |_: NoInput, cx: Context| {
            cx.roots("r").await?;
            cx.roots("r").await?;
            Ok::<_, HandlerError>("done")
        }))
        .on_error(move |failure| failures.lock().unwrap().push(failure.error.to_string()))
        .build()
        .unwrap();
    with(&server, async |client| {
        let answers = r#""inputResponses":{"r":{"roots":[]}},"#;
        let failed = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"The tool failed."}}],"isError":true,"resultType":"complete",{META}}}}}"#
        );
        assert_eq!(client.ask(&call("1", "t", answers, ALL)).await, failed);
        assert_eq!(*seen.lock().unwrap(), [r#""r" is asked for twice"#]);
    });
}

#[test]
fn resources_and_prompts_ask_too_and_nothing_else_does() {
    // R244; the result of a later round is cached by nobody
    let resource = Resource::new(
        ResourceInfo::new("memo:///x", "x"),
        async |uri: String, cx: Context| {
            cx.roots("r").await?;
            Ok::<_, HandlerError>(ResourceContents::text(uri, "memo"))
        },
    );
    let prompt = Prompt::new(PromptInfo::new("p"), async |_, cx: Context| {
        cx.roots("r").await?;
        Ok::<_, HandlerError>(PromptResult::user("hi"))
    });
    let server = builder()
        .resource(resource)
        .prompt(prompt)
        .cache(smol_mcp::protocol::Cache::public(Duration::from_secs(60)))
        .completion(async |_, cx: Context| {
            cx.roots("r").await?;
            Ok(smol_mcp::protocol::Completion::default())
        })
        .build()
        .unwrap();
    let asked = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"inputRequests":{{"r":{{"method":"roots/list","params":{{}}}}}},"resultType":"input_required",{META}}}}}"#
        )
    };
    with(&server, async |client| {
        let read = modern("1", "resources/read", r#""uri":"memo:///x","#, ALL);
        assert_eq!(client.ask(&read).await, asked("1"));
        let read = modern(
            "2",
            "resources/read",
            r#""uri":"memo:///x","inputResponses":{"r":{"roots":[]}},"#,
            ALL,
        );
        let contents = format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"contents":[{{"uri":"memo:///x","text":"memo"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private",{META}}}}}"#
        );
        assert_eq!(client.ask(&read).await, contents);
        let get = modern("3", "prompts/get", r#""name":"p","#, ALL);
        assert_eq!(client.ask(&get).await, asked("3"));
        let complete = modern(
            "4",
            "completion/complete",
            r#""ref":{"type":"ref/resource","uri":"memo:///x"},"argument":{"name":"a","value":""},"#,
            ALL,
        );
        assert_eq!(
            client.ask(&complete).await,
            error("4", -32603, "Internal error")
        );
    });
}

// ---- by requests of the server's own ----

fn legacy_call(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

fn legacy_text(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

fn legacy_failure(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{}}}],"isError":true}}}}"#,
        json!(text)
    )
}

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

#[test]
fn a_modern_request_on_a_legacy_connection_is_asked_by_rounds() {
    // R243; legacy.md §16.3
    with(&serve(Tool::new("greet", greet)), async |client| {
        client.initialize("2025-11-25", ALL).await;
        assert_eq!(
            client.ask(&call("1", "greet", "", ALL)).await,
            name_required("1")
        );
    });
}

/// A gate that is opened once.
#[derive(Clone)]
struct Gate(smol::channel::Receiver<()>);

struct Opener(smol::channel::Sender<()>);

fn gate() -> (Opener, Gate) {
    let (sender, receiver) = smol::channel::unbounded();
    (Opener(sender), Gate(receiver))
}

impl Gate {
    async fn wait(&self) {
        let _ = self.0.recv().await;
    }
}

impl Opener {
    fn open(&self) {
        self.0.close();
    }
}
