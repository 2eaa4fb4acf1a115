//! `search`: text in all files below a path, one file after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::ToolAnnotations;
use smol_mcp::{Context, HandlerError, Signal, Tool};

use crate::pieces::Pieces;
use crate::root::{Entry, Root};
use crate::watch::Watch;

const LONGEST_TEXT: usize = 1000;
const MOST_RESULTS: usize = 1000;

/// How many characters of a line are shown, and how many of them before the match.
const SHOWN: usize = 200;
const SHOWN_BEFORE: usize = 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    text: String,
    #[serde(default)]
    path: String,
    timeout_ms: Option<u64>,
    #[serde(default = "default_results")]
    max_results: usize,
}

fn default_results() -> usize {
    100
}

pub(crate) fn tool(root: Arc<Root>) -> Tool {
    Tool::new("search", move |input, cx| search(root.clone(), input, cx))
        .description("Finds a text, letter by letter, in all files below a path. Binary files are skipped.")
        .annotations(ToolAnnotations::default().read_only(true).open_world(false))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "description": "Part of one line" },
                "path": { "type": "string", "description": "A file or directory; everything if left out" },
                "timeout_ms": { "type": "integer", "minimum": 0, "description": "Give up after so many milliseconds" },
                "max_results": { "type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": default_results() },
            },
            "required": ["text"],
            "additionalProperties": false,
        }))
}

async fn search(root: Arc<Root>, input: Input, cx: Context) -> Result<String, HandlerError> {
    let _watch = Watch::new("search", &cx);
    input.check()?;
    // Fires when nobody waits any more, or when the time that the client gives is over.
    let limit = cx.signal().any(input.timeout_ms.map(Duration::from_millis));
    let mut found = Found::new(&input);
    match found.search(root, input.path, &limit, &cx).await {
        Err(err) if err.is_aborted() && !cx.signal().is_aborted() => {
            Err(HandlerError::public(found.timed_out(input.timeout_ms)))
        }
        outcome => outcome.map(|()| found.report()),
    }
}

impl Input {
    fn check(&self) -> Result<(), HandlerError> {
        if self.text.is_empty() || self.text.len() > LONGEST_TEXT || self.text.contains('\n') {
            let text = format!("'text' must be 1 to {LONGEST_TEXT} bytes of one line.");
            return Err(HandlerError::public(text));
        }
        if !(1..=MOST_RESULTS).contains(&self.max_results) {
            let text = format!("'max_results' must be 1 to {MOST_RESULTS}.");
            return Err(HandlerError::public(text));
        }
        Ok(())
    }
}

/// The matches, and the state of the search.
struct Found {
    text: Arc<str>,
    most: usize,
    lines: Vec<String>,
    files: usize,
    searched: usize,
    skipped: usize,
}

impl Found {
    fn new(input: &Input) -> Self {
        let (text, most) = (input.text.as_str().into(), input.max_results);
        Self {
            text,
            most,
            lines: Vec::new(),
            files: 0,
            searched: 0,
            skipped: 0,
        }
    }

    async fn search(
        &mut self,
        root: Arc<Root>,
        path: String,
        limit: &Signal,
        cx: &Context,
    ) -> Result<(), HandlerError> {
        let files = blocking(limit, move |limit| root.walk(&path, limit)).await?;
        self.files = files.len();
        for (index, file) in files.into_iter().enumerate() {
            if self.lines.len() == self.most {
                break;
            }
            cx.progress(index, self.files, &file.name);
            self.search_file(file, limit).await?;
        }
        Ok(())
    }

    async fn search_file(&mut self, file: Entry, limit: &Signal) -> Result<(), HandlerError> {
        let (text, most) = (self.text.clone(), self.most - self.lines.len());
        let found = blocking(limit, move |limit| {
            let lines = lines_with(&text, &file.path, most, limit)?;
            Ok(lines.map(|lines| {
                lines
                    .into_iter()
                    .map(move |line| format!("{}:{line}", file.name))
            }))
        });
        match found.await? {
            Some(lines) => self.lines.extend(lines),
            None => self.skipped += 1,
        }
        self.searched += 1;
        Ok(())
    }

    fn timed_out(&self, timeout_ms: Option<u64>) -> String {
        let (ms, found) = (timeout_ms.unwrap_or_default(), self.lines.len());
        let (files, searched) = (self.files, self.searched);
        let far = match files {
            0 => "the files were still being listed".to_owned(),
            _ => format!("{searched} of {files} files were searched, {found} lines found"),
        };
        format!(
            "The search timed out after {ms} ms: {far}. Give a longer 'timeout_ms' or a narrower 'path'."
        )
    }

    fn report(&self) -> String {
        let (found, searched, files, skipped) =
            (self.lines.len(), self.searched, self.files, self.skipped);
        let mut report: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
        if found == self.most {
            report +=
                &format!("Stopped after {found} lines, with {searched} of {files} files searched.");
        } else {
            report += &format!(
                "Found {found} lines in {files} files; {skipped} of them binary or not readable."
            );
        }
        report
    }
}

/// Runs work on a thread that may block, until it ends or the signal fires.
///
/// The caller is told at once when the signal fires. The thread is not interrupted: the work checks the signal, too, and stops
/// soon after.
async fn blocking<T: Send + 'static>(
    signal: &Signal,
    work: impl FnOnce(&Signal) -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let watched = signal.clone();
    signal.run(smol::unblock(move || work(&watched))).await?
}

/// Finds at most `most` lines that contain the text; `None` if the file is binary or cannot be read. Blocks.
fn lines_with(
    text: &str,
    path: &Path,
    most: usize,
    limit: &Signal,
) -> Result<Option<Vec<String>>, HandlerError> {
    let Ok(Some(mut pieces)) = Pieces::open(path, text.len() + 4 * (SHOWN_BEFORE + 1)) else {
        return Ok(None);
    };
    let (mut lines, mut last) = (Vec::new(), 0);
    while lines.len() < most {
        limit.check()?;
        let Ok(Some(piece)) = pieces.next() else {
            break;
        };
        let line = String::from_utf8_lossy(piece.bytes);
        if let Some(at) = line.find(text).filter(|_| piece.line != last) {
            last = piece.line;
            lines.push(format!("{last}: {}", excerpt(&line, at)));
        }
    }
    Ok(Some(lines))
}

/// Shows the part of a line around the match.
fn excerpt(line: &str, at: usize) -> &str {
    let before = line[..at].char_indices().rev().nth(SHOWN_BEFORE - 1);
    let shown = &line[before.map_or(0, |(start, _)| start)..];
    let after = shown.char_indices().nth(SHOWN);
    shown[..after.map_or(shown.len(), |(end, _)| end)].trim()
}
