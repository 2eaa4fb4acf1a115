use serde_json::Value;

use smol_mcp::{Builder, Server, Tool};

use crate::client::{self, META, modern};

pub(crate) fn builder() -> Builder {
    Server::builder("t", "0")
}

/// A server with these tools.
pub(crate) fn server(tools: impl IntoIterator<Item = Tool>) -> Server {
    let builder = tools.into_iter().fold(builder(), Builder::tool);
    builder.build().expect("a server")
}

pub(crate) fn call(id: u32, tool: &str, arguments: &str) -> String {
    let params = format!(r#""name":"{tool}","arguments":{arguments},"#);
    modern(&id.to_string(), "tools/call", &params, "{}")
}

pub(crate) fn cancel(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

/// A modern result; `members` are its own, up to those that every result has.
pub(crate) fn result(id: u32, members: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members},"resultType":"complete",{META}}}}}"#
    )
}

/// The result of a tool that returns text.
pub(crate) fn text(id: u32, text: &str) -> String {
    client::text(&id.to_string(), text)
}

/// The result of a call that failed.
pub(crate) fn failure(id: u32, text: &str) -> String {
    let text = Value::from(text);
    result(
        id,
        &format!(r#""content":[{{"type":"text","text":{text}}}],"isError":true"#),
    )
}

/// Calls the tool `t` with each of the arguments, and compares what comes back as text, `Err` where the call failed.
#[track_caller]
pub(crate) fn each(tool: Tool, cases: &[(&str, Result<&str, &str>)]) {
    client::with(&server([tool]), async |client| {
        for (id, (arguments, expected)) in (1..).zip(cases) {
            let answer = client.ask(&call(id, "t", arguments)).await;
            let expected = match expected {
                Ok(said) => text(id, said),
                Err(said) => failure(id, said),
            };
            assert_eq!(answer, expected, "{arguments}");
        }
    });
}

/// What the server tells clients of its only tool.
#[cfg(feature = "schemars")]
pub(crate) fn listed(server: &Server) -> smol_mcp::protocol::ToolInfo {
    let mut listed = None;
    client::with(server, async |client| {
        let answer = client.ask(&modern("1", "tools/list", "", "{}")).await;
        let mut answer: Value = serde_json::from_str(&answer).expect("JSON");
        let tool = answer["result"]["tools"][0].take();
        listed = Some(serde_json::from_value(tool).expect("a tool"));
    });
    listed.expect("a tool")
}
