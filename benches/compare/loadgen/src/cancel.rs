//! How long a handler takes to learn that nobody waits for it any more.
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::http::{self, Target};
use crate::msg::{self, Proto};
use crate::server::{Mark, Server};
use crate::stats::{percentile, Obj};
use crate::stdio;
use crate::sys;
use crate::Opts;

#[derive(Default)]
pub struct Sample {
    lat: Vec<u64>,
    pub missed: u64,
    /// Answers sent for calls that had been cancelled (stdio only).
    pub late_answers: u64,
    /// CPUs kept busy by neither side of the measurement.
    pub foreign: f64,
}

impl Sample {
    pub fn median_us(&self) -> f64 {
        percentile(&self.lat, 50.0) as f64 / 1e3
    }
    pub fn p99_us(&self) -> f64 {
        percentile(&self.lat, 99.0) as f64 / 1e3
    }
    pub fn json(&self) -> String {
        Obj::new()
            .int("n", self.lat.len() as u64)
            .num("p50_us", self.median_us())
            .num("p90_us", percentile(&self.lat, 90.0) as f64 / 1e3)
            .num("p99_us", self.p99_us())
            .num("max_us", self.lat.last().copied().unwrap_or(0) as f64 / 1e3)
            .int("missed", self.missed)
            .int("late_answers", self.late_answers)
            .num("foreign_cpus", self.foreign)
            .finish()
    }
}

fn wait_started(server: &Server, tag: &str) -> io::Result<()> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match server.next_mark(end)? {
            Some(Mark::Started(t)) if t == tag => return Ok(()),
            Some(Mark::Eof) | None => return Err(io::Error::other("no STARTED mark")),
            _ => {}
        }
    }
}

fn wait_cancelled(server: &Server, tag: &str, limit: Duration) -> io::Result<Option<u64>> {
    let end = Instant::now() + limit;
    loop {
        match server.next_mark(end)? {
            Some(Mark::Cancelled(t, at)) if t == tag => return Ok(Some(at)),
            Some(Mark::Finished(t)) if t == tag => return Ok(None),
            Some(Mark::Eof) => return Err(io::Error::other("server gone")),
            None => return Ok(None),
            _ => {}
        }
    }
}

/// A server that never notices would cost `limit` a sample; give up early.
const GIVE_UP_AFTER: u64 = 5;

pub fn run(o: &Opts, target: Option<&Target>, server: &mut Server) -> io::Result<Sample> {
    let (m0, c0, s0, t0) = (
        sys::others_and_us_ns(),
        sys::own_cpu_ns(),
        server.usage().cpu_ns,
        sys::mono_ns(),
    );
    let mut s = measure(o, target, server)?;
    let ours = sys::own_cpu_ns() - c0 + server.usage().cpu_ns.saturating_sub(s0);
    let busy = sys::others_and_us_ns().saturating_sub(m0);
    s.foreign = busy.saturating_sub(ours) as f64 / (sys::mono_ns() - t0).max(1) as f64;
    Ok(s)
}

fn measure(o: &Opts, target: Option<&Target>, server: &mut Server) -> io::Result<Sample> {
    let mut s = Sample::default();
    let mut next_id = 0u64;
    let limit = Duration::from_secs_f64(o.seconds + 2.0);
    let settle = Duration::from_micros(o.settle_us);
    if target.is_none() && o.proto == Proto::Legacy {
        stdio::handshake(server, &mut next_id)?;
    }
    for _ in 0..o.samples {
        let t0;
        let tag;
        match target {
            None => {
                next_id += 1;
                tag = next_id.to_string();
                let id = next_id;
                let call = msg::slow(o.proto, id, &tag, o.seconds, false);
                stdio::write_line(server.stdin.as_mut().expect("stdio"), &call)?;
                wait_started(server, &tag)?;
                std::thread::sleep(settle);
                let note = msg::cancelled(id);
                t0 = sys::mono_ns();
                stdio::write_line(server.stdin.as_mut().expect("stdio"), &note)?;
            }
            Some(t) => {
                let (mut c, session) = http::open(t, &mut next_id)?;
                next_id += 1;
                tag = next_id.to_string();
                let id = next_id;
                let session = session.as_deref();
                let call = msg::slow(o.proto, id, &tag, o.seconds, o.after_head);
                let mut bytes = t.post(&call, "tools/call", Some("slow"), session);
                for _ in 0..o.pipelined {
                    next_id += 1;
                    let echo = msg::echo(o.proto, next_id, "next");
                    bytes.extend(t.post(&echo, "tools/call", Some("echo"), session));
                }
                c.write_all(&bytes)?;
                wait_started(server, &tag)?;
                if o.after_head {
                    c.wait_for_head(Duration::from_secs(5))?;
                }
                if o.by_notify {
                    let mut other = http::connect(&t.addr)?;
                    let note = t.post(
                        &msg::cancelled(id),
                        "notifications/cancelled",
                        None,
                        session,
                    );
                    std::thread::sleep(settle);
                    t0 = sys::mono_ns();
                    other.write_all(&note)?;
                    let seen = wait_cancelled(server, &tag, limit)?;
                    record(&mut s, t0, seen);
                    drop((c, other));
                    if s.missed >= GIVE_UP_AFTER && s.lat.is_empty() {
                        break;
                    }
                    continue;
                }
                std::thread::sleep(settle);
                t0 = sys::mono_ns();
                match o.close.as_str() {
                    "rst" => {
                        sys::linger_zero(c.as_raw_fd());
                        drop(c);
                    }
                    "half" => {
                        c.half_close()?;
                        let seen = wait_cancelled(server, &tag, limit)?;
                        record(&mut s, t0, seen);
                        if s.missed >= GIVE_UP_AFTER && s.lat.is_empty() {
                            break;
                        }
                        continue;
                    }
                    _ => drop(c),
                }
            }
        }
        let seen = wait_cancelled(server, &tag, limit)?;
        record(&mut s, t0, seen);
        if s.missed >= GIVE_UP_AFTER && s.lat.is_empty() {
            break;
        }
    }
    if target.is_none() {
        // Nothing may be answered after its cancellation: read what is there.
        std::thread::sleep(Duration::from_millis(50));
        let out = server.stdout.as_mut().expect("stdio");
        sys::set_nonblocking(out.as_raw_fd())?;
        let mut all = Vec::new();
        let _ = io::Read::read_to_end(out, &mut all);
        s.late_answers = all.iter().filter(|b| **b == b'\n').count() as u64;
    }
    s.lat.sort_unstable();
    Ok(s)
}

fn record(s: &mut Sample, t0: u64, seen: Option<u64>) {
    match seen {
        Some(at) => s.lat.push(at.saturating_sub(t0)),
        None => s.missed += 1,
    }
}
