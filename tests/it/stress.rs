//! Many calls with random cancels, duplicates and ends of input: each id is answered exactly once or, if cancelled,
//! never. One thread makes a run deterministic: its seed alone decides what happens.

use std::collections::HashMap;
use std::env;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use smol::channel;
use smol::future;
use smol::io::AsyncWriteExt;
use smol::io::{AsyncBufReadExt, BufReader};
use smol_mcp::testing::{self, PATIENCE, Reader, Writer};
use smol_mcp::{Context, HandlerError, Limits, Server, Signal, Tool, lines};

use crate::stage;
use crate::transport::{Era, with_meta};

/// Sets how many calls are made; 20,000 if it is not set.
const CALLS: &str = "SMOL_MCP_STRESS_CALLS";

/// Sets the seed.
const SEED: &str = "SMOL_MCP_STRESS_SEED";

fn setting(name: &str, default: u64) -> u64 {
    let set = env::var(name).map_or(default, |text| text.parse().expect("a number"));
    // Shown when the test fails: with it the same run is made again.
    eprintln!("{name}={set}");
    set
}

/// Blocks until a run is over; how long that may take depends on its length.
fn block_on<T>(calls: u64, run: impl Future<Output = T>) -> T {
    let patience = PATIENCE + Duration::from_millis(10 * calls);
    let run = Signal::timeout(patience).run(run);
    smol::block_on(run).unwrap_or_else(|_| panic!("the run has not ended within {patience:?}"))
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn chance(&mut self, of_a_hundred: u64) -> bool {
        self.below(100) < of_a_hundred
    }
}

#[derive(Deserialize)]
struct Work {
    /// How often it waits.
    steps: u64,
    /// Does not look at its signal.
    deaf: bool,
    fails: bool,
    /// What it answers.
    text: String,
}

async fn work(work: Work, cx: Context) -> Result<String, HandlerError> {
    for step in 0..work.steps {
        cx.progress(step, work.steps, "");
        match work.deaf {
            true => future::yield_now().await,
            false => cx.signal().checkpoint().await?,
        }
    }
    match work.fails {
        true => Err(HandlerError::unexpected("it fails")),
        false => Ok(work.text),
    }
}

/// What the client knows of an id.
#[derive(Default)]
struct Known {
    /// It has been sent, and neither answered nor given up.
    open: bool,
    /// The server has taken its cancellation: nothing of it may come.
    given_up: bool,
    progress: Option<u64>,
    /// How often it was sent again while it was open: each is refused.
    duplicates: u32,
}

/// One connection, from its first call to the last line.
struct Connection {
    era: Era,
    input: Writer,
    output: BufReader<Reader>,
    known: HashMap<i64, Known>,
    /// Its first id.
    first: Option<i64>,
    serving: smol::Task<std::io::Result<()>>,
}

/// How often each thing has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    calls: u64,
    answers: u64,
    given_up: u64,
    late_cancels: u64,
    duplicates: u64,
    progress: u64,
    connections: u64,
    /// Of all lines, in their order.
    digest: u64,
}

/// What the hook is told: the id, and whether the call was aborted.
type Cancels = Arc<Mutex<Vec<(i64, bool)>>>;

struct Run {
    random: Random,
    counts: Counts,
    cancels: Cancels,
    server: Server,
    executor: Arc<smol::Executor<'static>>,
    next_id: i64,
}

impl Run {
    fn new(seed: u64, executor: Arc<smol::Executor<'static>>) -> Self {
        let mut limits = Limits::default();
        limits.grace = PATIENCE;
        let cancels = Cancels::default();
        let told = cancels.clone();
        let server = Server::builder("stress", "1.0.0")
            .tool(Tool::new("work", work))
            .executor(executor.clone())
            .limits(limits)
            .on_cancelled(move |cancelled| {
                let id = cancelled.request_id.as_i64().expect("a number");
                told.lock().unwrap().push((id, cancelled.aborted));
            })
            .build()
            .unwrap();
        Self {
            random: Random(seed),
            counts: Counts::default(),
            cancels,
            server,
            executor,
            next_id: 0,
        }
    }

    async fn go(mut self, calls: u64) -> Counts {
        while self.counts.calls < calls {
            self.connection(calls).await;
        }
        assert_eq!(self.server.calls_in_flight(), 0);
        self.counts
    }

    async fn connect(&mut self) -> Connection {
        let (their_input, input) = testing::pipe(1500);
        let (output, their_output) = testing::pipe(1500);
        let server = self.server.clone();
        let serving = self
            .executor
            .spawn(async move { lines::serve(&server, their_input, their_output).await });
        let era = Era::ALL[self.random.below(5) as usize];
        self.counts.connections += 1;
        let mut connection = Connection {
            era,
            input,
            output: BufReader::new(output),
            known: HashMap::new(),
            first: None,
            serving,
        };
        if let Era::Legacy(version) = era {
            let params = json!({ "protocolVersion": version.as_str(), "capabilities": {}, "clientInfo": { "name": "c", "version": "0" } });
            let id = self.fresh(&mut connection);
            connection.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "initialize", "params": params })).await;
            while connection.known[&id].open {
                self.hear(&mut connection).await;
            }
        }
        connection
    }

    fn fresh(&mut self, connection: &mut Connection) -> i64 {
        self.next_id += 1;
        connection.first.get_or_insert(self.next_id);
        connection.known.insert(
            self.next_id,
            Known {
                open: true,
                ..Known::default()
            },
        );
        self.next_id
    }

    async fn connection(&mut self, calls: u64) {
        let mut connection = self.connect().await;
        let length = 1 + self.random.below(400);
        for _ in 0..length {
            if self.counts.calls == calls {
                break;
            }
            match self.random.below(10) {
                0..5 => {
                    let id = self.fresh(&mut connection);
                    self.call(&mut connection, id).await;
                }
                5 => self.duplicate(&mut connection).await,
                6..8 => self.cancel(&mut connection).await,
                _ => {
                    for _ in 0..self.random.below(20) {
                        future::yield_now().await;
                    }
                }
            }
        }
        if self.random.chance(20) {
            // Some give up all that they still wait for before they leave.
            let open: Vec<_> = connection
                .known
                .iter()
                .filter(|(_, known)| known.open)
                .map(|(id, _)| *id)
                .collect();
            let last = open.into_iter().max();
            if let Some(id) = last {
                self.cancel_id(&mut connection, id).await;
            }
        }
        connection.input.close().await.unwrap();
        while self.hear(&mut connection).await {}
        connection.serving.await.unwrap();
        self.take_cancels(&mut connection.known);
        for (id, known) in &connection.known {
            assert!(!known.open, "{id} was never answered");
            assert_eq!(known.duplicates, 0, "{id}");
        }
    }

    async fn call(&mut self, connection: &mut Connection, id: i64) {
        let work = json!({
            "steps": self.random.below(6),
            "deaf": self.random.chance(50),
            "fails": self.random.chance(20),
            "text": "first",
        });
        let mut params = json!({ "name": "work", "arguments": work });
        if self.random.chance(50) {
            params["_meta"]["progressToken"] = id.into();
        }
        let params = with_meta(connection.era, params);
        self.counts.calls += 1;
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.exchange(connection, &call).await;
    }

    /// Sends a call's id again: it is refused, unless the id is free by now. The second call ends in its first poll.
    async fn duplicate(&mut self, connection: &mut Connection) {
        let Some(id) = self.pick(connection) else {
            return;
        };
        let work = json!({ "steps": 0, "deaf": true, "fails": false, "text": "second" });
        let params = with_meta(connection.era, json!({ "name": "work", "arguments": work }));
        connection.known.get_mut(&id).expect("known").duplicates += 1;
        self.counts.duplicates += 1;
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.exchange(connection, &call).await;
    }

    async fn cancel(&mut self, connection: &mut Connection) {
        // Now and then one that never was.
        let id = match self.random.chance(10) {
            true => -1,
            false => match self.pick(connection) {
                Some(id) => id,
                None => return,
            },
        };
        self.cancel_id(connection, id).await;
    }

    async fn cancel_id(&mut self, connection: &mut Connection, id: i64) {
        let method = match self.random.chance(50) {
            true => "notifications/cancelled",
            false => "notifications/canceled",
        };
        let params = json!({ "requestId": id, "reason": "enough" });
        let cancel = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.exchange(connection, &cancel).await;
    }

    /// One of the latest ids of the connection, whatever became of it.
    fn pick(&mut self, connection: &Connection) -> Option<i64> {
        let first = connection.first?;
        let latest = self.random.below(8) as i64;
        Some((self.next_id - latest).max(first))
    }

    /// Writes a message, and reads while that has to wait: neither side may stop the other.
    async fn exchange(&mut self, connection: &mut Connection, message: &Value) {
        let mut text = message.to_string();
        text.push('\n');
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let Connection { input, output, .. } = connection;
            let write = async { Ok(input.write(rest).await.unwrap()) };
            let read = async {
                output.fill_buf().await.unwrap();
                Err(())
            };
            match future::or(write, read).await {
                Ok(count) => rest = &rest[count..],
                Err(()) => {
                    self.hear(connection).await;
                }
            }
        }
    }

    /// Reads one line, and holds it against what is known. Tells whether there was one.
    async fn hear(&mut self, connection: &mut Connection) -> bool {
        let mut line = String::new();
        connection.output.read_line(&mut line).await.unwrap();
        let message: Value = match line.strip_suffix('\n') {
            Some(line) => serde_json::from_str(line).unwrap(),
            None => {
                assert_eq!(line, "");
                return false;
            }
        };
        for byte in line.bytes() {
            self.counts.digest =
                (self.counts.digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        if message["method"] == "notifications/progress" {
            let id = message["params"]["progressToken"].as_i64().unwrap();
            let progress = message["params"]["progress"].as_u64().unwrap();
            let known = connection.known.get_mut(&id).unwrap();
            assert!(known.open, "progress of {id} after its answer");
            assert!(known.progress.is_none_or(|last| last < progress), "{line}");
            known.progress = Some(progress);
            self.counts.progress += 1;
            return true;
        }
        let id = message["id"].as_i64().unwrap();
        let known = connection.known.get_mut(&id).unwrap();
        let code = message["error"]["code"].as_i64();
        let second = message["result"]["content"][0]["text"] == "second";
        if known.duplicates > 0 && (second || code == Some(-32600)) {
            known.duplicates -= 1;
            return true;
        }
        assert!(code.is_none(), "{line}");
        assert!(known.open, "{id} was answered twice");
        known.open = false;
        self.counts.answers += 1;
        true
    }

    /// At the end of a connection: what the server took as given up has not been answered, all else has.
    fn take_cancels(&mut self, known: &mut HashMap<i64, Known>) {
        for (id, aborted) in self.cancels.lock().unwrap().drain(..) {
            let Some(known) = known.get_mut(&id).filter(|_| aborted) else {
                self.counts.late_cancels += 1;
                continue;
            };
            // The second cancel of a handler that runs on finds it as well.
            if known.given_up {
                continue;
            }
            assert!(known.open, "{id} was answered although it was given up");
            known.given_up = true;
            known.open = false;
            self.counts.given_up += 1;
        }
    }
}

impl Connection {
    async fn send(&mut self, message: &Value) {
        self.input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
}

/// One run on this thread alone.
fn alone(seed: u64, calls: u64) -> Counts {
    let executor = Arc::new(smol::Executor::new());
    let run = Run::new(seed, executor.clone());
    block_on(calls, executor.run(run.go(calls)))
}

#[track_caller]
fn check(counts: &Counts, calls: u64) {
    assert_eq!(counts.calls, calls, "{counts:?}");
    // The run is worth its time: all that can happen happens often.
    let often = calls / 200;
    for count in [
        counts.given_up,
        counts.late_cancels,
        counts.duplicates,
        counts.progress,
        counts.connections,
    ] {
        assert!(count > often.min(20), "{counts:?}");
    }
}

// R136, R14, P7, P10, P15
#[test]
fn each_call_is_answered_once_or_given_up() {
    let (seed, calls) = (setting(SEED, 7), setting(CALLS, 20_000));
    let counts = alone(seed, calls);
    check(&counts, calls);
}

#[test]
fn a_run_is_decided_by_its_seed() {
    let seed = setting(SEED, 7);
    let (first, second) = (alone(seed, 2_000), alone(seed, 2_000));
    assert_eq!(first, second);
    assert_ne!(first.digest, alone(seed + 1, 2_000).digest);
}

// The same on several threads, where only the rules are certain.
#[test]
fn each_call_is_answered_once_or_given_up_on_many_threads() {
    let (seed, calls) = (setting(SEED, 7), setting(CALLS, 20_000) / 2);
    let executor = Arc::new(smol::Executor::new());
    let (stop, stopped) = channel::bounded::<()>(1);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (executor, stopped) = (executor.clone(), stopped.clone());
            thread::spawn(move || {
                let _ = smol::block_on(executor.run(stopped.recv()));
            })
        })
        .collect();
    let run = Run::new(seed, executor);
    let counts = block_on(calls, run.go(calls));
    drop(stop);
    for thread in threads {
        stage::join("a thread of the executor", thread);
    }
    check(&counts, calls);
}
