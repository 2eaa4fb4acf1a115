//! The legacy era, 2024-11-05 to 2025-11-25: `initialize`, then requests by what was agreed on.

use serde_json::Value;

use super::members::Members;
use super::{
    ErasedJson, Json, Method, Mirrored, Offers, Refusal, Reply, extend_object, is_modern, modern,
};
use crate::protocol::jsonrpc::{Params, RpcError, json_text};
use crate::protocol::{
    ClientCapabilities, Content, Implementation, LogLevel, PromptResult, ReadResult, Version,
};

/// The methods of the era. `initialize` is not among them: it begins a session and is met before.
const METHODS: [Method; 12] = [
    Method::CallTool,
    Method::Ping,
    Method::ListTools,
    Method::ListResources,
    Method::ListTemplates,
    Method::ReadResource,
    Method::ListPrompts,
    Method::GetPrompt,
    Method::Complete,
    Method::SetLevel,
    Method::Subscribe,
    Method::Unsubscribe,
];

/// The revision that `initialize` gets when it asks for one that is unknown, or modern.
const LATEST: Version = Version::V2025_11_25;

/// The revision of a request over HTTP that says nothing about it.
const ASSUMED: Version = Version::V2025_03_26;

/// Finds the revision of a request over HTTP without a claim in its body.
pub(crate) fn http_version(
    headers: &dyn Mirrored,
    session: Option<Version>,
) -> Result<Version, Refusal> {
    let field = headers.field("MCP-Protocol-Version");
    let named = match field.values() {
        [] => return Ok(session.unwrap_or(ASSUMED)),
        [name] => String::from_utf8_lossy(name),
        _ => {
            let text = "Invalid request: MCP-Protocol-Version appears twice";
            return Err(Refusal::new(400, RpcError::invalid_request(text)));
        }
    };
    match Version::from_name(&named) {
        Some(version) if !is_modern(version) => Ok(session.unwrap_or(version)),
        _ if names_modern(&named) => Err(modern::without_claim()),
        _ => Err(modern::unsupported(&named, |_| true)),
    }
}

/// Tells whether a text names a revision from 2026-07-28 on, known or not.
pub(super) fn names_modern(name: &str) -> bool {
    let date = name.len() == 10
        && name.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    date && name >= Version::V2026_07_28.as_str()
}

/// Finds a method. Over HTTP an unknown one is a 200: a 404 would read as "the session is gone".
pub(super) fn method(name: &str, offers: &Offers) -> Result<Method, Refusal> {
    Method::find(&METHODS, name, offers)
        .ok_or_else(|| Refusal::new(200, RpcError::method_not_found(name)))
}

/// What `initialize` agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) version: Version,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) client_info: Implementation,
    /// Set by `logging/setLevel`. Until then the server chooses, and chooses to say nothing.
    pub(crate) log_level: Option<LogLevel>,
}

/// The most bytes that a client may say of itself: all of it is kept for as long as its session.
const MOST_SAID: usize = 64 * 1024;

/// Reads the params of `initialize`.
pub(crate) fn handshake(params: &Params<'_>) -> Result<Session, Refusal> {
    let read = || -> Result<Session, RpcError> {
        let requested: String = params.required("protocolVersion")?;
        let said = ["capabilities", "clientInfo"].map(|name| params.get(name));
        let said = said.into_iter().flatten().map(|raw| raw.get().len());
        if said.sum::<usize>() > MOST_SAID {
            let message = format!(
                "Invalid 'capabilities' and 'clientInfo': more than {MOST_SAID} bytes in all"
            );
            return Err(RpcError::invalid_params(message));
        }
        let capabilities = params.object("capabilities")?;
        let client_info = params.required("clientInfo")?;
        let version = Version::from_name(&requested)
            .filter(|version| !is_modern(*version))
            .unwrap_or(LATEST);
        let capabilities = ClientCapabilities::from_value(Value::Object(capabilities));
        Ok(Session {
            version,
            capabilities,
            client_info,
            log_level: None,
        })
    };
    read().map_err(|error| Refusal::new(200, error))
}

/// Writes the result of `initialize`.
pub(crate) fn write_handshake(
    out: &mut Vec<u8>,
    version: Version,
    offers: Offers,
    info: &Implementation,
    instructions: Option<&str>,
) {
    let mut offered = offers;
    if version < Version::V2025_03_26 {
        offered.completions = false;
    }
    let (start, info) = (out.len(), json_text(info));
    out.extend_from_slice(b"{}");
    let mut info = Members::read(&info);
    downgrade_names(version, &mut info);
    let members: [(&str, &dyn ErasedJson); 3] = [
        ("protocolVersion", &version.as_str()),
        ("capabilities", &offered.to_json()),
        ("serverInfo", &Json(info.write())),
    ];
    extend_object(out, start, &members);
    if let Some(instructions) = instructions {
        extend_object(out, start, &[("instructions", &instructions)]);
    }
}

/// Writes a result as the revision knows it.
pub(crate) fn write(out: &mut Vec<u8>, version: Version, reply: Reply) {
    match reply {
        Reply::Tool(mut result) => {
            if !result.structured.as_ref().is_some_and(Value::is_object) {
                result.structured = None;
            }
            result
                .content
                .iter_mut()
                .for_each(|block| strip_icons(version, block));
            write_downgraded(out, version, &result, &|result| {
                result.remove(&["structuredContent", "_meta"]);
                result.change_each("content", &|block| downgrade_content(version, block));
            });
        }
        Reply::Other(result) => result.write_legacy(out, version),
        // No legacy client is ever answered by it.
        Reply::Closing(_) => out.extend_from_slice(b"{}"),
    }
}

pub(super) fn write_read(out: &mut Vec<u8>, version: Version, result: &ReadResult) {
    write_downgraded(out, version, result, &|result| {
        result.change_each("contents", &|contents| changed(contents, &strip_meta));
    });
}

pub(super) fn write_prompt(out: &mut Vec<u8>, version: Version, mut result: PromptResult) {
    for message in &mut result.messages {
        strip_icons(version, &mut message.content);
    }
    let content = |block: &str| downgrade_content(version, block);
    write_downgraded(out, version, &result, &|result| {
        result.change_each("messages", &|message| {
            changed(message, &|message| message.change("content", &content))
        });
    });
}

/// Writes a value, taken apart only where the revision needs a change.
fn write_downgraded(
    out: &mut Vec<u8>,
    version: Version,
    value: &dyn ErasedJson,
    downgrade: &dyn Fn(&mut Members<'_>),
) {
    let start = out.len();
    value.write(out);
    if version < Version::V2025_06_18 {
        let text = String::from_utf8(out.split_off(start)).expect("JSON is UTF-8");
        out.extend_from_slice(changed(&text, downgrade).as_bytes());
    }
}

/// Changes members of an object.
#[inline(never)]
fn changed(object: &str, change: &dyn Fn(&mut Members<'_>)) -> String {
    let mut members = Members::read(object);
    change(&mut members);
    members.write()
}

/// Links carry all that a resource's definition does, pictures included.
fn strip_icons(version: Version, block: &mut Content) {
    if let (true, Content::ResourceLink(resource)) = (version < Version::V2025_11_25, block) {
        resource.icons = Vec::new();
    }
}

/// Replaces the kinds of content that a revision before 2025-06-18 does not know by text.
fn downgrade_content(version: Version, block: &str) -> String {
    let mut block = Members::read(block);
    let text = match &*block.text("type") {
        "resource_link" => format!("{}: {}", block.text("name"), block.text("uri")),
        "audio" if version < Version::V2025_03_26 => {
            format!("[audio, {}]", block.text("mimeType"))
        }
        _ => {
            strip_meta(&mut block);
            block.change("resource", &|embedded| changed(embedded, &strip_meta));
            return block.write();
        }
    };
    json_text(&Content::text(text))
}

/// Takes away what objects of all kinds have gained with 2025-06-18.
fn strip_meta(object: &mut Members<'_>) {
    object.remove(&["_meta"]);
    object.change("annotations", &|annotations| {
        changed(annotations, &|annotations| {
            annotations.remove(&["lastModified"])
        })
    });
}

/// Takes from a definition in a list what the revision does not know.
pub(crate) fn downgrade_definition(version: Version, definition: &str) -> String {
    let mut definition = Members::read(definition);
    if version < Version::V2025_11_25 {
        definition.remove(&["icons", "execution"]);
    }
    let of_object = |schema: &str| Members::read(schema).text("type") == "object";
    let object_schema = definition.get("outputSchema").is_some_and(of_object);
    if version < Version::V2025_06_18 || !object_schema {
        definition.remove(&["outputSchema"]);
    }
    downgrade_names(version, &mut definition);
    if version < Version::V2025_06_18 {
        strip_meta(&mut definition);
        definition.change_each("arguments", &|argument| {
            changed(argument, &|argument| argument.remove(&["title"]))
        });
    }
    // Tools alone have hints in `annotations`; those of resources are older than the oldest revision.
    if version < Version::V2025_03_26 && definition.get("inputSchema").is_some() {
        definition.remove(&["annotations"]);
    }
    definition.write()
}

/// Takes away the names for display, and what else an `Implementation` has gained.
fn downgrade_names(version: Version, named: &mut Members<'_>) {
    if version < Version::V2025_11_25 {
        named.remove(&["icons", "websiteUrl"]);
        if named.get("version").is_some() {
            named.remove(&["description"]);
        }
    }
    if version < Version::V2025_06_18 {
        let title = named.get("title").map(str::to_owned);
        if let Some(title) = title.filter(|_| named.get("inputSchema").is_some()) {
            let hints = named.get("annotations").unwrap_or("{}").to_owned();
            let mut hints = Members::read(&hints);
            if hints.get("title").is_none() {
                hints.insert("title", title);
            }
            named.insert("annotations", hints.write());
        }
        named.remove(&["title"]);
    }
}

/// The codes that began with the modern era mean nothing here, and those that JSON-RPC keeps to itself no more.
pub(crate) fn adapt(mut error: RpcError) -> RpcError {
    error.code = match error.code {
        RpcError::HEADER_MISMATCH
        | RpcError::MISSING_CLIENT_CAPABILITY
        | RpcError::UNSUPPORTED_VERSION => RpcError::INVALID_PARAMS,
        code @ (RpcError::INVALID_REQUEST
        | RpcError::METHOD_NOT_FOUND
        | RpcError::INVALID_PARAMS) => code,
        -32_768..=-32_100 => RpcError::INTERNAL_ERROR,
        code => code,
    };
    error
}
