//! 2026-07-28: what each defect of a POST comes to, and which of two is named.

use crate::common::*;
use smol_mcp::HandlerError;
use smol_mcp::protocol::jsonrpc::RpcError;

const SUPPORTED: &str = r#"["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]"#;

fn unsupported(id: &str, requested: &str, supported: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"Unsupported protocol version","data":{{"requested":"{requested}","supported":{supported}}}}}}}"#
    )
}

fn without_claim(id: &str) -> String {
    let meta = "Missing _meta['io.modelcontextprotocol/protocolVersion'] and _meta['io.modelcontextprotocol/clientCapabilities']";
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"{meta}","data":{{"supported":{SUPPORTED}}}}}}}"#
    )
}

/// A request of this method with these members of `params`.
fn list(id: &str, params: &str) -> Req {
    Req::modern(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{{params}}}}}"#
    ))
}

// R326, R329, R330; the array: R98
#[test]
fn what_is_no_request_is_a_400_with_the_code_of_its_defect() {
    let post = |body: &str| Req::post(body).with("mcp-protocol-version", VERSION);
    let shape = |body: &str, id: &str, message: &str| {
        let what: &'static str = Box::leak(body.to_owned().into_boxed_str());
        (what, post(body), 400, error(id, -32600, message))
    };
    let rows = vec![
        (
            "not JSON",
            post("{"),
            400,
            error("", -32700, "Parse error: EOF while parsing an object"),
        ),
        (
            "no bytes",
            post(""),
            400,
            error("", -32700, "Parse error: EOF while parsing a value"),
        ),
        (
            "not UTF-8",
            post("").body(b"{\"a\":\"\xff\"}".to_vec()),
            400,
            error("", -32700, "Parse error: not UTF-8"),
        ),
        shape(
            "[]",
            "",
            "Invalid request: not an object (batches are not supported)",
        ),
        shape(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            "",
            "Invalid request: not an object (batches are not supported)",
        ),
        shape("1", "", "Invalid request: not an object"),
        shape(
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            "1",
            "Invalid request: 'jsonrpc' must be \\\"2.0\\\"",
        ),
        shape(
            r#"{"id":1,"method":"ping"}"#,
            "1",
            "Invalid request: 'jsonrpc' must be \\\"2.0\\\"",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":1}"#,
            "1",
            "Invalid request: 'method' is missing",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
            "1",
            "Invalid request: 'method' must be a string",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "",
            "Invalid request: 'id' must be a string or an integer",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            "",
            "Invalid request: 'id' must be a string or an integer",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            "",
            "Invalid request: 'id' must be a string or an integer",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            "",
            "Invalid request: 'id' must be a string or an integer",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            "1",
            "Invalid request: 'params' must be an object, without repeated members and with at most 64",
        ),
        shape(
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            "",
            "Invalid request: a response to no request",
        ),
    ];
    judge(&rows);
}

const CAPS: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
const CLAIM: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;

fn of_meta(meta: &str) -> Req {
    list("7", &format!(r#""_meta":{{{meta}}}"#))
}

// R58, R326
#[test]
fn a_request_without_a_version_in_its_meta_is_told_what_is_missing() {
    let unclaimed = |what, request| (what, request, 400, without_claim("7"));
    judge(&[
        unclaimed(
            "no params",
            Req::modern(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#),
        ),
        unclaimed("no _meta", list("7", "")),
        unclaimed("_meta is no object", list("7", r#""_meta":1"#)),
        unclaimed("no version", of_meta(CAPS)),
    ]);
}

// R326, R331
#[test]
fn defects_of_meta_are_a_400_and_echo_the_id() {
    let missing = |name: &str| format!("Missing _meta['io.modelcontextprotocol/{name}']");
    let wrong = |name: &str, wanted: &str| format!("Invalid _meta['{name}']: expected {wanted}");
    let invalid = |what, request, why: &str| (what, request, 400, error("7", -32602, why));
    judge(&[
        invalid(
            "no capabilities",
            of_meta(CLAIM),
            &missing("clientCapabilities"),
        ),
        invalid(
            "version is a number",
            of_meta(&format!(
                r#""io.modelcontextprotocol/protocolVersion":1,{CAPS}"#
            )),
            &wrong("io.modelcontextprotocol/protocolVersion", "a string"),
        ),
        invalid(
            "capabilities are an array",
            of_meta(&format!(
                r#"{CLAIM},"io.modelcontextprotocol/clientCapabilities":[]"#
            )),
            &wrong("io.modelcontextprotocol/clientCapabilities", "an object"),
        ),
        invalid(
            "client info has no name",
            of_meta(&format!(
                r#"{CLAIM},{CAPS},"io.modelcontextprotocol/clientInfo":{{}}"#
            )),
            &wrong(
                "io.modelcontextprotocol/clientInfo",
                "an object with 'name' and 'version'",
            ),
        ),
        invalid(
            "log level is unknown",
            of_meta(&format!(
                r#"{CLAIM},{CAPS},"io.modelcontextprotocol/logLevel":"loud""#
            )),
            &wrong("io.modelcontextprotocol/logLevel", "a log level"),
        ),
        invalid(
            "progress token is a boolean",
            of_meta(&format!(r#"{CLAIM},{CAPS},"progressToken":true"#)),
            &wrong("progressToken", "a string or an integer"),
        ),
    ]);
}

// R76
#[test]
fn a_version_that_is_not_served_is_a_400_with_those_that_are() {
    judge(&[
        (
            "version of the future",
            of_meta(&format!(
                r#""io.modelcontextprotocol/protocolVersion":"2031-01-01",{CAPS}"#
            ))
            .with("mcp-protocol-version", "2031-01-01"),
            400,
            unsupported("7", "2031-01-01", SUPPORTED),
        ),
        (
            "version of no form",
            of_meta(&format!(
                r#""io.modelcontextprotocol/protocolVersion":"v999.0.0",{CAPS}"#
            ))
            .with("mcp-protocol-version", "v999.0.0"),
            400,
            unsupported("7", "v999.0.0", SUPPORTED),
        ),
        (
            "version of the legacy era",
            of_meta(&format!(
                r#""io.modelcontextprotocol/protocolVersion":"2025-11-25",{CAPS}"#
            ))
            .with("mcp-protocol-version", "2025-11-25"),
            400,
            unsupported("7", "2025-11-25", r#"["2026-07-28"]"#),
        ),
    ]);
}

// R57, R59, R77, R331
#[test]
fn methods_that_are_not_served_are_a_404() {
    every_way(async |_, serving| {
        for method in [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "unknown/method",
            "resources/list",
            "prompts/list",
            "completion/complete",
            "",
        ] {
            let body =
                format!(r#"{{"jsonrpc":"2.0","id":"a","method":"{method}","params":{{{META}}}}}"#);
            let expected = error("\"a\"", -32601, &format!("Method not found: {method}"));
            check(
                serving,
                &[("not served", Req::modern(&body), 404, expected)],
            )
            .await;
        }
    });
}

#[test]
fn what_a_method_finds_wrong_is_a_200() {
    let rows = vec![
        (
            "unknown tool",
            Req::call("1", "nothing", ""),
            200,
            error("1", -32602, "Unknown tool: nothing"),
        ),
        (
            "no name",
            Req::modern(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{META}}}}}"#
            )),
            200,
            error("1", -32602, "Missing 'name'"),
        ),
        (
            "arguments are an array",
            Req::call("1", "quick", r#","arguments":[]"#),
            200,
            error("1", -32602, "Invalid 'arguments': expected an object"),
        ),
        (
            "bad cursor",
            list("1", &format!(r#""cursor":"x",{META}"#)),
            200,
            error("1", -32602, "Invalid cursor"),
        ),
    ];
    judge(&rows);
}

// R67; R54: no session, no handshake before
#[test]
fn the_first_request_may_be_anything_and_ids_come_back_as_they_were() {
    every_way(async |_, serving| {
        for id in [
            "0",
            "\"\"",
            "\"0\"",
            "-1",
            "9007199254740993",
            "\"ü\\u0000\"",
        ] {
            let request = Req::call(id, "quick", "");
            check(serving, &[("id", request.clone(), 200, said(id, "done"))]).await;
            let reply = serving.send(&request).await.reply().await;
            assert_eq!(reply.header("mcp-session-id"), None);
        }
    });
}

// R95, R96: whatever they name
#[test]
fn session_and_last_event_of_a_modern_request_are_ignored() {
    every_way(async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        for session in [&*session, "unknown"] {
            let request = Req::call("1", "quick", "")
                .with("mcp-session-id", session)
                .with("last-event-id", "1-1");
            let reply = serving.send(&request).await.reply().await;
            assert_eq!((reply.status, reply.text()), (200, &*said("1", "done")));
            assert_eq!(reply.header("mcp-session-id"), None);
        }
    });
}

// R65, R66; clients.md: `cancelled` with and without claim
#[test]
fn notifications_are_accepted_without_a_body_or_refused_with_an_error_status() {
    let note = |params: &str| {
        Req::post(format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":1{params}}}}}"#
        ))
    };
    let rows = vec![
        (
            "with a claim",
            note(&format!(",{META}")),
            202,
            String::new(),
        ),
        (
            "with a header",
            note("").with("mcp-protocol-version", VERSION),
            202,
            String::new(),
        ),
        (
            "with both",
            note(&format!(",{META}")).with("mcp-protocol-version", VERSION),
            202,
            String::new(),
        ),
        (
            "unknown",
            Req::post(r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#)
                .with("mcp-protocol-version", VERSION),
            202,
            String::new(),
        ),
        (
            "with a claim and another version in the header",
            note(&format!(",{META}")).with("mcp-protocol-version", "2025-11-25"),
            400,
            error(
                "",
                -32020,
                "Header mismatch: MCP-Protocol-Version is '2025-11-25', body has '2026-07-28'",
            ),
        ),
        (
            "malformed",
            Req::post(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":1}"#)
                .with("mcp-protocol-version", VERSION),
            400,
            error(
                "",
                -32600,
                "Invalid request: 'params' must be an object, without repeated members and with at most 64",
            ),
        ),
    ];
    judge(&rows);
}

fn quick() -> Req {
    Req::call("1", "quick", "")
}

// These three: the order of modern.md §18.3
#[test]
fn before_the_body_is_read_the_earlier_check_sets_the_status() {
    let evil = |req: Req| req.with("origin", "http://evil.example");
    let put = || Req::new("PUT");
    let rows = [
        ("origin before method", evil(put()), 403),
        (
            "method before content type",
            put().with("content-type", "text/plain"),
            405,
        ),
        (
            "content type before accept",
            quick()
                .with("content-type", "text/plain")
                .with("accept", "text/html"),
            415,
        ),
        (
            "accept before parsing",
            quick().with("accept", "text/html").body("{"),
            406,
        ),
    ];
    every_way(async |_, serving| {
        for (what, request, status) in &rows {
            let reply = serving.send(request).await.reply().await;
            assert_eq!(reply.status, *status, "{what}");
        }
    });
}

#[test]
fn of_two_defects_of_the_message_the_earlier_check_names_its_own() {
    let version = |req: Req| req.with("mcp-protocol-version", "2031-01-01");
    judge(&[
        (
            "parse before shape",
            Req::post("[1"),
            400,
            error("", -32700, "Parse error: EOF while parsing a list"),
        ),
        (
            "shape before _meta",
            Req::post(r#"{"jsonrpc":"1.0","id":1,"method":"tools/list","params":{}}"#)
                .with("mcp-protocol-version", VERSION),
            400,
            error(
                "1",
                -32600,
                "Invalid request: 'jsonrpc' must be \\\"2.0\\\"",
            ),
        ),
        (
            "_meta before the version header",
            version(Req::modern(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            )),
            400,
            error(
                "1",
                -32602,
                "Missing _meta['io.modelcontextprotocol/clientCapabilities']",
            ),
        ),
        mismatched(
            "version header before the version",
            Req::modern(&good_body("2031-01-01")).with("mcp-protocol-version", "2032-01-01"),
            "MCP-Protocol-Version is '2032-01-01', body has '2031-01-01'",
        ),
        (
            "version before Mcp-Method",
            Req::modern(&good_body("2031-01-01"))
                .with("mcp-protocol-version", "2031-01-01")
                .without("mcp-method"),
            400,
            unsupported("1", "2031-01-01", SUPPORTED),
        ),
    ]);
}

#[test]
fn of_two_defects_of_method_and_name_the_earlier_check_names_its_own() {
    let wrong_name = |req: Req| req.with("mcp-name", "other");
    judge(&[
        mismatched(
            "Mcp-Method before Mcp-Name",
            wrong_name(quick()).with("mcp-method", "tools/list"),
            "Mcp-Method is 'tools/list', body has 'tools/call'",
        ),
        mismatched(
            "Mcp-Method before the method",
            Req::modern(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"no","params":{{{META}}}}}"#
            ))
            .with("mcp-method", "other"),
            "Mcp-Method is 'other', body has 'no'",
        ),
        mismatched(
            "Mcp-Name before the name",
            wrong_name(Req::call("1", "nothing", "")),
            "Mcp-Name is 'other', body has 'nothing'",
        ),
        (
            "the method before its params",
            Req::modern(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"no","params":{{"cursor":1,{META}}}}}"#
            )),
            404,
            error("1", -32601, "Method not found: no"),
        ),
        (
            "the name before the mirrored params",
            Req::call("1", "nothing", "").with("mcp-param-region", "x"),
            200,
            error("1", -32602, "Unknown tool: nothing"),
        ),
    ]);
}

fn good_body(version: &str) -> String {
    let meta = META.replace(VERSION, version);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"quick",{meta}}}}}"#
    )
}

// R59, R334; P25: the status is open until the handler has said something
#[test]
fn a_handler_that_fails_after_waiting_still_sets_the_status() {
    let needs = || {
        RpcError::new(RpcError::MISSING_CLIENT_CAPABILITY, "Needs sampling")
            .with_data(serde_json::json!({ "requiredCapabilities": { "sampling": {} } }))
    };
    every_way(async |stage, serving| {
        let exchange = serving.send(&Req::play("1")).await;
        let playing = stage.playing().await;
        playing.fail(HandlerError::rpc(needs()));
        let reply = exchange.reply().await;
        let expected = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"Needs sampling","data":{"requiredCapabilities":{"sampling":{}}}}}"#;
        assert_eq!((reply.status, reply.text()), (400, expected));
        assert_eq!(reply.header("content-type"), Some("application/json"));
    });
}

// failures.md: a large client sends `id: 1` every time
#[test]
fn two_requests_with_one_id_at_a_time_each_get_their_own_answer() {
    every_way(async |stage, serving| {
        let first = serving.send(&Req::play("1")).await;
        let first_playing = stage.playing().await;
        let second = serving.send(&Req::play("1")).await;
        let second_playing = stage.playing().await;
        second_playing.finish("second");
        assert_eq!(second.reply().await.text(), said("1", "second"));
        first_playing.finish("first");
        assert_eq!(first.reply().await.text(), said("1", "first"));
    });
}
