//! Schemas that arguments and results are held against.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use smol_mcp::protocol::ToolResult;
use smol_mcp::{HandlerError, NoInput, Structured, Tool};

use crate::client;
use crate::common::{builder, call, each, failure, result};

fn any() -> Tool {
    Tool::new("t", async |input: Value| {
        input.to_string().len().to_string()
    })
}

#[test]
fn arguments_are_held_against_the_input_schema() {
    let tool = any().input_schema(json!({
        "type": "object",
        "properties": {
            "dish": { "type": "string", "minLength": 1 },
            "portions": {
                "type": "array",
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": { "guests": { "type": "integer", "minimum": 1, "maximum": 8 } },
                },
            },
            "a/b": { "enum": ["x", "y"] },
        },
        "required": ["dish"],
        "additionalProperties": false,
    }));
    each(
        tool,
        &[
            (r#"{"dish":"a"}"#, Ok("12")),
            // A whole float is an integer, by JSON Schema as well.
            (r#"{"dish":"a","portions":[{"guests":2.0}]}"#, Ok("40")),
            (
                "{}",
                Err("Invalid arguments: \"dish\" is a required property."),
            ),
            (
                r#"{"dish":1}"#,
                Err("Invalid argument 'dish': 1 is not of type \"string\"."),
            ),
            (
                r#"{"dish":""}"#,
                Err("Invalid argument 'dish': \"\" is shorter than 1 character."),
            ),
            (
                r#"{"dish":"a","portions":[{"guests":2},{"guests":9}]}"#,
                Err("Invalid argument 'portions[1].guests': 9 is greater than the maximum of 8."),
            ),
            (
                r#"{"dish":"a","portions":[{"guests":"x"}]}"#,
                Err("Invalid argument 'portions[0].guests': \"x\" is not of type \"integer\"."),
            ),
            (
                r#"{"dish":"a","a/b":"z"}"#,
                Err("Invalid argument 'a/b': \"z\" is not one of \"x\" or \"y\"."),
            ),
            (
                r#"{"dish":"a","dishes":1}"#,
                Err(
                    "Invalid arguments: Additional properties are not allowed ('dishes' was unexpected).",
                ),
            ),
        ],
    );
}

#[test]
fn an_error_quotes_no_more_of_the_arguments_than_a_model_wants_to_read() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    client::with(
        &builder().tool(any().input_schema(schema)).build().unwrap(),
        async |client| {
            let arguments = format!(r#"{{"a":"{}"}}"#, "x".repeat(100_000));
            let answer = client.ask(&call(1, "t", &arguments)).await;
            assert!(answer.len() < 700, "{answer}");
            assert!(
                answer.contains(r#"is not of type \"integer\"."#),
                "{answer}"
            );
        },
    );
}

#[test]
fn references_within_a_schema_are_followed() {
    let tool = any().input_schema(json!({
        "type": "object",
        "properties": { "tree": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "type": "array", "items": { "$ref": "#/$defs/node" } } },
    }));
    each(
        tool,
        &[
            (r#"{"tree":[[],[[]]]}"#, Ok("18")),
            (
                r#"{"tree":[[],[7]]}"#,
                Err("Invalid argument 'tree[1][0]': 7 is not of type \"array\"."),
            ),
        ],
    );
}

#[test]
fn older_dialects_are_told_apart_by_their_name() {
    // `items` as an array is draft 7; in 2020-12 it is `prefixItems`.
    let tool = any().input_schema(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "pair": { "type": "array", "items": [{ "type": "string" }] } },
    }));
    each(
        tool,
        &[(
            r#"{"pair":[1]}"#,
            Err("Invalid argument 'pair[0]': 1 is not of type \"string\"."),
        )],
    );
}

// R348, R349: what is named and what is not named are the same, and not an older dialect.
#[test]
fn a_schema_without_a_dialect_is_of_2020_12() {
    for dialect in [None, Some("https://json-schema.org/draft/2020-12/schema")] {
        let mut schema = json!({
            "type": "object",
            "properties": {
                // Both keywords are younger than draft 7, which would ignore them.
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }], "items": false },
                "a": {},
            },
            "dependentRequired": { "a": ["pair"] },
        });
        if let Some(dialect) = dialect {
            schema["$schema"] = json!(dialect);
        }
        each(
            any().input_schema(schema),
            &[
                (r#"{"pair":["x"]}"#, Ok("14")),
                (
                    r#"{"pair":[1]}"#,
                    Err("Invalid argument 'pair[0]': 1 is not of type \"string\"."),
                ),
                (
                    r#"{"a":1}"#,
                    Err("Invalid arguments: \"pair\" is a required property."),
                ),
            ],
        );
    }
}

#[track_caller]
fn refused(tool: Tool, expected: &str) {
    let err = builder().tool(tool).build().expect_err(expected);
    assert!(err.is_definition());
    assert_eq!(err.to_string(), expected);
}

#[test]
fn schemas_that_are_none_or_point_elsewhere_are_refused() {
    refused(
        any().input_schema(json!({ "type": "object", "properties": { "a": { "type": "text" } } })),
        "tool \"t\": the input schema: \"text\" is not valid under any of the schemas listed in the 'anyOf' keyword",
    );
    for reference in [
        "https://example.com/schema.json",
        "file:///etc/hostname",
        "other.json",
    ] {
        let schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } } });
        let err = builder()
            .tool(any().input_schema(schema))
            .build()
            .expect_err(reference);
        let err = err.to_string();
        assert!(err.starts_with("tool \"t\": the input schema: "), "{err}");
        assert!(err.contains(reference), "{err}");
    }
    let schema = json!({ "type": "object", "$schema": "https://example.com/dialect" });
    let err = builder()
        .tool(any().input_schema(schema))
        .build()
        .expect_err("a dialect");
    assert!(
        err.to_string().contains("https://example.com/dialect"),
        "{err}"
    );
    let schema = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/none" } } });
    let err = builder()
        .tool(any().output_schema(schema))
        .build()
        .expect_err("a reference");
    assert!(
        err.to_string()
            .starts_with("tool \"t\": the output schema: "),
        "{err}"
    );
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_a_failure_of_the_tool() {
    let schema = json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] });
    let returning = |name: &str, result: ToolResult| {
        Tool::new(name, move |_: NoInput| std::future::ready(result.clone()))
            .output_schema(schema.clone())
    };
    let failures = Arc::new(Mutex::new(Vec::new()));
    let seen = failures.clone();
    let server = builder()
        .tool(returning(
            "fits",
            ToolResult::structured(json!({ "sum": 3 })),
        ))
        .tool(returning(
            "misfits",
            ToolResult::structured(json!({ "sum": "3" })),
        ))
        .tool(returning("unstructured", ToolResult::text("3")))
        .tool(returning("failed", ToolResult::error("no")))
        .tool(
            Tool::new("public", async |_: NoInput| {
                Err::<Structured<u8>, _>(HandlerError::public("no"))
            })
            .output_schema(schema.clone()),
        )
        .on_error(move |failure| seen.lock().unwrap().push(failure.error.to_string()))
        .build()
        .unwrap();
    client::with(&server, async |client| {
        client.send(&call(1, "fits", "{}")).await;
        let members =
            r#""content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3}"#;
        client.expect(&result(1, members)).await;
        client.send(&call(2, "misfits", "{}")).await;
        client.expect(&failure(2, "The tool failed.")).await;
        client.send(&call(3, "unstructured", "{}")).await;
        client.expect(&failure(3, "The tool failed.")).await;
        // A failure is told as it is: it has no structure to check.
        client.send(&call(4, "failed", "{}")).await;
        client.expect(&failure(4, "no")).await;
        client.send(&call(5, "public", "{}")).await;
        client.expect(&failure(5, "no")).await;
    });
    let expected = [
        "the structured result: 'sum': \"3\" is not of type \"integer\"",
        "no structured result",
    ];
    assert_eq!(*failures.lock().unwrap(), expected);
}
