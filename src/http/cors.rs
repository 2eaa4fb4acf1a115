//! CORS: what browsers want to hear before they let a page of another origin read an answer.
//!
//! It is no protection of the server: [`origin`](super::origin) is.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
};
use http::{HeaderMap, Method, Response, StatusCode};

use super::Body;
use super::headers::add;

/// What is to be done about it where it is switched on.
pub(super) struct Cors {
    pub(super) preflight: fn(&Method, &HeaderMap) -> Option<Response<Body>>,
    pub(super) open: fn(&mut Response<Body>, HeaderValue),
}

pub(super) static CORS: Cors = Cors { preflight, open };

/// Answers the question of a browser whether it may send a request; `None` if this is no such question.
fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
    let asks = *method == Method::OPTIONS
        && headers.get(&ORIGIN).is_some()
        && headers.get(&ACCESS_CONTROL_REQUEST_METHOD).is_some();
    if !asks {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let answers = response.headers_mut();
    add(
        answers,
        ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    // The parameters of tools make names that no list knows beforehand.
    if let Some(names) = headers.get(&ACCESS_CONTROL_REQUEST_HEADERS) {
        add(answers, ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
    }
    add(
        answers,
        ACCESS_CONTROL_MAX_AGE,
        HeaderValue::from_static("86400"),
    );
    Some(response)
}

/// Lets the page read a response. Its origin has been checked.
fn open(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    add(headers, ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    add(
        headers,
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate"),
    );
    add(headers, VARY, HeaderValue::from_static("Origin"));
}
