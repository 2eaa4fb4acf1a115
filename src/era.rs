//! Decides once for each message under which rules it falls; the one place where revisions are compared.
//!
//! *Modern* is 2026-07-28 and later: every request carries its own version and capabilities. *Legacy* is everything
//! that opens with `initialize`. Both are served on one endpoint and by one process.

pub(crate) mod asking;
pub(crate) mod legacy;
mod members;
pub(crate) mod modern;
mod reply;

use serde_core::Serialize;
use serde_json::Map;

pub(crate) use self::reply::Reply;
use crate::Principal;
use crate::protocol::jsonrpc::{self, Id, Request, RpcError};
use crate::protocol::{Cache, Implementation, Version, meta};

/// What a request asks for, in whatever era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Initialize,
    Ping,
    Discover,
    ListTools,
    CallTool,
    ListResources,
    ListTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
    SetLevel,
    Subscribe,
    Unsubscribe,
    Listen,
}

impl Method {
    /// The name on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Method::Initialize => "initialize",
            Method::Ping => "ping",
            Method::Discover => "server/discover",
            Method::ListTools => "tools/list",
            Method::CallTool => "tools/call",
            Method::ListResources => "resources/list",
            Method::ListTemplates => "resources/templates/list",
            Method::ReadResource => "resources/read",
            Method::ListPrompts => "prompts/list",
            Method::GetPrompt => "prompts/get",
            Method::Complete => "completion/complete",
            Method::SetLevel => "logging/setLevel",
            Method::Subscribe => "resources/subscribe",
            Method::Unsubscribe => "resources/unsubscribe",
            Method::Listen => "subscriptions/listen",
        }
    }

    /// Finds a method that a server offers.
    #[inline(never)]
    fn find(table: &[Method], name: &str, offers: &Offers) -> Option<Method> {
        let mut known = table.iter().copied();
        known
            .find(|method| method.as_str() == name)
            .filter(|method| method.offered(offers))
    }

    /// Tells whether a server offers the method, as it must if and only if it advertises the capability.
    fn offered(self, offers: &Offers) -> bool {
        match self {
            Method::Initialize | Method::Ping | Method::Discover | Method::Listen => true,
            Method::ListTools | Method::CallTool => offers.tools,
            Method::ListResources | Method::ListTemplates | Method::ReadResource => {
                offers.resources
            }
            Method::Subscribe | Method::Unsubscribe => offers.resources && offers.subscribe,
            Method::ListPrompts | Method::GetPrompt => offers.prompts,
            Method::Complete => offers.completions,
            Method::SetLevel => offers.logging,
        }
    }
}

/// What a server offers: decided at `build()`, so that what is advertised and what is served agree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offers {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) completions: bool,
    /// `notifications/message` may be emitted.
    pub(crate) logging: bool,
    /// `notifications/resources/updated` may be asked for.
    pub(crate) subscribe: bool,
    /// The lists that may change while the server runs.
    pub(crate) changing: Lists,
}

/// Some of the lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Offers {
    /// What is left for a legacy client of which nothing is kept: it cannot be told anything between its requests.
    pub(crate) fn without_session(self) -> Self {
        Self {
            logging: false,
            subscribe: false,
            changing: Lists::default(),
            ..self
        }
    }

    /// Writes the `capabilities` member of `server/discover` and of `initialize`.
    pub(crate) fn to_json(self) -> Json {
        let settings = |changing: bool, subscribe: bool| match (changing, subscribe) {
            (false, false) => "{}",
            (true, false) => r#"{"listChanged":true}"#,
            (false, true) => r#"{"subscribe":true}"#,
            (true, true) => r#"{"listChanged":true,"subscribe":true}"#,
        };
        let Lists {
            tools,
            prompts,
            resources,
        } = self.changing;
        let all = [
            (self.completions, "completions", settings(false, false)),
            (self.logging, "logging", settings(false, false)),
            (self.prompts, "prompts", settings(prompts, false)),
            (
                self.resources,
                "resources",
                settings(resources, self.subscribe),
            ),
            (self.tools, "tools", settings(tools, false)),
        ];
        let mut text = String::from("{");
        for (_, name, settings) in all.iter().filter(|(offered, ..)| *offered) {
            let comma = if text.len() > 1 { "," } else { "" };
            text += &format!("{comma}\"{name}\":{settings}");
        }
        text.push('}');
        Json(text)
    }
}

/// What a transport knows of a request beside its body.
#[derive(Clone, Copy)]
pub(crate) enum Around<'a> {
    /// A byte stream; with the revision that its `initialize` agreed on, if there was one.
    Stream { legacy: Option<Version> },
    /// One POST; with the revision of the session it names, if it names one.
    Http {
        headers: &'a dyn Mirrored,
        session: Option<Version>,
    },
}

/// The request headers that mirror the body (2026-07-28, basic/transports/streamable-http).
pub(crate) trait Mirrored {
    fn field(&self, name: &str) -> Field<'_>;

    /// Whom the transport has found to be asking, by credentials that it has checked.
    fn principal(&self) -> Option<&Principal> {
        None
    }

    /// Tells whether anything but the answer reaches the client.
    fn takes_messages(&self) -> bool {
        true
    }
}

/// The values of a header field: none, one, or two of the several that there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    values: [&'a [u8]; 2],
    count: usize,
}

impl<'a> Field<'a> {
    pub(crate) fn new(all: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut field = Self {
            values: [b""; 2],
            count: 0,
        };
        for value in all.take(2) {
            field.values[field.count] = value.trim_ascii();
            field.count += 1;
        }
        field
    }

    pub(crate) fn values(&self) -> &[&'a [u8]] {
        &self.values[..self.count]
    }
}

/// An error answer with the HTTP status that goes with it.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// Boxed, so that what passes on a refusal or something else does not move much.
    pub(crate) error: Box<RpcError>,
    pub(crate) status: u16,
}

impl Refusal {
    pub(crate) fn new(status: u16, error: RpcError) -> Self {
        let error = Box::new(error);
        Self { error, status }
    }
}

/// Where a request goes.
#[derive(Debug)]
pub(crate) enum Route {
    Modern(modern::Opening),
    /// `initialize`: begins a legacy session.
    Handshake,
    Legacy(Version, Method),
}

/// Decides under which rules a request falls, and checks what the era wants of it before its method is looked at.
pub(crate) fn route<'a>(
    request: &Request<'a>,
    around: Around<'_>,
    offers: &Offers,
) -> Result<Route, Refusal> {
    if let Some(meta) = modern::claim(&request.params) {
        return modern::open(request, meta, around, offers).map(Route::Modern);
    }
    if request.method == Method::Initialize.as_str() {
        return Ok(Route::Handshake);
    }
    let version = match around {
        Around::Stream {
            legacy: Some(version),
        } => version,
        Around::Stream { legacy: None } => {
            // Any time after the connection stands, a ping is answered.
            if request.method == Method::Ping.as_str() {
                Version::V2025_11_25
            } else {
                return Err(modern::without_claim());
            }
        }
        Around::Http { headers, session } => legacy::http_version(headers, session)?,
    };
    let sessionless = matches!(around, Around::Http { session: None, .. });
    let offers = if sessionless {
        offers.without_session()
    } else {
        *offers
    };
    legacy::method(&request.method, &offers).map(|method| Route::Legacy(version, method))
}

/// Tells whether the version header of a message names a modern revision, known or not.
pub(crate) fn names_modern_version(headers: &dyn Mirrored) -> bool {
    match headers.field("MCP-Protocol-Version").values() {
        [name] => std::str::from_utf8(name).is_ok_and(legacy::names_modern),
        _ => false,
    }
}

/// Tells whether a revision belongs to the modern era.
pub(crate) fn is_modern(version: Version) -> bool {
    version >= Version::V2026_07_28
}

/// Tells whether `notifications/progress` may carry a message under this revision.
pub(crate) fn has_progress_message(version: Version) -> bool {
    version >= Version::V2025_03_26
}

/// Tells whether an error may leave out the id of its request under this revision.
pub(crate) fn has_anonymous_errors(version: Version) -> bool {
    version >= Version::V2025_11_25
}

/// Tells whether a stream of events begins with one without data, and may end before its answer (2025-11-25, basic/transports).
pub(crate) fn has_polling(version: Version) -> bool {
    version == Version::V2025_11_25
}

/// Tells whether an array of messages may arrive under this revision.
pub(crate) fn has_batches(version: Version) -> bool {
    version == Version::V2025_03_26
}

/// What a server puts on its results.
#[derive(Debug)]
pub(crate) struct Stamp {
    /// How long results may be kept by clients, where nobody says otherwise.
    pub(crate) cache: Cache,
    /// `{"io.modelcontextprotocol/serverInfo":{…}}`, or nothing if it is configured off.
    pub(crate) server_info: Option<Box<str>>,
}

impl Stamp {
    pub(crate) fn new(info: &Implementation, cache: Cache) -> Self {
        let text = format!(
            r#"{{"{}":{}}}"#,
            meta::SERVER_INFO,
            jsonrpc::json_text(info)
        );
        Self {
            server_info: Some(text.into()),
            cache,
        }
    }
}

/// Writes the answer to a request: one message without a line feed.
pub(crate) fn answer(version: Version, id: &Id, reply: Reply, stamp: &Stamp) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    jsonrpc::begin_result(&mut out, id);
    match is_modern(version) {
        true => modern::write(&mut out, reply, stamp),
        false => legacy::write(&mut out, version, reply),
    }
    out.push(b'}');
    out
}

/// Writes an error answer.
pub(crate) fn refuse(id: Option<&Id>, error: &RpcError) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    jsonrpc::write_error(&mut out, id, error);
    out
}

/// Turns an error that a handler raised into the one that its era knows, with its HTTP status.
pub(crate) fn adapt(version: Version, error: RpcError) -> Refusal {
    match is_modern(version) {
        true => modern::adapt(error),
        false => Refusal::new(200, legacy::adapt(error)),
    }
}

/// The error for a resource that does not exist.
pub(crate) fn resource_not_found(version: Version, uri: &str) -> RpcError {
    let code = match is_modern(version) {
        true => RpcError::INVALID_PARAMS,
        false => RpcError::RESOURCE_NOT_FOUND,
    };
    RpcError::new(code, "Resource not found").with_data(jsonrpc::object("uri", uri.into()))
}

/// Appends members to the object that begins at `start` and has just been written.
pub(crate) fn extend_object(out: &mut Vec<u8>, start: usize, members: &[(&str, &dyn ErasedJson)]) {
    debug_assert_eq!(out.last(), Some(&b'}'));
    out.pop();
    for (name, value) in members {
        if out.len() > start + 1 {
            out.push(b',');
        }
        jsonrpc::write_json(out, *name);
        out.push(b':');
        value.write(out);
    }
    out.push(b'}');
}

/// Anything that can be written as JSON, behind a pointer.
pub(crate) trait ErasedJson {
    fn write(&self, out: &mut Vec<u8>);
}

impl<T: Serialize + ?Sized> ErasedJson for T {
    fn write(&self, out: &mut Vec<u8>) {
        jsonrpc::write_json(out, self);
    }
}

/// A piece of JSON that is written already.
#[derive(Debug)]
pub(crate) struct Json(pub(crate) String);

impl ErasedJson for Json {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// Writes the result object of one page of a list, whose definitions are JSON.
pub(crate) fn write_list(
    version: Version,
    member: &str,
    mut definitions: Vec<String>,
    next: Option<String>,
    cache: Cache,
    stamp: &Stamp,
) -> Vec<u8> {
    let modern = is_modern(version);
    if !modern {
        for definition in &mut definitions {
            *definition = legacy::downgrade_definition(version, definition);
        }
    }
    let mut out = b"{}".to_vec();
    let definitions = Json(jsonrpc::array(&definitions));
    extend_object(&mut out, 0, &[(member, &definitions)]);
    if let Some(next) = next {
        extend_object(&mut out, 0, &[("nextCursor", &next)]);
    }
    if modern {
        modern::seal(&mut out, 0, "complete", Some(cache), Map::new(), stamp);
    }
    out
}
