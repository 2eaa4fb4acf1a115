//! The head and chunk parsers: nothing panics, and what is read does not depend on the pieces it comes in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smol_mcp::http::__fuzz::read;

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes, usize::MAX);
    for piece in [1, 2, 7] {
        assert_eq!(read(bytes, piece), whole, "in pieces of {piece}");
    }
});
