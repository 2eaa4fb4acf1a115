//! What can be told of a message of which only the beginning is there.

use super::id::Id;

/// Finds the id of a message of which only the beginning is there.
pub(crate) fn id_in_prefix(prefix: &[u8]) -> Option<Id> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < prefix.len() {
        match prefix[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = string_end(prefix, at)?;
                let member = depth == 1 && &prefix[at..end] == br#""id""#;
                at = end;
                if let Some(value) = member
                    .then(|| prefix[at..].trim_ascii_start().strip_prefix(b":"))
                    .flatten()
                {
                    return leading_id(value.trim_ascii_start());
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Reads the id that a text begins with.
fn leading_id(text: &[u8]) -> Option<Id> {
    let end = match text.first()? {
        b'"' => string_end(text, 0)?,
        // A number that ends with the prefix may have lost its last digits.
        _ => text
            .iter()
            .position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'}'))?,
    };
    serde_json::from_str(std::str::from_utf8(&text[..end]).ok()?).ok()
}

/// Finds the byte after the string that begins at `start`.
pub(crate) fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
