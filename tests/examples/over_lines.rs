//! Examples that read and write lines.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use serde_json::json;

use crate::child::{Client, Example};

#[test]
fn hello_greets_and_ends_with_its_input() {
    let mut example = Example::start("hello", &[]);
    let mut client = example.client();
    assert_eq!(
        client.call("greet", json!({ "name": "you" })),
        "Hello, you!"
    );
    drop(client);
    assert!(example.end().success());
}

#[test]
fn stopping_stops_each_tool_when_it_is_cancelled_and_all_when_the_input_ends() {
    let mut example = Example::start("stopping", &[]);
    let mut client = example.client();
    let names = ["fetch", "compute", "idle", "tick", "follow", "grind"];
    let begin = |client: &mut Client, name: &str| {
        let call = json!({ "name": name, "arguments": {} });
        let id = client.begin("tools/call", call);
        // Also the proof that nothing has come of the one before.
        assert_eq!(client.progress(id), "begun");
        id
    };
    for name in names {
        let id = begin(&mut client, name);
        if name == "follow" {
            assert_eq!(client.progress(id), "21.5 degrees");
        }
        client.cancel(id);
        assert_eq!(example.error_line(), format!("{name} has stopped"));
    }
    for name in names.iter().filter(|name| **name != "follow") {
        begin(&mut client, name);
    }
    drop(client);
    let mut stopped: Vec<_> = (1..names.len()).map(|_| example.error_line()).collect();
    stopped.sort();
    let expected = ["compute", "fetch", "grind", "idle", "tick"];
    assert_eq!(stopped, expected.map(|name| format!("{name} has stopped")));
    assert!(example.end().success());
}

#[test]
fn frame_loop_fades_frame_by_frame_and_stops_when_it_is_told_to() {
    let mut example = Example::start("frame_loop", &[]);
    let mut client = example.client();
    assert_eq!(client.call("look", json!({})), "light 0");
    assert_eq!(client.call("fade", json!({ "to": 3 })), "light 3");
    let fade = client.begin(
        "tools/call",
        json!({ "name": "fade", "arguments": { "to": 255 } }),
    );
    assert_eq!(client.progress(fade), "light 4");
    assert_eq!(client.progress(fade), "light 5");
    client.cancel(fade);
    // Progress that was written before the cancellation arrived may precede the answer; the light then stays.
    let before = client.call("look", json!({}));
    assert_ne!(before, "light 255");
    assert_eq!(client.call("look", json!({})), before);
    drop(client);
    assert!(example.end().success());
}

#[test]
fn resources_are_listed_read_written_watched_and_completed() {
    let mut example = Example::start("resources", &[]);
    let mut client = example.client();
    let read = |client: &mut Client, uri: &str| {
        let result = client.ask("resources/read", json!({ "uri": uri }));
        result["contents"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(read(&mut client, "note-index:///"), "milk");
    assert_eq!(read(&mut client, "note:///milk"), "Buy milk.");
    let filter = json!({ "notifications": { "resourceSubscriptions": ["note:///eggs"] } });
    client.begin("subscriptions/listen", filter);
    assert_eq!(
        client.next()["method"],
        "notifications/subscriptions/acknowledged"
    );
    let write = json!({ "name": "write", "arguments": { "name": "eggs", "text": "Buy eggs." } });
    client.begin("tools/call", write);
    let messages = [client.next(), client.next()];
    let updated = messages
        .iter()
        .find(|message| message.get("method").is_some())
        .unwrap();
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "note:///eggs");
    assert_eq!(read(&mut client, "note-index:///"), "eggs\nmilk");
    let prompt = client.ask(
        "prompts/get",
        json!({ "name": "summary", "arguments": { "name": "eggs" } }),
    );
    let text = &prompt["messages"][0]["content"]["text"];
    assert_eq!(text, "Summarise in a sentence:\n\nBuy eggs.");
    let completion = client.ask(
        "completion/complete",
        json!({
            "ref": { "type": "ref/resource", "uri": "note:///{name}" },
            "argument": { "name": "name", "value": "e" },
        }),
    );
    assert_eq!(completion["completion"]["values"], json!(["eggs"]));
}

#[test]
fn asking_asks_and_goes_on_with_the_answer() {
    let mut example = Example::start("asking", &[]);
    let mut client = example.client();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let params = json!({ "name": "order", "arguments": { "dish": "soup" }, "_meta": meta });
    let mut request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    client.send(&request);
    let asked = client.next();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    request["id"] = 2.into();
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    request["params"]["inputResponses"] =
        json!({ "guests": { "action": "accept", "content": { "guests": 2 } } });
    client.send(&request);
    let asked = client.next();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    request["id"] = 3.into();
    request["params"]["requestState"] = asked["result"]["requestState"].clone();
    request["params"]["inputResponses"] = json!({ "wish": { "action": "decline" } });
    client.send(&request);
    let answer = client.next();
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(text, "2 × soup for table 7, as it comes.", "{answer}");
}

#[test]
fn unix_socket_serves_many_clients_and_closes_by_ctrl_c() {
    let path = std::env::temp_dir().join(format!("smol-mcp-test-{}.sock", std::process::id()));
    let example = Example::start("unix_socket", &[path.to_str().unwrap()]);
    assert_eq!(example.address(), path.to_str().unwrap());
    let connect = || UnixStream::connect(&path).unwrap();
    let (first, second) = (connect(), connect());
    let client = |stream: &UnixStream| {
        Client::over(stream.try_clone().unwrap(), stream.try_clone().unwrap())
    };
    let (mut one, mut other) = (client(&first), client(&second));
    assert_eq!(one.call("greet", json!({ "name": "one" })), "Hello, one!");
    assert_eq!(
        other.call("greet", json!({ "name": "other" })),
        "Hello, other!"
    );
    first.shutdown(Shutdown::Write).unwrap();
    one.expect_end();
    assert_eq!(
        other.call("greet", json!({ "name": "other" })),
        "Hello, other!"
    );
    example.interrupt();
    other.expect_end();
    assert!(example.end().success());
    assert!(!path.exists());
}
