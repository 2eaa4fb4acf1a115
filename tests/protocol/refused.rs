//! What is refused, and that the complaint names the member.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use smol_mcp::protocol::elicitation::Format;
use smol_mcp::protocol::sampling::ModelPreferences;
use smol_mcp::protocol::*;

/// Asserts what is said about `text`, read as text and as a value.
#[track_caller]
fn refused<T: DeserializeOwned>(text: &str, complaint: &str) {
    let err = serde_json::from_str::<T>(text).err().expect("is refused");
    let said = err.to_string();
    let said = said.split(" at line ").next().unwrap();
    assert_eq!(said, complaint);
    assert!(err.is_data());
}

#[test]
fn a_member_that_is_missing() {
    refused::<Implementation>(r#"{"name":"a"}"#, "missing field `version`");
    refused::<ToolInfo>(r#"{"name":"a"}"#, "missing field `inputSchema`");
    refused::<Content>(r#"{"text":"a"}"#, "missing field `type`");
    refused::<Content>(r#"{"type":"image","data":""}"#, "missing field `mimeType`");
}

#[test]
fn a_member_that_comes_twice() {
    refused::<Implementation>(
        r#"{"name":"a","version":"1","name":"b"}"#,
        "duplicate field `name`",
    );
    refused::<Icon>(
        r#"{"src":"a","theme":null,"theme":"dark"}"#,
        "duplicate field `theme`",
    );
    refused::<Content>(
        r#"{"type":"text","text":"a","text":"b"}"#,
        "duplicate field `text`",
    );
    refused::<Content>(
        r#"{"type":"text","text":"a","type":"text"}"#,
        "duplicate field `type`",
    );
}

#[test]
fn a_member_of_the_wrong_type() {
    refused::<Implementation>(
        r#"{"name":1,"version":"1"}"#,
        "name: invalid type: integer `1`, expected a string",
    );
    refused::<Implementation>(
        r#"{"name":null,"version":"1"}"#,
        "name: invalid type: null, expected a string",
    );
    refused::<ResourceInfo>(
        r#"{"uri":"a:b","name":"n","annotations":{"priority":"high"}}"#,
        "annotations: priority: invalid type: string \"high\", expected f64",
    );
    refused::<ResourceInfo>(
        r#"{"uri":"a:b","name":"n","size":-1}"#,
        "size: invalid value: integer `-1`, expected u64",
    );
    refused::<ToolResult>(
        r#"{"content":"x"}"#,
        "content: invalid type: string \"x\", expected a sequence",
    );
    refused::<CompletionRequest>(
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":5}}"#,
        "argument: value: invalid type: integer `5`, expected a string",
    );
    refused::<Content>(r#"{"type":1}"#, "type: expected a string");
}

#[test]
fn anything_but_an_object() {
    refused::<Implementation>(r#"["a","1"]"#, "invalid type: sequence, expected an object");
    refused::<Content>(
        r#""text""#,
        "invalid type: string \"text\", expected an object",
    );
    refused::<ReadResult>("null", "invalid type: null, expected an object");
}

#[test]
fn a_word_that_is_not_known() {
    refused::<Content>(r#"{"type":"video"}"#, r#"type: unknown type "video""#);
    refused::<CompletionRequest>(
        r#"{"ref":{"type":"ref/tool","name":"p"},"argument":{"name":"a","value":""}}"#,
        r#"ref: type: unknown type "ref/tool""#,
    );
    refused::<PromptMessage>(
        r#"{"role":"system","content":{"type":"text","text":""}}"#,
        r#"role: unknown role "system""#,
    );
    refused::<LogLevel>(r#""WARNING""#, r#"unknown log level "WARNING""#);
}

#[test]
fn contents_with_both_bodies_or_none() {
    let complaint = "resource contents need either `text` or `blob`";
    refused::<ResourceContents>(r#"{"uri":"a:b"}"#, complaint);
    refused::<ResourceContents>(r#"{"uri":"a:b","text":"","blob":""}"#, complaint);
}

#[test]
fn unknown_members_are_ignored() {
    let read: Implementation =
        serde_json::from_str(r#"{"x":{"deep":[1]},"name":"a","y":null,"version":"1","x":2}"#)
            .unwrap();
    assert_eq!(read, Implementation::new("a", "1"));
    let block: Content = serde_json::from_str(r#"{"type":"text","data":5,"text":"a"}"#).unwrap();
    assert_eq!(block, Content::text("a"));
}

#[test]
fn null_reads_as_left_out() {
    let read: Implementation =
        serde_json::from_str(r#"{"name":"a","version":"1","title":null,"icons":null}"#).unwrap();
    assert_eq!(read, Implementation::new("a", "1"));
    let tool: ToolResult =
        serde_json::from_str(r#"{"content":[],"isError":null,"_meta":null}"#).unwrap();
    assert_eq!(tool, ToolResult::default());
}

#[test]
fn an_answer_that_is_none() {
    refused::<ElicitAnswer>("{}", "missing field `action`");
    refused::<ElicitAnswer>("null", "invalid type: null, expected an object");
    refused::<ElicitAnswer>(r#"{"action":"ok"}"#, r#"action: unknown action "ok""#);
    let complaint = "content: a: expected a string, a number, a boolean or an array of strings";
    refused::<ElicitAnswer>(r#"{"action":"accept","content":{"a":{}}}"#, complaint);
    refused::<ElicitAnswer>(r#"{"action":"accept","content":{"a":["x",1]}}"#, complaint);
    refused::<ElicitAnswer>(
        r#"{"action":"accept","content":[]}"#,
        "content: invalid type: sequence, expected a map",
    );
    refused::<Roots>(r#"{"roots":[{"name":"x"}]}"#, "roots: missing field `uri`");
    refused::<CreateMessageResult>(
        r#"{"role":"assistant","content":{"type":"video"},"model":"m"}"#,
        r#"content: type: unknown type "video""#,
    );
    refused::<CreateMessageResult>(
        r#"{"role":"assistant","content":[],"content":[],"model":"m"}"#,
        "duplicate field `content`",
    );
}

#[test]
fn answers_that_do_not_fit_the_form() {
    let schema = FormSchema::new()
        .required("text", Field::text().min_length(2).max_length(3))
        .optional("mail", Field::text().format(Format::Email))
        .optional("whole", Field::integer().minimum(1).maximum(3))
        .optional("number", Field::number())
        .optional("yes", Field::boolean())
        .optional("one", Field::choice(["a", "b"]))
        .optional(
            "many",
            Field::choices(["a", "b", "c"]).min_items(1).max_items(2),
        );
    let form = Elicit::form("?", schema);
    let check = |content: Value| {
        let answer = ElicitAnswer::accept(content.as_object().unwrap().clone());
        form.check_answer(&answer).map_err(|err| err.to_string())
    };
    assert_eq!(check(json!({"text": "äöü", "other": 1})), Ok(()));
    let all = json!({"text": "ab", "mail": "a@b", "whole": 2.0, "number": -0.5, "yes": false, "one": "b", "many": ["c", "a"]});
    assert_eq!(check(all), Ok(()));
    for (field, value, reason) in [
        ("text", json!("a"), "shorter than 2 characters"),
        ("text", json!("abcd"), "longer than 3 characters"),
        ("text", json!(12), "not a string"),
        ("mail", json!("a"), "not of the format email"),
        ("whole", json!(1.5), "not a whole number"),
        ("whole", json!(0), "less than 1"),
        ("whole", json!(4), "more than 3"),
        ("whole", json!("2"), "not a number"),
        ("number", json!(true), "not a number"),
        ("yes", json!("true"), "not a boolean"),
        ("one", json!("c"), "not one of the choices"),
        ("one", json!(["a"]), "not a string"),
        ("many", json!("a"), "not an array"),
        ("many", json!([]), "fewer than 1 values"),
        ("many", json!(["a", "b", "c"]), "more than 2 values"),
        ("many", json!(["a", "d"]), "not one of the choices"),
    ] {
        let mut content = json!({"text": "ab"});
        content[field] = value;
        assert_eq!(check(content), Err(format!("field {field:?}: {reason}")));
    }
    assert_eq!(check(json!({})), Err(r#"field "text": missing"#.into()));
    assert_eq!(form.check_answer(&ElicitAnswer::decline()), Ok(()));
}

#[test]
fn forms_that_cannot_be_filled_in() {
    #[track_caller]
    fn wrong(field: impl Into<Field>, reason: &str) {
        let err = FormSchema::new().required("f", field).check().unwrap_err();
        assert_eq!(err.to_string(), format!(r#"field "f": {reason}"#));
    }
    wrong(
        Field::text().min_length(2).max_length(1),
        "the minimum exceeds the maximum",
    );
    wrong(
        Field::text().max_length(1).default_value("ab"),
        "default: longer than 1 characters",
    );
    wrong(Field::number().minimum(f64::NAN), "not a finite number");
    wrong(
        Field::number().minimum(2).maximum(1),
        "the minimum exceeds the maximum",
    );
    wrong(
        Field::integer().default_value(0.5),
        "default: not a whole number",
    );
    wrong(
        Field::choice(Vec::<String>::new()),
        "nothing to choose from",
    );
    wrong(
        Field::choice(["a", "a"]),
        r#"the choice "a" is there twice"#,
    );
    wrong(
        Field::choice(["a"]).default_value("b"),
        "default: not one of the choices",
    );
    wrong(
        Field::choices(["a"])
            .min_items(1)
            .default_value(Vec::<String>::new()),
        "default: fewer than 1 values",
    );

    let twice = FormSchema::new()
        .required("f", Field::boolean())
        .optional("f", Field::text());
    assert_eq!(
        twice.check().unwrap_err().to_string(),
        r#"field "f" is there twice"#
    );
    let page = Elicit::url("?", "h.example/sign-in");
    assert_eq!(
        page.check().unwrap_err().to_string(),
        r#"not a URL: "h.example/sign-in""#
    );
}

#[test]
fn conversations_in_which_tools_do_not_pair_up() {
    let ask = |id| SamplingContent::tool_use(id, "t", json!({}));
    let answer = |id| SamplingContent::tool_result(id, Vec::new());
    let model = |blocks| SamplingMessage::new(Role::Assistant, blocks);
    let person = |blocks| SamplingMessage::new(Role::User, blocks);
    let check = |messages: Vec<SamplingMessage>| {
        let request = messages
            .into_iter()
            .fold(CreateMessage::new(9), CreateMessage::message);
        request.check().map_err(|err| err.to_string())
    };
    let pairs = vec![
        person(vec!["q".into()]),
        model(vec!["let me see".into(), ask("1"), ask("2")]),
        person(vec![answer("2"), answer("1")]),
        model(vec![ask("1")]),
        person(vec![answer("1")]),
    ];
    assert_eq!(check(pairs), Ok(()));
    for (messages, at) in [
        (vec![person(vec![ask("1")])], 0),
        (vec![model(vec![ask("1"), ask("1")])], 0),
        (vec![person(vec![answer("1")])], 0),
        (vec![model(vec![ask("1")]), model(vec![answer("1")])], 1),
        (
            vec![model(vec![ask("1"), ask("2")]), person(vec![answer("1")])],
            1,
        ),
        (
            vec![
                model(vec![ask("1")]),
                person(vec![answer("1"), "and".into()]),
            ],
            1,
        ),
        (vec![model(vec![ask("1")]), person(vec!["no".into()])], 1),
        (
            vec![
                model(vec![ask("1")]),
                person(vec![answer("1"), answer("1")]),
            ],
            1,
        ),
    ] {
        assert_eq!(
            check(messages),
            Err(format!(
                "message {at}: tool uses and tool results do not pair up"
            ))
        );
    }
    assert_eq!(
        check(vec![model(vec![ask("1")])]),
        Err(r#"the tool use "1" has no result"#.into())
    );
}

#[test]
fn sampling_numbers_that_json_cannot_hold() {
    let heated = CreateMessage::new(1).temperature(f64::INFINITY);
    assert_eq!(
        heated.check().unwrap_err().to_string(),
        "the temperature is not a finite number"
    );
    let picky =
        CreateMessage::new(1).model_preferences(ModelPreferences::default().speed_priority(1.5));
    assert_eq!(
        picky.check().unwrap_err().to_string(),
        "a model preference lies outside 0 to 1"
    );
}
