//! The legacy era, 2024-11-05 to 2025-11-25: `initialize`, then requests by what was agreed on.

use serde_json::{Map, Value, json};

use super::{Method, Mirrored, Offers, Refusal, Reply, is_modern, modern};
use crate::protocol::jsonrpc::{Params, RpcError, write_json};
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
pub(crate) fn method(_: Version, name: &str, offers: &Offers) -> Result<Method, Refusal> {
    Method::find(&METHODS, name)
        .filter(|method| method.offered(offers))
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

/// Reads the params of `initialize`.
pub(crate) fn handshake(params: &Params<'_>) -> Result<Session, Refusal> {
    let read = || -> Result<Session, RpcError> {
        let requested: String = params.required("protocolVersion")?;
        let capabilities: Map<String, Value> = params.required("capabilities")?;
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
    capabilities: &Value,
    info: &Implementation,
    instructions: Option<&str>,
) {
    let mut info = json!(info);
    downgrade_names(version, &mut info);
    let mut result = json!({ "protocolVersion": version.as_str(), "capabilities": capabilities, "serverInfo": info });
    if let Some(instructions) = instructions {
        result["instructions"] = instructions.into();
    }
    if version < Version::V2025_03_26 {
        remove(&mut result["capabilities"], &["completions"]);
    }
    write_json(out, &result);
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
            write_downgraded(out, version, &result, downgrade_tool_result);
        }
        Reply::Other(result) => result.write_legacy(out, version),
        // No legacy client is ever answered by it.
        Reply::Closing(_) => out.extend_from_slice(b"{}"),
    }
}

pub(super) fn write_read(out: &mut Vec<u8>, version: Version, result: &ReadResult) {
    write_downgraded(out, version, result, |version, result| {
        each(result, "contents", |contents| strip_meta(version, contents));
    });
}

pub(super) fn write_prompt(out: &mut Vec<u8>, version: Version, mut result: PromptResult) {
    for message in &mut result.messages {
        strip_icons(version, &mut message.content);
    }
    write_downgraded(out, version, &result, |version, result| {
        each(result, "messages", |message| {
            downgrade_content(version, &mut message["content"])
        });
    });
}

/// Writes a value, by way of a tree only where the revision needs a change.
fn write_downgraded(
    out: &mut Vec<u8>,
    version: Version,
    value: &impl serde_core::Serialize,
    downgrade: impl Fn(Version, &mut Value),
) {
    if version >= Version::V2025_06_18 {
        return write_json(out, value);
    }
    let mut tree = json!(value);
    downgrade(version, &mut tree);
    write_json(out, &tree);
}

fn downgrade_tool_result(version: Version, result: &mut Value) {
    remove(result, &["structuredContent", "_meta"]);
    each(result, "content", |block| downgrade_content(version, block));
}

/// Links carry all that a resource's definition does, pictures included.
fn strip_icons(version: Version, block: &mut Content) {
    if let (true, Content::ResourceLink(resource)) = (version < Version::V2025_11_25, block) {
        resource.icons = Vec::new();
    }
}

/// Replaces the kinds of content that a revision does not know by text.
fn downgrade_content(version: Version, block: &mut Value) {
    strip_meta(version, block);
    if let Some(embedded) = block.get_mut("resource") {
        strip_meta(version, embedded);
    }
    let text = match block["type"].as_str() {
        Some("resource_link") => {
            let (name, uri) = (
                block["name"].as_str().unwrap_or_default(),
                block["uri"].as_str().unwrap_or_default(),
            );
            format!("{name}: {uri}")
        }
        Some("audio") if version < Version::V2025_03_26 => {
            format!(
                "[audio, {}]",
                block["mimeType"].as_str().unwrap_or("unknown type")
            )
        }
        _ => return,
    };
    *block = json!({ "type": "text", "text": text });
}

fn strip_meta(version: Version, object: &mut Value) {
    if version < Version::V2025_06_18 {
        remove(object, &["_meta"]);
        if let Some(annotations) = object.get_mut("annotations") {
            remove(annotations, &["lastModified"]);
        }
    }
}

/// Takes from a definition in a list what the revision does not know.
pub(crate) fn downgrade_definition(version: Version, definition: &mut Value) {
    if version < Version::V2025_11_25 {
        remove(definition, &["icons", "execution"]);
    }
    let object_schema = definition
        .get("outputSchema")
        .is_some_and(|schema| schema["type"] == "object");
    if version < Version::V2025_06_18 || !object_schema {
        remove(definition, &["outputSchema"]);
    }
    downgrade_names(version, definition);
    strip_meta(version, definition);
    if version < Version::V2025_06_18 {
        each(definition, "arguments", |argument| {
            remove(argument, &["title"])
        });
    }
    // Tools alone have hints in `annotations`; those of resources are older than the oldest revision.
    if version < Version::V2025_03_26 && definition.get("inputSchema").is_some() {
        remove(definition, &["annotations"]);
    }
}

/// Takes away the names for display, and what else an `Implementation` has gained.
fn downgrade_names(version: Version, named: &mut Value) {
    if version < Version::V2025_11_25 {
        remove(named, &["icons", "websiteUrl"]);
        if named.get("version").is_some() {
            remove(named, &["description"]);
        }
    }
    if version < Version::V2025_06_18 {
        if let Some(title) = named
            .get("title")
            .cloned()
            .filter(|_| named.get("inputSchema").is_some())
        {
            let annotations = named
                .as_object_mut()
                .expect("a tool")
                .entry("annotations")
                .or_insert_with(|| json!({}));
            annotations
                .as_object_mut()
                .expect("hints")
                .entry("title")
                .or_insert(title);
        }
        remove(named, &["title"]);
    }
}

fn remove(object: &mut Value, names: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        for name in names {
            object.remove(*name);
        }
    }
}

fn each(object: &mut Value, list: &str, change: impl FnMut(&mut Value)) {
    object
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .for_each(change);
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
