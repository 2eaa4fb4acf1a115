//! What a model reads of arguments that are wrong, so that it can repair its call. The texts are those of inputs without
//! a schema: with the feature `validate` a schema is held against them first.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use smol_mcp::{Structured, Tool};

use crate::client;
use crate::common::{call, each, failure, server};

#[derive(Debug, Deserialize)]
struct Order {
    dish: String,
    #[serde(default)]
    portions: Vec<Portion>,
    #[serde(default)]
    size: Option<Size>,
    #[serde(default)]
    notes: BTreeMap<String, u8>,
}

#[derive(Debug, Deserialize)]
struct Portion {
    guests: u8,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

fn order() -> Tool {
    Tool::new("t", async |order: Order| {
        let guests: u32 = order
            .portions
            .iter()
            .map(|portion| u32::from(portion.guests))
            .sum();
        let small = matches!(order.size, Some(Size::Small));
        format!(
            "{} for {guests}, small: {small}, notes: {}",
            order.dish,
            order.notes.len()
        )
    })
}

#[test]
fn an_error_names_the_path_of_the_argument_and_what_was_expected() {
    each(
        order(),
        &[
            (
                r#"{"dish":"soup","portions":[{"guests":2},{"guests":3}],"size":"small"}"#,
                Ok("soup for 5, small: true, notes: 0"),
            ),
            ("{}", Err("Invalid arguments: missing field `dish`.")),
            (
                r#"{"dish":7}"#,
                Err("Invalid argument 'dish': invalid type: integer `7`, expected a string."),
            ),
            (
                r#"{"dish":null}"#,
                Err("Invalid argument 'dish': invalid type: null, expected a string."),
            ),
            (
                r#"{"dish":"soup","portions":{}}"#,
                Err("Invalid argument 'portions': invalid type: map, expected a sequence."),
            ),
            (
                r#"{"dish":"soup","portions":[{"guests":2},{"guests":"three"}]}"#,
                Err(
                    "Invalid argument 'portions[1].guests': invalid type: string \"three\", expected u8.",
                ),
            ),
            (
                r#"{"dish":"soup","portions":[{"guests":2},{}]}"#,
                Err("Invalid argument 'portions[1]': missing field `guests`."),
            ),
            (
                r#"{"dish":"soup","portions":[{"guests":300}]}"#,
                Err(
                    "Invalid argument 'portions[0].guests': invalid value: integer `300`, expected u8.",
                ),
            ),
            (
                r#"{"dish":"soup","size":"huge"}"#,
                Err(
                    "Invalid argument 'size': unknown variant `huge`, expected `small` or `large`.",
                ),
            ),
            (
                r#"{"dish":"soup","notes":{"salt":"much"}}"#,
                Err("Invalid argument 'notes.salt': invalid type: string \"much\", expected u8."),
            ),
            (
                r#"{"dish":"soup","dish":"salad"}"#,
                Err("Invalid arguments: duplicate field `dish`."),
            ),
        ],
    );
}

#[test]
fn whole_floats_are_integers_where_integers_are_expected() {
    each(
        order(),
        &[
            (
                r#"{"dish":"soup","portions":[{"guests":2.0},{"guests":3e0}],"notes":{"salt":1.0}}"#,
                Ok("soup for 5, small: false, notes: 1"),
            ),
            (
                r#"{"dish":"\"1.0\" soup","portions":[{"guests":2.0}],"notes":{"2.0":1.0}}"#,
                Ok(r#"\"1.0\" soup for 2, small: false, notes: 1"#),
            ),
            (
                r#"{"dish":"soup","dish":"salad","portions":[{"guests":2.0}]}"#,
                Err("Invalid arguments: duplicate field `dish`."),
            ),
            (
                r#"{"dish":"soup","portions":[{"guests":2.5}]}"#,
                Err(
                    "Invalid argument 'portions[0].guests': invalid type: floating point `2.5`, expected u8.",
                ),
            ),
            (
                r#"{"dish":"soup","portions":[{"guests":-1.0}]}"#,
                Err(
                    "Invalid argument 'portions[0].guests': invalid value: integer `-1`, expected u8.",
                ),
            ),
        ],
    );
}

#[derive(Deserialize)]
struct Numbers {
    whole: i64,
    float: f64,
}

#[test]
fn floats_stay_floats_where_floats_are_expected_and_large_ones_are_not_guessed_at() {
    let tool = Tool::new("t", async |numbers: Numbers| {
        format!("{} and {:?}", numbers.whole, numbers.float)
    });
    each(
        tool,
        &[
            (r#"{"whole":1.0,"float":2.0}"#, Ok("1 and 2.0")),
            (
                r#"{"whole":-9007199254740992.0,"float":2.5}"#,
                Ok("-9007199254740992 and 2.5"),
            ),
            (
                r#"{"whole":9007199254740993,"float":1}"#,
                Ok("9007199254740993 and 1.0"),
            ),
            (
                r#"{"whole":9007199254740994.0,"float":1}"#,
                Err(
                    "Invalid argument 'whole': invalid type: floating point `9007199254740994.0`, expected i64.",
                ),
            ),
        ],
    );
}

#[test]
fn values_that_fit_are_passed_as_they_were_sent() {
    let tool = Tool::new("t", async |value: Value| Structured(value));
    client::with(&server([tool]), async |client| {
        let sent = r#"{"float":1.0,"large":18446744073709551615,"none":null}"#;
        let answer = client.ask(&call(1, "t", sent)).await;
        assert!(
            answer.contains(&format!(r#""structuredContent":{sent}"#)),
            "{answer}"
        );
    });
}

#[test]
fn an_error_quotes_no_more_of_the_arguments_than_a_model_wants_to_read() {
    client::with(&server([order()]), async |client| {
        let long = "é".repeat(100_000);
        let arguments = format!(r#"{{"dish":"soup","portions":[{{"guests":"{long}"}}]}}"#);
        let answer = client.ask(&call(1, "t", &arguments)).await;
        assert!(answer.len() < 700, "{answer}");
        assert!(
            answer.contains("'portions[0].guests': invalid type: string"),
            "{answer}"
        );
        assert!(answer.contains("expected u8."), "{answer}");
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Closed {
    #[serde(rename = "name")]
    _name: String,
}

#[test]
fn unknown_arguments_are_refused_by_name_where_the_author_says_so() {
    let schema = json!({ "type": "object", "properties": { "dish": { "type": "string" } } });
    let strict = order().input_schema(schema).strict();
    each(
        strict,
        &[
            (
                r#"{"dish":"soup"}"#,
                Ok("soup for 0, small: false, notes: 0"),
            ),
            (
                r#"{"dish":"soup","dishes":2}"#,
                Err("Unknown argument 'dishes'."),
            ),
        ],
    );
    each(
        order(),
        &[(
            r#"{"dish":"soup","dishes":2}"#,
            Ok("soup for 0, small: false, notes: 0"),
        )],
    );
    // The type of the input may be strict by itself, and names what it knows.
    each(
        Tool::new("t", async |_: Closed| "done"),
        &[(
            r#"{"nome":"x"}"#,
            Err("Invalid argument 'nome': unknown field `nome`, expected `name`."),
        )],
    );
}

#[test]
fn a_tool_without_properties_that_is_strict_takes_nothing() {
    let tool = Tool::new("t", async |_: Value| "done").strict();
    each(
        tool,
        &[
            ("{}", Ok("done")),
            (r#"{"x":1}"#, Err("Unknown argument 'x'.")),
        ],
    );
}

#[test]
fn arguments_that_are_no_object_are_a_protocol_error() {
    client::with(&server([order()]), async |client| {
        client.send(&call(1, "t", "[]")).await;
        let error = r#"{"code":-32602,"message":"Invalid 'arguments': expected an object"}"#;
        client
            .expect(&format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#))
            .await;
        client.send(&call(2, "u", "{}")).await;
        let error = r#"{"code":-32602,"message":"Unknown tool: u"}"#;
        client
            .expect(&format!(r#"{{"jsonrpc":"2.0","id":2,"error":{error}}}"#))
            .await;
        client.send(&call(3, "t", r#"{"dish":7}"#)).await;
        let text = "Invalid argument 'dish': invalid type: integer `7`, expected a string.";
        client.expect(&failure(3, text)).await;
    });
}
