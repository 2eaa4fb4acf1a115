//! A client at the other end of a pair of sockets, which sends and reads whole lines.
#![allow(dead_code)] // Each test binary uses its part.

#[path = "schema.rs"]
mod schema;

use std::time::Duration;

use smol::future::or;
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::UnixStream;
use smol_mcp::{Server, lines};

pub struct Client {
    input: BufReader<UnixStream>,
    output: UnixStream,
    /// The revision of its legacy session, if it has one.
    session: Option<String>,
}

/// Runs a test against a server that is served until the test has ended.
pub fn with(server: &Server, test: impl AsyncFnOnce(&mut Client)) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let mut client = Client {
        input: BufReader::new(ours.clone()),
        output: ours,
        session: None,
    };
    let serving = async {
        lines::serve(server, theirs.clone(), theirs)
            .await
            .expect("served");
        // What was written last is there to be read.
        smol::future::pending::<()>().await;
    };
    let watchdog = async {
        smol::Timer::after(Duration::from_secs(60)).await;
        panic!("the test hangs");
    };
    smol::block_on(or(test(&mut client), or(serving, watchdog)));
}

impl Client {
    pub async fn send(&mut self, line: &str) {
        assert!(!line.contains('\n'), "one message is one line");
        let line = format!("{line}\n");
        self.output.write_all(line.as_bytes()).await.expect("sent");
    }

    /// Ends the input of the server, and can read on.
    pub fn leave(&mut self) {
        let ended = self.output.shutdown(std::net::Shutdown::Write);
        ended.expect("the end of the output");
    }

    /// Reads the next line, which has to be a message by the schema; the empty one is the end.
    pub async fn next(&mut self) -> String {
        let mut line = String::new();
        self.input.read_line(&mut line).await.expect("read");
        let line = line.trim_end_matches('\n').to_owned();
        if !line.is_empty() {
            schema::check(&line, self.session.as_deref());
        }
        line
    }

    pub async fn expect(&mut self, line: &str) {
        assert_eq!(self.next().await, line);
    }

    /// Sends a request, and reads the next line.
    pub async fn ask(&mut self, line: &str) -> String {
        self.send(line).await;
        self.next().await
    }

    /// Tells that the server has said all it had to say, by a request that it answers at once.
    pub async fn expect_nothing(&mut self) {
        let answer = self
            .ask(r#"{"jsonrpc":"2.0","id":"nothing","method":"ping"}"#)
            .await;
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"nothing","result":{}}"#);
    }

    /// Opens a legacy session.
    pub async fn initialize(&mut self, version: &str, capabilities: &str) -> String {
        self.session = Some(version.to_owned());
        let answer = self
            .ask(&format!(
                r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"0"}}}}}}"#
            ))
            .await;
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        answer
    }
}

/// A modern request; `params` are its own members, each followed by a comma.
pub fn modern(id: &str, method: &str, params: &str, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}}}}}}}"#
    )
}

/// What every modern result of a server named `t` ends with.
pub const META: &str =
    r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"t","version":"0"}}"#;

/// The modern result of a tool that returns text.
pub fn text(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],"resultType":"complete",{META}}}}}"#
    )
}
