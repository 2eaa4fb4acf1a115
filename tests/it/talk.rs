//! Literal lines in, literal lines out.

use serde_json::Value;
use smol_mcp::protocol::Version;
use smol_mcp::testing::Client;
use smol_mcp::{Builder, Server, Tool};

use crate::schema;
use crate::stage::within;

/// What a modern request needs, inside of `params`.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// What a modern result of the test server ends with.
pub(crate) const SEAL: &str = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"1"}}"#;

/// A client whose lines are compared as they are.
pub(crate) struct Talk(pub(crate) Client);

impl Talk {
    /// Talks to a server with one tool, `echo`, that gives back its arguments.
    pub(crate) fn modern() -> Self {
        Self(Client::new(&server()))
    }

    pub(crate) fn legacy(version: Version) -> Self {
        Self(within("the handshake", Client::legacy(&server(), version)))
    }

    pub(crate) fn with(server: &Server) -> Self {
        Self(Client::new(server))
    }

    /// Sends a line, and compares all that comes of it. `$META` and `$SEAL` stand for the constants.
    #[track_caller]
    pub(crate) fn says(&self, line: impl AsRef<[u8]>, expected: &[&str]) {
        within("the server to read", self.0.send(expand(line.as_ref())));
        self.hears(expected);
    }

    /// Compares all that comes.
    #[track_caller]
    pub(crate) fn hears(&self, expected: &[&str]) {
        for expected in expected {
            let expected = String::from_utf8(expand(expected.as_bytes())).expect("text");
            let line = within(format_args!("the line {expected}"), self.0.line());
            assert_eq!(line.as_deref(), Some(&*expected));
            schema::check(&expected, None);
        }
        within("the proof of silence", self.0.silence());
    }

    /// Sends a request, and returns its answer.
    #[track_caller]
    pub(crate) fn asks(&self, line: impl AsRef<[u8]>) -> Value {
        within("the server to read", self.0.send(expand(line.as_ref())));
        let line = within("an answer", self.0.line()).expect("an answer");
        schema::check(&line, None);
        serde_json::from_str(&line).expect("JSON")
    }
}

pub(crate) fn builder() -> Builder {
    Server::builder("t", "1").tool(Tool::new("echo", |input: Value| async move {
        input.to_string()
    }))
}

pub(crate) fn server() -> Server {
    builder().build().expect("a server")
}

fn expand(line: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(line) {
        Ok(text) => text.replace("$META", META).replace("$SEAL", SEAL).into(),
        Err(_) => line.into(),
    }
}
