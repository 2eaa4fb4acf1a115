//! Serving over HTTP, through tide.

use std::env;
use std::error::Error;

use serde_json::json;
use smol_mcp::Server;
use smol_mcp::http::Listener;
use smol_mcp::tide::{endpoint, listener};

use crate::root::Root;

/// Serves until the server is closed.
pub(crate) async fn serve(
    server: &Server,
    root: &Root,
    address: &str,
) -> Result<(), Box<dyn Error>> {
    let socket = Listener::bind(address).await?;
    introduce(&format!("http://{}/mcp", socket.local_addr()?), root);

    let mut app = tide::new();
    app.at("/mcp").all(endpoint(server));
    app.listen(listener(socket).closes_with(server)).await?;
    Ok(())
}

/// Says on standard error where the server is, and how to try it.
fn introduce(url: &str, root: &Root) {
    let search = curl(url, "search", r#"{"text":"fn main"}"#);
    let digest = curl(url, "digest", r#"{"bytes_per_second":5000}"#);
    eprintln!("listening on {url}");
    eprintln!("\nTry it: a call with progress,\n\n{search}");
    eprintln!("\nand a long one, to be interrupted with Ctrl-C:\n\n{digest}");
    eprintln!(
        "\nFor the configuration of a client that connects:\n\n{}",
        connects(url)
    );
    eprintln!(
        "\nor of one that starts the server itself:\n\n{}\n",
        starts(root)
    );
}

/// Writes the command that calls a tool, with all headers that the protocol demands.
fn curl(url: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"curl -N {url} \
  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H 'Mcp-Name: {tool}' \
  -d '{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},
       "_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
       "io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":1}}}}}}'"#
    )
}

fn connects(url: &str) -> String {
    json!({ "mcpServers": { "files": { "type": "http", "url": url } } }).to_string()
}

fn starts(root: &Root) -> String {
    let program = env::current_exe().unwrap_or("files".into());
    let (program, dir) = (program.to_string_lossy(), root.path().to_string_lossy());
    let files = json!({ "command": program, "args": [dir, "--stdio"] });
    json!({ "mcpServers": { "files": files } }).to_string()
}
