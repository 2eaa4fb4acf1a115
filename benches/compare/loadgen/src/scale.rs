//! What a call costs while many others wait.
use std::io;
use std::time::Duration;

use crate::http::{self, Stream, Target};
use crate::misc::{begin, count, echo_once};
use crate::msg;
use crate::server::{Mark, Server};
use crate::stats::Obj;
use crate::stdio;
use crate::Opts;

/// Calls that wait, over all rounds, at the least: few of them cost too little to be measured.
const WAITING: usize = 2000;
const LIMIT: Duration = Duration::from_secs(120);

/// Lets `o.connections` calls wait at a time. Measures the processor time of a waiting call from its begin to its
/// cancellation, that of `o.samples` calls that are answered meanwhile, one at a time, and the memory of a waiting call.
pub fn run(o: &Opts, target: Option<&Target>, server: &mut Server) -> io::Result<String> {
    let n = o.connections;
    let rounds = (WAITING / n.max(1)).max(1);
    let mut next_id = 0u64;
    let mut one = begin(o, target, server, &mut next_id)?;
    std::thread::sleep(Duration::from_millis(200));
    let idle = server.usage();
    let mut busy = idle;
    let mut meanwhile = 0;
    for round in 0..rounds {
        let mut conns: Vec<Stream> = Vec::new();
        let first = next_id + 1;
        for _ in 0..n {
            next_id += 1;
            let m = msg::slow(o.proto, next_id, &next_id.to_string(), o.seconds, false);
            match target {
                Some(t) => {
                    // A client that has had its handshake needs no new one to call.
                    let session = one.as_ref().and_then(|(_, s)| s.as_deref());
                    let mut c = http::connect(&t.addr)?;
                    let post = t.post(&m, "tools/call", Some("slow"), session);
                    io::Write::write_all(&mut c, &post)?;
                    conns.push(c);
                }
                None => stdio::write_line(server.stdin.as_mut().expect("stdio"), &m)?,
            }
        }
        let last = next_id;
        all(
            count(server, n, LIMIT, |m| matches!(m, Mark::Started(_)))?.0,
            n,
            "started",
        )?;
        if round == 0 {
            std::thread::sleep(Duration::from_millis(200));
            busy = server.usage();
            for _ in 0..o.samples {
                echo_once(o, target, server, one.as_mut(), &mut next_id)?;
            }
            meanwhile = server.usage().cpu_ns - busy.cpu_ns;
        }
        match target {
            Some(_) => drop(conns),
            None => {
                for id in first..=last {
                    let stdin = server.stdin.as_mut().expect("stdio");
                    stdio::write_line(stdin, &msg::cancelled(id))?;
                }
            }
        }
        let told = count(server, n, LIMIT, |m| matches!(m, Mark::Cancelled(..)))?;
        all(told.0, n, "cancelled")?;
    }
    std::thread::sleep(Duration::from_millis(200));
    let spent = server.usage().cpu_ns - idle.cpu_ns - meanwhile;
    Ok(Obj::new()
        .int("waiting", n as u64)
        .num(
            "waiting_us_per_call",
            spent as f64 / 1e3 / (n * rounds).max(1) as f64,
        )
        .num(
            "meanwhile_us_per_call",
            meanwhile as f64 / 1e3 / o.samples.max(1) as f64,
        )
        .num(
            "bytes_per_call",
            busy.rss_kb.saturating_sub(idle.rss_kb) as f64 * 1024.0 / n.max(1) as f64,
        )
        .int("idle_threads", idle.threads)
        .int("threads", busy.threads)
        .finish())
}

fn all(seen: usize, of: usize, what: &str) -> io::Result<()> {
    if seen == of {
        return Ok(());
    }
    Err(io::Error::other(format!("{seen} of {of} calls {what}")))
}
