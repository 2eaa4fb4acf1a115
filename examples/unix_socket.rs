//! A server on a Unix socket: one client per connection, one message per line.
//!
//! ```sh
//! cargo run --example unix_socket -- /tmp/greeter.sock
//! echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | nc -N -U /tmp/greeter.sock
//! ```

use std::error::Error;
use std::time::Duration;
use std::{env, fs, io};

use async_signal::{Signal, Signals};
use serde::Deserialize;
use serde_json::json;
use smol::future::or;
use smol::net::unix::UnixListener;
use smol::stream::StreamExt;
use smol_mcp::{Server, Tool, lines};

#[derive(Deserialize)]
struct Greet {
    name: String,
}

/// Serves every client that connects.
async fn accept(listener: &UnixListener, server: &Server) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let server = server.clone();
        // Ends with its client, or when the server is closed.
        let serving = smol::spawn(async move {
            if let Err(err) = lines::serve(&server, stream.clone(), stream).await {
                eprintln!("a client was lost: {err}");
            }
        });
        serving.detach();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args()
        .nth(1)
        .ok_or("the path of the socket is missing")?;
    let greet = Tool::new("greet", async |input: Greet| {
        format!("Hello, {}!", input.name)
    })
    .description("Greets somebody")
    .input_schema(json!({
        "type": "object",
        "properties": { "name": { "type": "string" } },
        "required": ["name"],
    }));
    let server = Server::builder("greeter", env!("CARGO_PKG_VERSION"))
        .tool(greet)
        .build()?;
    let mut signals = Signals::new([Signal::Int, Signal::Term])?;

    smol::block_on(async {
        let listener = UnixListener::bind(&path)?;
        eprintln!("listening on {path}");
        let stop = async {
            signals.next().await;
            server.close(Duration::from_secs(1)).await;
            Ok(())
        };
        let served = or(accept(&listener, &server), stop).await;
        fs::remove_file(&path)?;
        Ok(served?)
    })
}
