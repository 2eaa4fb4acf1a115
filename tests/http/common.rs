//! One endpoint, three ways to reach it.

use std::io;
use std::net::TcpStream;
use std::pin::Pin;
use std::time::Duration;

use async_channel::{Receiver, Sender};
use serde_json::{Value, json};
use smol::future::FutureExt;
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::stream::StreamExt;
use smol::{Async, Task, Timer};
use smol_mcp::http::{self, Body, Closer, Endpoint, Listener};
use smol_mcp::signal::{Controller, Reason};
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool};

use crate::schema;

/// How long anything may take before a test fails.
const LONG: Duration = Duration::from_secs(60);

/// Fails the test if the future is not ready in time.
pub(crate) async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    let late = async {
        Timer::after(LONG).await;
        panic!("{what}: not in time");
    };
    future.or(late).await
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Req {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) const VERSION: &str = "2026-07-28";

/// What every modern request carries.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The stamp on modern results.
pub(crate) const STAMP: &str = r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"stage","version":"1"}}"#;

impl Req {
    pub(crate) fn new(method: &str) -> Self {
        Self {
            method: method.into(),
            path: "/mcp".into(),
            headers: vec![("host".into(), b"127.0.0.1".to_vec())],
            body: Vec::new(),
        }
    }

    /// A POST as clients send it.
    pub(crate) fn post(body: impl Into<Vec<u8>>) -> Self {
        let mut req = Self::new("POST")
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream");
        req.body = body.into();
        req
    }

    /// A POST with the headers of 2026-07-28, taken from its body.
    pub(crate) fn modern(body: &str) -> Self {
        let value: Value = serde_json::from_str(body).unwrap();
        let method = value["method"].as_str().unwrap();
        let req = Self::post(body)
            .with("mcp-protocol-version", VERSION)
            .with("mcp-method", method);
        match value["params"]["name"]
            .as_str()
            .or(value["params"]["uri"].as_str())
        {
            Some(name) => req.with("mcp-name", name),
            None => req,
        }
    }

    /// A modern call of a tool.
    pub(crate) fn call(id: &str, tool: &str, more: &str) -> Self {
        Self::modern(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}"{more},{META}}}}}"#
        ))
    }

    /// A modern call of the tool that the test plays, which wants progress.
    pub(crate) fn play(id: &str) -> Self {
        let meta = META.replace("\"_meta\":{", "\"_meta\":{\"progressToken\":\"t\",");
        Self::modern(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"play",{meta}}}}}"#
        ))
    }

    /// A legacy message in a session.
    pub(crate) fn legacy(session: &str, body: &str) -> Self {
        Self::post(body).with("mcp-session-id", session)
    }

    /// A legacy call of the tool that the test plays, which wants progress.
    pub(crate) fn legacy_play(session: &str, id: &str) -> Self {
        Self::legacy(
            session,
            &format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"play","_meta":{{"progressToken":"t"}}}}}}"#
            ),
        )
    }

    /// Sets a header, in the place of any of that name.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.and(name, value)
    }

    /// Adds a header beside others of that name.
    pub(crate) fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.path).into_bytes();
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(format!("content-length: {}\r\n\r\n", self.body.len()).as_bytes());
        out.extend_from_slice(&self.body);
        out
    }

    pub(crate) fn request(&self) -> ::http::Request<Vec<u8>> {
        let mut request = ::http::Request::builder()
            .method(&*self.method)
            .uri(&*self.path);
        for (name, value) in &self.headers {
            // As a reader of HTTP takes the blanks away.
            request = request.header(&**name, value.trim_ascii());
        }
        request.body(self.body.clone()).unwrap()
    }
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| &**value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// How an endpoint is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Direct,
    Listener,
    Tide,
}

pub(crate) const WAYS: [Way; 3] = [Way::Direct, Way::Listener, Way::Tide];

/// An endpoint that is being served.
pub(crate) trait Serving {
    fn way(&self) -> Way;

    /// Who ends the listener, where there is one.
    fn closer(&self) -> Option<Closer>;

    /// Sends a request.
    fn send(&self, request: &Req) -> Pin<Box<dyn Future<Output = Exchange> + '_>>;
}

/// `Endpoint::handle`, without a socket.
struct Direct(Endpoint);

/// A socket, and who serves it.
struct Socket {
    way: Way,
    address: std::net::SocketAddr,
    closer: Closer,
    _server: Task<io::Result<()>>,
}

impl Serving for Direct {
    fn way(&self) -> Way {
        Way::Direct
    }

    fn closer(&self) -> Option<Closer> {
        None
    }

    fn send(&self, request: &Req) -> Pin<Box<dyn Future<Output = Exchange> + '_>> {
        let (endpoint, request) = (self.0.clone(), request.request());
        let controller = Controller::new();
        let signal = controller.signal();
        let task = smol::spawn(async move { endpoint.handle(request, signal).await });
        Box::pin(async move { Exchange::Direct(Some(task), None, controller) })
    }
}

impl Serving for Socket {
    fn way(&self) -> Way {
        self.way
    }

    fn closer(&self) -> Option<Closer> {
        Some(self.closer.clone())
    }

    fn send(&self, request: &Req) -> Pin<Box<dyn Future<Output = Exchange> + '_>> {
        let bytes = request.bytes();
        Box::pin(async move {
            let mut stream = Async::<TcpStream>::connect(self.address).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            Exchange::Socket(Reader {
                stream,
                read: Vec::new(),
                body: Framing::Unknown,
            })
        })
    }
}

pub(crate) async fn serve(way: Way, endpoint: Endpoint) -> Box<dyn Serving> {
    if way == Way::Direct {
        return Box::new(Direct(endpoint));
    }
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let (address, closer) = (listener.local_addr().unwrap(), listener.closer());
    let server = match way {
        Way::Tide => {
            let mut app = tide::new();
            let endpoint = smol_mcp::tide::Endpoint::from(endpoint);
            let metadata = "/.well-known/oauth-protected-resource";
            for path in ["/mcp", metadata, &format!("{metadata}/mcp")] {
                app.at(path).all(endpoint.clone());
            }
            smol::spawn(app.listen(smol_mcp::tide::listener(listener)))
        }
        _ => smol::spawn(http::serve_on(listener, endpoint)),
    };
    Box::new(Socket {
        way,
        address,
        closer,
        _server: server,
    })
}

/// A request that was sent, and its response as far as it is there. Every message in it is held against the schema.
pub(crate) enum Exchange {
    Direct(
        Option<Task<::http::Response<Body>>>,
        Option<Body>,
        Controller,
    ),
    Socket(Reader),
}

/// The client's side of a connection.
pub(crate) struct Reader {
    stream: Async<TcpStream>,
    read: Vec<u8>,
    body: Framing,
}

#[derive(Clone, Copy, Debug)]
enum Framing {
    Unknown,
    Left(usize),
    Chunked,
    Over,
}

pub(crate) type Head = (u16, Vec<(String, String)>);

impl Exchange {
    /// Waits for the head of the response.
    pub(crate) async fn head(&mut self) -> Head {
        bounded("the head of a response", async {
            match self {
                Exchange::Direct(task, body, _) => {
                    let response = task.take().unwrap().await;
                    let (parts, rest) = response.into_parts();
                    *body = Some(rest);
                    let text = |value: &::http::HeaderValue| value.to_str().unwrap().to_owned();
                    let headers = parts.headers.iter();
                    let headers = headers.map(|(name, value)| (name.to_string(), text(value)));
                    (parts.status.as_u16(), headers.collect())
                }
                Exchange::Socket(reader) => reader.head().await,
            }
        })
        .await
    }

    /// Waits for the next piece of the body.
    pub(crate) async fn piece(&mut self) -> Option<String> {
        let piece = bounded("a piece of a body", async {
            match self {
                Exchange::Direct(_, body, _) => {
                    body.as_mut().unwrap().next().await.map(Result::unwrap)
                }
                Exchange::Socket(reader) => reader.piece().await,
            }
        });
        let piece = piece.await.map(|piece| String::from_utf8(piece).unwrap());
        // Events leave as wholes, and so does what is short.
        if let Some(piece) = piece
            .as_ref()
            .filter(|piece| piece.ends_with(['\n', '}', ']']))
        {
            schema::check_body(piece);
        }
        piece
    }

    /// Waits for the whole response.
    pub(crate) async fn reply(mut self) -> Reply {
        let (status, headers) = self.head().await;
        let body = self.rest().await.into_bytes();
        Reply {
            status,
            headers,
            body,
        }
    }

    /// Waits for the rest of the body.
    pub(crate) async fn rest(&mut self) -> String {
        // A stream that shows life and never ends is not waited for either.
        bounded("the end of a body", async {
            let mut body = String::new();
            while let Some(piece) = self.piece().await {
                body += &piece;
            }
            body
        })
        .await
    }

    /// Fires the signal that the caller has passed, and reads on.
    pub(crate) fn fire(&self, reason: Reason) {
        let Exchange::Direct(_, _, controller) = self else {
            panic!("a socket passes no signal");
        };
        controller.abort(reason);
    }

    /// Leaves, as a client does that is not interested any more.
    pub(crate) fn hang_up(self) {
        drop(self);
    }

    /// Fires the signal that the caller has passed. Sockets have none: there it hangs up.
    pub(crate) fn abort(self, reason: Reason) {
        if let Exchange::Direct(task, body, controller) = self {
            controller.abort(reason);
            if let Some(task) = task {
                task.detach();
            }
            drop(body);
        }
    }
}

impl Reader {
    async fn more(&mut self) -> bool {
        let mut buffer = [0; 4096];
        let count = self.stream.read(&mut buffer).await.unwrap_or(0);
        self.read.extend_from_slice(&buffer[..count]);
        count > 0
    }

    async fn head(&mut self) -> Head {
        let end = loop {
            let found = self
                .read
                .windows(4)
                .position(|window| window == b"\r\n\r\n");
            match found {
                Some(end) => break end,
                None => assert!(
                    self.more().await,
                    "no head: {:?}",
                    String::from_utf8_lossy(&self.read)
                ),
            }
        };
        let head = String::from_utf8(self.read.drain(..end + 4).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let mut headers = Vec::new();
        self.body = Framing::Left(0);
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name = name.to_ascii_lowercase();
            match &*name {
                "content-length" => self.body = Framing::Left(value.parse().unwrap()),
                "transfer-encoding" => self.body = Framing::Chunked,
                "date" | "connection" => {}
                _ => headers.push((name, value.to_owned())),
            }
        }
        (status, headers)
    }

    async fn piece(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.body {
                Framing::Unknown => panic!("the head comes first"),
                Framing::Over | Framing::Left(0) => return None,
                Framing::Left(left) => {
                    if !self.read.is_empty() {
                        let count = left.min(self.read.len());
                        self.body = Framing::Left(left - count);
                        return Some(self.read.drain(..count).collect());
                    }
                }
                Framing::Chunked => {
                    if let Some(chunk) = self.chunk() {
                        if chunk.is_empty() {
                            self.body = Framing::Over;
                            return None;
                        }
                        return Some(chunk);
                    }
                }
            }
            if !self.more().await {
                self.body = Framing::Over;
                return None;
            }
        }
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.read.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&self.read[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let end = line + 2 + size + 2;
        if self.read.len() < end {
            return None;
        }
        let chunk = self.read[line + 2..end - 2].to_vec();
        self.read.drain(..end);
        Some(chunk)
    }
}

/// A call of the tool `play`: the test plays the handler.
pub(crate) struct Playing {
    pub(crate) cx: Context,
    end: Sender<Result<String, HandlerError>>,
    gone: Receiver<()>,
}

impl Playing {
    /// Reports progress.
    pub(crate) fn progress(&self, number: u32) {
        self.cx.progress(number, None, "on");
    }

    /// Ends the handler with a text.
    pub(crate) fn finish(&self, text: &str) {
        let _ = self.end.try_send(Ok(text.to_owned()));
    }

    /// Ends the handler with a failure.
    pub(crate) fn fail(&self, error: HandlerError) {
        let _ = self.end.try_send(Err(error));
    }

    /// Waits until the handler's signal fires.
    pub(crate) async fn aborted(&self) -> Reason {
        bounded("the signal of a handler", self.cx.signal().aborted()).await
    }

    /// Waits until the handler is no more.
    pub(crate) async fn gone(&self) {
        bounded("the end of a handler", async {
            let _ = self.gone.recv().await;
        })
        .await;
    }
}

/// A server whose handlers the test plays.
pub(crate) struct Stage {
    pub(crate) server: Server,
    playing: Receiver<Playing>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(smol_mcp::Builder) -> smol_mcp::Builder) -> Self {
        let (begun, playing) = async_channel::unbounded();
        let play = move |_: NoInput, cx: Context| {
            let begun = begun.clone();
            async move {
                let (end, ended) = async_channel::unbounded();
                let (going, gone) = async_channel::bounded(1);
                let _ = begun.try_send(Playing { cx, end, gone });
                let outcome = ended.recv().await.unwrap_or(Ok("left alone".into()));
                drop(going);
                outcome
            }
        };
        let builder = Server::builder("stage", "1")
            .tool(Tool::new("quick", |_: NoInput| async { "done" }).description("Is done"))
            .tool(Tool::new("play", play))
            .tool(region());
        let server = change(builder).build().unwrap();
        Self { server, playing }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new(&self.server)
    }

    /// Begins a call that the test plays, and reads its stream up to the first report.
    pub(crate) async fn streaming(
        &self,
        serving: &dyn Serving,
        request: &Req,
    ) -> (Exchange, Playing) {
        let mut exchange = serving.send(request).await;
        let playing = self.playing().await;
        playing.progress(1);
        exchange.head().await;
        exchange.piece().await.unwrap();
        (exchange, playing)
    }

    /// Waits until a handler has begun.
    pub(crate) async fn playing(&self) -> Playing {
        bounded("a handler", self.playing.recv()).await.unwrap()
    }

    /// Tells whether a handler has begun that nobody has waited for.
    pub(crate) fn is_playing(&self) -> bool {
        !self.playing.is_empty()
    }
}

/// A tool with mirrored parameters.
fn region() -> Tool {
    Tool::new("region", |_: Value| async { "here" }).input_schema(json!({
        "type": "object",
        "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
            "deep": {
                "type": "object",
                "properties": { "zone": { "type": "string", "x-mcp-header": "Zone" } },
            },
        },
    }))
}

/// Runs a test three ways, each with a stage of its own.
pub(crate) fn every_way(test: impl AsyncFn(&Stage, &dyn Serving)) {
    every_way_with(Stage::new, Stage::endpoint, test);
}

/// Runs a test three ways, on a stage and an endpoint of its own making.
pub(crate) fn every_way_with(
    stage: impl Fn() -> Stage,
    endpoint: impl Fn(&Stage) -> Endpoint,
    test: impl AsyncFn(&Stage, &dyn Serving),
) {
    for way in WAYS {
        smol::block_on(async {
            eprintln!("{way:?}");
            let stage = stage();
            let serving = serve(way, endpoint(&stage)).await;
            test(&stage, &*serving).await;
        });
    }
}

/// One row: what it shows, a request, the status, and the exact body.
pub(crate) type Row = (&'static str, Req, u16, String);

/// Sends each request, and compares status, kind and body.
pub(crate) async fn check(serving: &dyn Serving, rows: &[Row]) {
    let mut wrong = String::new();
    for (what, request, status, body) in rows {
        let reply = serving.send(request).await.reply().await;
        let json = body.starts_with(['{', '[']);
        let right = (reply.status, reply.text()) == (*status, &**body)
            && (reply.header("content-type") == Some("application/json")) == json;
        if !right {
            wrong += &format!(
                "{what}\n  wanted {status} {body}\n  got    {} {}\n",
                reply.status,
                reply.text()
            );
        }
    }
    assert!(wrong.is_empty(), "{:?}:\n{wrong}", serving.way());
}

/// Sends each request in every way, and compares what comes.
pub(crate) fn judge(rows: &[Row]) {
    every_way(async |_, serving| check(serving, rows).await);
}

/// A request whose headers differ from its body.
pub(crate) fn mismatched(what: &'static str, request: Req, why: &str) -> Row {
    let why = format!("Header mismatch: {why}");
    (what, request, 400, error("1", -32020, &why))
}

/// An error answer.
pub(crate) fn error(id: &str, code: i32, message: &str) -> String {
    let id = match id {
        "" => String::new(),
        id => format!(r#""id":{id},"#),
    };
    format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// The modern result of a tool that says one text.
pub(crate) fn said(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}],{STAMP}}}}}"#
    )
}

/// The legacy result of a tool that says one text.
pub(crate) fn legacy_said(id: &str, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// Opens a legacy session.
pub(crate) async fn open(serving: &dyn Serving, version: &str) -> String {
    let reply = serving.send(&initialize(version)).await.reply().await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.header("mcp-session-id").unwrap().to_owned()
}

pub(crate) fn initialize(version: &str) -> Req {
    Req::post(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    ))
}
