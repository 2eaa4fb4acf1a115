//! Changes while a server runs, and who is told of them.
#![cfg(all(feature = "server", unix))]

#[path = "common/client.rs"]
mod client;

use std::sync::Arc;
use std::time::Duration;

use client::{META, modern, with};
use serde_json::Value;
use smol_mcp::protocol::{
    LogLevel, PromptInfo, PromptResult, ResourceContents, ResourceInfo, ResourceTemplateInfo,
};
use smol_mcp::{
    Builder, Context, Limits, List, NoInput, Prompt, Resource, ResourceTemplate, Server, Tool,
};

fn tool(name: &str) -> Tool {
    Tool::new(name, async |_: NoInput| "done")
}

fn memo(name: &str) -> Resource {
    let info = ResourceInfo::new(format!("memo:///{name}"), name);
    Resource::new(info, async |uri: String, _: Context| {
        ResourceContents::text(uri, "memo")
    })
}

fn prompt(name: &str) -> Prompt {
    Prompt::new(PromptInfo::new(name), async |_, _| PromptResult::user("hi"))
}

fn builder() -> Builder {
    Server::builder("t", "0")
        .tool(tool("first"))
        .resource(memo("x"))
        .prompt(prompt("first"))
}

/// A server whose lists all change.
fn changing() -> Server {
    builder()
        .list_changed([List::Tools, List::Prompts, List::Resources])
        .subscriptions()
        .build()
        .unwrap()
}

fn listen(id: &str, filter: &str) -> String {
    modern(
        id,
        "subscriptions/listen",
        &format!(r#""notifications":{filter},"#),
        "{}",
    )
}

fn acknowledged(id: &str, filter: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}}}"#
    )
}

fn changed(id: &str, list: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    )
}

fn updated(id: &str, uri: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"uri":"{uri}"}}}}"#
    )
}

const EVERYTHING: &str = r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["memo:///x","memo:///a"]}"#;

// ---- modern ----

#[test]
fn a_subscription_is_acknowledged_and_then_told_of_every_change_it_named() {
    // R232, R233, R234, R236, R159, R194, R205
    let server = changing();
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("31", EVERYTHING)).await,
            acknowledged("31", EVERYTHING)
        );
        server.add_tool(tool("second")).unwrap();
        client.expect(&changed("31", "tools")).await;
        assert!(server.remove_tool("second"));
        client.expect(&changed("31", "tools")).await;
        server.add_prompt(prompt("second")).unwrap();
        client.expect(&changed("31", "prompts")).await;
        assert!(server.remove_prompt("second"));
        client.expect(&changed("31", "prompts")).await;
        server.add_resource(memo("y")).unwrap();
        client.expect(&changed("31", "resources")).await;
        assert!(server.remove_resource("memo:///y"));
        client.expect(&changed("31", "resources")).await;
        let info = ResourceTemplateInfo::new("log:///{n}", "log");
        let template =
            ResourceTemplate::new(info, async |uri, _, _| ResourceContents::text(uri, "log"));
        server.add_resource_template(template.unwrap()).unwrap();
        client.expect(&changed("31", "resources")).await;
        assert!(server.remove_resource_template("log:///{n}"));
        client.expect(&changed("31", "resources")).await;
        server.resource_updated("memo:///a");
        client.expect(&updated("31", "memo:///a")).await;
        // Nothing was removed, so nothing has changed.
        assert!(!server.remove_tool("second"));
        client.expect_nothing().await;
    });
}

#[test]
fn what_was_not_named_is_not_told() {
    // R235
    let server = changing();
    with(&server, async |client| {
        let filter = r#"{"promptsListChanged":true,"resourceSubscriptions":["memo:///x"]}"#;
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        server.list_changed(List::Tools);
        server.list_changed(List::Resources);
        server.resource_updated("memo:///y");
        server.resource_updated("memo:///x/y");
        client.expect_nothing().await;
        server.list_changed(List::Prompts);
        client.expect(&changed("1", "prompts")).await;
        server.resource_updated("memo:///x");
        client.expect(&updated("1", "memo:///x")).await;
    });
}

#[test]
fn what_is_not_offered_is_left_out_of_the_acknowledgment() {
    // R234; served even if nothing is honoured
    let server = builder().list_changed([List::Prompts]).build().unwrap();
    with(&server, async |client| {
        let honoured = r#"{"promptsListChanged":true}"#;
        assert_eq!(
            client.ask(&listen("1", EVERYTHING)).await,
            acknowledged("1", honoured)
        );
        server.add_tool(tool("second")).unwrap();
        server.resource_updated("memo:///x");
        client.expect_nothing().await;
        let none = r#"{"toolsListChanged":true,"promptsListChanged":false}"#;
        assert_eq!(
            client.ask(&listen("2", none)).await,
            acknowledged("2", "{}")
        );
        server.list_changed(List::Prompts);
        client.expect(&changed("1", "prompts")).await;
        client.expect_nothing().await;
    });
    let bare = Server::builder("t", "0").build().unwrap();
    with(&bare, async |client| {
        assert_eq!(
            client.ask(&listen("0", "{}")).await,
            acknowledged("0", "{}")
        );
    });
}

#[test]
fn each_subscription_gets_its_own_copy_with_its_own_id() {
    // R236, R237, R128: "1" and 1 are different, 0 and "" are ordinary
    let server = changing();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        for id in ["1", r#""1""#, "0", r#""""#] {
            assert_eq!(
                client.ask(&listen(id, filter)).await,
                acknowledged(id, filter)
            );
        }
        server.list_changed(List::Tools);
        for id in ["1", r#""1""#, "0", r#""""#] {
            client.expect(&changed(id, "tools")).await;
        }
        client
            .send(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            )
            .await;
        client.expect_nothing().await;
        server.list_changed(List::Tools);
        for id in [r#""1""#, "0", r#""""#] {
            client.expect(&changed(id, "tools")).await;
        }
        client.expect_nothing().await;
    });
}

#[test]
fn subscriptions_of_two_clients_are_apart() {
    // R241
    let server = changing();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |one| {
        assert_eq!(
            one.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        let other = server.clone();
        smol::unblock(move || {
            with(&other, async |two| {
                assert_eq!(
                    two.ask(&listen("1", filter)).await,
                    acknowledged("1", filter)
                );
                other.list_changed(List::Tools);
                two.expect(&changed("1", "tools")).await;
            });
        })
        .await;
        one.expect(&changed("1", "tools")).await;
        // The other client has gone, and its subscription with it.
        server.list_changed(List::Tools);
        one.expect(&changed("1", "tools")).await;
        one.expect_nothing().await;
    });
}

#[test]
fn nothing_leaves_after_the_client_has_cancelled() {
    // R240
    let server = changing();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        client
            .send(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            )
            .await;
        client.expect_nothing().await;
        server.list_changed(List::Tools);
        client.expect_nothing().await;
        // The id is free.
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
    });
}

#[test]
fn the_id_of_a_subscription_stands_on_its_messages_as_it_was() {
    // R5, R236: falsy ids, both ends of i64, what no float holds, text
    let server = changing();
    with(&server, async |client| {
        let filter = r#"{"toolsListChanged":true}"#;
        let long = format!("\"{}\"", "x".repeat(10_000));
        for id in [
            "0",
            "\"\"",
            "\"0\"",
            "-1",
            "9007199254740993",
            "9223372036854775807",
            "-9223372036854775808",
            &long,
        ] {
            let acknowledgment = client.ask(&listen(id, filter)).await;
            assert_eq!(acknowledgment, acknowledged(id, filter));
            server.list_changed(List::Tools);
            client.expect(&changed(id, "tools")).await;
            let cancelled = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
            );
            client.send(&cancelled).await;
            client.expect_nothing().await;
        }
    });
}

#[test]
fn the_id_of_an_open_subscription_is_in_use() {
    let server = changing();
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", "{}")).await,
            acknowledged("1", "{}")
        );
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: 'id' is in use"}}"#;
        assert_eq!(client.ask(&listen("1", "{}")).await, refused);
        assert_eq!(
            client
                .ask(&modern("1", "tools/call", r#""name":"first","#, "{}"))
                .await,
            refused
        );
        assert_eq!(server.calls_in_flight(), 0);
    });
}

#[test]
fn a_closing_server_ends_its_subscriptions_in_order() {
    // R238, R239, R139: the result first, then the notification
    let server = changing();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("31", filter)).await,
            acknowledged("31", filter)
        );
        // It does not wait for the subscription, however long the grace.
        server.close(Duration::from_secs(3600)).await;
        let result = r#"{"jsonrpc":"2.0","id":31,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/subscriptionId":31}}}"#;
        client.expect(result).await;
        client
            .expect(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":31},"requestId":31}}"#)
            .await;
        server.list_changed(List::Tools);
    });
}

#[test]
fn the_end_of_input_does_not_wait_for_subscriptions() {
    let mut limits = Limits::default();
    limits.grace = Duration::from_secs(3600);
    let server = builder()
        .list_changed([List::Tools])
        .limits(limits)
        .build()
        .unwrap();
    let input = format!("{}\n", listen("1", "{}"));
    let mut output = Vec::new();
    smol::block_on(smol_mcp::lines::serve(
        &server,
        input.as_bytes(),
        &mut output,
    ))
    .unwrap();
    assert_eq!(
        String::from_utf8(output).unwrap(),
        acknowledged("1", "{}") + "\n"
    );
}

#[test]
fn open_subscriptions_are_bounded_and_the_refusal_precedes_the_acknowledgment() {
    let mut limits = Limits::default();
    limits.subscriptions = 2;
    // They do not count as calls.
    limits.calls_per_peer = 1;
    let server = builder().limits(limits).build().unwrap();
    with(&server, async |client| {
        for id in ["1", "2"] {
            assert_eq!(client.ask(&listen(id, "{}")).await, acknowledged(id, "{}"));
        }
        let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Too many open subscriptions: at most 2"}}"#;
        assert_eq!(client.ask(&listen("3", "{}")).await, refused);
        let called = format!(
            r#"{{"jsonrpc":"2.0","id":3,"result":{{"content":[{{"type":"text","text":"done"}}],"resultType":"complete",{META}}}}}"#
        );
        assert_eq!(
            client
                .ask(&modern("3", "tools/call", r#""name":"first","#, "{}"))
                .await,
            called
        );
        client
            .send(
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
            )
            .await;
        assert_eq!(
            client.ask(&listen("3", "{}")).await,
            acknowledged("3", "{}")
        );
    });
}

#[test]
fn filters_that_are_none_are_refused() {
    let server = changing();
    with(&server, async |client| {
        let refusals = [
            (
                modern("1", "subscriptions/listen", "", "{}"),
                "Missing 'notifications'",
            ),
            (
                listen("1", "7"),
                "Invalid 'notifications': invalid type: integer `7`, expected an object",
            ),
            (
                listen("1", "null"),
                "Invalid 'notifications': invalid type: null, expected an object",
            ),
            (
                listen("1", r#"{"toolsListChanged":1}"#),
                "Invalid 'notifications': toolsListChanged: invalid type: integer `1`, expected a boolean",
            ),
            (
                listen("1", r#"{"resourceSubscriptions":"x"}"#),
                "Invalid 'notifications': resourceSubscriptions: invalid type: string \"x\", expected a sequence",
            ),
        ];
        for (request, message) in refusals {
            let answer: Value = serde_json::from_str(&client.ask(&request).await).unwrap();
            assert_eq!(
                (
                    answer["error"]["code"].as_i64(),
                    answer["error"]["message"].as_str()
                ),
                (Some(-32602), Some(message))
            );
        }
        let uris: Vec<_> = (0..1025).map(|n| format!("memo:///{n}")).collect();
        let filter = format!(
            r#"{{"resourceSubscriptions":{}}}"#,
            serde_json::to_string(&uris).unwrap()
        );
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Too many resources in one subscription: at most 1024"}}"#;
        assert_eq!(client.ask(&listen("1", &filter)).await, refused);
        let filter = format!(
            r#"{{"resourceSubscriptions":["memo:///{}"]}}"#,
            "x".repeat(256 * 1024)
        );
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Too many resources in one subscription: at most 262144 bytes of addresses"}}"#;
        assert_eq!(client.ask(&listen("1", &filter)).await, refused);
    });
}

#[test]
fn a_client_that_reads_slowly_is_told_once() {
    let server = changing();
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", EVERYTHING)).await,
            acknowledged("1", EVERYTHING)
        );
        // Not a moment passes for the server to write.
        for _ in 0..1000 {
            server.list_changed(List::Tools);
            server.resource_updated("memo:///x");
            server.resource_updated("memo:///a");
        }
        client.expect(&changed("1", "tools")).await;
        client.expect(&updated("1", "memo:///x")).await;
        client.expect(&updated("1", "memo:///a")).await;
        client.expect_nothing().await;
    });
}

#[test]
fn a_handler_may_change_the_list_it_stands_in() {
    let grow = Tool::new("grow", async |_: NoInput, cx: Context| {
        cx.server().add_tool(tool("grown")).map(|()| "grown")
    });
    let server = Server::builder("t", "0")
        .tool(grow)
        .list_changed([List::Tools])
        .build()
        .unwrap();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        client
            .send(&modern("2", "tools/call", r#""name":"grow","#, "{}"))
            .await;
        let mut lines = [client.next().await, client.next().await];
        lines.sort();
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"grown"}}],"resultType":"complete",{META}}}}}"#
        );
        assert_eq!(lines, [answer, changed("1", "tools")]);
        let listed = client.ask(&modern("3", "tools/list", "", "{}")).await;
        assert!(
            listed.contains(r#""name":"grow""#) && listed.contains(r#""name":"grown""#),
            "{listed}"
        );
    });
}

#[test]
fn what_a_call_says_is_no_part_of_a_subscription() {
    // R225, R242, R128, R152
    let busy = Tool::new("busy", async |_: NoInput, cx: Context| {
        cx.progress(1, 2, "half");
        cx.log(LogLevel::Error, "hot");
        cx.server().list_changed(List::Tools);
        smol::future::yield_now().await;
        "done"
    });
    let server = Server::builder("t", "0")
        .tool(busy)
        .logging()
        .list_changed([List::Tools])
        .build()
        .unwrap();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"busy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"debug","progressToken":"p"}}}"#;
        client.send(call).await;
        let mut lines = [
            client.next().await,
            client.next().await,
            client.next().await,
            client.next().await,
        ];
        lines.sort();
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"hot"}}"#;
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":2,"message":"half"}}"#;
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":"done"}}],"resultType":"complete",{META}}}}}"#
        );
        assert_eq!(
            lines,
            [
                answer,
                log.to_owned(),
                progress.to_owned(),
                changed("1", "tools")
            ]
        );
        client.expect_nothing().await;
    });
}

// ---- what is advertised ----

#[test]
fn what_changes_is_advertised_even_if_it_is_empty_at_first() {
    let cases = [
        (Server::builder("t", "0"), "{}"),
        (builder(), r#"{"prompts":{},"resources":{},"tools":{}}"#),
        (
            builder()
                .list_changed([List::Tools, List::Prompts, List::Resources])
                .subscriptions(),
            r#"{"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}"#,
        ),
        (
            Server::builder("t", "0").list_changed([List::Tools]),
            r#"{"tools":{"listChanged":true}}"#,
        ),
        (
            Server::builder("t", "0").subscriptions(),
            r#"{"resources":{"subscribe":true}}"#,
        ),
    ];
    for (builder, capabilities) in cases {
        let server = builder.build().unwrap();
        with(&server, async |client| {
            let discovered: Value =
                serde_json::from_str(&client.ask(&modern("1", "server/discover", "", "{}")).await)
                    .unwrap();
            assert_eq!(
                discovered["result"]["capabilities"].to_string(),
                capabilities
            );
            let initialized: Value =
                serde_json::from_str(&client.initialize("2025-11-25", "{}").await).unwrap();
            assert_eq!(
                initialized["result"]["capabilities"].to_string(),
                capabilities
            );
        });
    }
}

#[test]
fn a_server_built_without_a_kind_takes_none_later() {
    let server = Server::builder("t", "0").build().unwrap();
    let err = server.add_tool(tool("late")).unwrap_err();
    assert!(err.is_definition());
    assert_eq!(
        err.to_string(),
        r#"tool "late": the server was built without tools, and without `list_changed` for them"#
    );
    let err = builder()
        .build()
        .unwrap()
        .add_tool(tool("first"))
        .unwrap_err();
    assert_eq!(err.to_string(), r#"tool "first" registered twice"#);
}

// ---- legacy ----

#[test]
fn a_legacy_client_is_told_without_asking_once_it_is_ready() {
    // R159, R194, R205; legacy.md §4: before `initialized` the server says nothing
    let server = changing();
    with(&server, async |client| {
        client
            .ask(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}"#)
            .await;
        server.list_changed(List::Tools);
        client.expect_nothing().await;
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        client.expect_nothing().await;
        for (list, name) in [
            (List::Tools, "tools"),
            (List::Prompts, "prompts"),
            (List::Resources, "resources"),
        ] {
            server.list_changed(list);
            client.expect(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}/list_changed","params":{{}}}}"#)).await;
        }
        server.resource_updated("memo:///x");
        client.expect_nothing().await;
    });
}

#[test]
fn a_connection_without_a_session_is_told_nothing() {
    let server = changing();
    with(&server, async |client| {
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        client.expect_nothing().await;
        server.list_changed(List::Tools);
        client.expect_nothing().await;
    });
}

#[test]
fn a_legacy_client_subscribes_and_unsubscribes() {
    // R201
    let server = changing();
    let request = |id: u32, verb: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{verb}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let done = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    with(&server, async |client| {
        client.initialize("2025-11-25", "{}").await;
        assert_eq!(
            client.ask(&request(1, "subscribe", "memo:///x")).await,
            done(1)
        );
        server.resource_updated("memo:///y");
        server.resource_updated("memo:///x");
        client.expect(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo:///x"}}"#).await;
        assert_eq!(
            client.ask(&request(2, "unsubscribe", "memo:///x")).await,
            done(2)
        );
        server.resource_updated("memo:///x");
        client.expect_nothing().await;
        assert_eq!(
            client
                .ask(&request(3, "unsubscribe", "memo:///never"))
                .await,
            done(3)
        );
        for n in 0..1024 {
            assert_eq!(
                client
                    .ask(&request(n, "subscribe", &format!("memo:///{n}")))
                    .await,
                done(n)
            );
        }
        let refused = r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"Too many subscriptions: at most 1024"}}"#;
        assert_eq!(
            client.ask(&request(9, "subscribe", "memo:///more")).await,
            refused
        );
        assert_eq!(
            client.ask(&request(9, "subscribe", "memo:///7")).await,
            done(9)
        );
    });
}

#[test]
fn what_a_legacy_client_subscribes_to_is_bounded_in_bytes_as_well() {
    let server = changing();
    let request = |id: u32, verb: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/{verb}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let done = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    let uri = |name: &str, length: usize| format!("memo:///{name}{}", "x".repeat(length));
    let (long, other) = (uri("a", 200 * 1024), uri("b", 100 * 1024));
    with(&server, async |client| {
        client.initialize("2025-11-25", "{}").await;
        let subscribe = request(1, "subscribe", &long);
        assert_eq!(client.ask(&subscribe).await, done(1));
        // It stands there already.
        assert_eq!(client.ask(&subscribe).await, done(1));
        let refused = client.ask(&request(2, "subscribe", &other)).await;
        assert!(
            refused.contains("at most 262144 bytes of addresses"),
            "{refused}"
        );
        assert_eq!(client.ask(&request(3, "unsubscribe", &long)).await, done(3));
        assert_eq!(client.ask(&request(4, "subscribe", &other)).await, done(4));
    });
}

#[test]
fn subscribing_without_the_capability_is_no_method() {
    // R201, R57
    let server = builder().build().unwrap();
    with(&server, async |client| {
        client.initialize("2025-11-25", "{}").await;
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: resources/subscribe"}}"#;
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"memo:///x"}}"#;
        assert_eq!(client.ask(request).await, refused);
    });
    let server = changing();
    with(&server, async |client| {
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: resources/subscribe"}}"#;
        assert_eq!(
            client
                .ask(&modern(
                    "1",
                    "resources/subscribe",
                    r#""uri":"memo:///x","#,
                    "{}"
                ))
                .await,
            refused
        );
    });
}

#[test]
fn both_eras_on_one_connection_are_told_each_in_its_way() {
    // legacy.md §16.3
    let server = changing();
    let filter = r#"{"toolsListChanged":true}"#;
    with(&server, async |client| {
        client.initialize("2025-11-25", "{}").await;
        assert_eq!(
            client.ask(&listen("1", filter)).await,
            acknowledged("1", filter)
        );
        server.list_changed(List::Tools);
        client.expect(&changed("1", "tools")).await;
        client
            .expect(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#)
            .await;
        client.expect_nothing().await;
    });
}

#[test]
fn a_server_that_is_dropped_leaves_no_subscription_behind() {
    let witness = Arc::new(());
    let held = witness.clone();
    let server = Server::builder("t", "0")
        .tool(Tool::new("t", move |_: NoInput| {
            let _ = &held;
            async { "done" }
        }))
        .build()
        .unwrap();
    with(&server, async |client| {
        assert_eq!(
            client.ask(&listen("1", "{}")).await,
            acknowledged("1", "{}")
        );
    });
    drop(server);
    assert_eq!(Arc::strong_count(&witness), 1);
}
