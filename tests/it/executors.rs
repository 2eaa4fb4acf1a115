//! Where handlers run: within the future that serves them, unless the server was given an executor.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use smol::{Executor, future};
use smol_mcp::signal::{Reason, Signal};
use smol_mcp::testing::{self, Client};
use smol_mcp::{Builder, Context, NoInput, Server, Tool, lines};

use crate::stage::{self, PATIENCE, within};

/// Tells when it is dropped.
struct Guard(Sender<&'static str>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// Waits for an event without keeping the thread.
async fn next(told: &Receiver<&'static str>) -> &'static str {
    loop {
        match told.try_recv() {
            Ok(event) => return event,
            Err(_) => future::yield_now().await,
        }
    }
}

fn server(events: Sender<&'static str>) -> Server {
    let (begun, endless, failures) = (events.clone(), events.clone(), events.clone());
    Server::builder("threads", "1.0.0")
        .on_error(move |failure| {
            eprintln!("{failure:?}");
            failures.send("failure").unwrap();
        })
        .tool(Tool::new("endless", move |_: NoInput| {
            let guard = Guard(endless.clone());
            async move {
                future::yield_now().await;
                guard.0.send("begun").unwrap();
                for _ in 0..u64::MAX {
                    future::yield_now().await;
                }
            }
        }))
        .tool(Tool::new("where", async |_: NoInput| {
            // It has moved to where handlers run that wait.
            future::yield_now().await;
            format!("{:?}", thread::current().id())
        }))
        .tool(Tool::new("restless", move |_: NoInput, cx: Context| {
            let begun = begun.clone();
            async move {
                future::yield_now().await;
                begun.send("begun").unwrap();
                while cx.signal().check().is_ok() {
                    future::yield_now().await;
                }
                begun.send("heard").unwrap();
            }
        }))
        .tool(Tool::new("patient", move |_: NoInput| {
            let guard = Guard(events.clone());
            async move {
                guard.0.send("begun").unwrap();
                future::pending::<()>().await;
            }
        }))
        .build()
        .unwrap()
}

/// Serves a client in memory within the future that runs the script.
fn beside<T>(server: &Server, script: impl AsyncFnOnce(Client) -> T) -> T {
    let (their_input, our_output) = testing::pipe(4096);
    let (our_input, their_output) = testing::pipe(4096);
    let client = Client::over(our_input, our_output);
    let serving = async {
        lines::serve(server, their_input, their_output)
            .await
            .unwrap();
        future::pending().await
    };
    within("the script", future::or(script(client), serving))
}

/// Has another thread run what is on an executor for as long as the script runs, which gets the name of that thread.
fn run_elsewhere<T>(executor: Arc<Executor<'static>>, script: impl FnOnce(String) -> T) -> T {
    let (stop, stopped) = async_channel::bounded::<()>(1);
    let thread = thread::spawn(move || smol::block_on(executor.run(stopped.recv())).is_err());
    let result = script(format!("{:?}", thread.thread().id()));
    drop(stop);
    assert!(stage::join("the other thread", thread));
    result
}

// Handlers hold their server, and the server knows the executor that they are on.
#[test]
fn an_executor_that_is_dropped_drops_the_handlers_that_are_left_on_it() {
    let (events, told) = mpsc::channel();
    let executor = Arc::new(smol::Executor::new());
    let patient = move |_: NoInput| {
        let guard = Guard(events.clone());
        async move {
            guard.0.send("begun").unwrap();
            future::pending::<()>().await;
        }
    };
    let server = Server::builder("threads", "1.0.0")
        .tool(Tool::new("patient", patient))
        .executor(executor.clone())
        .build()
        .unwrap();
    // The serving future is dropped at its end, and the executor is not run after that.
    beside(&server, async |client| {
        client.start("patient", json!({})).await;
        executor.run(client.silence()).await;
        drop(executor);
    });
    drop(server);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["begun", "dropped"]);
}

/// A server whose handler hands out its signal, and waits for ever.
fn watched() -> (Builder, Receiver<Signal>) {
    let (signals, watched) = mpsc::channel();
    let patient = move |_: NoInput, cx: Context| {
        signals.send(cx.signal().any(PATIENCE)).unwrap();
        future::pending::<()>()
    };
    let builder = Server::builder("threads", "1.0.0").tool(Tool::new("patient", patient));
    (builder, watched)
}

// What a handler has begun elsewhere learns by a signal of its own that nobody waits any more.
#[test]
fn what_is_derived_from_a_signal_fires_when_what_serves_is_dropped() {
    let (builder, signals) = watched();
    beside(&builder.build().unwrap(), async |client| {
        client.start("patient", json!({})).await;
        client.silence().await;
    });
    let reason = signals.recv().unwrap().reason();
    assert!(matches!(reason, Some(Reason::Closed)), "{reason:?}");
}

// An application that ends drops its executor, with all that it has left to it.
#[test]
fn an_executor_that_serves_is_dropped_with_what_it_serves() {
    let (builder, signals) = watched();
    let executor = Arc::new(Executor::new());
    let server = builder.executor(executor.clone()).build().unwrap();
    let (their_input, our_output) = testing::pipe(4096);
    let (our_input, their_output) = testing::pipe(4096);
    let client = Client::over(our_input, our_output);
    let serving = async move { lines::serve(&server, their_input, their_output).await };
    executor.spawn(serving).detach();
    let script = async {
        client.start("patient", json!({})).await;
        client.silence().await;
    };
    within("the script", executor.run(script));
    let signal = signals.recv().unwrap();
    assert!(!signal.is_aborted());
    let kept = Arc::downgrade(&executor);
    drop(executor);
    assert_eq!(kept.strong_count(), 0);
    let reason = signal.reason();
    assert!(matches!(reason, Some(Reason::Closed)), "{reason:?}");
}

#[test]
fn a_handler_that_waits_runs_on_the_thread_that_serves() {
    let (events, _kept) = mpsc::channel();
    let result = beside(&server(events), async |client| {
        client.call("where", json!({})).await
    });
    let own = format!("{:?}", thread::current().id());
    assert_eq!(result["content"][0]["text"], json!(own));
}

#[test]
fn a_handler_that_never_rests_does_not_keep_its_cancellation_from_being_read() {
    let (events, told) = mpsc::channel();
    let server = server(events);
    // On a thread of its own: it would be kept from noticing that it waits in vain, too.
    let thread = thread::spawn(move || {
        beside(&server, async |client| {
            let restless = client.start("restless", json!({})).await;
            assert_eq!(next(&told).await, "begun");
            restless.cancel("enough").await;
            assert_eq!(next(&told).await, "heard");
        });
    });
    stage::join("the cancellation to be heard", thread);
}

#[test]
fn a_handler_that_computes_between_its_rests_is_told_of_its_cancellation_after_a_few_of_them() {
    let units = Arc::new(AtomicUsize::new(0));
    let counted = units.clone();
    let (events, told) = mpsc::channel();
    let compute = move |_: NoInput, cx: Context| {
        let (counted, events) = (counted.clone(), events.clone());
        async move {
            cx.signal().checkpoint().await?;
            events.send("begun").unwrap();
            loop {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_millis(2) {
                    hint::spin_loop();
                }
                counted.fetch_add(1, Ordering::Relaxed);
                if let Err(aborted) = cx.signal().checkpoint().await {
                    events.send("heard").unwrap();
                    return Err::<(), _>(aborted);
                }
            }
        }
    };
    let server = Server::builder("threads", "1.0.0")
        .tool(Tool::new("compute", compute))
        .build()
        .unwrap();
    let (their_input, our_output) = testing::pipe(4096);
    let (our_input, their_output) = testing::pipe(4096);
    let serving =
        thread::spawn(move || smol::block_on(lines::serve(&server, their_input, their_output)));
    let client = Client::over(our_input, our_output);
    let computing = within("the call to begin", client.start("compute", json!({})));
    assert_eq!(told.recv_timeout(PATIENCE), Ok("begun"));
    let before = units.load(Ordering::Relaxed);
    within("the cancellation", computing.cancel("enough"));
    assert_eq!(told.recv_timeout(PATIENCE), Ok("heard"));
    let passed = units.load(Ordering::Relaxed) - before;
    assert!(passed <= 10, "{passed} units of 2 ms");
    within("the client to leave", client.disconnect());
    stage::join("the server", serving).unwrap();
}

#[test]
fn a_serving_future_has_dropped_its_handlers_once_it_is_dropped() {
    let (events, told) = mpsc::channel();
    let server = server(events);
    beside(&server, async |client| {
        let _patient = client.start("patient", json!({})).await;
        client.call("where", json!({})).await;
    });
    let told: Vec<_> = told.try_iter().collect();
    assert_eq!(told, ["begun", "dropped"]);
}

// Whoever serves may end at any time: that is no failure of the handlers.
#[test]
fn a_handler_that_is_dropped_with_what_serves_it_is_no_failure() {
    let (events, told) = mpsc::channel();
    let server = server(events);
    beside(&server, async |client| {
        let _endless = client.start("endless", json!({})).await;
        assert_eq!(next(&told).await, "begun");
    });
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["dropped"]);
}

#[test]
fn an_executor_that_the_server_was_given_is_not_run_by_what_serves() {
    let executor = Arc::new(Executor::new());
    let server = Server::builder("threads", "1.0.0")
        .tool(Tool::new("where", async |_: NoInput| {
            future::yield_now().await;
            format!("{:?}", thread::current().id())
        }))
        .executor(executor.clone())
        .build()
        .unwrap();
    run_elsewhere(executor, |other| {
        let result = beside(&server, async |client| {
            client.call("where", json!({})).await
        });
        assert_eq!(result["content"][0]["text"], json!(other));
    });
}

#[cfg(feature = "http")]
mod over_http {
    use std::net::SocketAddr;

    use smol::io::{AsyncReadExt, AsyncWriteExt};
    use smol::net::TcpStream;
    use smol_mcp::http::{Endpoint, Listener, Options, serve_on};

    use super::*;

    /// Asks on a connection of its own, and returns the answer with its head.
    async fn post(address: SocketAddr, tool: &str) -> String {
        let body = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": tool,
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        })
        .to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    async fn bind() -> (Listener, SocketAddr) {
        let listener = Listener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// Serves over HTTP within the future that runs the script.
    fn beside<T>(server: &Server, script: impl AsyncFnOnce(SocketAddr) -> T) -> T {
        beside_with(server, Options::new(), script)
    }

    fn beside_with<T>(
        server: &Server,
        options: Options,
        script: impl AsyncFnOnce(SocketAddr) -> T,
    ) -> T {
        within("the script", async {
            let (listener, address) = bind().await;
            let listener = listener.with_options(options);
            let serving = async {
                serve_on(listener, Endpoint::new(server)).await.unwrap();
                future::pending().await
            };
            future::or(script(address), serving).await
        })
    }

    #[test]
    fn a_handler_that_waits_runs_on_the_thread_that_serves() {
        let (events, _kept) = mpsc::channel();
        let answer = beside(&server(events), async |address| {
            post(address, "where").await
        });
        let own = format!("{:?}", thread::current().id());
        assert!(answer.contains(&own), "{answer}");
    }

    /// Calls a tool, and hangs up when its handler has begun.
    async fn begin(address: SocketAddr, tool: &str, told: &Receiver<&'static str>) {
        let begun = async { assert_eq!(next(told).await, "begun") };
        let answered = async {
            post(address, tool).await;
        };
        future::or(begun, answered).await;
    }

    #[test]
    fn a_serving_future_has_dropped_its_handlers_once_it_is_dropped() {
        for tool in ["patient", "endless"] {
            let (events, told) = mpsc::channel();
            let server = server(events);
            beside(&server, async |address| begin(address, tool, &told).await);
            assert_eq!(told.try_iter().collect::<Vec<_>>(), ["dropped"], "{tool}");
        }
    }

    #[test]
    fn an_executor_that_serves_is_dropped_with_what_it_serves() {
        let (builder, signals) = watched();
        let executor = Arc::new(Executor::new());
        let server = builder.executor(executor.clone()).build().unwrap();
        let script = async {
            let (listener, address) = bind().await;
            let serving = async move { serve_on(listener, Endpoint::new(&server)).await };
            executor.spawn(serving).detach();
            let begun = async {
                loop {
                    match signals.try_recv() {
                        Ok(signal) => return signal,
                        Err(_) => future::yield_now().await,
                    }
                }
            };
            // The client stays until the end.
            let call = smol::spawn(async move { post(address, "patient").await });
            (begun.await, call)
        };
        let (signal, call) = within("the script", executor.run(script));
        assert!(!signal.is_aborted());
        let kept = Arc::downgrade(&executor);
        drop(executor);
        assert_eq!(kept.strong_count(), 0);
        let reason = signal.reason();
        assert!(matches!(reason, Some(Reason::Closed)), "{reason:?}");
        assert_eq!(within("the end of the connection", call), "");
    }

    #[test]
    fn a_handler_whose_client_has_left_has_the_grace_of_a_close() {
        let (events, told) = mpsc::channel();
        let (release, released) = async_channel::bounded::<()>(1);
        let tidy = move |_: NoInput, cx: Context| {
            let (guard, released) = (Guard(events.clone()), released.clone());
            async move {
                guard.0.send("begun").unwrap();
                cx.signal().aborted().await;
                guard.0.send("fired").unwrap();
                // It has something to clean up, for which it waits.
                released.recv().await.unwrap();
                guard.0.send("tidied").unwrap();
            }
        };
        let server = Server::builder("threads", "1.0.0")
            .tool(Tool::new("tidy", tidy))
            .build()
            .unwrap();
        within("the close", async {
            let (listener, address) = bind().await;
            let script = async {
                begin(address, "tidy", &told).await;
                assert_eq!(next(&told).await, "fired");
                let closed = async {
                    server.closed().aborted().await;
                    // By now the listener sees that nobody is connected any more.
                    for _ in 0..100 {
                        future::yield_now().await;
                    }
                    release.send(()).await.unwrap();
                };
                future::zip(server.close(PATIENCE), closed).await;
            };
            let (served, ()) =
                future::zip(serve_on(listener, Endpoint::new(&server)), script).await;
            served.unwrap();
        });
        let told: Vec<_> = told.try_iter().collect();
        assert_eq!(told, ["tidied", "dropped"]);
    }

    #[test]
    fn with_an_executor_for_connections_handlers_stay_on_the_thread_that_serves() {
        let (events, _kept) = mpsc::channel();
        let server = server(events);
        let executor = Arc::new(Executor::new());
        let options = Options::new().executor(executor.clone());
        run_elsewhere(executor, |_| {
            let answer = beside_with(&server, options, async |address| {
                post(address, "where").await
            });
            let own = format!("{:?}", thread::current().id());
            assert!(answer.contains(&own), "{answer}");
        });
    }
}
