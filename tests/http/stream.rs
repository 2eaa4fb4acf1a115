//! Streams: when a response becomes one, and what stands in it, byte by byte.

use std::time::Duration;

use crate::common::*;
use smol_mcp::HandlerError;
use smol_mcp::protocol::jsonrpc::RpcError;

fn event(message: &str) -> String {
    format!("data: {message}\n\n")
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| &**value)
}

// R67, R68, R69, R70, R71; P25
#[test]
fn the_first_notification_makes_a_stream_that_the_answer_ends() {
    every_way(async |stage, serving| {
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        let (status, headers) = exchange.head().await;
        assert_eq!(status, 200);
        assert_eq!(header(&headers, "content-type"), Some("text/event-stream"));
        assert_eq!(header(&headers, "cache-control"), Some("no-cache"));
        assert_eq!(header(&headers, "x-accel-buffering"), Some("no"));
        let first = exchange.piece().await.unwrap();
        assert!(
            first.starts_with("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\""),
            "{first}"
        );
        assert!(
            first.ends_with("}\n\n") && first.matches('\n').count() == 2,
            "{first}"
        );
        playing.finish("played");
        assert_eq!(exchange.rest().await, event(&said("1", "played")));
    });
}

#[test]
fn an_error_after_the_head_is_the_last_event() {
    every_way(async |stage, serving| {
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        assert_eq!(exchange.head().await.0, 200);
        exchange.piece().await.unwrap();
        let missing = serde_json::json!({ "requiredCapabilities": {} });
        let lacking = RpcError::new(-32021, "Needs more").with_data(missing);
        playing.fail(HandlerError::rpc(lacking));
        let last = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Needs more","data":{"requiredCapabilities":{}}}}"#;
        assert_eq!(exchange.rest().await, event(last));
    });
}

// P20
#[test]
fn progress_that_nobody_asked_for_opens_no_stream() {
    every_way(async |stage, serving| {
        let exchange = serving.send(&Req::call("1", "play", "")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        playing.finish("played");
        let reply = exchange.reply().await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.text(), said("1", "played"));
    });
}

#[test]
fn a_client_that_accepts_json_alone_gets_the_answer_alone() {
    let quick = |stage: &Stage| stage.endpoint().patience(Duration::ZERO);
    every_way_with(Stage::new, quick, async |stage, serving| {
        let exchange = serving
            .send(&Req::play("1").with("accept", "application/json"))
            .await;
        let playing = stage.playing().await;
        playing.progress(1);
        playing.finish("played");
        let reply = exchange.reply().await;
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.text(), said("1", "played"));
    });
}

// failures.md: first-byte time-outs see a dead server
#[test]
fn out_of_patience_the_head_is_sent_with_a_sign_of_life() {
    let quick = |stage: &Stage| stage.endpoint().patience(Duration::from_millis(1));
    every_way_with(Stage::new, quick, async |stage, serving| {
        let mut exchange = serving.send(&Req::call("1", "play", "")).await;
        let playing = stage.playing().await;
        let (status, headers) = exchange.head().await;
        assert_eq!(
            (status, header(&headers, "content-type")),
            (200, Some("text/event-stream"))
        );
        assert_eq!(exchange.piece().await.unwrap(), ":\n\n");
        playing.fail(HandlerError::rpc(RpcError::new(-32601, "gone")));
        // It would have been a 404 before the head.
        assert_eq!(exchange.rest().await, event(&error("1", -32601, "gone")));
    });
}

#[test]
fn a_stream_without_messages_shows_life() {
    let lively = |stage: &Stage| stage.endpoint().keep_alive(Duration::from_millis(5));
    every_way_with(Stage::new, lively, async |stage, serving| {
        let (mut exchange, playing) = stage.streaming(serving, &Req::play("1")).await;
        for _ in 0..3 {
            assert_eq!(exchange.piece().await.unwrap(), ":\n\n");
        }
        playing.finish("played");
        let rest = exchange.rest().await;
        assert_eq!(rest.replace(":\n\n", ""), event(&said("1", "played")));
    });
}

#[test]
fn a_period_of_zero_turns_signs_of_life_off() {
    let quiet = |stage: &Stage| stage.endpoint().keep_alive(Duration::ZERO);
    every_way_with(Stage::new, quiet, async |stage, serving| {
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        exchange.head().await;
        exchange.piece().await.unwrap();
        playing.finish("played");
        assert_eq!(exchange.rest().await, event(&said("1", "played")));
    });
}

// R35 of failures.md: progress of one call never reaches another's stream
#[test]
fn messages_of_two_calls_leave_on_their_own_streams() {
    every_way(async |stage, serving| {
        let mut one = serving.send(&Req::play("1")).await;
        let one_playing = stage.playing().await;
        let mut two = serving.send(&Req::play("2")).await;
        let two_playing = stage.playing().await;
        one_playing.progress(10);
        two_playing.progress(20);
        one.head().await;
        two.head().await;
        two_playing.finish("two");
        one_playing.finish("one");
        let (one, two) = (one.rest().await, two.rest().await);
        assert!(
            one.contains("\"progress\":10") && !one.contains("\"progress\":20"),
            "{one}"
        );
        assert!(
            two.contains("\"progress\":20") && !two.contains("\"progress\":10"),
            "{two}"
        );
        assert!(
            one.ends_with(&event(&said("1", "one"))) && two.ends_with(&event(&said("2", "two")))
        );
    });
}

// failures.md: id and token 0 are ordinary
#[test]
fn id_and_token_zero_get_their_progress() {
    every_way(async |stage, serving| {
        let mut request = Req::play("0");
        request.body = String::from_utf8(request.body)
            .unwrap()
            .replace("\"progressToken\":\"t\"", "\"progressToken\":0")
            .into();
        let mut exchange = serving.send(&request).await;
        let playing = stage.playing().await;
        playing.progress(0);
        exchange.head().await;
        assert!(
            exchange
                .piece()
                .await
                .unwrap()
                .contains("\"progressToken\":0,\"progress\":0")
        );
        playing.finish("played");
        assert_eq!(exchange.rest().await, event(&said("0", "played")));
    });
}

// R101, R102: the same in a session, without ids as there is no store (legacy.md §9.2)
#[test]
fn streams_of_a_session_have_no_ids_without_a_store() {
    every_way(async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        playing.cx.release_stream();
        exchange.head().await;
        playing.finish("played");
        let body = exchange.rest().await;
        assert!(!body.contains("id: ") && !body.contains("retry"), "{body}");
        assert!(
            body.ends_with(&event(&legacy_said("1", "played"))),
            "{body}"
        );
    });
}

// R107, R108, R109
#[test]
fn what_a_call_says_leaves_on_its_own_stream_though_another_is_open() {
    every_way(async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let get = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", &session);
        let mut other = serving.send(&get).await;
        other.head().await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.progress(7);
        exchange.head().await;
        playing.finish("played");
        let own = exchange.rest().await;
        assert!(own.contains("\"progress\":7"), "{own}");
        assert!(own.ends_with(&event(&legacy_said("1", "played"))), "{own}");
        let delete = Req::new("DELETE").with("mcp-session-id", &session);
        serving.send(&delete).await.reply().await;
        let elsewhere = other.rest().await;
        assert_eq!(elsewhere.replace(":\n\n", ""), "");
    });
}

// R99, R107, R108
#[test]
fn get_opens_a_stream_that_a_newer_one_ends() {
    every_way(async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        let get = Req::new("GET")
            .with("accept", "text/event-stream")
            .with("mcp-session-id", &session);
        let mut first = serving.send(&get).await;
        let (status, headers) = first.head().await;
        assert_eq!(
            (status, header(&headers, "content-type")),
            (200, Some("text/event-stream"))
        );
        assert_eq!(first.piece().await.unwrap(), ":\n\n");
        let mut second = serving.send(&get).await;
        second.head().await;
        assert_eq!(first.piece().await, None);
        assert_eq!(second.piece().await.unwrap(), ":\n\n");
        let delete = Req::new("DELETE").with("mcp-session-id", &session);
        serving.send(&delete).await.reply().await;
        assert_eq!(second.piece().await, None);

        let json = get.with("accept", "application/json");
        assert_eq!(serving.send(&json).await.reply().await.status, 406);
    });
}
