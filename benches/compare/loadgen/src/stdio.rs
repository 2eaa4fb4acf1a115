//! Blocking helpers for the stdio transport.
use std::io::{self, Read, Write};

use crate::msg;
use crate::server::Server;

/// Reads one line without buffering past it.
pub fn read_line(r: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut b = [0u8; 1];
    loop {
        if r.read(&mut b)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if b[0] == b'\n' {
            return Ok(line);
        }
        line.push(b[0]);
    }
}

pub fn write_line(w: &mut impl Write, s: &str) -> io::Result<()> {
    let mut v = Vec::with_capacity(s.len() + 1);
    v.extend_from_slice(s.as_bytes());
    v.push(b'\n');
    w.write_all(&v)?;
    w.flush()
}

pub fn handshake(server: &mut Server, next_id: &mut u64) -> io::Result<()> {
    *next_id += 1;
    let stdin = server.stdin.as_mut().expect("stdio server");
    write_line(stdin, &msg::initialize(*next_id))?;
    let l = read_line(server.stdout.as_mut().expect("stdio server"))?;
    if !msg::is_success(&l) {
        return Err(io::Error::other(format!(
            "initialize: {}",
            String::from_utf8_lossy(&l)
        )));
    }
    write_line(
        server.stdin.as_mut().expect("stdio server"),
        msg::INITIALIZED,
    )
}
