//! The lines of a text file, in pieces of bounded size.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The most of a line that is held at a time, and the size of the buffer.
const PIECE: usize = 64 * 1024;

/// A zero byte among the first so many makes a file binary, as in git.
const SAMPLE: usize = 8000;

pub(crate) struct Pieces {
    reader: BufReader<File>,
    bytes: Vec<u8>,
    line: u64,
    /// How much of a piece is repeated in the next one of the same line.
    overlap: usize,
}

/// A line, or a part of a very long one.
pub(crate) struct Piece<'a> {
    /// Counted from 1.
    pub(crate) line: u64,
    /// With the line feed.
    pub(crate) bytes: &'a [u8],
}

impl Pieces {
    /// Opens a file; `None` if it is binary.
    ///
    /// A text that is not longer than the overlap is always in one piece as a whole.
    pub(crate) fn open(path: &Path, overlap: usize) -> io::Result<Option<Self>> {
        let mut reader = BufReader::with_capacity(PIECE, File::open(path)?);
        let start = reader.fill_buf()?;
        if start[..start.len().min(SAMPLE)].contains(&0) {
            return Ok(None);
        }
        let (bytes, line) = (Vec::new(), 0);
        Ok(Some(Self {
            reader,
            bytes,
            line,
            overlap,
        }))
    }

    /// Returns the next piece; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        if self.line == 0 || self.bytes.ends_with(b"\n") {
            self.bytes.clear();
            self.line += 1;
        } else {
            let repeated = self.bytes.len().saturating_sub(self.overlap);
            self.bytes.drain(..repeated);
        }
        let mut piece = self.reader.by_ref().take(PIECE as u64);
        let (count, line) = (piece.read_until(b'\n', &mut self.bytes)?, self.line);
        Ok((count > 0).then_some(Piece {
            line,
            bytes: &self.bytes,
        }))
    }
}
