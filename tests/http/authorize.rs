//! Who may ask, and pages of which origin may read the answers.

use async_channel::Receiver;
use smol_mcp::http::{Challenge, Endpoint, MemoryStore, ProtectedResource, bearer};
use smol_mcp::{Context, HandlerError, NoInput, Principal, Tool};

use crate::common::*;

struct Scopes(&'static str);

fn stage() -> Stage {
    let whoami = async |_: NoInput, cx: Context| -> Result<String, HandlerError> {
        let nobody = || HandlerError::public("nobody");
        let principal = cx.principal().ok_or_else(nobody)?;
        let scopes = principal.details::<Scopes>().map_or("", |scopes| scopes.0);
        Ok(format!("{} {scopes}", principal.id()))
    };
    Stage::with(|builder| builder.tool(Tool::new("whoami", whoami)))
}

async fn decide(parts: ::http::request::Parts) -> Result<Principal, Challenge> {
    match bearer(&parts.headers) {
        None => Err(Challenge::unauthorized()),
        Some("ada") => Ok(Principal::new("ada").with_details(Scopes("read"))),
        Some("bob") => Ok(Principal::new("bob")),
        Some("weak") => Err(Challenge::insufficient_scope("read write")),
        Some("odd") => Err(Challenge::malformed()),
        Some(_) => Err(Challenge::invalid_token().description("expired")),
    }
}

fn guarded(stage: &Stage) -> Endpoint {
    let resource =
        ProtectedResource::new("https://h.example/mcp", "https://as.example").scopes(["read"]);
    stage
        .endpoint()
        .protected_resource(resource)
        .unwrap()
        .authorize(decide)
}

trait As {
    fn by(self, token: &str) -> Self;
}

impl As for Req {
    fn by(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }
}

// R299, R300, R302, R304, R305, R306, R308, R321
#[test]
fn who_may_not_ask_is_told_what_is_missing() {
    let metadata =
        "resource_metadata=\"https://h.example/.well-known/oauth-protected-resource/mcp\"";
    every_way_with(stage, guarded, async |_, serving| {
        let good = Req::call("1", "whoami", "");
        let mut in_query = good.clone();
        in_query.path = "/mcp?access_token=ada".into();
        for (request, status, challenge) in [
            (
                good.clone(),
                401,
                "Bearer scope=\"read\", ".to_owned() + metadata,
            ),
            (
                in_query,
                401,
                "Bearer scope=\"read\", ".to_owned() + metadata,
            ),
            (
                good.clone().by("old"),
                401,
                "Bearer error=\"invalid_token\", scope=\"read\", error_description=\"expired\", "
                    .to_owned()
                    + metadata,
            ),
            (
                good.clone().by("weak"),
                403,
                "Bearer error=\"insufficient_scope\", scope=\"read write\", ".to_owned() + metadata,
            ),
            (
                good.clone().by("odd"),
                400,
                "Bearer error=\"invalid_request\", scope=\"read\", ".to_owned() + metadata,
            ),
        ] {
            let reply = serving.send(&request).await.reply().await;
            assert_eq!(
                (reply.status, reply.header("www-authenticate")),
                (status, Some(&*challenge))
            );
        }
        let reply = serving.send(&good.by("ada")).await.reply().await;
        assert_eq!((reply.status, reply.text()), (200, &*said("1", "ada read")));
    });
}

// modern.md §18.3: 2 origin, 3 method, 4 token, 5 content type
#[test]
fn the_token_is_asked_for_after_origin_and_method_and_before_the_rest() {
    every_way_with(stage, guarded, async |_, serving| {
        let bare = Req::call("1", "whoami", "");
        let mut put = bare.clone();
        put.method = "PUT".into();
        for (request, status) in [
            (bare.clone().with("origin", "http://evil.example"), 403),
            (put, 405),
            (bare.clone().with("content-type", "text/plain"), 401),
            (bare.clone().body("{"), 401),
            (
                Req::new("GET")
                    .with("accept", "text/event-stream")
                    .with("mcp-session-id", "x"),
                401,
            ),
            (Req::new("DELETE").with("mcp-session-id", "x"), 401),
        ] {
            assert_eq!(
                serving.send(&request).await.reply().await.status,
                status,
                "{request:?}"
            );
        }
    });
}

// R324, R325; legacy.md §15, §17
#[test]
fn a_session_is_served_to_the_one_that_opened_it_alone() {
    let kept = |stage: &Stage| guarded(stage).event_store(MemoryStore::new());
    every_way_with(stage, kept, async |stage, serving| {
        let reply = serving
            .send(&initialize("2025-11-25").by("ada"))
            .await
            .reply()
            .await;
        let session = reply.header("mcp-session-id").unwrap().to_owned();
        let call = Req::legacy_play(&session, "1");
        let (mut exchange, playing) = stage.streaming(serving, &call.clone().by("ada")).await;

        let note =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let get = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", &session);
        for request in [
            call,
            Req::legacy(&session, note),
            get.clone().with("last-event-id", "1-0"),
            get,
            Req::new("DELETE").with("mcp-session-id", &session),
        ] {
            let reply = serving.send(&request.clone().by("bob")).await.reply().await;
            assert_eq!(reply.status, 404, "{request:?}");
            // The name of a session is no token.
            assert_eq!(serving.send(&request).await.reply().await.status, 401);
        }
        assert!(!playing.cx.signal().is_aborted());
        playing.finish("played");
        assert!(
            exchange
                .rest()
                .await
                .ends_with(&format!("data: {}\n\n", legacy_said("1", "played")))
        );
    });
}

// R296, R297, R298, R311
#[test]
fn the_metadata_is_public() {
    every_way_with(stage, guarded, async |_, serving| {
        for path in [
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/mcp",
        ] {
            let mut request = Req::new("GET");
            request.path = path.into();
            let reply = serving.send(&request).await.reply().await;
            let expected = r#"{"authorization_servers":["https://as.example"],"bearer_methods_supported":["header"],"resource":"https://h.example/mcp","scopes_supported":["read"]}"#;
            assert_eq!((reply.status, reply.text()), (200, expected));
            assert_eq!(reply.header("content-type"), Some("application/json"));
            request.method = "POST".into();
            let reply = serving.send(&request).await.reply().await;
            assert_eq!((reply.status, reply.header("allow")), (405, Some("GET")));
        }
    });
}

#[test]
fn a_decision_that_is_waited_for_is_dropped_when_the_client_leaves() {
    for way in WAYS {
        smol::block_on(async {
            let stage = Stage::new();
            let (asked, asking) = async_channel::unbounded::<Receiver<()>>();
            let endpoint = stage.endpoint().authorize(move |_| {
                let asked = asked.clone();
                async move {
                    // Its other end learns of the drop.
                    let (_alive, gone) = async_channel::bounded(1);
                    let _ = asked.try_send(gone);
                    std::future::pending().await
                }
            });
            let serving = serve(way, endpoint).await;
            let exchange = serving.send(&Req::play("1")).await;
            let gone = bounded("the question", asking.recv()).await.unwrap();
            exchange.hang_up();
            assert!(bounded("the drop", gone.recv()).await.is_err());
            assert!(!stage.is_playing());
        });
    }
}

fn app(stage: &Stage) -> Endpoint {
    let endpoint = stage.endpoint().origin("https://app.example");
    endpoint.unwrap().cors()
}

#[test]
fn pages_of_allowed_origins_may_read_answers() {
    every_way_with(Stage::new, app, async |_, serving| {
        let question = Req::new("OPTIONS")
            .with("origin", "https://app.example")
            .with("access-control-request-method", "POST")
            .with(
                "access-control-request-headers",
                "content-type,mcp-param-region",
            );
        let reply = serving.send(&question).await.reply().await;
        assert_eq!(reply.status, 204);
        for (name, value) in [
            ("access-control-allow-origin", "https://app.example"),
            ("access-control-allow-methods", "GET, POST, DELETE"),
            (
                "access-control-allow-headers",
                "content-type,mcp-param-region",
            ),
            ("access-control-max-age", "86400"),
            ("vary", "Origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{name}");
        }
        let request = Req::call("1", "quick", "").with("origin", "https://app.example");
        let reply = serving.send(&request).await.reply().await;
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("https://app.example")
        );
        assert_eq!(
            reply.header("access-control-expose-headers"),
            Some("Mcp-Session-Id, WWW-Authenticate")
        );

        let stranger = question.with("origin", "https://evil.example");
        let reply = serving.send(&stranger).await.reply().await;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (403, None)
        );
        // No page at all: nothing to be said.
        let reply = serving
            .send(&Req::call("1", "quick", ""))
            .await
            .reply()
            .await;
        assert_eq!(reply.header("access-control-allow-origin"), None);
    });
}

#[test]
fn cors_is_off_by_default() {
    every_way(async |_, serving| {
        let question = Req::new("OPTIONS")
            .with("origin", "http://localhost:1")
            .with("access-control-request-method", "POST");
        let reply = serving.send(&question).await.reply().await;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (405, None)
        );
        let request = Req::call("1", "quick", "").with("origin", "http://localhost:1");
        let reply = serving.send(&request).await.reply().await;
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (200, None)
        );
    });
}

#[test]
fn questions_of_browsers_need_no_token() {
    let both = |stage: &Stage| guarded(stage).cors();
    every_way_with(stage, both, async |_, serving| {
        let question = Req::new("OPTIONS")
            .with("origin", "http://localhost:1")
            .with("access-control-request-method", "POST");
        assert_eq!(serving.send(&question).await.reply().await.status, 204);
        let refused = Req::call("1", "quick", "").with("origin", "http://localhost:1");
        let reply = serving.send(&refused).await.reply().await;
        // The page may read why it was refused.
        assert_eq!(
            (reply.status, reply.header("access-control-allow-origin")),
            (401, Some("http://localhost:1"))
        );
    });
}

// modern.md §15.4: a state that a client carries belongs to the one that it was given to
#[test]
fn a_state_that_a_client_carries_is_bound_to_its_principal() {
    let asking = || {
        let ask = async |_: NoInput, cx: Context| -> Result<String, HandlerError> {
            cx.set_state(&"half done")?;
            cx.roots("where").await?;
            Ok("done".to_owned())
        };
        Stage::with(|builder| builder.tool(Tool::new("ask", ask)))
    };
    every_way_with(asking, guarded, async |_, serving| {
        let call = |more: &str| {
            let mut request = Req::call("1", "ask", more);
            let body = String::from_utf8(request.body).unwrap();
            request.body = body
                .replace(
                    "clientCapabilities\":{}",
                    "clientCapabilities\":{\"roots\":{}}",
                )
                .into();
            request
        };
        let reply = serving.send(&call("").by("ada")).await.reply().await;
        let result = &reply.json()["result"];
        assert_eq!(result["resultType"], "input_required", "{}", reply.text());
        let state = result["requestState"].as_str().unwrap();
        let again = call(&format!(
            r#","inputResponses":{{"where":{{"roots":[]}}}},"requestState":"{state}""#
        ));
        let stolen = serving.send(&again.clone().by("bob")).await.reply().await;
        assert_eq!(stolen.json()["error"]["code"], -32602, "{}", stolen.text());
        let reply = serving.send(&again.by("ada")).await.reply().await;
        assert_eq!(reply.text(), said("1", "done"));
    });
}

#[test]
fn an_address_of_the_metadata_that_is_none_is_refused_and_named() {
    let refused = |resource: ProtectedResource, named: &str| {
        let err = Stage::new().endpoint().protected_resource(resource);
        let expected = "expected an address such as \"https://notes.example/mcp\"";
        let err = err.expect_err(named);
        assert!(err.is_definition());
        assert_eq!(err.to_string(), format!("{named}: {expected}"));
    };
    let server = "https://as.example";
    for address in [
        "",
        "h.example/mcp",
        "/mcp",
        "https:///mcp",
        "ftp://h.example",
        "https://h.example/mcp#notes",
        "https://h.example/my notes",
    ] {
        let resource = ProtectedResource::new(address, server);
        refused(resource, &format!("protected resource {address:?}"));
    }
    let resource = ProtectedResource::new("https://h.example/mcp", server);
    refused(
        resource.authorization_server("as.example"),
        "authorization server \"as.example\"",
    );
    for address in ["http://localhost:8080/mcp", "HTTPS://[::1]", server] {
        let resource = ProtectedResource::new(address, server);
        assert!(Stage::new().endpoint().protected_resource(resource).is_ok());
    }
}
