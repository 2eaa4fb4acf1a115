//! Log messages: for those who asked, of a server that says that it sends them, before the answer.

use serde_json::json;
use smol_mcp::protocol::{LogLevel, Version};
use smol_mcp::{Builder, Context, NoInput, Tool};

use crate::talk::{self, META, Talk};

fn logging(builder: Builder) -> Builder {
    builder.tool(Tool::new("go", |_: NoInput, cx: Context| async move {
        cx.log(LogLevel::Debug, "d");
        cx.log(LogLevel::Warning, json!({ "w": 1 }));
        cx.log(LogLevel::Emergency, json!(null));
    }))
}

fn message(level: &str, data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":{data}}}}}"#
    )
}

const DONE: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],$SEAL}}"#;

fn go(level: Option<&str>) -> String {
    let level = level.map(|level| format!(r#""io.modelcontextprotocol/logLevel":"{level}","#));
    let meta = META.replace(":{\"", &format!(":{{{}\"", level.unwrap_or_default()));
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"go",{meta}}}}}"#)
}

// R223, R224, R13: by each request's own level, whatever an earlier one said.
#[test]
fn a_modern_request_gets_what_its_own_level_asks_for() {
    let talk = Talk::with(&logging(talk::builder()).logging().build().unwrap());
    let (debug, warning, emergency) = (
        message("debug", r#""d""#),
        message("warning", r#"{"w":1}"#),
        message("emergency", "null"),
    );
    talk.says(go(Some("debug")), &[&debug, &warning, &emergency, DONE]);
    talk.says(go(None), &[DONE]);
    talk.says(go(Some("warning")), &[&warning, &emergency, DONE]);
    talk.says(go(Some("emergency")), &[&emergency, DONE]);
}

// R222: a server that does not declare the capability sends none.
#[test]
fn a_server_that_does_not_declare_logging_sends_no_messages() {
    let talk = Talk::with(&logging(talk::builder()).build().unwrap());
    talk.says(go(Some("debug")), &[DONE]);
    let discovered =
        talk.asks(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{$META}}"#);
    assert_eq!(discovered["result"]["capabilities"], json!({ "tools": {} }));
    let declares = Talk::with(&logging(talk::builder()).logging().build().unwrap());
    let discovered =
        declares.asks(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{$META}}"#);
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({ "logging": {}, "tools": {} })
    );
}

// R227, R228
#[test]
fn a_legacy_session_gets_what_it_set_its_level_to() {
    for version in [
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ] {
        let server = logging(talk::builder()).logging().build().unwrap();
        let talk = Talk(smol::block_on(smol_mcp::testing::Client::legacy(
            &server, version,
        )));
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"go"}}"#;
        let done = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#;
        let emergency = message("emergency", "null");
        talk.says(call, &[done]);
        let set = |level: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{{"level":{level}}}}}"#
            )
        };
        talk.says(
            set(r#""alert""#),
            &[r#"{"jsonrpc":"2.0","id":8,"result":{}}"#],
        );
        talk.says(call, &[&emergency, done]);
        for level in [r#""loud""#, "3", "null"] {
            let answer = talk.asks(set(level));
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
        talk.says(call, &[&emergency, done]);
        // A modern request on the same connection has nothing of it.
        talk.says(go(None), &[DONE]);
    }
}
