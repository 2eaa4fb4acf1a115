//! How a round ends while its handler still runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::client::{text, with};
use crate::common::*;
use serde_json::json;
use smol_mcp::{AskError, Context, HandlerError, NoInput, Tool};

#[test]
fn an_error_that_is_swallowed_does_not_swallow_the_question() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let answer = cx.elicit("user_name", name_form()).await;
        answer.map_or("no answer", |_| "an answer")
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
    });
}

#[test]
fn destructors_run_when_a_round_ends() {
    struct Held(Arc<AtomicUsize>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let dropped = drops.clone();
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let held = Held(drops.clone());
        async move {
            let _held = held;
            cx.elicit("user_name", name_form()).await?;
            Ok::<_, HandlerError>("done")
        }
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
        assert_eq!(dropped.load(Ordering::SeqCst), 1);
        // The id is free again.
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            name_required("1")
        );
    });
}

#[test]
fn a_question_may_come_after_a_wait_and_from_another_task() {
    let (open, gate) = gate();
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let gate = gate.clone();
        async move {
            gate.wait().await;
            let task = smol::spawn(async move { cx.elicit("user_name", name_form()).await });
            let answer = task.await?;
            Ok::<_, HandlerError>(answer.content["name"].as_str().unwrap().to_owned())
        }
    });
    with(&serve(tool), async |client| {
        client.send(&call("1", "t", "", ALL)).await;
        client.expect_nothing().await;
        open.open();
        client.expect(&name_required("1")).await;
        let answers =
            r#""inputResponses":{"user_name":{"action":"accept","content":{"name":"Ada"}}},"#;
        assert_eq!(
            client.ask(&call("2", "t", answers, ALL)).await,
            text("2", "Ada")
        );
    });
}

#[test]
fn a_question_that_lost_a_race_is_not_asked() {
    let tool = Tool::new("t", async |_: NoInput, cx: Context| {
        let asked = async { cx.elicit("user_name", name_form()).await.map(|_| "asked") };
        let first = smol::future::or(asked, async { Ok("not asked") }).await?;
        smol::future::yield_now().await;
        // The key is free again.
        if cx.client_capabilities().roots() {
            cx.roots("user_name").await?;
        }
        Ok::<_, HandlerError>(first)
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client
                .ask(&call("1", "t", "", r#"{"elicitation":{}}"#))
                .await,
            text("1", "not asked")
        );
        let (requests, _) = required(&client.ask(&call("2", "t", "", ALL)).await);
        assert_eq!(
            requests,
            json!({"user_name": {"method": "roots/list", "params": {}}})
        );
    });
}

#[test]
fn a_thread_that_asks_is_let_go_when_the_round_ends() {
    let (sender, receiver) = smol::channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let sender = sender.clone();
        async move {
            smol::unblock(move || {
                let answer = smol::block_on(cx.roots("roots"));
                let ended = answer.as_ref().is_err_and(AskError::is_aborted);
                sender.try_send(ended).unwrap();
                answer
            })
            .await?;
            Ok::<_, HandlerError>("done")
        }
    });
    with(&serve(tool), async |client| {
        let (requests, _) = required(&client.ask(&call("1", "t", "", ALL)).await);
        assert!(requests.get("roots").is_some());
        assert!(receiver.recv().await.unwrap());
    });
}

#[test]
fn a_question_after_the_answer_is_answered_by_nobody() {
    let (open, gate) = gate();
    let (sender, receiver) = smol::channel::bounded(1);
    let tool = Tool::new("t", move |_: NoInput, cx: Context| {
        let (gate, sender) = (gate.clone(), sender.clone());
        async move {
            smol::spawn(async move {
                gate.wait().await;
                let answer = cx.roots("roots").await;
                sender.send(answer.map(drop)).await
            })
            .detach();
            "done"
        }
    });
    with(&serve(tool), async |client| {
        assert_eq!(
            client.ask(&call("1", "t", "", ALL)).await,
            text("1", "done")
        );
        client.initialize("2025-11-25", ALL).await;
        assert_eq!(
            client.ask(&legacy_call("2", "t")).await,
            legacy_text("2", "done")
        );
        open.open();
        for _ in 0..2 {
            let answer = receiver.recv().await.unwrap();
            assert!(answer.is_err_and(|err| err.is_aborted()));
        }
        client.expect_nothing().await;
    });
}
