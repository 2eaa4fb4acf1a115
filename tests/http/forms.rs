//! What is decided by the head of a request alone.

use crate::common::*;
use smol_mcp::http::MemoryStore;
use smol_mcp::protocol::jsonrpc::RpcError;
use smol_mcp::{HandlerError, Limits, Signal};

// R61, R62
#[test]
fn strangers_are_refused_whatever_they_ask_for() {
    every_way(async |_, serving| {
        for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
            for (header, value, status) in [
                ("origin", "http://evil.example", 403),
                ("origin", "null", 403),
                ("host", "evil.example", 403),
                ("host", "127.0.0.1.evil.example:80", 403),
            ] {
                let mut request = Req::call("1", "quick", "").with(header, value);
                request.method = method.into();
                let reply = serving.send(&request).await.reply().await;
                assert_eq!(reply.status, status, "{:?} {method} {value}", serving.way());
            }
        }
    });
}

#[test]
fn a_stranger_is_refused_behind_a_friend() {
    every_way(async |_, serving| {
        let request = Req::call("1", "quick", "")
            .with("origin", "http://localhost")
            .and("origin", "http://evil.example");
        let reply = serving.send(&request).await.reply().await;
        assert_eq!(reply.status, 403);
        assert_eq!(
            reply.text(),
            "origin \"http://evil.example\" is not allowed\n"
        );
    });
}

#[test]
fn a_header_that_can_mean_one_thing_only_is_refused_when_it_appears_twice() {
    let kept = |stage: &Stage| stage.endpoint().event_store(MemoryStore::default());
    every_way_with(Stage::new, kept, async |_, serving| {
        let session = &*open(serving, "2025-11-25").await;
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let modern = Req::call("1", "quick", "");
        let listen = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", session);
        let end = Req::new("DELETE").with("mcp-session-id", session);
        let twice = |name: &str| {
            let message = format!("Invalid request: {name} appears twice");
            format!(r#"{{"jsonrpc":"2.0","error":{{"code":-32600,"message":"{message}"}}}}"#)
        };
        let of_one = error(
            "1",
            -32600,
            "Invalid request: MCP-Protocol-Version appears twice",
        );
        for request in [
            Req::legacy(session, ping),
            Req::legacy(session, note),
            Req::legacy(session, &format!("[{ping}]")),
            modern.clone().with("mcp-session-id", session),
            listen.clone(),
            end.clone(),
        ] {
            let request = request.and("mcp-session-id", session);
            let reply = serving.send(&request).await.reply().await;
            let told = (reply.status, reply.text());
            assert_eq!(told, (400, &*twice("Mcp-Session-Id")), "{request:?}");
        }
        for (request, text) in [
            (Req::legacy(session, ping), of_one),
            (Req::legacy(session, note), twice("MCP-Protocol-Version")),
            (listen.clone(), twice("MCP-Protocol-Version")),
            (end, twice("MCP-Protocol-Version")),
        ] {
            let request = request
                .with("mcp-protocol-version", "2025-11-25")
                .and("mcp-protocol-version", "2025-11-25");
            let reply = serving.send(&request).await.reply().await;
            assert_eq!((reply.status, reply.text()), (400, &*text), "{request:?}");
        }
        let request = listen
            .with("last-event-id", "1-0")
            .and("last-event-id", "1-0");
        let reply = serving.send(&request).await.reply().await;
        let told = (reply.status, reply.text());
        assert_eq!(told, (400, &*twice("Last-Event-ID")));
        let request = modern.and("content-type", "application/json");
        let reply = serving.send(&request).await.reply().await;
        let told = (reply.status, reply.text());
        assert_eq!(told, (400, "Content-Type appears twice\n"));
    });
}

#[test]
fn clients_of_this_machine_are_served_with_any_port() {
    every_way(async |_, serving| {
        for (host, origin) in [
            ("localhost", None),
            ("127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("[::1]:1", Some("http://localhost:3000")),
            ("LOCALHOST:9", Some("https://[::1]")),
        ] {
            let mut request = Req::call("1", "quick", "").with("host", host);
            if let Some(origin) = origin {
                request = request.with("origin", origin);
            }
            let reply = serving.send(&request).await.reply().await;
            assert_eq!(reply.status, 200, "{host} {origin:?}");
        }
    });
}

// R60, R94, R97, R99
#[test]
fn other_methods_are_a_405_that_says_which_are_allowed() {
    every_way(async |_, serving| {
        for (method, modern, status, allowed) in [
            ("PUT", false, 405, "GET, POST, DELETE"),
            ("OPTIONS", false, 405, "GET, POST, DELETE"),
            ("PATCH", false, 405, "GET, POST, DELETE"),
            ("PUT", true, 405, "POST"),
            ("GET", true, 405, "POST"),
            ("DELETE", true, 405, "POST"),
        ] {
            let mut request = Req::new(method).with("accept", "text/event-stream");
            if modern {
                request = request.with("mcp-protocol-version", VERSION);
            }
            let reply = serving.send(&request).await.reply().await;
            assert_eq!(
                (reply.status, reply.header("allow")),
                (status, Some(allowed)),
                "{method}"
            );
        }
    });
}

#[test]
fn head_is_refused_without_a_body() {
    every_way(async |_, serving| {
        let (status, headers) = serving.send(&Req::new("HEAD")).await.head().await;
        assert_eq!(status, 405);
        assert!(
            headers
                .iter()
                .any(|(name, value)| name == "allow" && value == "GET, POST, DELETE")
        );
    });
}

// R99
#[test]
fn without_sessions_get_and_delete_are_a_405() {
    every_way_with(
        Stage::new,
        |stage| stage.endpoint().sessionless(),
        async |_, serving| {
            for method in ["GET", "DELETE"] {
                let request = Req::new(method)
                    .with("accept", "text/event-stream")
                    .with("mcp-session-id", "x");
                let reply = serving.send(&request).await.reply().await;
                assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")));
            }
        },
    );
}

#[test]
fn another_path_is_a_404() {
    every_way(async |_, serving| {
        let mut request = Req::call("1", "quick", "");
        request.path = "/other".into();
        assert_eq!(serving.send(&request).await.reply().await.status, 404);
    });
}

#[test]
fn a_body_that_is_not_called_json_is_a_415() {
    every_way(async |_, serving| {
        for (kind, status) in [
            ("application/json", 200),
            ("Application/JSON; charset=utf-8", 200),
            ("application/json;", 200),
            ("text/plain", 415),
            ("application/jsonp", 415),
            ("", 415),
        ] {
            let request = Req::call("1", "quick", "").with("content-type", kind);
            assert_eq!(
                serving.send(&request).await.reply().await.status,
                status,
                "{kind}"
            );
        }
        let request = Req::call("1", "quick", "").without("content-type");
        assert_eq!(serving.send(&request).await.reply().await.status, 415);
    });
}

#[test]
fn a_client_that_accepts_neither_form_is_a_406() {
    every_way(async |_, serving| {
        for (accept, status, kind) in [
            (
                "application/json, text/event-stream",
                200,
                "application/json",
            ),
            ("*/*", 200, "application/json"),
            ("application/json", 200, "application/json"),
            ("application/*;q=0.2", 200, "application/json"),
            ("text/event-stream", 200, "text/event-stream"),
            ("text/*, application/json;q=0", 200, "text/event-stream"),
            ("text/html", 406, "text/plain; charset=utf-8"),
            ("application/json;q=0", 406, "text/plain; charset=utf-8"),
            ("", 406, "text/plain; charset=utf-8"),
        ] {
            let request = Req::call("1", "quick", "").with("accept", accept);
            let reply = serving.send(&request).await.reply().await;
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (status, Some(kind)),
                "{accept:?}"
            );
        }
        let request = Req::call("1", "quick", "").without("accept");
        assert_eq!(serving.send(&request).await.reply().await.status, 200);
    });
}

#[test]
fn an_answer_for_a_client_that_takes_streams_alone_is_one_event() {
    every_way(async |stage, serving| {
        let request = Req::call("1", "quick", "").with("accept", "text/event-stream");
        let reply = serving.send(&request).await.reply().await;
        assert_eq!(reply.text(), format!("data: {}\n\n", said("1", "done")));
        let reply = serving
            .send(&initialize("2025-11-25").with("accept", "text/event-stream"))
            .await
            .reply()
            .await;
        assert!(
            reply
                .text()
                .starts_with("data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\""),
            "{}",
            reply.text()
        );
        assert_eq!(reply.header("content-type"), Some("text/event-stream"));
        assert!(reply.header("mcp-session-id").is_some());
        // R59: errors with a status of their own are JSON, as they must reach the client intact.
        let exchange = serving
            .send(&Req::play("1").with("accept", "text/event-stream"))
            .await;
        let lacking = RpcError::new(RpcError::MISSING_CLIENT_CAPABILITY, "Needs more")
            .with_data(serde_json::json!({ "requiredCapabilities": { "sampling": {} } }));
        stage.playing().await.fail(HandlerError::rpc(lacking));
        let reply = exchange.reply().await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (400, Some("application/json"))
        );
        let request = request.with("mcp-method", "x");
        let reply = serving.send(&request).await.reply().await;
        assert_eq!(
            (reply.status, reply.header("content-type")),
            (400, Some("application/json"))
        );
    });
}

#[test]
fn a_message_over_the_limit_is_a_413() {
    let small = || {
        Stage::with(|builder| {
            let mut limits = Limits::default();
            limits.message_bytes = 400;
            builder.limits(limits)
        })
    };
    every_way_with(small, Stage::endpoint, async |_, serving| {
        let fits = Req::call("1", "quick", "");
        assert!(fits.body.len() <= 400);
        assert_eq!(serving.send(&fits).await.reply().await.status, 200);
        let long = Req::call("1", "quick", &format!(r#","x":"{}""#, "y".repeat(400)));
        assert_eq!(serving.send(&long).await.reply().await.status, 413);
    });
}

#[test]
fn names_that_were_added_are_served() {
    let open = |stage: &Stage| {
        stage
            .endpoint()
            .host("api.example")
            .and_then(|endpoint| endpoint.origin("https://app.example:443"))
            .unwrap()
    };
    every_way_with(Stage::new, open, async |_, serving| {
        let request = Req::call("1", "quick", "").with("host", "API.example:443");
        assert_eq!(serving.send(&request).await.reply().await.status, 200);
        for origin in ["https://app.example", "https://app.example:443"] {
            let request = request.clone().with("origin", origin);
            assert_eq!(serving.send(&request).await.reply().await.status, 200);
        }
        let request = request.with("origin", "https://other.example");
        assert_eq!(serving.send(&request).await.reply().await.status, 403);
    });
}

#[test]
fn a_path_is_the_same_with_its_first_slash_and_without() {
    for path in ["notes", "/notes"] {
        let endpoint = Stage::new().endpoint().path(path);
        for (asked, status) in [("/notes", 200), ("/mcp", 404)] {
            let mut request = Req::call("1", "quick", "");
            request.path = asked.into();
            let handling = endpoint.handle(request.request(), Signal::never());
            assert_eq!(smol::block_on(handling).status(), status, "{path} {asked}");
        }
    }
}

#[test]
fn a_host_that_no_client_can_name_is_refused_and_named() {
    let endpoint = Stage::new().endpoint();
    for host in [
        "",
        " ",
        "http://x/",
        "x/mcp",
        "a.example,b.example",
        " x.example",
        "*",
        "*.example",
        "ada@x.example",
        "x.example:http",
        "2001:db8::1",
        "[]",
        "[::1",
        "bücher.example",
    ] {
        let err = endpoint.clone().host(host).expect_err(host);
        assert!(err.is_definition());
        let expected = "expected a name such as \"notes.example\", or an address, IPv6 in brackets";
        assert_eq!(err.to_string(), format!("host {host:?}: {expected}"));
    }
    for host in [
        "x",
        "x.example.",
        "my_service:8080",
        "x.example:",
        "10.0.0.1",
        "[2001:db8::1]",
        "[2001:db8::1]:80",
        "xn--bcher-kva.example",
    ] {
        let _ = endpoint.clone().host(host).expect(host);
    }
}

#[test]
fn an_origin_that_no_page_can_have_is_refused_and_named() {
    let endpoint = Stage::new().endpoint();
    for origin in [
        "",
        "app.example",
        "*",
        "https://*.example",
        "https://",
        "://app.example",
        "https://app.example/editor",
        "https://ada@app.example",
        "https://app.example https://b.example",
        " https://app.example",
        "https://app.example:x",
        "file://",
        "localhost:3000",
    ] {
        let err = endpoint.clone().origin(origin).expect_err(origin);
        assert!(err.is_definition());
        let expected = "expected a scheme and a host such as \"https://app.example\"";
        assert_eq!(err.to_string(), format!("origin {origin:?}: {expected}"));
    }
    for origin in [
        "null",
        "HTTPS://App.example",
        "http://localhost:3000",
        "https://app.example/",
        "http://[2001:db8::1]:80",
        "vscode-webview://0a1b",
        "com.example.app+x://y",
    ] {
        let _ = endpoint.clone().origin(origin).expect(origin);
    }
}
