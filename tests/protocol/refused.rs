//! What is refused, and that the complaint names the member.

use serde::de::DeserializeOwned;
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
