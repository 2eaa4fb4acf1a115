//! Schemas that are derived from types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use smol_mcp::{Context, NoInput, Structured, Tool};

use crate::common::{builder, each, listed, server};

/// What to add.
#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    #[serde(default)]
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
    /// Left out when it is not known, so that no client may count on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    carry: Option<bool>,
}

async fn add(input: Add) -> Structured<Sum> {
    Structured(Sum {
        sum: input.a + input.b,
        carry: None,
    })
}

#[test]
fn the_types_of_a_handler_say_what_clients_are_told() {
    let tool = Tool::typed("add", add).output_type::<Sum>();
    let listed = listed(&server([tool]));
    assert_eq!(
        listed.input_schema,
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Add",
            "description": "What to add.",
            "type": "object",
            "properties": {
                "a": { "type": "integer", "format": "int64", "description": "The first number." },
                "b": { "type": "integer", "format": "int64", "default": 0 },
            },
            "required": ["a"],
        })
    );
    let output = listed.output_schema.unwrap();
    assert_eq!(output["type"], "object");
    assert_eq!(output["required"], json!(["sum"]));
}

/// Reads less than it writes.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Page {
    #[serde(default)]
    next: u32,
}

#[test]
fn the_schema_of_a_result_is_that_of_what_is_written() {
    let tool =
        Tool::new("t", async |_: NoInput| Structured(Page { next: 1 })).output_type::<Page>();
    let output = listed(&server([tool])).output_schema.unwrap();
    assert_eq!(output["required"], json!(["next"]));
}

#[test]
fn a_typed_tool_takes_what_its_schema_says() {
    let tool = Tool::typed("t", async |input: Add, _: Context| {
        (input.a + input.b).to_string()
    });
    let wrong = match cfg!(feature = "validate") {
        true => "Invalid argument 'a': \"x\" is not of type \"integer\".",
        false => "Invalid argument 'a': invalid type: string \"x\", expected i64.",
    };
    each(
        tool.strict(),
        &[
            (r#"{"a":1,"b":2}"#, Ok("3")),
            (r#"{"a":1.0}"#, Ok("1")),
            (r#"{"a":"x"}"#, Err(wrong)),
            (r#"{"a":1,"c":2}"#, Err("Unknown argument 'c'.")),
        ],
    );
}

#[test]
fn a_typed_tool_may_take_nothing() {
    let tool = Tool::typed("t", async |_: NoInput| "done");
    assert_eq!(listed(&server([tool])).input_schema["type"], "object");
}

#[test]
fn a_type_that_is_no_object_is_refused() {
    let tool = Tool::typed("t", async |_: Vec<u8>| "done");
    let err = builder().tool(tool).build().expect_err("an array");
    let expected = "tool \"t\": the input schema must have \"type\": \"object\"";
    assert_eq!(err.to_string(), expected);
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[allow(dead_code)]
enum Internal {
    Circle { radius: u32 },
    Point,
    Square(Square),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Square {
    side: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "of")]
#[allow(dead_code)]
enum Adjacent {
    Circle { radius: u32 },
    Count(u32),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
enum External {
    Circle { radius: u32 },
    Square(Square),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Untagged {
    Circle { radius: u32 },
    Square(Square),
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
enum Mixed {
    Circle { radius: u32 },
    Nothing,
}

fn tool<T: serde::de::DeserializeOwned + JsonSchema + Send + 'static>() -> Tool {
    Tool::typed("t", async |_: T| "done")
}

#[test]
fn an_enum_of_objects_is_an_input() {
    for (tool, keyword) in [
        (tool::<Internal>(), "oneOf"),
        (tool::<Adjacent>(), "oneOf"),
        (tool::<External>(), "oneOf"),
        (tool::<Untagged>(), "anyOf"),
    ] {
        let schema = listed(&server([tool])).input_schema;
        assert_eq!(schema["type"], "object", "{schema}");
        assert!(
            schema[keyword].as_array().is_some_and(|all| all.len() > 1),
            "{schema}"
        );
    }
}

#[test]
fn an_enum_of_objects_is_an_output_for_clients_of_all_revisions() {
    let tool = Tool::new("t", async |_: NoInput| ()).output_type::<Adjacent>();
    assert_eq!(
        listed(&server([tool])).output_schema.unwrap()["type"],
        "object"
    );
    let tool = Tool::new("t", async |_: NoInput| ()).output_type::<Mixed>();
    assert_eq!(
        listed(&server([tool])).output_schema.unwrap().get("type"),
        None
    );
}

#[test]
fn an_enum_takes_each_of_its_variants_and_says_what_is_wrong_with_the_one_that_was_meant() {
    let says = |validated: &'static str, read: &'static str| match cfg!(feature = "validate") {
        true => Err(validated),
        false => Err(read),
    };
    each(
        tool::<Internal>().strict(),
        &[
            (r#"{"kind":"circle","radius":1}"#, Ok("done")),
            (r#"{"kind":"point"}"#, Ok("done")),
            (r#"{"kind":"square","side":2.0}"#, Ok("done")),
            (r#"{"kind":"point","x":1}"#, Err("Unknown argument 'x'.")),
            (
                r#"{"kind":"circle","radius":"x"}"#,
                says(
                    r#"Invalid argument 'radius': "x" is not of type "integer"."#,
                    r#"Invalid arguments: invalid type: string "x", expected u32."#,
                ),
            ),
            (
                r#"{"kind":"square"}"#,
                says(
                    r#"Invalid arguments: "side" is a required property."#,
                    "Invalid arguments: missing field `side`.",
                ),
            ),
            (
                r#"{"kind":"line"}"#,
                says(
                    r#"Invalid argument 'kind': expected one of "circle", "point", "square"."#,
                    "Invalid argument 'kind': unknown variant `line`, expected one of `circle`, `point`, `square`.",
                ),
            ),
        ],
    );
    each(
        tool::<External>(),
        &[
            (r#"{"Square":{"side":1}}"#, Ok("done")),
            (
                r#"{"Square":{"side":"x"}}"#,
                says(
                    r#"Invalid argument 'Square.side': "x" is not of type "integer"."#,
                    r#"Invalid argument 'Square.side': invalid type: string "x", expected u32."#,
                ),
            ),
        ],
    );
    each(
        tool::<Adjacent>(),
        &[(r#"{"kind":"Count","of":3}"#, Ok("done"))],
    );
    each(tool::<Untagged>(), &[(r#"{"side":3}"#, Ok("done"))]);
}

#[test]
fn an_enum_with_a_variant_that_is_no_object_is_refused_and_the_variant_named() {
    let err = builder().tool(tool::<Mixed>()).build().expect_err("a mix");
    let text = err.to_string();
    let begins = "tool \"t\": the input schema has a variant that is no object: {";
    assert!(
        text.starts_with(begins) && text.contains("\"Nothing\""),
        "{text}"
    );
}
