//! 2026-07-28: headers that mirror the body.

use crate::common::*;

/// A request that is served, with the text of its result.
fn served(what: &'static str, request: Req, text: &str) -> Row {
    (what, request, 200, said("1", text))
}

fn quick() -> Req {
    Req::call("1", "quick", "")
}

// R75, R78, R79, R80, R81, R83, R93
#[test]
fn headers_that_mirror_the_body_are_there_once_and_equal() {
    judge(&[
        served("all there", quick(), "done"),
        mismatched(
            "no version",
            quick().without("mcp-protocol-version"),
            "MCP-Protocol-Version is missing, body has '2026-07-28'",
        ),
        mismatched(
            "another version",
            quick().with("mcp-protocol-version", "2025-11-25"),
            "MCP-Protocol-Version is '2025-11-25', body has '2026-07-28'",
        ),
        mismatched(
            "two versions",
            quick().and("mcp-protocol-version", VERSION),
            "MCP-Protocol-Version appears twice",
        ),
        mismatched(
            "no method",
            quick().without("mcp-method"),
            "Mcp-Method is missing, body has 'tools/call'",
        ),
        mismatched(
            "the method in capitals",
            quick().with("mcp-method", "TOOLS/CALL"),
            "Mcp-Method is 'TOOLS/CALL', body has 'tools/call'",
        ),
        mismatched(
            "two methods",
            quick().and("mcp-method", "tools/call"),
            "Mcp-Method appears twice",
        ),
        mismatched(
            "no name",
            quick().without("mcp-name"),
            "Mcp-Name is missing, body has 'quick'",
        ),
        mismatched(
            "another name",
            quick().with("mcp-name", "a"),
            "Mcp-Name is 'a', body has 'quick'",
        ),
        mismatched(
            "two names",
            quick().and("mcp-name", "quick"),
            "Mcp-Name appears twice",
        ),
    ]);
}

// R82, R84
#[test]
fn the_case_of_names_and_the_blanks_around_values_do_not_count() {
    judge(&[
        served(
            "names of headers in capitals",
            quick()
                .without("mcp-method")
                .with("MCP-METHOD", "tools/call"),
            "done",
        ),
        served(
            "names of headers mixed",
            quick().without("mcp-name").with("McP-NaMe", "quick"),
            "done",
        ),
        served(
            "blanks around the value",
            quick().with("mcp-name", " \t quick\t "),
            "done",
        ),
        served(
            "blanks around the version",
            quick().with("mcp-protocol-version", "  2026-07-28  "),
            "done",
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
    ]);
}

// R85, R86, R87
#[test]
fn a_name_in_base64_is_decoded_strictly_and_half_a_marker_is_text() {
    judge(&[
        served(
            "quick",
            quick().with("mcp-name", "=?base64?cXVpY2s=?="),
            "done",
        ),
        mismatched(
            "no padding",
            quick().with("mcp-name", "=?base64?cXVpY2s?="),
            "Mcp-Name is not valid base64",
        ),
        mismatched(
            "another alphabet",
            quick().with("mcp-name", "=?base64?cXV!!!k=?="),
            "Mcp-Name is not valid base64",
        ),
        mismatched(
            "not UTF-8",
            quick().with("mcp-name", "=?base64?/w==?="),
            "Mcp-Name does not encode UTF-8",
        ),
        mismatched(
            "marker in capitals",
            quick().with("mcp-name", "=?BASE64?cXVpY2s=?="),
            "Mcp-Name is '=?BASE64?cXVpY2s=?=', body has 'quick'",
        ),
        mismatched(
            "prefix alone",
            quick().with("mcp-name", "=?base64?cXVpY2s="),
            "Mcp-Name is '=?base64?cXVpY2s=', body has 'quick'",
        ),
        mismatched(
            "suffix alone",
            quick().with("mcp-name", "cXVpY2s=?="),
            "Mcp-Name is 'cXVpY2s=?=', body has 'quick'",
        ),
        mismatched(
            "beyond ASCII",
            quick().with("mcp-name", "größe"),
            "Mcp-Name holds characters that a header must not",
        ),
    ]);
}

// R86
#[test]
fn a_name_that_half_a_marker_spells_is_found_by_it() {
    let called = |name: &str| {
        Req::modern(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}",{META}}}}}"#
        ))
    };
    let unknown = |name: &str| error("1", -32602, &format!("Unknown tool: {name}"));
    let encoded = called("größe").with("mcp-name", "=?base64?Z3LDtsOfZQ==?=");
    judge(&[
        ("literal", called("=?base64?x"), 200, unknown("=?base64?x")),
        ("encoded", encoded, 200, unknown("größe")),
    ]);
}

/// A call of the tool whose arguments are mirrored.
fn call(arguments: &str) -> Req {
    Req::call("1", "region", &format!(r#","arguments":{{{arguments}}}"#))
}

/// The header has nothing to equal; what the schema says of the argument comes after that.
fn unfit(why: &str) -> String {
    match cfg!(feature = "validate") {
        true => said("1", why).replacen("}],", "}],\"isError\":true,", 1),
        false => said("1", "here"),
    }
}

// R90, R91
#[test]
fn a_mirrored_parameter_is_there_if_and_only_if_its_argument_is() {
    judge(&[
        served("nothing", call(""), "here"),
        (
            "null",
            call(r#""region":null"#),
            200,
            unfit("Invalid argument 'region': null is not of type \\\"string\\\"."),
        ),
        mismatched(
            "header missing",
            call(r#""region":"eu""#),
            "Mcp-Param-Region is missing, body has 'eu'",
        ),
        mismatched(
            "argument missing",
            call("").with("mcp-param-region", "eu"),
            "Mcp-Param-Region is 'eu', body has nothing",
        ),
        mismatched(
            "header twice",
            call(r#""region":"eu""#)
                .with("mcp-param-region", "eu")
                .and("mcp-param-region", "eu"),
            "Mcp-Param-Region appears twice",
        ),
        served(
            "no text",
            call(r#""region":"""#).with("mcp-param-region", ""),
            "here",
        ),
        mismatched(
            "no text without a header",
            call(r#""region":"""#),
            "Mcp-Param-Region is missing, body has ''",
        ),
        served(
            "zero",
            call(r#""count":0"#).with("mcp-param-count", "0"),
            "here",
        ),
        mismatched(
            "zero without a header",
            call(r#""count":0"#),
            "Mcp-Param-Count is missing, body has 0",
        ),
        mismatched(
            "false without a header",
            call(r#""flag":false"#),
            "Mcp-Param-Flag is missing, body has false",
        ),
        served(
            "false",
            call(r#""flag":false"#).with("mcp-param-flag", "false"),
            "here",
        ),
        (
            "path that leads nowhere",
            call(r#""deep":1"#),
            200,
            unfit("Invalid argument 'deep': 1 is not of type \\\"object\\\"."),
        ),
        served(
            "header of nothing",
            call("").with("mcp-param-other", "größe"),
            "here",
        ),
    ]);
}

// R89, R92
#[test]
fn mirrored_parameters_equal_the_arguments() {
    judge(&[
        served(
            "equal",
            call(r#""region":"eu""#).with("mcp-param-region", "eu"),
            "here",
        ),
        mismatched(
            "header differs",
            call(r#""region":"eu""#).with("mcp-param-region", "us"),
            "Mcp-Param-Region is 'us', body has 'eu'",
        ),
        served(
            "number as it is",
            call(r#""count":42"#).with("mcp-param-count", "42"),
            "here",
        ),
        served(
            "number by value",
            call(r#""count":42"#).with("mcp-param-count", "42.0"),
            "here",
        ),
        mismatched(
            "the number next to one that a float takes for it",
            call(r#""count":9007199254740993"#).with("mcp-param-count", "9007199254740992"),
            "Mcp-Param-Count is '9007199254740992', body has 9007199254740993",
        ),
        mismatched(
            "another number",
            call(r#""count":42"#).with("mcp-param-count", "43"),
            "Mcp-Param-Count is '43', body has 42",
        ),
        mismatched(
            "no number",
            call(r#""count":42"#).with("mcp-param-count", "x"),
            "Mcp-Param-Count is 'x', body has 42",
        ),
        served(
            "true",
            call(r#""flag":true"#).with("mcp-param-flag", "true"),
            "here",
        ),
        mismatched(
            "True",
            call(r#""flag":true"#).with("mcp-param-flag", "True"),
            "Mcp-Param-Flag is 'True', body has true",
        ),
        served(
            "nested",
            call(r#""deep":{"zone":"z"}"#).with("mcp-param-zone", "z"),
            "here",
        ),
    ]);
}

// R85, R88
#[test]
fn a_mirrored_parameter_is_decoded_or_refused_by_its_characters() {
    judge(&[
        served(
            "equal in base64",
            call(r#""region":" M""#).with("mcp-param-region", "=?base64?IE0=?="),
            "here",
        ),
        mismatched(
            "bytes beyond ASCII",
            call(r#""region":"eu""#).with("mcp-param-region", "é"),
            "Mcp-Param-Region holds characters that a header must not",
        ),
    ]);
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
