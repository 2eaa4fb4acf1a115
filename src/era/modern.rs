//! The modern era, 2026-07-28: no handshake, no session; each request stands for itself.

use serde_json::{Map, Value};

use super::reply::{Caching, Wrapping};
use super::{
    Around, ErasedJson, Json, Method, Mirrored, Offers, Refusal, Reply, Stamp, extend_object,
    is_modern,
};
use crate::protocol::header_params::{self, HeaderParam};
use crate::protocol::jsonrpc::{Params, Request, RpcError, object, write_json};
use crate::protocol::meta::{self, Meta, ProgressToken};
use crate::protocol::{Cache, Implementation, Invalid, LogLevel, Version};

/// The methods of the era. What it lacks is absent here: `initialize`, `ping`, `logging/setLevel`, subscriptions by
/// request.
const METHODS: [Method; 10] = [
    Method::CallTool,
    Method::Discover,
    Method::ListTools,
    Method::ListResources,
    Method::ListTemplates,
    Method::ReadResource,
    Method::ListPrompts,
    Method::GetPrompt,
    Method::Complete,
    Method::Listen,
];

/// A request whose envelope is in order under the rules of the era.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) version: Version,
    pub(crate) method: Method,
    pub(crate) progress_token: Option<ProgressToken>,
    pub(crate) log_level: Option<LogLevel>,
}

/// Returns the `_meta` of a message that claims to be modern: that names a version, whatever the version is.
pub(crate) fn claim<'a>(params: &Params<'a>) -> Option<Meta<'a>> {
    let raw = params.get("_meta").filter(|raw| meta::is_object(raw))?;
    let meta: Meta<'a> = serde_json::from_str(raw.get()).ok()?;
    meta.version.is_some().then_some(meta)
}

/// The answer to a request without a claim where no session says more.
#[cold]
#[inline(never)]
pub(crate) fn without_claim() -> Refusal {
    let message = format!(
        "Missing _meta['{}'] and _meta['{}']",
        meta::PROTOCOL_VERSION,
        meta::CLIENT_CAPABILITIES
    );
    let data = object("supported", supported_names(|_| true));
    Refusal::new(400, RpcError::invalid_params(message).with_data(data))
}

/// Checks the envelope, in the order in which clients and the specification expect its defects to be named.
pub(crate) fn open<'a>(
    request: &Request<'a>,
    meta: Meta<'a>,
    around: Around<'_>,
    offers: &Offers,
) -> Result<Opening, Refusal> {
    if let Some(name) = meta.repeated {
        return Err(defect(format!("Invalid '_meta': '{name}' appears twice")));
    }
    let Some(claimed) = meta.version.and_then(meta::text) else {
        return Err(missing_or_wrong(
            meta.version.is_some(),
            meta::PROTOCOL_VERSION,
            "a string",
        ));
    };
    if !meta.capabilities.is_some_and(meta::is_object) {
        return Err(missing_or_wrong(
            meta.capabilities.is_some(),
            meta::CLIENT_CAPABILITIES,
            "an object",
        ));
    }
    let (progress_token, log_level) = optional_members(&meta)?;
    let headers = match around {
        Around::Http { headers, .. } => Some(headers),
        Around::Stream { .. } => None,
    };
    if let Some(headers) = headers {
        mirrored(headers, "MCP-Protocol-Version", &claimed)?;
    }
    let version = supported(&claimed)?;
    if let Some(headers) = headers {
        mirrored(headers, "Mcp-Method", &request.method)?;
        mirrored_name(headers, request)?;
    }
    let method = Method::find(&METHODS, &request.method, offers)
        .ok_or_else(|| Refusal::new(404, RpcError::method_not_found(&request.method)))?;
    Ok(Opening {
        version,
        method,
        progress_token,
        log_level,
    })
}

#[cold]
#[inline(never)]
fn defect(message: String) -> Refusal {
    Refusal::new(400, RpcError::invalid_params(message))
}

#[cold]
#[inline(never)]
fn missing_or_wrong(present: bool, name: &str, wanted: &str) -> Refusal {
    match present {
        false => defect(format!("Missing _meta['{name}']")),
        true => defect(format!("Invalid _meta['{name}']: expected {wanted}")),
    }
}

/// Reads the members that a request may leave out.
fn optional_members(meta: &Meta<'_>) -> Result<(Option<ProgressToken>, Option<LogLevel>), Refusal> {
    if let Some(raw) = meta.client_info {
        if serde_json::from_str::<Implementation>(raw.get()).is_err() {
            return Err(missing_or_wrong(
                true,
                meta::CLIENT_INFO,
                "an object with 'name' and 'version'",
            ));
        }
    }
    let token = match meta.progress_token {
        None => None,
        Some(raw) => match serde_json::from_str(raw.get()) {
            Ok(token) => Some(token),
            Err(_) => {
                return Err(missing_or_wrong(
                    true,
                    meta::PROGRESS_TOKEN,
                    "a string or an integer",
                ));
            }
        },
    };
    let level = match meta.log_level {
        None => None,
        Some(raw) => match meta::text(raw).and_then(|name| name.parse().ok()) {
            Some(level) => Some(level),
            None => return Err(missing_or_wrong(true, meta::LOG_LEVEL, "a log level")),
        },
    };
    Ok((token, level))
}

/// Finds the version of a claim among those that can be used request by request.
fn supported(claimed: &str) -> Result<Version, Refusal> {
    match Version::from_name(claimed) {
        Some(version) if is_modern(version) => Ok(version),
        // A client that claims a legacy version would loop if that version were offered to it again.
        Some(_) => Err(unsupported(claimed, is_modern)),
        None => Err(unsupported(claimed, |_| true)),
    }
}

/// The answer to a version that is not served.
#[cold]
#[inline(never)]
pub(crate) fn unsupported(requested: &str, offered: fn(Version) -> bool) -> Refusal {
    let mut data = object("supported", supported_names(offered));
    data["requested"] = requested.into();
    Refusal::new(
        400,
        RpcError::new(
            RpcError::UNSUPPORTED_VERSION,
            "Unsupported protocol version",
        )
        .with_data(data),
    )
}

/// The names of the versions that the server speaks, newest first.
fn supported_names(offered: fn(Version) -> bool) -> Value {
    let offered = Version::ALL
        .iter()
        .copied()
        .filter(|version| offered(*version));
    offered.map(Version::as_str).collect()
}

/// Writes the result of `server/discover`.
pub(crate) fn write_discovery(out: &mut Vec<u8>, capabilities: &Json, instructions: Option<&str>) {
    let start = out.len();
    out.extend_from_slice(b"{}");
    let versions = supported_names(|_| true);
    let members: [(&str, &dyn ErasedJson); 2] = [
        ("supportedVersions", &versions),
        ("capabilities", capabilities),
    ];
    extend_object(out, start, &members);
    if let Some(instructions) = instructions {
        extend_object(out, start, &[("instructions", &instructions)]);
    }
}

#[cold]
#[inline(never)]
fn mismatch(why: Invalid) -> Refusal {
    let message = format!("Header mismatch: {why}");
    Refusal::new(400, RpcError::new(RpcError::HEADER_MISMATCH, message))
}

/// Checks a header whose value is that of the body as it stands.
fn mirrored(headers: &dyn Mirrored, name: &str, body: &str) -> Result<(), Refusal> {
    match headers.field(name).values() {
        [] => Err(mismatch(header_params::differs(name, None, body))),
        [value] if *value == body.as_bytes() => Ok(()),
        [value] => {
            let value = String::from_utf8_lossy(value);
            Err(mismatch(header_params::differs(name, Some(&value), body)))
        }
        _ => Err(mismatch(header_params::appears_twice(name))),
    }
}

/// Checks a notification over HTTP: only that the two places that may name its version do not differ.
pub(crate) fn check_notification(
    headers: &dyn Mirrored,
    meta: Option<&Meta<'_>>,
) -> Result<(), Refusal> {
    let name = "MCP-Protocol-Version";
    match meta.and_then(|meta| meta.version).and_then(meta::text) {
        Some(claimed) if !headers.field(name).values().is_empty() => {
            mirrored(headers, name, &claimed)
        }
        _ => Ok(()),
    }
}

/// Checks `Mcp-Name` on the methods that have a name. A body that lacks it is left to the method.
fn mirrored_name(headers: &dyn Mirrored, request: &Request<'_>) -> Result<(), Refusal> {
    let member = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let Some(body) = request.params.get(member).and_then(meta::text) else {
        return Ok(());
    };
    header_params::check_text("Mcp-Name", headers.field("Mcp-Name").values(), &body)
        .map_err(mismatch)
}

/// Checks the `Mcp-Param-*` headers of a tool call.
pub(crate) fn mirrored_params(
    headers: &dyn Mirrored,
    annotations: &[HeaderParam],
    arguments: &Map<String, Value>,
) -> Result<(), Refusal> {
    annotations.iter().try_for_each(|annotation| {
        let field = headers.field(annotation.header());
        annotation
            .check(arguments, field.values())
            .map_err(mismatch)
    })
}

/// Writes a result with all that the era puts on it.
pub(crate) fn write(out: &mut Vec<u8>, reply: Reply, stamp: &Stamp) {
    let start = out.len();
    let Wrapping {
        kind,
        own_meta,
        cache,
    } = match reply {
        Reply::Tool(mut result) => {
            let own_meta = std::mem::take(&mut result.meta);
            write_json(out, &result);
            Wrapping::complete(own_meta)
        }
        Reply::Other(result) => result.write_modern(out),
        Reply::Closing(id) => {
            let own_meta = match object(meta::SUBSCRIPTION_ID, id.to_value()) {
                Value::Object(meta) => meta,
                _ => Map::new(),
            };
            out.extend_from_slice(b"{}");
            Wrapping::complete(own_meta)
        }
    };
    let cache = match cache {
        Caching::Unsaid => None,
        Caching::Default => Some(stamp.cache),
        Caching::Own(cache) => Some(cache),
    };
    seal(out, start, kind, cache, own_meta, stamp);
}

/// Puts `resultType`, caching fields and identity on the object that begins at `start`.
pub(crate) fn seal(
    out: &mut Vec<u8>,
    start: usize,
    kind: &str,
    cache: Option<Cache>,
    own_meta: Map<String, Value>,
    stamp: &Stamp,
) {
    extend_object(out, start, &[("resultType", &kind)]);
    if let Some(cache) = cache {
        extend_object(
            out,
            start,
            &[("ttlMs", &cache.ttl_ms), ("cacheScope", &cache.scope)],
        );
    }
    match (own_meta.is_empty(), stamp.server_info.as_deref()) {
        (true, None) => {}
        // The way of nearly every result: a piece of text that was written at `build()`.
        (true, Some(info)) => {
            out.pop();
            out.extend_from_slice(br#","_meta":"#);
            out.extend_from_slice(info.as_bytes());
            out.push(b'}');
        }
        (false, info) => {
            let mut meta = Value::Object(own_meta);
            if let Some(Ok(Value::Object(info))) = info.map(str::parse) {
                for (name, value) in info {
                    meta[name] = value;
                }
            }
            extend_object(out, start, &[("_meta", &meta)]);
        }
    }
}

/// Keeps handlers from emitting codes that mean something else in this era, and finds the HTTP status.
///
/// What a request's headers and its version are worth is decided before a handler begins, so those codes are not its
/// to raise (2026-07-28, basic/index: the range that the protocol keeps to itself). That a capability is missing means
/// nothing unless the error names it.
pub(crate) fn adapt(mut error: RpcError) -> Refusal {
    let names_capabilities = error
        .data
        .as_ref()
        .is_some_and(|data| data["requiredCapabilities"].is_object());
    error.code = match error.code {
        RpcError::RESOURCE_NOT_FOUND => RpcError::INVALID_PARAMS,
        RpcError::MISSING_CLIENT_CAPABILITY if names_capabilities => error.code,
        code @ (RpcError::INVALID_REQUEST
        | RpcError::METHOD_NOT_FOUND
        | RpcError::INVALID_PARAMS) => code,
        -32_768..=-32_000 => RpcError::INTERNAL_ERROR,
        code => code,
    };
    let status = match error.code {
        RpcError::METHOD_NOT_FOUND => 404,
        RpcError::MISSING_CLIENT_CAPABILITY => 400,
        _ => 200,
    };
    Refusal::new(status, error)
}
