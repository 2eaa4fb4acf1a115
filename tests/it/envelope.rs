//! What is wrong with a message, and what is answered: `modern.md` §2.2 row by row. After each the next call works.

use smol_mcp::Limits;
use smol_mcp::protocol::Version;
use smol_mcp::testing::Client;

use crate::talk::{self, META, Talk};

fn error(id: &str, code: i64, message: &str) -> String {
    let id = match id {
        "" => String::new(),
        id => format!(r#""id":{id},"#),
    };
    format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":{code},"message":"{message}"}}}}"#)
}

// R4, R329, R326
#[test]
fn what_is_no_json_is_a_parse_error_without_id() {
    let talk = Talk::modern();
    let parse = |why: &str| error("", -32700, &format!("Parse error: {why}"));
    talk.says("not json", &[&parse("expected ident")]);
    talk.says("{", &[&parse("EOF while parsing an object")]);
    talk.says(
        r#"{"jsonrpc":"2.0","id":1"#,
        &[&parse("EOF while parsing an object")],
    );
    talk.says(
        r#"{"jsonrpc":"2.0","id":1}}"#,
        &[&parse("trailing characters")],
    );
    talk.says(r#"{"jsonrpc":"2.0","id":1,}"#, &[&parse("trailing comma")]);
    talk.says(r#"{'jsonrpc':"2.0"}"#, &[&parse("key must be a string")]);
    talk.says(
        r#"{"jsonrpc":"2.0","id":01,"method":"x"}"#,
        &[&parse("invalid number")],
    );
    talk.says(
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        &[&parse("unexpected end of hex escape")],
    );
    talk.says(b"\0", &[&parse("expected value")]);
    talk.says(b"\xff\xfe", &[&parse("not UTF-8")]);
    talk.says(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\"}",
        &[&parse("not UTF-8")],
    );
    talk.says(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xed\xa0\x80\"}",
        &[&parse("not UTF-8")],
    );
}

// R330
#[test]
fn json_that_is_no_object_is_an_invalid_request_without_id() {
    let talk = Talk::modern();
    let no_object = error("", -32600, "Invalid request: not an object");
    for scalar in ["null", "true", "7", "7.5", "-1", r#""text""#] {
        talk.says(scalar, &[&no_object]);
    }
    let batch = error(
        "",
        -32600,
        "Invalid request: not an object (batches are not supported)",
    );
    let ping = r#"[{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{$META}}]"#;
    for array in ["[]", "[1]", "[[]]", ping] {
        talk.says(array, &[&batch]);
    }
}

// R2, R330, R326
#[test]
fn a_wrong_envelope_is_an_invalid_request_with_the_id_that_it_has() {
    let talk = Talk::modern();
    let invalid = |id, why: &str| error(id, -32600, &format!("Invalid request: {why}"));
    let version = r#"'jsonrpc' must be \"2.0\""#;
    for member in [
        r#""jsonrpc":"1.0","#,
        r#""jsonrpc":2.0,"#,
        r#""jsonrpc":null,"#,
        "",
    ] {
        talk.says(
            format!(r#"{{{member}"id":7,"method":"x"}}"#),
            &[&invalid("7", version)],
        );
    }
    talk.says(r#"{"id":"a","method":"x"}"#, &[&invalid(r#""a""#, version)]);
    talk.says("{}", &[&invalid("", version)]);
    talk.says(
        r#"{"jsonrpc":"2.0","id":7}"#,
        &[&invalid("7", "'method' is missing")],
    );
    talk.says(
        r#"{"jsonrpc":"2.0"}"#,
        &[&invalid("", "'method' is missing")],
    );
    for method in ["7", "null", "[]", "{}", "true"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":{method}}}"#);
        talk.says(line, &[&invalid("7", "'method' must be a string")]);
    }
    for params in [
        "[]",
        "[1]",
        "null",
        "7",
        r#""x""#,
        "false",
        r#"{"a":1,"a":2}"#,
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"x","params":{params}}}"#);
        let why = "'params' must be an object, without repeated members and with at most 64";
        talk.says(line, &[&invalid("0", why)]);
    }
}

// R7
#[test]
fn an_id_that_is_neither_text_nor_an_integer_is_refused_without_id() {
    let talk = Talk::modern();
    let refused = error(
        "",
        -32600,
        "Invalid request: 'id' must be a string or an integer",
    );
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for id in [
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "[1]",
        "1.5",
        "1e400",
        "1.0",
        "-0.5",
        "9223372036854775808",
        "-9223372036854775809",
        "1e2",
        &deep,
    ] {
        // A number that is too large for any float is no number for the parser.
        let expected = match id {
            "1e400" => error("", -32700, "Parse error: number out of range"),
            _ => refused.clone(),
        };
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{$META}}}}"#
        );
        talk.says(line, &[&expected]);
    }
}

// R5: falsy ids, both ends of i64, what no float holds, and text of every kind.
#[test]
fn ids_come_back_as_they_were() {
    let talk = Talk::modern();
    let long = format!("\"{}\"", "x".repeat(10_000));
    for id in [
        &*long,
        "0",
        "-1",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        r#""""#,
        r#""0""#,
        r#""1""#,
        r#""null""#,
        r#""ebf9f64a-0""#,
        r#""\n\"\\""#,
        r#""grüße 🐘""#,
        r#""\u0000""#,
    ] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo",$META}}}}"#
        );
        let result = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{{}}"}}],$SEAL}}}}"#
        );
        talk.says(call, &[&result]);
        let unknown =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"nope","params":{{$META}}}}"#);
        talk.says(unknown, &[&error(id, -32601, "Method not found: nope")]);
    }
}

// R5: an escaped id comes back as the text it means.
#[test]
fn an_escaped_id_is_the_text_it_means() {
    let talk = Talk::modern();
    let line = r#"{"jsonrpc":"2.0","\u0069d":"\u0061\/b","method":"nope","params":{$META}}"#;
    talk.says(
        line,
        &[&error(r#""a/b""#, -32601, "Method not found: nope")],
    );
}

#[test]
fn a_member_that_stands_twice_is_refused() {
    let talk = Talk::modern();
    for (name, line) in [
        (
            "jsonrpc",
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":2,"method":"x"}"#,
        ),
        ("id", r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#),
        (
            "method",
            r#"{"jsonrpc":"2.0","id":2,"method":"x","method":"x"}"#,
        ),
        (
            "params",
            r#"{"jsonrpc":"2.0","id":2,"method":"x","params":{},"params":{}}"#,
        ),
        (
            "method",
            r#"{"jsonrpc":"2.0","id":2,"method":"x","meth\u006fd":"x"}"#,
        ),
    ] {
        talk.says(
            line,
            &[&error(
                "2",
                -32600,
                &format!("Invalid request: '{name}' appears twice"),
            )],
        );
    }
    // Members that mean nothing may stand there as they like.
    let line =
        r#"{"x":1,"jsonrpc":"2.0","x":[{}],"id":2,"method":"nope","params":{$META},"x":null}"#;
    talk.says(line, &[&error("2", -32601, "Method not found: nope")]);
}

// R8
#[test]
fn nothing_is_answered_to_a_notification_or_a_response() {
    let talk = Talk::modern();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/unheard-of"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo",$META}}"#,
        r#"{"jsonrpc":"2.0","method":"initialize"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":null}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":"never asked","result":null}"#,
    ] {
        talk.says(line, &[]);
    }
}

// R17, R18, R19
#[test]
fn a_request_without_what_the_era_wants_is_told_what_is_missing() {
    let talk = Talk::modern();
    let missing = |id: i64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"Missing _meta['io.modelcontextprotocol/protocolVersion'] and _meta['io.modelcontextprotocol/clientCapabilities']","data":{{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}}}}}"#
        )
    };
    for params in [
        "",
        r#","params":{}"#,
        r#","params":{"_meta":null}"#,
        r#","params":{"_meta":[]}"#,
        r#","params":{"_meta":"x"}"#,
        r#","params":{"_meta":{}}"#,
        r#","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}"#,
        r#","params":{"_meta":{"progressToken":1}}"#,
    ] {
        talk.says(
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list"{params}}}"#),
            &[&missing(7)],
        );
    }
    let invalid = |why: &str| error("7", -32602, why);
    let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let both = format!("{version},{capabilities}");
    for (meta, why) in [
        (
            version.to_owned(),
            "Missing _meta['io.modelcontextprotocol/clientCapabilities']",
        ),
        (
            format!(r#"{capabilities},"io.modelcontextprotocol/protocolVersion":7"#),
            "Invalid _meta['io.modelcontextprotocol/protocolVersion']: expected a string",
        ),
        (
            format!(r#"{capabilities},"io.modelcontextprotocol/protocolVersion":null"#),
            "Invalid _meta['io.modelcontextprotocol/protocolVersion']: expected a string",
        ),
        (
            format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":[]"#),
            "Invalid _meta['io.modelcontextprotocol/clientCapabilities']: expected an object",
        ),
        (
            format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":null"#),
            "Invalid _meta['io.modelcontextprotocol/clientCapabilities']: expected an object",
        ),
        (
            format!(r#"{both},"io.modelcontextprotocol/clientInfo":{{"name":"x"}}"#),
            "Invalid _meta['io.modelcontextprotocol/clientInfo']: expected an object with 'name' and 'version'",
        ),
        (
            format!(r#"{both},"io.modelcontextprotocol/logLevel":"loud""#),
            "Invalid _meta['io.modelcontextprotocol/logLevel']: expected a log level",
        ),
        (
            format!(r#"{both},"io.modelcontextprotocol/logLevel":3"#),
            "Invalid _meta['io.modelcontextprotocol/logLevel']: expected a log level",
        ),
        (
            format!(r#"{both},"progressToken":1.5"#),
            "Invalid _meta['progressToken']: expected a string or an integer",
        ),
        (
            format!(r#"{both},"progressToken":{{}}"#),
            "Invalid _meta['progressToken']: expected a string or an integer",
        ),
        (
            format!(r#"{both},"progressToken":null"#),
            "Invalid _meta['progressToken']: expected a string or an integer",
        ),
        (
            format!("{both},{version}"),
            "Invalid '_meta': 'io.modelcontextprotocol/protocolVersion' appears twice",
        ),
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#
        );
        talk.says(line, &[&invalid(why)]);
    }
}

// R21, R22, R27: who the client says it is changes nothing, nor do keys that mean nothing here.
#[test]
fn a_request_is_served_whoever_the_client_says_it_is() {
    let talk = Talk::modern();
    let answer =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}],$SEAL}}"#;
    let both = META
        .trim_start_matches(r#""_meta":{"#)
        .trim_end_matches('}');
    for more in [
        "",
        r#","io.modelcontextprotocol/clientInfo":{"name":"evil","version":""}"#,
        r#","com.example/x":[{}]"#,
        r#","io.modelcontextprotocol/unheard-of":"2026-07-28","mcp.dev/x":null"#,
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","_meta":{{{both}}}{more}}}}}}}"#
        );
        talk.says(line, &[answer]);
    }
}

// R11, R357, R359, R360: what the client could take and the server does not have.
#[test]
fn an_extension_that_is_not_offered_changes_nothing() {
    let talk = Talk::modern();
    let extended = META.replace(
        r#""io.modelcontextprotocol/clientCapabilities":{}"#,
        r#""io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{},"com.example/x":{}}}"#,
    );
    assert_ne!(extended, META);
    let call = |rest: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo",{rest}{extended}}}}}"#
        )
    };
    let answer =
        r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}],$SEAL}}"#;
    talk.says(call(""), &[answer]);
    talk.says(call(r#""task":{"ttl":1000},"#), &[answer]);
    let tasks =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{{{extended}}}}}"#);
    talk.says(tasks, &[&error("7", -32601, "Method not found: tasks/get")]);
    let discover =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{{{extended}}}}}"#);
    let capabilities = &talk.asks(discover)["result"]["capabilities"];
    assert_eq!(capabilities.to_string(), r#"{"tools":{}}"#);
}

#[test]
fn depth_is_no_weapon() {
    let talk = Talk::modern();
    let depth = 100_000;
    let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    // As a message.
    let batch = error(
        "",
        -32600,
        "Invalid request: not an object (batches are not supported)",
    );
    talk.says(&arrays, &[&batch]);
    talk.says(
        "[".repeat(depth),
        &[&error("", -32700, "Parse error: EOF while parsing a list")],
    );
    let version = error("", -32600, r#"Invalid request: 'jsonrpc' must be \"2.0\""#);
    talk.says(&objects, &[&version]);
    // In each member that is read.
    for bomb in [&arrays, &objects] {
        let in_id = format!(r#"{{"jsonrpc":"2.0","id":{bomb},"method":"x"}}"#);
        let no_id = error(
            "",
            -32600,
            "Invalid request: 'id' must be a string or an integer",
        );
        talk.says(in_id, &[&no_id]);
        let in_method = format!(r#"{{"jsonrpc":"2.0","id":7,"method":{bomb}}}"#);
        talk.says(
            in_method,
            &[&error(
                "7",
                -32600,
                "Invalid request: 'method' must be a string",
            )],
        );
        let in_name = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":{bomb},$META}}}}"#
        );
        talk.says(
            in_name,
            &[&error("7", -32602, "Invalid 'name': expected a string")],
        );
        let in_cursor = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"cursor":{bomb},$META}}}}"#
        );
        let answer = talk.asks(in_cursor);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let in_cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{bomb},"reason":{bomb}}}}}"#
        );
        talk.says(in_cancel, &[]);
        let in_meta = META.replace("{}", bomb);
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{{in_meta}}}}}"#);
        let answer = talk.asks(line);
        // An array is no object; the depth of an object that is not looked into does not matter.
        assert_eq!(
            answer.get("error").is_some(),
            bomb.starts_with('['),
            "{answer}"
        );
    }
    // Where a tool reads it, the model is told.
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{objects},$META}}}}"#
    );
    let told = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"Invalid arguments: recursion limit exceeded."}],"isError":true,$SEAL}}"#;
    talk.says(line, &[told]);
}

// modern.md §20: byte order mark, CRLF, blank lines, and a last line without its end.
#[test]
fn lines_may_be_blank_or_end_as_on_other_systems() {
    let talk = Talk::modern();
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"nope","params":{$META}}"#;
    let answer = error("7", -32601, "Method not found: nope");
    for (before, after) in [
        ("\u{feff}", ""),
        ("", "\r"),
        ("\r\n\n \t \n", " \r"),
        (" ", " "),
        ("\n\n\n", "\n\n"),
    ] {
        talk.says(format!("{before}{call}{after}"), &[&answer]);
    }
    talk.says("", &[]);
    talk.says("\u{feff}", &[]);
    let call = call.replace("$META", META);
    smol::block_on(async {
        talk.0.write(call).await;
        talk.0.disconnect().await;
        assert_eq!(talk.0.line().await, Some(answer));
        assert_eq!(talk.0.line().await, None);
    });
}

// modern.md §20: a line over the bound is answered, with its id where that can be seen.
#[test]
fn an_oversized_line_is_answered_and_the_next_is_served() {
    let mut limits = Limits::default();
    limits.message_bytes = 1000;
    let server = talk::builder().limits(limits).build().unwrap();
    let talk = Talk::with(&server);
    let long = "x".repeat(2_000);
    let too_long = "Parse error: a message of more than 1000 bytes";
    for (line, id) in [
        (
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{long}"}}"#),
            "7",
        ),
        (format!(r#"{{"id":"a\"b","method":"{long}"}}"#), r#""a\"b""#),
        (
            format!(r#"{{"params":{{"id":8,"x":["{{\"id\":9"]}},"id":7,"method":"{long}"}}"#),
            "7",
        ),
        // Not to be seen, or not to be trusted.
        (
            format!(r#"{{"jsonrpc":"2.0","method":"{long}","id":7}}"#),
            "",
        ),
        (format!(r#"{{"params":{{"id":8,"x":"{long}"}}}}"#), ""),
        (
            format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{long}"}}"#),
            "",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1.5,"method":"{long}"}}"#),
            "",
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":{}"#, "1".repeat(2_000)),
            "",
        ),
        (format!(r#"{{"jsonrpc":"2.0","id":"{long}"#), ""),
        (long.clone(), ""),
        ("[".repeat(2_000), ""),
        ("]".repeat(2_000), ""),
        ("\\\"".repeat(1_000), ""),
    ] {
        talk.says(line, &[&error(id, -32700, too_long)]);
    }
    // Exactly at the bound: one byte less is a message.
    let call = |length: usize| {
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"nope","params":{{{META},"x":""}}}}"#);
        line.replace(
            r#""x":"""#,
            &format!(r#""x":"{}""#, "y".repeat(length - line.len())),
        )
    };
    talk.says(call(1000), &[&error("7", -32601, "Method not found: nope")]);
    talk.says(call(1001), &[&error("7", -32700, too_long)]);
}

// A line that grows without end takes no memory without end, whatever the pieces that it comes in.
#[test]
fn an_oversized_line_is_answered_before_it_ends() {
    let mut limits = Limits::default();
    limits.message_bytes = 10_000;
    let server = talk::builder().limits(limits).build().unwrap();
    let client = Client::new(&server);
    smol::block_on(async {
        client.write(r#"{"jsonrpc":"2.0","id":7,"method":""#).await;
        client.write("x".repeat(10_000)).await;
        // Nothing has ended the line, and it is answered.
        let answer = error(
            "7",
            -32700,
            "Parse error: a message of more than 10000 bytes",
        );
        assert_eq!(client.line().await, Some(answer));
        for _ in 0..100 {
            client.write("x".repeat(10_000)).await;
        }
        client.send("").await;
        client.silence().await;
    });
}

// Known failure: answering whatever comes made storms between two peers that did not understand each other.
#[test]
fn garbage_without_end_is_not_answered_without_end() {
    let talk = Talk::modern();
    let garbage = error("", -32700, "Parse error: expected ident");
    for _ in 0..2 {
        for _ in 0..100 {
            smol::block_on(talk.0.send("not json"));
        }
        talk.hears(&[&*garbage; 16]);
        // A good message begins a new count.
        talk.says(
            r#"{"jsonrpc":"2.0","id":7,"method":"nope","params":{$META}}"#,
            &[&error("7", -32601, "Method not found: nope")],
        );
    }
}

// legacy.md §3: earlier revisions type the id of an error as required, so there is none without.
#[test]
fn what_names_no_request_is_not_answered_in_sessions_that_know_no_such_error() {
    for version in [
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ] {
        let talk = Talk::legacy(version);
        let garbage = error("", -32700, "Parse error: expected ident");
        match version {
            Version::V2025_11_25 => talk.says("not json", &[&garbage]),
            _ => talk.says("not json", &[]),
        }
        let no_version = error("7", -32600, r#"Invalid request: 'jsonrpc' must be \"2.0\""#);
        talk.says(r#"{"id":7,"method":"ping"}"#, &[&no_version]);
    }
}
