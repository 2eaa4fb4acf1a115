//! Arguments that travel in HTTP headers as well: the `x-mcp-header` annotations of a tool's input
//! schema, and the comparison of a header with what the body says (MCP 2026-07-28,
//! basic/transports, and server/tools).

mod annotations;

use serde_json::{Map, Number, Value};

pub(crate) use self::annotations::collect;
use crate::protocol::jsonrpc::{excerpt, json_text};
use crate::protocol::{Invalid, base64};

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Names a header and the argument that it repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderParam {
    header: String,
    path: Vec<String>,
}

impl HeaderParam {
    /// Returns the name of the header, `Mcp-Param-Region` for example. Names of headers compare
    /// regardless of case.
    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    /// Checks the header against the arguments of a call. `values` are the fields of that name,
    /// undecoded.
    ///
    /// An argument that is `null` counts as absent, and so does one whose path leads through
    /// anything but objects. A string must be equal once decoded, a number numerically (`42.0` is
    /// `42`), a boolean as `true` or `false`. Integers beyond ±(2^53 - 1) equal nothing, since not
    /// every client can tell them apart.
    ///
    /// # Errors
    ///
    /// When the header differs from the argument, is there without it or missing with it, comes
    /// twice, or cannot be decoded. The error names the header.
    pub(crate) fn check(
        &self,
        arguments: &Map<String, Value>,
        values: &[&[u8]],
    ) -> Result<(), Invalid> {
        let argument = self.argument(arguments);
        let value = single(&self.header, values)?;
        let (argument, value) = match (argument, value) {
            (None, None) => return Ok(()),
            (None, Some(value)) => return Err(complain(&self.header, Some(&value), "nothing")),
            (Some(argument), None) => {
                return Err(complain(&self.header, None, &told(argument)));
            }
            (Some(argument), Some(value)) => (argument, value),
        };
        let is_equal = match argument {
            Value::String(text) => *text == value,
            Value::Bool(yes) => value == if *yes { "true" } else { "false" },
            Value::Number(number) => {
                // JSON's own grammar of numbers: no sign in front, no hexadecimals, no infinity.
                let value = value
                    .parse::<Number>()
                    .ok()
                    .and_then(|value| value.as_f64());
                number
                    .as_f64()
                    .is_some_and(|number| number.abs() <= MAX_SAFE_INTEGER && value == Some(number))
            }
            _ => false,
        };
        if is_equal {
            Ok(())
        } else {
            Err(complain(&self.header, Some(&value), &told(argument)))
        }
    }

    fn argument<'a>(&self, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.path.split_first()?;
        let argument = rest.iter().try_fold(arguments.get(first)?, |value, name| {
            value.as_object()?.get(name)
        })?;
        (!argument.is_null()).then_some(argument)
    }
}

/// Says how a header and a text of the body differ. All mirrored headers are complained of in these words.
pub(crate) fn differs(header: &str, value: Option<&str>, body: &str) -> Invalid {
    complain(header, value, &quoted(body))
}

#[cold]
#[inline(never)]
fn complain(header: &str, value: Option<&str>, body: &str) -> Invalid {
    let value = value.map_or("missing".into(), quoted);
    Invalid::new(format!("{header} is {value}, body has {body}"))
}

/// An argument that is no text is told as it stands in the body.
#[cold]
#[inline(never)]
fn told(argument: &Value) -> String {
    match argument {
        Value::String(text) => quoted(text),
        other => excerpt(&json_text(other)).into_owned(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", excerpt(text))
}

/// The complaint about a header that nobody can compare.
pub(crate) fn appears_twice(header: &str) -> Invalid {
    Invalid::new(format!("{header} appears twice"))
}

/// Checks a header that repeats a text of the body, such as `Mcp-Name`. `values` are the fields of
/// that name, undecoded.
///
/// # Errors
///
/// When the header is missing, comes twice, cannot be decoded or differs. The error names the
/// header.
pub(crate) fn check_text(header: &str, values: &[&[u8]], expected: &str) -> Result<(), Invalid> {
    match single(header, values)? {
        Some(value) if value == expected => Ok(()),
        value => Err(differs(header, value.as_deref(), expected)),
    }
}

/// Decodes the one field of a header, if it is there.
fn single(header: &str, values: &[&[u8]]) -> Result<Option<String>, Invalid> {
    match values {
        [] => Ok(None),
        [value] => decode(value)
            .map(Some)
            .map_err(|err| Invalid::new(format!("{header} {err}"))),
        _ => Err(appears_twice(header)),
    }
}

/// Decodes the value of a mirrored header: plain text, or UTF-8 as `=?base64?…?=`.
///
/// White space around the value is ignored. A marker at one end only is plain text.
///
/// # Errors
///
/// When the value holds anything but visible ASCII, spaces and tabs, or when what the markers
/// enclose is not strict base64 of UTF-8.
fn decode(value: &[u8]) -> Result<String, Invalid> {
    let is_allowed = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    let text = match std::str::from_utf8(value) {
        Ok(text) if value.iter().all(is_allowed) => text.trim_matches([' ', '\t']),
        _ => return Err(Invalid::new("holds characters that a header must not")),
    };
    let Some(encoded) = text
        .strip_prefix("=?base64?")
        .and_then(|text| text.strip_suffix("?="))
    else {
        return Ok(text.to_owned());
    };
    let bytes = base64::decode(encoded).ok_or_else(|| Invalid::new("is not valid base64"))?;
    String::from_utf8(bytes).map_err(|_| Invalid::new("does not encode UTF-8"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_decode() {
        for (value, expected) in [
            ("", ""),
            ("plain text", "plain text"),
            (" \t padded \t", "padded"),
            ("in\tside", "in\tside"),
            ("=?base64?Z3LDtsOfZQ==?=", "größe"),
            (" =?base64?Z3LDtsOfZQ==?= ", "größe"),
            ("=?base64?PT9iYXNlNjQ/eD89?=", "=?base64?x?="),
            ("=?base64??=", ""),
            ("=?base64?YQli?=", "a\tb"),
            // A marker at one end, one too short for both, and one of another case are plain text.
            ("=?base64?Zg==", "=?base64?Zg=="),
            ("Zg==?=", "Zg==?="),
            ("=?base64?=", "=?base64?="),
            ("=?BASE64?Zg==?=", "=?BASE64?Zg==?="),
        ] {
            assert_eq!(
                decode(value.as_bytes()).as_deref(),
                Ok(expected),
                "{value:?}"
            );
        }
    }

    #[test]
    fn values_that_do_not_decode() {
        let (characters, base64, utf8) = (
            "holds characters that a header must not",
            "is not valid base64",
            "does not encode UTF-8",
        );
        for (value, reason) in [
            (&b"gr\xc3\xb6\xc3\x9fe"[..], characters),
            (b"\xff", characters),
            (b"a\x00", characters),
            (b"a\nb", characters),
            (b"a\r", characters),
            (b"\x7f", characters),
            (b"=?base64?Zg?=", base64),
            (b"=?base64?Zh==?=", base64),
            (b"=?base64?Zm9v====?=", base64),
            (b"=?base64?Z m9?=", base64),
            (b"=?base64?_-==?=", base64),
            (b"=?base64?/w==?=", utf8),
        ] {
            assert_eq!(decode(value).unwrap_err().to_string(), reason, "{value:?}");
        }
    }

    /// One row of the table: an argument, the fields of the header, and the complaint if there is
    /// one.
    #[track_caller]
    fn row(kind: &str, arguments: Value, values: &[&str], complaint: Option<&str>) {
        let schema = json!({"type": "object", "properties": {"o": {"type": "object", "properties": {
            "a": {"type": kind, "x-mcp-header": "A"},
        }}}});
        let param = collect(&schema).unwrap().remove(0);
        let values: Vec<&[u8]> = values.iter().map(|value| value.as_bytes()).collect();
        let said = param
            .check(arguments.as_object().unwrap(), &values)
            .err()
            .map(|err| err.to_string());
        assert_eq!(said.as_deref(), complaint);
    }

    #[test]
    fn absent_arguments() {
        for arguments in [
            json!({}),
            json!({"o": {}}),
            json!({"o": {"a": null}}),
            json!({"o": [1]}),
            json!({"o": "a"}),
        ] {
            row("string", arguments.clone(), &[], None);
            row(
                "string",
                arguments,
                &["x"],
                Some("Mcp-Param-A is 'x', body has nothing"),
            );
        }
    }

    #[test]
    fn present_argument_absent_header() {
        row(
            "string",
            json!({"o": {"a": ""}}),
            &[],
            Some("Mcp-Param-A is missing, body has ''"),
        );
        row(
            "boolean",
            json!({"o": {"a": false}}),
            &[],
            Some("Mcp-Param-A is missing, body has false"),
        );
    }

    #[test]
    fn strings() {
        row("string", json!({"o": {"a": "x"}}), &[" x "], None);
        row("string", json!({"o": {"a": ""}}), &[""], None);
        row(
            "string",
            json!({"o": {"a": "größe"}}),
            &["=?base64?Z3LDtsOfZQ==?="],
            None,
        );
        row(
            "string",
            json!({"o": {"a": "x"}}),
            &["X"],
            Some("Mcp-Param-A is 'X', body has 'x'"),
        );
        row(
            "string",
            json!({"o": {"a": "x"}}),
            &["=?base64?!?="],
            Some("Mcp-Param-A is not valid base64"),
        );
    }

    #[test]
    fn integers() {
        let integer = |value: Value| json!({"o": {"a": value}});
        for value in ["42", "42.0", "4.2e1", " 42 ", "=?base64?NDI=?="] {
            row("integer", integer(json!(42)), &[value], None);
        }
        row("integer", integer(json!(42.0)), &["42"], None);
        row("integer", integer(json!(-0.0)), &["0"], None);
        row(
            "integer",
            integer(json!(9_007_199_254_740_991_i64)),
            &["9007199254740991"],
            None,
        );
        for value in [
            "43", "042", "+42", "0x2a", "42a", "", "inf", "NaN", "true", "4 2",
        ] {
            let said = format!("Mcp-Param-A is '{value}', body has 42");
            row("integer", integer(json!(42)), &[value], Some(&said));
        }
        row(
            "integer",
            integer(json!(9_007_199_254_740_993_i64)),
            &["9007199254740992"],
            Some("Mcp-Param-A is '9007199254740992', body has 9007199254740993"),
        );
    }

    #[test]
    fn booleans() {
        row("boolean", json!({"o": {"a": true}}), &["true"], None);
        row("boolean", json!({"o": {"a": false}}), &["false"], None);
        for value in ["false", "True", "1", ""] {
            let said = format!("Mcp-Param-A is '{value}', body has true");
            row("boolean", json!({"o": {"a": true}}), &[value], Some(&said));
        }
    }

    #[test]
    fn arguments_of_the_wrong_type_equal_nothing() {
        row(
            "string",
            json!({"o": {"a": []}}),
            &["[]"],
            Some("Mcp-Param-A is '[]', body has []"),
        );
    }

    #[test]
    fn a_text_of_the_body_is_held_against_the_decoded_header() {
        let value = b" =?base64?Z3LDtsOfZQ==?= ";
        assert_eq!(check_text("Mcp-Name", &[value], "größe"), Ok(()));
        let err = check_text("Mcp-Name", &[b"a"], "b").unwrap_err();
        assert_eq!(err.to_string(), "Mcp-Name is 'a', body has 'b'");
    }

    #[test]
    fn a_header_that_comes_twice() {
        row(
            "string",
            json!({"o": {"a": "x"}}),
            &["x", "x"],
            Some("Mcp-Param-A appears twice"),
        );
        row(
            "string",
            json!({}),
            &["x", "x"],
            Some("Mcp-Param-A appears twice"),
        );
        assert_eq!(
            check_text("Mcp-Name", &[b"a", b"a"], "a")
                .unwrap_err()
                .to_string(),
            "Mcp-Name appears twice",
        );
        assert_eq!(
            check_text("Mcp-Name", &[], "a").unwrap_err().to_string(),
            "Mcp-Name is missing, body has 'a'"
        );
    }
}
