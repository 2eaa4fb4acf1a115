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
    let odd = variants(&schema).find(|variant| !is_object(&schema, variant, DEPTH));
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
    let all = variants(schema).all(|variant| is_object(root, variant, depth));
    let split = variants(schema).next().is_some() && all;
    split || parts(root, schema).any(|part| is_object(root, part, depth))
}

fn some_part(root: &Value, schema: &Value, depth: usize, holds: &dyn Fn(&Value) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    let mut all = variants(schema).chain(parts(root, schema));
    holds(schema) || all.any(|part| some_part(root, part, depth, holds))
}

/// The schemas of which one has to fit.
fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"]
        .into_iter()
        .flat_map(|word| list(schema, word))
}

/// The schemas that have to fit as well.
fn parts<'a>(root: &'a Value, schema: &'a Value) -> impl Iterator<Item = &'a Value> {
    let reference = schema.get("$ref").and_then(Value::as_str);
    let referred = reference.and_then(|to| root.pointer(to.strip_prefix('#')?));
    list(schema, "allOf").chain(referred)
}

fn list<'a>(schema: &'a Value, word: &str) -> impl Iterator<Item = &'a Value> {
    schema
        .get(word)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
