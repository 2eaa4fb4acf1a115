//! What a server says, held against the schema of the revision that it says it under.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";

fn text(revision: &str) -> Option<&'static str> {
    match revision {
        MODERN => Some(include_str!("../schema/schema-2026-07-28.json")),
        "2025-11-25" => Some(include_str!("../schema/schema-2025-11-25.json")),
        "2025-06-18" => Some(include_str!("../schema/schema-2025-06-18.json")),
        // There is no schema of those before.
        _ => None,
    }
}

/// Compiles one definition of a revision, once.
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
            root.insert("$ref".into(), json!(format!("#/{definitions}/{name}")));
            Arc::new(jsonschema::options().build(&schema).unwrap())
        });
    Some(validator.clone())
}

/// Checks a value against one definition, if there is a schema of the revision.
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

/// Checks one message of a server, on a connection whose legacy session is of this revision, if there is one.
#[track_caller]
pub fn check(line: &str, session: Option<&str>) {
    let message: Value = serde_json::from_str(line).expect("a message is JSON");
    let legacy = session.unwrap_or("none");
    let subscription = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    if message.get("method").is_some() {
        match (message.get("id"), subscription.is_null()) {
            (Some(_), _) => conforms(&message, legacy, "ServerRequest"),
            (None, true) => conforms(&message, legacy, "ServerNotification"),
            (None, false) => conforms(&message, MODERN, "ServerNotification"),
        }
        return;
    }
    match message["result"]["resultType"].as_str() {
        Some("input_required") => conforms(&message["result"], MODERN, "InputRequiredResult"),
        Some(_) => conforms(&message, MODERN, "JSONRPCResultResponse"),
        // A ping is legacy in any case, and an error is the same in both eras.
        None => conforms(&message, session.unwrap_or("2025-11-25"), "JSONRPCMessage"),
    }
    let closing = &message["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    if !closing.is_null() {
        conforms(&message, MODERN, "SubscriptionsListenResultResponse");
    }
}
