//! The example as a child process, and a client that speaks to it over stdio and answers what it is asked.

use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Map, Value, json};

use crate::example::{self, PATIENCE, lines};
use crate::schema;

pub(crate) const MODERN: &str = "2026-07-28";

/// A client of one revision. Every message it reads is held against that revision's schema.
pub(crate) struct Client {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    revision: &'static str,
    last_id: u64,
    /// The methods of what was read beside answers, since it was looked at last.
    heard: Vec<String>,
}

impl Client {
    pub(crate) fn connect(revision: &'static str) -> Self {
        let mut child = example::command("everything")
            .arg("--stdio")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut client = Self {
            input: child.stdin.take().unwrap(),
            output: lines(child.stdout.take().unwrap()),
            child,
            revision,
            last_id: 0,
            heard: Vec::new(),
        };
        if revision != MODERN {
            let about = json!({ "name": "test", "version": "1" });
            let params = json!({ "protocolVersion": revision, "clientInfo": about, "capabilities": client.capabilities() });
            let result = client.asks("initialize", params, "InitializeResult");
            assert_eq!(result.unwrap()["protocolVersion"], revision);
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    /// What a client of the revision can be asked at the most.
    fn capabilities(&self) -> Value {
        match self.revision >= "2025-06-18" {
            true => json!({ "sampling": {}, "roots": {}, "elicitation": {} }),
            false => json!({ "sampling": {}, "roots": {} }),
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request, answers what it asks in return, and gives back its result, which is one of this `kind`; or the
    /// code of its error.
    #[track_caller]
    pub(crate) fn asks(
        &mut self,
        method: &str,
        mut params: Value,
        kind: &'static str,
    ) -> Result<Value, i64> {
        loop {
            let mut answer = self.answer(method, &params);
            if let Some(code) = answer["error"]["code"].as_i64() {
                return Err(code);
            }
            let result = answer["result"].take();
            if result["resultType"] != "input_required" {
                schema::conforms(&result, self.revision, kind);
                return Ok(result);
            }
            let requests = result["inputRequests"].as_object().unwrap().iter();
            params["inputResponses"] = requests
                .map(|(key, request)| (key.clone(), reply(request)))
                .collect();
            let params = params.as_object_mut().unwrap();
            params.remove("requestState");
            if let Some(state) = result.get("requestState") {
                params.insert("requestState".into(), state.clone());
            }
        }
    }

    /// Sends a request and reads up to its answer.
    #[track_caller]
    fn answer(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut params = params.clone();
        params["_meta"] = self.meta();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.next();
            match (message["method"].as_str(), message.get("id")) {
                (Some(_), Some(asked)) => {
                    let answer =
                        json!({ "jsonrpc": "2.0", "id": asked, "result": reply(&message) });
                    self.send(&answer);
                }
                (Some(method), None) => self.heard.push(method.to_owned()),
                (None, answered) => {
                    assert_eq!(answered, Some(&json!(id)), "{message}");
                    return message;
                }
            }
        }
    }

    fn meta(&self) -> Value {
        let mut meta = json!({ "progressToken": self.last_id });
        if self.revision == MODERN {
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
            meta["io.modelcontextprotocol/logLevel"] = "debug".into();
        }
        meta
    }

    #[track_caller]
    fn next(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("no message");
        schema::check(&line, Some(self.revision).filter(|name| *name != MODERN));
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the methods of the notifications that preceded the last answers.
    pub(crate) fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }

    /// Reads one message, which is a notification.
    #[track_caller]
    pub(crate) fn hears(&self, method: &str) {
        let message = self.next();
        assert_eq!(message["method"], method, "{message}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a person, a model and a client say to anything.
fn reply(request: &Value) -> Value {
    let params = &request["params"];
    match request["method"].as_str().unwrap() {
        "elicitation/create" => {
            json!({ "action": "accept", "content": filled_in(&params["requestedSchema"]) })
        }
        "sampling/createMessage" => {
            let text = json!({ "type": "text", "text": "Paris" });
            json!({ "role": "assistant", "content": text, "model": "test", "stopReason": "endTurn" })
        }
        "roots/list" => json!({ "roots": [{ "uri": "file:///home/ada", "name": "home" }] }),
        method => panic!("asked by {method}"),
    }
}

/// Fills in a form with its defaults, or with whatever fits.
fn filled_in(form: &Value) -> Map<String, Value> {
    let fields = form["properties"].as_object().unwrap().iter();
    fields
        .map(|(name, field)| {
            let value = match (field.get("default"), field["type"].as_str().unwrap()) {
                (Some(default), _) => default.clone(),
                (None, "string") if field["format"] == "email" => "ada@h.example".into(),
                (None, "string") => first(field).unwrap_or("Ada".into()),
                (None, "boolean") => true.into(),
                (None, "integer" | "number") => 1.into(),
                (None, "array") => json!([first(&field["items"]).unwrap()]),
                (None, kind) => panic!("a field of type {kind}"),
            };
            (name.clone(), value)
        })
        .collect()
}

/// Returns the first of the values to choose from.
fn first(field: &Value) -> Option<Value> {
    let [one, any] = ["oneOf", "anyOf"].map(|keyword| field[keyword][0].get("const"));
    field["enum"].get(0).or(one).or(any).cloned()
}
