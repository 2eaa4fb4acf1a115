//! Every noun against the schema of the revision in which it is newest, and of those before it.

use std::sync::OnceLock;
use std::time::Duration;

use jsonschema::Validator;
use serde::Serialize;
use serde_json::{Map, Value, json};
use smol_mcp::protocol::content::Theme;
use smol_mcp::protocol::elicitation::Format;
use smol_mcp::protocol::sampling::{IncludeContext, ModelPreferences, ToolChoiceMode};
use smol_mcp::protocol::*;

/// The schema of a revision.
fn schema(revision: &str) -> &'static Value {
    static SCHEMAS: OnceLock<[Value; 3]> = OnceLock::new();
    let [newest, middle, oldest] = SCHEMAS.get_or_init(|| {
        [
            include_str!("../schema/schema-2026-07-28.json"),
            include_str!("../schema/schema-2025-11-25.json"),
            include_str!("../schema/schema-2025-06-18.json"),
        ]
        .map(|text| serde_json::from_str(text).unwrap())
    });
    match revision {
        "2026-07-28" => newest,
        "2025-11-25" => middle,
        "2025-06-18" => oldest,
        _ => panic!("no schema of {revision}"),
    }
}

/// Compiles one definition of a revision.
fn definition(revision: &str, name: &str) -> Validator {
    let mut schema = schema(revision).clone();
    let definitions = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    assert!(
        schema[definitions].get(name).is_some(),
        "{revision} has no {name}"
    );
    let root = schema.as_object_mut().unwrap();
    root.retain(|keyword, _| keyword.starts_with('$') || keyword == definitions);
    root.insert("$ref".into(), json!(format!("#/{definitions}/{name}")));
    jsonschema::options().build(&schema).unwrap()
}

/// Asserts that `noun` is what `name` stands for, in each of the revisions.
#[track_caller]
fn conforms(noun: impl Serialize, name: &str, revisions: &[&str]) {
    let value = serde_json::to_value(noun).unwrap();
    for revision in revisions {
        let errors: Vec<String> = definition(revision, name)
            .iter_errors(&value)
            .map(|err| err.to_string())
            .collect();
        assert!(
            errors.is_empty(),
            "{revision} {name}: {errors:?}\n{value:#}"
        );
    }
}

const NEWEST: &[&str] = &["2026-07-28"];
const SINCE_2025_11: &[&str] = &["2026-07-28", "2025-11-25"];
const ALL: &[&str] = &["2026-07-28", "2025-11-25", "2025-06-18"];

fn meta() -> Map<String, Value> {
    Map::from_iter([("com.example/k".to_owned(), json!({"deep": [1]}))])
}

/// A result as an era would stamp it.
fn stamped(result: impl Serialize, cache: Option<Cache>) -> Value {
    let mut value = serde_json::to_value(result).unwrap();
    let members = value.as_object_mut().unwrap();
    members.insert("resultType".into(), json!("complete"));
    if let Some(cache) = cache {
        members.append(
            serde_json::to_value(cache)
                .unwrap()
                .as_object_mut()
                .unwrap(),
        );
    }
    value
}

fn contents() -> Vec<ResourceContents> {
    vec![
        ResourceContents::text("file:///a", "x")
            .mime_type("text/plain")
            .meta(meta()),
        ResourceContents::blob("file:///b", [1, 2, 3]),
    ]
}

fn blocks() -> Vec<Content> {
    let annotations = || {
        Annotations::default()
            .audience([Role::User, Role::Assistant])
            .priority(1.0)
            .last_modified("2025-01-12T15:00:58Z")
    };
    let mut blocks = vec![
        Content::text("a").annotations(annotations()),
        Content::image([1], "image/png").annotations(annotations()),
        Content::audio([1], "audio/wav").annotations(annotations()),
        Content::resource_link(resource()),
    ];
    blocks.extend(contents().into_iter().map(Content::resource));
    blocks
}

fn resource() -> ResourceInfo {
    ResourceInfo::new("file:///a", "a")
        .title("A")
        .description("D")
        .mime_type("text/plain")
        .size(3)
        .icons([icon()])
        .annotations(Annotations::default())
        .meta(meta())
}

fn icon() -> Icon {
    Icon::new("https://h.example/i.png")
        .mime_type("image/png")
        .sizes(["48x48", "any"])
        .theme(Theme::Light)
}

fn tool() -> ToolInfo {
    let hints = ToolAnnotations::default()
        .title("A")
        .read_only(true)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    ToolInfo::new(
        "t",
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    )
    .title("T")
    .description("D")
    .output_schema(json!({"type": "object"}))
    .annotations(hints)
    .icons([icon()])
    .meta(meta())
}

#[test]
fn the_check_itself_finds_fault() {
    assert!(!definition("2026-07-28", "Tool").is_valid(&json!({"name": "t"})));
    assert!(!definition("2025-06-18", "LoggingLevel").is_valid(&json!("loud")));
}

#[test]
fn content() {
    for block in blocks() {
        conforms(block, "ContentBlock", ALL);
    }
    conforms(Annotations::default(), "Annotations", ALL);
    conforms(icon(), "Icon", SINCE_2025_11);
    for role in [Role::User, Role::Assistant] {
        conforms(role, "Role", ALL);
    }
}

#[test]
fn implementation() {
    conforms(Implementation::new("a", "1"), "Implementation", ALL);
    conforms(
        Implementation::new("a", "1")
            .title("A")
            .description("D")
            .website_url("https://h.example")
            .icons([icon()]),
        "Implementation",
        SINCE_2025_11,
    );
}

#[test]
fn tools() {
    conforms(tool(), "Tool", ALL);
    conforms(ToolInfo::new("t", json!({"type": "object"})), "Tool", ALL);
    let results = [
        ToolResult::default(),
        ToolResult::from(blocks()).meta(meta()),
        ToolResult::error("no"),
    ];
    for result in results
        .into_iter()
        .chain([ToolResult::structured(json!({"a": 1}))])
    {
        conforms(&result, "CallToolResult", &ALL[1..]);
        conforms(stamped(result, None), "CallToolResult", NEWEST);
    }
    for value in [Value::Null, json!([1]), json!("a")] {
        conforms(
            stamped(ToolResult::structured(value), None),
            "CallToolResult",
            NEWEST,
        );
    }
}

#[test]
fn resources() {
    conforms(resource(), "Resource", ALL);
    conforms(ResourceInfo::new("file:///a", "a"), "Resource", ALL);
    let template = ResourceTemplateInfo::new("file:///{a}", "a")
        .title("A")
        .description("D")
        .mime_type("text/plain")
        .icons([icon()])
        .annotations(Annotations::default())
        .meta(meta());
    conforms(template, "ResourceTemplate", ALL);
    let result = ReadResult::from(contents()).meta(meta());
    conforms(&result, "ReadResourceResult", &ALL[1..]);
    conforms(
        stamped(&result, Some(Cache::default())),
        "ReadResourceResult",
        NEWEST,
    );
    conforms(
        stamped(&result, Some(Cache::public(Duration::MAX))),
        "ReadResourceResult",
        NEWEST,
    );
}

#[test]
fn prompts() {
    let prompt = PromptInfo::new("p")
        .title("P")
        .description("D")
        .argument(PromptArgument::required("a").title("A").description("D"))
        .argument(PromptArgument::optional("b"))
        .icons([icon()])
        .meta(meta());
    conforms(prompt, "Prompt", ALL);
    let result = blocks()
        .into_iter()
        .fold(PromptResult::default(), |result, block| {
            result.message(PromptMessage::assistant(block))
        })
        .description("D")
        .meta(meta());
    conforms(&result, "GetPromptResult", &ALL[1..]);
    conforms(stamped(result, None), "GetPromptResult", NEWEST);
}

#[test]
fn completion() {
    for completion in [
        Completion::default(),
        Completion::new(vec!["a"; 200]).with_total(200),
    ] {
        conforms(&completion, "CompleteResult", &ALL[1..]);
        conforms(stamped(completion, None), "CompleteResult", NEWEST);
    }
    conforms(CompletionRef::prompt("p"), "PromptReference", ALL);
    conforms(
        CompletionRef::resource("file:///{a}"),
        "ResourceTemplateReference",
        ALL,
    );

    let mut request = CompletionRequest::new(CompletionRef::prompt("p"), "a", "b");
    request.context.insert("c".into(), "d".into());
    let params = serde_json::to_value(request).unwrap();
    conforms(
        json!({"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": params}),
        "CompleteRequest",
        &ALL[1..],
    );
}

#[test]
fn log_levels() {
    for word in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        conforms(word.parse::<LogLevel>().unwrap(), "LoggingLevel", ALL);
    }
}

#[test]
fn elicitation() {
    let schema = FormSchema::new()
        .required(
            "name",
            Field::text()
                .title("N")
                .description("D")
                .min_length(1)
                .max_length(9)
                .default_value("x"),
        )
        .optional("mail", Field::text().format(Format::Email))
        .optional("site", Field::text().format(Format::Uri))
        .optional("day", Field::text().format(Format::Date))
        .optional("moment", Field::text().format(Format::DateTime))
        .required(
            "age",
            Field::integer()
                .title("A")
                .description("D")
                .minimum(0)
                .maximum(150)
                .default_value(7),
        )
        .optional("share", Field::number().minimum(0).maximum(1))
        .optional(
            "yes",
            Field::boolean()
                .title("Y")
                .description("D")
                .default_value(true),
        )
        .required(
            "one",
            Field::choice(["a", "b"])
                .title("O")
                .description("D")
                .default_value("a"),
        )
        .optional("titled", Field::choice([("a", "A"), ("b", "B")]))
        .optional(
            "many",
            Field::choices(["a", "b"])
                .title("M")
                .description("D")
                .min_items(0)
                .max_items(2)
                .default_value(["a"]),
        )
        .optional("many_titled", Field::choices([("a", "A"), ("b", "B")]));
    schema.check().unwrap();
    conforms(
        Elicit::form("m", schema),
        "ElicitRequestFormParams",
        SINCE_2025_11,
    );
    conforms(
        Elicit::form("m", FormSchema::new()),
        "ElicitRequestFormParams",
        SINCE_2025_11,
    );
    conforms(
        Elicit::url("m", "https://h.example/"),
        "ElicitRequestURLParams",
        NEWEST,
    );

    let content = json!({"a": "x", "b": 1, "c": true, "d": ["x"]});
    let accepted = ElicitAnswer::accept(content.as_object().unwrap().clone());
    conforms(accepted, "ElicitResult", SINCE_2025_11);
    conforms(ElicitAnswer::decline(), "ElicitResult", ALL);
    conforms(ElicitAnswer::cancel(), "ElicitResult", ALL);
}

#[test]
fn sampling() {
    let simple = CreateMessage::new(9)
        .message(SamplingMessage::user("q"))
        .system_prompt("s")
        .include_context(IncludeContext::ThisServer)
        .temperature(0.5)
        .stop_sequences(["x"])
        .metadata(meta())
        .model_preferences(
            ModelPreferences::default()
                .hint("m")
                .cost_priority(0.0)
                .speed_priority(1.0)
                .intelligence_priority(0.5),
        );
    conforms(&simple, "CreateMessageRequestParams", SINCE_2025_11);
    conforms(
        json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": simple}),
        "CreateMessageRequest",
        &ALL[1..],
    );

    let tools = simple
        .message(SamplingMessage::new(
            Role::Assistant,
            vec![
                SamplingContent::tool_use("1", "t", json!({"a": 1})),
                SamplingContent::tool_use("2", "t", json!({})),
            ],
        ))
        .message(SamplingMessage::new(
            Role::User,
            vec![
                SamplingContent::tool_result("1", blocks()),
                SamplingContent::tool_result("2", Vec::new()),
            ],
        ))
        .tools([tool()])
        .tool_choice(ToolChoiceMode::Required);
    conforms(tools, "CreateMessageRequestParams", SINCE_2025_11);

    let result = json!({"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "model": "m", "stopReason": "endTurn", "_meta": {}});
    conforms(
        serde_json::from_value::<CreateMessageResult>(result).unwrap(),
        "CreateMessageResult",
        SINCE_2025_11,
    );
}

#[test]
fn roots() {
    let mut roots = Roots::default();
    conforms(&roots, "ListRootsResult", ALL);
    roots.roots.push(Root::new("file:///a").name("A"));
    conforms(&roots, "ListRootsResult", ALL);
}
