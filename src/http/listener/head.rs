//! The head of a request: its parts, and how its body is framed.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri, Version};

use super::refusal::Refusal;
use crate::http::headers::add;

/// The most header lines that any option can allow.
pub(crate) const MOST_HEADERS: usize = 256;

/// A parsed head.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) version: Version,
    pub(crate) framing: Framing,
    /// Whether the client wants to keep the connection.
    pub(crate) keep_alive: bool,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
}

/// Where the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
}

impl Head {
    /// Parses a whole head that [`Scan`](super::scan::Scan) has found.
    ///
    /// All header values share one copy of the head.
    pub(crate) fn parse(bytes: &[u8], most_headers: usize) -> Result<Self, Refusal> {
        // Filled in place, so that there is one place to drop it when it is refused.
        let mut head = Self {
            method: Method::GET,
            uri: Uri::default(),
            headers: HeaderMap::new(),
            version: Version::HTTP_11,
            framing: Framing::Length(0),
            keep_alive: false,
            expects_continue: false,
        };
        head.fill(Bytes::copy_from_slice(bytes), most_headers)?;
        Ok(head)
    }

    fn fill(&mut self, bytes: Bytes, most_headers: usize) -> Result<(), Refusal> {
        let mut slots = [const { MaybeUninit::uninit() }; MOST_HEADERS];
        let slots = &mut slots[..most_headers.min(MOST_HEADERS)];
        let mut parsed = httparse::Request::new(&mut []);
        httparse::ParserConfig::default()
            .parse_request_with_uninit_headers(&mut parsed, &bytes, slots)
            .map_err(refuse)?;

        self.method = Method::from_bytes(parsed.method.unwrap_or_default().as_bytes())
            .map_err(|_| Refusal::bad("the method is malformed"))?;
        if parsed.version == Some(0) {
            self.version = Version::HTTP_10;
        }
        let target = bytes.slice_ref(parsed.path.unwrap_or_default().as_bytes());
        self.uri = parse_target(&self.method, target)?;

        self.headers.reserve(parsed.headers.len());
        let mut facts = Facts::default();
        for line in &*parsed.headers {
            let name = HeaderName::from_bytes(line.name.as_bytes())
                .map_err(|_| Refusal::bad("a header name is malformed"))?;
            facts.note(&name, line.value)?;
            let value = HeaderValue::from_maybe_shared(bytes.slice_ref(line.value))
                .map_err(|_| Refusal::bad("a header value is malformed"))?;
            add(&mut self.headers, name, value);
        }
        facts.judge(self)?;
        self.settle_host()
    }

    /// Makes `Host` agree with a target in absolute form, whose authority counts (RFC 9112, section 3.2.2).
    fn settle_host(&mut self) -> Result<(), Refusal> {
        if let Some(authority) = self.uri.authority() {
            let host = HeaderValue::from_str(authority.as_str())
                .map_err(|_| Refusal::bad("the request target is malformed"))?;
            match self.headers.get_mut(header::HOST) {
                Some(named) => *named = host,
                None => add(&mut self.headers, header::HOST, host),
            }
        }
        Ok(())
    }
}

/// What the header lines say about the message itself.
#[derive(Default)]
struct Facts {
    host: bool,
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
    expects_unknown: bool,
}

impl Facts {
    fn note(&mut self, name: &HeaderName, value: &[u8]) -> Result<(), Refusal> {
        if *name == header::HOST {
            if std::mem::replace(&mut self.host, true) {
                return Err(Refusal::bad("more than one Host header"));
            }
            check_host(value)?;
        } else if *name == header::CONTENT_LENGTH {
            if self.length.is_some() {
                return Err(Refusal::bad("more than one Content-Length header"));
            }
            self.length = Some(parse_length(value)?);
        } else if *name == header::TRANSFER_ENCODING {
            if self.chunked {
                return Err(Refusal::bad("more than one Transfer-Encoding header"));
            }
            check_coding(value)?;
            self.chunked = true;
        } else if *name == header::CONNECTION {
            for option in elements(value) {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        } else if *name == header::EXPECT {
            if value.eq_ignore_ascii_case(b"100-continue") {
                self.expects_continue = true;
            } else {
                self.expects_unknown = true;
            }
        }
        Ok(())
    }

    /// Judges the lines together.
    fn judge(self, head: &mut Head) -> Result<(), Refusal> {
        let modern = head.version == Version::HTTP_11;
        if modern && !self.host {
            return Err(Refusal::bad("the Host header is missing"));
        }
        head.framing = match (self.chunked, self.length) {
            (true, Some(_)) => {
                return Err(Refusal::bad("both Content-Length and Transfer-Encoding"));
            }
            (true, None) if !modern => {
                return Err(Refusal::bad("Transfer-Encoding in an HTTP/1.0 request"));
            }
            (true, None) => Framing::Chunked,
            (false, length) => Framing::Length(length.unwrap_or(0)),
        };
        if modern && self.expects_unknown {
            return Err(Refusal::new(417, "the expectation is not known"));
        }
        if head.method == Method::CONNECT {
            return Err(Refusal::new(501, "this is not a proxy"));
        }
        head.keep_alive = !self.close && (modern || self.keep_alive);
        head.expects_continue = modern && self.expects_continue;
        Ok(())
    }
}

fn refuse(err: httparse::Error) -> Refusal {
    match err {
        httparse::Error::TooManyHeaders => Refusal::new(431, "too many headers"),
        httparse::Error::HeaderName => Refusal::bad("a header name is malformed"),
        httparse::Error::HeaderValue => Refusal::bad("a header value is malformed"),
        _ => Refusal::bad("the head is malformed"),
    }
}

/// Accepts the origin, absolute and asterisk forms (RFC 9112, section 3.2).
fn parse_target(method: &Method, target: Bytes) -> Result<Uri, Refusal> {
    const MALFORMED: Refusal = Refusal::bad("the request target is malformed");
    if target.contains(&b'#') {
        return Err(MALFORMED);
    }
    let first = target.first().copied();
    let uri = Uri::from_maybe_shared(target).map_err(|_| MALFORMED)?;
    match first {
        Some(b'/') => Ok(uri),
        Some(b'*') if method == Method::OPTIONS && uri.path() == "*" => Ok(uri),
        _ if method == Method::CONNECT => Ok(uri),
        _ => match (uri.scheme_str(), uri.authority()) {
            (Some("http" | "https"), Some(authority)) if !authority.as_str().contains('@') => {
                check_host(authority.as_str().as_bytes()).map_err(|_| MALFORMED)?;
                Ok(uri)
            }
            _ => Err(MALFORMED),
        },
    }
}

/// Checks `host [":" port]` (RFC 9110, section 7.2). An empty value is allowed by it.
fn check_host(value: &[u8]) -> Result<(), Refusal> {
    const MALFORMED: Refusal = Refusal::bad("the Host header is malformed");
    let (name, rest) = match value.first() {
        Some(b'[') => {
            let end = value.iter().position(|&b| b == b']').ok_or(MALFORMED)?;
            let inner = &value[1..end];
            if inner.is_empty() || !inner.iter().all(|&b| is_host(b) || b == b':') {
                return Err(MALFORMED);
            }
            (&b""[..], &value[end + 1..])
        }
        _ => {
            let end = value.iter().position(|&b| b == b':').unwrap_or(value.len());
            value.split_at(end)
        }
    };
    if !name.iter().copied().all(is_host) {
        return Err(MALFORMED);
    }
    match rest {
        [] => Ok(()),
        [b':', port @ ..] if port.len() <= 5 && port.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(MALFORMED),
    }
}

/// Whether a byte may stand in the name of a host: unreserved, sub-delims, or a percent sign (RFC 3986, section 3.2.2).
fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+;=".contains(&byte)
}

/// Accepts digits alone (RFC 9112, section 6.3): no sign, no list, no blanks.
fn parse_length(value: &[u8]) -> Result<u64, Refusal> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Refusal::bad("Content-Length is not a number"));
    }
    let digits = std::str::from_utf8(value).unwrap_or_default();
    digits
        .parse()
        .map_err(|_| Refusal::bad("Content-Length is not a number"))
}

/// Accepts `chunked` alone: other codings are unknown here, and without a final `chunked` nobody knows where the body
/// ends (RFC 9112, section 6.1).
fn check_coding(value: &[u8]) -> Result<(), Refusal> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let is_other = |coding: &[u8]| {
        !coding.is_empty()
            && coding.iter().copied().all(super::scan::is_token)
            && !coding.eq_ignore_ascii_case(b"chunked")
            && !coding.eq_ignore_ascii_case(b"identity")
    };
    let last_comma = value.iter().rposition(|&byte| byte == b',');
    match last_comma.map(|at| (&value[..at], value[at + 1..].trim_ascii())) {
        Some((others, last))
            if last.eq_ignore_ascii_case(b"chunked") && elements(others).all(is_other) =>
        {
            Err(Refusal::new(501, "the transfer coding is not known"))
        }
        _ => Err(Refusal::bad("Transfer-Encoding is not chunked")),
    }
}

/// Splits a list at its commas and takes the blanks off.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(|element| element.trim_ascii())
}
