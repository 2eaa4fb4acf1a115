//! Bytes that nobody guesses, from the operating system.

use std::io;

/// Fills an array with random bytes.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    use rustix::rand::{GetRandomFlags, getrandom};
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Fills an array with random bytes.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    use std::io::Read;
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Fills an array with bytes that follow from the random keys of the standard library's hash maps: 128 bits of the
/// operating system's for each thread, and the one source that the standard library has on every system.
#[cfg(not(unix))]
pub(crate) fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    use std::hash::{BuildHasher, RandomState};
    let state = RandomState::new();
    let words = (0_u64..).flat_map(|count| state.hash_one(count).to_ne_bytes());
    let mut bytes = [0; N];
    bytes
        .iter_mut()
        .zip(words)
        .for_each(|(byte, word)| *byte = word);
    Ok(bytes)
}
