//! The server under test as a child process.
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::{http, sys};

#[derive(Debug, Clone)]
pub enum Mark {
    Listening(String),
    Started(String),
    Cancelled(String, u64),
    Finished(String),
    Eof,
}

pub struct Server {
    pub child: Child,
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub marks: Receiver<Mark>,
    /// The Unix socket that it listens on; nobody else takes it away.
    socket: Option<String>,
    /// CLOCK_MONOTONIC just before the spawn.
    pub spawned_at: u64,
}

#[derive(Clone, Copy, Default, Debug)]
pub struct Usage {
    pub rss_kb: u64,
    pub pss_kb: u64,
    pub threads: u64,
    pub cpu_ns: u64,
}

impl Server {
    pub fn spawn(cmd: &str, cpu: Option<usize>, stdio: bool) -> io::Result<Self> {
        let mut words = cmd.split_whitespace();
        let program = words
            .next()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "empty --server-cmd"))?;
        let mut c = Command::new(program);
        c.args(words).stderr(Stdio::piped());
        if stdio {
            c.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            c.stdin(Stdio::null()).stdout(Stdio::null());
        }
        if let Some(cpu) = cpu {
            // SAFETY: only async-signal-safe work (one system call) happens here.
            unsafe { c.pre_exec(move || sys::pin(cpu)) };
        }
        let spawned_at = sys::mono_ns();
        let mut child = c.spawn()?;
        let stderr = child.stderr.take().expect("piped");
        let (tx, marks) = channel();
        std::thread::spawn(move || {
            let mut r = BufReader::with_capacity(1 << 16, stderr);
            let mut line = String::new();
            let verbose = std::env::var_os("LOADGEN_VERBOSE").is_some();
            loop {
                line.clear();
                match r.read_line(&mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
                if verbose {
                    eprint!("server: {line}");
                }
                let mut w = line.split_whitespace();
                let m = match (w.next(), w.next(), w.next()) {
                    (Some("LISTENING"), Some(a), _) => Mark::Listening(a.into()),
                    (Some("STARTED"), Some(t), _) => Mark::Started(t.into()),
                    (Some("FINISHED"), Some(t), _) => Mark::Finished(t.into()),
                    (Some("CANCELLED"), Some(t), Some(ns)) => {
                        Mark::Cancelled(t.into(), ns.parse().unwrap_or(0))
                    }
                    _ => continue,
                };
                if tx.send(m).is_err() {
                    break;
                }
            }
            let _ = tx.send(Mark::Eof);
        });
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            marks,
            socket: None,
            spawned_at,
        })
    }

    pub fn wait_listening(&mut self) -> io::Result<String> {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            match self.next_mark(end)? {
                Some(Mark::Listening(a)) => {
                    self.socket = a.strip_prefix(http::UNIX).map(Into::into);
                    return Ok(a);
                }
                Some(Mark::Eof) | None => {
                    return Err(io::Error::other("the server never printed LISTENING"))
                }
                _ => {}
            }
        }
    }

    /// The next mark, or `None` when `deadline` passes first.
    pub fn next_mark(&self, deadline: Instant) -> io::Result<Option<Mark>> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.marks.recv_timeout(left) {
            Ok(m) => Ok(Some(m)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Ok(Some(Mark::Eof)),
        }
    }

    pub fn usage(&self) -> Usage {
        usage(self.child.id())
    }

    pub fn stop(&mut self) {
        self.stdin.take();
        sys::kill(self.child.id(), libc::SIGKILL);
        let _ = self.child.wait();
        if let Some(path) = self.socket.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            self.stop();
        }
    }
}

pub fn usage(pid: u32) -> Usage {
    let mut u = Usage::default();
    let field = |text: &str, key: &str| -> u64 {
        text.lines()
            .find(|l| l.starts_with(key))
            .and_then(|l| l.split_whitespace().nth(1))
            .and_then(|v| v.parse().ok())
            .unwrap_or(0)
    };
    if let Ok(s) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        u.rss_kb = field(&s, "VmRSS:");
        u.threads = field(&s, "Threads:");
    }
    if let Ok(s) = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        u.pss_kb = field(&s, "Pss:");
    }
    if let Ok(dir) = std::fs::read_dir(format!("/proc/{pid}/task")) {
        for t in dir.flatten() {
            if let Ok(s) = std::fs::read_to_string(t.path().join("schedstat")) {
                u.cpu_ns += s
                    .split_whitespace()
                    .next()
                    .and_then(|v| v.parse().ok())
                    .unwrap_or(0);
            }
        }
    }
    u
}
