//! Throughput and latency of `tools/call echo`.
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;

use crate::http::{self, Response, Target};
use crate::msg::{self, Proto};
use crate::server::Server;
use crate::stats::{percentile, Obj};
use crate::stdio;
use crate::sys::{self, Epoll};
use crate::Opts;

pub struct Sample {
    pub rps: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    pub errors: u64,
    pub reconnects: u64,
    /// Server CPU time per answered call.
    pub server_cpu_us: f64,
    pub client_busy: f64,
    pub rss_kb: u64,
    pub threads: u64,
    pub sse: bool,
    /// CPUs kept busy by neither side of the measurement.
    pub foreign: f64,
}

impl Sample {
    pub fn json(&self) -> String {
        Obj::new()
            .num("rps", self.rps)
            .num("p50_us", self.p50_us)
            .num("p99_us", self.p99_us)
            .num("max_us", self.max_us)
            .num("server_cpu_us_per_call", self.server_cpu_us)
            .num("client_busy", self.client_busy)
            .int("errors", self.errors)
            .int("reconnects", self.reconnects)
            .int("rss_kb", self.rss_kb)
            .int("threads", self.threads)
            .num("foreign_cpus", self.foreign)
            .raw("sse", self.sse.to_string())
            .finish()
    }
}

/// Collects completions between the end of the warm-up and the end of the run.
struct Window {
    from: u64,
    to: u64,
    /// At the first counted answer: server CPU, own CPU, machine CPU, clock.
    started: Option<(u64, u64, u64, u64)>,
    lat: Vec<u64>,
}

impl Window {
    fn new(o: &Opts) -> Self {
        let now = sys::mono_ns();
        let from = now + (o.warmup_s * 1e9) as u64;
        Self {
            from,
            to: from + (o.duration_s * 1e9) as u64,
            started: None,
            lat: Vec::with_capacity(1 << 20),
        }
    }
    fn done(&mut self, now: u64, sent: u64, server: Option<&Server>) {
        if now >= self.from && now < self.to {
            if self.started.is_none() {
                self.started = Some((
                    server.map_or(0, |s| s.usage().cpu_ns),
                    sys::own_cpu_ns(),
                    sys::others_and_us_ns(),
                    now,
                ));
            }
            if sent >= self.from {
                self.lat.push(now - sent);
            }
        }
    }
    fn finish(
        mut self,
        server: Option<&Server>,
        errors: u64,
        reconnects: u64,
        sse: bool,
    ) -> Sample {
        let end = sys::mono_ns();
        let (s0, c0, m0, t0) = self.started.unwrap_or((0, 0, 0, end));
        let usage = server.map(|s| s.usage()).unwrap_or_default();
        let own = sys::own_cpu_ns().saturating_sub(c0);
        let theirs = usage.cpu_ns.saturating_sub(s0);
        let machine = sys::others_and_us_ns().saturating_sub(m0);
        let span = end.saturating_sub(t0).max(1) as f64;
        let wall = (self.to - self.from) as f64;
        self.lat.sort_unstable();
        let n = self.lat.len().max(1) as f64;
        Sample {
            rps: self.lat.len() as f64 / (wall / 1e9),
            p50_us: percentile(&self.lat, 50.0) as f64 / 1e3,
            p99_us: percentile(&self.lat, 99.0) as f64 / 1e3,
            max_us: self.lat.last().copied().unwrap_or(0) as f64 / 1e3,
            errors,
            reconnects,
            server_cpu_us: theirs as f64 / n / 1e3,
            client_busy: own as f64 / span,
            foreign: if server.is_some() {
                machine.saturating_sub(own + theirs) as f64 / span
            } else {
                f64::NAN
            },
            rss_kb: usage.rss_kb,
            threads: usage.threads,
            sse,
        }
    }
}

struct Conn {
    stream: http::Stream,
    session: Option<String>,
    out: Vec<u8>,
    pos: usize,
    resp: Response,
    id: u64,
    sent: u64,
    writing: bool,
}

pub fn http(o: &Opts, t: &Target, server: Option<&Server>) -> io::Result<Sample> {
    let ep = Epoll::new()?;
    let mut next_id = 0u64;
    let mut conns = Vec::with_capacity(o.connections);
    let payload = "x".repeat(o.payload);
    for i in 0..o.connections {
        let (stream, session) = http::open(t, &mut next_id)?;
        stream.set_nonblocking(true)?;
        ep.add(stream.as_raw_fd(), i as u64, false)?;
        conns.push(Conn {
            stream,
            session,
            out: vec![],
            pos: 0,
            resp: Response::default(),
            id: 0,
            sent: 0,
            writing: false,
        });
    }
    let (mut errors, mut reconnects, mut sse) = (0u64, 0u64, false);
    let mut win = Window::new(o);
    for i in 0..conns.len() {
        send(&mut conns[i], t, &mut next_id, &payload, &ep, i as u64)?;
    }
    let mut ready = Vec::with_capacity(256);
    let mut buf = vec![0u8; 1 << 16];
    loop {
        if sys::mono_ns() >= win.to {
            break;
        }
        ready.clear();
        ep.wait(&mut ready, 50)?;
        for &i in &ready {
            let c = &mut conns[i as usize];
            if c.writing {
                flush(c, &ep, i)?;
            }
            let mut whole = false;
            let mut closed = false;
            match c.stream.read(&mut buf) {
                Ok(0) => {
                    closed = true;
                    whole = c.resp.eof();
                }
                Ok(n) => whole = c.resp.feed(&buf[..n])?,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == ErrorKind::ConnectionReset => closed = true,
                Err(e) => return Err(e),
            }
            if !whole && !closed {
                continue;
            }
            let now = sys::mono_ns();
            if whole {
                let ok = c.resp.status == 200
                    && msg::is_success(&c.resp.body)
                    && msg::response_id(&c.resp.body) == Some(c.id);
                sse |= c.resp.sse;
                if ok {
                    win.done(now, c.sent, server);
                } else {
                    errors += 1;
                    if errors == 1 {
                        eprintln!(
                            "first bad answer: {} {}",
                            c.resp.status,
                            String::from_utf8_lossy(&c.resp.body)
                        );
                    }
                }
            } else {
                errors += 1;
            }
            if closed || c.resp.close {
                reconnects += 1;
                let s = http::connect(&t.addr)?;
                s.set_nonblocking(true)?;
                ep.add(s.as_raw_fd(), i, false)?;
                c.stream = s;
            }
            send(c, t, &mut next_id, &payload, &ep, i)?;
        }
    }
    Ok(win.finish(server, errors, reconnects, sse))
}

fn send(
    c: &mut Conn,
    t: &Target,
    next_id: &mut u64,
    payload: &str,
    ep: &Epoll,
    i: u64,
) -> io::Result<()> {
    *next_id += 1;
    c.id = *next_id;
    c.out = t.post(
        &msg::echo(t.proto, c.id, payload),
        "tools/call",
        Some("echo"),
        c.session.as_deref(),
    );
    c.pos = 0;
    c.resp.reset();
    c.sent = sys::mono_ns();
    flush(c, ep, i)
}

fn flush(c: &mut Conn, ep: &Epoll, i: u64) -> io::Result<()> {
    while c.pos < c.out.len() {
        match c.stream.write(&c.out[c.pos..]) {
            Ok(n) => c.pos += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                if !c.writing {
                    c.writing = true;
                    ep.modify(c.stream.as_raw_fd(), i, true)?;
                }
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
    if c.writing {
        c.writing = false;
        ep.modify(c.stream.as_raw_fd(), i, false)?;
    }
    Ok(())
}

const SLOTS: usize = 1 << 16;

pub fn stdio(o: &Opts, server: &mut Server) -> io::Result<Sample> {
    let mut next_id = 0u64;
    if o.proto == Proto::Legacy {
        stdio::handshake(server, &mut next_id)?;
    }
    let mut stdin = server.stdin.take().expect("stdio server");
    let mut stdout = server.stdout.take().expect("stdio server");
    sys::set_nonblocking(stdin.as_raw_fd())?;
    sys::set_nonblocking(stdout.as_raw_fd())?;
    let ep = Epoll::new()?;
    ep.add(stdout.as_raw_fd(), 0, false)?;
    let payload = "x".repeat(o.payload);
    let mut sent_at = vec![0u64; SLOTS];
    let mut out: Vec<u8> = Vec::new();
    let mut pos = 0usize;
    let mut waiting = false;
    let mut errors = 0u64;
    let mut inbuf: Vec<u8> = Vec::new();
    let mut buf = vec![0u8; 1 << 16];
    let mut ready = Vec::new();
    let mut to_send = o.inflight;
    let mut win = Window::new(o);
    loop {
        if sys::mono_ns() >= win.to {
            break;
        }
        for _ in 0..std::mem::take(&mut to_send) {
            next_id += 1;
            sent_at[next_id as usize % SLOTS] = sys::mono_ns();
            out.extend_from_slice(msg::echo(o.proto, next_id, &payload).as_bytes());
            out.push(b'\n');
        }
        while pos < out.len() {
            match stdin.write(&out[pos..]) {
                Ok(n) => pos += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        if pos == out.len() {
            out.clear();
            pos = 0;
            if waiting {
                // Pipe ends stay registered as write-ready; drop the interest by
                // registering the read end only.
                ep.modify(stdin.as_raw_fd(), 1, false)?;
                waiting = false;
            }
        } else if !waiting {
            if ep.modify(stdin.as_raw_fd(), 1, true).is_err() {
                ep.add(stdin.as_raw_fd(), 1, true)?;
            }
            waiting = true;
        }
        ready.clear();
        ep.wait(&mut ready, 50)?;
        if !ready.contains(&0) {
            continue;
        }
        let n = match stdout.read(&mut buf) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => continue,
            Err(e) => return Err(e),
        };
        inbuf.extend_from_slice(&buf[..n]);
        let now = sys::mono_ns();
        let mut from = 0;
        while let Some(i) = inbuf[from..].iter().position(|b| *b == b'\n') {
            let line = &inbuf[from..from + i];
            from += i + 1;
            match msg::response_id(line) {
                Some(id) if msg::is_success(line) => {
                    win.done(now, sent_at[id as usize % SLOTS], Some(server));
                }
                _ => {
                    errors += 1;
                    if errors == 1 {
                        eprintln!("first bad answer: {}", String::from_utf8_lossy(line));
                    }
                }
            }
            to_send += 1;
        }
        inbuf.drain(..from);
    }
    Ok(win.finish(Some(server), errors, 0, false))
}
