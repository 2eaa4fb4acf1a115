//! HTTP/1.1 as the meter needs it: one request at a time per keep-alive connection.
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::msg::{self, Proto};

/// What the address of a Unix socket begins with.
pub const UNIX: &str = "unix:";

#[derive(Clone)]
pub struct Target {
    pub addr: String,
    pub path: String,
    pub accept: String,
    pub proto: Proto,
}

impl Target {
    /// A Unix socket has no name of its own.
    fn host(&self) -> &str {
        match self.addr.starts_with(UNIX) {
            true => "localhost",
            false => &self.addr,
        }
    }

    /// The bytes of one POST. `method`/`name` feed the 2026-07-28 headers.
    pub fn post(
        &self,
        body: &str,
        method: &str,
        name: Option<&str>,
        session: Option<&str>,
    ) -> Vec<u8> {
        let mut h = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: {}\r\n",
            self.path,
            self.host(),
            self.accept
        );
        if method != "initialize" {
            h.push_str(&format!(
                "MCP-Protocol-Version: {}\r\n",
                self.proto.version()
            ));
        }
        if self.proto == Proto::Modern {
            h.push_str(&format!("Mcp-Method: {method}\r\n"));
            if let Some(n) = name {
                h.push_str(&format!("Mcp-Name: {n}\r\n"));
            }
        }
        if let Some(s) = session {
            h.push_str(&format!("Mcp-Session-Id: {s}\r\n"));
        }
        h.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut v = h.into_bytes();
        v.extend_from_slice(body.as_bytes());
        v
    }
}

#[derive(Default, Debug)]
enum Body {
    #[default]
    Unknown,
    Length(usize),
    Chunked,
    UntilClose,
}

/// Incremental response parser. Feed bytes; ask whether the response is whole.
#[derive(Default)]
pub struct Response {
    raw: Vec<u8>,
    head_end: Option<usize>,
    body_kind: Body,
    /// Next unread byte of a chunked body.
    cursor: usize,
    pub status: u16,
    pub close: bool,
    pub sse: bool,
    pub session: Option<String>,
    pub body: Vec<u8>,
    done: bool,
}

impl Response {
    pub fn reset(&mut self) {
        let mut raw = std::mem::take(&mut self.raw);
        let mut body = std::mem::take(&mut self.body);
        raw.clear();
        body.clear();
        *self = Self {
            raw,
            body,
            ..Self::default()
        };
    }

    pub fn feed(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.raw.extend_from_slice(bytes);
        self.advance()
    }

    /// The peer closed its side: ends a body delimited by the close.
    pub fn eof(&mut self) -> bool {
        if matches!(self.body_kind, Body::UntilClose) && self.head_end.is_some() {
            self.done = true;
        }
        self.close = true;
        self.done
    }

    fn advance(&mut self) -> io::Result<bool> {
        if self.head_end.is_none() {
            let Some(i) = msg::find(&self.raw, b"\r\n\r\n") else {
                return Ok(false);
            };
            let head = String::from_utf8_lossy(&self.raw[..i]).into_owned();
            self.parse_head(&head)?;
            self.head_end = Some(i + 4);
            self.cursor = i + 4;
        }
        let start = self.head_end.unwrap_or(0);
        match self.body_kind {
            Body::Length(n) => {
                if self.raw.len() - start >= n {
                    self.body.extend_from_slice(&self.raw[start..start + n]);
                    self.done = true;
                }
            }
            Body::Chunked => loop {
                let rest = &self.raw[self.cursor..];
                let Some(i) = msg::find(rest, b"\r\n") else {
                    break;
                };
                let size = std::str::from_utf8(&rest[..i])
                    .ok()
                    .and_then(|s| {
                        usize::from_str_radix(s.split(';').next().unwrap_or("").trim(), 16).ok()
                    })
                    .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "bad chunk size"))?;
                if rest.len() < i + 2 + size + 2 {
                    break;
                }
                if size == 0 {
                    self.done = true;
                    break;
                }
                self.body.extend_from_slice(&rest[i + 2..i + 2 + size]);
                self.cursor += i + 2 + size + 2;
            },
            Body::UntilClose => {
                self.body.extend_from_slice(&self.raw[self.cursor..]);
                self.cursor = self.raw.len();
            }
            Body::Unknown => {}
        }
        Ok(self.done)
    }

    fn parse_head(&mut self, head: &str) -> io::Result<()> {
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or("");
        self.status = status
            .split(' ')
            .nth(1)
            .and_then(|s| s.parse().ok())
            .ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("bad status line {status:?}"),
                )
            })?;
        let mut kind = Body::UntilClose;
        for l in lines {
            let Some((k, v)) = l.split_once(':') else {
                continue;
            };
            let v = v.trim();
            if k.eq_ignore_ascii_case("content-length") {
                if !matches!(kind, Body::Chunked) {
                    kind = Body::Length(v.parse().unwrap_or(0));
                }
            } else if k.eq_ignore_ascii_case("transfer-encoding") {
                if v.to_ascii_lowercase().contains("chunked") {
                    kind = Body::Chunked;
                }
            } else if k.eq_ignore_ascii_case("connection") {
                self.close = v.eq_ignore_ascii_case("close");
            } else if k.eq_ignore_ascii_case("content-type") {
                self.sse = v.starts_with("text/event-stream");
            } else if k.eq_ignore_ascii_case("mcp-session-id") {
                self.session = Some(v.into());
            }
        }
        if self.status == 204 || self.status == 304 {
            kind = Body::Length(0);
        }
        self.body_kind = kind;
        Ok(())
    }
}

/// A connection of either kind.
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn set_nonblocking(&self, yes: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.set_nonblocking(yes),
            Stream::Unix(s) => s.set_nonblocking(yes),
        }
    }

    fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.set_read_timeout(Some(limit)),
            Stream::Unix(s) => s.set_read_timeout(Some(limit)),
        }
    }

    pub fn half_close(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(s) => s.shutdown(Shutdown::Write),
            Stream::Unix(s) => s.shutdown(Shutdown::Write),
        }
    }

    /// Reads until the head of a response has come.
    pub fn wait_for_head(&mut self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(limit)?;
        let mut got = Vec::new();
        let mut buf = [0; 4096];
        while msg::find(&got, b"\r\n\r\n").is_none() {
            match self.read(&mut buf)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => got.extend_from_slice(&buf[..n]),
            }
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.read(buf),
            Stream::Unix(s) => s.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.write(buf),
            Stream::Unix(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Stream::Tcp(s) => s.as_raw_fd(),
            Stream::Unix(s) => s.as_raw_fd(),
        }
    }
}

pub fn connect(addr: &str) -> io::Result<Stream> {
    if let Some(path) = addr.strip_prefix(UNIX) {
        return UnixStream::connect(path).map(Stream::Unix);
    }
    let s = TcpStream::connect(addr)?;
    s.set_nodelay(true)?;
    Ok(Stream::Tcp(s))
}

/// One blocking exchange, for set-up traffic.
pub fn exchange(s: &mut Stream, request: &[u8]) -> io::Result<Response> {
    s.set_read_timeout(Duration::from_secs(20))?;
    s.write_all(request)?;
    let mut r = Response::default();
    let mut buf = [0u8; 16384];
    loop {
        let n = s.read(&mut buf)?;
        if n == 0 {
            if r.eof() {
                return Ok(r);
            }
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if r.feed(&buf[..n])? {
            return Ok(r);
        }
    }
}

/// Opens a connection ready for calls: in the legacy era this includes the
/// handshake, with the session the server issues if it issues one.
pub fn open(t: &Target, next_id: &mut u64) -> io::Result<(Stream, Option<String>)> {
    let mut s = connect(&t.addr)?;
    if t.proto == Proto::Modern {
        return Ok((s, None));
    }
    *next_id += 1;
    let r = exchange(
        &mut s,
        &t.post(&msg::initialize(*next_id), "initialize", None, None),
    )?;
    if r.status != 200 || !msg::is_success(&r.body) {
        return Err(io::Error::other(format!(
            "initialize: {} {}",
            r.status,
            String::from_utf8_lossy(&r.body)
        )));
    }
    if r.close {
        s = connect(&t.addr)?;
    }
    let session = r.session;
    let n = exchange(
        &mut s,
        &t.post(
            msg::INITIALIZED,
            "notifications/initialized",
            None,
            session.as_deref(),
        ),
    )?;
    if n.status / 100 != 2 {
        return Err(io::Error::other(format!("initialized: {}", n.status)));
    }
    if n.close {
        s = connect(&t.addr)?;
    }
    Ok((s, session))
}
