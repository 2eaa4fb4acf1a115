//! An example as a child process, and a client that speaks to it line by line.

use std::io::{Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::example::{self, PATIENCE, lines};
use crate::schema;

/// A running example. Killed when it is dropped.
pub(crate) struct Example {
    child: Child,
    errors: Receiver<String>,
}

impl Example {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        let mut child = example::command(name)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let errors = lines(child.stderr.take().unwrap());
        Self { child, errors }
    }

    /// Begins to speak to it over its standard input and output.
    pub(crate) fn client(&mut self) -> Client {
        let input = self.child.stdin.take().unwrap();
        Client::over(self.child.stdout.take().unwrap(), input)
    }

    /// Returns where it listens, as it says on standard error.
    pub(crate) fn address(&self) -> String {
        let line = self.errors.recv_timeout(PATIENCE).expect("no address");
        line.strip_prefix("listening on ")
            .expect("an address")
            .to_owned()
    }

    /// Returns the next line on standard error.
    pub(crate) fn error_line(&self) -> String {
        self.errors.recv_timeout(PATIENCE).expect("no line")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    /// Waits for the end, which comes by itself.
    pub(crate) fn end(mut self) -> ExitStatus {
        let errors: Vec<String> = self.errors.iter().collect();
        assert!(errors.is_empty(), "{errors:?}");
        self.child.wait().unwrap()
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One message a line, in both directions.
pub(crate) struct Client {
    input: Box<dyn Write>,
    output: Receiver<String>,
    last_id: u64,
}

impl Client {
    pub(crate) fn over(output: impl Read + Send + 'static, input: impl Write + 'static) -> Self {
        Self {
            input: Box::new(input),
            output: lines(output),
            last_id: 0,
        }
    }

    /// Begins a request and returns its id, which is its progress token as well.
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&request(self.last_id, method, params));
        self.last_id
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        self.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
        }));
    }

    /// Returns the next message, which is one whatever else happens.
    pub(crate) fn next(&self) -> Value {
        let line = self.output.recv_timeout(PATIENCE).expect("no message");
        schema::check(&line, None);
        serde_json::from_str(&line).expect("not a message")
    }

    /// Returns the result of a request, after what precedes it.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        loop {
            let mut message = self.next();
            if message.get("method").is_none() {
                assert_eq!(message["id"], id, "{message}");
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].take();
            }
        }
    }

    /// Calls a tool that returns text.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        text(&self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        ))
    }

    /// Returns the message of the next progress, which is to be of this request.
    pub(crate) fn progress(&self, id: u64) -> String {
        let message = self.next();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], id, "{message}");
        message["params"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Waits until the other side has closed, having said nothing more.
    pub(crate) fn expect_end(&self) {
        let end = self.output.recv_timeout(PATIENCE);
        assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected));
    }
}

/// The text of a result of a tool, which is to be no failure.
pub(crate) fn text(result: &Value) -> String {
    assert!(result.get("isError").is_none(), "{result}");
    result["content"][0]["text"]
        .as_str()
        .expect("text")
        .to_owned()
}

pub(crate) fn request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": id,
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}
