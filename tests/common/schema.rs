//! What a server says, held against the schema of the revision that it says it under.

#![allow(dead_code)] // Each test binary uses its part.

#[cfg(feature = "validate")]
use std::collections::HashMap;
#[cfg(feature = "validate")]
use std::sync::{Arc, Mutex, OnceLock};

#[cfg(feature = "validate")]
use jsonschema::Validator;
use serde_json::Value;

const MODERN: &str = "2026-07-28";

#[cfg(feature = "validate")]
fn text(revision: &str) -> Option<&'static str> {
    match revision {
        MODERN => Some(include_str!("../schema/schema-2026-07-28.json")),
        "2025-11-25" => Some(include_str!("../schema/schema-2025-11-25.json")),
        "2025-06-18" | "2025-03-26" | "2024-11-05" => {
            Some(include_str!("../schema/schema-2025-06-18.json"))
        }
        // There is no schema of those before. What they allow is part of what the next one does.
        _ => None,
    }
}

/// Compiles one definition of a revision, once.
#[cfg(feature = "validate")]
fn definition(revision: &str, name: &'static str) -> Option<Arc<Validator>> {
    type Compiled = HashMap<(String, &'static str), Arc<Validator>>;
    static COMPILED: OnceLock<Mutex<Compiled>> = OnceLock::new();
    let text = text(revision)?;
    let mut compiled = COMPILED.get_or_init(Mutex::default).lock().unwrap();
    let validator = compiled
        .entry((revision.to_owned(), name))
        .or_insert_with(|| {
            let mut schema: Value = serde_json::from_str(text).unwrap();
            let definitions = match schema.get("$defs") {
                Some(_) => "$defs",
                None => "definitions",
            };
            assert!(
                schema[definitions].get(name).is_some(),
                "{revision} has no {name}"
            );
            let root = schema.as_object_mut().unwrap();
            root.retain(|keyword, _| keyword.starts_with('$') || keyword == definitions);
            root.insert("$ref".into(), format!("#/{definitions}/{name}").into());
            Arc::new(jsonschema::options().build(&schema).unwrap())
        });
    Some(validator.clone())
}

/// Checks a value against one definition, if there is a schema of the revision.
#[cfg(feature = "validate")]
#[track_caller]
pub fn conforms(value: &Value, revision: &str, name: &'static str) {
    let Some(validator) = definition(revision, name) else {
        return;
    };
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|err| err.to_string())
        .collect();
    assert!(
        errors.is_empty(),
        "{revision} {name}: {errors:?}\n{value:#}"
    );
}

/// Without the validator every message is let pass.
#[cfg(not(feature = "validate"))]
pub fn conforms(_: &Value, _: &str, _: &'static str) {}

/// Checks one message of a server, or an array of them, on a connection whose legacy session is of this revision, if
/// that is known.
#[track_caller]
pub fn check(text: &str, session: Option<&str>) {
    if cfg!(not(feature = "validate")) {
        return;
    }
    let message: Value = serde_json::from_str(text).expect("a message is JSON");
    // The newest of the legacy era allows what those before it do.
    let session = session.unwrap_or("2025-11-25");
    match &message {
        Value::Array(messages) => messages.iter().for_each(|each| check_one(each, session)),
        message => check_one(message, session),
    }
}

/// Checks all messages of the body of a response: one as JSON, or some as whole events.
#[track_caller]
pub fn check_body(text: &str) {
    for line in text.lines() {
        let data = line.strip_prefix("data: ").unwrap_or(line);
        if data.starts_with(['{', '[']) && !line.contains("\"authorization_servers\"") {
            check(data, None);
        }
    }
}

#[track_caller]
fn check_one(message: &Value, session: &str) {
    let subscription = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    if message.get("method").is_some() {
        match (message.get("id"), subscription.is_null()) {
            (Some(_), _) => conforms(message, session, "ServerRequest"),
            (None, true) => conforms(message, session, "ServerNotification"),
            (None, false) => conforms(message, MODERN, "ServerNotification"),
        }
        return;
    }
    let result = &message["result"];
    let (revision, whole) = match result["resultType"].as_str() {
        Some("input_required") => return conforms(result, MODERN, "InputRequiredResult"),
        Some(_) => (MODERN, "JSONRPCResultResponse"),
        // A ping is legacy in any case, and an error is the same in both eras.
        None => (session, "JSONRPCMessage"),
    };
    conforms(message, revision, whole);
    if let Some(kind) = kind(result) {
        conforms(result, revision, kind);
    }
}

/// What a result is, by the member that no other has.
fn kind(result: &Value) -> Option<&'static str> {
    let kinds = [
        ("content", "CallToolResult"),
        ("contents", "ReadResourceResult"),
        ("messages", "GetPromptResult"),
        ("completion", "CompleteResult"),
        ("tools", "ListToolsResult"),
        ("resources", "ListResourcesResult"),
        ("resourceTemplates", "ListResourceTemplatesResult"),
        ("prompts", "ListPromptsResult"),
        ("supportedVersions", "DiscoverResult"),
        ("protocolVersion", "InitializeResult"),
    ];
    let subscription = &result["_meta"]["io.modelcontextprotocol/subscriptionId"];
    match subscription.is_null() {
        true => kinds
            .iter()
            .find(|(member, _)| result.get(member).is_some())
            .map(|(_, kind)| *kind),
        false => Some("SubscriptionsListenResult"),
    }
}
