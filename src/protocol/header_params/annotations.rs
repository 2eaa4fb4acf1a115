//! The `x-mcp-header` annotations of a tool's input schema.

use serde_json::Value;

use super::HeaderParam;
use crate::protocol::Invalid;

/// The keyword in the schema of a property.
const KEYWORD: &str = "x-mcp-header";

/// What every header of an argument begins with.
const PREFIX: &str = "Mcp-Param-";

/// Collects the annotations of an input schema, in the order of the schema's properties.
///
/// # Errors
///
/// When an annotation is one for which clients drop the whole tool: it is no token of RFC 9110,
/// another differs from it at most in case, its property is not of the type `string`, `integer` or
/// `boolean`, or its property cannot be reached from the root through `properties` alone. The error
/// names the place in the schema.
pub(crate) fn collect(input_schema: &Value) -> Result<Vec<HeaderParam>, Invalid> {
    let mut found = Vec::new();
    let root = Place {
        pointer: String::new(),
        path: Some(Vec::new()),
    };
    walk(input_schema, &root, &mut found)?;
    Ok(found)
}

/// Where the walk is.
struct Place {
    /// The place in the schema, for errors.
    pointer: String,
    /// The names of the properties that lead from the root of the arguments here, if nothing but
    /// properties does.
    path: Option<Vec<String>>,
}

impl Place {
    #[inline(never)]
    fn below(&self, segment: &str, path: Option<Vec<String>>) -> Self {
        let pointer = format!("{}/{segment}", self.pointer);
        Self { pointer, path }
    }

    /// The path to a property, if there is one to the object that has it.
    fn path_to(&self, property: &str) -> Option<Vec<String>> {
        let mut path = self.path.clone()?;
        path.push(property.to_owned());
        Some(path)
    }
}

/// The keywords that hold schemas by name, beside `properties`.
const BY_NAME: [&str; 5] = [
    "$defs",
    "definitions",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
];

/// The keywords that hold a list of schemas.
const LISTS: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// The keywords that hold a schema.
const SINGLE: [&str; 12] = [
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

fn is_one_of(keywords: &[&str], keyword: &str) -> bool {
    keywords.contains(&keyword)
}

fn walk(schema: &Value, place: &Place, found: &mut Vec<HeaderParam>) -> Result<(), Invalid> {
    if let Some(annotation) = schema.get(KEYWORD) {
        let header = check_annotation(annotation, schema, place, found)
            .map_err(|reason| Invalid::new(format!("{KEYWORD} at {:?} {reason}", place.pointer)))?;
        let path = place.path.clone().unwrap_or_default();
        found.push(HeaderParam { header, path });
    }
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let (keyword, below) = (keyword.as_str(), place.below(keyword, None));
        let properties = keyword == "properties";
        match value {
            Value::Object(schemas) if properties || is_one_of(&BY_NAME, keyword) => {
                for (name, schema) in schemas {
                    let path = properties.then(|| place.path_to(name)).flatten();
                    walk(schema, &below.below(name, path), found)?;
                }
            }
            Value::Array(schemas) if is_one_of(&LISTS, keyword) => {
                for (index, schema) in schemas.iter().enumerate() {
                    walk(schema, &below.below(&index.to_string(), None), found)?;
                }
            }
            schema if is_one_of(&SINGLE, keyword) => walk(schema, &below, found)?,
            _ => {}
        }
    }
    Ok(())
}

#[inline(never)]
fn check_annotation(
    annotation: &Value,
    schema: &Value,
    place: &Place,
    found: &[HeaderParam],
) -> Result<String, String> {
    let name = annotation.as_str().ok_or("is not a string")?;
    if name.is_empty()
        || !name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    {
        return Err(format!(
            "is {name:?}, which cannot be a part of a header's name"
        ));
    }
    if place.path.as_ref().is_none_or(Vec::is_empty) {
        return Err("belongs to no property that is reached through \"properties\" alone".into());
    }
    match schema.get("type") {
        Some(Value::String(kind)) if matches!(kind.as_str(), "string" | "integer" | "boolean") => {}
        _ => return Err("needs a property of the type string, integer or boolean".into()),
    }
    let header = format!("{PREFIX}{name}");
    if found
        .iter()
        .any(|other| other.header.eq_ignore_ascii_case(&header))
    {
        return Err(format!("is {name:?}, which is there twice"));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotated(property: Value) -> Value {
        json!({"type": "object", "properties": {"a": property}})
    }

    fn complaint(schema: &Value) -> String {
        collect(schema).expect_err("is refused").to_string()
    }

    #[test]
    fn annotations_of_every_type_and_depth_are_found() {
        let schema = json!({"type": "object", "properties": {
            "s": {"type": "string", "x-mcp-header": "S"},
            "i": {"type": "integer", "x-mcp-header": "I!#$%&'*+-.^_`|~9"},
            "o": {"type": "object", "properties": {
                "b": {"type": "boolean", "x-mcp-header": "B"},
                "properties": {"type": "string", "x-mcp-header": "P"},
            }},
            "plain": {"type": "number"},
        }});
        let mut found: Vec<(String, String)> = collect(&schema)
            .unwrap()
            .iter()
            .map(|param| (param.header().to_owned(), param.path.join("/")))
            .collect();
        found.sort();
        let expected = [
            ("Mcp-Param-B", "o/b"),
            ("Mcp-Param-I!#$%&'*+-.^_`|~9", "i"),
            ("Mcp-Param-P", "o/properties"),
            ("Mcp-Param-S", "s"),
        ];
        assert_eq!(
            found,
            expected.map(|(header, path)| (header.to_owned(), path.to_owned()))
        );
    }

    #[test]
    fn rule_1_the_value_is_a_token() {
        for name in [
            json!(""),
            json!("a b"),
            json!("a:b"),
            json!("ä"),
            json!("a\n"),
            json!("a/b"),
            json!("(a)"),
        ] {
            let said = complaint(&annotated(json!({"type": "string", "x-mcp-header": name})));
            let expected = format!(
                "x-mcp-header at \"/properties/a\" is {name}, which cannot be a part of a header's name"
            );
            assert_eq!(said, expected);
        }
        let said = complaint(&annotated(json!({"type": "string", "x-mcp-header": 1})));
        assert_eq!(said, "x-mcp-header at \"/properties/a\" is not a string");
    }

    #[test]
    fn rule_2_each_name_is_there_once() {
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "b": {"type": "object", "properties": {"c": {"type": "string", "x-mcp-header": "REGION"}}},
        }});
        assert_eq!(
            complaint(&schema),
            "x-mcp-header at \"/properties/b/properties/c\" is \"REGION\", which is there twice",
        );
    }

    #[test]
    fn rule_3_the_property_is_a_plain_value() {
        for kind in [
            json!("number"),
            json!("null"),
            json!("array"),
            json!("object"),
            json!(["string"]),
            json!(["string", "null"]),
        ] {
            let said = complaint(&annotated(json!({"type": kind, "x-mcp-header": "A"})));
            assert_eq!(
                said,
                "x-mcp-header at \"/properties/a\" needs a property of the type string, integer or boolean"
            );
        }
        let said = complaint(&annotated(json!({"x-mcp-header": "A"})));
        assert_eq!(
            said,
            "x-mcp-header at \"/properties/a\" needs a property of the type string, integer or boolean"
        );
    }

    #[test]
    fn rule_4_the_property_is_reached_through_properties() {
        let leaf = json!({"type": "string", "x-mcp-header": "A"});
        let object = json!({"type": "object", "properties": {"x": leaf}});
        for (schema, pointer) in [
            (leaf.clone(), ""),
            (
                annotated(json!({"type": "array", "items": leaf})),
                "/properties/a/items",
            ),
            (
                annotated(json!({"type": "array", "prefixItems": [leaf]})),
                "/properties/a/prefixItems/0",
            ),
            (
                annotated(json!({"oneOf": [object]})),
                "/properties/a/oneOf/0/properties/x",
            ),
            (json!({"anyOf": [object]}), "/anyOf/0/properties/x"),
            (json!({"allOf": [object]}), "/allOf/0/properties/x"),
            (json!({"not": object}), "/not/properties/x"),
            (json!({"if": object}), "/if/properties/x"),
            (json!({"then": object}), "/then/properties/x"),
            (json!({"else": object}), "/else/properties/x"),
            (json!({"$defs": {"d": object}}), "/$defs/d/properties/x"),
            (json!({"$defs": {"d": leaf}}), "/$defs/d"),
            (
                json!({"additionalProperties": leaf}),
                "/additionalProperties",
            ),
            (
                json!({"patternProperties": {"^a": leaf}}),
                "/patternProperties/^a",
            ),
            (
                json!({"dependentSchemas": {"a": object}}),
                "/dependentSchemas/a/properties/x",
            ),
        ] {
            let expected = format!(
                "x-mcp-header at {pointer:?} belongs to no property that is reached through \"properties\" alone",
            );
            assert_eq!(complaint(&schema), expected);
        }
    }

    #[test]
    fn what_only_looks_like_an_annotation_is_left_alone() {
        for schema in [
            json!({"type": "object", "properties": {"x-mcp-header": {"type": "number"}}}),
            annotated(json!({"type": "object", "default": {"x-mcp-header": "a b"}})),
            annotated(json!({"enum": [{"x-mcp-header": "a b"}]})),
            annotated(json!({"examples": [{"x-mcp-header": "a b"}], "const": {"x-mcp-header": 1}})),
            json!(true),
        ] {
            assert_eq!(collect(&schema), Ok(Vec::new()), "{schema}");
        }
    }
}
