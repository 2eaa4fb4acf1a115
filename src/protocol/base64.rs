//! Base64 of RFC 4648, strictly: one spelling per value. That of section 4, with padding, and that of section 5 for places
//! where `+`, `/` and `=` mean something else, without.

/// The letters, and whether there is padding.
struct Spelling {
    letters: &'static [u8; 64],
    padded: bool,
}

const STANDARD: &Spelling = &Spelling {
    letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    padded: true,
};

const URL: &Spelling = &Spelling {
    letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    padded: false,
};

/// Encodes bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    encode_as(STANDARD, bytes)
}

/// Encodes bytes for addresses, without padding.
pub(crate) fn encode_url(bytes: &[u8]) -> String {
    encode_as(URL, bytes)
}

fn encode_as(spelling: &Spelling, bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let mut group = [18, 12, 6, 0].map(|shift| spelling.letters[(bits >> shift & 63) as usize]);
        let (letters, padding) = group.split_at_mut(chunk.len() + 1);
        text.extend_from_slice(letters);
        if spelling.padded {
            padding.fill(b'=');
            text.extend_from_slice(padding);
        }
    }
    String::from_utf8(text).expect("letters are ASCII")
}

/// Decodes text, or returns `None` when it holds anything outside the alphabet (white space
/// included), lacks padding, or sets bits that the last group does not use.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    decode_as(STANDARD, text.as_bytes())
}

/// Decodes text that [`encode_url`] has written.
pub(crate) fn decode_url(text: &str) -> Option<Vec<u8>> {
    decode_as(URL, text.as_bytes())
}

fn decode_as(spelling: &Spelling, text: &[u8]) -> Option<Vec<u8>> {
    let padded = spelling.padded;
    let whole = match padded {
        true => text.len() % 4 == 0,
        false => text.len() % 4 != 1,
    };
    if !whole {
        return None;
    }
    let mut padding = 0;
    while padded && padding < 2 && text[..text.len() - padding].ends_with(b"=") {
        padding += 1;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text[..text.len() - padding].chunks(4) {
        let mut bits = 0;
        for byte in group {
            bits = bits << 6 | sextet(*byte, spelling.letters)?;
        }
        // Moves a short last group to where the bytes of a full one would stand.
        bits <<= 6 * (4 - group.len());
        let [_, decoded @ ..] = bits.to_be_bytes();
        let (decoded, unused) = decoded.split_at(group.len() - 1);
        if unused.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(decoded);
    }
    Some(bytes)
}

fn sextet(byte: u8, letters: &[u8; 64]) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        _ if byte == letters[62] => 62,
        _ if byte == letters[63] => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648 section 10.
    const VECTORS: [(&str, &str); 7] = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];

    #[test]
    fn test_vectors_both_ways() {
        for (plain, text) in VECTORS {
            assert_eq!(encode(plain.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(plain.as_bytes()));
        }
    }

    #[test]
    fn every_byte_survives() {
        let bytes: Vec<u8> = (0..=255).collect();
        for len in 0..bytes.len() {
            assert_eq!(
                decode(&encode(&bytes[len..])).as_deref(),
                Some(&bytes[len..])
            );
            assert_eq!(
                decode_url(&encode_url(&bytes[len..])).as_deref(),
                Some(&bytes[len..])
            );
        }
    }

    #[test]
    fn anything_but_the_one_spelling_is_refused() {
        for text in [
            "Zg", "Zg=", "Zm8", "Zm9v=", "Zm9v====", "=", "==", "====", "Z===", "Zh==", "Zm9=",
            "Zg==Zg==", "Zm=v", "Zm 9v", "Zm9v\n", "Zm-_", "Zm9é", " Zg==",
        ] {
            assert_eq!(decode(text), None, "{text:?}");
        }
        for text in [
            "Zg==", "Zm8=", "Z", "Zm9vY", "Zh", "Zm9", "Zm+/", "Zm9é", "Zm-_\n",
        ] {
            assert_eq!(decode_url(text), None, "{text:?}");
        }
    }
}
