//! Finding the end of a head while its bytes arrive.

use std::ops::Range;

use super::refusal::Refusal;

/// Looks for the end of a head, and never at the same byte twice.
///
/// It refuses what can be refused before the end has come, so that a broken request is answered and does not wait for
/// a time-out: line endings other than CR LF, and a first line that is not a request line.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// Everything before it has been looked at.
    at: usize,
    /// Where the current line begins.
    line: usize,
    /// Where the request line begins; one empty line may stand before it (RFC 9112, section 2.2).
    start: usize,
    request_line_seen: bool,
}

impl Scan {
    /// Returns where the head stands in `bytes`, its empty line included, or `None` while that has not come yet.
    ///
    /// The same bytes and more must be given each time, until a head was found.
    pub(crate) fn find(&mut self, bytes: &[u8]) -> Result<Option<Range<usize>>, Refusal> {
        self.check_start(bytes)?;
        while let Some(end) = self.line_end(bytes)? {
            let line = &bytes[self.line..end];
            let next = end + 2;
            if self.request_line_seen {
                if line.is_empty() {
                    return Ok(Some(self.start..next));
                }
            } else if !line.is_empty() {
                check_request_line(line)?;
                self.request_line_seen = true;
            } else if self.start == 0 {
                self.start = next;
                self.check_start(bytes)?;
            } else {
                return Err(Refusal::bad("empty lines before the request"));
            }
            self.line = next;
            self.at = next;
        }
        Ok(None)
    }

    /// Checks the first byte of the request, if it has come. Line endings are judged by the lines they end.
    fn check_start(&self, bytes: &[u8]) -> Result<(), Refusal> {
        match bytes.get(self.start) {
            Some(&first) if !is_token(first) && !matches!(first, b'\r' | b'\n') => {
                Err(Refusal::bad("the request does not begin with a method"))
            }
            _ => Ok(()),
        }
    }

    /// Returns where the next CR LF begins.
    fn line_end(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refusal> {
        let Some(offset) = memchr::memchr2(b'\r', b'\n', &bytes[self.at..]) else {
            self.at = bytes.len();
            return Ok(None);
        };
        self.at += offset;
        match (bytes[self.at], bytes.get(self.at + 1)) {
            (b'\r', Some(b'\n')) => Ok(Some(self.at)),
            (b'\r', None) => Ok(None),
            _ => Err(Refusal::bad("a line does not end with CR LF")),
        }
    }
}

/// Checks the outline of a request line: three words with one space between them, the last a version.
fn check_request_line(line: &[u8]) -> Result<(), Refusal> {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(Refusal::bad("the request line is malformed"));
    };
    if method.is_empty() || !method.iter().copied().all(is_token) {
        return Err(Refusal::bad("the method is malformed"));
    }
    if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err(Refusal::bad("the request target is malformed"));
    }
    match version {
        b"HTTP/1.1" | b"HTTP/1.0" => Ok(()),
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
            if major.is_ascii_digit() && minor.is_ascii_digit() =>
        {
            Err(Refusal::new(
                505,
                "only HTTP/1.0 and HTTP/1.1 are spoken here",
            ))
        }
        _ => Err(Refusal::bad("the version is malformed")),
    }
}

/// Whether a byte may stand in a token (RFC 9110, section 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
