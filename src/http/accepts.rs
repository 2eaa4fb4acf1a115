//! `Accept`: which of the two forms of a response a client takes.

use http::HeaderMap;
use http::header::{ACCEPT, HeaderValue};

/// The forms that a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) stream: bool,
}

/// What is to be found in the header, and whether it takes JSON and a stream.
static RANGES: [(&str, bool, bool); 5] = [
    ("application/json", true, false),
    ("text/event-stream", false, true),
    ("*/*", true, true),
    ("application/*", true, false),
    ("text/*", false, true),
];

impl Accepts {
    /// What the client of a request takes.
    pub(super) fn read(headers: &HeaderMap) -> Self {
        Self::of(headers.get_all(&ACCEPT).iter().map(HeaderValue::as_bytes))
    }

    /// Reads the header's values. A request without one takes everything (RFC 9110 §12.5.1).
    fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut accepts = Self {
            json: false,
            stream: false,
        };
        let mut any = false;
        for range in values.flat_map(|value| value.split(|&byte| byte == b',')) {
            any = true;
            let mut parameters = range.split(|&byte| byte == b';');
            let kind = parameters.next().unwrap_or_default().trim_ascii();
            if parameters.any(is_zero_weight) {
                continue;
            }
            let is = |(name, ..): &&(&str, bool, bool)| kind.eq_ignore_ascii_case(name.as_bytes());
            if let Some((_, json, stream)) = RANGES.iter().find(is) {
                accepts.json |= json;
                accepts.stream |= stream;
            }
        }
        match any {
            true => accepts,
            false => Self {
                json: true,
                stream: true,
            },
        }
    }
}

/// `q=0` means "not this" (RFC 9110 §12.4.2).
fn is_zero_weight(parameter: &[u8]) -> bool {
    let parameter = parameter.trim_ascii();
    let Some(weight) = parameter
        .strip_prefix(b"q=")
        .or_else(|| parameter.strip_prefix(b"Q="))
    else {
        return false;
    };
    weight.starts_with(b"0") && weight[1..].iter().all(|byte| matches!(byte, b'.' | b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> (bool, bool) {
        let accepts = Accepts::of([value.as_bytes()].into_iter());
        (accepts.json, accepts.stream)
    }

    #[test]
    fn accept_is_read_by_media_range_and_weight() {
        assert_eq!(of("application/json, text/event-stream"), (true, true));
        assert_eq!(of("*/*"), (true, true));
        assert_eq!(of("application/json"), (true, false));
        assert_eq!(of("TEXT/Event-Stream;q=0.5"), (false, true));
        assert_eq!(of("application/*;q=0.000, text/*"), (false, true));
        assert_eq!(of("text/html"), (false, false));
        assert_eq!(of(""), (false, false));
    }

    #[test]
    fn a_request_without_accept_takes_everything() {
        assert_eq!(
            Accepts::of(std::iter::empty()),
            Accepts {
                json: true,
                stream: true
            }
        );
    }
}
