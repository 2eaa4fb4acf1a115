//! Neutral meter for MCP servers. See ../README.md for the commands.
mod cancel;
mod http;
mod misc;
mod msg;
mod roundtrip;
mod scale;
mod server;
mod spin;
mod stats;
mod stdio;
mod sys;

use std::io;

use http::Target;
use msg::Proto;
use server::Server;
use stats::{array, median, min_max, Obj};

pub struct Opts {
    pub bench: String,
    pub stdio: bool,
    pub proto: Proto,
    pub server_cmd: String,
    pub addr: Option<String>,
    pub path: String,
    pub accept: String,
    pub server_cpu: Option<usize>,
    pub client_cpu: Option<usize>,
    pub connections: usize,
    pub inflight: usize,
    pub payload: usize,
    pub warmup_s: f64,
    pub duration_s: f64,
    pub runs: usize,
    pub samples: usize,
    pub seconds: f64,
    pub settle_us: u64,
    pub by_notify: bool,
    pub close: String,
    pub how: String,
    /// Hang up after the head of the response has come, which a message of the call's has begun.
    pub after_head: bool,
    /// So many further requests are sent together with the one that is given up.
    pub pipelined: usize,
    /// Runs during which others kept more CPUs busy than this are repeated.
    pub max_foreign: f64,
    pub max_tries: usize,
    pub spin: bool,
    pub label: String,
}

const USAGE: &str = "loadgen <roundtrip|cancel|memory|scale|startup|shutdown> --transport stdio|http --proto modern|legacy
  --server-cmd \"program args\"   spawned for each run; an HTTP server prints `LISTENING ip:port` (or unix:path) on stderr
  --addr ip:port|unix:path       HTTP only, instead of --server-cmd (roundtrip)
  --path /mcp  --accept \"application/json, text/event-stream\"
  --server-cpu N --client-cpu N  pin the two sides
  --connections N                HTTP keep-alive connections; calls in flight for memory, scale and shutdown
  --inflight N                   stdio: requests kept outstanding
  --payload BYTES  --warmup-s S  --duration-s S  --runs N  --label TEXT
  --max-foreign CPUS (0.1)       repeat a run during which other processes used more than this
  --max-tries N (40)             ... at most so often in all; then the quietest runs count
  --spin yes                     keep the CPUs from halting (SCHED_IDLE spinners), for 1-in-flight figures
  cancel:   --samples N --by close|notify --close fin|rst|half --seconds S --settle-us U
            --after start|head (of the response)  --pipelined N (requests behind the call)
  shutdown: --how eof|term";

impl Opts {
    fn parse() -> Result<Self, String> {
        let mut o = Opts {
            bench: String::new(),
            stdio: false,
            proto: Proto::Modern,
            server_cmd: String::new(),
            addr: None,
            path: "/mcp".into(),
            accept: "application/json, text/event-stream".into(),
            server_cpu: None,
            client_cpu: None,
            connections: 1,
            inflight: 1,
            payload: 16,
            warmup_s: 1.0,
            duration_s: 4.0,
            runs: 5,
            samples: 200,
            seconds: 10.0,
            settle_us: 2000,
            by_notify: false,
            close: "fin".into(),
            how: "eof".into(),
            after_head: false,
            pipelined: 0,
            max_foreign: 0.1,
            max_tries: 40,
            spin: false,
            label: String::new(),
        };
        let mut a = std::env::args().skip(1);
        o.bench = a.next().ok_or(USAGE)?;
        let num = |v: String| v.parse::<f64>().map_err(|e| format!("{v}: {e}"));
        while let Some(k) = a.next() {
            let v = a.next().ok_or_else(|| format!("{k} needs a value"))?;
            match k.as_str() {
                "--transport" => o.stdio = v == "stdio",
                "--proto" => {
                    o.proto = match v.as_str() {
                        "modern" => Proto::Modern,
                        "legacy" => Proto::Legacy,
                        _ => return Err(format!("--proto {v}?")),
                    }
                }
                "--server-cmd" => o.server_cmd = v,
                "--addr" => o.addr = Some(v),
                "--path" => o.path = v,
                "--accept" => o.accept = v,
                "--server-cpu" => o.server_cpu = Some(num(v)? as usize),
                "--client-cpu" => o.client_cpu = Some(num(v)? as usize),
                "--connections" => o.connections = num(v)? as usize,
                "--inflight" => o.inflight = num(v)? as usize,
                "--payload" => o.payload = num(v)? as usize,
                "--warmup-s" => o.warmup_s = num(v)?,
                "--duration-s" => o.duration_s = num(v)?,
                "--runs" => o.runs = num(v)? as usize,
                "--samples" => o.samples = num(v)? as usize,
                "--seconds" => o.seconds = num(v)?,
                "--settle-us" => o.settle_us = num(v)? as u64,
                "--by" => o.by_notify = v == "notify",
                "--close" => o.close = v,
                "--how" => o.how = v,
                "--after" => o.after_head = v == "head",
                "--pipelined" => o.pipelined = num(v)? as usize,
                "--max-foreign" => o.max_foreign = num(v)?,
                "--spin" => o.spin = v == "yes",
                "--max-tries" => o.max_tries = num(v)? as usize,
                "--label" => o.label = v,
                _ => return Err(format!("{k}?\n{USAGE}")),
            }
        }
        if o.server_cmd.is_empty() && o.addr.is_none() {
            return Err(format!("--server-cmd is missing\n{USAGE}"));
        }
        Ok(o)
    }

    pub fn target(&self, addr: String) -> Target {
        Target {
            addr,
            path: self.path.clone(),
            accept: self.accept.clone(),
            proto: self.proto,
        }
    }

    /// The server for one run, and where to reach it when it speaks HTTP.
    fn start(&self) -> io::Result<(Option<Server>, Option<Target>)> {
        if let Some(a) = &self.addr {
            return Ok((None, Some(self.target(a.clone()))));
        }
        let mut s = Server::spawn(&self.server_cmd, self.server_cpu, self.stdio)?;
        let t = if self.stdio {
            None
        } else {
            Some(self.target(s.wait_listening()?))
        };
        Ok((Some(s), t))
    }

    fn header(&self) -> Obj {
        Obj::new()
            .str("bench", &self.bench)
            .str("label", &self.label)
            .str("transport", if self.stdio { "stdio" } else { "http" })
            .str("proto", self.proto.name())
            .int("connections", self.connections as u64)
            .int("inflight", self.inflight as u64)
            .int("payload", self.payload as u64)
            .raw("spin", self.spin.to_string())
            .str("server_cmd", &self.server_cmd)
    }
}

/// Repeats `once` until `o.runs` runs were quiet; noisy runs fill in only when
/// the tries are spent. Returns the runs and the number of tries.
fn quiet_runs<T>(
    o: &Opts,
    foreign: impl Fn(&T) -> f64,
    mut once: impl FnMut() -> io::Result<T>,
) -> io::Result<(Vec<T>, usize)> {
    let (mut quiet, mut noisy, mut tries) = (Vec::new(), Vec::new(), 0);
    while quiet.len() < o.runs && tries < o.max_tries.max(o.runs) {
        tries += 1;
        let s = once()?;
        let f = foreign(&s);
        if f.is_nan() || f <= o.max_foreign {
            quiet.push(s);
        } else {
            noisy.push(s);
            std::thread::sleep(std::time::Duration::from_secs(2));
        }
    }
    noisy.sort_by(|a, b| foreign(a).total_cmp(&foreign(b)));
    let lacking = o.runs - quiet.len();
    quiet.extend(noisy.into_iter().take(lacking));
    Ok((quiet, tries))
}

fn summary(obj: Obj, key: &str, values: &[f64]) -> Obj {
    let (lo, hi) = min_max(values);
    obj.num(key, median(values))
        .num(&format!("{key}_min"), lo)
        .num(&format!("{key}_max"), hi)
}

fn run(o: &Opts) -> io::Result<String> {
    let mut out = o.header();
    match o.bench.as_str() {
        "roundtrip" => {
            let (all, tries) = quiet_runs(
                o,
                |s: &roundtrip::Sample| s.foreign,
                || {
                    let (mut server, target) = o.start()?;
                    match (&target, server.as_mut()) {
                        (Some(t), s) => roundtrip::http(o, t, s.as_deref()),
                        (None, Some(s)) => roundtrip::stdio(o, s),
                        (None, None) => Err(io::Error::other("stdio needs --server-cmd")),
                    }
                },
            )?;
            let col = |f: &dyn Fn(&roundtrip::Sample) -> f64| all.iter().map(f).collect::<Vec<_>>();
            out = summary(out, "rps", &col(&|s| s.rps));
            out = summary(out, "p50_us", &col(&|s| s.p50_us));
            out = summary(out, "p99_us", &col(&|s| s.p99_us));
            out = summary(out, "server_cpu_us_per_call", &col(&|s| s.server_cpu_us));
            out = summary(out, "client_busy", &col(&|s| s.client_busy));
            out = out
                .int("errors", all.iter().map(|s| s.errors).sum())
                .int("tries", tries as u64);
            out = out.raw("runs", array(all.iter().map(|s| s.json())));
        }
        "cancel" => {
            let (all, tries) = quiet_runs(
                o,
                |s: &cancel::Sample| s.foreign,
                || {
                    let (mut server, target) = o.start()?;
                    let s = server
                        .as_mut()
                        .ok_or_else(|| io::Error::other("cancel needs --server-cmd"))?;
                    cancel::run(o, target.as_ref(), s)
                },
            )?;
            out = out.int("tries", tries as u64);
            out = out.str(
                "by",
                if o.by_notify || o.stdio {
                    "notify"
                } else {
                    &o.close
                },
            );
            out = out.int("missed", all.iter().map(|s| s.missed).sum());
            out = summary(
                out,
                "p50_us",
                &all.iter().map(|s| s.median_us()).collect::<Vec<_>>(),
            );
            out = summary(
                out,
                "p99_us",
                &all.iter().map(|s| s.p99_us()).collect::<Vec<_>>(),
            );
            out = out.raw("runs", array(all.iter().map(|s| s.json())));
        }
        "memory" => {
            let mut all = Vec::new();
            for _ in 0..o.runs {
                let (mut server, target) = o.start()?;
                let s = server
                    .as_mut()
                    .ok_or_else(|| io::Error::other("memory needs --server-cmd"))?;
                all.push(misc::memory(o, target.as_ref(), s)?);
            }
            out = out.raw("runs", array(all));
        }
        "scale" => {
            let mut all = Vec::new();
            for _ in 0..o.runs {
                let (mut server, target) = o.start()?;
                let s = server
                    .as_mut()
                    .ok_or_else(|| io::Error::other("scale needs --server-cmd"))?;
                all.push(scale::run(o, target.as_ref(), s)?);
            }
            out = out.raw("runs", array(all));
        }
        "startup" => {
            let mut us = Vec::new();
            let mut last = server::Usage::default();
            for _ in 0..o.runs {
                let (t, u) = misc::startup(o)?;
                us.push(t);
                last = u;
            }
            out = summary(out, "first_answer_us", &us);
            out = out
                .int("rss_kb", last.rss_kb)
                .int("pss_kb", last.pss_kb)
                .int("threads", last.threads);
        }
        "shutdown" => {
            let mut all = Vec::new();
            for _ in 0..o.runs {
                all.push(misc::shutdown(o)?);
            }
            out = out.raw("runs", array(all));
        }
        other => return Err(io::Error::other(format!("{other}?\n{USAGE}"))),
    }
    Ok(out.finish())
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--spinner") {
        spin::run(
            std::env::args()
                .nth(2)
                .and_then(|v| v.parse().ok())
                .unwrap_or(0),
        );
    }
    let o = match Opts::parse() {
        Ok(o) => o,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    // A server with a connection for each of thousands of calls inherits this.
    if let Err(e) = sys::raise_descriptors() {
        eprintln!("cannot raise the number of descriptors: {e}");
    }
    if let Some(cpu) = o.client_cpu {
        if let Err(e) = sys::pin(cpu) {
            eprintln!("cannot pin to CPU {cpu}: {e}");
        }
    }
    if o.spin {
        let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
        let cpus = cpus
            .max(o.server_cpu.unwrap_or(0) + 1)
            .max(o.client_cpu.unwrap_or(0) + 1);
        match spin::Spinners::start(cpus) {
            Ok(s) => drop(sys::SPIN.set(s)),
            Err(e) => eprintln!("no spinners: {e}"),
        }
    }
    let outcome = run(&o);
    if let Some(s) = sys::SPIN.get() {
        s.stop();
    }
    match outcome {
        Ok(s) => println!("{s}"),
        Err(e) => {
            eprintln!("loadgen: {e}");
            std::process::exit(1);
        }
    }
}
