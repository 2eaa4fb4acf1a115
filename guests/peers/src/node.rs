//! Node.js's server, whose parser (llhttp) shares nothing with ours.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A Node.js process. It ends when it is dropped, at the latest when this process ends.
pub struct Node {
    pub address: SocketAddr,
    child: Child,
}

impl Node {
    /// Starts it, if it is installed.
    pub fn start() -> Option<Self> {
        let child = Command::new("node")
            .args(["--input-type=module", "-e", include_str!("node.mjs")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match child {
            Err(err) if err.kind() == ErrorKind::NotFound => return None,
            child => child.unwrap(),
        };
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let port = line.trim_end().strip_prefix("LISTENING ");
        let port: u16 = port.expect("a port").parse().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        Some(Self { address, child })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
