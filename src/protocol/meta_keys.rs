//! What the keys of an author's metadata may be, and where in a result such metadata stands.

use serde_json::{Map, Value};

use super::content::Content;
use super::jsonrpc::excerpt;
use super::{Invalid, PromptResult, ReadResult, ResourceContents, ToolResult};

/// Checks the keys of an author's own metadata (MCP 2026-07-28, basic, `_meta`).
///
/// Prefixes that the protocol keeps to itself are let through: extensions of the protocol define keys with them, and a
/// gateway passes on what other servers wrote. What this server writes itself wins over such a key.
///
/// # Errors
///
/// When a key breaks the grammar. The error names the key.
pub(crate) fn check(meta: &Map<String, Value>) -> Result<(), Invalid> {
    for key in meta.keys() {
        if let Err(why) = check_key(key) {
            let key = excerpt(key);
            return Err(Invalid::new(format!("the key {key:?} of `_meta` {why}")));
        }
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), &'static str> {
    let key = key.as_bytes();
    let slash = key.iter().position(|byte| *byte == b'/');
    let name = match slash {
        Some(slash) => &key[slash + 1..],
        None => key,
    };
    let mut labels = key[..slash.unwrap_or_default()].split(|byte| *byte == b'.');
    if slash.is_some() && !labels.all(is_label) {
        return Err("has a prefix whose labels are not letters, digits and '-' in between");
    }
    if !name.is_empty() && !is_word(name, b"-_.") {
        return Err("has a name that is not letters and digits, with '-', '_' and '.' in between");
    }
    Ok(())
}

fn is_label(label: &[u8]) -> bool {
    label.first().is_some_and(u8::is_ascii_alphabetic) && is_word(label, b"-")
}

/// Tells whether a text is of letters and digits, with others in between.
fn is_word(text: &[u8], between: &[u8]) -> bool {
    let ends = [text.first(), text.last()];
    ends.iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || between.contains(byte))
}

impl ToolResult {
    pub(crate) fn check_meta(&self) -> Result<(), Invalid> {
        check(&self.meta)?;
        self.content.iter().try_for_each(Content::check_meta)
    }
}

impl ReadResult {
    pub(crate) fn check_meta(&self) -> Result<(), Invalid> {
        check(&self.meta)?;
        let contents = &self.contents;
        contents.iter().try_for_each(ResourceContents::check_meta)
    }
}

impl PromptResult {
    pub(crate) fn check_meta(&self) -> Result<(), Invalid> {
        check(&self.meta)?;
        let mut messages = self.messages.iter();
        messages.try_for_each(|message| message.content.check_meta())
    }
}

impl Content {
    fn check_meta(&self) -> Result<(), Invalid> {
        match self {
            Self::Text(text) => check(&text.meta),
            Self::Image(media) | Self::Audio(media) => check(&media.meta),
            Self::ResourceLink(resource) => check(&resource.meta),
            Self::Resource(embedded) => {
                check(&embedded.meta)?;
                embedded.resource.check_meta()
            }
        }
    }
}

impl ResourceContents {
    fn check_meta(&self) -> Result<(), Invalid> {
        check(&self.meta)
    }
}

#[cfg(test)]
mod tests {
    use super::check_key;

    #[test]
    fn keys_that_keep_to_the_grammar() {
        for key in [
            "",
            "a",
            "0",
            "a.b_c-d",
            "progressToken",
            "com.example/x",
            "ui/resourceUri",
            "com.example/",
            "com.example.mcp/x",
            "mcp/x",
            "modelcontextprotocol/x",
            "a1.b-2.c/1",
            "mcp.com/x",
            "io.modelcontextprotocol/related-task",
        ] {
            assert_eq!(check_key(key), Ok(()), "{key:?}");
        }
    }

    #[test]
    fn keys_that_break_the_grammar() {
        for key in [
            "-a",
            "a-",
            "_a",
            "a_",
            ".a",
            "a.",
            "a b",
            "é",
            "a/b/c",
            "/a",
            "1a/b",
            "-a/b",
            "a-/b",
            "a..b/c",
            ".a/b",
            "a./b",
            "a_b/c",
            "com.example/-x",
            "com.example/x ",
            "\u{0}",
        ] {
            assert!(check_key(key).is_err(), "{key:?}");
        }
    }
}
