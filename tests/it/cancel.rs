//! Cancellation: it reaches every handler, with its reason, and nothing of the call leaves afterwards.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use smol::channel;
use smol_mcp::{Builder, Context, Next};

use crate::stage::{self, PATIENCE};
use crate::transport::{Era, Scene, everywhere, everywhere_here, memory};

fn play(name: &str) -> Value {
    json!({ "name": name })
}

/// A call that is cancelled, and whose handler has noticed and gone.
fn cancelled_call(scene: &mut Scene, id: i64, arguments: Value) {
    let name = arguments["name"].as_str().unwrap().to_owned();
    let deaf = arguments["deaf"] == true;
    scene.call(id, "play", arguments);
    scene.director.expect(&format!("begun {name}"));
    scene.client.cancel(id, "enough");
    let why = scene.client.cancelled("enough");
    scene.director.expect(&format!("fired {name}: {why}"));
    if deaf {
        scene.director.cue(&name);
    }
    scene.director.expect(&format!("left {name}"));
    scene.director.settle(0);
}

/// Reports of the observer, which not every way to cancel makes.
fn expect_report(scene: &mut Scene, report: &str) {
    if scene.client.reports_cancels() {
        scene.director.expect(report);
    }
}

// P1, P2, R125, R134
#[test]
fn every_kind_of_handler_sees_the_signal_with_its_reason() {
    everywhere(|scene| {
        let reference = json!({ "type": "ref/prompt", "name": "ask" });
        let kinds = [
            (
                "one",
                "tools/call",
                json!({ "name": "play", "arguments": play("one") }),
            ),
            (
                "resource",
                "resources/read",
                json!({ "uri": "stage:///one" }),
            ),
            (
                "template",
                "resources/read",
                json!({ "uri": "family:///x" }),
            ),
            ("prompt", "prompts/get", json!({ "name": "ask" })),
            (
                "completion",
                "completion/complete",
                json!({ "ref": reference, "argument": { "name": "what", "value": "" } }),
            ),
        ];
        for ((name, method, params), id) in kinds.into_iter().zip(1000..) {
            scene.client.begin(id, method, params);
            scene.director.expect(&format!("begun {name}"));
            scene.client.cancel(id, "no \"longer\"\nneeded");
            let why = scene.client.cancelled("no \\\"longer\\\"\\nneeded");
            scene.director.expect(&format!("fired {name}: {why}"));
            scene.director.expect(&format!("left {name}"));
            expect_report(
                scene,
                &format!("cancelled {id}: no \"longer\"\\nneeded: aborted"),
            );
        }
        scene.director.settle(0);
        scene.director.expect_no_more();
        scene.client.silence();
    });
}

// R134, R126, P4, P7, P8: whatever a handler says and however it ends, nothing leaves and nobody is told.
#[test]
fn nothing_leaves_after_a_cancel_however_the_handler_ends() {
    everywhere(|scene| {
        for (end, id) in ["result", "error", "panic"].into_iter().zip(1000..) {
            for deaf in [false, true] {
                let role = json!({ "name": "late", "talks": true, "end": end, "deaf": deaf });
                cancelled_call(scene, id, role);
                expect_report(scene, &format!("cancelled {id}: enough: aborted"));
                scene.director.expect_no_more();
                scene.client.silence();
            }
        }
        // The connection is as good as before.
        scene.call(2000, "echo", json!({ "still": "here" }));
        assert_eq!(scene.text(2000), r#"{"still":"here"}"#);
    });
}

// P9
#[test]
fn a_failure_that_no_cancel_preceded_is_told_to_the_operator() {
    everywhere(|scene| {
        for (end, told, id) in [
            ("error", "one failed", 1000),
            ("panic", "the handler panicked: one panicked", 1001),
        ] {
            scene.call(id, "play", json!({ "name": "one", "end": end }));
            scene.director.expect("begun one");
            scene.director.cue("one");
            scene.director.expect("cued one");
            scene.director.expect("left one");
            scene.director.expect(&format!("failure play: {told}"));
            assert_eq!(scene.text(id), "The tool failed.");
        }
        scene.director.expect_no_more();
    });
}

// P10, P11
#[test]
fn the_id_of_a_cancelled_call_is_reserved_until_its_handler_has_settled() {
    everywhere(|scene| {
        if !scene.client.shares_ids() {
            return;
        }
        scene.call(1000, "play", json!({ "name": "deaf", "deaf": true }));
        scene.director.expect("begun deaf");
        scene.client.cancel(1000, "enough");
        scene.director.expect("cancelled 1000: enough: aborted");
        scene.call(1000, "echo", json!({}));
        let refused = json!({ "jsonrpc": "2.0", "id": 1000, "error": { "code": -32600, "message": "Invalid request: 'id' is in use" } });
        assert_eq!(scene.client.next(1000), Some(refused));
        scene.director.cue("deaf");
        scene.director.settle(0);
        scene.call(1000, "echo", json!({}));
        assert_eq!(scene.text(1000), "{}");
        scene.client.silence();
    });
}

// P4: what nobody waits for still runs.
#[test]
fn the_place_of_a_cancelled_call_is_taken_until_its_handler_has_settled() {
    let one = |builder: Builder| {
        let mut limits = stage::limits();
        limits.calls_per_peer = 1;
        builder.limits(limits)
    };
    everywhere_here(one, |scene| {
        if scene.era == Era::Modern && !scene.client.shares_ids() {
            // All clients together have many places there.
            return;
        }
        scene.call(1000, "play", json!({ "name": "deaf", "deaf": true }));
        scene.director.expect("begun deaf");
        scene.client.cancel(1000, "enough");
        scene.director.expect("cancelled 1000: enough: aborted");
        scene.call(1001, "echo", json!({}));
        let refused = scene.client.next(1001).expect("an answer");
        let message = "Too many requests in flight: at most 1";
        assert_eq!(refused["error"]["message"], message);
        scene.director.cue("deaf");
        scene.director.settle(0);
        scene.call(1002, "echo", json!({}));
        assert_eq!(scene.text(1002), "{}");
        scene.client.silence();
    });
}

// R136, R137, P14: cancels that come twice, too late, for nothing, or broken.
#[test]
fn races_and_malformed_cancels_are_silent_and_harmless() {
    everywhere(|scene| {
        if !scene.client.reports_cancels() {
            return;
        }
        // Twice: the first reason stays.
        scene.call(1000, "play", json!({ "name": "deaf", "deaf": true }));
        scene.director.expect("begun deaf");
        scene.client.cancel(1000, "first");
        scene.client.cancel(1000, "second");
        scene.director.expect("cancelled 1000: first: aborted");
        scene.director.expect("cancelled 1000: second: nothing");
        scene.director.cue("deaf");
        scene
            .director
            .expect("fired deaf: cancelled by the client: first");
        scene.director.expect("left deaf");
        scene.director.settle(0);
        // After the answer, and for what never was.
        scene.call(1001, "echo", json!({}));
        assert_eq!(scene.text(1001), "{}");
        for id in [1001, 9999] {
            scene.client.cancel(id, "late");
            scene
                .director
                .expect(&format!("cancelled {id}: late: nothing"));
        }
        // Broken.
        scene.call(1002, "play", play("lives"));
        scene.director.expect("begun lives");
        for params in [
            r#""params":{}"#,
            r#""params":{"requestId":null}"#,
            r#""params":{"requestId":1002.5}"#,
            r#""params":{"requestId":{"id":1002}}"#,
            r#""params":{"requestId":[1002]}"#,
            r#""params":{"requestId":true}"#,
            r#""params":[1002]"#,
            r#""params":1002"#,
            r#""params":{"requestId":1002,"requestId":1002}"#,
            r#""nothing":1"#,
        ] {
            let method = r#""jsonrpc":"2.0","method":"notifications/cancelled""#;
            scene.client.send(&format!("{{{method},{params}}}"));
        }
        // An id is compared with its type.
        scene.client.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1002"}}"#,
        );
        scene.director.expect("cancelled \"1002\": -: nothing");
        scene.client.silence();
        scene.director.cue("lives");
        scene.director.expect("cued lives");
        scene.director.expect("left lives");
        assert_eq!(scene.text(1002), "lives ended");
        scene.director.settle(0);
        scene.director.expect_no_more();
        scene.client.silence();
    });
}

// P12, P2: the misspelt name, a cancel without a reason, and one whose reason is no text.
#[test]
fn the_misspelt_notification_and_a_missing_reason_cancel_as_well() {
    everywhere(|scene| {
        if !scene.client.reports_cancels() {
            return;
        }
        for (method, reason, id) in [
            ("notifications/canceled", r#","reason":"typo""#, 1000),
            ("notifications/cancelled", "", 1001),
            ("notifications/cancelled", r#","reason":null"#, 1002),
            ("notifications/cancelled", r#","reason":7"#, 1003),
        ] {
            scene.call(id, "play", play("one"));
            scene.director.expect("begun one");
            scene.client.send(&format!(
                r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":{id}{reason}}}}}"#
            ));
            let (why, told) = match id {
                1000 => (": typo", "typo"),
                _ => ("", "-"),
            };
            scene
                .director
                .expect(&format!("fired one: cancelled by the client{why}"));
            scene.director.expect("left one");
            scene
                .director
                .expect(&format!("cancelled {id}: {told}: aborted"));
        }
        scene.director.settle(0);
        scene.director.expect_no_more();
        scene.client.silence();
    });
}

// P15, P7: the end of input fires everything at once; what ends within the grace is answered still.
#[test]
fn leaving_fires_every_call() {
    everywhere(|scene| {
        for id in 1000..1010 {
            scene.call(id, "play", play(&format!("c{id}")));
        }
        for id in 1000..1010 {
            scene.director.expect(&format!("begun c{id}"));
        }
        scene.client.leave();
        let why = scene.client.left();
        for id in 1000..1010 {
            scene.director.expect(&format!("fired c{id}: {why}"));
            scene.director.expect(&format!("left c{id}"));
        }
        if scene.client.shares_ids() {
            for id in 1000..1010 {
                assert_eq!(scene.text(id), format!("c{id} ended"));
            }
            assert_eq!(scene.client.next(1000), None);
        }
    });
}

// P15, P2: the server's own close.
#[test]
fn closing_the_server_fires_every_call_and_lets_answers_out() {
    everywhere(|scene| {
        scene.call(1000, "play", play("willing"));
        scene.call(1001, "play", json!({ "name": "deaf", "deaf": true }));
        scene.director.expect("begun willing");
        scene.director.expect("begun deaf");
        scene.director.close(PATIENCE);
        scene.director.expect("fired willing: the server closed");
        assert_eq!(scene.text(1000), "willing ended");
        // A request that comes now is refused, not left waiting.
        scene.call(1002, "echo", json!({}));
        scene.client.expect_refusal(1002);
        scene.director.cue("deaf");
        scene.director.expect("fired deaf: the server closed");
        assert_eq!(scene.text(1001), "deaf ended");
    });
}

// P8: also where the client is still answered.
#[test]
fn a_failure_within_the_grace_is_answered_and_told_to_nobody() {
    everywhere(|scene| {
        for (end, id) in [("error", 1000), ("panic", 1001)] {
            let role = json!({ "name": end, "deaf": true, "end": end });
            scene.call(id, "play", role);
            scene.director.expect(&format!("begun {end}"));
        }
        scene.director.close(PATIENCE);
        for (end, id) in [("error", 1000), ("panic", 1001)] {
            scene
                .director
                .expect(&format!("fired {end}: the server closed"));
            scene.director.cue(end);
            assert_eq!(scene.text(id), "The tool failed.");
            scene.director.expect(&format!("left {end}"));
        }
        scene.director.expect_no_more_but(&["closed"]);
    });
}

// P4, P8: a grace that ends takes the handlers along, which is nobody's failure.
#[test]
fn a_handler_that_outlives_the_grace_is_dropped_without_a_diagnostic() {
    everywhere(|scene| {
        scene.call(1000, "play", json!({ "name": "deaf", "deaf": true }));
        scene.director.expect("begun deaf");
        scene.director.close(Duration::ZERO);
        scene.director.expect("left deaf");
        if scene.client.shares_ids() {
            assert_eq!(scene.client.next(1000), None);
        }
        // It may not have been polled again, and a process that ends may not say that it has closed.
        let allowed = ["closed", "fired deaf: the server closed"];
        scene.director.expect_no_more_but(&allowed);
    });
}

// P5: while the arguments are checked, with something to wait for.
#[test]
fn a_call_that_is_cancelled_while_its_arguments_are_checked_never_starts_its_handler() {
    everywhere(|scene| {
        scene.call(1000, "checked", play("never"));
        scene.director.expect("begun check");
        scene.client.cancel(1000, "enough");
        let why = scene.client.cancelled("enough");
        // The check has nothing against it.
        scene.director.expect(&format!("fired check: {why}"));
        scene.director.expect("left check");
        expect_report(scene, "cancelled 1000: enough: aborted");
        scene.director.settle(0);
        scene.director.expect_no_more();
        scene.client.silence();
        // One that is not cancelled starts it.
        scene.call(1001, "checked", play("one"));
        scene.director.expect("begun check");
        scene.director.cue("check");
        scene.director.expect("cued check");
        scene.director.expect("left check");
        scene.director.expect("begun one");
        scene.director.cue("one");
        assert_eq!(scene.text(1001), "one ended");
    });
}

// P6: held up before it is dispatched, as in a queue.
#[test]
fn a_call_that_is_cancelled_before_it_is_dispatched_never_starts_its_handler() {
    let (tell, queued) = channel::unbounded();
    let queue = move |builder: Builder| {
        let tell = tell.clone();
        builder.around(move |cx: Context, next: Next| {
            let _ = tell.try_send(());
            async move {
                cx.signal().aborted().await;
                next.run().await
            }
        })
    };
    everywhere_here(queue, |scene| {
        let kinds = [
            (
                "tools/call",
                json!({ "name": "play", "arguments": play("never") }),
            ),
            ("resources/read", json!({ "uri": "stage:///one" })),
            ("prompts/get", json!({ "name": "ask" })),
        ];
        for ((method, params), id) in kinds.into_iter().zip(1000..) {
            scene.client.begin(id, method, params);
            stage::within("the call to be queued", queued.recv()).expect("a call");
            scene.client.cancel(id, "enough");
            expect_report(scene, &format!("cancelled {id}: enough: aborted"));
        }
        scene.director.settle(0);
        scene.director.expect_no_more();
        scene.client.silence();
    });
}

/// Keeps what is logged of cancellations, of all tests at once.
struct Logger(Mutex<Vec<String>>);

static LOGGER: Logger = Logger(Mutex::new(Vec::new()));

impl log::Log for Logger {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() == log::Level::Debug
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        if self.enabled(record.metadata()) && line.starts_with("cancelled:") {
            self.0.lock().unwrap().push(line);
        }
    }

    fn flush(&self) {}
}

// R138: with its text escaped, as it is the client's.
#[test]
fn the_reason_of_a_cancel_is_logged() {
    log::set_logger(&LOGGER).expect("the only logger");
    log::set_max_level(log::LevelFilter::Debug);
    everywhere_here(
        |builder| builder,
        |scene| {
            if !scene.client.reports_cancels() {
                return;
            }
            LOGGER.0.lock().unwrap().clear();
            scene.call(4711, "play", play("one"));
            scene.director.expect("begun one");
            scene.client.cancel(4711, "too\n\"slow\"");
            scene
                .director
                .expect(r#"cancelled 4711: too\n"slow": aborted"#);
            scene.client.cancel(4712, "late");
            scene.director.expect("cancelled 4712: late: nothing");
            let logged = LOGGER.0.lock().unwrap();
            for line in [
                r#"cancelled: 4711 ("too\n\"slow\""), aborted: true"#,
                r#"cancelled: 4712 ("late"), aborted: false"#,
            ] {
                let times = logged.iter().filter(|logged| *logged == line).count();
                assert_eq!(times, 1, "{line} in {logged:?}");
            }
        },
    );
}

// P9 of the issue: ids and cancels of one client never touch another's.
#[test]
fn a_cancel_of_one_client_does_not_touch_another() {
    for era in Era::ALL {
        let mut scene = memory(era, |builder| builder);
        let mut other = scene.another(era);
        scene.call(1000, "play", play("mine"));
        scene.director.expect("begun mine");
        other.begin(
            1000,
            "tools/call",
            json!({ "name": "play", "arguments": play("theirs") }),
        );
        scene.director.expect("begun theirs");
        other.cancel(1000, "enough");
        scene
            .director
            .expect("fired theirs: cancelled by the client: enough");
        scene.director.expect("cancelled 1000: enough: aborted");
        scene.director.expect("left theirs");
        scene.director.settle(1);
        scene.director.cue("mine");
        scene.director.expect("cued mine");
        assert_eq!(scene.text(1000), "mine ended");
        other.silence();
    }
}

// R142
#[test]
fn a_cancel_of_initialize_has_no_effect() {
    everywhere(|scene| {
        if !scene.client.reports_cancels() || scene.era == Era::Modern {
            return;
        }
        // The handshake of the test's client has id 1.
        scene.client.cancel(1, "never mind");
        scene.director.expect("cancelled 1: never mind: nothing");
        scene.call(1000, "echo", json!({}));
        assert_eq!(scene.text(1000), "{}");
    });
}
