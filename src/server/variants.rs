//! Input schemas of enums: several objects, of which the arguments are one.

use serde_json::Value;

use crate::protocol::jsonrpc::{excerpt, json_text};

/// How far references are followed; a schema that leads in circles has an end.
const DEPTH: usize = 16;

/// Says at the root of a schema that it is of an object, as the protocol wants it, where all its variants say so.
///
/// # Errors
///
/// Returns what is wrong if one of several variants is no object.
pub(super) fn rooted(mut schema: Value) -> Result<Value, String> {
    if schema.get("type").is_some() || !schema.is_object() {
        return Ok(schema);
    }
    let mut all = variants(&schema).into_iter();
    let odd = all.find(|variant| !is_object(&schema, variant, DEPTH));
    if let Some(odd) = odd {
        let odd = json_text(odd);
        let odd = excerpt(&odd);
        return Err(format!(
            "the input schema has a variant that is no object: {odd}"
        ));
    }
    if is_object(&schema, &schema, DEPTH) {
        schema["type"] = "object".into();
    }
    Ok(schema)
}

/// Tells whether a schema names a property, in itself or in one of its variants.
pub(super) fn names(schema: &Value, property: &str) -> bool {
    some_part(schema, schema, DEPTH, &|part| {
        part.get("properties")
            .is_some_and(|all| all.get(property).is_some())
    })
}

/// Tells whether nothing but objects fit.
fn is_object(root: &Value, schema: &Value, depth: usize) -> bool {
    if let Some(kind) = schema.get("type") {
        return kind == "object";
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let is_object = |part: &&Value| is_object(root, part, depth);
    let variants = variants(schema);
    let split = !variants.is_empty() && variants.iter().all(is_object);
    split || parts(root, schema).iter().any(is_object)
}

fn some_part(root: &Value, schema: &Value, depth: usize, holds: &dyn Fn(&Value) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let mut all = variants(schema);
    all.extend(parts(root, schema));
    let holds_below = |part: &&Value| some_part(root, part, depth, holds);
    holds(schema) || all.iter().any(holds_below)
}

/// The schemas of which one has to fit.
fn variants(schema: &Value) -> Vec<&Value> {
    let mut all: Vec<_> = list(schema, "oneOf").iter().collect();
    all.extend(list(schema, "anyOf"));
    all
}

/// The schemas that have to fit as well.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let mut all: Vec<_> = list(schema, "allOf").iter().collect();
    let reference = schema.get("$ref").and_then(Value::as_str);
    all.extend(reference.and_then(|to| root.pointer(to.strip_prefix('#')?)));
    all
}

fn list<'a>(schema: &'a Value, word: &str) -> &'a [Value] {
    schema
        .get(word)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
