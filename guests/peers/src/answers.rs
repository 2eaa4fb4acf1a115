//! What a server answers to some bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::random::Random;
use crate::seen;

/// The answers to what one connection has carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// What was seen of each request that was served.
    pub seen: Vec<String>,
    /// The status and the text of the answer that was no service's, if there was one.
    pub refusal: Option<(u16, String)>,
    /// Whether the server has closed in time.
    pub ended: bool,
}

/// Sends bytes in pieces, says that no more will come, and reads the answers to the end.
pub fn exchange(address: SocketAddr, input: &[u8], pieces: usize, random: &mut Random) -> Answers {
    let mut client = TcpStream::connect(address).unwrap();
    client.set_nodelay(true).unwrap();
    let limit = Some(Duration::from_secs(20));
    client.set_read_timeout(limit).unwrap();
    let mut splits: Vec<_> = (1..pieces).map(|_| random.below(input.len() + 1)).collect();
    splits.extend([0, input.len()]);
    splits.sort_unstable();
    for split in splits.windows(2) {
        // A server that has refused the beginning may have closed.
        let _ = client.write_all(&input[split[0]..split[1]]);
        std::thread::yield_now();
    }
    let _ = client.shutdown(Shutdown::Write);
    let mut output = Vec::new();
    // A reset is an end too.
    let read_all = client.read_to_end(&mut output);
    let late = read_all.is_err_and(|err| err.kind() == ErrorKind::WouldBlock);
    read(&output, !late)
}

/// Takes the answers apart. None of them is chunked.
fn read(mut output: &[u8], ended: bool) -> Answers {
    let (mut seen, mut refusal) = (Vec::new(), None);
    while let Some(end) = output.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        output = &output[end + 4..];
        let status: u16 = head[9..12].parse().unwrap();
        if status == 100 {
            continue;
        }
        if let Some(told) = value(&head, seen::HEADER) {
            assert_eq!(value(&head, "content-length").unwrap_or("0"), "0");
            seen.push(told.to_owned());
            continue;
        }
        assert!(refusal.is_none(), "two refusals: {head}");
        let text = String::from_utf8_lossy(output).trim_end().to_owned();
        refusal = Some((status, text));
        output = &[];
    }
    assert!(output.is_empty(), "half an answer: {output:?}");
    Answers {
        seen,
        refusal,
        ended,
    }
}

fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split("\r\n").find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}
