//! All that the server offers, by its own lists, under each revision.

use serde_json::{Value, json};

use crate::child::{Client, MODERN};

/// The tools that do nothing but fail.
const FAILING: [&str; 2] = ["test_error_handling", "test_unexpected_error"];

/// The tools that ask the person, which nobody could before 2025-06-18.
const ELICITING: [&str; 9] = [
    "test_elicitation",
    "test_input_required_result_elicitation",
    "test_streaming_elicitation",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multi_round",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
];

#[test]
fn everything_works_under_2026_07_28() {
    serves_everything(MODERN, &[]);
}

#[test]
fn everything_works_under_2025_11_25() {
    serves_everything("2025-11-25", &[]);
}

#[test]
fn several_choices_cannot_be_asked_for_under_2025_06_18() {
    serves_everything("2025-06-18", &["test_elicitation_sep1330_enums"]);
}

#[test]
fn the_person_cannot_be_asked_under_2025_03_26() {
    serves_everything("2025-03-26", &ELICITING);
}

#[test]
fn the_person_cannot_be_asked_under_2024_11_05() {
    serves_everything("2024-11-05", &ELICITING);
}

/// Uses all that is listed. The tools in `refused` need a client of a later revision, and nothing else is refused.
fn serves_everything(revision: &'static str, refused: &[&str]) {
    let mut client = Client::connect(revision);
    if revision != MODERN {
        let params = json!({ "level": "debug" });
        client
            .asks("logging/setLevel", params, "EmptyResult")
            .unwrap();
        client.asks("ping", json!({}), "EmptyResult").unwrap();
    }
    calls_all_tools(&mut client, refused);
    gets_all_prompts(&mut client, !refused.contains(&ELICITING[0]));
    reads_all_resources(&mut client);
    let prompt = json!({ "type": "ref/prompt", "name": "test_prompt_with_arguments" });
    let params = json!({ "ref": prompt, "argument": { "name": "arg1", "value": "par" } });
    let result = client
        .asks("completion/complete", params, "CompleteResult")
        .unwrap();
    assert_eq!(
        result["completion"]["values"],
        json!(["paris", "park", "party"])
    );
}

fn calls_all_tools(client: &mut Client, refused: &[&str]) {
    let listed = client
        .asks("tools/list", json!({}), "ListToolsResult")
        .unwrap();
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools[0]["name"], "test_simple_text");
    let mut not_served = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert_ne!(tool["description"], "", "{name}");
        let params = json!({ "name": name, "arguments": arguments(tool) });
        client.heard();
        match client.asks("tools/call", params, "CallToolResult") {
            Ok(result) => {
                let failed = result["isError"] == true;
                assert_eq!(failed, FAILING.contains(&name), "{name}: {result}");
                assert_ne!(result["content"][0]["type"], Value::Null, "{name}");
            }
            Err(code) => {
                assert_eq!(code, -32602, "{name}");
                not_served.push(name);
            }
        }
        let heard = client.heard();
        match name {
            "test_tool_with_progress" => assert_eq!(heard, ["notifications/progress"; 3]),
            "test_tool_with_logging" => assert_eq!(heard, ["notifications/message"; 3]),
            _ => {}
        }
    }
    assert_eq!(not_served, refused);
}

/// Arguments that fit the schema of a tool.
fn arguments(tool: &Value) -> Value {
    let schema = &tool["inputSchema"];
    if schema.get("if").is_some() {
        return json!({ "contactMethod": "phone", "phone": "1" });
    }
    let required = schema["required"].as_array().into_iter().flatten();
    required
        .map(|name| (name.as_str().unwrap().to_owned(), json!("Hello")))
        .collect()
}

fn gets_all_prompts(client: &mut Client, may_elicit: bool) {
    let listed = client
        .asks("prompts/list", json!({}), "ListPromptsResult")
        .unwrap();
    for prompt in listed["prompts"].as_array().unwrap() {
        let name = prompt["name"].as_str().unwrap();
        let arguments = prompt["arguments"].as_array().into_iter().flatten();
        let arguments: Value = arguments
            .map(|argument| {
                (
                    argument["name"].as_str().unwrap().to_owned(),
                    json!("test://static-text"),
                )
            })
            .collect();
        let params = json!({ "name": name, "arguments": arguments });
        let got = client.asks("prompts/get", params, "GetPromptResult");
        match name == "test_input_required_result_prompt" && !may_elicit {
            true => assert_eq!(got, Err(-32602)),
            false => assert_ne!(
                got.unwrap()["messages"][0]["content"],
                Value::Null,
                "{name}"
            ),
        }
    }
}

fn reads_all_resources(client: &mut Client) {
    let listed = client
        .asks("resources/list", json!({}), "ListResourcesResult")
        .unwrap();
    let resources = listed["resources"].as_array().unwrap().iter();
    let mut uris: Vec<_> = resources
        .map(|resource| resource["uri"].as_str().unwrap())
        .collect();
    let templates = client
        .asks(
            "resources/templates/list",
            json!({}),
            "ListResourceTemplatesResult",
        )
        .unwrap();
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        "test://template/{id}/data"
    );
    uris.push("test://template/123/data");
    for uri in uris {
        let read = client.asks(
            "resources/read",
            json!({ "uri": uri }),
            "ReadResourceResult",
        );
        assert_eq!(read.unwrap()["contents"][0]["uri"], uri);
    }
}

#[test]
fn legacy_clients_hear_of_changes() {
    let mut client = Client::connect("2025-06-18");
    let watched = json!({ "uri": "test://watched-resource" });
    client
        .asks("resources/subscribe", watched.clone(), "EmptyResult")
        .unwrap();
    let triggers = [
        (
            "test_trigger_tool_change",
            "notifications/tools/list_changed",
        ),
        (
            "test_trigger_prompt_change",
            "notifications/prompts/list_changed",
        ),
        (
            "test_trigger_resource_list_change",
            "notifications/resources/list_changed",
        ),
        (
            "test_trigger_resource_change",
            "notifications/resources/updated",
        ),
    ];
    for (tool, notification) in triggers {
        client
            .asks("tools/call", json!({ "name": tool }), "CallToolResult")
            .unwrap();
        // It may be written before the answer or behind it.
        match client.heard().as_slice() {
            [] => client.hears(notification),
            heard => assert_eq!(heard, [notification]),
        }
    }
    client
        .asks("resources/unsubscribe", watched, "EmptyResult")
        .unwrap();
    let params = json!({ "name": "test_trigger_resource_change" });
    client.asks("tools/call", params, "CallToolResult").unwrap();
    client.asks("ping", json!({}), "EmptyResult").unwrap();
    assert_eq!(client.heard(), [""; 0]);
}
