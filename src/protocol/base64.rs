//! Base64 of RFC 4648 section 4, strictly: the standard alphabet, with padding, one spelling per
//! value.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes, with padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let [a, b, c] = group.map(usize::from);
        let sextets = [
            a >> 2,
            (a & 3) << 4 | b >> 4,
            (b & 15) << 2 | c >> 6,
            c & 63,
        ];
        for (position, sextet) in sextets.into_iter().enumerate() {
            let letter = if position <= chunk.len() {
                ALPHABET[sextet]
            } else {
                b'='
            };
            text.push(char::from(letter));
        }
    }
    text
}

/// Decodes text, or returns `None` when it holds anything outside the alphabet (white space
/// included), lacks padding, or sets bits that the last group does not use.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if text.len() % 4 != 0 {
        return None;
    }
    let padding = text
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| **byte == b'=')
        .count();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text[..text.len() - padding].chunks(4) {
        let mut bits = 0;
        for byte in group {
            bits = bits << 6 | sextet(*byte)?;
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

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
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
    }
}
