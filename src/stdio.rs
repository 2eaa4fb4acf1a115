//! MCP over the standard input and output of the process.
//!
//! The client starts the server and speaks first; the end of input is the end. Nothing but messages is written to
//! standard output, by one writer. A stream is not switched to non-blocking mode where others would notice: the mode
//! belongs to the open file, which the parent process and standard error may share.
//!
//! A client cancels one call by `notifications/cancelled`, and all of them by closing its end.

#[cfg(unix)]
mod unix;

use std::io;
use std::pin::Pin;

use futures_lite::{AsyncRead, AsyncWrite};

#[cfg(unix)]
use self::unix::{input, output};
use crate::{Server, lines};

/// Serves the client at the other end of standard input and output, until the end of input or until the server is closed.
///
/// See [`lines::serve`] for what happens then. The reactor waits for pipes, sockets and terminals. On Linux, regular files and
/// /dev/null are read and written where the future is polled, a piece at a time. On other Unix systems a blocking thread
/// reads and writes them, and some terminals; on systems other than Unix it reads and writes everything.
///
/// Call it once: two readers of one standard input would each get parts of messages.
///
/// # Errors
///
/// Returns the first error of either stream. A client that closed its end is not an error.
///
/// # Cancellation
///
/// Dropping the future drops the running handlers, without a grace. It does not wait for input.
///
/// # Examples
///
/// ```
/// use smol_mcp::{NoInput, Server, Tool, stdio};
///
/// let server = Server::builder("clock", "1.0.0")
///     .tool(Tool::new("now", |_: NoInput| async { "noon" }))
///     .build()?;
/// smol::block_on(stdio::serve(&server))?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub async fn serve(server: &Server) -> io::Result<()> {
    serving(server, input()?, output()?).await
}

/// An object, so that the loop is compiled here, and not once more with each program.
fn serving(server: &Server, input: Input, output: Output) -> Serving<'_> {
    Box::pin(lines::serve(server, input, output))
}

type Serving<'a> = Pin<Box<dyn Future<Output = io::Result<()>> + Send + 'a>>;

/// What lies between a thread that blocks and the task that it works for, in bytes. The default would be 8 MiB.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BETWEEN: usize = 64 * 1024;

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

#[cfg(not(unix))]
fn input() -> io::Result<Input> {
    Ok(Box::new(blocking::Unblock::with_capacity(
        BETWEEN,
        io::stdin(),
    )))
}

#[cfg(not(unix))]
fn output() -> io::Result<Output> {
    Ok(Box::new(blocking::Unblock::with_capacity(
        BETWEEN,
        io::stdout(),
    )))
}
