//! `digest`: a long computation on a thread that may block.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use smol_mcp::protocol::ToolAnnotations;
use smol_mcp::{Context, HandlerError, Structured, Tool};

use crate::root::{Entry, Root};
use crate::watch::Watch;

/// The signal is checked between two blocks.
const BLOCK: usize = 64 * 1024;

/// The digests of at most this many files are told.
const MOST_FILES: usize = 1000;

/// Time between two reports of progress.
const PERIOD: Duration = Duration::from_millis(100);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    path: String,
    bytes_per_second: Option<u32>,
}

#[derive(Serialize)]
struct Output {
    /// Of the names and digests of all files.
    digest: String,
    files: usize,
    bytes: u64,
    unreadable: usize,
    each: Vec<Digest>,
}

#[derive(Serialize)]
struct Digest {
    path: String,
    digest: String,
}

pub(crate) fn tool(root: Arc<Root>) -> Tool {
    Tool::blocking("digest", move |input, cx| digest(&root, input, cx))
        .description(format!(
            "Computes a checksum (64-bit FNV-1a) of all files below a path, and of the first {MOST_FILES} files each."
        ))
        .annotations(ToolAnnotations::default().read_only(true).open_world(false))
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "A file or directory; everything if left out" },
                "bytes_per_second": { "type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "Read no faster" },
            },
            "additionalProperties": false,
        }))
}

fn digest(root: &Root, input: Input, cx: Context) -> Result<Structured<Output>, HandlerError> {
    let _watch = Watch::new("digest", &cx);
    if input.bytes_per_second == Some(0) {
        return Err(HandlerError::public(
            "'bytes_per_second' must be at least 1.",
        ));
    }
    let files = root.walk(&input.path, cx.signal())?;
    let computation = Computation::new(cx, &files, input.bytes_per_second);
    computation.all(files).map(Structured)
}

/// The state of the computation.
struct Computation {
    cx: Context,
    total: u64,
    done: u64,
    rate: Option<u32>,
    started: Instant,
    reported: Option<Instant>,
    block: Vec<u8>,
}

impl Computation {
    fn new(cx: Context, files: &[Entry], rate: Option<u32>) -> Self {
        let total = files.iter().map(|file| file.bytes).sum();
        // A slow one reads small blocks, so that it shows ten times a second how far it is.
        let block = rate.map_or(BLOCK, |rate| BLOCK.min(rate as usize / 10).max(1));
        Self {
            cx,
            total,
            done: 0,
            rate,
            started: Instant::now(),
            reported: None,
            block: vec![0; block],
        }
    }

    fn all(mut self, files: Vec<Entry>) -> Result<Output, HandlerError> {
        let (mut all, mut each, mut unreadable) = (Fnv::new(), Vec::new(), 0);
        let count = files.len();
        for file in files {
            let Some(fnv) = self.one(&file)? else {
                unreadable += 1;
                continue;
            };
            all.update(file.name.as_bytes());
            all.update(&[0]);
            all.update(&fnv.0.to_be_bytes());
            if each.len() < MOST_FILES {
                each.push(Digest {
                    path: file.name,
                    digest: fnv.text(),
                });
            }
        }
        Ok(Output {
            digest: all.text(),
            files: count,
            bytes: self.done,
            unreadable,
            each,
        })
    }

    /// Computes the digest of one file; `None` if it cannot be read.
    fn one(&mut self, file: &Entry) -> Result<Option<Fnv>, HandlerError> {
        let Ok(mut open) = File::open(&file.path) else {
            return Ok(None);
        };
        let mut fnv = Fnv::new();
        loop {
            self.pause()?;
            let count = match open.read(&mut self.block) {
                Ok(0) => return Ok(Some(fnv)),
                Ok(count) => count,
                Err(_) => return Ok(None),
            };
            fnv.update(&self.block[..count]);
            self.done += count as u64;
            self.report(&file.name);
        }
    }

    /// Waits until the next block may be read, unless nobody waits for the result any more.
    fn pause(&self) -> Result<(), HandlerError> {
        let signal = self.cx.signal();
        let Some(rate) = self.rate else {
            return Ok(signal.check()?);
        };
        let due = Duration::from_secs_f64(self.done as f64 / f64::from(rate));
        Ok(signal.sleep_blocking(due.saturating_sub(self.started.elapsed()))?)
    }

    fn report(&mut self, name: &str) {
        if self
            .reported
            .is_none_or(|reported| reported.elapsed() >= PERIOD)
        {
            self.reported = Some(Instant::now());
            self.cx.progress(self.done, self.total, name);
        }
    }
}

/// The 64-bit FNV-1a hash: it shows changes, and is not secure.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn update(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
