//! Asking and subscriptions over HTTP, where they differ from a byte stream.
#![cfg(feature = "http")]

#[path = "common/schema.rs"]
mod schema;

use std::time::Duration;

use http::{Request, Response};
use serde_json::{Value, json};
use smol::stream::StreamExt;
use smol_mcp::http::{Body, Challenge, Endpoint, bearer};
use smol_mcp::protocol::{Elicit, Field, FormSchema, ResourceContents, ResourceInfo};
use smol_mcp::{
    Builder, Context, HandlerError, Limits, List, NoInput, Principal, Resource, Server, Signal,
    Tool,
};

async fn greet(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let schema = FormSchema::new().required("name", Field::text());
    let answer = cx
        .elicit("name", Elicit::form("Your name?", schema))
        .await?;
    Ok(format!("Hello, {}!", answer.content["name"]))
}

fn builder() -> Builder {
    let info = ResourceInfo::new("memo:///x", "x");
    let memo = Resource::new(info, async |uri: String, _: Context| {
        ResourceContents::text(uri, "memo")
    });
    Server::builder("t", "0")
        .tool(Tool::new("greet", greet))
        .resource(memo)
        .list_changed([List::Tools, List::Resources])
        .subscriptions()
}

/// Posts a message, with the headers that mirror it.
async fn post(endpoint: &Endpoint, message: &Value, headers: &[(&str, &str)]) -> Response<Body> {
    let mut request = Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(version) = message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion")
    {
        request = request
            .header("mcp-protocol-version", version.as_str().unwrap())
            .header("mcp-method", message["method"].as_str().unwrap());
        if let Some(name) = message["params"].get("name") {
            request = request.header("mcp-name", name.as_str().unwrap());
        }
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(message.to_string().into_bytes()).unwrap();
    endpoint.handle(request, Signal::never()).await
}

fn modern(id: i64, method: &str, mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn whole(response: &Response<Body>) -> Value {
    let body = response.body().as_full().expect("a whole body");
    schema::check_body(std::str::from_utf8(body).unwrap());
    serde_json::from_slice(body).unwrap()
}

/// A response that is a stream of events.
struct Events {
    body: Body,
    text: String,
}

impl Events {
    fn of(response: Response<Body>) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            body: response.into_body(),
            text: String::new(),
        }
    }

    /// The next message; comments are passed over.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let lines = event.lines().filter_map(|line| line.strip_prefix("data: "));
                let data: String = lines.collect();
                self.text = rest.to_owned();
                if !data.is_empty() {
                    schema::check(&data, None);
                    return Some(serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let piece = self.body.next().await?.unwrap();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }
}

fn listen(id: i64, filter: Value) -> Value {
    modern(
        id,
        "subscriptions/listen",
        json!({ "notifications": filter }),
        json!({}),
    )
}

#[test]
fn a_missing_capability_is_a_bad_request() {
    // modern.md §6.2: HTTP 400
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let request = modern(
            1,
            "tools/call",
            json!({ "name": "greet" }),
            json!({ "sampling": {} }),
        );
        let response = post(&endpoint, &request, &[]).await;
        assert_eq!(response.status(), 400);
        assert_eq!(whole(&response)["error"]["code"], -32021);
    });
}

#[test]
fn rounds_are_plain_requests() {
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let params = json!({ "name": "greet" });
        let response = post(
            &endpoint,
            &modern(1, "tools/call", params, json!({ "elicitation": {} })),
            &[],
        )
        .await;
        assert_eq!(response.status(), 200);
        assert_eq!(whole(&response)["result"]["resultType"], "input_required");
        let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
        let params = json!({ "name": "greet", "inputResponses": answers });
        let response = post(
            &endpoint,
            &modern(2, "tools/call", params, json!({ "elicitation": {} })),
            &[],
        )
        .await;
        assert_eq!(
            whole(&response)["result"]["content"][0]["text"],
            "Hello, \"Ada\"!"
        );
    });
}

#[test]
fn a_subscription_is_a_stream_and_ends_with_the_closing_result_alone() {
    // R238; modern.md §13
    let server = builder().build().unwrap();
    let endpoint = Endpoint::new(&server);
    smol::block_on(async {
        let mut response = Events::of(
            post(
                &endpoint,
                &listen(31, json!({ "toolsListChanged": true })),
                &[],
            )
            .await,
        );
        let tag = json!({ "io.modelcontextprotocol/subscriptionId": 31 });
        let acknowledged = json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": { "_meta": tag, "notifications": { "toolsListChanged": true } },
        });
        assert_eq!(response.next().await, Some(acknowledged));
        server.remove_tool("greet");
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": tag } });
        assert_eq!(response.next().await, Some(changed));
        server.close(Duration::from_secs(3600)).await;
        let result = json!({ "resultType": "complete", "_meta": {
            "io.modelcontextprotocol/serverInfo": { "name": "t", "version": "0" },
            "io.modelcontextprotocol/subscriptionId": 31,
        } });
        assert_eq!(
            response.next().await,
            Some(json!({ "jsonrpc": "2.0", "id": 31, "result": result }))
        );
        assert_eq!(response.next().await, None);
    });
}

#[test]
fn a_client_that_leaves_releases_its_subscription() {
    let mut limits = Limits::default();
    limits.subscriptions = 1;
    let server = builder().limits(limits).build().unwrap();
    let endpoint = Endpoint::new(&server);
    smol::block_on(async {
        for id in 1..4 {
            let mut response = Events::of(post(&endpoint, &listen(id, json!({})), &[]).await);
            assert!(response.next().await.is_some());
            let refused = post(&endpoint, &listen(7, json!({})), &[]).await;
            assert_eq!(whole(&refused)["error"]["code"], -32603);
        }
    });
}

#[test]
fn a_subscription_without_a_stream_is_not_acceptable() {
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let message = listen(1, json!({}));
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "subscriptions/listen")
            .body(message.to_string().into_bytes())
            .unwrap();
        let response = endpoint.handle(request, Signal::never()).await;
        assert_eq!(response.status(), 406);
        assert_eq!(whole(&response)["error"]["code"], -32600);
    });
}

/// Opens a legacy session, and returns its id.
async fn initialize(endpoint: &Endpoint) -> (Option<String>, Value) {
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "c", "version": "0" },
    });
    let request = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let response = post(endpoint, &request, &[]).await;
    let id = response
        .headers()
        .get("mcp-session-id")
        .map(|id| id.to_str().unwrap().to_owned());
    (id, whole(&response))
}

#[test]
fn a_session_is_asked_on_the_stream_of_its_call() {
    // R290; legacy.md §5
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let session = initialize(&endpoint).await.0.unwrap();
        let headers = [("mcp-session-id", &*session)];
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "greet" } });
        let mut response = Events::of(post(&endpoint, &call, &headers).await);
        let asked = response.next().await.unwrap();
        assert_eq!(
            (&asked["method"], &asked["id"]),
            (&json!("elicitation/create"), &json!(1))
        );
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept", "content": { "name": "Ada" } } });
        // Another session's answer to the same id answers nothing.
        let other = initialize(&endpoint).await.0.unwrap();
        assert_eq!(
            post(&endpoint, &answer, &[("mcp-session-id", &*other)])
                .await
                .status(),
            202
        );
        assert_eq!(post(&endpoint, &answer, &headers).await.status(), 202);
        assert_eq!(
            response.next().await.unwrap()["result"]["content"][0]["text"],
            "Hello, \"Ada\"!"
        );
        assert_eq!(response.next().await, None);
    });
}

// The stream of the call is closed by then; the person may still be asked.
#[test]
fn a_question_of_a_call_that_was_given_up_is_taken_back_on_the_sessions_own_stream() {
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let session = initialize(&endpoint).await.0.unwrap();
        let headers = [("mcp-session-id", &*session)];
        let listen = Request::get("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session)
            .body(Vec::new())
            .unwrap();
        let mut own = Events::of(endpoint.handle(listen, Signal::never()).await);
        for (id, hangs_up) in [(1, true), (2, false)] {
            let params = json!({ "name": "greet" });
            let call =
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            let mut response = Events::of(post(&endpoint, &call, &headers).await);
            let asked = response.next().await.unwrap();
            assert_eq!(asked["method"], "elicitation/create");
            if hangs_up {
                drop(response);
            } else {
                let params = json!({ "requestId": id });
                let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                assert_eq!(post(&endpoint, &cancel, &headers).await.status(), 202);
                assert_eq!(response.next().await, None);
            }
            let params = json!({ "requestId": asked["id"], "reason": "No longer needed" });
            let taken_back =
                json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            let told = Signal::timeout(Duration::from_secs(60)).run(own.next());
            assert_eq!(
                told.await.expect("a word on the question"),
                Some(taken_back)
            );
        }
    });
}

#[test]
fn a_session_is_told_of_changes_on_its_own_stream() {
    // legacy.md §4, §8
    let server = builder().build().unwrap();
    let endpoint = Endpoint::new(&server);
    smol::block_on(async {
        let session = initialize(&endpoint).await.0.unwrap();
        let headers = [("mcp-session-id", &*session)];
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(post(&endpoint, &initialized, &headers).await.status(), 202);
        let subscribe = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": "memo:///x" } });
        assert_eq!(
            whole(&post(&endpoint, &subscribe, &headers).await)["result"],
            json!({})
        );
        let request = Request::get("/mcp")
            .header("host", "localhost")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &session)
            .body(Vec::new())
            .unwrap();
        let mut stream = Events::of(endpoint.handle(request, Signal::never()).await);
        server.resource_updated("memo:///x");
        let updated = json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "memo:///x" } });
        assert_eq!(stream.next().await, Some(updated));
        server.remove_tool("greet");
        let changed =
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {} });
        assert_eq!(stream.next().await, Some(changed));
    });
}

#[test]
fn without_sessions_a_legacy_client_is_not_asked_and_not_told() {
    // legacy.md §9.6
    let endpoint = Endpoint::new(&builder().build().unwrap()).sessionless();
    smol::block_on(async {
        let (session, answer) = initialize(&endpoint).await;
        assert_eq!(session, None);
        assert_eq!(
            answer["result"]["capabilities"],
            json!({ "resources": {}, "tools": {} })
        );
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "greet" } });
        let error = &whole(&post(&endpoint, &call, &[]).await)["error"];
        let missing = json!({ "elicitation": { "form": {} } });
        assert_eq!(
            (&error["code"], &error["data"]["requiredCapabilities"]),
            (&json!(-32602), &missing)
        );
        for method in [
            "resources/subscribe",
            "resources/unsubscribe",
            "logging/setLevel",
        ] {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "uri": "memo:///x", "level": "info" } });
            let response = post(&endpoint, &request, &[]).await;
            assert_eq!(
                (
                    response.status().as_u16(),
                    &whole(&response)["error"]["code"]
                ),
                (200, &json!(-32601))
            );
        }
        // A modern client of the same endpoint is.
        let mut response = Events::of(
            post(
                &endpoint,
                &listen(1, json!({ "toolsListChanged": true })),
                &[],
            )
            .await,
        );
        let acknowledged = response.next().await.unwrap();
        assert_eq!(
            acknowledged["params"]["notifications"],
            json!({ "toolsListChanged": true })
        );
    });
}

#[test]
fn a_client_that_takes_only_the_answer_is_not_asked() {
    let endpoint = Endpoint::new(&builder().build().unwrap());
    smol::block_on(async {
        let session = initialize(&endpoint).await.0.unwrap();
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .header("mcp-session-id", &session)
            .body(
                br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet"}}"#
                    .to_vec(),
            )
            .unwrap();
        let response = endpoint.handle(request, Signal::never()).await;
        let missing = json!({ "elicitation": { "form": {} } });
        assert_eq!(
            whole(&response)["error"]["data"]["requiredCapabilities"],
            missing
        );
    });
}

#[test]
fn an_element_of_a_batch_asks_nobody() {
    // An array has no room for requests of the server's own.
    let roots = Tool::new("roots", async |_: NoInput, cx: Context| {
        cx.roots("roots").await?;
        Ok::<_, HandlerError>("done")
    });
    let endpoint = Endpoint::new(&builder().tool(roots).build().unwrap());
    smol::block_on(async {
        let params = json!({
            "protocolVersion": "2025-03-26",
            "capabilities": { "roots": {} },
            "clientInfo": { "name": "c", "version": "0" },
        });
        let request =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = post(&endpoint, &request, &[]).await;
        let session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "roots" } });
        let response = post(&endpoint, &json!([call]), &[("mcp-session-id", &session)]).await;
        assert_eq!(
            whole(&response)[0]["error"]["data"]["requiredCapabilities"],
            json!({ "roots": {} })
        );
    });
}

#[test]
fn a_state_serves_whom_it_was_made_for() {
    // R255, R270
    let keep = Tool::new("keep", async |_: NoInput, cx: Context| {
        cx.set_state(&7)?;
        let schema = FormSchema::new();
        cx.elicit("sure", Elicit::form("Sure?", schema)).await?;
        Ok::<_, HandlerError>("done")
    });
    let endpoint =
        Endpoint::new(&builder().tool(keep).build().unwrap()).authorize(|parts| async move {
            bearer(&parts.headers)
                .map(|name| Principal::new(name.to_owned()))
                .ok_or_else(Challenge::unauthorized)
        });
    smol::block_on(async {
        let capabilities = || json!({ "elicitation": {} });
        let first = modern(1, "tools/call", json!({ "name": "keep" }), capabilities());
        let ada = [("authorization", "Bearer ada")];
        let state = whole(&post(&endpoint, &first, &ada).await)["result"]["requestState"].take();
        let answers = json!({ "sure": { "action": "accept" } });
        let params = json!({ "name": "keep", "inputResponses": answers, "requestState": state });
        let second = modern(2, "tools/call", params, capabilities());
        let eve = [("authorization", "Bearer eve")];
        let refused = whole(&post(&endpoint, &second, &eve).await);
        assert_eq!(
            refused["error"],
            json!({ "code": -32602, "message": "Invalid 'requestState'" })
        );
        let done = whole(&post(&endpoint, &second, &ada).await);
        assert_eq!(done["result"]["content"][0]["text"], "done");
    });
}
