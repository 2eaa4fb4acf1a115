//! The end of a server that is served over HTTP.

use std::time::Duration;

use crate::common::*;
use smol_mcp::Limits;
use smol_mcp::http::{self, Listener, MemoryStore};
use smol_mcp::signal::Reason;

const LONG: Duration = Duration::from_secs(15);

#[test]
fn what_ends_within_the_grace_is_answered() {
    every_way(async |stage, serving| {
        let waiting = serving.send(&Req::play("1")).await;
        let waiting_playing = stage.playing().await;
        let (mut streaming, streaming_playing) = stage.streaming(serving, &Req::play("2")).await;
        let server = stage.server.clone();
        let closing = smol::spawn(async move { server.close(LONG).await });
        for playing in [&waiting_playing, &streaming_playing] {
            assert!(matches!(playing.aborted().await, Reason::ServerClosed));
        }
        waiting_playing.finish("one");
        assert_eq!(waiting.reply().await.text(), said("1", "one"));
        streaming_playing.finish("two");
        assert_eq!(
            streaming.rest().await,
            format!("data: {}\n\n", said("2", "two"))
        );
        bounded("the close", closing).await;
    });
}

#[test]
fn what_does_not_end_within_the_grace_is_not() {
    every_way(async |stage, serving| {
        let waiting = serving.send(&Req::play("1")).await;
        let waiting_playing = stage.playing().await;
        let (mut streaming, streaming_playing) = stage.streaming(serving, &Req::play("2")).await;
        bounded("the close", stage.server.close(Duration::from_millis(10))).await;
        waiting_playing.gone().await;
        streaming_playing.gone().await;
        assert_eq!(streaming.rest().await, "");
        if serving.way() != Way::Listener {
            // There the connection is dropped, perhaps before these words.
            assert_eq!(waiting.reply().await.status, 503);
        }
    });
}

#[test]
fn serving_ends_when_the_server_is_closed_although_clients_stay() {
    smol::block_on(async {
        let stage = Stage::new();
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = smol::spawn(http::serve_on(listener, stage.endpoint()));
        let mut idle = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut idle, b"POST").unwrap();
        bounded("the close", stage.server.close(LONG)).await;
        bounded("the end of serving", serving).await.unwrap();
    });
}

#[test]
fn streams_of_sessions_end_at_once_when_the_server_closes() {
    every_way(async |stage, serving| {
        let session = open(serving, "2025-11-25").await;
        let mut stream = serving.send(&listen(&session)).await;
        stream.head().await;
        assert_eq!(stream.piece().await.unwrap(), ":\n\n");
        // While it runs, the close goes on.
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        let server = stage.server.clone();
        let closing = smol::spawn(async move { server.close(LONG).await });
        assert_eq!(stream.rest().await, "");
        playing.finish("played");
        assert_eq!(exchange.reply().await.text(), said("1", "played"));
        bounded("the close", closing).await;
    });
}

fn listen(session: &str) -> Req {
    Req::new("GET")
        .with("accept", "text/event-stream")
        .with("mcp-session-id", session)
}

/// A subscription and the stream of a session, both open: they wait for nothing that would end within a grace.
async fn open_ended(serving: &dyn Serving) -> (Exchange, Exchange) {
    let subscribe = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{}},{META}}}}}"#
    );
    let mut subscription = serving.send(&Req::modern(&subscribe)).await;
    assert_eq!(subscription.head().await.0, 200);
    let acknowledged = subscription.piece().await.unwrap();
    assert!(acknowledged.contains("acknowledged"), "{acknowledged}");
    let session = open(serving, "2025-11-25").await;
    let mut stream = serving.send(&listen(&session)).await;
    assert_eq!(stream.head().await.0, 200);
    assert_eq!(stream.piece().await.unwrap(), ":\n\n");
    (subscription, stream)
}

const CLOSING: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stage","version":"1"},"io.modelcontextprotocol/subscriptionId":1}}}"#;

// R238: also where not the server closes, but what listens for it.
#[test]
fn what_is_open_without_an_end_ends_at_once_when_its_listener_closes() {
    every_way(async |_, serving| {
        let (mut subscription, mut stream) = open_ended(serving).await;
        let closing = match serving.closer() {
            Some(closer) => smol::spawn(async move { closer.close(LONG).await }),
            None => {
                subscription.fire(Reason::ServerClosed);
                stream.fire(Reason::ServerClosed);
                smol::spawn(async {})
            }
        };
        assert_eq!(subscription.rest().await, format!("data: {CLOSING}\n\n"));
        assert_eq!(stream.rest().await, "");
        bounded("the close", closing).await;
    });
}

#[test]
fn what_is_open_without_an_end_ends_without_a_word_when_its_caller_gives_it_up() {
    smol::block_on(async {
        let stage = Stage::new();
        let serving = &*serve(Way::Direct, stage.endpoint()).await;
        let (mut subscription, mut stream) = open_ended(serving).await;
        for exchange in [&mut subscription, &mut stream] {
            exchange.fire(Reason::application("out of ink"));
            assert_eq!(exchange.rest().await, "");
        }
    });
}

#[test]
fn a_closed_server_refuses_with_503() {
    every_way(async |stage, serving| {
        if serving.way() == Way::Listener {
            return; // Nobody listens any more.
        }
        stage.server.close(Duration::ZERO).await;
        let refused = error("1", -32603, "The server is closing");
        check(
            serving,
            &[("closed", Req::call("1", "quick", ""), 503, refused)],
        )
        .await;
    });
}

// The grace of a close is that of the close, not that of the end of a connection
#[test]
fn a_grace_that_is_longer_than_that_of_connections_is_kept() {
    let hasty = || {
        Stage::with(|builder| {
            let mut limits = Limits::default();
            limits.grace = Duration::ZERO;
            builder.limits(limits)
        })
    };
    every_way_with(hasty, Stage::endpoint, async |stage, serving| {
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        let server = stage.server.clone();
        let closing = smol::spawn(async move { server.close(LONG).await });
        playing.aborted().await;
        // Long enough for a listener that would not wait to drop the connection.
        smol::Timer::after(Duration::from_millis(50)).await;
        playing.finish("played");
        assert_eq!(exchange.reply().await.text(), said("1", "played"));
        bounded("the close", closing).await;
    });
}

// A program that drops what serves is no client that leaves, nor does any come back.
#[test]
fn whoever_drops_the_serving_future_closes_the_connections() {
    let kept = |stage: &Stage| stage.endpoint().event_store(MemoryStore::new());
    for way in [Way::Listener, Way::Tide] {
        for kind in ["modern", "legacy"] {
            smol::block_on(async {
                let stage = Stage::new();
                let serving = serve(way, kept(&stage)).await;
                let request = match kind {
                    "modern" => Req::play("1"),
                    _ => Req::legacy_play(&open(&*serving, "2025-11-25").await, "1"),
                };
                let (streaming, streaming_playing) = stage.streaming(&*serving, &request).await;
                let waiting = serving.send(&request).await;
                let waiting_playing = stage.playing().await;
                drop(serving);
                for playing in [&streaming_playing, &waiting_playing] {
                    let reason = playing.aborted().await;
                    assert!(
                        matches!(reason, Reason::Closed),
                        "{way:?}, {kind}: {reason}"
                    );
                }
                drop((streaming, waiting));
            });
        }
    }
}
