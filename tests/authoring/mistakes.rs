//! What an author does wrong is told when the server is built, and names the thing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use smol_mcp::protocol::{
    Content, PromptArgument, PromptInfo, PromptResult, ResourceContents, ResourceInfo,
    ResourceTemplateInfo, ToolResult,
};
use smol_mcp::{Builder, Context, Limits, List, NoInput, Prompt, Resource, ResourceTemplate, Tool};

use crate::client;
use crate::common::{builder, call, failure};

fn tool(name: &str) -> Tool {
    Tool::new(name, async |_: NoInput| "done")
}

fn resource(uri: &str) -> Resource {
    Resource::new(
        ResourceInfo::new(uri, "r"),
        async |uri: String, _: Context| ResourceContents::text(uri, "memo"),
    )
}

fn template(pattern: &str) -> Result<ResourceTemplate, smol_mcp::Error> {
    let info = ResourceTemplateInfo::new(pattern, "r");
    ResourceTemplate::new(info, async |uri: String, _, _: Context| {
        ResourceContents::text(uri, "memo")
    })
}

fn prompt(info: PromptInfo) -> Prompt {
    Prompt::new(info, async |_, _| PromptResult::user("hi"))
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[track_caller]
fn refused(builder: Builder, expected: &str) {
    let err = builder.build().expect_err(expected);
    assert!(err.is_definition());
    assert_eq!(err.to_string(), expected);
}

// Clients refuse the whole list of tools for such a schema.
#[test]
fn a_schema_that_clients_cannot_read_is_refused_whatever_the_features() {
    for (member, value, expected) in [
        (
            "properties",
            json!(["a"]),
            "\"properties\" must be an object of schemas",
        ),
        (
            "properties",
            json!({ "a": "integer" }),
            "\"properties\" must be an object of schemas",
        ),
        (
            "required",
            json!("a"),
            "\"required\" must be an array of names",
        ),
        (
            "required",
            json!([1]),
            "\"required\" must be an array of names",
        ),
    ] {
        let tool = tool("t").input_schema(json!({ "type": "object", member: value }));
        let err = builder().tool(tool).build().expect_err(expected);
        // The feature `validate` tells of the same mistakes in its own words.
        let expected = match cfg!(feature = "validate") {
            true => "tool \"t\": ".to_owned(),
            false => format!("tool \"t\": the input schema: {expected}"),
        };
        assert!(err.to_string().starts_with(&expected), "{err}");
    }
}

#[test]
fn mistakes_in_tools_are_refused() {
    refused(
        builder().tool(tool("")),
        "tool \"\": the tool name is empty",
    );
    refused(
        builder().tool(tool("two words")),
        "tool \"two words\": the tool name \"two words\" holds ' ', not only letters, digits, '_', '-' and '.'",
    );
    refused(
        builder().tool(tool("a")).tool(tool("b")).tool(tool("a")),
        "tool \"a\" registered twice",
    );
    refused(
        builder().tool(tool("t").input_schema(json!({ "type": "string" }))),
        "tool \"t\": the input schema must have \"type\": \"object\"",
    );
    refused(
        builder().tool(tool("t").input_schema(json!({ "properties": {} }))),
        "tool \"t\": the input schema must have \"type\": \"object\"",
    );
    refused(
        builder().tool(tool("t").deadline(Duration::ZERO)),
        "tool \"t\": a deadline of zero leaves no time",
    );
}

// R174, R175, R176, R177, R178
#[test]
fn annotations_that_no_client_could_follow_are_refused() {
    let annotated = |properties: serde_json::Value| {
        tool("t").input_schema(json!({ "type": "object", "properties": properties }))
    };
    let region = |name: &str| json!({ "type": "string", "x-mcp-header": name });
    for properties in [
        json!({ "a": region("") }),
        json!({ "a": region("two words") }),
        json!({ "a": region("a\r\nb") }),
        json!({ "a": region("größe") }),
        json!({ "a": region("Region"), "b": region("REGION") }),
        json!({ "a": { "type": "number", "x-mcp-header": "A" } }),
        json!({ "a": { "type": "object", "x-mcp-header": "A" } }),
        json!({ "a": { "type": "array", "items": region("A") } }),
        json!({ "a": { "anyOf": [region("A")] } }),
    ] {
        let err = builder().tool(annotated(properties.clone())).build();
        let err = err.expect_err(&properties.to_string());
        assert!(err.is_definition());
        let said = err.to_string();
        assert!(said.starts_with("tool \"t\": x-mcp-header at "), "{said}");
    }
    let fine = json!({
        "a": region("Region"),
        "b": { "type": "integer", "x-mcp-header": "Count" },
        "c": { "type": "object", "properties": { "d": { "type": "boolean", "x-mcp-header": "Deep" } } },
    });
    assert!(builder().tool(annotated(fine)).build().is_ok());
}

#[cfg(not(feature = "validate"))]
#[test]
fn an_output_schema_that_nobody_would_check_is_refused() {
    let schema = json!({ "type": "object" });
    refused(
        builder().tool(tool("t").output_schema(schema.clone())),
        "tool \"t\": an output schema needs the feature `validate`, or `output_schema_unchecked`",
    );
    assert!(
        builder()
            .tool(tool("t").output_schema_unchecked(schema))
            .build()
            .is_ok()
    );
}

#[test]
fn mistakes_in_resources_and_prompts_are_refused() {
    refused(
        builder().resource(resource("readme")),
        "resource \"readme\": not a URI",
    );
    refused(
        builder().resource(resource("1x:y")),
        "resource \"1x:y\": not a URI",
    );
    refused(
        builder()
            .resource(resource("memo:x"))
            .resource(resource("memo:x")),
        "resource \"memo:x\" registered twice",
    );
    let err = template("log:///{build").expect_err("not closed");
    assert!(
        err.to_string()
            .starts_with("resource template \"log:///{build\": "),
        "{err}"
    );
    let twice = builder()
        .resource_template(template("log:///{build}").unwrap())
        .resource_template(template("log:///{build}").unwrap());
    refused(
        twice,
        "resource template \"log:///{build}\" registered twice",
    );
    let clash = builder()
        .resource_template(template("log:///{build}").unwrap())
        .resource_template(template("log:///{number}").unwrap());
    refused(
        clash,
        "resource template \"log:///{number}\" fits the same addresses as \"log:///{build}\"",
    );
    refused(
        builder()
            .prompt(prompt(PromptInfo::new("p")))
            .prompt(prompt(PromptInfo::new("p"))),
        "prompt \"p\" registered twice",
    );
    refused(
        builder().prompt(prompt(PromptInfo::new(""))),
        "a prompt without a name",
    );
    let info = PromptInfo::new("p")
        .argument(PromptArgument::required("file"))
        .argument(PromptArgument::required("file"));
    refused(
        builder().prompt(prompt(info)),
        "prompt \"p\": argument \"file\" defined twice",
    );
}

#[test]
fn mistakes_in_settings_are_refused() {
    refused(
        builder().limits(limits(|limits| limits.page_size = 0)),
        "the limit `page_size` must be at least 1",
    );
    refused(
        builder().limits(limits(|limits| limits.calls_per_peer = 0)),
        "the limit `calls_per_peer` must be at least 1",
    );
    refused(
        builder().limits(limits(|limits| limits.message_bytes = 0)),
        "the limit `message_bytes` must be at least 1",
    );
    refused(
        builder().deadline(Duration::ZERO),
        "the server's deadline of zero leaves no time",
    );
    refused(
        builder().state_keys(["short"]),
        "a state key must have at least 32 bytes",
    );
}

#[test]
fn a_running_server_refuses_the_same_mistakes() {
    let server = builder()
        .tool(tool("t"))
        .list_changed([List::Prompts])
        .build()
        .unwrap();
    let refused = |err: Result<(), smol_mcp::Error>, expected: &str| {
        let err = err.expect_err(expected);
        assert!(err.is_definition());
        assert_eq!(err.to_string(), expected);
    };
    refused(server.add_tool(tool("t")), "tool \"t\" registered twice");
    refused(
        server.add_tool(tool("u").input_schema(json!(true))),
        "tool \"u\": the input schema must have \"type\": \"object\"",
    );
    refused(
        server.add_prompt(prompt(PromptInfo::new(""))),
        "a prompt without a name",
    );
    refused(
        server.add_resource(resource("memo:x")),
        "resource \"memo:x\": the server was built without resources, and without `list_changed` for them",
    );
}

fn meta(key: &str) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), json!(1))])
}

// R28
#[test]
fn keys_of_metadata_that_break_the_grammar_are_refused_and_named() {
    let kept = r#"the key "com.example/-x" of `_meta` has a name that is not letters and digits, with '-', '_' and '.' in between"#;
    let key = "com.example/-x";
    refused(
        builder().tool(tool("t").meta(meta(key))),
        &format!("tool \"t\": {kept}"),
    );
    refused(
        builder().prompt(prompt(PromptInfo::new("p").meta(meta(key)))),
        &format!("prompt \"p\": {kept}"),
    );
    let info = ResourceInfo::new("a:b", "b").meta(meta(key));
    let read = async |uri: String, _: Context| ResourceContents::text(uri, "memo");
    refused(
        builder().resource(Resource::new(info, read)),
        &format!("resource \"a:b\": {kept}"),
    );
    let family = |key: &str| {
        let info = ResourceTemplateInfo::new("a:{b}", "b").meta(meta(key));
        let read = async |uri: String, _, _: Context| ResourceContents::text(uri, "memo");
        ResourceTemplate::new(info, read).unwrap()
    };
    refused(
        builder().resource_template(family(key)),
        &format!("resource template \"a:{{b}}\": {kept}"),
    );
    let bare = "has a name that is not letters and digits, with '-', '_' and '.' in between";
    refused(
        builder().tool(tool("t").meta(meta("a b"))),
        &format!("tool \"t\": the key \"a b\" of `_meta` {bare}"),
    );
    // The same at run time.
    let server = builder()
        .list_changed([List::Tools, List::Prompts, List::Resources])
        .build()
        .unwrap();
    let err = server.add_tool(tool("t").meta(meta(key))).unwrap_err();
    assert_eq!(err.to_string(), format!("tool \"t\": {kept}"));
    assert!(server.add_resource_template(family(key)).is_err());
    assert!(
        server
            .add_tool(tool("t").meta(meta("com.example/x")))
            .is_ok()
    );
}

// R28
#[test]
fn keys_of_metadata_in_results_are_checked_before_they_leave() {
    const KEY: &str = "com.mcp/x-";
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let link = ResourceInfo::new("a:b", "b").meta(meta(KEY));
    let contents = ResourceContents::text("a:b", "").meta(meta(KEY));
    let results = [
        ToolResult::text("a").meta(meta(KEY)),
        Content::text("a").meta(meta(KEY)).into(),
        Content::image([1], "image/png").meta(meta(KEY)).into(),
        Content::resource_link(link).into(),
        Content::resource(contents.clone()).into(),
        Content::resource(ResourceContents::text("a:b", ""))
            .meta(meta(KEY))
            .into(),
    ];
    let mut builder = builder().on_error(move |failure| {
        tell.lock().unwrap().push(failure.error.to_string());
    });
    let cases = results.len();
    for (at, result) in results.into_iter().enumerate() {
        let yields = move |_: NoInput| std::future::ready(result.clone());
        builder = builder.tool(Tool::new(format!("t{at}"), yields));
    }
    let server = builder
        .resource(Resource::new(ResourceInfo::new("a:b", "b"), move |_, _| {
            std::future::ready(contents.clone())
        }))
        .prompt(Prompt::new(PromptInfo::new("p"), |_, _| {
            let said = Content::text("a").meta(meta(KEY));
            std::future::ready(PromptResult::user(said))
        }))
        .build()
        .unwrap();
    client::with(&server, async |client| {
        for at in 0..cases {
            let answer = client.ask(&call(1, &format!("t{at}"), "{}")).await;
            assert_eq!(answer, failure(1, "The tool failed."), "{at}");
        }
        let internal =
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}"#;
        for (method, params) in [
            ("resources/read", r#""uri":"a:b","#),
            ("prompts/get", r#""name":"p","#),
        ] {
            let answer = client.ask(&client::modern("2", method, params, "{}")).await;
            assert_eq!(answer, internal);
        }
    });
    let told = told.lock().unwrap();
    let expected = r#"the result: the key "com.mcp/x-" of `_meta` has a name that is not letters and digits, with '-', '_' and '.' in between"#;
    assert_eq!(*told, vec![expected; cases + 2]);
}
