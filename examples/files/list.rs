//! `list`: what is in one directory.

use std::fs::{self, DirEntry};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::ToolAnnotations;
use smol_mcp::{Context, HandlerError, Tool};

use crate::root::{Root, unreadable};
use crate::watch::Watch;

const MOST_ENTRIES: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    path: String,
}

pub(crate) fn tool(root: Arc<Root>) -> Tool {
    Tool::blocking("list", move |input, cx| list(&root, input, &cx))
        .description("Lists a directory: 'name/' is a directory, 'name@' a link, and files have their size in bytes.")
        .annotations(ToolAnnotations::default().read_only(true).open_world(false))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The served directory itself if left out" },
            },
            "additionalProperties": false,
        }))
}

fn list(root: &Root, input: Input, cx: &Context) -> Result<String, HandlerError> {
    let _watch = Watch::new("list", cx);
    let path = input.path.as_str();
    let found = root.find(path)?;
    if !found.is_dir() {
        return Err(HandlerError::public(format!(
            "{path:?} is not a directory."
        )));
    }
    let mut lines = Vec::new();
    for entry in fs::read_dir(found).map_err(|err| unreadable(path, &err))? {
        cx.signal().check()?;
        lines.extend(entry.ok().and_then(|entry| describe(&entry)));
    }
    lines.sort_unstable();
    let more = lines.len().saturating_sub(MOST_ENTRIES);
    lines.truncate(MOST_ENTRIES);
    if more > 0 {
        lines.push(format!("… and {more} more"));
    }
    Ok(lines.join("\n"))
}

/// Describes an entry; `None` if it is gone by now.
fn describe(entry: &DirEntry) -> Option<String> {
    let (name, metadata) = (entry.file_name(), entry.metadata().ok()?);
    let name = name.to_string_lossy();
    Some(match metadata.file_type() {
        kind if kind.is_dir() => format!("{name}/"),
        kind if kind.is_symlink() => format!("{name}@"),
        _ => format!("{name} {}", metadata.len()),
    })
}
