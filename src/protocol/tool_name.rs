//! What a tool may be called.

use crate::protocol::Invalid;

/// How long a name may be.
const MAX_LENGTH: usize = 128;

/// Checks the name of a tool: 1 to 128 out of `A–Z a–z 0–9 _ - .` (MCP 2026-07-28, server/tools,
/// tool names).
///
/// # Errors
///
/// When the name is empty, too long, or holds any other character; the error quotes it.
pub(crate) fn check(name: &str) -> Result<(), Invalid> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() {
        return Err(Invalid::new("the tool name is empty"));
    }
    if let Some(other) = name.chars().find(|c| !is_allowed(*c)) {
        return Err(Invalid::new(format!(
            "the tool name {name:?} holds {other:?}, not only letters, digits, '_', '-' and '.'"
        )));
    }
    if name.len() > MAX_LENGTH {
        return Err(Invalid::new(format!(
            "the tool name {name:?} is longer than {MAX_LENGTH} characters"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_the_edges() {
        for name in [
            "a",
            "getUser",
            "DATA_EXPORT_v2",
            "admin.tools.list",
            "-",
            "9",
            &"x".repeat(128),
        ] {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
        for name in [
            "",
            " ",
            "a b",
            "a,b",
            "a/b",
            "größe",
            "a\n",
            &"x".repeat(129),
        ] {
            assert!(check(name).is_err(), "{name:?}");
        }
    }
}
