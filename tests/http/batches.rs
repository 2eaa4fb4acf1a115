//! The calls of an array of messages (2025-03-26) are given up like those that come alone.

use std::time::Duration;

use crate::common::*;
use smol_mcp::signal::Reason;

/// A batch of two calls that the test plays.
fn two_calls(session: &str) -> Req {
    let call = |id: i32| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"play"}}}}"#)
    };
    Req::legacy(session, &format!("[{},{}]", call(1), call(2)))
}

/// Sends the batch in a session of its own, and waits until both handlers have begun.
async fn begin(stage: &Stage, serving: &dyn Serving) -> (String, Exchange, [Playing; 2]) {
    let session = open(serving, "2025-03-26").await;
    let exchange = serving.send(&two_calls(&session)).await;
    let both = [stage.playing().await, stage.playing().await];
    (session, exchange, both)
}

fn both_said(text: &str) -> String {
    format!("[{},{}]", legacy_said("1", text), legacy_said("2", text))
}

// P16
#[test]
fn a_hang_up_aborts_the_calls_of_a_batch_unless_something_else_was_chosen() {
    every_way(async |stage, serving| {
        let (_, exchange, both) = begin(stage, serving).await;
        exchange.hang_up();
        for playing in &both {
            assert!(matches!(playing.aborted().await, Reason::Disconnected));
        }
    });
    let stubborn = |stage: &Stage| stage.endpoint().abort_on_hang_up(false);
    every_way_with(Stage::new, stubborn, async |stage, serving| {
        let (_, exchange, both) = begin(stage, serving).await;
        exchange.hang_up();
        // A request after it, so that the end of the connection has been noticed.
        let other = serving.send(&Req::call("3", "quick", "")).await;
        assert_eq!(other.reply().await.status, 200);
        for playing in both {
            playing.finish("late");
            playing.gone().await;
            assert!(!playing.cx.signal().is_aborted());
        }
    });
}

// P2, P3: whatever becomes of calls when their client hangs up.
#[test]
fn the_reason_of_the_caller_reaches_each_call_of_a_batch() {
    for aborts in [true, false] {
        smol::block_on(async {
            let stage = Stage::new();
            let endpoint = stage.endpoint().abort_on_hang_up(aborts);
            let serving = &*serve(Way::Direct, endpoint).await;
            let (_, exchange, both) = begin(&stage, serving).await;
            exchange.abort(Reason::application("out of ink"));
            for playing in &both {
                assert_eq!(playing.aborted().await.to_string(), "out of ink");
            }

            let (_, exchange, both) = begin(&stage, serving).await;
            exchange.fire(Reason::ServerClosed);
            for playing in &both {
                assert!(matches!(playing.aborted().await, Reason::ServerClosed));
                playing.finish("in time");
            }
            assert_eq!(exchange.reply().await.text(), both_said("in time"));
        });
    }
}

// legacy.md §6: as for a call that comes alone.
#[test]
fn a_batch_of_which_nothing_is_answered_is_answered_like_one_of_its_calls() {
    every_way(async |stage, serving| {
        let (session, exchange, _both) = begin(stage, serving).await;
        for id in [1, 2] {
            let cancel = Req::legacy(
                &session,
                &format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                ),
            );
            assert_eq!(serving.send(&cancel).await.reply().await.status, 202);
        }
        let reply = exchange.reply().await;
        assert_eq!(
            (reply.status, reply.header("content-type"), reply.text()),
            (200, Some("text/event-stream"), "")
        );

        let (session, exchange, both) = begin(stage, serving).await;
        let delete = Req::new("DELETE").with("mcp-session-id", &session);
        assert_eq!(serving.send(&delete).await.reply().await.status, 204);
        for playing in &both {
            assert!(matches!(playing.aborted().await, Reason::Closed));
        }
        let reply = exchange.reply().await;
        assert_eq!((reply.status, reply.text()), (200, ""));

        let (_, exchange, both) = begin(stage, serving).await;
        let close = stage.server.close(Duration::from_millis(10));
        bounded("the close", close).await;
        for playing in &both {
            assert!(matches!(playing.aborted().await, Reason::ServerClosed));
        }
        if serving.way() != Way::Listener {
            // There the connection is dropped, perhaps before these words.
            assert_eq!(exchange.reply().await.status, 503);
        }
    });
}

#[test]
fn what_was_answered_of_a_batch_is_sent_without_what_was_cancelled() {
    every_way(async |stage, serving| {
        let (session, exchange, both) = begin(stage, serving).await;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        let cancel = serving.send(&Req::legacy(&session, cancel)).await;
        assert_eq!(cancel.reply().await.status, 202);
        assert!(matches!(both[0].aborted().await, Reason::Cancelled(None)));
        assert!(!both[1].cx.signal().is_aborted());
        both[1].finish("played");
        let reply = exchange.reply().await;
        assert_eq!(reply.text(), format!("[{}]", legacy_said("2", "played")));
    });
}
