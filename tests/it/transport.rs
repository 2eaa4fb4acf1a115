//! One client's way to a server: over memory, the standard streams of a child process, or HTTP.
//!
//! A transport hides how requests are told apart and how a client gives one up, so that one scenario runs over all.

use std::collections::{HashMap, VecDeque};
use std::panic::Location;

use serde_json::{Value, json};
use smol_mcp::protocol::Version;
use smol_mcp::testing::Client;
use smol_mcp::{Builder, Server};

#[cfg(feature = "http")]
use crate::http::Way;
use crate::schema;
use crate::stage::{self, Director};

/// Under which rules a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Modern,
    Legacy(Version),
}

impl Era {
    pub(crate) const ALL: [Era; 5] = [
        Era::Modern,
        Era::Legacy(Version::V2025_11_25),
        Era::Legacy(Version::V2025_06_18),
        Era::Legacy(Version::V2025_03_26),
        Era::Legacy(Version::V2024_11_05),
    ];
}

impl Era {
    /// The revision of its sessions, if it has any.
    pub(crate) fn session(self) -> Option<&'static str> {
        match self {
            Era::Modern => None,
            Era::Legacy(version) => Some(version.as_str()),
        }
    }
}

/// One client of the stage's server. Every message that it reads is held against the schema of its revision.
///
/// Ids are chosen by the scenario, from 1000 on. Everything blocks, under a watchdog.
pub(crate) trait Transport {
    /// Sends a request. The progress token is a member of `params._meta`, if the scenario wants progress.
    fn begin(&mut self, id: i64, method: &str, params: Value);

    /// Returns the next message that belongs to a request; `None` when its stream ends without an answer.
    fn next(&mut self, id: i64) -> Option<Value>;

    /// Gives a request up, as clients of this transport do.
    fn cancel(&mut self, id: i64, reason: &str);

    /// What [`cancel`](Self::cancel) tells the handler.
    fn cancelled(&self, reason: &str) -> String;

    /// Goes away, as far as a client can and still read.
    fn leave(&mut self);

    /// What [`leave`](Self::leave) tells the handlers.
    fn left(&self) -> &'static str;

    /// Asserts that nothing has come that was not asked for by [`next`](Self::next). Sound when all is settled.
    fn silence(&mut self);

    /// Sends something that is no request, as it is.
    fn send(&mut self, message: &str);

    /// Tells whether requests of one connection share their ids, and a stream that can be read after [`leave`](Self::leave).
    fn shares_ids(&self) -> bool;

    /// Tells whether a client gives requests up by notification, which the observer of the server is told.
    fn reports_cancels(&self) -> bool;

    /// Asserts that a request is refused which came after the server had begun to close.
    fn expect_refusal(&mut self, id: i64);
}

/// One situation: a client in its era, and the stage of its server.
pub(crate) struct Scene {
    pub(crate) client: Box<dyn Transport>,
    pub(crate) director: Director,
    pub(crate) era: Era,
    /// Where it is in this process.
    pub(crate) server: Option<Server>,
}

impl Scene {
    /// Connects one more client in memory.
    pub(crate) fn another(&self, era: Era) -> Box<dyn Transport> {
        let server = self.server.as_ref().expect("a server in this process");
        Box::new(Lines::new(Client::new(server), era, ()))
    }

    /// Begins to call a tool, with the id as progress token.
    pub(crate) fn call(&mut self, id: i64, tool: &str, arguments: Value) {
        let params =
            json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
        self.client.begin(id, "tools/call", params);
    }

    /// Returns the text of the next message, which has to be a result of a tool.
    #[track_caller]
    pub(crate) fn text(&mut self, id: i64) -> String {
        let answer = self.client.next(id).expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no result of a tool: {answer}"))
            .to_owned()
    }
}

/// Runs a scenario over every transport, in every era.
#[track_caller]
pub(crate) fn everywhere(scenario: impl Fn(&mut Scene)) {
    let at = Location::caller();
    for era in Era::ALL {
        for (name, open) in transports() {
            // Shown when the scenario fails.
            eprintln!("{at}: {name}, {era:?}");
            scenario(&mut open(era));
        }
    }
}

type Open = fn(Era) -> Scene;

fn transports() -> Vec<(&'static str, Open)> {
    vec![
        ("memory", |era| memory(era, |builder| builder)),
        #[cfg(unix)]
        ("child", crate::stdio::child),
        #[cfg(feature = "http")]
        ("http", |era| {
            crate::http::scene(Way::Listener, era, |builder| builder)
        }),
        #[cfg(feature = "tide")]
        ("tide", |era| {
            crate::http::scene(Way::Tide, era, |builder| builder)
        }),
    ]
}

/// Runs a scenario over every transport that serves from this process, with a server of the scenario's own making.
#[track_caller]
pub(crate) fn everywhere_here(build: impl Fn(Builder) -> Builder, scenario: impl Fn(&mut Scene)) {
    for era in Era::ALL {
        scenario(&mut memory(era, &build));
        #[cfg(feature = "http")]
        for way in Way::ALL {
            scenario(&mut crate::http::scene(*way, era, &build));
        }
    }
}

/// A scene in memory, with a server of the scenario's own making.
pub(crate) fn memory(era: Era, configure: impl FnOnce(Builder) -> Builder) -> Scene {
    let (director, stage, commands) = Director::new();
    let builder = Server::builder("stage", "1.0.0").limits(stage::limits());
    let server = stage::server(&stage, configure(builder));
    smol::spawn(stage::direct(server.clone(), stage, commands)).detach();
    Scene {
        client: Box::new(Lines::new(Client::new(&server), era, ())),
        director,
        era,
        server: Some(server),
    }
}

/// Any two streams of lines.
pub(crate) struct Lines<Keep> {
    client: Client,
    era: Era,
    /// Read, and not asked for yet, by the request that they belong to.
    stash: HashMap<Option<i64>, VecDeque<Value>>,
    /// Lives as long as the connection.
    _keep: Keep,
}

impl<Keep> Lines<Keep> {
    pub(crate) fn new(client: Client, era: Era, keep: Keep) -> Self {
        let client = match era {
            Era::Modern => client,
            Era::Legacy(version) => {
                let client = client.capabilities(json!({ "sampling": {} }));
                stage::within("the handshake", client.initialize(version))
            }
        };
        let lines = Self {
            client,
            era,
            stash: HashMap::new(),
            _keep: keep,
        };
        if era != Era::Modern {
            let params = json!({ "level": "debug" });
            let set = lines.client.request("logging/setLevel", params);
            let set = stage::within("the answer of logging/setLevel", set);
            assert_eq!(set, Ok(json!({})));
        }
        lines
    }
}

/// Adds to params what the era wants.
pub(crate) fn with_meta(era: Era, mut params: Value) -> Value {
    if era == Era::Modern {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        meta["io.modelcontextprotocol/logLevel"] = "debug".into();
    }
    params
}

/// The request that a message belongs to.
pub(crate) fn owner(message: &Value) -> Option<i64> {
    let id = match message.get("method").and_then(Value::as_str) {
        None => &message["id"],
        Some("notifications/progress") => &message["params"]["progressToken"],
        Some("notifications/message") => &message["params"]["data"]["call"],
        // What the scenarios ask names the call, for the protocol does not.
        Some("sampling/createMessage") => {
            let content = &message["params"]["messages"][0]["content"];
            return content["text"].as_str().and_then(|text| text.parse().ok());
        }
        Some(_) => return None,
    };
    id.as_i64()
}

impl<Keep> Transport for Lines<Keep> {
    fn begin(&mut self, id: i64, method: &str, params: Value) {
        let params = with_meta(self.era, params);
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&request.to_string());
    }

    fn next(&mut self, id: i64) -> Option<Value> {
        let waiting = self.stash.get_mut(&Some(id));
        if let Some(message) = waiting.and_then(VecDeque::pop_front) {
            return Some(message);
        }
        loop {
            let what = format_args!("a message of request {id}; others: {:?}", self.stash);
            let line = stage::within(what, self.client.line())?;
            schema::check(&line, self.era.session());
            let message: Value = serde_json::from_str(&line).expect("JSON");
            match owner(&message) {
                Some(owner) if owner == id => return Some(message),
                owner => self.stash.entry(owner).or_default().push_back(message),
            }
        }
    }

    fn cancel(&mut self, id: i64, reason: &str) {
        let params = json!({ "requestId": id, "reason": reason });
        let cancel = self.client.notify("notifications/cancelled", params);
        stage::within("the server to read a cancel", cancel);
    }

    fn cancelled(&self, reason: &str) -> String {
        format!("cancelled by the client: {reason}")
    }

    fn leave(&mut self) {
        stage::within("the end of the client's output", self.client.disconnect());
    }

    fn left(&self) -> &'static str {
        "the connection closed"
    }

    fn silence(&mut self) {
        stage::within("the proof of silence", self.client.silence());
        self.stash.retain(|_, messages| !messages.is_empty());
        assert!(self.stash.is_empty(), "unasked for: {:?}", self.stash);
    }

    fn send(&mut self, message: &str) {
        let send = self.client.send(message);
        stage::within(format_args!("the server to read {message}"), send);
    }

    fn shares_ids(&self) -> bool {
        true
    }

    fn reports_cancels(&self) -> bool {
        true
    }

    fn expect_refusal(&mut self, id: i64) {
        let error = json!({ "code": -32603, "message": "The server is closing" });
        let refused = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        assert_eq!(self.next(id), Some(refused));
    }
}
