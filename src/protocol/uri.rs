//! The text of addresses (RFC 3986): what may stand in it, and how it is encoded.

/// Tells whether a text is the scheme of an address (RFC 3986, section 3.1).
pub(crate) fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Tells whether a text holds only what RFC 3986 allows in an address, every `%` with its two
/// digits.
pub(crate) fn is_uri_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes
            .get(at + 1..at + 3)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)),
        _ => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(byte),
    })
}

/// Spells percent-encodings in upper case. Takes text of [`is_uri_text`].
pub(super) fn with_upper_triplets(text: &str) -> String {
    let mut upper = text.to_owned();
    for (at, _) in text.match_indices('%') {
        if let Some(triplet) = upper.get_mut(at..at + 3) {
            triplet.make_ascii_uppercase();
        }
    }
    upper
}

/// Decodes percent-encodings, or returns `None` when the bytes are not UTF-8. Takes text of
/// [`is_uri_text`].
pub(super) fn decode(text: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => u8::try_from(digit(bytes.next()?)? * 16 + digit(bytes.next()?)?).ok()?,
            _ => byte,
        });
    }
    String::from_utf8(decoded).ok()
}
