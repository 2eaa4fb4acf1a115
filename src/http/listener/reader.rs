//! Requests out of bytes, without any socket.

use http::{Method, Request, Version};

use super::chunked::Chunked;
use super::head::{Framing, Head};
use super::input::Input;
use super::refusal::Refusal;
use super::scan::Scan;

/// How large a request may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) head: usize,
    pub(crate) headers: usize,
    pub(crate) body: usize,
}

/// The most that is set aside for a body before its bytes have come.
const EARLY_ROOM: u64 = 64 * 1024;

/// Reads one request after the other from what a client sends.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub(crate) input: Input,
    scan: Scan,
    /// A request whose head has been read and whose body has not.
    partial: Option<Box<Partial>>,
}

#[derive(Debug)]
struct Partial {
    head: Head,
    body: Vec<u8>,
    rest: Rest,
    /// Whether the client waits for `100 Continue` and has not got it.
    wants_continue: bool,
}

/// What is still to come of a body.
#[derive(Debug)]
enum Rest {
    Length(usize),
    Chunked(Chunked),
}

/// How far the next request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Nothing,
    Head,
    Body,
}

/// A request that has come as a whole.
pub(crate) type Incoming = (Request<Vec<u8>>, Terms);

/// What a request says about its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Whether the client keeps the connection.
    pub(crate) keep_alive: bool,
    /// Whether the answer goes to an HTTP/1.0 client, which knows no chunks.
    pub(crate) old: bool,
    /// Whether the answer has no body because the request is a HEAD.
    pub(crate) head_only: bool,
}

impl Reader {
    /// Takes the next request, or `None` if it has not come as a whole.
    ///
    /// After a refusal nothing can be read from this client any more.
    pub(crate) fn next(&mut self, limits: &Limits) -> Result<Option<Incoming>, Refusal> {
        if self.partial.is_none() {
            let Some(head) = self.head(limits)? else {
                return Ok(None);
            };
            if head.framing == Framing::Length(0) {
                return Ok(Some(assemble(head, Vec::new())));
            }
            self.partial = Some(Box::new(Partial::new(head, limits)?));
        }
        self.body(limits)
    }

    /// How far the next request has come, for the limits on time.
    pub(crate) fn progress(&self) -> Progress {
        if self.partial.is_some() {
            Progress::Body
        } else if self.input.rest().is_empty() {
            Progress::Nothing
        } else {
            Progress::Head
        }
    }

    /// Says once whether the client has to be told to go on. Asked before waiting for more.
    pub(crate) fn take_continue(&mut self) -> bool {
        match &mut self.partial {
            Some(partial) => std::mem::take(&mut partial.wants_continue),
            None => false,
        }
    }

    fn head(&mut self, limits: &Limits) -> Result<Option<Head>, Refusal> {
        let bytes = self.input.rest();
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some(place) = self.scan.find(bytes)? else {
            if bytes.len() >= limits.head {
                return Err(Refusal::HEAD_TOO_LARGE);
            }
            return Ok(None);
        };
        if place.len() > limits.head {
            return Err(Refusal::HEAD_TOO_LARGE);
        }
        let head = Head::parse(&bytes[place.clone()], limits.headers)?;
        self.input.take(place.end);
        self.scan = Scan::default();
        Ok(Some(head))
    }

    fn body(&mut self, limits: &Limits) -> Result<Option<Incoming>, Refusal> {
        let Some(partial) = &mut self.partial else {
            return Ok(None);
        };
        let taken = partial.feed(self.input.rest(), limits)?;
        self.input.take(taken);
        if taken > 0 {
            partial.wants_continue = false;
        }
        if !partial.is_done() {
            return Ok(None);
        }
        let Some(partial) = self.partial.take() else {
            return Ok(None);
        };
        Ok(Some(assemble(partial.head, partial.body)))
    }
}

impl Partial {
    fn new(head: Head, limits: &Limits) -> Result<Self, Refusal> {
        let (body, rest) = match head.framing {
            Framing::Length(length) if length > limits.body as u64 => {
                return Err(Refusal::BODY_TOO_LARGE);
            }
            Framing::Length(length) => {
                let room = length.min(EARLY_ROOM) as usize;
                (Vec::with_capacity(room), Rest::Length(length as usize))
            }
            Framing::Chunked => (Vec::new(), Rest::Chunked(Chunked::new(limits.head))),
        };
        let wants_continue = head.expects_continue;
        Ok(Self {
            head,
            body,
            rest,
            wants_continue,
        })
    }

    fn feed(&mut self, input: &[u8], limits: &Limits) -> Result<usize, Refusal> {
        match &mut self.rest {
            Rest::Length(left) => {
                let take = input.len().min(*left);
                self.body.extend_from_slice(&input[..take]);
                *left -= take;
                Ok(take)
            }
            Rest::Chunked(chunked) => chunked.decode(input, &mut self.body, limits.body),
        }
    }

    fn is_done(&self) -> bool {
        match &self.rest {
            Rest::Length(left) => *left == 0,
            Rest::Chunked(chunked) => chunked.is_done(),
        }
    }
}

fn assemble(head: Head, body: Vec<u8>) -> Incoming {
    let terms = Terms {
        keep_alive: head.keep_alive,
        old: head.version == Version::HTTP_10,
        head_only: head.method == Method::HEAD,
    };
    let mut request = Request::new(body);
    *request.method_mut() = head.method;
    *request.uri_mut() = head.uri;
    *request.version_mut() = head.version;
    *request.headers_mut() = head.headers;
    (request, terms)
}

// The answers are for the tests with sockets.
#[cfg(test)]
#[path = "../../../tests/listener/rows.rs"]
#[allow(dead_code)]
mod rows;

#[cfg(test)]
mod tests {
    use super::rows::rows;
    use super::{Limits, Reader};

    const LIMITS: Limits = Limits {
        head: 64 * 1024,
        headers: 100,
        body: 4 * 1024 * 1024,
    };

    /// Reads bytes that come in pieces; returns what each request was, and how it ended.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
        let mut reader = Reader::default();
        let mut out = String::new();
        for piece in pieces {
            reader.input.push(piece);
            loop {
                match reader.next(&LIMITS) {
                    Ok(Some(request)) => out += &format!("{request:?}\n"),
                    Ok(None) => break,
                    Err(refusal) => return out + &format!("{refusal:?}"),
                }
            }
            reader.input.settle();
        }
        out + &format!("{:?}", reader.progress())
    }

    #[test]
    fn requests_do_not_depend_on_the_pieces_they_come_in() {
        for row in rows() {
            let input = &row.input[..];
            let whole = read([input]);
            assert_eq!(read(input.chunks(1)), whole, "{}", row.claim);
            for split in 1..input.len() {
                let (first, second) = input.split_at(split);
                assert_eq!(read([first, second]), whole, "{} at {split}", row.claim);
            }
        }
    }
}
