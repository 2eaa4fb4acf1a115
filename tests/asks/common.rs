//! What the tests of questions share.

use crate::client::{META, modern};
use serde_json::{Value, json};
use smol_mcp::protocol::{CreateMessage, Elicit, Field, FormSchema, SamplingMessage};
use smol_mcp::{Builder, Context, HandlerError, NoInput, Server, Tool};

pub(crate) const ALL: &str = r#"{"elicitation":{},"sampling":{},"roots":{}}"#;

pub(crate) fn builder() -> Builder {
    Server::builder("t", "0")
}

pub(crate) fn serve(tool: Tool) -> Server {
    builder().tool(tool).build().unwrap()
}

pub(crate) fn name_form() -> Elicit {
    let schema = FormSchema::new().required("name", Field::text());
    Elicit::form("What is your name?", schema)
}

pub(crate) fn question() -> CreateMessage {
    CreateMessage::new(100).message(SamplingMessage::user("Name a prime."))
}

pub(crate) async fn greet(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let answer = cx.elicit("user_name", name_form()).await?;
    match answer.is_accepted() {
        true => Ok(format!(
            "Hello, {}!",
            answer.content["name"].as_str().unwrap()
        )),
        false => Ok(format!("Hello, {}.", answer.action)),
    }
}

pub(crate) fn call(id: &str, tool: &str, params: &str, capabilities: &str) -> String {
    modern(
        id,
        "tools/call",
        &format!(r#""name":"{tool}",{params}"#),
        capabilities,
    )
}

/// The parts of an `input_required` result: its requests, and the state.
pub(crate) fn required(answer: &str) -> (Value, Option<String>) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    let state = answer["result"]
        .get("requestState")
        .map(|state| state.as_str().unwrap().to_owned());
    (answer["result"]["inputRequests"].clone(), state)
}

pub(crate) const NAME_REQUEST: &str = r#""user_name":{"method":"elicitation/create","params":{"mode":"form","message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}"#;

pub(crate) fn name_required(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"inputRequests":{{{NAME_REQUEST}}},"resultType":"input_required",{META}}}}}"#
    )
}

pub(crate) fn error(id: &str, code: i64, message: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#,
        json!(message)
    )
}

pub(crate) fn legacy_call(id: &str, tool: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#)
}

pub(crate) fn legacy_text(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

pub(crate) fn legacy_failure(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{}}}],"isError":true}}}}"#,
        json!(text)
    )
}

/// A gate that is opened once.
#[derive(Clone)]
pub(crate) struct Gate(smol::channel::Receiver<()>);

pub(crate) struct Opener(smol::channel::Sender<()>);

pub(crate) fn gate() -> (Opener, Gate) {
    let (sender, receiver) = smol::channel::unbounded();
    (Opener(sender), Gate(receiver))
}

impl Gate {
    pub(crate) async fn wait(&self) {
        let _ = self.0.recv().await;
    }
}

impl Opener {
    pub(crate) fn open(&self) {
        self.0.close();
    }
}
