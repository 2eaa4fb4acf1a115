//! What a client carries from round to round.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::client::{text, with};
use crate::common::*;
use serde_json::{Value, json};
use smol_mcp::protocol::{Elicit, FormSchema};
use smol_mcp::{Context, HandlerError, NoInput, Tool};

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
