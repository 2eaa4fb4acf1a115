//! Raw requests and the exact answers to them.

/// Bytes for the server, and what it has to say.
pub(crate) struct Row {
    pub(crate) claim: String,
    pub(crate) input: Vec<u8>,
    /// The whole answer, with the date taken out.
    pub(crate) output: String,
    /// Whether the connection can be used afterwards.
    pub(crate) open: bool,
}

/// The answer of the echo service.
pub(crate) fn ok(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ndate: -\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// The same, and the connection closes.
pub(crate) fn ok_closing(body: &str) -> String {
    ok(body).replacen("\r\n\r\n", "\r\nconnection: close\r\n\r\n", 1)
}

/// The same, and the connection is kept for an HTTP/1.0 client.
fn ok_kept(body: &str) -> String {
    ok(body).replacen("\r\n\r\n", "\r\nconnection: keep-alive\r\n\r\n", 1)
}

/// The answer of the listener itself.
pub(crate) fn refused(status: u16, text: &str) -> String {
    let reason = match status {
        400 => "Bad Request",
        408 => "Request Timeout",
        413 => "Payload Too Large",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => unreachable!(),
    };
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\ndate: -\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{text}\n"
    )
}

/// A GET with more header lines.
fn get(lines: impl AsRef<[u8]>) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\nHost: a\r\n", lines.as_ref(), b"\r\n"].concat()
}

/// A POST with more header lines and a body.
fn post(lines: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n");
    [head.as_bytes(), body.as_ref()].concat()
}

/// A chunked POST.
fn chunked(body: impl AsRef<[u8]>) -> Vec<u8> {
    post("Transfer-Encoding: chunked\r\n", body)
}

#[derive(Default)]
struct Table(Vec<Row>);

impl Table {
    fn open(&mut self, claim: &str, input: impl AsRef<[u8]>, output: impl AsRef<str>) {
        self.add(claim, input.as_ref(), output.as_ref(), true);
    }

    fn closed(&mut self, claim: &str, input: impl AsRef<[u8]>, output: impl AsRef<str>) {
        self.add(claim, input.as_ref(), output.as_ref(), false);
    }

    fn bad(&mut self, claim: &str, input: impl AsRef<[u8]>, text: &str) {
        self.closed(claim, input, refused(400, text));
    }

    fn add(&mut self, claim: &str, input: &[u8], output: &str, open: bool) {
        self.0.push(Row {
            claim: claim.to_owned(),
            input: input.to_owned(),
            output: output.to_owned(),
            open,
        });
    }
}

/// All rows.
pub(crate) fn rows() -> Vec<Row> {
    let mut table = Table::default();
    well_formed(&mut table);
    persistence(&mut table);
    request_lines(&mut table);
    targets(&mut table);
    line_endings(&mut table);
    header_lines(&mut table);
    hosts(&mut table);
    lengths(&mut table);
    codings(&mut table);
    smuggling(&mut table);
    chunks(&mut table);
    bad_chunks(&mut table);
    trailers(&mut table);
    expectations(&mut table);
    table.0
}

fn well_formed(table: &mut Table) {
    table.open("a GET is answered", get(""), ok("GET /\n"));
    table.open(
        "an empty line before a request is skipped",
        [b"\r\n", &get("")[..]].concat(),
        ok("GET /\n"),
    );
    table.open(
        "a body with a length is read",
        post("Content-Length: 5\r\n", "hello"),
        ok("POST /\nhello"),
    );
    table.open(
        "a body may hold any byte",
        post("Content-Length: 6\r\n", "\0\r\n\r\n\n"),
        ok("POST /\n\0\r\n\r\n\n"),
    );
    table.open(
        "a POST without framing has no body",
        post("", ""),
        ok("POST /\n"),
    );
    table.open(
        "a GET may have a body",
        b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
        ok("GET /\nhi"),
    );
    for method in [
        "PUT",
        "DELETE",
        "PATCH",
        "OPTIONS",
        "TRACE",
        "get",
        "M-SEARCH",
        "!#$%&'*+-.^_`|~",
    ] {
        let input = format!("{method} /x HTTP/1.1\r\nHost: a\r\n\r\n");
        table.open(
            "any method but CONNECT reaches the service",
            input,
            ok(&format!("{method} /x\n")),
        );
    }
    table.open(
        "the answer to a HEAD tells the length and has no body",
        b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "HTTP/1.1 200 OK\r\ndate: -\r\ncontent-length: 7\r\n\r\n",
    );
    table.open(
        "header names have no case",
        "GET / HTTP/1.1\r\nhOsT: a\r\n\r\n",
        ok("GET /\n"),
    );
    for line in [
        &b"X: \x80\xff\xfe\r\n"[..],
        b"X:\r\n",
        b"X: \t \r\n",
        b"X:\ta\tb\t\r\n",
        b"X: caf\xc3\xa9\r\n",
        b"X: a:b\r\n",
        b"X: 1\r\nX: 2\r\n",
        b"Content-Lengthy: 5\r\n",
        b"Content_Length: 5\r\n",
        b"Accept: */*;q=\"\\\"\"\r\n",
    ] {
        table.open("this header line is fine", get(line), ok("GET /\n"));
    }
}

fn persistence(table: &mut Table) {
    table.open(
        "pipelined requests are answered in order",
        [get(""), post("Content-Length: 1\r\n", "b"), get("")].concat(),
        ok("GET /\n") + &ok("POST /\nb") + &ok("GET /\n"),
    );
    table.open(
        "a request may follow a chunked one at once",
        [chunked("1\r\na\r\n0\r\n\r\n"), get("")].concat(),
        ok("POST /\na") + &ok("GET /\n"),
    );
    table.open(
        "empty lines may stand between requests",
        [get(""), b"\r\n".to_vec(), get("")].concat(),
        ok("GET /\n") + &ok("GET /\n"),
    );
    for line in [
        "Connection: close\r\n",
        "connection: CLOSE\r\n",
        "Connection: foo, close\r\n",
        "Connection: keep-alive\r\nConnection: close\r\n",
        "Connection: close, keep-alive\r\n",
    ] {
        table.closed(
            "the client can have the connection closed",
            get(line),
            ok_closing("GET /\n"),
        );
    }
    for line in [
        "Connection: keep-alive\r\n",
        "Connection: closed\r\n",
        "Connection: upgrade\r\nUpgrade: h2c\r\n",
        "Keep-Alive: timeout=1\r\n",
    ] {
        table.open("the connection is kept", get(line), ok("GET /\n"));
    }
    table.closed(
        "what follows a last request is not answered",
        [get("Connection: close\r\n"), get("")].concat(),
        ok_closing("GET /\n"),
    );
    table.closed(
        "HTTP/1.0 closes",
        "GET / HTTP/1.0\r\n\r\n",
        ok_closing("GET /\n"),
    );
    table.closed(
        "HTTP/1.0 may name a host",
        "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        ok_closing("GET /\n"),
    );
    table.open(
        "HTTP/1.0 can keep the connection",
        "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
        ok_kept("GET /\n"),
    );
    table.closed(
        "HTTP/1.0 has bodies",
        "POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
        ok_closing("POST /\nhi"),
    );
    table.closed(
        "requests before a malformed one are answered",
        [get(""), b"BAD\r\n".to_vec()].concat(),
        ok("GET /\n") + &refused(400, "the request line is malformed"),
    );
}

fn request_lines(table: &mut Table) {
    let malformed = "the request line is malformed";
    for line in [
        "GET",
        "GET /",
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET / x HTTP/1.1",
        "GET\t/\tHTTP/1.1",
    ] {
        table.bad(
            "a request line has three words",
            format!("{line}\r\n"),
            malformed,
        );
    }
    for version in [
        "HTTP/1",
        "HTTP/1.10",
        "HTTP/1,1",
        "http/1.1",
        "HTTP/1.x",
        "HTTP/ 1.1",
        "HTTPS/1.1",
        "1.1",
    ] {
        let text = if version == "HTTP/ 1.1" {
            malformed
        } else {
            "the version is malformed"
        };
        table.bad(
            "a version has its form",
            format!("GET / {version}\r\nHost: a\r\n\r\n"),
            text,
        );
    }
    for version in ["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0"] {
        table.closed(
            "other versions are not spoken",
            format!("GET / {version}\r\nHost: a\r\n\r\n"),
            refused(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"),
        );
    }
    for method in ["G@T", "GET/", "G\"T", "GET:"] {
        table.bad(
            "a method is a token",
            format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"),
            "the method is malformed",
        );
    }
    let no_method = "the request does not begin with a method";
    for start in [
        &b" GET / HTTP/1.1\r\n"[..],
        b"\0",
        b"\x16\x03\x01\x02\x00",
        b"{\"jsonrpc\":\"2.0\"}",
        b"\xef\xbb\xbfGET",
        b"\t",
        b"\r\n\xf3GET",
    ] {
        table.bad(
            "what does not begin like a request is refused at its first byte",
            start,
            no_method,
        );
    }
    table.bad(
        "two empty lines are too many",
        "\r\n\r\nGET / HTTP/1.1\r\n",
        "empty lines before the request",
    );
    table.closed(
        "a client that speaks HTTP/2 is told",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        refused(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"),
    );
}

fn targets(table: &mut Table) {
    for target in [
        "/",
        "/a/b?c=d&e",
        "/%00",
        "/..//x",
        "/a;b=c",
        "/?",
        "/{}|^\"",
    ] {
        let input = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        table.open(
            "the origin form is passed on as it came",
            input,
            ok(&format!("GET {target}\n")),
        );
    }
    table.open(
        "the asterisk form is for OPTIONS",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        ok("OPTIONS *\n"),
    );
    table.open(
        "the absolute form is passed on",
        "GET http://a:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        ok("GET http://a:80/x?y\n"),
    );
    for target in [
        "*",
        "a",
        "a/b",
        "a:80",
        "ftp://a/",
        "http://",
        "http:///x",
        "http://u@a/",
        "http://u:p@a/",
        "/a#b",
        "//\x7f",
        "/<",
        "/`",
        "http://a:b/",
    ] {
        table.bad(
            "other targets are refused",
            format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"),
            "the request target is malformed",
        );
    }
    for target in [&b"/\xc3\xa9"[..], b"/\x01", b"/\0"] {
        table.bad(
            "a target is made of visible ASCII",
            [b"GET ", target, b" HTTP/1.1\r\nHost: a\r\n\r\n"].concat(),
            "the request target is malformed",
        );
    }
    for input in [
        "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        table.closed(
            "CONNECT is refused",
            input,
            refused(501, "this is not a proxy"),
        );
    }
}

fn line_endings(table: &mut Table) {
    let text = "a line does not end with CR LF";
    for input in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: b\rY: c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
        "GET / HTTP/1.1\rHost: a\r\r",
        "GET / HTTP/1.1\r\nHost: a\r\n\rX",
        "GET / HTTP/1.1\r\nX: a\n Transfer-Encoding: chunked\r\n\r\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        table.bad("every line of a head ends with CR LF", input, text);
    }
}

fn header_lines(table: &mut Table) {
    let name = "a header name is malformed";
    for line in [
        "X : a",
        " X: a",
        "X",
        "X a",
        ": a",
        "X\t: a",
        "X(: a",
        "X\": a",
        "Host : b",
        "Content-Length : 5",
        "Transfer-Encoding\t: chunked",
        "[X]: a",
        "X\u{e9}: a",
    ] {
        table.bad(
            "a header name is a token before a colon",
            get(format!("{line}\r\n")),
            name,
        );
    }
    table.bad("a folded line is refused", get("X: a\r\n b\r\n"), name);
    table.bad(
        "a line folded by a tab is refused",
        get("X: a\r\n\tb\r\n"),
        name,
    );
    table.bad(
        "a folded first line is refused",
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        name,
    );
    table.bad(
        "a line folded into nothing is refused",
        get("X: a\r\n \r\n"),
        name,
    );
    table.bad("NUL in a name is refused", get(b"X\0: a\r\n"), name);
    for line in [
        &b"X: a\0b\r\n"[..],
        b"X: \x01\r\n",
        b"X: \x7f\r\n",
        b"X: \x0b\r\n",
        b"X: a\x08\r\n",
        b"Transfer-Encoding: \x0bchunked\r\n",
    ] {
        table.bad(
            "control bytes in a value are refused",
            get(line),
            "a header value is malformed",
        );
    }
}

fn hosts(table: &mut Table) {
    for host in [
        "a",
        "a:80",
        "a:",
        "",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:80",
        "xn--bcher-kva.example",
        "a_b",
        "A.B",
    ] {
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        table.open("this names a host", input, ok("GET /\n"));
    }
    for host in [
        "a b", "a/b", "a@b", "a,b", "a:b", "a:80:80", "a:123456", "http://a", "[::1", "[]",
        "[::1]x", "a?b", "a#b", "a\\b", "\u{fc}",
    ] {
        let input = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        table.bad("this names no host", input, "the Host header is malformed");
    }
    table.bad(
        "a host is needed",
        "GET / HTTP/1.1\r\n\r\n",
        "the Host header is missing",
    );
    table.bad(
        "one host is enough",
        get("Host: b\r\n"),
        "more than one Host header",
    );
    table.bad(
        "the same host twice is too many",
        get("Host: a\r\n"),
        "more than one Host header",
    );
    table.bad(
        "HTTP/1.0 has one host at most",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n",
        "more than one Host header",
    );
}

fn lengths(table: &mut Table) {
    let text = "Content-Length is not a number";
    for length in [
        "+5",
        "-5",
        "5,5",
        "5, 5",
        "0x5",
        "5 5",
        "5a",
        "a",
        "",
        "5;",
        "\"5\"",
        "5.0",
        "1e1",
        "\u{665}",
        "18446744073709551616",
        "99999999999999999999999",
    ] {
        table.bad(
            "a length is made of digits",
            post(&format!("Content-Length: {length}\r\n"), "hello"),
            text,
        );
    }
    let twice = "more than one Content-Length header";
    for (one, other) in [("5", "5"), ("5", "6"), ("0", "5")] {
        let lines = format!("Content-Length: {one}\r\nContent-Length: {other}\r\n");
        table.bad("a length is told once", post(&lines, "hello"), twice);
    }
    table.open(
        "zeros may lead",
        post("Content-Length: 0005\r\n", "hello"),
        ok("POST /\nhello"),
    );
    table.open(
        "blanks may stand around a length",
        post("Content-Length: \t5\t \r\n", "hello"),
        ok("POST /\nhello"),
    );
    table.open(
        "nothing may be announced",
        post("Content-Length: 0\r\n", ""),
        ok("POST /\n"),
    );
    table.closed(
        "a body over the limit is refused before it comes",
        post("Content-Length: 4194305\r\n", ""),
        refused(413, "the body of the request is too large"),
    );
    table.closed(
        "the largest length is over the limit",
        post("Content-Length: 18446744073709551615\r\n", ""),
        refused(413, "the body of the request is too large"),
    );
}

fn codings(table: &mut Table) {
    let last = "0\r\n\r\n";
    for coding in ["chunked", "Chunked", "CHUNKED", "\tchunked\t"] {
        let lines = format!("Transfer-Encoding: {coding}\r\n");
        table.open("chunked is known", post(&lines, last), ok("POST /\n"));
    }
    for coding in [
        "identity",
        "gzip",
        "",
        "xchunked",
        "chunkedx",
        "chunked, gzip",
        "chunked, identity",
        "chunked,",
        ", chunked",
        "chunked, chunked",
        "\"chunked\"",
        "chunked;q=1",
        "chun ked",
        "identity, chunked",
        "chunked\u{a0}",
        "x y, chunked",
    ] {
        let lines = format!("Transfer-Encoding: {coding}\r\n");
        table.bad(
            "a coding that does not end the body is refused",
            post(&lines, last),
            "Transfer-Encoding is not chunked",
        );
    }
    for coding in ["gzip, chunked", "gzip,deflate , chunked", "x-foo, Chunked"] {
        let lines = format!("Transfer-Encoding: {coding}\r\n");
        table.closed(
            "other codings are not known",
            post(&lines, last),
            refused(501, "the transfer coding is not known"),
        );
    }
    table.bad(
        "HTTP/1.0 knows no transfer coding",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding in an HTTP/1.0 request",
    );
    table.bad(
        "a coding is told once",
        post(
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            last,
        ),
        "more than one Transfer-Encoding header",
    );
    table.bad(
        "a coding in two lines is refused",
        post(
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            last,
        ),
        "Transfer-Encoding is not chunked",
    );
}

fn smuggling(table: &mut Table) {
    let both = "both Content-Length and Transfer-Encoding";
    let hidden = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    table.bad(
        "CL.TE",
        post(
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
            hidden,
        ),
        both,
    );
    table.bad(
        "TE.CL",
        post(
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            format!("5c\r\n{hidden}"),
        ),
        both,
    );
    table.bad(
        "CL.TE with a length of 0",
        post(
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            hidden,
        ),
        both,
    );
    for line in [
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
        "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:\tchunked",
        "X: X\r\nTransfer-Encoding: chunked",
        "transfer-encoding: CHUNKED",
    ] {
        let lines = format!("Content-Length: 6\r\n{line}\r\n");
        let text = match line {
            "Transfer-Encoding: xchunked"
            | "Transfer-Encoding: x\r\nTransfer-Encoding: chunked" => {
                "Transfer-Encoding is not chunked"
            }
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x" => {
                "more than one Transfer-Encoding header"
            }
            _ => both,
        };
        table.bad("TE.TE", post(&lines, hidden), text);
    }
    for line in [
        "Transfer-Encoding : chunked",
        " Transfer-Encoding: chunked",
        "Transfer-Encoding\n: chunked",
        "X: y\r\n Transfer-Encoding: chunked",
        "Transfer-Encoding: chunked\rX: y",
    ] {
        let text = if line.contains("\n:") || line.contains("\rX") {
            "a line does not end with CR LF"
        } else {
            "a header name is malformed"
        };
        table.bad(
            "TE obscured",
            post(&format!("Content-Length: 6\r\n{line}\r\n"), hidden),
            text,
        );
    }
    table.open(
        "CL.0: a body that the service ignores is not taken for a request",
        [
            post(
                "Content-Length: 38\r\n",
                "GET /hidden HTTP/1.1\r\nHost: aaaaaa\r\n\r\n",
            ),
            get(""),
        ]
        .concat(),
        ok("POST /\nGET /hidden HTTP/1.1\r\nHost: aaaaaa\r\n\r\n") + &ok("GET /\n"),
    );
    table.open(
        "a coding whose name has an underscore frames nothing",
        [post("Transfer_Encoding: chunked\r\n", ""), get("")].concat(),
        ok("POST /\n") + &ok("GET /\n"),
    );
}

fn chunks(table: &mut Table) {
    for (body, text) in [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello"),
        ("00005\r\nhello\r\n000\r\n\r\n", "hello"),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"),
        ("1;a\r\nx\r\n0\r\n\r\n", "x"),
        ("1;a=b;c=\"d;e\"\r\nx\r\n0;z\r\n\r\n", "x"),
        ("1;\r\nx\r\n0\r\n\r\n", "x"),
        ("1 ;a\r\nx\r\n0\r\n\r\n", "x"),
        ("1\t; a\r\nx\r\n0\r\n\r\n", "x"),
        ("0000000000000001\r\nx\r\n0\r\n\r\n", "x"),
    ] {
        table.open(
            "this chunked body is fine",
            chunked(body),
            ok(&format!("POST /\n{text}")),
        );
    }
}

fn bad_chunks(table: &mut Table) {
    let text = "the chunked body is malformed";
    for body in [
        "\r\n",
        "g\r\n",
        "-1\r\n",
        "+1\r\n",
        "0x1\r\n",
        " 1\r\n",
        "1 \r\n",
        "1 1\r\n",
        "\n",
        "1\nx",
        "1\rx",
        "1\r\r\n",
        ";a\r\n",
        "1,\r\n",
        "1_0\r\n",
        "1.\r\n",
        "1\0\r\n",
        "1;a\nx\r\n",
        "1;a\0\r\n",
        "1;a\rb\r\n",
        "1;a\x7f\r\n",
        "1\r\nxy\r\n",
        "1\r\nx\n",
        "1\r\nx\rX",
        "1\r\nx0\r\n\r\n",
        "1\r\n\r\n0\r\n\r\n\r\n",
    ] {
        table.bad("this chunked body is broken", chunked(body), text);
    }
    table.bad(
        "a size of 17 digits is refused",
        chunked("00000000000000001\r\n"),
        "the size of a chunk is too long",
    );
    table.bad(
        "a size that overflows is refused",
        chunked("10000000000000000\r\n"),
        "the size of a chunk is too long",
    );
    table.closed(
        "a chunk over the limit is refused before it comes",
        chunked("400001\r\n"),
        refused(413, "the body of the request is too large"),
    );
    table.closed(
        "the largest size is over the limit",
        chunked("ffffffffffffffff\r\n"),
        refused(413, "the body of the request is too large"),
    );
}

fn trailers(table: &mut Table) {
    for trailer in [
        "X: y\r\n",
        "X:\r\n",
        "X: y\r\nZ: \u{fc}\t\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Host: b\r\n",
    ] {
        let body = format!("1\r\na\r\n0\r\n{trailer}\r\n");
        table.open(
            "trailers are read and change nothing",
            [chunked(body), get("")].concat(),
            ok("POST /\na") + &ok("GET /\n"),
        );
    }
    for trailer in [
        "X\r\n",
        "X : y\r\n",
        " X: y\r\n",
        ": y\r\n",
        "X: y\n",
        "X: y\rZ",
        "X: \0\r\n",
        "X: y\r\n z\r\n",
        "GET / HTTP/1.1\r\n",
    ] {
        let body = format!("0\r\n{trailer}\r\n");
        table.bad(
            "trailers have the form of headers",
            chunked(body),
            "the chunked body is malformed",
        );
    }
}

fn expectations(table: &mut Table) {
    table.closed(
        "other expectations are not known",
        get("Expect: 200-ok\r\n"),
        refused(417, "the expectation is not known"),
    );
    table.open(
        "a request without a body is not told to go on",
        get("Expect: 100-continue\r\n"),
        ok("GET /\n"),
    );
    table.closed(
        "HTTP/1.0 has no expectations",
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
        ok_closing("POST /\nhi"),
    );
    table.closed(
        "a client that waits is refused instead of told to go on",
        post("Expect: 100-continue\r\nContent-Length: 4194305\r\n", ""),
        refused(413, "the body of the request is too large"),
    );
}
