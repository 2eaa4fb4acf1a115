//! Requests from a seed: well-formed ones, and such as have been broken.

use crate::random::Random;

const TOKEN: &[u8] = b"abcXYZ019!#$%&'*+-.^_`|~";
/// What a header value may hold at its ends; within it blanks may stand too.
const VISIBLE: &[u8] = b"aZ09!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\x80\xa0\xc3\xff";
const INNER: &[u8] = b"aZ09!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\x80\xc3\xff";
const PATH: &[u8] = b"abcXYZ019-._~!$&'()*+,;=:@/%";
const QUERY: &[u8] = b"abcXYZ019-._~!$&'()*+,;=:@/?%";

/// A last request. Whether it is answered tells whether the connection was kept.
pub const PROBE: &[u8] = b"GET /probe HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// How well-formed requests are written.
pub struct Writer<'a> {
    pub random: &'a mut Random,
    /// Leaves out what Node.js reads in a way of its own: requests behind one that asks for the end of the connection, and
    /// tabs around the values that frame a message.
    pub for_node: bool,
}

impl Writer<'_> {
    /// Well-formed requests, one behind the other, and the probe.
    pub fn well_formed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..=self.random.below(4) {
            self.request(&mut bytes);
        }
        bytes.extend(PROBE);
        bytes
    }

    /// The same with one to three defects.
    pub fn broken(&mut self) -> Vec<u8> {
        let mut bytes = self.well_formed();
        for _ in 0..=self.random.below(3) {
            break_at_random(&mut bytes, self.random);
        }
        bytes
    }

    fn request(&mut self, bytes: &mut Vec<u8>) {
        let method = self.random.pick(&[
            "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "M-SEARCH", "REPORT",
        ]);
        let old = self.random.once_in(5);
        let version = if old { "HTTP/1.0" } else { "HTTP/1.1" };
        let target = self.target(method);
        let mut lines = self.headers();
        if !old || !self.random.once_in(3) {
            let hosts = ["a", "b.example:8080", "127.0.0.1", "[::1]:80"];
            let host = self.random.pick(&hosts);
            lines.push(self.line("Host", host.as_bytes()));
        }
        lines.extend(self.connection(old));
        let body = self.body(old, &mut lines);
        for at in (1..lines.len()).rev() {
            lines.swap(at, self.random.below(at + 1));
        }
        bytes.extend(format!("{method} {target} {version}\r\n").bytes());
        bytes.extend(lines.concat());
        bytes.extend(b"\r\n");
        bytes.extend(body);
        if self.random.once_in(8) {
            bytes.extend(b"\r\n");
        }
    }

    fn target(&mut self, method: &str) -> String {
        if method == "OPTIONS" && self.random.once_in(3) {
            return "*".into();
        }
        let mut target = match self.random.once_in(5) {
            true => {
                let bases = ["http://a", "http://other.example:81", "https://[::1]"];
                self.random.pick(&bases).to_owned()
            }
            false => String::new(),
        };
        target += "/";
        target.extend(self.random.bytes(PATH, 20).into_iter().map(char::from));
        if self.random.once_in(2) {
            target += "?";
            target.extend(self.random.bytes(QUERY, 20).into_iter().map(char::from));
        }
        target
    }

    fn connection(&mut self, old: bool) -> Option<Vec<u8>> {
        let keeping = ["keep-alive", "Keep-Alive", "x-hop, keep-alive"];
        let closing = ["close", "Close", "foo, close"];
        if !(self.random.once_in(3) || self.for_node && old) {
            return None;
        }
        let option = match self.for_node || self.random.once_in(2) {
            true => self.random.pick(&keeping),
            false => self.random.pick(&closing),
        };
        Some(self.framing_line("Connection", option))
    }

    fn headers(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for _ in 0..self.random.below(8) {
            // A prefix, so that no name means anything by chance.
            let mut name = String::from("x-");
            name.extend(self.random.bytes(TOKEN, 12).into_iter().map(char::from));
            let mut value = self.random.bytes(VISIBLE, 1);
            if !value.is_empty() {
                value.extend(self.random.bytes(INNER, 30));
                value.push(b'.');
            }
            lines.push(self.line(&name, &value));
        }
        for (name, value) in [
            ("Accept", "application/json, text/event-stream"),
            ("Cookie", "a=b; c=\"d\""),
            ("TE", "trailers"),
            ("Trailer", "x-t"),
            ("Content-Type", "text/plain"),
        ] {
            if self.random.once_in(6) {
                lines.push(self.line(name, value.as_bytes()));
            }
        }
        lines
    }

    /// A header line. Names have no case, and blanks around the value do not count.
    fn line(&mut self, name: &str, value: &[u8]) -> Vec<u8> {
        let before = self.random.pick(&[" ", "", "  ", "\t", " \t "]);
        let behind = self.random.pick(&["", "", "", " ", "\t "]);
        self.line_with(name, value, before, behind)
    }

    /// A header line that says something about the message.
    fn framing_line(&mut self, name: &str, value: &str) -> Vec<u8> {
        match self.for_node {
            true => self.line_with(name, value.as_bytes(), " ", ""),
            false => self.line(name, value.as_bytes()),
        }
    }

    fn line_with(&mut self, name: &str, value: &[u8], before: &str, behind: &str) -> Vec<u8> {
        let name = match self.random.below(3) {
            0 => name.to_ascii_lowercase(),
            1 => name.to_ascii_uppercase(),
            _ => name.to_owned(),
        };
        let parts = [name.as_bytes(), b":", before.as_bytes(), value];
        [&parts.concat()[..], behind.as_bytes(), b"\r\n"].concat()
    }

    /// A body, and the header lines that frame it.
    fn body(&mut self, old: bool, lines: &mut Vec<Vec<u8>>) -> Vec<u8> {
        let most = if self.random.once_in(10) { 40_000 } else { 60 };
        let all: Vec<u8> = (0..=255).collect();
        let data = self.random.bytes(&all, most);
        let body = match self.random.below(3) {
            0 => return Vec::new(),
            1 if !old => {
                let coding = self.random.pick(&["chunked", "Chunked"]);
                lines.push(self.framing_line("Transfer-Encoding", coding));
                self.chunked(&data)
            }
            _ => {
                let zeros = self.random.pick(&["", "", "0", "000"]);
                let length = format!("{zeros}{}", data.len());
                lines.push(self.framing_line("Content-Length", &length));
                data
            }
        };
        if !old && self.random.once_in(4) {
            let expectation = self.random.pick(&["100-continue", "100-Continue"]);
            lines.push(self.framing_line("Expect", expectation));
        }
        body
    }

    fn chunked(&mut self, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut rest = data;
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(1 + self.random.below(rest.len()));
            bytes.extend(self.size(chunk.len()));
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
            rest = after;
        }
        bytes.extend(self.size(0));
        for _ in 0..self.random.below(3) {
            let value = self.random.bytes(b"az09 .", 10);
            bytes.extend(self.line("x-trailer", &[&value[..], b"."].concat()));
        }
        bytes.extend(b"\r\n");
        bytes
    }

    fn size(&mut self, length: usize) -> Vec<u8> {
        let zeros = self.random.pick(&["", "", "", "00"]);
        let digits = match self.random.once_in(2) {
            true => format!("{zeros}{length:x}"),
            false => format!("{zeros}{length:X}"),
        };
        let extension = match self.random.below(5) {
            0 => ";a=b",
            1 => ";name=\"quoted\";other",
            _ => "",
        };
        format!("{digits}{extension}\r\n").into_bytes()
    }
}

/// What a defect puts in the place of what.
const SWAPS: [(&str, &str); 18] = [
    ("Host", "Hos"),
    ("HTTP/1.1", "HTTP/1.2"),
    ("HTTP/1.1", "HTTP/2.0"),
    ("HTTP/1.1", "http/1.1"),
    ("HTTP/1.1", "HTTP/1.0"),
    ("HTTP/1.0", "HTTP/1.1"),
    (" /", " "),
    (" /", " /#"),
    (" /", "  /"),
    (" HTTP", "  HTTP"),
    ("/", "http://u@h/"),
    ("GET", "CONNECT"),
    ("chunked", "chunked, chunked"),
    ("chunked", "xchunked"),
    ("0\r\n\r\n", "0\r\n\r\n\r\n"),
    ("0\r\n", "-0\r\n"),
    (";", " ;"),
    (";", "\n"),
];

/// Does what a mistake, or an attack, may do.
fn break_at_random(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => {
            bytes.remove(at);
        }
        1 => bytes.insert(
            at,
            random.pick(&[
                b"\r", b"\n", b"\0", b" ", b"\t", b":", b";", b",", b"0", b"+", b"\x0b", b"\x80",
            ])[0],
        ),
        2 => bytes[at] = random.number() as u8,
        3 => replace(
            bytes,
            at,
            b"\r\n",
            random
                .pick(&["\n", "\r", "\r\r\n", "\n\r", "\r\n ", "\r\n\t", "\r\n\r\n"])
                .as_bytes(),
        ),
        4 => replace(
            bytes,
            at,
            b": ",
            random
                .pick(&[" : ", "\t:", ":", ":\x0b", "::", ": ,"])
                .as_bytes(),
        ),
        5 => {
            let new = random.pick(&[
                "\r\nContent-Length: 5\r\n",
                "\r\nContent-Length: 0\r\n",
                "\r\nContent-Length: +5\r\n",
                "\r\nContent-Length: 5, 5\r\n",
                "\r\nTransfer-Encoding: chunked\r\n",
                "\r\nTransfer-Encoding: identity\r\n",
                "\r\nTransfer-Encoding: gzip, chunked\r\n",
                "\r\nTransfer-Encoding:\r\n",
                "\r\nTransfer-Encoding : chunked\r\n",
                "\r\nHost: b\r\n",
                "\r\nHost: a b\r\n",
                "\r\nExpect: x\r\n",
                "\r\nConnection: close\r\n",
                "\r\nUpgrade: h2c\r\nConnection: upgrade\r\n",
                "\r\n folded\r\n",
                "\r\nX\r\n",
                "\r\n: x\r\n",
            ]);
            replace(bytes, at, b"\r\n", new.as_bytes());
        }
        6 => {
            let (old, new) = SWAPS[random.below(SWAPS.len())];
            replace(bytes, at, old.as_bytes(), new.as_bytes());
        }
        _ => bytes.truncate(at.max(1)),
    }
}

/// Replaces the next `old` behind `at`, if there is one.
fn replace(bytes: &mut Vec<u8>, at: usize, old: &[u8], new: &[u8]) {
    let found = bytes[at..].windows(old.len()).position(|part| part == old);
    if let Some(offset) = found {
        let start = at + offset;
        bytes.splice(start..start + old.len(), new.iter().copied());
    }
}
