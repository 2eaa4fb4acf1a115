//! Questions by rounds, 2026-07-28: what is asked, and when it is not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::{META, modern, text, with};
use crate::common::*;
use serde_json::json;
use smol_mcp::protocol::{
    Elicit, PromptInfo, PromptResult, ResourceContents, ResourceInfo, SamplingContent,
    SamplingMessage,
};
use smol_mcp::{Ask, AskError, Context, HandlerError, NoInput, Prompt, Resource, Tool};

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
