//! A whole connection: it comes to an end, and whatever it says is HTTP. The first byte says where the rest is split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smol_mcp::http::__fuzz::converse;

fuzz_target!(|bytes: &[u8]| {
    let Some((&split, bytes)) = bytes.split_first() else {
        return;
    };
    // More would not fit into the buffer of a socket that nobody reads yet.
    let bytes = &bytes[..bytes.len().min(16 * 1024)];
    let answer = converse(bytes, split.into());
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 "));
});
