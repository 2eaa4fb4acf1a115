//! The server that scenarios run against, and the threads that a test holds to it.
//!
//! Handlers tell what happens to them, and wait for cues. A test expects the one and gives the other, through channels
//! in this process, or through a socket if the server runs in a child process.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol::channel::{self, Receiver, Sender};
use smol::future;
use smol_mcp::protocol::{
    Completion, LogLevel, PromptArgument, PromptInfo, PromptResult, ResourceContents, ResourceInfo,
    ResourceTemplateInfo,
};
use smol_mcp::signal::Signal;
use smol_mcp::{
    Builder, Context, HandlerError, Limits, Prompt, Resource, ResourceTemplate, Server, Tool,
};

/// How long anything may take before a test fails. No assertion depends on it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a handler is to do.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Role {
    /// How events call it.
    name: String,
    /// Waits for its cue, whatever its signal says.
    deaf: bool,
    /// Reports progress and logs, after it has waited.
    talks: bool,
    /// `error`, `panic`, or else a result.
    end: String,
}

/// The handlers' side.
#[derive(Clone)]
pub(crate) struct Stage {
    events: Sender<String>,
    cues: Arc<Mutex<HashSet<String>>>,
    cued: Arc<event::Event>,
}

/// A bell that everybody who waits hears.
mod event {
    use super::*;

    pub(crate) struct Event(Mutex<Vec<Sender<()>>>);

    impl Event {
        pub(crate) fn new() -> Self {
            Self(Mutex::new(Vec::new()))
        }

        pub(crate) fn listen(&self) -> Receiver<()> {
            let (sender, receiver) = channel::bounded(1);
            self.0.lock().unwrap().push(sender);
            receiver
        }

        pub(crate) fn ring(&self) {
            for sender in self.0.lock().unwrap().drain(..) {
                let _ = sender.try_send(());
            }
        }
    }
}

impl Stage {
    pub(crate) fn new(events: Sender<String>) -> Self {
        Self {
            events,
            cues: Arc::default(),
            cued: Arc::new(event::Event::new()),
        }
    }

    fn tell(&self, event: String) {
        // Whoever listened may be gone. Events travel as lines.
        let _ = self.events.try_send(event.replace('\n', "\\n"));
    }

    async fn cue(&self, name: &str) {
        loop {
            let cued = self.cued.listen();
            if self.cues.lock().unwrap().remove(name) {
                return;
            }
            let _ = cued.recv().await;
        }
    }

    /// Plays a role to its end.
    async fn play(self, role: Role, cx: Context) -> Result<String, HandlerError> {
        let name = role.name;
        let _left = Left(self.clone(), name.clone());
        self.tell(format!("begun {name}"));
        let fired = async {
            let reason = cx.signal().clone().await;
            self.tell(format!("fired {name}: {reason}"));
        };
        let cued = async {
            self.cue(&name).await;
            if !cx.signal().is_aborted() {
                self.tell(format!("cued {name}"));
            }
        };
        match role.deaf {
            // It tells what its signal says, and waits for its cue all the same.
            true => {
                let never = async {
                    fired.await;
                    future::pending().await
                };
                future::or(never, cued).await;
            }
            false => future::or(fired, cued).await,
        }
        if role.talks {
            cx.progress(1, 1, "late");
            cx.log(LogLevel::Error, json!({ "call": cx.request_id() }));
        }
        match &*role.end {
            "error" => Err(HandlerError::unexpected(format!("{name} failed"))),
            "panic" => panic!("{name} panicked"),
            _ => Ok(format!("{name} ended")),
        }
    }
}

/// Tells when a handler is gone, however it went.
struct Left(Stage, String);

impl Drop for Left {
    fn drop(&mut self) {
        self.0.tell(format!("left {}", self.1));
    }
}

/// Builds the server of the scenarios.
pub(crate) fn server(stage: &Stage, builder: Builder) -> Server {
    let (failures, cancellations, observing) = (stage.clone(), stage.clone(), stage.clone());
    let play = |stage: &Stage| {
        let stage = stage.clone();
        move |role: Role, cx: Context| stage.clone().play(role, cx)
    };
    let named = |name: &str| Role {
        name: name.to_owned(),
        ..Role::default()
    };
    let checking = stage.clone();
    let check = move |_: serde_json::Value, cx: Context| {
        let checking = checking.clone().play(named("check"), cx);
        async move { checking.await.map(drop) }
    };
    let on_resource = stage.clone();
    let on_template = stage.clone();
    let on_prompt = stage.clone();
    let on_completion = stage.clone();
    let resource = Resource::new(ResourceInfo::new("stage:///one", "one"), move |uri, cx| {
        let playing = on_resource.clone().play(named("resource"), cx);
        async move { playing.await.map(|text| ResourceContents::text(uri, text)) }
    });
    let template = ResourceTemplate::new(
        ResourceTemplateInfo::new("family:///{name}", "family"),
        move |uri, _, cx| {
            let playing = on_template.clone().play(named("template"), cx);
            async move { playing.await.map(|text| ResourceContents::text(uri, text)) }
        },
    )
    .expect("a pattern");
    let prompt = Prompt::new(
        PromptInfo::new("ask").argument(PromptArgument::optional("what")),
        move |_, cx| {
            let playing = on_prompt.clone().play(named("prompt"), cx);
            async move { playing.await.map(PromptResult::user) }
        },
    );
    builder
        .logging()
        .tool(Tool::new("play", play(stage)))
        .tool(Tool::new("checked", play(stage)).check_with(check))
        .tool(Tool::new("timed", play(stage)).deadline(Duration::from_millis(100)))
        .tool(Tool::new("echo", |input: serde_json::Value| async move {
            input.to_string()
        }))
        .tool(Tool::new("report", crate::progress::report))
        .tool(Tool::new("ask", crate::progress::ask))
        .resource(resource)
        .resource_template(template)
        .prompt(prompt)
        .completion(move |_, cx| {
            let playing = on_completion.clone().play(named("completion"), cx);
            async move { playing.await.map(|text| Completion::new([text])) }
        })
        .on_error(move |failure| {
            failures.tell(format!("failure {}: {}", failure.subject, failure.error))
        })
        .on_progress(move |progressed| {
            observing.tell(format!(
                "progressed {} {} {}: {} {:?} {:?}",
                progressed.call,
                progressed.key,
                progressed.method,
                progressed.progress,
                progressed.total,
                progressed.message
            ));
        })
        .on_cancelled(move |cancelled| {
            let reason = cancelled.reason.unwrap_or("-");
            let touched = match cancelled.aborted {
                true => "aborted",
                false => "nothing",
            };
            cancellations.tell(format!(
                "cancelled {}: {reason}: {touched}",
                cancelled.request_id
            ));
        })
        .build()
        .expect("a server")
}

/// Does what the test asks for, one command after another, until nobody asks any more.
pub(crate) async fn direct(server: Server, stage: Stage, commands: Receiver<String>) {
    while let Ok(command) = commands.recv().await {
        match command.split_once(' ') {
            Some(("cue", name)) => {
                stage.cues.lock().unwrap().insert(name.to_owned());
                stage.cued.ring();
            }
            Some(("settle", most)) => {
                let most: usize = most.parse().expect("a number");
                while server.calls_in_flight() > most {
                    future::yield_now().await;
                }
                stage.tell(format!("settled {most}"));
            }
            Some(("close", millis)) => {
                let grace = Duration::from_millis(millis.parse().expect("a number"));
                let (server, stage) = (server.clone(), stage.clone());
                // Cues are still given while it closes.
                smol::spawn(async move {
                    server.close(grace).await;
                    stage.tell("closed".into());
                })
                .detach();
            }
            _ => panic!("no command: {command:?}"),
        }
    }
}

/// The test's side.
pub(crate) struct Director {
    events: Receiver<String>,
    commands: Sender<String>,
    /// What has happened and nobody expected yet, and how often.
    seen: HashMap<String, usize>,
}

impl Director {
    /// Makes both sides, and the ends for commands.
    pub(crate) fn new() -> (Self, Stage, Receiver<String>) {
        let (tell, events) = channel::unbounded();
        let (commands, obey) = channel::unbounded();
        (Self::remote(events, commands), Stage::new(tell), obey)
    }

    /// Makes the test's side alone, for a stage in another process.
    pub(crate) fn remote(events: Receiver<String>, commands: Sender<String>) -> Self {
        Self {
            events,
            commands,
            seen: HashMap::new(),
        }
    }

    /// Waits for an event, in whatever order events come.
    #[track_caller]
    pub(crate) fn expect(&mut self, event: &str) {
        loop {
            if let Some(times) = self.seen.get_mut(event) {
                *times -= 1;
                self.seen.retain(|_, times| *times > 0);
                return;
            }
            match block_on(self.events.recv()) {
                Some(Ok(event)) => self.note(event),
                Some(Err(_)) => panic!("the stage is gone, expected {event:?}; {:?}", self.seen),
                None => panic!("expected {event:?}, got {:?}", self.seen),
            }
        }
    }

    /// Waits for an event that begins so, and returns the rest of it.
    #[cfg(feature = "http")]
    #[track_caller]
    pub(crate) fn expect_that(&mut self, begins: &str) -> String {
        loop {
            let found = self.seen.keys().find(|event| event.starts_with(begins));
            if let Some(event) = found.cloned() {
                self.expect(&event);
                return event[begins.len()..].to_owned();
            }
            match block_on(self.events.recv()) {
                Some(Ok(event)) => self.note(event),
                _ => panic!("expected {begins:?}, got {:?}", self.seen),
            }
        }
    }

    fn note(&mut self, event: String) {
        *self.seen.entry(event).or_default() += 1;
    }

    fn note_all(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.note(event);
        }
    }

    /// Asserts that no event but those expected has happened. Only sound when all is settled.
    #[track_caller]
    pub(crate) fn expect_no_more(&mut self) {
        self.expect_no_more_but(&[]);
    }

    /// Asserts the same, apart from events that may happen, now or later.
    #[track_caller]
    pub(crate) fn expect_no_more_but(&mut self, allowed: &[&str]) {
        self.note_all();
        let mut seen = self.seen.keys();
        let unexpected = seen.find(|event| !allowed.contains(&event.as_str()));
        assert!(unexpected.is_none(), "unexpected: {unexpected:?}");
    }

    pub(crate) fn cue(&self, name: &str) {
        self.command(format!("cue {name}"));
    }

    /// Waits until at most so many handlers are left.
    #[track_caller]
    pub(crate) fn settle(&mut self, most: usize) {
        self.command(format!("settle {most}"));
        self.expect(&format!("settled {most}"));
    }

    /// Closes the server; `closed` tells when that is done.
    pub(crate) fn close(&self, grace: Duration) {
        self.command(format!("close {}", grace.as_millis()));
    }

    fn command(&self, command: String) {
        self.commands.try_send(command).expect("a stage");
    }
}

/// Limits with a grace that no test waits for to its end.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.grace = PATIENCE;
    limits
}

/// Blocks until the future is ready; `None` if that takes too long.
fn block_on<F: Future>(future: F) -> Option<F::Output> {
    smol::block_on(Signal::timeout(PATIENCE).run(future)).ok()
}

/// Blocks until the future is ready. If that takes too long, fails with what was waited for.
#[track_caller]
pub(crate) fn within<F: Future>(what: impl fmt::Display, future: F) -> F::Output {
    match block_on(future) {
        Some(output) => output,
        None => panic!("waited in vain for {what}"),
    }
}

/// Waits for the end of a thread, in the same way.
#[track_caller]
pub(crate) fn join<T: Send + 'static>(what: &str, thread: thread::JoinHandle<T>) -> T {
    match within(what, smol::unblock(move || thread.join())) {
        Ok(output) => output,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
