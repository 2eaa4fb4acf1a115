//! Legacy clients: which rules a message falls under, sessions, versions, batches.

use smol::future;

use crate::common::*;
use smol_mcp::http::{Endpoint, MemoryStore};
use smol_mcp::protocol::{ResourceContents, ResourceInfo};
use smol_mcp::signal::Reason;
use smol_mcp::{Limits, List, Resource, Server};

const SUPPORTED: &str = r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#;

fn ping(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)
}

fn pong(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn sessionless(stage: &Stage) -> smol_mcp::http::Endpoint {
    stage.endpoint().sessionless()
}

fn missing(id: &str) -> String {
    error(id, -32600, "Invalid request: Mcp-Session-Id is missing")
}

fn gone(id: &str) -> String {
    error(id, -32600, "Invalid request: the session has ended")
}

fn unsupported(requested: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"requested":"{requested}","supported":{SUPPORTED}}}}}}}"#
    )
}

fn without_claim() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":-32602,"message":"Missing _meta['io.modelcontextprotocol/protocolVersion'] and _meta['io.modelcontextprotocol/clientCapabilities']","data":{{"supported":{SUPPORTED}}}}}}}"#
    )
}

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn batch() -> String {
    format!("[{}]", ping("1"))
}

fn no_array() -> String {
    let text = "Invalid request: not an object (batches are not supported)";
    error("", -32600, text)
}

fn claimed(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{META}}}}}"#)
}

/// Holds rows against what comes. They may name two sessions: one of 2025-11-25, and one of 2025-03-26.
///
/// Numbers in front of a row are those of legacy.md §16.1.
fn judge_in_sessions(rows: impl Fn(&str, &str) -> Vec<Row>) {
    every_way(async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        let old = open(serving, "2025-03-26").await;
        check(serving, &rows(&session, &old)).await;
    });
}

// R115, R116
#[test]
fn who_names_no_session_or_one_that_is_no_more_is_refused() {
    judge_in_sessions(|_, _| {
        vec![
            (
                "1 GET without a session",
                Req::new("GET").with("accept", "text/event-stream"),
                400,
                missing(""),
            ),
            (
                "1 DELETE without a session",
                Req::new("DELETE"),
                400,
                missing(""),
            ),
            ("8 neither", Req::post(ping("1")), 400, missing("1")),
            (
                "8 neither, unknown method",
                Req::post(ping("1").replace("ping", "x")),
                400,
                missing("1"),
            ),
            ("11 without a session", Req::post(NOTE), 400, missing("")),
            (
                "11 in a session that is no more",
                Req::legacy("gone", NOTE),
                404,
                gone(""),
            ),
            (
                "session that never was",
                Req::legacy("never", &ping("1")),
                404,
                gone("1"),
            ),
        ]
    });
}

// R98
#[test]
fn an_array_is_served_in_a_session_of_2025_03_26_and_refused_elsewhere() {
    judge_in_sessions(|session, old| {
        vec![
            (
                "3 batch of 2025-03-26",
                Req::legacy(old, &batch()),
                200,
                format!("[{}]", pong("1")),
            ),
            (
                "3 batch of 2025-11-25",
                Req::legacy(session, &batch()),
                400,
                no_array(),
            ),
            (
                "3 batch without a session",
                Req::post(batch()),
                400,
                no_array(),
            ),
            (
                "3 batch with a claim in it",
                Req::legacy(old, &format!("[{}]", claimed("tools/list"))),
                400,
                no_array(),
            ),
            ("3 empty batch", Req::legacy(old, "[]"), 400, no_array()),
        ]
    });
}

// R65, R66
#[test]
fn responses_and_notifications_are_accepted_without_a_body_or_refused() {
    judge_in_sessions(|session, _| {
        vec![
            (
                "4 response in a session",
                Req::legacy(session, RESPONSE),
                202,
                String::new(),
            ),
            (
                "4 response without one",
                Req::post(RESPONSE),
                400,
                error("", -32600, "Invalid request: a response to no request"),
            ),
            (
                "10 modern notification",
                Req::post(NOTE).with("mcp-protocol-version", VERSION),
                202,
                String::new(),
            ),
            (
                "11 legacy notification",
                Req::legacy(session, NOTE),
                202,
                String::new(),
            ),
            (
                "11 with a bad version",
                Req::legacy(session, NOTE).with("mcp-protocol-version", "abc"),
                400,
                unsupported("abc").replace("\"id\":1,", ""),
            ),
        ]
    });
}

// R54, R57, R58
#[test]
fn a_claim_in_the_body_makes_a_message_modern_and_a_header_alone_is_none() {
    judge_in_sessions(|session, _| {
        vec![
            (
                "5 initialize with a claim",
                Req::modern(&claimed("initialize")).with("mcp-session-id", session),
                404,
                error("1", -32601, "Method not found: initialize"),
            ),
            (
                "5 ping with a claim",
                Req::modern(&claimed("ping")),
                404,
                error("1", -32601, "Method not found: ping"),
            ),
            (
                "7 modern header, no claim",
                Req::post(ping("1")).with("mcp-protocol-version", VERSION),
                400,
                without_claim(),
            ),
            (
                "7 modern header, no claim, in a session",
                Req::legacy(session, &ping("1")).with("mcp-protocol-version", VERSION),
                400,
                without_claim(),
            ),
            (
                "7 a later version still",
                Req::post(ping("1")).with("mcp-protocol-version", "2027-01-01"),
                400,
                without_claim(),
            ),
        ]
    });
}

// R117, R118
#[test]
fn any_version_of_the_era_goes_with_a_session_and_no_other() {
    judge_in_sessions(|session, _| {
        vec![
            (
                "8 session alone",
                Req::legacy(session, &ping("1")),
                200,
                pong("1"),
            ),
            (
                "8 session and version",
                Req::legacy(session, &ping("1")).with("mcp-protocol-version", "2025-11-25"),
                200,
                pong("1"),
            ),
            (
                "8 session and another version of the era",
                Req::legacy(session, &ping("1")).with("mcp-protocol-version", "2025-06-18"),
                200,
                pong("1"),
            ),
            (
                "9 a version that never was",
                Req::legacy(session, &ping("1")).with("mcp-protocol-version", "2025-01-01"),
                400,
                unsupported("2025-01-01"),
            ),
            (
                "9 no version at all",
                Req::legacy(session, &ping("1")).with("mcp-protocol-version", "abc"),
                400,
                unsupported("abc"),
            ),
        ]
    });
}

// R57
#[test]
fn in_a_session_what_is_no_json_is_a_400_and_an_unknown_method_a_200() {
    judge_in_sessions(|session, _| {
        vec![
            (
                "2 not JSON",
                Req::legacy(session, "{"),
                400,
                error("", -32700, "Parse error: EOF while parsing an object"),
            ),
            (
                "unknown method is a 200",
                Req::legacy(session, &ping("1").replace("ping", "x")),
                200,
                error("1", -32601, "Method not found: x"),
            ),
        ]
    });
}

// legacy.md §16.1 row 6; R113, R114, R325: no two are alike
#[test]
fn initialize_opens_a_session_whatever_the_version_header_says() {
    every_way(async |_, serving| {
        let mut sessions = std::collections::BTreeSet::new();
        for version in ["2025-11-25", "2025-06-18", "2024-11-05"] {
            let request = initialize(version)
                .with("mcp-protocol-version", "nonsense")
                .with("mcp-method", "initialize");
            let reply = serving.send(&request).await.reply().await;
            let expected = format!(
                r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"stage","version":"1"}}}}}}"#
            );
            assert_eq!((reply.status, reply.text()), (200, &*expected));
            let session = reply.header("mcp-session-id").unwrap();
            assert!(
                session.len() >= 32 && session.bytes().all(|byte| (0x21..0x7f).contains(&byte))
            );
            assert!(sessions.insert(session.to_owned()));
        }
    });
}

#[test]
fn a_handshake_that_fails_opens_nothing_and_a_second_one_is_refused() {
    every_way(async |_, serving| {
        let broken = Req::post(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
        let reply = serving.send(&broken).await.reply().await;
        assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
        assert_eq!(
            reply.text(),
            error("0", -32602, "Missing 'protocolVersion'")
        );

        let session = open(serving, "2025-11-25").await;
        let again = initialize("2025-11-25").with("mcp-session-id", &session);
        check(
            serving,
            &[(
                "again",
                again,
                400,
                error("0", -32600, "Invalid request: already initialized"),
            )],
        )
        .await;
        // A name that means nothing any more does no harm.
        let stale = initialize("2025-11-25").with("mcp-session-id", "stale");
        assert_eq!(serving.send(&stale).await.reply().await.status, 200);
    });
}

// R116
#[test]
fn after_delete_nothing_of_the_session_is_served() {
    every_way(async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        let delete = Req::new("DELETE").with("mcp-session-id", &session);
        let bad = delete.clone().with("mcp-protocol-version", "abc");
        assert_eq!(serving.send(&bad).await.reply().await.status, 400);
        let reply = serving.send(&delete).await.reply().await;
        assert_eq!((reply.status, reply.text()), (204, ""));
        let get = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", &session);
        let rows = vec![
            ("POST", Req::legacy(&session, &ping("1")), 404, gone("1")),
            ("GET", get, 404, gone("")),
            ("DELETE", delete, 404, gone("")),
            (
                "response",
                Req::legacy(&session, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                404,
                gone(""),
            ),
        ];
        check(serving, &rows).await;
    });
}

// legacy.md §9.6; R117, P18
#[test]
fn without_sessions_each_request_stands_for_itself() {
    every_way_with(Stage::new, sessionless, async |_, serving| {
        let reply = serving.send(&initialize("2025-11-25")).await.reply().await;
        assert_eq!(reply.header("mcp-session-id"), None);
        // Nothing that would need a session is offered.
        assert_eq!(
            reply.json()["result"]["capabilities"],
            serde_json::json!({ "tools": {} })
        );
        let set_level =
            r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}"#;
        let rows = vec![
            ("ping", Req::post(ping("1")), 200, pong("1")),
            (
                "with a session",
                Req::legacy("whatever", &ping("1")),
                200,
                pong("1"),
            ),
            (
                "with a version",
                Req::post(ping("1")).with("mcp-protocol-version", "2025-06-18"),
                200,
                pong("1"),
            ),
            (
                "with a bad one",
                Req::post(ping("1")).with("mcp-protocol-version", "abc"),
                400,
                unsupported("abc"),
            ),
            (
                "batch",
                Req::post(format!("[{}]", ping("1"))),
                200,
                format!("[{}]", pong("1")),
            ),
            (
                "batch of 2025-06-18",
                Req::post(format!("[{}]", ping("1"))).with("mcp-protocol-version", "2025-06-18"),
                400,
                error(
                    "",
                    -32600,
                    "Invalid request: not an object (batches are not supported)",
                ),
            ),
            (
                "set level",
                Req::post(set_level),
                200,
                error("1", -32601, "Method not found: logging/setLevel"),
            ),
            (
                "initialized",
                Req::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
                202,
                String::new(),
            ),
            (
                "response",
                Req::post(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                400,
                error("", -32600, "Invalid request: a response to no request"),
            ),
        ];
        check(serving, &rows).await;
    });
}

// R119, legacy.md §3.1
#[test]
fn batches_of_2025_03_26_are_served_element_by_element() {
    every_way(async |stage, serving| {
        let session = open(serving, "2025-03-26").await;
        let play = r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"play"}}"#;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let handshake = String::from_utf8(initialize("2025-03-26").body).unwrap();
        let rows = vec![
            (
                "notifications alone",
                Req::legacy(&session, &format!("[{note},{note}]")),
                202,
                String::new(),
            ),
            (
                "responses alone",
                Req::legacy(&session, r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#),
                202,
                String::new(),
            ),
            (
                "one that is none",
                Req::legacy(&session, &format!("[1,{}]", ping("1"))),
                200,
                format!(
                    "[{},{}]",
                    error("", -32600, "Invalid request: not an object"),
                    pong("1")
                ),
            ),
            (
                "handshake",
                Req::legacy(&session, &format!("[{handshake}]")),
                200,
                format!(
                    "[{}]",
                    error("0", -32600, "Invalid request: not in a batch")
                ),
            ),
        ];
        check(serving, &rows).await;

        let exchange = serving
            .send(&Req::legacy(&session, &format!("[{},{play}]", ping("0"))))
            .await;
        stage.playing().await.finish("played");
        let reply = exchange.reply().await;
        assert_eq!(
            reply.text(),
            format!("[{},{}]", pong("0"), legacy_said("\"p\"", "played"))
        );

        let streamed = Req::legacy(&session, &format!("[{},{}]", ping("0"), ping("1")))
            .with("accept", "text/event-stream");
        let reply = serving.send(&streamed).await.reply().await;
        assert_eq!(
            reply.text(),
            format!("data: {}\n\ndata: {}\n\n", pong("0"), pong("1"))
        );
    });
}

// failures.md: a client that sends `id: 1` every time
#[test]
fn an_array_of_more_messages_than_calls_may_run_is_refused() {
    let tight = || {
        Stage::with(|builder| {
            let mut limits = Limits::default();
            limits.calls_per_peer = 2;
            builder.limits(limits)
        })
    };
    every_way_with(tight, Stage::endpoint, async |_, serving| {
        let session = open(serving, "2025-03-26").await;
        let served = format!("[{},{}]", pong("1"), pong("2"));
        let long = error(
            "",
            -32600,
            "Invalid request: an array of more than 2 messages",
        );
        let two = format!("[{},{}]", ping("1"), ping("2"));
        let rows = [
            ("two", Req::legacy(&session, &two), 200, served),
            ("three", Req::legacy(&session, "[1,1,1]"), 400, long),
        ];
        check(serving, &rows).await;
    });
}

#[test]
fn equal_ids_in_one_session_each_get_their_own_answer() {
    every_way(async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let first = serving.send(&Req::legacy_play(&session, "1")).await;
        let first_playing = stage.playing().await;
        let second = serving.send(&Req::legacy_play(&session, "1")).await;
        stage.playing().await.finish("second");
        assert_eq!(second.reply().await.text(), legacy_said("1", "second"));
        first_playing.finish("first");
        assert_eq!(first.reply().await.text(), legacy_said("1", "first"));
    });
}

#[test]
fn beyond_the_cap_no_session_is_opened_until_one_ends() {
    let two = |stage: &Stage| {
        stage
            .endpoint()
            .sessions(2, std::time::Duration::from_secs(3600))
    };
    every_way_with(Stage::new, two, async |_, serving| {
        let first = open(serving, "2025-11-25").await;
        open(serving, "2025-11-25").await;
        check(
            serving,
            &[(
                "third",
                initialize("2025-11-25"),
                503,
                error("0", -32603, "Too many sessions"),
            )],
        )
        .await;
        serving
            .send(&Req::new("DELETE").with("mcp-session-id", &first))
            .await
            .reply()
            .await;
        open(serving, "2025-11-25").await;
    });
}

#[test]
fn a_session_that_nobody_uses_ends_and_one_with_a_call_does_not() {
    let idle = |stage: &Stage| stage.endpoint().sessions(1, std::time::Duration::ZERO);
    every_way_with(Stage::new, idle, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let exchange = serving.send(&Req::legacy(&session, &ping("1"))).await;
        assert_eq!(exchange.reply().await.status, 404);
        let _ = stage;
    });
    let brief = |stage: &Stage| {
        stage
            .endpoint()
            .sessions(1, std::time::Duration::from_millis(300))
    };
    every_way_with(Stage::new, brief, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        smol::Timer::after(std::time::Duration::from_millis(400)).await;
        check(
            serving,
            &[(
                "in use",
                initialize("2025-11-25"),
                503,
                error("0", -32603, "Too many sessions"),
            )],
        )
        .await;
        playing.finish("played");
        assert_eq!(exchange.reply().await.text(), legacy_said("1", "played"));
        // The session was in use until now, so its idle time begins now.
        let still = serving
            .send(&Req::legacy(&session, &ping("1")))
            .await
            .reply()
            .await;
        assert_eq!(still.status, 200);
        smol::Timer::after(std::time::Duration::from_millis(400)).await;
        open(serving, "2025-11-25").await;
        assert_eq!(
            serving
                .send(&Req::legacy(&session, &ping("1")))
                .await
                .reply()
                .await
                .status,
            404
        );
    });
}

// What a client has left behind is no sign that it is there.
#[test]
fn a_session_whose_client_never_comes_back_ends_with_what_runs_for_it() {
    let brief = |stage: &Stage| {
        stage
            .endpoint()
            .sessions(1, std::time::Duration::from_secs(2))
            .event_store(MemoryStore::new())
    };
    every_way_with(Stage::new, brief, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let (exchange, playing) = stage
            .streaming(serving, &Req::legacy_play(&session, "1"))
            .await;
        exchange.hang_up();
        // A request after it, so that the end of the connection has been noticed.
        let other = serving.send(&Req::call("2", "quick", "")).await;
        assert_eq!(other.reply().await.status, 200);
        assert!(!playing.cx.signal().is_aborted());
        smol::Timer::after(std::time::Duration::from_millis(2100)).await;
        open(serving, "2025-11-25").await;
        assert!(matches!(playing.aborted().await, Reason::Closed));
    });
}

#[test]
fn an_idle_session_has_ended_although_sessions_were_looked_through_before() {
    let pause = |millis| smol::Timer::after(std::time::Duration::from_millis(millis));
    let brief = |stage: &Stage| {
        stage
            .endpoint()
            .sessions(9, std::time::Duration::from_millis(300))
    };
    every_way_with(Stage::new, brief, async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        pause(100).await;
        serving
            .send(&Req::legacy(&session, &ping("1")))
            .await
            .reply()
            .await;
        pause(220).await;
        // Sessions are looked through now, before this one's time is over, and then not for a while.
        open(serving, "2025-11-25").await;
        pause(120).await;
        let reply = serving
            .send(&Req::legacy(&session, &ping("1")))
            .await
            .reply()
            .await;
        assert_eq!(reply.status, 404);
    });
}

#[test]
fn calls_of_a_session_are_bounded_and_the_crowd_has_64_times_as_many() {
    let tight = || {
        Stage::with(|builder| {
            let mut limits = Limits::default();
            limits.calls_per_peer = 1;
            let memo = ResourceInfo::new("memo:///today", "today");
            let memo = Resource::new(memo, async |uri: String, _| {
                ResourceContents::text(uri, "Buy milk.")
            });
            builder.limits(limits).resource(memo)
        })
    };
    every_way_with(tight, Stage::endpoint, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let _first = serving.send(&Req::legacy_play(&session, "1")).await;
        let _playing = stage.playing().await;
        let refused = error("2", -32603, "Too many requests in flight: at most 1");
        check(
            serving,
            &[("second", Req::legacy_play(&session, "2"), 503, refused)],
        )
        .await;

        let mut crowd = Vec::new();
        for _ in 0..64 {
            let exchange = serving.send(&Req::play("1")).await;
            crowd.push((exchange, stage.playing().await));
        }
        let refused = error("1", -32603, "Too many requests in flight: at most 64");
        let read = Req::modern(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"memo:///today",{META}}}}}"#
        ));
        let rows = [
            ("one more", Req::play("1"), 503, refused.clone()),
            ("of another kind", read, 503, refused),
        ];
        check(serving, &rows).await;
    });
}

// What waits for a client that listens is no sign that it has left.
#[test]
fn a_session_is_in_use_while_its_client_has_yet_to_read_a_message() {
    let server = Server::builder("changing", "1")
        .list_changed([List::Tools])
        .build()
        .unwrap();
    let endpoint = Endpoint::new(&server).sessions(1, std::time::Duration::from_secs(2));
    smol::block_on(async {
        let serving = serve(Way::Direct, endpoint).await;
        let session = open(&*serving, "2025-11-25").await;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let ready = serving.send(&Req::legacy(&session, ready)).await;
        assert_eq!(ready.reply().await.status, 202);
        let listen = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", &session);
        let mut listening = serving.send(&listen).await;
        assert_eq!(listening.head().await.0, 200);
        assert_eq!(listening.piece().await.as_deref(), Some(":\n\n"));
        assert!(future::poll_once(listening.piece()).await.is_none());
        smol::Timer::after(std::time::Duration::from_millis(2100)).await;
        server.list_changed(List::Tools);
        let pong = serving.send(&Req::legacy(&session, &ping("1"))).await;
        assert_eq!(pong.reply().await.status, 200);
        let told = listening.piece().await.unwrap();
        assert!(told.contains("tools/list_changed"), "{told}");
    });
}

#[test]
fn a_batch_keeps_its_session_in_use_until_it_is_answered() {
    let brief = |stage: &Stage| {
        stage
            .endpoint()
            .sessions(1, std::time::Duration::from_secs(2))
    };
    every_way_with(Stage::new, brief, async |stage, serving| {
        let session = open(serving, "2025-03-26").await;
        let play = r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"play"}}]"#;
        let exchange = serving.send(&Req::legacy(&session, play)).await;
        let playing = stage.playing().await;
        smol::Timer::after(std::time::Duration::from_millis(2100)).await;
        playing.finish("played");
        assert_eq!(exchange.reply().await.status, 200);
        let pong = serving.send(&Req::legacy(&session, &ping("2"))).await;
        assert_eq!(pong.reply().await.status, 200);
    });
}
