//! Six ways in which work stops when nobody waits for it any more, each as a tool. Cancel a call, or end the input: the
//! work says on standard error that it has stopped.
//!
//! The example `child_process` is the seventh: it stops a command and everything that the command has started.
//!
//! ```sh
//! cargo run --example stopping
//! ```

use std::error::Error;
use std::future;
use std::time::Duration;

use smol::Timer;
use smol::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use smol::net::unix::UnixStream;
use smol::stream::StreamExt;
use smol_mcp::{Context, HandlerError, NoInput, Server, Tool, stdio};

/// Something that is released when the work stops, however it stops.
struct Work(&'static str);

impl Work {
    fn begin(name: &'static str, cx: &Context) -> Self {
        cx.progress(0, None, "begun");
        Self(name)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        eprintln!("{} has stopped", self.0);
    }
}

/// A future that knows nothing of signals. `run` drops it when the signal fires.
async fn fetch(_: NoInput, cx: Context) -> Result<(), HandlerError> {
    let download = async {
        let _work = Work::begin("fetch", &cx);
        future::pending::<()>().await;
    };
    cx.signal().run(download).await?;
    Ok(())
}

/// Computing. `checkpoint` checks the signal between two units, and lets others run: without it no cancellation is read.
async fn compute(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let _work = Work::begin("compute", &cx);
    let mut sum = 0_u64;
    for unit in 0.. {
        cx.signal().checkpoint().await?;
        sum = (unit..unit + 10_000).fold(sum, u64::wrapping_add);
    }
    Ok(sum.to_string())
}

/// A handler that ignores its signal: `drop_on_abort` drops all of it. See `main`.
async fn idle(_: NoInput, cx: Context) {
    let _work = Work::begin("idle", &cx);
    future::pending::<()>().await;
}

/// A stream. `until` ends it with an error, which `?` passes on.
async fn tick(_: NoInput, cx: Context) -> Result<(), HandlerError> {
    let _work = Work::begin("tick", &cx);
    let mut ticks = cx.signal().until(Timer::interval(Duration::from_secs(10)));
    for count in 1.. {
        if ticks.next().await.transpose()?.is_none() {
            break;
        }
        cx.progress(count, None, "tick");
    }
    Ok(())
}

/// A reader, here of a socket whose other end falls silent. Its lines are a stream.
async fn follow(_: NoInput, cx: Context) -> Result<(), HandlerError> {
    let _work = Work::begin("follow", &cx);
    let (mut sensor, reader) = UnixStream::pair()?;
    sensor.write_all(b"21.5 degrees\n").await?;
    let mut lines = cx.signal().until(BufReader::new(reader).lines());
    let mut count = 0;
    while let Some(line) = lines.next().await {
        count += 1;
        // The outer error is the signal's, the inner one the reader's.
        cx.progress(count, None, line??);
    }
    Ok(())
}

/// A function that blocks, on a thread. It checks the signal between two steps, and sleeps under it.
fn grind(_: NoInput, cx: Context) -> Result<(), HandlerError> {
    let _work = Work::begin("grind", &cx);
    loop {
        cx.signal().check()?;
        cx.signal().sleep_blocking(Duration::from_secs(1))?;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("stopping", env!("CARGO_PKG_VERSION"))
        .tool(Tool::new("fetch", fetch))
        .tool(Tool::new("compute", compute))
        .tool(Tool::new("idle", idle).drop_on_abort())
        .tool(Tool::new("tick", tick))
        .tool(Tool::new("follow", follow))
        .tool(Tool::blocking("grind", grind))
        .build()?;
    smol::block_on(stdio::serve(&server))?;
    Ok(())
}
