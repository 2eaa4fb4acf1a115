//! A line on standard error for every cancelled call.

use std::time::Instant;

use smol_mcp::Context;

/// Lives as long as a handler, and tells the operator if nobody waited for the answer at its end.
pub(crate) struct Watch {
    tool: &'static str,
    cx: Context,
    started: Instant,
}

impl Watch {
    pub(crate) fn new(tool: &'static str, cx: &Context) -> Self {
        let (cx, started) = (cx.clone(), Instant::now());
        Self { tool, cx, started }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(reason) = self.cx.signal().reason() {
            let (tool, ms) = (self.tool, self.started.elapsed().as_millis());
            eprintln!("cancelled: {tool} after {ms} ms: {reason}");
        }
    }
}
