//! Failures: what the client reads, and what the operator is told.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::{Value, json};
use smol_mcp::protocol::{
    Completion, PromptArgument, PromptInfo, PromptResult, ResourceContents, ResourceInfo,
    ResourceTemplateInfo, RpcError, Version,
};
use smol_mcp::testing::Client;
use smol_mcp::{
    Context, HandlerError, NoInput, Prompt, Resource, ResourceTemplate, Server, Structured, Tool,
};

use crate::talk::{self, Talk};

#[derive(Debug)]
struct Secret(Option<Box<Secret>>);

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("password=hunter2")
    }
}

impl Error for Secret {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_deref().map(|source| source as _)
    }
}

#[derive(Deserialize)]
struct Fail {
    how: String,
    code: Option<i64>,
}

async fn fail(input: Fail, cx: Context) -> Result<String, HandlerError> {
    match &*input.how {
        "late" => smol::future::yield_now().await,
        "late panic" => {
            smol::future::yield_now().await;
            panic!("password=hunter2")
        }
        "panic" => panic!("password=hunter2"),
        "odd panic" => std::panic::panic_any(Secret(None)),
        "public" => {
            return Err(HandlerError::public(
                "'depth' must be between 1 and 8; got 40.",
            ));
        }
        "rpc" => {
            let code = input.code.unwrap_or(-32602);
            let error = RpcError::new(code, "as the author says").with_data(json!({ "own": 1 }));
            return Err(HandlerError::rpc(error));
        }
        "missing" => {
            let data = json!({ "requiredCapabilities": { "sampling": {} } });
            let error = RpcError::new(-32_021, "as the author says").with_data(data);
            return Err(HandlerError::rpc(error));
        }
        "deadline" => {
            let signal = cx.signal().any(std::time::Duration::ZERO);
            signal.run(smol::future::pending::<()>()).await?;
        }
        _ => {}
    }
    Err(Secret(Some(Box::new(Secret(None)))).into())
}

type Told = Arc<Mutex<Vec<String>>>;

fn failing() -> (Server, Told) {
    let told = Told::default();
    let tells = told.clone();
    let resource = Resource::new(
        ResourceInfo::new("fail:///", "fails"),
        |uri, _| async move {
            match uri.is_empty() {
                true => Ok(ResourceContents::text(uri, "")),
                false => Err(Secret(None)),
            }
        },
    );
    let prompt = Prompt::new(PromptInfo::new("fails"), |_, _| async {
        Err::<smol_mcp::protocol::PromptResult, _>(HandlerError::public("No such thing today."))
    });
    let server = talk::builder()
        .tool(Tool::new("fail", fail))
        .tool(Tool::new("bad", |_: NoInput| async {
            Structured(Unwritable)
        }))
        .resource(resource)
        .prompt(prompt)
        .on_error(move |failure| {
            let line = format!(
                "{} {} {}: {}",
                failure.method, failure.subject, failure.request_id, failure.error
            );
            tells.lock().unwrap().push(line);
        })
        .build()
        .unwrap();
    (server, told)
}

/// Cannot be JSON.
struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("password=hunter2"))
    }
}

fn call(how: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"fail","arguments":{how},$META}}}}"#
    )
}

fn failed(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}],"isError":true,$SEAL}}}}"#
    )
}

// P24, P9, R167, R230: internals stay inside, whatever the failure; the operator has all of it.
#[test]
fn an_unexpected_failure_is_generic_for_the_client_and_whole_for_the_operator() {
    let (server, told) = failing();
    let talk = Talk::with(&server);
    let generic = failed("The tool failed.");
    for (how, expected) in [
        ("error", "password=hunter2: password=hunter2"),
        ("late", "password=hunter2: password=hunter2"),
        ("panic", "the handler panicked: password=hunter2"),
        ("late panic", "the handler panicked: password=hunter2"),
        ("odd panic", "the handler panicked: no message"),
        // P23: an application's own deadline.
        ("deadline", "aborted: a deadline passed"),
    ] {
        talk.says(call(&format!(r#"{{"how":"{how}"}}"#)), &[&generic]);
        let told = std::mem::take(&mut *told.lock().unwrap());
        assert_eq!(told, [format!("tools/call fail 7: {expected}")]);
    }
    let bad = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"bad",$META}}"#;
    talk.says(bad, &[&generic]);
    assert_eq!(
        std::mem::take(&mut *told.lock().unwrap()),
        ["tools/call bad 7: password=hunter2"]
    );
    let read =
        r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"fail:///",$META}}"#;
    let internal = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error"}}"#;
    talk.says(read, &[internal]);
    assert_eq!(
        std::mem::take(&mut *told.lock().unwrap()),
        ["resources/read fail:/// 7: password=hunter2"]
    );
}

// P24: what the author marked as public is told, and is nobody's diagnostic.
#[test]
fn a_public_failure_is_told_to_the_client_alone() {
    let (server, told) = failing();
    let talk = Talk::with(&server);
    talk.says(
        call(r#"{"how":"public"}"#),
        &[&failed("'depth' must be between 1 and 8; got 40.")],
    );
    let get = r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"fails",$META}}"#;
    let error =
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"No such thing today."}}"#;
    talk.says(get, &[error]);
    assert!(told.lock().unwrap().is_empty());
}

// R332, R333, R334, R335, R336: codes that belong to the protocol are not an author's to give a meaning to.
#[test]
fn an_authors_error_code_never_means_what_the_protocol_defines_otherwise() {
    let (server, told) = failing();
    let talk = Talk::with(&server);
    let legacy = Talk(smol::block_on(Client::legacy(
        &server,
        Version::V2025_11_25,
    )));
    for (code, modern, earlier) in [
        (1, 1, 1),
        (-1, -1, -1),
        (-31_999, -31_999, -31_999),
        (-32_769, -32_769, -32_769),
        (-32_602, -32_602, -32_602),
        (-32_603, -32_603, -32_603),
        // Not defined in this era, or not an author's to raise.
        (-32_002, -32_602, -32_002),
        (-32_042, -32_603, -32_042),
        (-32_000, -32_603, -32_000),
        (-32_019, -32_603, -32_019),
        (-32_023, -32_603, -32_023),
        (-32_099, -32_603, -32_099),
        (-32_100, -32_603, -32_603),
        (-32_768, -32_603, -32_603),
        // What HTTP checks, and what a request's envelope says, are decided before a handler runs.
        (-32_700, -32_603, -32_603),
        (-32_020, -32_603, -32_602),
        (-32_022, -32_603, -32_602),
        // It says which capability is missing, or it is not this error; below.
        (-32_021, -32_603, -32_602),
    ] {
        let line = call(&format!(r#"{{"how":"rpc","code":{code}}}"#));
        let error = |code: i64| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":{code},"message":"as the author says","data":{{"own":1}}}}}}"#
            )
        };
        talk.says(&line, &[&error(modern)]);
        legacy.says(line.replace(",$META", ""), &[&error(earlier)]);
    }
    let missing = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32021,"message":"as the author says","data":{"requiredCapabilities":{"sampling":{}}}}}"#;
    talk.says(call(r#"{"how":"missing"}"#), &[missing]);
    assert!(told.lock().unwrap().is_empty());
}

// R165, R166: which mistakes are the protocol's.
#[test]
fn a_call_that_does_not_fit_the_protocol_is_an_error() {
    let talk = Talk::modern();
    for (params, message) in [
        (r#""name":"nope""#, "Unknown tool: nope"),
        (r#""name":"""#, "Unknown tool: "),
        (r#""name":"ECHO""#, "Unknown tool: ECHO"),
        (r#""arguments":{}"#, "Missing 'name'"),
        (r#""name":7"#, "Invalid 'name': expected a string"),
        (r#""name":null"#, "Invalid 'name': expected a string"),
        (
            r#""name":"echo","arguments":[]"#,
            "Invalid 'arguments': expected an object",
        ),
        (
            r#""name":"echo","arguments":"x""#,
            "Invalid 'arguments': expected an object",
        ),
        (
            r#""name":"echo","arguments":null"#,
            "Invalid 'arguments': expected an object",
        ),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{params},$META}}}}"#
        );
        let error = format!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32602,"message":"{message}"}}}}"#
        );
        talk.says(line, &[&error]);
    }
    // A name is quoted, not repeated at length.
    let long = "ü".repeat(1_000);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"{long}",$META}}}}"#
    );
    let answer = talk.asks(line);
    let message = answer["error"]["message"].as_str().unwrap();
    assert_eq!(message.chars().count(), "Unknown tool: ".len() + 129);
}

// R168, R181: what a model can repair, it is told in a result, with the field.
#[test]
fn wrong_arguments_are_told_to_the_model() {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Input {
        count: u8,
    }
    let server = Server::builder("t", "1")
        .tool(Tool::new("take", |input: Input| async move {
            input.count.to_string()
        }))
        .build()
        .unwrap();
    let talk = Talk::with(&server);
    for (arguments, told) in [
        ("{}", "missing field `count`"),
        (
            r#"{"count":"x"}"#,
            r#"invalid type: string \"x\", expected u8"#,
        ),
        (
            r#"{"count":256}"#,
            "invalid value: integer `256`, expected u8",
        ),
        (
            r#"{"count":1,"cuont":2}"#,
            "unknown field `cuont`, expected `count`",
        ),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"take","arguments":{arguments},$META}}}}"#
        );
        let answer = talk.asks(line);
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_default();
        assert_eq!(answer["result"]["isError"], Value::Bool(true), "{answer}");
        let told = told.replace("\\\"", "\"");
        assert!(text.contains(&told), "{text}");
    }
    // Arguments that are left out are none.
    let line = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"take",$META}}"#;
    assert!(talk.asks(line)["result"]["isError"].as_bool().unwrap());
}

/// A server with a prompt and completion for it, which fail when they are told to.
fn prompting() -> (Server, Told) {
    let told = Told::default();
    let tells = told.clone();
    let info = PromptInfo::new("review")
        .argument(PromptArgument::required("file"))
        .argument(PromptArgument::optional("how"));
    let prompt = Prompt::new(info, |arguments: smol_mcp::Arguments, _| async move {
        match &*arguments["file"] {
            "fail" => Err(Secret(None)),
            file => Ok(PromptResult::user(file)),
        }
    });
    let template = ResourceTemplate::new(
        ResourceTemplateInfo::new("log:///{build}", "log"),
        |uri, _, _| async move { ResourceContents::text(uri, "") },
    );
    let server = talk::builder()
        .prompt(prompt)
        .resource_template(template.unwrap())
        .completion(|request, _| async move {
            match &*request.value {
                "fail" => Err(Secret(None).into()),
                value => Ok(Completion::new([value])),
            }
        })
        .on_error(move |failure| tells.lock().unwrap().push(failure.error.to_string()))
        .build()
        .unwrap();
    (server, told)
}

/// The result of a request, or the code of its error, in each era.
fn in_each_era(
    server: &Server,
    method: &str,
    params: &Value,
    expected: Result<Value, (i64, &str)>,
) {
    for &version in Version::ALL {
        smol::block_on(async {
            let client = match version {
                Version::V2026_07_28 => Client::new(server),
                version => Client::legacy(server, version).await,
            };
            let answer = client.request(method, params.clone()).await;
            match &expected {
                Ok(members) => {
                    let answer = answer.unwrap();
                    for (name, value) in members.as_object().unwrap() {
                        assert_eq!(&answer[name], value, "{version} {method} {params}");
                    }
                }
                Err((code, message)) => {
                    let error = answer.unwrap_err();
                    assert_eq!(
                        (error.code, &*error.message),
                        (*code, *message),
                        "{version} {params}"
                    );
                }
            }
        });
    }
}

// R206, R207, R209
#[test]
fn a_prompt_that_does_not_fit_is_refused() {
    let (server, told) = prompting();
    let prompt = "Invalid 'arguments'";
    let got = json!([{ "role": "user", "content": { "type": "text", "text": "a" } }]);
    for (params, expected) in [
        (
            json!({ "name": "review", "arguments": { "file": "a" } }),
            Ok(json!({ "messages": got })),
        ),
        (
            json!({ "name": "nope" }),
            Err((-32602, "Unknown prompt: nope")),
        ),
        (
            json!({ "name": "REVIEW" }),
            Err((-32602, "Unknown prompt: REVIEW")),
        ),
        (json!({}), Err((-32602, "Missing 'name'"))),
        (
            json!({ "name": "review" }),
            Err((-32602, "Missing argument: file")),
        ),
        (
            json!({ "name": "review", "arguments": { "how": "well" } }),
            Err((-32602, "Missing argument: file")),
        ),
    ] {
        in_each_era(&server, "prompts/get", &params, expected);
    }
    for arguments in [
        json!({ "file": 7 }),
        json!([]),
        json!("a"),
        json!({ "file": null }),
    ] {
        let params = json!({ "name": "review", "arguments": arguments });
        let answer = smol::block_on(Client::new(&server).request("prompts/get", params.clone()));
        let error = answer.unwrap_err();
        assert_eq!(error.code, -32602, "{params}");
        assert!(error.message.starts_with(prompt), "{}", error.message);
    }
    assert!(told.lock().unwrap().is_empty());
}

// R208, R218: what went wrong inside is the operator's alone.
#[test]
fn a_failure_of_a_prompt_or_a_completion_is_an_internal_error() {
    let (server, told) = prompting();
    let internal = || Err((-32603, "Internal error"));
    let params = json!({ "name": "review", "arguments": { "file": "fail" } });
    in_each_era(&server, "prompts/get", &params, internal());
    let reference = json!({ "type": "ref/prompt", "name": "review" });
    let params = json!({ "ref": reference, "argument": { "name": "file", "value": "fail" } });
    in_each_era(&server, "completion/complete", &params, internal());
    assert_eq!(*told.lock().unwrap(), ["password=hunter2"; 10]);
}

// R214, R216, R217, R220
#[test]
fn completion_is_declared_and_checked_where_there_is_one() {
    let (server, _) = prompting();
    for &version in Version::ALL {
        let declared = smol::block_on(async {
            match version {
                Version::V2026_07_28 => {
                    let client = Client::new(&server);
                    client.request("server/discover", json!({})).await.unwrap()
                }
                version => {
                    let client = Client::new(&server);
                    let about = json!({ "name": "c", "version": "0" });
                    let params = json!({ "protocolVersion": version.as_str(), "capabilities": {}, "clientInfo": about });
                    let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
                    client.send(request.to_string()).await;
                    let answer: Value =
                        serde_json::from_str(&client.line().await.unwrap()).unwrap();
                    answer["result"].clone()
                }
            }
        });
        // The oldest revision completes without a word for it.
        let expected = match version {
            Version::V2024_11_05 => Value::Null,
            _ => json!({}),
        };
        assert_eq!(
            declared["capabilities"]["completions"], expected,
            "{version}"
        );
    }
    let ask = |reference: Value, name: &str| json!({ "ref": reference, "argument": { "name": name, "value": "a" } });
    let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    let resource = |uri: &str| json!({ "type": "ref/resource", "uri": uri });
    let found = json!({ "completion": { "values": ["a"] } });
    for (params, expected) in [
        (ask(prompt("review"), "file"), Ok(found.clone())),
        (ask(resource("log:///{build}"), "build"), Ok(found)),
        (
            ask(prompt("nope"), "file"),
            Err((-32602, "Unknown prompt: nope")),
        ),
        (
            ask(prompt("review"), "nope"),
            Err((-32602, "Unknown argument: nope")),
        ),
    ] {
        in_each_era(&server, "completion/complete", &params, expected);
    }
    let client = Client::new(&server);
    for params in [
        json!({ "ref": prompt("review") }),
        json!({ "argument": { "name": "file", "value": "a" } }),
        json!({ "ref": prompt("review"), "argument": { "name": "file" } }),
        json!({ "ref": prompt("review"), "argument": { "name": "file", "value": 7 } }),
        ask(json!({ "type": "ref/tool", "name": "echo" }), "file"),
        ask(resource("nowhere:///"), "build"),
    ] {
        let answer = smol::block_on(client.request("completion/complete", params.clone()));
        assert_eq!(answer.map_err(|error| error.code), Err(-32602), "{params}");
    }
    let without = Client::new(&failing().0);
    let params = ask(prompt("fails"), "file");
    let answer = smol::block_on(without.request("completion/complete", params));
    assert_eq!(answer.map_err(|error| error.code), Err(-32601));
}

// R191, R192, R195: an error, with the address in its data, and no empty contents.
#[test]
fn a_resource_that_is_not_found_is_named_in_the_error() {
    let (server, _) = failing();
    for &version in Version::ALL {
        let error = smol::block_on(async {
            let client = match version {
                Version::V2026_07_28 => Client::new(&server),
                version => Client::legacy(&server, version).await,
            };
            let params = json!({ "uri": "nowhere:///x" });
            client.request("resources/read", params).await.unwrap_err()
        });
        assert_eq!(
            error.data,
            Some(json!({ "uri": "nowhere:///x" })),
            "{version}"
        );
    }
}

// R331, R57: methods that are not there, not offered, or of the other era.
#[test]
fn a_method_that_is_not_offered_is_not_found() {
    let talk = Talk::modern();
    let legacy = Talk::legacy(Version::V2025_11_25);
    let unknown = |method: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32601,"message":"Method not found: {method}"}}}}"#
        )
    };
    let line = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{$META}}}}"#)
    };
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "tasks/get",
        "tools",
        "tools/List",
        "",
        "rpc.discover",
    ] {
        talk.says(line(method), &[&unknown(method)]);
    }
    for method in [
        "server/discover",
        "subscriptions/listen",
        "resources/list",
        "prompts/get",
        "logging/setLevel",
        "resources/subscribe",
    ] {
        legacy.says(line(method).replace("$META", ""), &[&unknown(method)]);
    }
}

// What is told of calls has no say in what becomes of them.
#[test]
fn a_hook_that_panics_harms_neither_the_call_nor_the_connection() {
    let server = talk::builder()
        .tool(Tool::new("fail", fail))
        .on_error(|_| panic!("a hook"))
        .on_cancelled(|_| panic!("a hook"))
        .build()
        .unwrap();
    let talk = Talk::with(&server);
    for how in [r#"{"how":"at once"}"#, r#"{"how":"late"}"#] {
        talk.says(call(how), &[&failed("The tool failed.")]);
    }
    assert_eq!(server.calls_in_flight(), 0);
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
    talk.says(cancel, &[]);
}
