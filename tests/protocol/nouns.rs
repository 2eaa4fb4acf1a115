//! The exact JSON of each noun, and the way back.

use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use smol_mcp::protocol::content::Theme;
use smol_mcp::protocol::elicitation::Format;
use smol_mcp::protocol::sampling::{IncludeContext, ModelPreferences, ToolChoiceMode};
use smol_mcp::protocol::*;

/// Asserts that `noun` is written as `text` and read back the same, from text and from a value.
#[track_caller]
fn travels<T: Serialize + DeserializeOwned + PartialEq + Debug>(noun: T, text: &str) {
    assert_eq!(serde_json::to_string(&noun).unwrap(), text);
    assert_eq!(serde_json::from_str::<T>(text).unwrap(), noun);
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::from_value::<T>(value).unwrap(), noun);
}

fn meta() -> Map<String, Value> {
    Map::from_iter([("com.example/k".to_owned(), json!(1))])
}

#[test]
fn content_of_every_type() {
    travels(
        Content::text("a\n\"b\""),
        r#"{"type":"text","text":"a\n\"b\""}"#,
    );
    travels(
        Content::text("x").annotations(
            Annotations::default()
                .audience([Role::User, Role::Assistant])
                .priority(0.9)
                .last_modified("2025-01-12T15:00:58Z"),
        ),
        r#"{"type":"text","text":"x","annotations":{"audience":["user","assistant"],"priority":0.9,"lastModified":"2025-01-12T15:00:58Z"}}"#,
    );
    travels(
        Content::image([0, 1, 2, 3], "image/png"),
        r#"{"type":"image","data":"AAECAw==","mimeType":"image/png"}"#,
    );
    travels(
        Content::audio([], "audio/wav"),
        r#"{"type":"audio","data":"","mimeType":"audio/wav"}"#,
    );
    travels(
        Content::resource_link(
            ResourceInfo::new("file:///main.rs", "main.rs").mime_type("text/x-rust"),
        ),
        r#"{"type":"resource_link","uri":"file:///main.rs","name":"main.rs","mimeType":"text/x-rust"}"#,
    );
    travels(
        Content::resource(
            ResourceContents::text("file:///a", "fn")
                .mime_type("text/x-rust")
                .meta(meta()),
        ),
        r#"{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/x-rust","text":"fn","_meta":{"com.example/k":1}}}"#,
    );
    travels(
        Content::resource(ResourceContents::blob("file:///a", [255, 254])),
        r#"{"type":"resource","resource":{"uri":"file:///a","blob":"//4="}}"#,
    );
}

#[test]
fn metadata_of_content() {
    let link = Content::resource_link(ResourceInfo::new("a:b", "n"));
    let embedded = Content::resource(ResourceContents::text("a:b", ""));
    for block in [
        Content::text(""),
        Content::image([], "a/b"),
        Content::audio([], "a/b"),
        link,
        embedded,
    ] {
        let value = serde_json::to_value(block.meta(meta())).unwrap();
        assert_eq!(value["_meta"], json!({"com.example/k": 1}));
    }
}

#[test]
fn bytes_come_back() {
    let Content::Image(image) = Content::image([7, 8], "image/png") else {
        panic!()
    };
    assert_eq!(image.bytes(), Some(vec![7, 8]));
    assert_eq!(
        ResourceContents::blob("a:b", [7, 8]).bytes(),
        Some(vec![7, 8])
    );
    assert_eq!(
        ResourceContents::text("a:b", "ä").bytes(),
        Some("ä".as_bytes().to_vec())
    );

    let broken: ResourceContents = serde_json::from_str(r#"{"uri":"a:b","blob":"AAE"}"#).unwrap();
    assert_eq!(broken.bytes(), None);
}

#[test]
fn priority_stays_between_0_and_1() {
    assert_eq!(Annotations::default().priority(7.0).priority, Some(1.0));
    assert_eq!(Annotations::default().priority(-0.5).priority, Some(0.0));
    assert_eq!(Annotations::default().priority(f64::NAN).priority, None);
}

#[test]
fn implementation() {
    travels(
        Implementation::new("a", "1"),
        r#"{"name":"a","version":"1"}"#,
    );
    travels(
        Implementation::new("a", "1")
            .title("A")
            .description("B")
            .website_url("https://h.example")
            .icons([Icon::new("data:image/png;base64,")
                .mime_type("image/png")
                .sizes(["48x48", "any"])
                .theme(Theme::Dark)]),
        r#"{"name":"a","version":"1","title":"A","description":"B","websiteUrl":"https://h.example","icons":[{"src":"data:image/png;base64,","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]}"#,
    );
}

#[test]
fn tool_info() {
    travels(
        ToolInfo::new("t", json!({"type": "object"}))
            .title("T")
            .description("Does t")
            .output_schema(json!({"type": "array"}))
            .annotations(
                ToolAnnotations::default()
                    .title("A")
                    .read_only(false)
                    .destructive(false)
                    .idempotent(true)
                    .open_world(false),
            )
            .icons([Icon::new("https://h.example/i")])
            .meta(meta()),
        r#"{"name":"t","title":"T","description":"Does t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{"title":"A","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},"icons":[{"src":"https://h.example/i"}],"_meta":{"com.example/k":1}}"#,
    );
}

#[test]
fn tool_result() {
    travels(ToolResult::default(), r#"{"content":[]}"#);
    travels(
        ToolResult::text("a").content("b").meta(meta()),
        r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"_meta":{"com.example/k":1}}"#,
    );
    travels(
        ToolResult::structured(json!([1, 2])),
        r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}"#,
    );
    travels(
        ToolResult::error("no"),
        r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#,
    );
}

#[test]
fn null_is_a_structured_result() {
    travels(
        ToolResult::structured(Value::Null),
        r#"{"content":[{"type":"text","text":"null"}],"structuredContent":null}"#,
    );
}

#[test]
fn resources() {
    travels(
        ResourceInfo::new("a:b", "n")
            .title("T")
            .description("D")
            .mime_type("text/plain")
            .size(1 << 40)
            .icons([Icon::new("https://h.example/i")])
            .annotations(Annotations::default())
            .meta(meta()),
        r#"{"uri":"a:b","name":"n","title":"T","description":"D","mimeType":"text/plain","size":1099511627776,"icons":[{"src":"https://h.example/i"}],"annotations":{},"_meta":{"com.example/k":1}}"#,
    );
    travels(
        ResourceTemplateInfo::new("a:{b}", "n")
            .title("T")
            .description("D")
            .mime_type("text/plain"),
        r#"{"uriTemplate":"a:{b}","name":"n","title":"T","description":"D","mimeType":"text/plain"}"#,
    );
    travels(
        ReadResult::from(vec![
            ResourceContents::text("a:b", "x"),
            ResourceContents::blob("a:c", "y"),
        ]),
        r#"{"contents":[{"uri":"a:b","text":"x"},{"uri":"a:c","blob":"eQ=="}]}"#,
    );
}

#[test]
fn the_cache_of_a_read_stays_at_home() {
    let result = ReadResult::text("a:b", "x").cache(Cache::public(Duration::from_secs(1)));
    assert_eq!(
        serde_json::to_string(&result).unwrap(),
        r#"{"contents":[{"uri":"a:b","text":"x"}]}"#
    );
    let foreign: ReadResult = serde_json::from_str(r#"{"contents":[],"cache":7}"#).unwrap();
    assert_eq!(foreign, ReadResult::default());
}

#[test]
fn prompts() {
    travels(
        PromptInfo::new("p")
            .title("P")
            .description("D")
            .argument(PromptArgument::required("a").title("A").description("B"))
            .argument(PromptArgument::optional("c")),
        r#"{"name":"p","title":"P","description":"D","arguments":[{"name":"a","title":"A","description":"B","required":true},{"name":"c"}]}"#,
    );
    travels(
        PromptResult::user("q")
            .message(PromptMessage::assistant(Content::text("a")))
            .description("D"),
        r#"{"description":"D","messages":[{"role":"user","content":{"type":"text","text":"q"}},{"role":"assistant","content":{"type":"text","text":"a"}}]}"#,
    );
}

#[test]
fn completion_request() {
    travels(
        CompletionRequest::new(CompletionRef::resource("log:///b/{n}"), "n", ""),
        r#"{"ref":{"type":"ref/resource","uri":"log:///b/{n}"},"argument":{"name":"n","value":""}}"#,
    );
    let mut request = CompletionRequest::new(CompletionRef::prompt("p"), "a", "x");
    request.context.insert("b".into(), "y".into());
    travels(
        request,
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"},"context":{"arguments":{"b":"y"}}}"#,
    );
}

#[test]
fn completion() {
    travels(
        Completion::new(["a", "b"]).with_total(10).with_more(true),
        r#"{"completion":{"values":["a","b"],"total":10,"hasMore":true}}"#,
    );
    travels(
        Completion::new(["a"]).with_more(false),
        r#"{"completion":{"values":["a"],"hasMore":false}}"#,
    );
}

#[test]
fn a_hundred_suggestions_are_all_and_more_are_cut() {
    let numbers = |n: usize| (0..n).map(|number| number.to_string());
    assert!(!Completion::new(numbers(100)).has_more());
    assert_eq!(Completion::new(numbers(100)).values().len(), 100);

    let cut = Completion::new(numbers(101));
    assert_eq!(cut.values().len(), 100);
    assert!(cut.has_more());
    assert!(cut.with_more(false).has_more());

    let json =
        json!({"completion": {"values": numbers(200).collect::<Vec<_>>(), "hasMore": false}});
    let read: Completion = serde_json::from_value(json).unwrap();
    assert_eq!(read.values().len(), 100);
    assert!(read.has_more());
}

#[test]
fn cache_is_stale_and_private_by_default() {
    travels(Cache::default(), r#"{"ttlMs":0,"cacheScope":"private"}"#);
    travels(
        Cache::private(Duration::MAX),
        r#"{"ttlMs":9007199254740991,"cacheScope":"private"}"#,
    );
    travels(
        Cache::public(Duration::from_millis(1500)),
        r#"{"ttlMs":1500,"cacheScope":"public"}"#,
    );
}

#[test]
fn log_levels_rise() {
    let levels = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    let parsed: Vec<LogLevel> = levels.iter().map(|level| level.parse().unwrap()).collect();
    assert!(parsed.is_sorted_by(|a, b| a < b));
    for (level, word) in parsed.into_iter().zip(levels) {
        assert_eq!(level.to_string(), word);
        travels(level, &format!("{word:?}"));
    }
}

#[test]
fn elicit_answer() {
    let content = json!({"a": "x", "b": 1, "c": true, "d": ["x"]});
    travels(
        ElicitAnswer::accept(content.as_object().unwrap().clone()),
        r#"{"action":"accept","content":{"a":"x","b":1,"c":true,"d":["x"]}}"#,
    );
    travels(ElicitAnswer::accept(Map::new()), r#"{"action":"accept"}"#);
    travels(ElicitAnswer::decline(), r#"{"action":"decline"}"#);
    travels(ElicitAnswer::cancel(), r#"{"action":"cancel"}"#);
}

#[test]
fn content_of_an_answer_comes_with_accept_only() {
    let read = |text| serde_json::from_str::<ElicitAnswer>(text).unwrap();
    assert_eq!(
        read(r#"{"action":"decline","content":{"a":"x"}}"#),
        ElicitAnswer::decline()
    );
    assert_eq!(
        read(r#"{"action":"accept","content":null}"#),
        ElicitAnswer::accept(Map::new())
    );
    assert_eq!(
        read(r#"{"action":"accept","content":{"a":null}}"#),
        ElicitAnswer::accept(Map::new())
    );
}

#[test]
fn every_kind_of_field() {
    #[track_caller]
    fn is(field: impl Into<Field>, text: &str) {
        let field = field.into();
        assert_eq!(serde_json::to_string(&field).unwrap(), text);
        assert_eq!(FormSchema::new().required("f", field).check(), Ok(()));
    }
    is(
        Field::text()
            .title("T")
            .description("D")
            .min_length(1)
            .max_length(30)
            .format(Format::Email)
            .default_value("a@b"),
        r#"{"type":"string","title":"T","description":"D","minLength":1,"maxLength":30,"format":"email","default":"a@b"}"#,
    );
    is(
        Field::integer().minimum(-3).maximum(1e15).default_value(0),
        r#"{"type":"integer","minimum":-3,"maximum":1000000000000000,"default":0}"#,
    );
    is(
        Field::number().maximum(0.25),
        r#"{"type":"number","maximum":0.25}"#,
    );
    is(Field::boolean(), r#"{"type":"boolean"}"#);
    is(
        Field::choice(["a", "b"]).title("C").default_value("b"),
        r#"{"type":"string","title":"C","enum":["a","b"],"default":"b"}"#,
    );
    is(
        Field::choices([("a", "A"), ("b", "B")])
            .min_items(1)
            .default_value(["b", "a"]),
        r#"{"type":"array","minItems":1,"items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]},"default":["b","a"]}"#,
    );
}

#[test]
fn a_form_keeps_the_order_of_its_fields() {
    let schema = FormSchema::new()
        .optional("z", Field::boolean())
        .optional("a", Field::boolean());
    assert_eq!(
        serde_json::to_string(&schema).unwrap(),
        r#"{"type":"object","properties":{"z":{"type":"boolean"},"a":{"type":"boolean"}}}"#,
    );
}

#[test]
fn sampling() {
    travels(
        CreateMessage::new(9)
            .message(SamplingMessage::user("q"))
            .model_preferences(ModelPreferences::default().hint("m").cost_priority(0.5))
            .include_context(IncludeContext::None)
            .temperature(0.5)
            .stop_sequences(["x"])
            .metadata(meta())
            .tools([ToolInfo::new("t", json!({"type": "object"}))])
            .tool_choice(ToolChoiceMode::Auto),
        &[
            r#"{"messages":[{"role":"user","content":{"type":"text","text":"q"}}],"#,
            r#""modelPreferences":{"hints":[{"name":"m"}],"costPriority":0.5},"includeContext":"none","#,
            r#""temperature":0.5,"maxTokens":9,"stopSequences":["x"],"metadata":{"com.example/k":1},"#,
            r#""tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}"#,
        ]
        .concat(),
    );
    travels(
        SamplingMessage::new(Role::User, vec!["a".into(), "b".into()]),
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
    );
    travels(
        SamplingMessage::new(Role::User, Vec::new()),
        r#"{"role":"user","content":[]}"#,
    );
}

#[test]
fn sampling_content_of_every_type() {
    for text in [
        r#"{"type":"text","text":"a"}"#,
        r#"{"type":"image","data":"AQ==","mimeType":"image/png"}"#,
        r#"{"type":"audio","data":"AQ==","mimeType":"audio/wav"}"#,
        r#"{"type":"tool_use","id":"1","name":"t","input":{"a":[1]},"_meta":{"k":1}}"#,
        r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"a"}],"structuredContent":null,"isError":true}"#,
    ] {
        travels(serde_json::from_str::<SamplingContent>(text).unwrap(), text);
    }
}

#[test]
fn a_sampled_message() {
    let text = r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"endTurn","_meta":{"k":1}}"#;
    travels(
        serde_json::from_str::<CreateMessageResult>(text).unwrap(),
        text,
    );
}

#[test]
fn roots() {
    travels(Roots::default(), r#"{"roots":[]}"#);
    let text = r#"{"roots":[{"uri":"file:///a","name":"A","_meta":{"k":1}},{"uri":"file:///b"}]}"#;
    travels(serde_json::from_str::<Roots>(text).unwrap(), text);
}
