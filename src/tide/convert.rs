//! Requests and responses between the `http` crate, which we speak, and `http-types`, which tide speaks.

use std::io;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use futures_lite::{AsyncBufRead, AsyncRead, AsyncReadExt, Stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Uri};
use tide::http as types;

use crate::Signal;
use crate::http::Body;

/// How much of a body of unknown size is read at once, and up to what size a body is sent as a whole.
const PIECE: usize = 16 * 1024;

/// The head of a request as it came. `http-types` cannot hold every header value that HTTP can.
pub(super) struct Original {
    method: http::Method,
    uri: Uri,
    headers: HeaderMap,
}

/// The methods that `http-types` knows. Its own parser does not mind the case, which HTTP does, and makes an error with a
/// backtrace of everything else, which costs the thread tens of milliseconds.
#[rustfmt::skip]
const METHODS: [types::Method; 39] = {
    use types::Method::*;
    [
        Post, Get, Delete, Put, Head, Options, Patch, Connect, Trace, Acl, BaselineControl, Bind, Checkin, Checkout,
        Copy, Label, Link, Lock, Merge, MkActivity, MkCalendar, MkCol, MkRedirectRef, MkWorkspace, Move, OrderPatch,
        Pri, PropFind, PropPatch, Rebind, Report, Search, Unbind, Uncheckout, Unlink, Unlock, Update,
        UpdateRedirectRef, VersionControl,
    ]
};

/// The body of one of our responses, on its way through tide to our listener.
struct Passed(Mutex<Option<Body>>);

/// A response without a body.
pub(super) fn status(code: u16) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// Brings a request of our listener into an app; the error is the status that answers it instead.
pub(super) fn request_in(
    request: Request<Vec<u8>>,
    signal: Signal,
    addresses: &Addresses,
) -> Result<types::Request, u16> {
    let (parts, body) = request.into_parts();
    let known = |method: &types::Method| method.as_ref() == parts.method.as_str();
    let method = METHODS.into_iter().find(known).ok_or(501_u16)?;
    let address = address(&parts.uri, &parts.headers);
    let url = addresses.parse(address).ok_or(400_u16)?;
    let mut request = types::Request::new(method, url);
    put(request.as_mut(), &parts.headers);
    if !body.is_empty() {
        request.set_body(body);
    }
    let extensions = request.ext_mut();
    extensions.insert(signal);
    extensions.insert(Original {
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
    });
    Ok(request)
}

/// Brings in the names and values that `http-types` can hold.
///
/// A value beyond ASCII stays in the original alone. It is looked for here, since an error of `http-types` takes a
/// backtrace.
fn put(into: &mut types::Headers, headers: &HeaderMap) {
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values = values.filter_map(|value| ascii(value.as_bytes()));
        for (at, value) in values.enumerate() {
            // The first one takes the place of what `http-types` has guessed.
            match at {
                0 => drop(into.insert(name.as_str(), value)),
                _ => into.append(name.as_str(), value),
            }
        }
    }
}

fn ascii(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.is_ascii())
}

/// Reads addresses, and knows the last one: most requests have the same, and reading it takes longer than all else here.
#[derive(Default)]
pub(super) struct Addresses(Mutex<Option<(String, types::Url)>>);

impl Addresses {
    fn parse(&self, address: String) -> Option<types::Url> {
        // Not waited for: what another thread holds is read anew.
        let mut known = self.0.try_lock().ok();
        match known.as_deref() {
            Some(Some((last, url))) if *last == address => return Some(url.clone()),
            _ => {}
        }
        let url = types::Url::parse(&address).ok()?;
        if let Some(known) = &mut known {
            **known = Some((address, url.clone()));
        }
        Some(url)
    }
}

fn address(uri: &Uri, headers: &HeaderMap) -> String {
    if uri.scheme().is_some() {
        return uri.to_string();
    }
    let host = headers
        .get(http::header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or("localhost");
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    ["http://", host, path].concat()
}

/// Takes a request out of an app. Of a body that is longer than `most` bytes one byte more is read: enough to refuse it.
pub(super) async fn request_out(
    request: &mut types::Request,
    original: Option<Original>,
    most: usize,
) -> Result<Request<Vec<u8>>, types::StatusCode> {
    // Before the body is taken: that changes the headers.
    let (method, uri, headers) = match original {
        Some(original) => (original.method, original.uri, original.headers),
        None => (
            http::Method::from_str(request.method().as_ref())
                .map_err(|_| types::StatusCode::NotImplemented)?,
            request.url().path().parse().unwrap_or_default(),
            take(request.as_ref()),
        ),
    };
    let taken = request.take_body();
    // What a client announces takes no memory before it comes.
    let length = taken.len().unwrap_or_default().min(PIECE);
    // Room for one byte more, by which the end is seen.
    let mut body = Vec::with_capacity(length + 1);
    // tide's stock listener would read without an end.
    let mut limited = taken.into_reader().take((most as u64).saturating_add(1));
    limited
        .read_to_end(&mut body)
        .await
        .map_err(|_| types::StatusCode::BadRequest)?;
    let mut translated = Request::new(body);
    *translated.method_mut() = method;
    *translated.uri_mut() = uri;
    *translated.headers_mut() = headers;
    Ok(translated)
}

/// Takes out the names and values.
fn take(from: &types::Headers) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, values) in from.iter() {
        for value in values {
            let name = HeaderName::from_bytes(name.as_str().as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value.as_str())) {
                headers.append(name, value);
            }
        }
    }
    headers
}

/// Brings one of our responses into an app. For our own listener the body goes past tide.
pub(super) fn response_in(response: Response<Body>, ours: bool) -> types::Response {
    let (parts, body) = response.into_parts();
    let code = types::StatusCode::try_from(parts.status.as_u16())
        .unwrap_or(types::StatusCode::InternalServerError);
    let mut response = types::Response::new(code);
    if ours {
        response.ext_mut().insert(Passed(Mutex::new(Some(body))));
    } else {
        match body.into_full() {
            Ok(bytes) => response.set_body(bytes),
            Err(body) => response.set_body(types::Body::from_reader(Reader::new(body), None)),
        }
    }
    put(response.as_mut(), &parts.headers);
    response
}

/// Takes a response out of an app.
pub(super) async fn response_out(mut response: types::Response) -> Response<Body> {
    let passed = response
        .ext()
        .get::<Passed>()
        .and_then(|passed| passed.0.lock().ok()?.take());
    let mut translated = status(response.status() as u16);
    *translated.headers_mut() = take(response.as_ref());
    let body = response.take_body();
    *translated.body_mut() = match passed.filter(|_| body.is_empty() == Some(true)) {
        Some(passed) => passed,
        // Also where a middleware has put another body into its place.
        None => body_out(body).await,
    };
    translated
}

async fn body_out(body: types::Body) -> Body {
    let length = body.len();
    let mut reader = body.into_reader();
    match length {
        Some(length) if length <= PIECE => {
            let mut bytes = Vec::with_capacity(length);
            match (&mut reader)
                .take(length as u64)
                .read_to_end(&mut bytes)
                .await
            {
                Ok(_) => Body::full(bytes),
                Err(err) => Body::stream(futures_lite::stream::iter([Err(err)])),
            }
        }
        Some(length) => Body::sized(length as u64, Pieces(reader)),
        None => Body::stream(Pieces(reader)),
    }
}

/// A reader as a stream of what there is.
struct Pieces(Box<dyn AsyncBufRead + Unpin + Send + Sync>);

impl Stream for Pieces {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut piece = vec![0; PIECE];
        let read = ready!(Pin::new(&mut self.0).poll_read(cx, &mut piece));
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(count) => {
                piece.truncate(count);
                Some(Ok(piece))
            }
            Err(err) => Some(Err(err)),
        })
    }
}

/// One of our bodies as a reader, for tide's stock listener.
struct Reader {
    /// `http-types` wants readers to be `Sync`; nobody shares this one.
    body: Mutex<Body>,
    piece: Vec<u8>,
    read: usize,
}

impl Reader {
    fn new(body: Body) -> Self {
        Self {
            body: Mutex::new(body),
            piece: Vec::new(),
            read: 0,
        }
    }
}

impl AsyncBufRead for Reader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        while this.read == this.piece.len() {
            let body = this
                .body
                .get_mut()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            match ready!(body.poll_piece(cx)) {
                None => return Poll::Ready(Ok(&[])),
                Some(piece) => (this.piece, this.read) = (piece?, 0),
            }
        }
        Poll::Ready(Ok(&this.piece[this.read..]))
    }

    fn consume(mut self: Pin<&mut Self>, count: usize) {
        self.read += count;
    }
}

impl AsyncRead for Reader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let piece = ready!(self.as_mut().poll_fill_buf(cx))?;
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        self.consume(count);
        Poll::Ready(Ok(count))
    }
}
