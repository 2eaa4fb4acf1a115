//! Who leaves ends the call, and nobody else's.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::*;
use smol_mcp::Signal;
use smol_mcp::http::Body;
use smol_mcp::signal::{Controller, Deadline, Reason};

fn cancelled(session: &str, id: &str) -> Req {
    Req::legacy(
        session,
        &format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"enough"}}}}"#
        ),
    )
}

fn sessionless(stage: &Stage) -> smol_mcp::http::Endpoint {
    stage.endpoint().sessionless()
}

/// The requests whose client's end is theirs: modern, and legacy where nobody can come back.
async fn requests(serving: &dyn Serving) -> Vec<(&'static str, Req)> {
    let session = open(serving, "2025-11-25").await;
    vec![
        ("modern", Req::play("1")),
        (
            "modern, JSON alone",
            Req::play("1").with("accept", "application/json"),
        ),
        ("legacy in a session", Req::legacy_play(&session, "1")),
    ]
}

// R72, R73, R74, R135; P16
#[test]
fn a_hang_up_before_the_head_fires_the_signal() {
    every_way(async |stage, serving| {
        for (what, request) in requests(serving).await {
            let exchange = serving.send(&request).await;
            let playing = stage.playing().await;
            exchange.hang_up();
            assert!(
                matches!(playing.aborted().await, Reason::Disconnected),
                "{what}"
            );
            // The handler runs on to its end.
            playing.finish("late");
            playing.gone().await;
        }
    });
}

#[test]
fn a_hang_up_while_streaming_fires_the_signal() {
    every_way(async |stage, serving| {
        for (what, request) in requests(serving).await {
            if what == "modern, JSON alone" {
                continue;
            }
            let (exchange, playing) = stage.streaming(serving, &request).await;
            exchange.hang_up();
            assert!(
                matches!(playing.aborted().await, Reason::Disconnected),
                "{what}"
            );
            playing.progress(2);
            playing.finish("late");
            playing.gone().await;
        }
    });
}

#[test]
fn a_hang_up_between_the_head_and_the_next_message_fires_the_signal() {
    let quick = |stage: &Stage| stage.endpoint().patience(Duration::from_millis(1));
    every_way_with(Stage::new, quick, async |stage, serving| {
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        exchange.head().await;
        assert_eq!(exchange.piece().await.unwrap(), ":\n\n");
        exchange.hang_up();
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
    });
}

#[test]
fn without_sessions_a_hang_up_aborts_and_touches_no_other_call() {
    every_way_with(Stage::new, sessionless, async |stage, serving| {
        let one = serving
            .send(&Req::legacy_play("", "1").without("mcp-session-id"))
            .await;
        let one_playing = stage.playing().await;
        let two = serving
            .send(&Req::legacy_play("", "1").without("mcp-session-id"))
            .await;
        let two_playing = stage.playing().await;
        one.hang_up();
        assert!(matches!(one_playing.aborted().await, Reason::Disconnected));
        assert!(!two_playing.cx.signal().is_aborted());
        two_playing.finish("two");
        assert_eq!(two.reply().await.text(), legacy_said("1", "two"));
    });
}

// clients.md 3: clients close right after the last event
#[test]
fn a_client_that_leaves_after_the_answer_has_cancelled_nothing() {
    every_way(async |stage, serving| {
        let (mut exchange, playing) = stage.streaming(serving, &Req::play("1")).await;
        playing.finish("played");
        assert_eq!(
            exchange.piece().await.unwrap(),
            format!("data: {}\n\n", said("1", "played"))
        );
        exchange.hang_up();
        playing.gone().await;
        assert!(!playing.cx.signal().is_aborted());
    });
}

// modern.md §17: not expected by POST; 202, and nothing is aborted
#[test]
fn a_modern_notification_cancels_nothing_over_http() {
    every_way(async |stage, serving| {
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        for request in [
            cancelled("", "1")
                .with("mcp-protocol-version", VERSION)
                .without("mcp-session-id"),
            cancelled("any", "1").with("mcp-protocol-version", VERSION),
        ] {
            assert_eq!(serving.send(&request).await.reply().await.status, 202);
        }
        assert!(!playing.cx.signal().is_aborted());
        playing.finish("played");
        assert_eq!(exchange.reply().await.text(), said("1", "played"));
    });
}

/// A stage that notes every cancellation: id, reason, whether something was aborted.
fn observed() -> (Stage, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let stage = Stage::with({
        let seen = seen.clone();
        |builder| {
            builder.on_cancelled(move |cancelled| {
                let line = format!(
                    "{} {:?} {}",
                    cancelled.request_id, cancelled.reason, cancelled.aborted
                );
                seen.lock().unwrap().push(line);
            })
        }
    });
    (stage, seen)
}

// P19; legacy.md §6
#[test]
fn a_notification_aborts_the_request_of_its_session_alone_and_ends_its_stream() {
    for way in WAYS {
        smol::block_on(async {
            let (stage, seen) = observed();
            let serving = &*serve(way, stage.endpoint()).await;
            let (mine, other) = (
                open(serving, "2025-11-25").await,
                open(serving, "2025-11-25").await,
            );
            let (mut streaming, streaming_playing) = stage
                .streaming(serving, &Req::legacy_play(&mine, "1"))
                .await;
            let waiting = serving.send(&Req::legacy_play(&mine, "2")).await;
            let waiting_playing = stage.playing().await;
            let stranger = serving.send(&Req::legacy_play(&other, "1")).await;
            let stranger_playing = stage.playing().await;

            for id in ["1", "2", "3", "\"1\""] {
                assert_eq!(
                    serving
                        .send(&cancelled(&mine, id))
                        .await
                        .reply()
                        .await
                        .status,
                    202
                );
            }
            for playing in [&streaming_playing, &waiting_playing] {
                let Reason::Cancelled(Some(text)) = playing.aborted().await else {
                    panic!("another reason");
                };
                assert_eq!(&*text, "enough");
                playing.finish("late");
            }
            // The client keeps its stream open; the server ends it.
            assert_eq!(streaming.piece().await, None);
            let reply = waiting.reply().await;
            assert_eq!(
                (reply.status, reply.header("content-type"), reply.text()),
                (200, Some("text/event-stream"), "")
            );
            assert!(!stranger_playing.cx.signal().is_aborted());
            stranger_playing.finish("played");
            assert_eq!(stranger.reply().await.text(), legacy_said("1", "played"));
            let seen = seen.lock().unwrap();
            assert_eq!(
                *seen,
                [
                    "1 Some(\"enough\") true",
                    "2 Some(\"enough\") true",
                    "3 Some(\"enough\") false",
                    "\"1\" Some(\"enough\") false"
                ]
            );
        });
    }
}

// P14, P17
#[test]
fn without_sessions_a_notification_is_advice() {
    for way in WAYS {
        smol::block_on(async {
            let (stage, seen) = observed();
            let serving = &*serve(way, stage.endpoint().sessionless()).await;
            let exchange = serving
                .send(&Req::legacy_play("", "1").without("mcp-session-id"))
                .await;
            let playing = stage.playing().await;
            let request = cancelled("", "1").without("mcp-session-id");
            let reply = serving.send(&request).await.reply().await;
            assert_eq!((reply.status, reply.text()), (202, ""));
            assert_eq!(*seen.lock().unwrap(), ["1 Some(\"enough\") false"]);
            assert!(!playing.cx.signal().is_aborted());
            playing.finish("played");
            assert_eq!(exchange.reply().await.text(), legacy_said("1", "played"));
        });
    }
}

#[test]
fn delete_aborts_the_calls_of_its_session_alone() {
    every_way(async |stage, serving| {
        let (mine, other) = (
            open(serving, "2025-11-25").await,
            open(serving, "2025-11-25").await,
        );
        let mine_exchange = serving.send(&Req::legacy_play(&mine, "1")).await;
        let mine_playing = stage.playing().await;
        let other_exchange = serving.send(&Req::legacy_play(&other, "1")).await;
        let other_playing = stage.playing().await;
        let delete = Req::new("DELETE").with("mcp-session-id", &mine);
        assert_eq!(serving.send(&delete).await.reply().await.status, 204);
        assert!(matches!(mine_playing.aborted().await, Reason::Closed));
        mine_playing.finish("late");
        assert_eq!(mine_exchange.reply().await.text(), "");
        other_playing.finish("played");
        assert_eq!(
            other_exchange.reply().await.text(),
            legacy_said("1", "played")
        );
    });
}

// P2, P3
#[test]
fn the_reason_of_the_caller_reaches_the_handler_unchanged() {
    smol::block_on(async {
        for with_store in [false, true] {
            let stage = Stage::new();
            let endpoint = match with_store {
                false => stage.endpoint(),
                true => stage
                    .endpoint()
                    .event_store(smol_mcp::http::MemoryStore::new()),
            };
            let serving = &*serve(Way::Direct, endpoint).await;
            let session = open(serving, "2025-11-25").await;
            for request in [Req::play("1"), Req::legacy_play(&session, "1")] {
                for streaming in [false, true] {
                    let mut exchange = serving.send(&request).await;
                    let playing = stage.playing().await;
                    if streaming {
                        playing.progress(1);
                        exchange.head().await;
                        exchange.piece().await.unwrap();
                    }
                    let bystander = serving.send(&Req::play("2")).await;
                    let bystander_playing = stage.playing().await;
                    exchange.abort(Reason::application("out of ink"));
                    assert_eq!(playing.aborted().await.to_string(), "out of ink");
                    bystander_playing.finish("played");
                    assert_eq!(bystander.reply().await.text(), said("2", "played"));
                }
            }
        }
    });
}

// Also if the response begins before it passes: that is a deadline, too.
#[test]
fn a_deadline_of_the_callers_gives_the_call_up() {
    for with_store in [false, true] {
        for patience in [Duration::from_millis(1), Duration::from_secs(60)] {
            smol::block_on(async {
                let stage = Stage::new();
                let endpoint = stage.endpoint().patience(patience);
                let endpoint = match with_store {
                    false => endpoint,
                    true => endpoint.event_store(smol_mcp::http::MemoryStore::new()),
                };
                let serving = &*serve(Way::Direct, endpoint.clone()).await;
                let session = open(serving, "2025-11-25").await;
                for request in [Req::play("1"), Req::legacy_play(&session, "1")] {
                    let deadline = Deadline::after(Duration::from_millis(200)).named("caller");
                    let handling = endpoint.handle(request.request(), deadline.into());
                    let response = bounded("a response", handling).await;
                    let begins = patience < Duration::from_secs(1);
                    assert_eq!(response.status(), if begins { 200 } else { 503 });
                    let playing = stage.playing().await;
                    let body = response.into_body();
                    let text = bounded("the end of the body", text(body)).await;
                    assert!(!text.contains("data: {"), "{text}");
                    let reason = playing.cx.signal().reason();
                    assert!(
                        matches!(reason, Some(Reason::Deadline(Some("caller")))),
                        "{reason:?}"
                    );
                }
            });
        }
    }
}

async fn text(mut body: Body) -> String {
    use smol::stream::StreamExt;
    let mut text = String::new();
    while let Some(piece) = body.next().await {
        text += std::str::from_utf8(&piece.unwrap()).unwrap();
    }
    text
}

// P6
#[test]
fn a_request_that_is_cancelled_before_it_comes_starts_no_handler() {
    smol::block_on(async {
        let stage = Stage::new();
        let controller = Controller::new();
        controller.abort(Reason::application("never mind"));
        let mut request = ::http::Request::post("/mcp");
        let play = Req::play("1");
        for (name, value) in &play.headers {
            request = request.header(&**name, &**value);
        }
        let request = request.body(play.body).unwrap();
        let response = bounded(
            "a response",
            stage.endpoint().handle(request, controller.signal()),
        )
        .await;
        assert_eq!(response.status(), 503);
        assert!(!stage.is_playing());
    });
}

// legacy.md §6: the response is told by the reason, which stands by the time that anybody is woken.
#[test]
fn a_response_that_runs_on_where_it_is_woken_knows_why_its_call_is_over() {
    smol::block_on(async {
        let stage = Stage::new();
        let endpoint = stage.endpoint();
        let serving = &*serve(Way::Direct, endpoint.clone()).await;
        let session = open(serving, "2025-11-25").await;
        let request = Req::legacy_play(&session, "1").request();
        let waiting = async move { endpoint.handle(request, Signal::never()).await };
        // Where it is woken it is polled, as on some executors.
        let run = |runnable: async_task::Runnable| {
            runnable.run();
        };
        let (runnable, waiting) = async_task::spawn(waiting, run);
        runnable.run();
        let _playing = stage.playing().await;
        let cancel = serving.send(&cancelled(&session, "1")).await;
        assert_eq!(cancel.reply().await.status, 202);
        let response = bounded("a response", waiting).await;
        let kind = response.headers().get("content-type");
        let kind = kind.map(|kind| kind.to_str().unwrap());
        assert_eq!(
            (response.status().as_u16(), kind),
            (200, Some("text/event-stream"))
        );
    });
}

// Its first message waits in the body until somebody asks for it.
#[test]
fn after_the_callers_signal_fired_not_even_the_beginning_of_a_stream_leaves() {
    smol::block_on(async {
        let stage = Stage::new();
        let serving = &*serve(Way::Direct, stage.endpoint()).await;
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        exchange.head().await;
        exchange.fire(Reason::application("enough"));
        assert_eq!(exchange.rest().await, "");
        assert_eq!(playing.aborted().await.to_string(), "enough");
    });
}

#[test]
fn after_the_callers_signal_fired_nothing_of_a_stream_leaves() {
    smol::block_on(async {
        use smol::stream::StreamExt;
        let stage = Stage::new();
        let controller = Controller::new();
        let play = Req::play("1");
        let mut request = ::http::Request::post("/mcp");
        for (name, value) in &play.headers {
            request = request.header(&**name, &**value);
        }
        let endpoint = stage.endpoint();
        let handling = endpoint.handle(request.body(play.body).unwrap(), controller.signal());
        let mut handling = std::pin::pin!(handling);
        assert!(smol::future::poll_once(&mut handling).await.is_none());
        let playing = stage.playing().await;
        playing.progress(1);
        let mut body: Body = bounded("a response", handling).await.into_body();
        body.next().await.unwrap().unwrap();
        controller.abort(Reason::application("enough"));
        playing.progress(2);
        playing.finish("late");
        playing.gone().await;
        assert!(bounded("the end of the body", body.next()).await.is_none());
    });
}
