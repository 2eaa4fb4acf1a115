//! `read`: lines of one text file.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::{Content, ToolAnnotations};
use smol_mcp::{Context, HandlerError, Tool};

use crate::pieces::Pieces;
use crate::root::{Root, unreadable};
use crate::watch::Watch;

/// The most that is returned at once.
const MOST_BYTES: usize = 256 * 1024;

/// Stands for the rest of a line, of which the first piece is enough.
const CUT: &[u8] = "…\n".as_bytes();

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    path: String,
    #[serde(default = "first")]
    first_line: u64,
    #[serde(default = "last")]
    last_line: u64,
}

fn first() -> u64 {
    1
}

fn last() -> u64 {
    u64::MAX
}

pub(crate) fn tool(root: Arc<Root>) -> Tool {
    Tool::blocking("read", move |input, cx| read(&root, &input, &cx))
        .description("Returns lines of a text file, all of them if no range is given. What is long comes in parts.")
        .annotations(ToolAnnotations::default().read_only(true).open_world(false))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string" },
                "first_line": { "type": "integer", "minimum": 1, "default": 1 },
                "last_line": { "type": "integer", "minimum": 1, "description": "The last line of the file if left out" },
            },
            "required": ["path"],
            "additionalProperties": false,
        }))
}

/// Reads the lines, and says what is missing.
fn read(root: &Root, input: &Input, cx: &Context) -> Result<Vec<Content>, HandlerError> {
    let _watch = Watch::new("read", cx);
    if input.first_line == 0 || input.last_line < input.first_line {
        return Err(HandlerError::public(
            "Lines count from 1, and 'last_line' is not before 'first_line'.",
        ));
    }
    let mut pieces = open(root, &input.path)?;
    let (mut bytes, mut last, mut notes) = (Vec::new(), 0, Vec::new());
    while let Some(piece) = pieces.next().map_err(|err| unreadable(&input.path, &err))? {
        cx.signal().check()?;
        let line = piece.line;
        if line > input.last_line {
            break;
        }
        let first_piece = line != last;
        last = line;
        if line < input.first_line {
            continue;
        }
        if first_piece {
            if bytes.len() + piece.bytes.len() > MOST_BYTES {
                notes.push(format!("There is more: go on with 'first_line' {line}."));
                break;
            }
            bytes.extend_from_slice(piece.bytes);
        } else if !bytes.ends_with(CUT) {
            bytes.extend_from_slice(CUT);
            notes.push(format!("Line {line} is longer than what is shown of it."));
        }
    }
    if last < input.first_line && input.first_line > 1 {
        let text = format!("{:?} has only {last} lines.", input.path);
        return Err(HandlerError::public(text));
    }
    let text = Content::text(String::from_utf8_lossy(&bytes));
    Ok([text]
        .into_iter()
        .chain(notes.into_iter().map(Content::text))
        .collect())
}

fn open(root: &Root, path: &str) -> Result<Pieces, HandlerError> {
    let found = root.find(path)?;
    if !found.is_file() {
        return Err(HandlerError::public(format!("{path:?} is not a file.")));
    }
    match Pieces::open(&found, 0) {
        Ok(Some(pieces)) => Ok(pieces),
        Ok(None) => Err(HandlerError::public(format!("{path:?} is a binary file."))),
        Err(err) => Err(unreadable(path, &err)),
    }
}
