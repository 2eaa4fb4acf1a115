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
