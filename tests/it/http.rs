//! HTTP, through our listener and in a tide app: each request is a POST on a connection of its own.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::{Value, json};
use smol::Task;
use smol_mcp::http::{self, Endpoint, Listener};
use smol_mcp::protocol::Version;
use smol_mcp::{Builder, Server};

use crate::schema;
use crate::stage::{self, Director, PATIENCE};
use crate::transport::{Era, Scene, Transport, with_meta};

/// How an endpoint is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Listener,
    #[cfg(feature = "tide")]
    Tide,
}

impl Way {
    pub(crate) const ALL: &[Way] = &[
        Way::Listener,
        #[cfg(feature = "tide")]
        Way::Tide,
    ];
}

/// A stage that is served over HTTP.
pub(crate) struct Site {
    pub(crate) director: Director,
    pub(crate) endpoint: Endpoint,
    server: Server,
    address: SocketAddr,
    /// Ends with the last of its clients.
    serving: std::sync::Arc<Task<io::Result<()>>>,
}

impl Site {
    pub(crate) fn new(way: Way, configure: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        Self::with(way, |builder| builder, configure)
    }

    pub(crate) fn with(
        way: Way,
        build: impl FnOnce(Builder) -> Builder,
        configure: impl FnOnce(Endpoint) -> Endpoint,
    ) -> Self {
        let (director, stage, commands) = Director::new();
        let builder = Server::builder("stage", "1.0.0").limits(stage::limits());
        let server = stage::server(&stage, build(builder));
        smol::spawn(stage::direct(server.clone(), stage, commands)).detach();
        let endpoint = configure(Endpoint::new(&server));
        let listener = smol::block_on(Listener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = match way {
            Way::Listener => smol::spawn(http::serve_on(listener, endpoint.clone())),
            #[cfg(feature = "tide")]
            Way::Tide => {
                let mut app = tide::new();
                app.at("/mcp")
                    .all(smol_mcp::tide::Endpoint::from(endpoint.clone()));
                let listener = smol_mcp::tide::listener(listener).closes_with(&server);
                smol::spawn(app.listen(listener))
            }
        };
        Self {
            director,
            endpoint,
            server,
            address,
            serving: std::sync::Arc::new(serving),
        }
    }

    /// Connects one more client: in a session if it is a legacy one.
    pub(crate) fn client(&self, era: Era) -> Http {
        let mut client = self.stranger(era);
        if let Era::Legacy(version) = era {
            client.open(version);
        }
        client
    }

    /// Connects a client that opens no session.
    pub(crate) fn stranger(&self, era: Era) -> Http {
        Http {
            address: self.address,
            era,
            session: None,
            exchanges: HashMap::new(),
            given_up: Vec::new(),
            _serving: self.serving.clone(),
        }
    }
}

/// The scene of the scenarios that run over every transport.
pub(crate) fn scene(way: Way, era: Era, build: impl FnOnce(Builder) -> Builder) -> Scene {
    let site = Site::with(way, build, |endpoint| endpoint);
    Scene {
        client: Box::new(site.client(era)),
        director: site.director,
        era,
        server: Some(site.server),
    }
}

/// One client.
pub(crate) struct Http {
    address: SocketAddr,
    era: Era,
    session: Option<String>,
    /// By the ids of their requests.
    exchanges: HashMap<i64, Exchange>,
    /// What the client has cancelled and reads on, to see that nothing comes.
    given_up: Vec<Exchange>,
    _serving: std::sync::Arc<Task<io::Result<()>>>,
}

impl Http {
    fn open(&mut self, version: Version) {
        let params = json!({
            "protocolVersion": version.as_str(),
            "capabilities": { "sampling": {} },
            "clientInfo": { "name": "test", "version": "1" },
        });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let mut opened = self.post(&request.to_string(), &[]);
        let answer = opened.message().expect("an answer");
        assert_eq!(answer["result"]["protocolVersion"], version.as_str());
        self.session = opened.header("mcp-session-id").map(str::to_owned);
        assert!(self.session.is_some());
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.begin(2, "logging/setLevel", json!({ "level": "debug" }));
        assert_eq!(self.next(2).expect("an answer")["result"], json!({}));
    }

    fn post(&self, body: &str, headers: &[(&str, &str)]) -> Exchange {
        let session = self.session.as_deref();
        let mut head = "POST /mcp HTTP/1.1\r\n".to_owned();
        for (name, value) in headers_of(self.era, session, body) {
            let other = headers.iter().find(|(other, _)| *other == name);
            let value = other.map_or(&*value, |(_, value)| value);
            head += &format!("{name}: {value}\r\n");
        }
        let length = body.len();
        let request = format!("{head}content-length: {length}\r\n\r\n{body}");
        Exchange::begin(self.address, &request)
    }

    /// Sends a request, with other headers in the place of the usual ones.
    pub(crate) fn request(
        &self,
        id: i64,
        method: &str,
        params: Value,
        headers: &[(&str, &str)],
    ) -> Exchange {
        self.post(&request(self.era, id, method, params), headers)
    }

    /// Ends the session, or tries to. Returns the status.
    pub(crate) fn delete(&self) -> Option<u16> {
        let session = self.session.as_deref().unwrap_or_default();
        let head = "DELETE /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 0\r\n";
        let request = format!("{head}mcp-session-id: {session}\r\n\r\n");
        Exchange::begin(self.address, &request).status()
    }

    /// Begins to call the tool that plays a role.
    pub(crate) fn play(&mut self, id: i64, role: Value) {
        let params = json!({ "name": "play", "arguments": role, "_meta": { "progressToken": id } });
        self.begin(id, "tools/call", params);
    }

    pub(crate) fn exchange(&mut self, id: i64) -> &mut Exchange {
        self.exchanges.get_mut(&id).expect("a request")
    }

    /// Hangs up, and waits until the server has done so too.
    pub(crate) fn hang_up(&mut self, id: i64) {
        let mut exchange = self.exchanges.remove(&id).expect("a request");
        exchange.half_close();
        assert_eq!(exchange.message(), None);
    }

    #[track_caller]
    pub(crate) fn text(&mut self, id: i64) -> String {
        let answer = self.next(id).expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no result of a tool: {answer}"))
            .to_owned()
    }

    fn notifies(&self) -> bool {
        self.session.is_some()
    }
}

impl Transport for Http {
    fn begin(&mut self, id: i64, method: &str, params: Value) {
        let exchange = self.request(id, method, params, &[]);
        self.exchanges.insert(id, exchange);
    }

    fn next(&mut self, id: i64) -> Option<Value> {
        self.exchange(id).message()
    }

    fn cancel(&mut self, id: i64, reason: &str) {
        let begun = self.exchanges.remove(&id);
        if self.notifies() {
            let cancelled = json!({
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": { "requestId": id, "reason": reason },
            });
            self.given_up.extend(begun);
            self.send(&cancelled.to_string());
        } else if let Some(mut exchange) = begun {
            // Both ways to close: for good, and for writing alone, which shows what is sent on.
            if id % 2 == 0 {
                exchange.half_close();
                self.given_up.push(exchange);
            }
        }
    }

    fn cancelled(&self, reason: &str) -> String {
        match self.notifies() {
            true => format!("cancelled by the client: {reason}"),
            false => self.left().to_owned(),
        }
    }

    fn leave(&mut self) {
        self.exchanges.clear();
    }

    fn left(&self) -> &'static str {
        "the client disconnected"
    }

    fn silence(&mut self) {
        for mut exchange in self.given_up.drain(..) {
            assert_eq!(exchange.message(), None, "of a cancelled request");
        }
        self.exchanges.retain(|id, exchange| {
            if exchange.answered {
                assert_eq!(exchange.message(), None, "after the answer to {id}");
            } else {
                exchange.expect_nothing_yet();
            }
            !exchange.answered
        });
    }

    fn send(&mut self, message: &str) {
        let mut exchange = self.post(message, &[]);
        let value: Value = serde_json::from_str(message).expect("JSON");
        // Members that come twice are one in `value`.
        let is_whole = value.to_string().len() == message.len();
        let is_notification = is_whole && value.get("params").is_none_or(Value::is_object);
        if is_notification {
            assert_eq!(exchange.status(), Some(202), "{message}");
            assert_eq!(exchange.message(), None);
        } else {
            // What is not even that is refused by name, but not as an answer to any request.
            assert_eq!(exchange.status(), Some(400), "{message}");
            assert_eq!(exchange.message().expect("an error").get("id"), None);
        }
    }

    fn shares_ids(&self) -> bool {
        false
    }

    fn reports_cancels(&self) -> bool {
        self.notifies()
    }

    fn expect_refusal(&mut self, id: i64) {
        let status = self.exchange(id).status();
        // It may not even be let in.
        assert!(matches!(status, None | Some(503)), "{status:?}");
    }
}

pub(crate) fn request(era: Era, id: i64, method: &str, params: Value) -> String {
    let params = with_meta(era, params);
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// What clients send along with a message.
pub(crate) fn headers_of(
    era: Era,
    session: Option<&str>,
    body: &str,
) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("host", "127.0.0.1".to_owned()),
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
    ];
    headers.extend(session.map(|session| ("mcp-session-id", session.to_owned())));
    let Era::Legacy(version) = era else {
        let body: Value = serde_json::from_str(body).expect("JSON");
        let params = &body["params"];
        headers.push(("mcp-protocol-version", "2026-07-28".to_owned()));
        let method = body["method"].as_str().expect("a method");
        headers.push(("mcp-method", method.to_owned()));
        let name = params["name"].as_str().or(params["uri"].as_str());
        headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        return headers;
    };
    headers.push(("mcp-protocol-version", version.to_string()));
    headers
}

/// A request, and its response as far as it is read.
pub(crate) struct Exchange {
    /// `None` when it has ended.
    stream: Option<TcpStream>,
    /// Not decoded yet.
    raw: Vec<u8>,
    head: Option<Head>,
    body: Vec<u8>,
    messages: VecDeque<Value>,
    answered: bool,
    /// The request, for whoever waits for its response in vain.
    request: String,
    /// The revision that a legacy request names.
    session: Option<String>,
}

struct Head {
    status: u16,
    headers: HashMap<String, String>,
    framing: Framing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Left(usize),
    Chunked,
}

impl Exchange {
    fn begin(address: SocketAddr, request: &str) -> Self {
        let connect = || {
            let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            stream.write_all(request.as_bytes())?;
            io::Result::Ok(stream)
        };
        Self {
            // A server that is gone lets nobody in.
            stream: connect().ok(),
            raw: Vec::new(),
            head: None,
            body: Vec::new(),
            messages: VecDeque::new(),
            answered: false,
            request: request.to_owned(),
            session: request
                .lines()
                .find_map(|line| line.strip_prefix("mcp-protocol-version: "))
                .filter(|revision| *revision != "2026-07-28")
                .map(str::to_owned),
        }
    }

    /// The status of the response; `None` if there is none.
    pub(crate) fn status(&mut self) -> Option<u16> {
        while self.head.is_none() && self.stream.is_some() {
            self.read();
        }
        self.head.as_ref().map(|head| head.status)
    }

    pub(crate) fn header(&mut self, name: &str) -> Option<&str> {
        self.status()?;
        self.head.as_ref()?.headers.get(name).map(|value| &**value)
    }

    /// The next message; `None` when the response has ended.
    pub(crate) fn message(&mut self) -> Option<Value> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                self.answered |= message.get("method").is_none();
                // An error without an id is in the text of all revisions (basic/transports), in the schema not of all.
                let session = self.session.as_deref();
                let session =
                    session.filter(|_| message.get("id").or(message.get("method")).is_some());
                schema::check(&message.to_string(), session);
                return Some(message);
            }
            self.stream.as_ref()?;
            self.read();
        }
    }

    pub(crate) fn half_close(&mut self) {
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// Asserts that there is nothing to read, by now.
    pub(crate) fn expect_nothing_yet(&mut self) {
        if let Some(stream) = &self.stream {
            stream.set_nonblocking(true).expect("a socket");
            self.read_once(false);
        }
        if let Some(stream) = &self.stream {
            stream.set_nonblocking(false).expect("a socket");
        }
        assert!(self.messages.is_empty(), "{:?}", self.messages);
    }

    fn read(&mut self) {
        self.read_once(true);
    }

    /// Reads once, and takes apart what there is.
    fn read_once(&mut self, wait: bool) {
        let mut buffer = [0; 4096];
        let stream = self.stream.as_mut().expect("a response that goes on");
        match stream.read(&mut buffer) {
            Ok(0) => self.stream = None,
            Ok(count) => self.raw.extend_from_slice(&buffer[..count]),
            Err(err) if err.kind() == io::ErrorKind::ConnectionReset => self.stream = None,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) if err.kind() == io::ErrorKind::WouldBlock && !wait => {}
            Err(err) => {
                let (raw, request) = (self.raw.escape_ascii(), &self.request);
                panic!("waited in vain for more than {raw:?} of the response to\n{request}\n{err}")
            }
        }
        self.take_head();
        self.take_body();
        self.take_messages();
    }

    fn take_head(&mut self) {
        let end = self.raw.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let Some(end) = end.filter(|_| self.head.is_none()) else {
            return;
        };
        let text = String::from_utf8(self.raw.drain(..end + 4).collect()).expect("text");
        let mut lines = text.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers: HashMap<_, _> = lines
            .map(|line| line.split_once(": ").expect("a header"))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let framing = match headers.contains_key("transfer-encoding") {
            true => Framing::Chunked,
            false => {
                let length = headers.get("content-length");
                Framing::Left(length.map_or(0, |length| length.parse().expect("a length")))
            }
        };
        self.head = Some(Head {
            status: status
                .and_then(|status| status.parse().ok())
                .expect("a status"),
            headers,
            framing,
        });
    }

    fn take_body(&mut self) {
        let Some(head) = &mut self.head else {
            return;
        };
        let over = match &mut head.framing {
            Framing::Left(left) => {
                let count = self.raw.len().min(*left);
                self.body.extend(self.raw.drain(..count));
                *left -= count;
                *left == 0
            }
            Framing::Chunked => loop {
                let Some(line) = self.raw.windows(2).position(|bytes| bytes == b"\r\n") else {
                    break false;
                };
                let size = std::str::from_utf8(&self.raw[..line]).expect("a size");
                let size = usize::from_str_radix(size, 16).expect("a size");
                let end = line + 2 + size + 2;
                if self.raw.len() < end {
                    break false;
                }
                self.body.extend_from_slice(&self.raw[line + 2..end - 2]);
                self.raw.drain(..end);
                if size == 0 {
                    break true;
                }
            },
        };
        if over {
            assert!(self.raw.is_empty(), "more than one response");
            self.stream = None;
        }
    }

    fn take_messages(&mut self) {
        let kind = self
            .head
            .as_ref()
            .and_then(|head| head.headers.get("content-type"));
        match kind.map(String::as_str) {
            Some("text/event-stream") => {
                while let Some(end) = self.body.windows(2).position(|bytes| bytes == b"\n\n") {
                    let event: Vec<_> = self.body.drain(..end + 2).collect();
                    let event = String::from_utf8(event).expect("UTF-8");
                    for line in event.lines() {
                        // Others are comments, ids and the like.
                        let data = line.strip_prefix("data:").map(str::trim);
                        if let Some(data) = data.filter(|data| !data.is_empty()) {
                            let message = serde_json::from_str(data).expect("JSON");
                            self.messages.push_back(message);
                        }
                    }
                }
            }
            Some("application/json") if self.stream.is_none() && !self.body.is_empty() => {
                let message = serde_json::from_slice(&self.body).expect("JSON");
                self.body.clear();
                self.messages.push_back(message);
            }
            _ => {}
        }
    }
}
