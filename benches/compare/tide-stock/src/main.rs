//! The bench server in a tide app, behind the listener that tide comes with.

use std::error::Error;
use std::net::TcpListener;
use std::sync::Arc;

#[allow(dead_code, reason = "only the tools are wanted")]
#[path = "../../../../examples/bench.rs"]
mod bench;

fn main() -> Result<(), Box<dyn Error>> {
    let executor = Arc::new(smol::Executor::new());
    let server = bench::server(Some(&executor), None)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    eprintln!("LISTENING {}", listener.local_addr()?);
    let mut app = tide::new();
    app.at("/mcp").all(smol_mcp::tide::endpoint(&server));
    smol::block_on(executor.run(app.listen(listener)))?;
    Ok(())
}
