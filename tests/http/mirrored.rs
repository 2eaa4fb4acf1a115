//! 2026-07-28: headers that mirror the body.

use crate::common::*;

fn mismatch(why: &str) -> String {
    error("1", -32020, &format!("Header mismatch: {why}"))
}

// R75, R78, R79, R80, R81, R82, R83, R84, R93
#[test]
fn headers_that_mirror_the_body_are_there_once_and_equal() {
    let good = || Req::call("1", "quick", "");
    let done = || said("1", "done");
    let rows = vec![
        ("all there", good(), 200, done()),
        (
            "no version",
            good().without("mcp-protocol-version"),
            400,
            mismatch("MCP-Protocol-Version is missing, body has '2026-07-28'"),
        ),
        (
            "another version",
            good().with("mcp-protocol-version", "2025-11-25"),
            400,
            mismatch("MCP-Protocol-Version is '2025-11-25', body has '2026-07-28'"),
        ),
        (
            "two versions",
            good().and("mcp-protocol-version", VERSION),
            400,
            mismatch("MCP-Protocol-Version appears twice"),
        ),
        (
            "no method",
            good().without("mcp-method"),
            400,
            mismatch("Mcp-Method is missing, body has 'tools/call'"),
        ),
        (
            "the method in capitals",
            good().with("mcp-method", "TOOLS/CALL"),
            400,
            mismatch("Mcp-Method is 'TOOLS/CALL', body has 'tools/call'"),
        ),
        (
            "two methods",
            good().and("mcp-method", "tools/call"),
            400,
            mismatch("Mcp-Method appears twice"),
        ),
        (
            "no name",
            good().without("mcp-name"),
            400,
            mismatch("Mcp-Name is missing, body has 'quick'"),
        ),
        (
            "another name",
            good().with("mcp-name", "a"),
            400,
            mismatch("Mcp-Name is 'a', body has 'quick'"),
        ),
        (
            "two names",
            good().and("mcp-name", "quick"),
            400,
            mismatch("Mcp-Name appears twice"),
        ),
        (
            "names of headers in capitals",
            good()
                .without("mcp-method")
                .with("MCP-METHOD", "tools/call"),
            200,
            done(),
        ),
        (
            "names of headers mixed",
            good().without("mcp-name").with("McP-NaMe", "quick"),
            200,
            done(),
        ),
        (
            "blanks around the value",
            good().with("mcp-name", " \t quick\t "),
            200,
            done(),
        ),
        (
            "blanks around the version",
            good().with("mcp-protocol-version", "  2026-07-28  "),
            200,
            done(),
        ),
        (
            "the name on a method that has none is not looked at",
            Req::modern(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"no","params":{{{META}}}}}"#
            ))
            .with("mcp-name", "x"),
            404,
            error("1", -32601, "Method not found: no"),
        ),
    ];
    every_way(async |_, serving| check(serving, &rows).await);
}

// R85, R86, R87
#[test]
fn a_name_in_base64_is_decoded_strictly_and_half_a_marker_is_text() {
    let good = || Req::call("1", "quick", "");
    let mismatch = |why: &str| super::mirrored::mismatch(why);
    let bad = mismatch("Mcp-Name is not valid base64");
    let rows = vec![
        (
            "quick",
            good().with("mcp-name", "=?base64?cXVpY2s=?="),
            200,
            said("1", "done"),
        ),
        (
            "no padding",
            good().with("mcp-name", "=?base64?cXVpY2s?="),
            400,
            bad.clone(),
        ),
        (
            "another alphabet",
            good().with("mcp-name", "=?base64?cXV!!!k=?="),
            400,
            bad.clone(),
        ),
        (
            "not UTF-8",
            good().with("mcp-name", "=?base64?/w==?="),
            400,
            mismatch("Mcp-Name does not encode UTF-8"),
        ),
        (
            "marker in capitals",
            good().with("mcp-name", "=?BASE64?cXVpY2s=?="),
            400,
            mismatch("Mcp-Name is '=?BASE64?cXVpY2s=?=', body has 'quick'"),
        ),
        (
            "prefix alone",
            good().with("mcp-name", "=?base64?cXVpY2s="),
            400,
            mismatch("Mcp-Name is '=?base64?cXVpY2s=', body has 'quick'"),
        ),
        (
            "suffix alone",
            good().with("mcp-name", "cXVpY2s=?="),
            400,
            mismatch("Mcp-Name is 'cXVpY2s=?=', body has 'quick'"),
        ),
        (
            "beyond ASCII",
            good().with("mcp-name", "größe"),
            400,
            mismatch("Mcp-Name holds characters that a header must not"),
        ),
    ];
    every_way(async |_, serving| {
        check(serving, &rows).await;
        // A name that half a marker spells is found by it.
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"=?base64?x","_meta":{{{}}}}}}}"#,
            &META[9..META.len() - 1]
        );
        let literal = Req::modern(&body);
        check(
            serving,
            &[(
                "literal",
                literal,
                200,
                error("1", -32602, "Unknown tool: =?base64?x"),
            )],
        )
        .await;
        let body = body.replace("=?base64?x", "größe");
        let encoded = Req::modern(&body).with("mcp-name", "=?base64?Z3LDtsOfZQ==?=");
        check(
            serving,
            &[(
                "encoded",
                encoded,
                200,
                error("1", -32602, "Unknown tool: größe"),
            )],
        )
        .await;
    });
}

// R88, R89, R90, R91, R92
#[test]
fn mirrored_parameters_equal_the_arguments() {
    let call =
        |arguments: &str| Req::call("1", "region", &format!(r#","arguments":{{{arguments}}}"#));
    let here = || said("1", "here");
    // The header has nothing to equal; what the schema says of the argument comes after that.
    let unfit = |why: &str| match cfg!(feature = "validate") {
        true => said("1", why).replacen("}],", "}],\"isError\":true,", 1),
        false => here(),
    };
    let rows: Vec<Row> = vec![
        ("nothing", call(""), 200, here()),
        (
            "null",
            call(r#""region":null"#),
            200,
            unfit("Invalid argument 'region': null is not of type \\\"string\\\"."),
        ),
        (
            "equal",
            call(r#""region":"eu""#).with("mcp-param-region", "eu"),
            200,
            here(),
        ),
        (
            "equal in base64",
            call(r#""region":" M""#).with("mcp-param-region", "=?base64?IE0=?="),
            200,
            here(),
        ),
        (
            "header missing",
            call(r#""region":"eu""#),
            400,
            mismatch("Mcp-Param-Region is missing, body has 'eu'"),
        ),
        (
            "header differs",
            call(r#""region":"eu""#).with("mcp-param-region", "us"),
            400,
            mismatch("Mcp-Param-Region is 'us', body has 'eu'"),
        ),
        (
            "argument missing",
            call("").with("mcp-param-region", "eu"),
            400,
            mismatch("Mcp-Param-Region is 'eu', body has nothing"),
        ),
        (
            "header twice",
            call(r#""region":"eu""#)
                .with("mcp-param-region", "eu")
                .and("mcp-param-region", "eu"),
            400,
            mismatch("Mcp-Param-Region appears twice"),
        ),
        (
            "number as it is",
            call(r#""count":42"#).with("mcp-param-count", "42"),
            200,
            here(),
        ),
        (
            "number by value",
            call(r#""count":42"#).with("mcp-param-count", "42.0"),
            200,
            here(),
        ),
        (
            "no text",
            call(r#""region":"""#).with("mcp-param-region", ""),
            200,
            here(),
        ),
        (
            "no text without a header",
            call(r#""region":"""#),
            400,
            mismatch("Mcp-Param-Region is missing, body has ''"),
        ),
        (
            "zero",
            call(r#""count":0"#).with("mcp-param-count", "0"),
            200,
            here(),
        ),
        (
            "zero without a header",
            call(r#""count":0"#),
            400,
            mismatch("Mcp-Param-Count is missing, body has 0"),
        ),
        (
            "false without a header",
            call(r#""flag":false"#),
            400,
            mismatch("Mcp-Param-Flag is missing, body has false"),
        ),
        (
            "false",
            call(r#""flag":false"#).with("mcp-param-flag", "false"),
            200,
            here(),
        ),
        (
            "the number next to one that a float takes for it",
            call(r#""count":9007199254740993"#).with("mcp-param-count", "9007199254740992"),
            400,
            mismatch("Mcp-Param-Count is '9007199254740992', body has 9007199254740993"),
        ),
        (
            "another number",
            call(r#""count":42"#).with("mcp-param-count", "43"),
            400,
            mismatch("Mcp-Param-Count is '43', body has 42"),
        ),
        (
            "no number",
            call(r#""count":42"#).with("mcp-param-count", "x"),
            400,
            mismatch("Mcp-Param-Count is 'x', body has 42"),
        ),
        (
            "true",
            call(r#""flag":true"#).with("mcp-param-flag", "true"),
            200,
            here(),
        ),
        (
            "True",
            call(r#""flag":true"#).with("mcp-param-flag", "True"),
            400,
            mismatch("Mcp-Param-Flag is 'True', body has true"),
        ),
        (
            "nested",
            call(r#""deep":{"zone":"z"}"#).with("mcp-param-zone", "z"),
            200,
            here(),
        ),
        (
            "path that leads nowhere",
            call(r#""deep":1"#),
            200,
            unfit("Invalid argument 'deep': 1 is not of type \\\"object\\\"."),
        ),
        (
            "header of nothing",
            call("").with("mcp-param-other", "größe"),
            200,
            here(),
        ),
        (
            "bytes beyond ASCII",
            call(r#""region":"eu""#).with("mcp-param-region", "é"),
            400,
            mismatch("Mcp-Param-Region holds characters that a header must not"),
        ),
    ];
    every_way(async |_, serving| check(serving, &rows).await);
}

// legacy.md §16.3: legacy traffic has no mirrored headers
#[test]
fn legacy_requests_are_not_held_against_mirrored_headers() {
    every_way(async |_, serving| {
        let session = open(serving, "2025-11-25").await;
        let request = Req::legacy(&session, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .with("mcp-method", "tools/call")
            .with("mcp-name", "x")
            .with("mcp-param-region", "y");
        check(
            serving,
            &[(
                "ping",
                request,
                200,
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.into(),
            )],
        )
        .await;
    });
}
