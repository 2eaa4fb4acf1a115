//! Memory under load, start-up and shutdown.
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use crate::http::{self, Stream, Target};
use crate::msg::{self, Proto};
use crate::server::{Mark, Server, Usage};
use crate::stats::Obj;
use crate::stdio;
use crate::sys;
use crate::Opts;

/// RSS with `o.connections` slow calls in flight, each on its own connection
/// (HTTP), or on the one pipe (stdio).
pub fn memory(o: &Opts, target: Option<&Target>, server: &mut Server) -> io::Result<String> {
    let mut next_id = 0u64;
    drop(begin(o, target, server, &mut next_id)?);
    std::thread::sleep(Duration::from_millis(500));
    let idle = server.usage();
    let n = o.connections;
    let mut conns = Vec::with_capacity(n);
    for _ in 0..n {
        match target {
            Some(t) => {
                let (mut c, s) = http::open(t, &mut next_id)?;
                next_id += 1;
                let m = msg::slow(o.proto, next_id, &next_id.to_string(), o.seconds, false);
                c.write_all(&t.post(&m, "tools/call", Some("slow"), s.as_deref()))?;
                conns.push(c);
            }
            None => {
                next_id += 1;
                let m = msg::slow(o.proto, next_id, &next_id.to_string(), o.seconds, false);
                stdio::write_line(server.stdin.as_mut().expect("stdio"), &m)?;
            }
        }
    }
    let started = count(server, n, Duration::from_secs(30), |m| {
        matches!(m, Mark::Started(_))
    })?
    .0;
    std::thread::sleep(Duration::from_millis(1000));
    let busy = server.usage();
    let t0 = sys::mono_ns();
    let last = if target.is_some() {
        drop(conns);
        count(server, n, Duration::from_secs(15), |m| {
            matches!(m, Mark::Cancelled(..))
        })?
    } else {
        (0, 0)
    };
    std::thread::sleep(Duration::from_millis(1000));
    let after = server.usage();
    Ok(Obj::new()
        .int("calls", n as u64)
        .int("started", started as u64)
        .raw("idle", usage_json(&idle))
        .raw("busy", usage_json(&busy))
        .raw("after", usage_json(&after))
        .num(
            "bytes_per_call",
            (busy.rss_kb.saturating_sub(idle.rss_kb)) as f64 * 1024.0 / n.max(1) as f64,
        )
        .int("cancelled_on_close", last.0 as u64)
        .num("all_cancelled_ms", last.1.saturating_sub(t0) as f64 / 1e6)
        .finish())
}

/// Shakes hands where that is the protocol, and has one call answered, so that lazily made state is not billed to what
/// comes after it. Returns the connection (HTTP).
pub fn begin(
    o: &Opts,
    target: Option<&Target>,
    server: &mut Server,
    next_id: &mut u64,
) -> io::Result<Option<(Stream, Option<String>)>> {
    if target.is_none() && o.proto == Proto::Legacy {
        stdio::handshake(server, next_id)?;
    }
    let mut one = match target {
        Some(t) => Some(http::open(t, next_id)?),
        None => None,
    };
    echo_once(o, target, server, one.as_mut(), next_id)?;
    Ok(one)
}

/// One call that is answered, on a connection that stays.
pub fn echo_once(
    o: &Opts,
    target: Option<&Target>,
    server: &mut Server,
    connection: Option<&mut (Stream, Option<String>)>,
    next_id: &mut u64,
) -> io::Result<()> {
    *next_id += 1;
    let m = msg::echo(o.proto, *next_id, "x");
    let answer = match (target, connection) {
        (Some(t), Some((c, session))) => {
            let post = t.post(&m, "tools/call", Some("echo"), session.as_deref());
            http::exchange(c, &post)?.body
        }
        _ => {
            stdio::write_line(server.stdin.as_mut().expect("stdio"), &m)?;
            stdio::read_line(server.stdout.as_mut().expect("stdio"))?
        }
    };
    if msg::is_success(&answer) && msg::response_id(&answer) == Some(*next_id) {
        return Ok(());
    }
    Err(io::Error::other(
        String::from_utf8_lossy(&answer).into_owned(),
    ))
}

fn usage_json(u: &Usage) -> String {
    Obj::new()
        .int("rss_kb", u.rss_kb)
        .int("pss_kb", u.pss_kb)
        .int("threads", u.threads)
        .finish()
}

/// Counts marks until `n` came or `limit` passed; also the stamp of the last one.
pub fn count(
    server: &Server,
    n: usize,
    limit: Duration,
    want: impl Fn(&Mark) -> bool,
) -> io::Result<(usize, u64)> {
    let end = Instant::now() + limit;
    let (mut got, mut last) = (0, 0);
    while got < n {
        match server.next_mark(end)? {
            Some(m) if want(&m) => {
                got += 1;
                if let Mark::Cancelled(_, at) = m {
                    last = last.max(at);
                }
            }
            Some(Mark::Eof) | None => break,
            _ => {}
        }
    }
    Ok((got, last))
}

/// Spawn to the last byte of the first answer, in microseconds.
pub fn startup(o: &Opts) -> io::Result<(f64, Usage)> {
    let mut server = Server::spawn(&o.server_cmd, o.server_cpu, o.stdio)?;
    let mut id = 0;
    if o.stdio {
        let first = match o.proto {
            Proto::Modern => msg::echo(o.proto, 1, "x"),
            Proto::Legacy => msg::initialize(1),
        };
        stdio::write_line(server.stdin.as_mut().expect("stdio"), &first)?;
        let l = stdio::read_line(server.stdout.as_mut().expect("stdio"))?;
        if !msg::is_success(&l) {
            return Err(io::Error::other(String::from_utf8_lossy(&l).into_owned()));
        }
    } else {
        let addr = server.wait_listening()?;
        let t = o.target(addr);
        match o.proto {
            Proto::Modern => {
                let (mut c, s) = http::open(&t, &mut id)?;
                let m = msg::echo(o.proto, 1, "x");
                let r = http::exchange(
                    &mut c,
                    &t.post(&m, "tools/call", Some("echo"), s.as_deref()),
                )?;
                if !msg::is_success(&r.body) {
                    return Err(io::Error::other(
                        String::from_utf8_lossy(&r.body).into_owned(),
                    ));
                }
            }
            Proto::Legacy => {
                let mut c = http::connect(&t.addr)?;
                let r = http::exchange(
                    &mut c,
                    &t.post(&msg::initialize(1), "initialize", None, None),
                )?;
                if !msg::is_success(&r.body) {
                    return Err(io::Error::other(
                        String::from_utf8_lossy(&r.body).into_owned(),
                    ));
                }
            }
        }
    }
    let us = (sys::mono_ns() - server.spawned_at) as f64 / 1e3;
    std::thread::sleep(Duration::from_millis(200));
    let u = server.usage();
    server.stop();
    Ok((us, u))
}

/// With `o.connections` slow calls in flight: end the input (`eof`) or send
/// SIGTERM (`term`), then watch the handlers and the process go.
pub fn shutdown(o: &Opts) -> io::Result<String> {
    let mut server = Server::spawn(&o.server_cmd, o.server_cpu, o.stdio)?;
    let mut next_id = 0u64;
    let n = o.connections;
    let mut conns = Vec::new();
    if o.stdio {
        if o.proto == Proto::Legacy {
            stdio::handshake(&mut server, &mut next_id)?;
        }
        for _ in 0..n {
            next_id += 1;
            let m = msg::slow(o.proto, next_id, &next_id.to_string(), o.seconds, false);
            stdio::write_line(server.stdin.as_mut().expect("stdio"), &m)?;
        }
        if n == 0 {
            next_id += 1;
            let m = msg::echo(o.proto, next_id, "x");
            stdio::write_line(server.stdin.as_mut().expect("stdio"), &m)?;
            stdio::read_line(server.stdout.as_mut().expect("stdio"))?;
        }
        let mut out = server.stdout.take().expect("stdio");
        std::thread::spawn(move || {
            let mut v = Vec::new();
            let _ = out.read_to_end(&mut v);
        });
    } else {
        let addr = server.wait_listening()?;
        let t = o.target(addr);
        for _ in 0..n {
            let (mut c, s) = http::open(&t, &mut next_id)?;
            next_id += 1;
            let m = msg::slow(o.proto, next_id, &next_id.to_string(), o.seconds, false);
            c.write_all(&t.post(&m, "tools/call", Some("slow"), s.as_deref()))?;
            conns.push(c);
        }
    }
    count(&server, n, Duration::from_secs(10), |m| {
        matches!(m, Mark::Started(_))
    })?;
    std::thread::sleep(Duration::from_millis(50));
    let t0 = sys::mono_ns();
    if o.how == "term" {
        sys::kill(server.child.id(), libc::SIGTERM);
    } else {
        server.stdin.take();
    }
    let end = Instant::now() + Duration::from_secs(20);
    let mut exit_ms = f64::NAN;
    while Instant::now() < end {
        if server.child.try_wait()?.is_some() {
            exit_ms = (sys::mono_ns() - t0) as f64 / 1e6;
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    let (mut seen, mut first, mut last) = (0u64, u64::MAX, 0u64);
    let drain = Instant::now() + Duration::from_millis(200);
    while let Some(m) = server.next_mark(drain)? {
        match m {
            Mark::Cancelled(_, at) => {
                seen += 1;
                first = first.min(at);
                last = last.max(at);
            }
            Mark::Eof => break,
            _ => {}
        }
    }
    let ms = |at: u64| {
        if seen == 0 {
            f64::NAN
        } else {
            at.saturating_sub(t0) as f64 / 1e6
        }
    };
    Ok(Obj::new()
        .str("how", &o.how)
        .int("in_flight", n as u64)
        .int("handlers_told", seen)
        .num("first_told_ms", ms(first))
        .num("last_told_ms", ms(last))
        .num("exit_ms", exit_ms)
        .finish())
}
