//! Streams that are left and taken up again, with an event store.

use crate::common::*;
use std::sync::{Arc, Mutex};

use smol::future;
use smol_mcp::http::{Endpoint, EventStore, MemoryStore, Place};
use smol_mcp::signal::Reason;
use smol_mcp::{Limits, List};

fn kept(stage: &Stage) -> Endpoint {
    stage.endpoint().event_store(MemoryStore::new())
}

fn get(session: &str) -> Req {
    Req::new("GET")
        .with("accept", "text/event-stream")
        .with("mcp-session-id", session)
}

fn resume(session: &str, id: &str) -> Req {
    get(session).with("last-event-id", id)
}

fn event(id: &str, message: &str) -> String {
    format!("id: {id}\ndata: {message}\n\n")
}

// R104, R105, R110, R111; fixture.md §5 `server-sse-polling`
#[test]
fn a_handler_lets_go_of_its_stream_and_the_client_comes_back_for_the_result() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.cx.release_stream();
        assert_eq!(exchange.head().await.0, 200);
        assert_eq!(exchange.rest().await, "id: 1-0\ndata: \n\nretry: 1000\n\n");
        assert!(!playing.cx.signal().is_aborted());
        playing.finish("played");
        let mut back = serving.send(&resume(&session, "1-0")).await;
        assert_eq!(back.head().await.0, 200);
        assert_eq!(back.rest().await, event("1-1", &legacy_said("1", "played")));
        // What was sent once can be had again.
        let again = serving.send(&resume(&session, "1-0")).await.reply().await;
        assert_eq!(again.text(), event("1-1", &legacy_said("1", "played")));
        let nothing = serving.send(&resume(&session, "1-1")).await.reply().await;
        assert_eq!((nothing.status, nothing.text()), (200, ""));
    });
}

#[test]
fn a_stream_is_let_go_of_more_than_once_and_goes_on_live() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        exchange.head().await;
        let first = exchange.piece().await.unwrap();
        assert!(
            first.starts_with("id: 1-0\ndata: \n\nid: 1-1\ndata: {"),
            "{first}"
        );
        playing.cx.release_stream();
        assert_eq!(exchange.rest().await, "retry: 1000\n\n");
        playing.progress(2);
        let mut back = serving.send(&resume(&session, "1-1")).await;
        back.head().await;
        let second = back.piece().await.unwrap();
        assert!(
            second.starts_with("id: 1-2\ndata: {") && second.contains("\"progress\":2"),
            "{second}"
        );
        playing.cx.release_stream();
        assert_eq!(back.rest().await, "retry: 1000\n\n");
        let mut back = serving.send(&resume(&session, "1-2")).await;
        back.head().await;
        playing.finish("played");
        assert_eq!(back.rest().await, event("1-3", &legacy_said("1", "played")));
    });
}

// R106; legacy.md §6
#[test]
fn with_a_store_a_hang_up_leaves_the_handler_running_and_its_result_is_kept() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let (exchange, playing) = stage
            .streaming(serving, &Req::legacy_play(&session, "1"))
            .await;
        exchange.hang_up();
        // A request after it, so that the end of the connection has been noticed.
        let other = serving
            .send(&Req::call("2", "quick", ""))
            .await
            .reply()
            .await;
        assert_eq!(other.status, 200);
        playing.progress(2);
        playing.finish("played");
        playing.gone().await;
        assert!(!playing.cx.signal().is_aborted());
        let reply = serving.send(&resume(&session, "1-0")).await.reply().await;
        let body = reply.text();
        assert!(
            body.starts_with("id: 1-1\ndata: {") && body.contains("id: 1-2\ndata: {"),
            "{body}"
        );
        assert!(
            body.ends_with(&event("1-3", &legacy_said("1", "played"))),
            "{body}"
        );
    });
}

#[test]
fn with_a_store_a_hang_up_before_the_first_event_aborts_as_nobody_can_come_back() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        exchange.hang_up();
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
        // A client that takes no streams never gets an event.
        let request = Req::legacy_play(&session, "2").with("accept", "application/json");
        let exchange = serving.send(&request).await;
        let playing = stage.playing().await;
        playing.progress(1);
        exchange.hang_up();
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
    });
    let stubborn = |stage: &Stage| kept(stage).abort_on_hang_up(false);
    every_way_with(Stage::new, stubborn, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        exchange.hang_up();
        let other = serving.send(&Req::call("2", "quick", "")).await;
        assert_eq!(other.reply().await.status, 200);
        playing.finish("late");
        playing.gone().await;
        assert!(!playing.cx.signal().is_aborted());
    });
}

#[test]
fn with_a_store_modern_calls_and_calls_without_sessions_are_aborted_still() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        exchange.hang_up();
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
        // R18.5: no ids, nothing to come back to
        let mut exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        playing.cx.release_stream();
        exchange.head().await;
        playing.finish("played");
        let body = exchange.rest().await;
        assert!(
            !body.contains("id: ") && body.ends_with(&format!("data: {}\n\n", said("1", "played"))),
            "{body}"
        );
    });
    every_way_with(
        Stage::new,
        |stage| kept(stage).sessionless(),
        async |stage, serving| {
            let exchange = serving
                .send(&Req::legacy_play("", "1").without("mcp-session-id"))
                .await;
            let playing = stage.playing().await;
            exchange.hang_up();
            assert!(matches!(playing.aborted().await, Reason::Disconnected));
        },
    );
}

#[test]
fn what_a_hang_up_does_can_be_chosen() {
    every_way_with(
        Stage::new,
        |stage| kept(stage).abort_on_hang_up(true),
        async |stage, serving| {
            let session = open(serving, "2025-11-25").await;
            let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
            let playing = stage.playing().await;
            playing.progress(1);
            exchange.head().await;
            exchange.hang_up();
            assert!(matches!(playing.aborted().await, Reason::Disconnected));
        },
    );
    every_way_with(
        Stage::new,
        |stage| stage.endpoint().abort_on_hang_up(false),
        async |stage, serving| {
            let session = open(serving, "2025-11-25").await;
            let exchange = serving.send(&Req::legacy_play(&session, "1")).await;
            let playing = stage.playing().await;
            exchange.hang_up();
            assert_eq!(
                serving
                    .send(&Req::call("2", "quick", ""))
                    .await
                    .reply()
                    .await
                    .status,
                200
            );
            assert!(!playing.cx.signal().is_aborted());
            playing.finish("late");
            playing.gone().await;
            assert!(!playing.cx.signal().is_aborted());
        },
    );
}

// R103: only clients that know of polling are sent away, and see no event without data
#[test]
fn clients_of_earlier_revisions_get_ids_and_no_more() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-06-18").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.progress(1);
        playing.cx.release_stream();
        exchange.head().await;
        let first = exchange.piece().await.unwrap();
        assert!(first.starts_with("id: 1-1\ndata: {"), "{first}");
        playing.finish("played");
        assert_eq!(
            exchange.rest().await,
            event("1-2", &legacy_said("1", "played"))
        );
    });
}

// R110, R112
#[test]
fn ids_are_unique_in_a_session_and_replay_is_of_one_stream() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let other = open(serving, "2025-11-25").await;
        for (stream, text) in [("1", "one"), ("2", "two")] {
            let (mut exchange, playing) = stage
                .streaming(serving, &Req::legacy_play(&session, stream))
                .await;
            playing.finish(text);
            assert_eq!(
                exchange.rest().await,
                event(&format!("{stream}-2"), &legacy_said(stream, text))
            );
        }
        let reply = serving.send(&resume(&session, "1-1")).await.reply().await;
        assert_eq!(reply.text(), event("1-2", &legacy_said("1", "one")));
        // Neither those of another session, nor those that never were.
        let unknown = error("", -32600, "Invalid request: Last-Event-ID is unknown");
        for (session, id) in [
            (&other, "1-1"),
            (&session, "9-0"),
            (&session, "x"),
            (&session, "1-+1"),
            (&session, ""),
        ] {
            let reply = serving.send(&resume(session, id)).await.reply().await;
            assert_eq!((reply.status, reply.text()), (400, &*unknown), "{id}");
        }
    });
}

#[test]
fn who_comes_back_early_takes_the_stream_over() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let (mut exchange, playing) = stage
            .streaming(serving, &Req::legacy_play(&session, "1"))
            .await;
        let mut back = serving.send(&resume(&session, "1-1")).await;
        back.head().await;
        assert_eq!(exchange.piece().await, None);
        playing.finish("played");
        assert_eq!(back.rest().await, event("1-2", &legacy_said("1", "played")));
    });
}

// The connection that a client has left for another may be noticed to be dead long after that.
#[test]
fn a_hang_up_of_a_response_that_carries_its_stream_no_more_aborts_nothing() {
    let strict = |stage: &Stage| kept(stage).abort_on_hang_up(true);
    every_way_with(Stage::new, strict, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.cx.release_stream();
        exchange.head().await;
        exchange.rest().await;
        let mut earlier = serving.send(&resume(&session, "1-0")).await;
        earlier.head().await;
        let mut later = serving.send(&resume(&session, "1-0")).await;
        later.head().await;
        earlier.hang_up();
        // A request after it, so that the end of the connection has been noticed.
        let other = serving.send(&Req::call("2", "quick", "")).await;
        assert_eq!(other.reply().await.status, 200);
        assert!(!playing.cx.signal().is_aborted());
        playing.finish("played");
        let played = event("1-1", &legacy_said("1", "played"));
        assert_eq!(later.rest().await.trim_start_matches(":\n\n"), played);
    });
}

#[test]
fn the_end_of_a_session_ends_the_streams_that_were_left() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.cx.release_stream();
        exchange.head().await;
        exchange.rest().await;
        let mut back = serving.send(&resume(&session, "1-0")).await;
        back.head().await;
        serving
            .send(&Req::new("DELETE").with("mcp-session-id", &session))
            .await
            .reply()
            .await;
        assert!(matches!(playing.aborted().await, Reason::Closed));
        assert_eq!(back.rest().await, "");
        assert_eq!(
            serving
                .send(&resume(&session, "1-0"))
                .await
                .reply()
                .await
                .status,
            404
        );
    });
}

// P2, P3: who gives up the stream that was taken up says why, whatever a hang-up does.
#[test]
fn the_reason_of_the_caller_that_came_back_reaches_the_handler() {
    for aborts in [true, false] {
        smol::block_on(async {
            let stage = Stage::new();
            let endpoint = kept(&stage).abort_on_hang_up(aborts);
            let serving = &*serve(Way::Direct, endpoint).await;
            let session = open(serving, "2025-11-25").await;
            let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
            let playing = stage.playing().await;
            playing.cx.release_stream();
            exchange.head().await;
            exchange.rest().await;
            let mut back = serving.send(&resume(&session, "1-0")).await;
            back.head().await;
            back.abort(Reason::application("out of ink"));
            assert_eq!(playing.aborted().await.to_string(), "out of ink");
        });
    }
}

#[test]
fn a_cancelled_call_that_was_left_ends() {
    every_way_with(Stage::new, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
        let playing = stage.playing().await;
        playing.cx.release_stream();
        exchange.head().await;
        exchange.rest().await;
        let cancel = Req::legacy(
            &session,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        );
        assert_eq!(serving.send(&cancel).await.reply().await.status, 202);
        assert!(matches!(playing.aborted().await, Reason::Cancelled(None)));
        playing.finish("late");
        playing.gone().await;
        let reply = serving.send(&resume(&session, "1-0")).await.reply().await;
        assert_eq!(reply.text(), "");
    });
}

// The stream of messages that belong to no request
#[test]
fn a_get_stream_begins_with_an_id_and_continues_from_it() {
    every_way_with(Stage::new, kept, async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut first = serving.send(&get(&session)).await;
        first.head().await;
        assert_eq!(first.piece().await.unwrap(), "id: 1-0\ndata: \n\n");
        let mut second = serving.send(&resume(&session, "1-0")).await;
        second.head().await;
        assert_eq!(first.piece().await, None);
        assert_eq!(second.piece().await.unwrap(), ":\n\n");
    });
}

fn changing() -> Stage {
    Stage::with(|builder| builder.list_changed([List::Tools]))
}

const CHANGED: &str =
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#;

// R109: what the client has not received it gets once, on the stream that it continues
#[test]
fn messages_that_belong_to_no_request_go_to_the_newest_get_stream_and_are_replayed() {
    every_way_with(changing, kept, async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let ready = Req::legacy(
            &session,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        );
        assert_eq!(serving.send(&ready).await.reply().await.status, 202);
        let mut first = serving.send(&get(&session)).await;
        first.head().await;
        assert_eq!(first.piece().await.unwrap(), "id: 1-0\ndata: \n\n");
        stage.server.list_changed(List::Tools);
        assert_eq!(first.piece().await.unwrap(), event("1-1", CHANGED));
        first.hang_up();
        // The client says that it has seen nothing.
        let mut back = serving.send(&resume(&session, "1-0")).await;
        back.head().await;
        assert_eq!(back.piece().await.unwrap(), event("1-1", CHANGED));
        stage.server.list_changed(List::Tools);
        assert_eq!(back.piece().await.unwrap(), event("1-2", CHANGED));
        // A stream of its own begins anew; the one before it ends and gets nothing.
        let mut fresh = serving.send(&get(&session)).await;
        fresh.head().await;
        assert_eq!(fresh.piece().await.unwrap(), "id: 2-0\ndata: \n\n");
        stage.server.list_changed(List::Tools);
        assert_eq!(fresh.piece().await.unwrap(), event("2-1", CHANGED));
        assert_eq!(back.rest().await, "");
    });
}

/// Begins the calls of these streams, and sends their clients away.
async fn leave_behind(
    stage: &Stage,
    serving: &dyn Serving,
    session: &str,
    streams: std::ops::RangeInclusive<u32>,
) -> Vec<Playing> {
    let mut running = Vec::new();
    for stream in streams {
        let call = Req::legacy_play(session, &stream.to_string());
        let mut exchange = serving.send(&call).await;
        let playing = stage.playing().await;
        playing.cx.release_stream();
        exchange.head().await;
        exchange.rest().await;
        running.push(playing);
    }
    running
}

/// Ends handlers. Where they run on the test's own thread, they are answered after it.
async fn end(running: Vec<Playing>) {
    for playing in running {
        playing.finish("played");
        playing.gone().await;
    }
}

#[test]
fn of_too_many_results_that_nobody_fetched_the_oldest_go() {
    // How many calls run at a time, how many there are, and the first of their streams that is kept at the end.
    for (at_a_time, all, kept_from) in [(1, 66, 3), (70, 71, 8)] {
        for way in WAYS {
            let executor = Arc::new(smol::Executor::new());
            let stage = Stage::with(|builder| builder.executor(executor.clone()));
            smol::block_on(executor.run(async {
                let serving = &*serve(way, kept(&stage)).await;
                let session = open(serving, "2025-11-25").await;
                for first in (1..=all).step_by(at_a_time) {
                    let last = all.min(first + at_a_time as u32 - 1);
                    end(leave_behind(&stage, serving, &session, first..=last).await).await;
                }
                for stream in 1..=all {
                    let resume = resume(&session, &format!("{stream}-0"));
                    let reply = serving.send(&resume).await.reply().await;
                    let expected = if stream < kept_from { 400 } else { 200 };
                    assert_eq!(reply.status, expected, "{way:?}: {stream} of {all}");
                }
            }));
        }
    }
}

/// A store of an application's own: it keeps nothing and counts.
struct Counter(Arc<Mutex<Vec<String>>>);

impl EventStore for Counter {
    fn keep(&self, place: Place<'_>, message: &[u8]) {
        let line = format!(
            "{}-{} {} bytes",
            place.stream,
            place.position,
            message.len()
        );
        self.0.lock().unwrap().push(line);
    }

    fn behind(&self, _: Place<'_>) -> Option<Vec<(u64, Vec<u8>)>> {
        None
    }

    fn forget(&self, _: &str) {
        self.0.lock().unwrap().push("forgotten".into());
    }
}

#[test]
fn a_store_of_ones_own_sees_every_event_and_the_end_of_the_session() {
    for way in WAYS {
        smol::block_on(async {
            let stage = Stage::new();
            let seen = Arc::new(Mutex::new(Vec::new()));
            let endpoint = stage.endpoint().event_store(Counter(seen.clone()));
            let serving = &*serve(way, endpoint).await;
            let session = open(serving, "2025-11-25").await;
            let mut exchange = serving.send(&Req::legacy_play(&session, "1")).await;
            let playing = stage.playing().await;
            playing.cx.release_stream();
            exchange.head().await;
            exchange.rest().await;
            playing.finish("played");
            // The stream is known as long as something waits in it, whatever the store says.
            let reply = serving.send(&resume(&session, "1-0")).await.reply().await;
            let message = legacy_said("1", "played");
            assert_eq!(reply.text(), event("1-1", &message));
            assert_eq!(
                serving
                    .send(&resume(&session, "1-0"))
                    .await
                    .reply()
                    .await
                    .status,
                400
            );
            serving
                .send(&Req::new("DELETE").with("mcp-session-id", &session))
                .await
                .reply()
                .await;
            assert_eq!(
                *seen.lock().unwrap(),
                [format!("1-1 {} bytes", message.len()), "forgotten".into()]
            );
        });
    }
}

#[test]
fn outside_of_sessions_a_hang_up_ends_calls_and_subscriptions_whatever_was_chosen() {
    let one_subscription = || {
        Stage::with(|builder| {
            let mut limits = Limits::default();
            limits.subscriptions = 1;
            builder.limits(limits)
        })
    };
    let stubborn = |stage: &Stage| stage.endpoint().abort_on_hang_up(false);
    every_way_with(one_subscription, stubborn, async |stage, serving| {
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        exchange.hang_up();
        assert!(matches!(playing.aborted().await, Reason::Disconnected));
        let listen = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{{"notifications":{{}},{META}}}}}"#
        );
        for _ in 0..2 {
            let patient = async {
                loop {
                    let mut exchange = serving.send(&Req::modern(&listen)).await;
                    let (_, headers) = exchange.head().await;
                    if headers.contains(&("content-type".into(), "text/event-stream".into())) {
                        return exchange.hang_up();
                    }
                    // The hang-up before has perhaps not been noticed yet.
                    future::yield_now().await;
                }
            };
            bounded("the end of the subscription before", patient).await;
        }
    });
}
