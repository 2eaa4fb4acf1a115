//! Lists: their pages, their order, their cursors.

use serde_json::{Value, json};
use smol_mcp::protocol::{
    Cache, PromptInfo, PromptResult, ResourceContents, ResourceInfo, ResourceTemplateInfo,
};
use smol_mcp::testing::Client;
use smol_mcp::{Limits, List, NoInput, Prompt, Resource, ResourceTemplate, Server, Tool};

use crate::transport::Era;

fn tool(name: &str) -> Tool {
    Tool::new(name, |_: NoInput| async {})
}

fn paged(page_size: usize, entries: usize) -> Server {
    let mut limits = Limits::default();
    limits.page_size = page_size;
    let mut builder = Server::builder("t", "1").limits(limits);
    for at in 0..entries {
        // Neither by the alphabet nor by any hash.
        let name = format!("n{}", at * 7 % 10 * 100 + at);
        builder = builder
            .tool(tool(&name))
            .prompt(Prompt::new(PromptInfo::new(&*name), |_, _| async {
                PromptResult::user("x")
            }))
            .resource(Resource::new(
                ResourceInfo::new(format!("r:{name}"), &*name),
                |uri, _| async move { ResourceContents::text(uri, "") },
            ))
            .resource_template(
                ResourceTemplate::new(
                    ResourceTemplateInfo::new(format!("t:{name}/{{x}}"), &*name),
                    |uri, _, _| async move { ResourceContents::text(uri, "") },
                )
                .unwrap(),
            );
    }
    builder.build().unwrap()
}

async fn client(server: &Server, era: Era) -> Client {
    match era {
        Era::Modern => Client::new(server),
        Era::Legacy(version) => Client::legacy(server, version).await,
    }
}

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

// R346, R158, R344, R341, R157
#[test]
fn pages_hold_every_entry_once_in_the_order_of_registration() {
    for (page_size, entries) in [(1, 1), (1, 5), (2, 4), (3, 4), (4, 4), (1000, 5), (5, 1)] {
        let server = paged(page_size, entries);
        for era in Era::ALL {
            let read_all = async {
                let client = client(&server, era).await;
                for (method, member) in LISTS {
                    let (mut names, mut pages, mut cursor) = (Vec::new(), 0, Value::Null);
                    loop {
                        let params = match &cursor {
                            Value::Null => json!({}),
                            cursor => json!({ "cursor": cursor }),
                        };
                        let page = client.request(method, params).await.unwrap();
                        let entries = page[member].as_array().unwrap();
                        assert!(entries.len() <= page_size);
                        names.extend(
                            entries
                                .iter()
                                .map(|entry| entry["name"].as_str().unwrap().to_owned()),
                        );
                        pages += 1;
                        if era == Era::Modern {
                            assert_eq!(
                                (&page["ttlMs"], &page["cacheScope"]),
                                (&json!(0), &json!("private"))
                            );
                        }
                        match page.get("nextCursor") {
                            Some(next) => {
                                assert!(next.is_string());
                                cursor = next.clone();
                            }
                            None => break,
                        }
                    }
                    let expected: Vec<_> = (0..entries)
                        .map(|at| format!("n{}", at * 7 % 10 * 100 + at))
                        .collect();
                    assert_eq!(names, expected);
                    assert_eq!(pages, entries.div_ceil(page_size));
                }
            };
            smol::block_on(read_all);
        }
    }
}

// R345, R347: falsy and foreign cursors are cursors, and not the first page.
#[test]
fn a_cursor_that_the_server_did_not_give_is_refused() {
    let server = paged(2, 5);
    for era in Era::ALL {
        smol::block_on(async {
            let client = client(&server, era).await;
            for (method, _) in LISTS {
                for cursor in [
                    json!(""),
                    json!("0"),
                    json!("p0"),
                    json!("p"),
                    json!("p1"),
                    json!("p6"),
                    json!("p5"),
                    json!("p02"),
                    json!("p+2"),
                    json!("p-2"),
                    json!(" p2"),
                    json!("p2 "),
                    json!("P2"),
                    json!("p٢"),
                    json!("p18446744073709551616"),
                    json!("next"),
                    json!("\u{0}"),
                    json!("x".repeat(100_000)),
                    json!(2),
                    json!(0),
                    json!(false),
                    json!([]),
                    json!({}),
                    json!(null),
                ] {
                    let answer = client.request(method, json!({ "cursor": cursor })).await;
                    assert_eq!(
                        answer.map_err(|error| error.code),
                        Err(-32602),
                        "{method} {cursor}"
                    );
                }
                let page = client
                    .request(method, json!({ "cursor": "p2" }))
                    .await
                    .unwrap();
                assert_eq!(page["nextCursor"], "p4");
            }
        });
    }
}

// R344: a list that grows while somebody reads it shows him every entry of before once.
#[test]
fn a_cursor_stays_good_while_the_list_grows() {
    let server = paged(2, 3);
    smol::block_on(async {
        let client = Client::new(&server);
        let first = client.request("tools/list", json!({})).await.unwrap();
        server.add_tool(tool("later")).unwrap();
        let rest = client
            .request("tools/list", json!({ "cursor": first["nextCursor"] }))
            .await
            .unwrap();
        let names: Vec<_> = rest["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["n402", "later"]);
        assert!(server.remove_tool("later"));
        let rest = client
            .request("tools/list", json!({ "cursor": first["nextCursor"] }))
            .await
            .unwrap();
        assert_eq!(rest["tools"].as_array().unwrap().len(), 1);
    });
}

// R155, R156, R158, R337, R338, R339: equal bytes for the same set, on every connection; caching as configured.
#[test]
fn a_list_is_the_same_on_every_connection() {
    let server = Server::builder("t", "1")
        .tool(tool("b"))
        .tool(tool("a"))
        .cache(Cache::public(std::time::Duration::from_secs(60)))
        .build()
        .unwrap();
    let line = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}}}}"#;
    for _ in 0..3 {
        smol::block_on(async {
            let client = Client::new(&server);
            for _ in 0..2 {
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{}}}}}"#,
                    crate::talk::META
                );
                client.send(request).await;
                assert_eq!(client.line().await.as_deref(), Some(line));
            }
            client.call("a", json!({})).await;
        });
    }
}

// R156, R187, R203
#[test]
fn a_kind_that_is_declared_lists_nothing_when_it_is_empty() {
    let server = Server::builder("t", "1")
        .list_changed([List::Tools, List::Prompts, List::Resources])
        .build()
        .unwrap();
    for era in Era::ALL {
        smol::block_on(async {
            let client = client(&server, era).await;
            for (method, member) in LISTS {
                let page = client.request(method, json!({})).await.unwrap();
                assert_eq!(page[member], json!([]), "{era:?} {method}");
                assert_eq!(page.get("nextCursor"), None);
            }
        });
    }
}

// R157, R188, R204: neither what was asked before nor who asks changes what there is.
#[test]
fn what_was_asked_before_changes_no_list() {
    let server = paged(10, 3);
    smol::block_on(async {
        let (one, two) = (Client::new(&server), Client::new(&server));
        let mut before = Vec::new();
        for (method, _) in LISTS {
            before.push(one.request(method, json!({})).await.unwrap());
        }
        for (method, params) in [
            ("tools/call", json!({ "name": "n0" })),
            ("tools/call", json!({ "name": "none" })),
            ("resources/read", json!({ "uri": "r:n0" })),
            ("resources/read", json!({ "uri": "t:n0/new" })),
            ("resources/read", json!({ "uri": "r:none" })),
            ("prompts/get", json!({ "name": "n0" })),
            ("prompts/get", json!({ "name": "none" })),
        ] {
            let _ = one.request(method, params).await;
        }
        for (at, (method, _)) in LISTS.into_iter().enumerate() {
            for client in [&one, &two] {
                let after = client.request(method, json!({})).await.unwrap();
                assert_eq!(after, before[at], "{method}");
            }
        }
    });
}

// R164: names are told apart by their case, and none stands twice.
#[test]
fn a_name_that_is_taken_is_refused() {
    let twice = Server::builder("t", "1")
        .tool(tool("x"))
        .tool(tool("x"))
        .build()
        .unwrap_err();
    assert_eq!(twice.to_string(), r#"tool "x" registered twice"#);
    let server = Server::builder("t", "1")
        .tool(tool("x"))
        .tool(tool("X"))
        .build()
        .unwrap();
    assert!(server.add_tool(tool("X")).is_err());
    assert!(server.remove_tool("X"));
    assert!(!server.remove_tool("X"));
    assert!(server.add_tool(tool("X")).is_ok());
}

// R162, R163: names that clients refuse are refused first.
#[test]
fn a_tool_name_that_clients_refuse_is_refused_at_build() {
    for name in ["", " ", "a b", "a,b", "a/b", "ü", "a\n", &"x".repeat(129)] {
        let refused = Server::builder("t", "1").tool(tool(name)).build();
        assert!(refused.is_err(), "{name:?}");
    }
    for name in ["a", "A-b_c.9", &"x".repeat(128)] {
        assert!(
            Server::builder("t", "1").tool(tool(name)).build().is_ok(),
            "{name:?}"
        );
    }
}
