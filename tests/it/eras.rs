//! Two eras on one connection: who is served by which rules, and what an older revision is not told.

use serde_json::{Value, json};
use smol_mcp::protocol::{
    Annotations, Content, Icon, Implementation, PromptArgument, PromptInfo, PromptMessage,
    PromptResult, ResourceContents, ResourceInfo, ResourceTemplateInfo, ToolAnnotations,
    ToolResult, Version,
};
use smol_mcp::testing::Client;
use smol_mcp::{HandlerError, Limits, NoInput, Prompt, Resource, ResourceTemplate, Server, Tool};

use crate::stage::within;
use crate::talk::{self, META, Talk};
use crate::transport::{Era, memory};

const LEGACY: [Version; 4] = [
    Version::V2025_11_25,
    Version::V2025_06_18,
    Version::V2025_03_26,
    Version::V2024_11_05,
];

fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{version},"capabilities":{{}},"clientInfo":{{"name":"c","version":"0"}}}}}}"#
    )
}

fn initialized(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"result":{{"capabilities":{{"tools":{{}}}},"protocolVersion":"{version}","serverInfo":{{"name":"t","version":"1"}}}}}}"#
    )
}

/// Compares as JSON: the order of members means nothing here.
#[track_caller]
fn answers(talk: &Talk, line: &str, expected: &str) {
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(talk.asks(line), expected);
    talk.hears(&[]);
}

// R36, R37, R38, R39, R55; legacy.md §2.1
#[test]
fn initialize_agrees_on_the_version_asked_for_or_on_the_latest_legacy_one() {
    for (asked, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("2031-01-01", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("v999", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        // `silence` asks as a modern client, which a legacy session does not keep from being answered.
        let talk = Talk::modern();
        answers(
            &talk,
            &initialize(&format!("{asked:?}")),
            &initialized(agreed),
        );
        talk.says(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            &[],
        );
        talk.says(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            &[r#"{"jsonrpc":"2.0","id":1,"result":{}}"#],
        );
    }
}

// R166-like: a handshake whose params do not fit is refused, and may be tried again.
#[test]
fn a_handshake_that_does_not_fit_is_refused_and_may_be_repeated() {
    let talk = Talk::modern();
    let good = initialize(r#""2025-06-18""#);
    for bad in [
        good.replace(r#""2025-06-18""#, "7"),
        good.replace(r#""2025-06-18""#, "null"),
        good.replace(r#""protocolVersion":"2025-06-18","#, ""),
        good.replace(r#""capabilities":{},"#, ""),
        good.replace(r#""capabilities":{}"#, r#""capabilities":[]"#),
        good.replace(r#""clientInfo":{"name":"c","version":"0"}"#, r#""x":1"#),
        good.replace(r#""name":"c","#, ""),
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize"}"#.to_owned(),
    ] {
        let answer = talk.asks(&bad);
        assert_eq!(answer["error"]["code"], -32602, "{bad}: {answer}");
    }
    // All that a client says of itself is kept for as long as it has its session.
    let long = format!(
        r#""capabilities":{{"experimental":{{"x":"{}"}}}}"#,
        "x".repeat(64 * 1024)
    );
    let long = talk.asks(good.replace(r#""capabilities":{}"#, &long));
    assert_eq!(long["error"]["code"], -32602, "{long}");
    let long = format!(r#""version":"{}""#, "0".repeat(64 * 1024));
    let long = talk.asks(good.replace(r#""version":"0""#, &long));
    assert_eq!(long["error"]["code"], -32602, "{long}");
    answers(&talk, &good, &initialized("2025-06-18"));
    // One session for one process.
    talk.says(
        &good,
        &[r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid request: already initialized"}}"#],
    );
}

// R54, R56, R35, R13; legacy.md §16.2 row by row.
#[test]
fn each_message_on_stdio_falls_under_the_rules_of_its_own_era() {
    let talk = Talk::modern();
    let discovered = |id: i64| {
        json!({
            "jsonrpc": "2.0", "id": id,
            "result": {
                "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
                "capabilities": { "tools": {} },
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "t", "version": "1" } },
            },
        })
        .to_string()
    };
    let discover = r#"{"jsonrpc":"2.0","id":5,"method":"server/discover","params":{$META}}"#;
    let modern_call =
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo",$META}}"#;
    let modern_result =
        r#"{"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"{}"}],$SEAL}}"#;
    let legacy_call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}"#;
    let legacy_result =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}]}}"#;
    let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
    let pong = r#"{"jsonrpc":"2.0","id":8,"result":{}}"#;
    let modern_ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping","params":{$META}}"#;
    let no_ping =
        r#"{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"Method not found: ping"}}"#;

    // Before any session. The probe does not fix the era.
    answers(&talk, discover, &discovered(5));
    talk.says(modern_call, &[modern_result]);
    talk.says(ping, &[pong]);
    talk.says(modern_ping, &[no_ping]);
    let refused = talk.asks(legacy_call);
    assert_eq!(refused["error"]["code"], -32602);
    assert_eq!(refused["error"]["data"]["supported"][0], "2026-07-28");

    // While a legacy session is active.
    answers(
        &talk,
        &initialize(r#""2025-11-25""#),
        &initialized("2025-11-25"),
    );
    // Requests before `notifications/initialized` are served.
    talk.says(legacy_call, &[legacy_result]);
    talk.says(
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        &[],
    );
    talk.says(legacy_call, &[legacy_result]);
    talk.says(ping, &[pong]);
    answers(&talk, discover, &discovered(5));
    talk.says(modern_call, &[modern_result]);
    talk.says(modern_ping, &[no_ping]);
    let claimed =
        initialize(r#""2025-11-25""#).replace(r#""params":{"#, &format!(r#""params":{{{META},"#));
    talk.says(claimed, &[r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: initialize"}}"#]);
    talk.says(
        r#"{"jsonrpc":"2.0","id":9,"method":"server/discover"}"#,
        &[r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"Method not found: server/discover"}}"#],
    );
}

// R33; modern.md §4: the answers to versions that are not served. A legacy claim is offered only what it can claim.
#[test]
fn a_claim_of_a_version_that_is_not_served_names_those_that_are() {
    let talk = Talk::modern();
    let all = r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#;
    for (claimed, offered) in [
        ("2031-01-01", all),
        ("v999.0.0", all),
        ("", all),
        ("2026-07-28 ", all),
        ("2025-11-25", r#"["2026-07-28"]"#),
        ("2024-11-05", r#"["2026-07-28"]"#),
    ] {
        for method in ["tools/list", "server/discover", "initialize", "nope"] {
            let meta = META.replace("2026-07-28", claimed);
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{meta}}}}}"#);
            let error = format!(
                r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"requested":"{claimed}","supported":{offered}}}}}}}"#
            );
            talk.says(line, &[&error]);
        }
    }
}

// R133, R48, R47: the one revision that has batches.
#[test]
fn a_batch_is_served_in_the_one_revision_that_has_them() {
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"nope"},7,{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}},{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo"}}]"#;
    for version in LEGACY {
        let talk = Talk::legacy(version);
        let refused = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: not an object (batches are not supported)"}}"#;
        match version {
            Version::V2025_03_26 => talk.says(
                batch,
                &[
                    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: nope"}}"#,
                    r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"Invalid request: not in a batch"}}"#,
                    r#"{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"{}"}]}}"#,
                ],
            ),
            Version::V2025_11_25 => talk.says(batch, &[refused]),
            // Earlier revisions know no error without an id.
            _ => talk.says(batch, &[]),
        }
    }
    let talk = Talk::legacy(Version::V2025_03_26);
    talk.says("[]", &[]);
    talk.says("[[]]", &[]);
    talk.says("[{]", &[]);
    talk.says(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#, &[]);
    talk.says(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#, &[]);
    // Each element is a request of its own: one can be cancelled by another.
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1000}}"#;
    let mut scene = memory(Era::Legacy(Version::V2025_03_26), |builder| builder);
    let play = r#"{"jsonrpc":"2.0","id":1000,"method":"tools/call","params":{"name":"play","arguments":{"name":"one"}}}"#;
    scene.client.send(&format!("[{play},{cancel}]"));
    scene.director.expect("fired one: cancelled by the client");
    scene.client.silence();
}

// One line must not become answers without end.
#[test]
fn of_a_batch_what_is_behind_a_message_of_answers_is_refused() {
    let refused = |method: &str, limits| {
        let server = crate::talk::builder().limits(limits).build().unwrap();
        let client = Client::legacy(&server, Version::V2025_03_26);
        let client = within("the handshake", client);
        let request = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
        let batch = format!("[{}]", Vec::from_iter((10..15).map(request)).join(","));
        within("the answers", async {
            client.send(batch).await;
            let mut refused = Vec::new();
            for id in 10..15 {
                let answer = client.line().await.unwrap();
                let answer: Value = serde_json::from_str(&answer).unwrap();
                assert_eq!(answer["id"], id);
                if let Some(error) = answer.get("error") {
                    assert_eq!(error["message"], "Too much for one batch");
                    refused.push(id);
                }
            }
            refused
        })
    };
    let mut limits = Limits::default();
    // An answer with a list is longer than what asks for it.
    limits.message_bytes = 300;
    assert!(refused("ping", limits.clone()).is_empty());
    assert_eq!(refused("tools/list", limits).last(), Some(&14));
}

#[test]
fn a_batch_of_more_messages_than_calls_may_run_is_not_served() {
    let mut limits = Limits::default();
    limits.calls_per_peer = 2;
    let server = Server::builder("t", "0").limits(limits).build().unwrap();
    let talk = Talk(smol::block_on(Client::legacy(
        &server,
        Version::V2025_03_26,
    )));
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let pong = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let two = format!("[{},{}]", ping(101), ping(102));
    talk.says(two, &[&pong(101), &pong(102)]);
    // The revision knows no error without an id.
    let three = format!("[{},{},{}]", ping(103), ping(104), ping(105));
    talk.says(three, &[]);
}

fn map(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => panic!("no object"),
    }
}

/// A server whose definitions and results have everything that a revision may not know.
fn rich() -> Server {
    let info = Implementation::new("t", "1")
        .title("T")
        .description("d")
        .website_url("https://example.com/")
        .icons([Icon::new("https://example.com/i.png")]);
    let dated = || {
        Annotations::default()
            .priority(0.5)
            .last_modified("2025-01-12T15:00:58Z")
    };
    let resource_info = move || {
        ResourceInfo::new("memo:///a", "a")
            .title("A")
            .icons([Icon::new("https://example.com/i.png")])
            .annotations(dated())
            .meta(map(json!({ "com.example/x": 1 })))
    };
    let content = move || {
        vec![
            Content::text("one")
                .annotations(dated())
                .meta(map(json!({ "com.example/x": 1 }))),
            Content::audio(b"abc", "audio/wav"),
            Content::image(b"abc", "image/png"),
            Content::resource_link(resource_info()),
            Content::resource(
                ResourceContents::text("memo:///a", "text")
                    .meta(map(json!({ "com.example/x": 1 }))),
            ),
        ]
    };
    let tool = Tool::new("rich", move |_: NoInput| {
        let mut result = ToolResult::structured(json!({ "a": 1 }));
        result.content = content();
        result.meta = map(json!({ "com.example/x": 1 }));
        async move { result }
    })
    .title("Rich")
    .description("d")
    .annotations(ToolAnnotations::default().read_only(true))
    .icon(Icon::new("https://example.com/i.png"))
    .meta(map(json!({ "com.example/x": 1 })))
    .input_schema(json!({ "type": "object", "properties": { "a": { "type": "string", "x-mcp-header": "A" } } }));
    let array = Tool::new("array", |_: NoInput| async {
        ToolResult::structured(json!([1]))
    });
    let prompt_info = PromptInfo::new("p")
        .title("P")
        .icons([Icon::new("https://example.com/i.png")])
        .argument(PromptArgument::required("x").title("X"));
    let prompt = Prompt::new(prompt_info, move |_, _| async move {
        PromptResult::user(Content::audio(b"abc", "audio/wav")).message(PromptMessage::assistant(
            Content::resource_link(ResourceInfo::new("memo:///a", "a")),
        ))
    });
    let resource = Resource::new(resource_info(), |uri, _| async move {
        ResourceContents::text(uri, "text").meta(map(json!({ "com.example/x": 1 })))
    });
    let gone = ResourceTemplate::new(
        ResourceTemplateInfo::new("gone:///{id}", "gone").title("G"),
        |_, _, _| async { Err::<ResourceContents, _>(HandlerError::not_found()) },
    )
    .unwrap();
    Server::builder("t", "1")
        .info(info)
        .tool(tool)
        .tool(array)
        .prompt(prompt)
        .resource(resource)
        .resource_template(gone)
        .build()
        .unwrap()
}

/// The result of a request under a revision.
fn ask(server: &Server, version: Version, method: &str, params: Value) -> Result<Value, i64> {
    smol::block_on(async {
        let client = match version {
            Version::V2026_07_28 => Client::new(server),
            version => Client::legacy(server, version).await,
        };
        client
            .request(method, params)
            .await
            .map_err(|error| error.code)
    })
}

/// The members of an object.
fn members(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}

// R41, legacy.md §13: definitions.
#[test]
fn an_older_revision_is_told_of_definitions_only_what_it_knows() {
    let server = rich();
    for &version in Version::ALL {
        let tools = ask(&server, version, "tools/list", json!({})).unwrap();
        let tool = &tools["tools"][0];
        let prompts = ask(&server, version, "prompts/list", json!({})).unwrap();
        let prompt = &prompts["prompts"][0];
        let resources = ask(&server, version, "resources/list", json!({})).unwrap();
        let resource = &resources["resources"][0];
        let (newest, titled, hinted) = (
            version >= Version::V2025_11_25,
            version >= Version::V2025_06_18,
            version >= Version::V2025_03_26,
        );
        for defined in [tool, prompt, resource] {
            assert_eq!(
                defined.get("icons").is_some(),
                newest,
                "{version} {defined}"
            );
            assert_eq!(
                defined.get("title").is_some(),
                titled,
                "{version} {defined}"
            );
        }
        assert_eq!(
            prompt["arguments"][0].get("title").is_some(),
            titled,
            "{version}"
        );
        assert_eq!(tool.get("_meta").is_some(), titled, "{version}");
        assert_eq!(resource.get("_meta").is_some(), titled, "{version}");
        assert_eq!(
            resource["annotations"].get("lastModified").is_some(),
            titled,
            "{version}"
        );
        assert_eq!(resource["annotations"]["priority"], 0.5, "{version}");
        // A tool's title goes where the revision has a place for it.
        let hints = match version {
            Version::V2024_11_05 => Value::Null,
            Version::V2025_03_26 => json!({ "readOnlyHint": true, "title": "Rich" }),
            _ => json!({ "readOnlyHint": true }),
        };
        assert_eq!(tool["annotations"], hints, "{version} {hinted}");
        // The schema is the author's, whatever a revision makes of it.
        assert_eq!(
            tool["inputSchema"]["properties"]["a"]["x-mcp-header"], "A",
            "{version}"
        );
        let modern = version == Version::V2026_07_28;
        for list in [&tools, &prompts, &resources] {
            for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                assert_eq!(list.get(member).is_some(), modern, "{version} {member}");
            }
        }
    }
}

// R41, R171, R172, legacy.md §13: results.
#[test]
fn an_older_revision_is_told_of_results_only_what_it_knows() {
    let server = rich();
    for &version in Version::ALL {
        let result = ask(&server, version, "tools/call", json!({ "name": "rich" })).unwrap();
        let (modern, titled, audible) = (
            version == Version::V2026_07_28,
            version >= Version::V2025_06_18,
            version >= Version::V2025_03_26,
        );
        let expected: &[&str] = match version {
            Version::V2026_07_28 => &["_meta", "content", "resultType", "structuredContent"],
            _ if titled => &["_meta", "content", "structuredContent"],
            _ => &["content"],
        };
        assert_eq!(members(&result), expected, "{version}");
        if titled {
            assert_eq!(result["_meta"]["com.example/x"], 1);
            assert_eq!(
                result["_meta"]
                    .get("io.modelcontextprotocol/serverInfo")
                    .is_some(),
                modern
            );
        }
        let content = result["content"].as_array().unwrap();
        assert_eq!(content[0].get("_meta").is_some(), titled, "{version}");
        assert_eq!(
            content[0]["annotations"].get("lastModified").is_some(),
            titled,
            "{version}"
        );
        match audible {
            true => assert_eq!(
                content[1],
                json!({ "type": "audio", "data": "YWJj", "mimeType": "audio/wav" })
            ),
            false => assert_eq!(
                content[1],
                json!({ "type": "text", "text": "[audio, audio/wav]" })
            ),
        }
        assert_eq!(
            content[2],
            json!({ "type": "image", "data": "YWJj", "mimeType": "image/png" })
        );
        match titled {
            true => assert_eq!(content[3]["type"], "resource_link"),
            false => assert_eq!(
                content[3],
                json!({ "type": "text", "text": "a: memo:///a" })
            ),
        }
        if modern || version == Version::V2025_11_25 {
            assert!(content[3].get("icons").is_some());
        }
        if version == Version::V2025_06_18 {
            assert!(
                content[3].get("icons").is_none(),
                "{version}: {}",
                content[3]
            );
        }
        assert_eq!(
            content[4]["resource"].get("_meta").is_some(),
            titled,
            "{version}"
        );

        // Structured content that is no object: the text has it for those who cannot read it.
        let array = ask(&server, version, "tools/call", json!({ "name": "array" })).unwrap();
        assert_eq!(array["content"], json!([{ "type": "text", "text": "[1]" }]));
        assert_eq!(
            array.get("structuredContent").is_some(),
            modern,
            "{version}"
        );

        let prompt = ask(
            &server,
            version,
            "prompts/get",
            json!({ "name": "p", "arguments": { "x": "y" } }),
        )
        .unwrap();
        let kind = |at: usize| prompt["messages"][at]["content"]["type"].as_str().unwrap();
        assert_eq!(kind(0), if audible { "audio" } else { "text" }, "{version}");
        assert_eq!(
            kind(1),
            if titled { "resource_link" } else { "text" },
            "{version}"
        );

        let read = ask(
            &server,
            version,
            "resources/read",
            json!({ "uri": "memo:///a" }),
        )
        .unwrap();
        assert_eq!(
            read["contents"][0].get("_meta").is_some(),
            titled,
            "{version}"
        );
        assert_eq!(read.get("ttlMs").is_some(), modern, "{version}");
    }
}

// R172: older revisions know structured results that are objects alone.
#[test]
fn a_schema_of_results_that_are_no_objects_is_not_told_to_older_revisions() {
    let tool = |name: &str, kind: &str| {
        Tool::new(name, |_: NoInput| async {}).output_schema_unchecked(json!({ "type": kind }))
    };
    let server = Server::builder("t", "1")
        .tool(tool("list", "array"))
        .tool(tool("map", "object"))
        .build()
        .unwrap();
    for &version in Version::ALL {
        let listed = ask(&server, version, "tools/list", json!({})).unwrap();
        let told = [0, 1].map(|at| listed["tools"][at].get("outputSchema").is_some());
        let modern = version == Version::V2026_07_28;
        assert_eq!(told, [modern, version >= Version::V2025_06_18], "{version}");
    }
}

// R372: without the capability for it, the call is served as any other.
#[test]
fn a_wish_for_a_task_is_ignored() {
    let talk = Talk::legacy(Version::V2025_11_25);
    talk.says(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","task":{"ttl":60000}}}"#,
        &[r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}]}}"#],
    );
}

// R335, legacy.md §13: what is not found, by handler and by registry.
#[test]
fn each_era_has_its_own_code_for_what_is_not_found() {
    let server = rich();
    for &version in Version::ALL {
        let code = match version {
            Version::V2026_07_28 => -32602,
            _ => -32002,
        };
        for uri in ["nowhere:///", "gone:///7"] {
            let refused = ask(&server, version, "resources/read", json!({ "uri": uri }));
            assert_eq!(refused, Err(code), "{version} {uri}");
        }
    }
}

// R36, legacy.md §13: the handshake itself.
#[test]
fn the_handshake_tells_of_the_server_only_what_the_revision_knows() {
    for version in LEGACY {
        let talk = Talk::with(&rich());
        let answer = talk.asks(initialize(&format!("\"{version}\"")));
        let info = &answer["result"]["serverInfo"];
        let expected: &[&str] = match version {
            Version::V2025_11_25 => &[
                "description",
                "icons",
                "name",
                "title",
                "version",
                "websiteUrl",
            ],
            Version::V2025_06_18 => &["name", "title", "version"],
            _ => &["name", "version"],
        };
        assert_eq!(members(info), expected, "{version}");
    }
}

// P1 in both eras at once: ids of both eras share one space on a stream (legacy.md §16.3).
#[test]
fn a_handler_sees_which_revision_it_serves() {
    let server = talk::builder()
        .tool(Tool::new(
            "who",
            |_: NoInput, cx: smol_mcp::Context| async move { cx.protocol_version().to_string() },
        ))
        .build()
        .unwrap();
    for version in LEGACY {
        let talk = Talk(smol::block_on(Client::legacy(&server, version)));
        let legacy =
            talk.asks(r#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"who"}}"#);
        assert_eq!(legacy["result"]["content"][0]["text"], version.as_str());
        let modern = talk.asks(
            r#"{"jsonrpc":"2.0","id":70,"method":"tools/call","params":{"name":"who",$META}}"#,
        );
        assert_eq!(modern["result"]["content"][0]["text"], "2026-07-28");
    }
}
