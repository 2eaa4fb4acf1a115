//! One line of the log for each request, once it is over: what it was, how it ended, after how long, and why.
//!
//! This is the one place that writes it. Nothing is formatted, and no clock is read, while nobody listens.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use log::Level;

use super::call::Call;
use super::failure::{HandlerError, Kind};
use super::hooks::tell;
use crate::era::Reply;
use crate::protocol::jsonrpc::{Id, RpcError, excerpt};
use crate::protocol::{Content, ToolResult};
use crate::signal::Reason;

/// The target by which a logger tells these lines from others.
const TARGET: &str = "smol_mcp::calls";

fn is_wanted() -> bool {
    log::log_enabled!(target: TARGET, Level::Debug)
}

/// When a request came, if somebody will read how long it took.
pub(super) fn begun() -> Option<Instant> {
    is_wanted().then(Instant::now)
}

/// Tells of a request that was answered where it was read: no handler has to do with it.
pub(super) fn answered(method: &str, id: &Id, begun: Option<Instant>) {
    let Some(begun) = begun else { return };
    let elapsed = begun.elapsed();
    log::debug!(target: TARGET, "{}: answered after {elapsed:?}", Request { method, subject: "", id });
}

/// Tells of a request that never began. The method may be any text of the client's.
pub(crate) fn refused(method: &str, id: &Id, error: &RpcError) {
    if is_wanted() {
        let (request, why) = (
            Request {
                method,
                subject: "",
                id,
            },
            error.to_string(),
        );
        log::debug!(target: TARGET, "{request}: refused: {}", OneLine(&why));
    }
}

/// Tells how a handler ended whose client still gets an answer.
pub(super) fn ended(call: &Call, outcome: &Result<Reply, HandlerError>) {
    if is_wanted() {
        // What formats the author's error is the author's.
        tell(&|| {
            let (end, why) = how(call, outcome);
            write(call, end, &why);
        });
    }
}

fn how(call: &Call, outcome: &Result<Reply, HandlerError>) -> (&'static str, String) {
    match outcome {
        Ok(Reply::Tool(result)) if result.is_error => ("failed", first_text(result).to_owned()),
        Ok(reply) if reply.is_question() => ("asked", String::new()),
        Ok(_) => ("answered", String::new()),
        Err(error) if call.is_late() && matches!(*error.0, Kind::Unexpected(_)) => {
            ("late", error.to_string())
        }
        Err(error) => ("failed", error.to_string()),
    }
}

/// Tells of a handler whose client was answered by the deadline, or does not wait any more: what it came to is thrown away.
pub(super) fn thrown_away(call: &Call) {
    if is_wanted() {
        let end = if call.is_late() { "late" } else { "discarded" };
        let why = call.signal.reason().as_ref().map(Reason::to_string);
        write(call, end, &why.unwrap_or_default());
    }
}

fn write(call: &Call, end: &str, why: &str) {
    let elapsed: Duration = call.started.elapsed();
    let colon = if why.is_empty() { "" } else { ": " };
    log::debug!(target: TARGET, "{}: {end} after {elapsed:?}{colon}{}", call.named(), OneLine(why));
}

/// The first thing that a model reads of a result.
fn first_text(result: &ToolResult) -> &str {
    let text = result.content.iter().find_map(|content| match content {
        Content::Text(text) => Some(&*text.text),
        _ => None,
    });
    text.unwrap_or_default()
}

/// How a request is called in the log.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    /// The tool, prompt or resource, if it has to do with one.
    pub(super) subject: &'a str,
    pub(super) id: &'a Id,
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = if self.subject.is_empty() { "" } else { " " };
        let (method, subject) = (OneLine(self.method), OneLine(self.subject));
        write!(
            f,
            "{method}{space}{subject} ({})",
            OneLine(&self.id.to_string())
        )
    }
}

/// Text that may be the client's: cut, and without anything that ends a line or steers a terminal.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in excerpt(self.0).chars() {
            match c.is_control() {
                true => c.escape_debug().fmt(f)?,
                false => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
