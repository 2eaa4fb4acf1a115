//! Responses that are all there.

use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::Body;
use super::accepts::Accepts;
use super::headers::add;
use super::sse;
use crate::era::{self, Refusal};
use crate::protocol::jsonrpc::{Id, RpcError};
use crate::signal::Reason;

/// A response in words, for what is no matter of JSON-RPC.
pub(super) fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::full(text));
    *response.status_mut() = status;
    add(
        response.headers_mut(),
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// A response to a method that the path does not know, with those that it knows.
pub(super) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
    let headers = response.headers_mut();
    add(headers, ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A response with one JSON-RPC message, or with nothing.
pub(super) fn json(status: u16, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::full(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static("application/json");
    add(response.headers_mut(), CONTENT_TYPE, kind);
    response
}

/// A response with an error. Out of line, since most requests are served.
#[cold]
#[inline(never)]
pub(super) fn refused(id: Option<&Id>, refusal: Refusal) -> Response<Body> {
    json(refusal.status, era::refuse(id, &refusal.error))
}

/// A response with an error that names no request.
#[cold]
#[inline(never)]
pub(super) fn anonymous(status: u16, error: RpcError) -> Response<Body> {
    refused(None, Refusal::new(status, error))
}

/// An accepted message that has no answer.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// A response with one message, in the form that the client takes. An error with a status of its own is always JSON.
pub(super) fn whole(accepts: Accepts, status: u16, body: Vec<u8>) -> Response<Body> {
    match accepts.json || status != 200 {
        true => json(status, body),
        false => sse::response(Body::full(sse::event(&body))),
    }
}

/// The response to a request that its bearer has given up: it is likely that nobody reads it.
pub(super) fn aborted() -> Response<Body> {
    plain(StatusCode::SERVICE_UNAVAILABLE, "aborted\n")
}

/// The response to a request whose answer nobody wants, or that is not served to its end, for this reason.
pub(super) fn unanswered(reason: Option<Reason>) -> Response<Body> {
    match reason {
        Some(Reason::ServerClosed) => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "the server is closing\n")
        }
        Some(Reason::Cancelled(_) | Reason::Closed) => sse::response(Body::empty()),
        _ => aborted(),
    }
}
