//! Progress: only with a token, rising, before the answer, never after it.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use smol_mcp::protocol::{CreateMessage, LogLevel, SamplingMessage, Version};
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool};

use crate::talk::{self, META, Talk};
use crate::transport::{Era, Scene, everywhere, memory};

/// What the tool `report` reports, one after the other, without a pause.
#[derive(Deserialize)]
pub(crate) struct Reports {
    values: Vec<f64>,
}

pub(crate) async fn report(reports: Reports, cx: Context) {
    for value in reports.values {
        cx.progress(value, None, format_args!("at {value}"));
    }
}

/// What the tool `ask` does: it asks the client's model, and passes the answer on.
pub(crate) async fn ask(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let question = SamplingMessage::user(cx.request_id().to_string());
    let answer = cx
        .sample("mind", CreateMessage::new(10).message(question))
        .await?;
    Ok(format!("{} has answered", answer.model))
}

fn notification(token: &str, rest: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},{rest}}}}}"#
    )
}

/// The reports of a call, and whether its answer came last.
fn reports(scene: &mut Scene, id: i64) -> Vec<Value> {
    let mut reports = Vec::new();
    loop {
        let mut message = scene.client.next(id).expect("an answer");
        if message.get("method").is_none() {
            assert!(message.get("result").is_some(), "{message}");
            return reports;
        }
        reports.push(message["params"].take());
    }
}

// R145, R146, R147, P21
#[test]
fn progress_rises_precedes_the_answer_and_never_follows_it() {
    everywhere(|scene| {
        for id in 1000..1050 {
            let values = json!({ "values": [0, 0.5, 0.25, 0.5, 2, -1, 2, 3] });
            scene.call(id, "report", values);
            let said: Vec<_> = reports(scene, id)
                .iter()
                .map(|report| report["progress"].as_f64().unwrap())
                .collect();
            assert_eq!(said, [0.0, 0.5, 2.0, 3.0]);
        }
        scene.client.silence();
    });
}

// R149, and the oldest revision, which knows no message.
#[test]
fn progress_carries_its_message_where_the_revision_knows_one() {
    everywhere(|scene| {
        scene.call(1000, "report", json!({ "values": [1] }));
        let expected = match scene.era {
            Era::Legacy(Version::V2024_11_05) => json!({ "progressToken": 1000, "progress": 1.0 }),
            _ => json!({ "progressToken": 1000, "progress": 1.0, "message": "at 1" }),
        };
        assert_eq!(reports(scene, 1000), [expected]);
    });
}

// Issue 7, 12: up to 16 wait, beyond that the newest replaces the last.
#[test]
fn beyond_sixteen_waiting_reports_the_newest_replaces_the_last() {
    everywhere(|scene| {
        // The handler does not wait, so all its reports wait for the first poll to end.
        let values: Vec<_> = (1..=100).collect();
        scene.call(1000, "report", json!({ "values": values }));
        let said: Vec<_> = reports(scene, 1000)
            .iter()
            .map(|report| report["progress"].as_f64().unwrap() as i64)
            .collect();
        let expected: Vec<_> = (1..=15).chain([100]).collect();
        assert_eq!(said, expected);
    });
}

// Its token is as long as a client likes, and stands in each report.
#[test]
fn of_large_waiting_reports_only_the_newest_is_kept() {
    let server = reporting(|cx| {
        for number in 1..=100 {
            cx.progress(number, 100, "on");
        }
    });
    let token = "t".repeat(16 * 1024);
    let talk = Talk::with(&server);
    let report = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"{token}","progress":100,"total":100,"message":"on"}}}}"#
    );
    talk.says(go(&format!("\"{token}\"")), &[&report, DONE]);
}

// R145, P20, failures: no token, no progress.
#[test]
fn without_a_token_nothing_is_sent() {
    everywhere(|scene| {
        let params = json!({ "name": "report", "arguments": { "values": [1, 2, 3] } });
        scene.client.begin(1000, "tools/call", params);
        assert_eq!(reports(scene, 1000), Vec::<Value>::new());
        scene.client.silence();
    });
}

/// A server whose tool reports what a test wants.
fn reporting(report: impl Fn(&Context) + Send + Sync + 'static) -> Server {
    let report = Arc::new(report);
    talk::builder()
        .tool(Tool::new("go", move |_: NoInput, cx: Context| {
            let report = report.clone();
            async move { report(&cx) }
        }))
        .build()
        .unwrap()
}

fn go(token: &str) -> String {
    let meta = META.replace(
        "\"_meta\":{",
        &format!("\"_meta\":{{\"progressToken\":{token},"),
    );
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"go",{meta}}}}}"#)
}

const DONE: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],$SEAL}}"#;

// R148: falsy tokens, both types, what no float holds.
#[test]
fn tokens_come_back_as_they_were() {
    let server = reporting(|cx| cx.progress(1, None, ""));
    let talk = Talk::with(&server);
    let long = format!("\"{}\"", "x".repeat(10_000));
    for token in [
        &*long,
        "-9223372036854775808",
        "0",
        r#""""#,
        "-1",
        "9007199254740993",
        "9223372036854775807",
        r#""0""#,
        r#""a\"b\\ü""#,
    ] {
        talk.says(go(token), &[&notification(token, r#""progress":1"#), DONE]);
    }
}

// Numbers are any usual integer or f64, and none of them passes through a float that does not hold it.
#[test]
fn numbers_arrive_as_they_were_given() {
    type Report = fn(&Context);
    let cases: [(Report, &[&str]); 12] = [
        (|cx| cx.progress(0, 0, ""), &[r#""progress":0,"total":0"#]),
        (
            |cx| cx.progress(i64::MIN, i64::MAX, ""),
            &[r#""progress":-9223372036854775808,"total":9223372036854775807"#],
        ),
        (
            |cx| cx.progress(9_007_199_254_740_993_i64, None, ""),
            &[r#""progress":9007199254740993"#],
        ),
        (
            |cx| cx.progress(u64::MAX - 1, u64::MAX, ""),
            &[r#""progress":18446744073709551614,"total":18446744073709551615"#],
        ),
        (
            |cx| cx.progress(1_u8, 2_usize, "x"),
            &[r#""progress":1,"total":2,"message":"x""#],
        ),
        (
            |cx| cx.progress(0.1, 1.0, ""),
            &[r#""progress":0.1,"total":1.0"#],
        ),
        (|cx| cx.progress(1, f64::NAN, ""), &[r#""progress":1"#]),
        (|cx| cx.progress(f64::NAN, None, ""), &[]),
        (|cx| cx.progress(f64::INFINITY, None, ""), &[]),
        (|cx| cx.progress(f64::NEG_INFINITY, 1, ""), &[]),
        // They rise by one, where a float would see no difference.
        (
            |cx| {
                cx.progress(9_007_199_254_740_992_i64, None, "");
                cx.progress(9_007_199_254_740_993_i64, None, "");
            },
            &[
                r#""progress":9007199254740992"#,
                r#""progress":9007199254740993"#,
            ],
        ),
        (
            |cx| cx.progress(1, None, "a\n\"b\"\u{0}"),
            &[r#""progress":1,"message":"a\n\"b\"\u0000""#],
        ),
    ];
    for (report, expected) in cases {
        let talk = Talk::with(&reporting(report));
        let mut expected: Vec<_> = expected
            .iter()
            .map(|rest| notification(r#""t""#, rest))
            .collect();
        expected.push(DONE.to_owned());
        let expected: Vec<_> = expected.iter().map(|line| &**line).collect();
        talk.says(go(r#""t""#), &expected);
    }
}

/// Asserts that nobody shows it.
struct Unseen;

impl fmt::Display for Unseen {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("formatted although nobody listens")
    }
}

// P20, P21: what is not sent is not formatted.
#[test]
fn a_message_that_is_not_sent_is_not_formatted() {
    let silent = reporting(|cx| {
        assert_eq!(cx.progress_token(), None);
        cx.progress(1, 2, Unseen);
    });
    let call = go("0").replace(r#""progressToken":0,"#, "");
    Talk::with(&silent).says(call, &[DONE]);
    let falling = reporting(|cx| {
        assert_eq!(cx.progress_token(), Some(&0.into()));
        cx.progress(2, None, "two");
        cx.progress(2, None, Unseen);
        cx.progress(1, None, Unseen);
        cx.progress(f64::NAN, None, Unseen);
    });
    Talk::with(&falling).says(
        go("0"),
        &[&notification("0", r#""progress":2,"message":"two""#), DONE],
    );
}

// The author's `Display` may do anything: report progress itself, or panic, and the call is answered all the same.
#[test]
fn a_message_may_report_progress_or_panic_while_it_is_formatted() {
    struct Nested<'a>(&'a Context);
    impl fmt::Display for Nested<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.progress(5, None, "inner");
            f.write_str("outer")
        }
    }
    let nested = reporting(|cx| cx.progress(1, None, Nested(cx)));
    // The inner report was later and higher; the outer one would fall behind it.
    Talk::with(&nested).says(
        go("0"),
        &[
            &notification("0", r#""progress":5,"message":"inner""#),
            DONE,
        ],
    );
    let panics = reporting(|cx| cx.progress(1, None, Unseen));
    let failed = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"The tool failed."}],"isError":true,$SEAL}}"#;
    Talk::with(&panics).says(go("0"), &[failed]);
}

// R147: a context that outlives its call says nothing.
#[test]
fn a_context_that_outlives_its_call_is_silent() {
    let kept = Arc::new(Mutex::new(None));
    let keeps = kept.clone();
    let server = reporting(move |cx| {
        cx.progress(1, None, "");
        *keeps.lock().unwrap() = Some(cx.clone());
    });
    let talk = Talk::with(&server);
    talk.says(go("0"), &[&notification("0", r#""progress":1"#), DONE]);
    let cx: Context = kept.lock().unwrap().take().unwrap();
    cx.progress(2, None, "late");
    cx.log(LogLevel::Emergency, "late");
    talk.hears(&[]);
    // The next call with the same id and token is another call.
    talk.says(go("0"), &[&notification("0", r#""progress":1"#), DONE]);
}

// R152: progress of one client's call is no other client's, whatever the tokens.
#[test]
fn progress_goes_to_its_own_client() {
    for era in Era::ALL {
        let mut scene = memory(era, |builder| builder);
        let mut other = scene.another(era);
        scene.call(1000, "play", json!({ "name": "mine", "talks": true }));
        scene.director.expect("begun mine");
        scene.director.cue("mine");
        // Its report, and its log message.
        assert_eq!(reports(&mut scene, 1000).len(), 2);
        other.silence();
    }
}

/// A call that asks its client, and the id and the token of what it asks.
fn asking(scene: &mut Scene, id: i64) -> (Value, Value) {
    scene.call(id, "ask", json!({}));
    let mut asked = scene.client.next(id).expect("a question");
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    let token = asked["params"]["_meta"]["progressToken"].take();
    (asked["id"].take(), token)
}

fn answer(scene: &mut Scene, id: &Value) {
    let content = json!({ "type": "text", "text": "yes" });
    let result = json!({ "role": "assistant", "content": content, "model": "m" });
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    scene.client.send(&response.to_string());
}

fn tell_progress(scene: &mut Scene, params: Value) {
    let method = "notifications/progress";
    let told = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    scene.client.send(&told.to_string());
}

// P22: by its token, to the observer, however the messages travel.
#[test]
fn progress_of_the_client_reaches_the_observer() {
    everywhere(|scene| {
        if scene.era == Era::Modern {
            return;
        }
        let (first, token) = asking(scene, 1000);
        let (second, other) = asking(scene, 1001);
        let strange = json!(token.to_string());
        for (token, progress) in [(&strange, 0.25), (&json!(9999), 0.5), (&token, 1.0)] {
            let params = json!({ "progressToken": token, "progress": progress, "total": 2, "message": "hm" });
            tell_progress(scene, params);
        }
        tell_progress(scene, json!({ "progressToken": other, "progress": 7.5 }));
        let on = "mind sampling/createMessage";
        scene
            .director
            .expect(&format!("progressed 1000 {on}: 1 Some(2.0) Some(\"hm\")"));
        scene
            .director
            .expect(&format!("progressed 1001 {on}: 7.5 None None"));
        answer(scene, &second);
        assert_eq!(scene.text(1001), "m has answered");
        // Of what has been answered it is no news.
        tell_progress(scene, json!({ "progressToken": other, "progress": 8 }));
        answer(scene, &first);
        assert_eq!(scene.text(1000), "m has answered");
        scene.director.expect_no_more();
        scene.client.silence();
    });
}

/// Answers a question after three times the time that there is for it, all the while with signs of life.
fn answers_late(era: Era) -> bool {
    let patience = Duration::from_millis(200);
    let mut limits = crate::stage::limits();
    limits.ask_timeout = patience;
    let mut scene = memory(era, |builder| builder.limits(limits));
    let (id, token) = asking(&mut scene, 1000);
    let begun = Instant::now();
    let mut progress = 0;
    while begun.elapsed() < patience * 3 {
        progress += 1;
        let params = json!({ "progressToken": token, "progress": progress });
        tell_progress(&mut scene, params);
        // With its answer the report before it has been read.
        scene.call(2000, "echo", json!({}));
        assert_eq!(scene.text(2000), "{}");
    }
    answer(&mut scene, &id);
    scene.text(1000) == "m has answered"
}

// P22: a sign of life begins the wait anew. A machine that stands still may well spoil that, if not always.
#[test]
fn progress_of_the_client_reaches_the_request_that_waits() {
    for era in Era::ALL {
        if era != Era::Modern {
            assert!((0..20).any(|_| answers_late(era)));
        }
    }
}

// R151: what a server may limit is how often it reports; the last report is never lost
#[test]
fn limited_progress_keeps_the_first_report_and_the_last() {
    let mut limits = smol_mcp::Limits::default();
    limits.progress_interval = Duration::from_secs(3600);
    let server = Server::builder("slow to tell", "1")
        .tool(Tool::new("report", report))
        .limits(limits)
        .build()
        .unwrap();
    let mut output = Vec::new();
    let input = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":{"values":[1,2,3,4]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t"}}}"#;
    let serving = smol_mcp::lines::serve(&server, input.as_bytes(), &mut output);
    crate::stage::within("the end of the connection", serving).unwrap();
    let lines: Vec<Value> = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let told: Vec<&Value> = lines
        .iter()
        .map(|line| &line["params"]["progress"])
        .collect();
    assert_eq!(told, [&json!(1.0), &json!(4.0), &Value::Null]);
    assert_eq!(lines[2]["id"], 1);
}
