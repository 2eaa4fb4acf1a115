//! What the fuzz targets call; built under `cfg(fuzzing)` alone.

use super::reader::{Limits, Reader};

/// One outcome of reading: a request as text, or the status of a refusal.
pub type Outcome = Result<String, u16>;

/// Reads requests from `bytes`, which arrive in pieces of at most `piece` bytes.
pub fn read(bytes: &[u8], piece: usize) -> Vec<Outcome> {
    let limits = Limits {
        head: 4096,
        headers: 20,
        body: 4096,
    };
    let mut reader = Reader::default();
    let mut outcomes = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        reader.input.push(piece);
        loop {
            match reader.next(&limits) {
                Ok(Some((request, terms))) => outcomes.push(Ok(format!("{request:?} {terms:?}"))),
                Ok(None) => break,
                Err(refusal) => {
                    outcomes.push(Err(refusal.status));
                    return outcomes;
                }
            }
        }
        reader.input.settle();
    }
    outcomes
}
