//! Headers of messages that are being made.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

/// Adds a header.
///
/// Whatever makes a message adds headers here, and none needs to replace one: so a program is linked once with the code of
/// the map that does this, and with nothing that replaces.
#[inline(never)]
pub(crate) fn add(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    headers.append(name, value);
}
