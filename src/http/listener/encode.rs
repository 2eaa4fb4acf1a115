//! Responses as bytes.

use http::header::{self, HeaderMap, HeaderName};
use http::{Response, StatusCode};

use super::date;
use super::reader::Terms;
use super::refusal::Refusal;
use crate::http::Body;

/// How the body of a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The status allows no body, so nothing is said about one.
    Bodiless,
    Length(u64),
    Chunked,
    /// Ends with the connection: an HTTP/1.0 client and a length that nobody knows.
    Close,
}

/// Says to go on with a body (RFC 9110, section 10.1.1).
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Appends the head of a response, with its empty line.
///
/// What frames the message and holds the connection is decided here; headers of the service that speak about it are
/// left out. Only the length that the answer to a HEAD tells is taken over.
pub(crate) fn append_head(
    out: &mut Vec<u8>,
    response: &Response<Body>,
    framing: Framing,
    terms: Terms,
    keep_alive: bool,
) {
    let headers = response.headers();
    append_status(out, response.status());
    for (name, value) in headers {
        if !is_ours(name) {
            append_line(out, name.as_str(), value.as_bytes());
        }
    }
    if headers.get(&header::DATE).is_none() {
        out.extend_from_slice(b"date: ");
        date::append_now(out);
        out.extend_from_slice(b"\r\n");
    }
    match framing {
        Framing::Length(length) => {
            let length = told_length(headers, terms).unwrap_or(length);
            out.extend_from_slice(b"content-length: ");
            append_number(out, length);
            out.extend_from_slice(b"\r\n");
        }
        Framing::Chunked => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framing::Bodiless | Framing::Close => {}
    }
    if !keep_alive {
        out.extend_from_slice(b"connection: close\r\n");
    } else if terms.old {
        out.extend_from_slice(b"connection: keep-alive\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends a whole answer to a request that the listener turns down.
pub(crate) fn append_refusal(out: &mut Vec<u8>, refusal: Refusal) {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    append_status(out, status);
    out.extend_from_slice(b"content-type: text/plain; charset=utf-8\r\ndate: ");
    date::append_now(out);
    out.extend_from_slice(b"\r\ncontent-length: ");
    append_number(out, refusal.text.len() as u64 + 1);
    out.extend_from_slice(b"\r\nconnection: close\r\n\r\n");
    out.extend_from_slice(refusal.text.as_bytes());
    out.push(b'\n');
}

/// Appends one chunk. An empty one would end the body, so there is none for no bytes.
pub(crate) fn append_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    append_hex(out, data.len());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Ends a chunked body.
pub(crate) fn append_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

fn append_status(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn append_line(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn is_ours(name: &HeaderName) -> bool {
    *name == header::CONTENT_LENGTH
        || *name == header::TRANSFER_ENCODING
        || *name == header::CONNECTION
        || *name == header::TE
        || *name == header::TRAILER
        || *name == header::UPGRADE
        || name.as_str() == "keep-alive"
}

/// The length that a service tells in the answer to a HEAD: that of the body it would send for a GET.
fn told_length(headers: &HeaderMap, terms: Terms) -> Option<u64> {
    if !terms.head_only {
        return None;
    }
    let value = headers.get(&header::CONTENT_LENGTH)?.to_str().ok()?;
    value.parse().ok()
}

fn append_number(out: &mut Vec<u8>, mut value: u64) {
    let start = out.len();
    let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
    out.resize(start + digits, 0);
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

fn append_hex(out: &mut Vec<u8>, value: usize) {
    let digits = (usize::BITS - value.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[value >> (4 * place) & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::{append_hex, append_number};

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 1, 9, 10, 15, 16, 255, 256, 65_535, 1_048_576, usize::MAX] {
            let (mut decimal, mut hex) = (Vec::new(), Vec::new());
            append_number(&mut decimal, value as u64);
            append_hex(&mut hex, value);
            assert_eq!(decimal, value.to_string().into_bytes());
            assert_eq!(hex, format!("{value:x}").into_bytes());
        }
    }
}
