//! A tool that asks before it acts, in every revision of the protocol.
//!
//! ```sh
//! cargo run --example asking
//! ```

use std::error::Error;

use serde::{Deserialize, Serialize};
use serde_json::json;
use smol_mcp::protocol::{Elicit, Field, FormSchema};
use smol_mcp::{Context, HandlerError, Server, Tool, stdio};

#[derive(Deserialize)]
struct Order {
    dish: String,
}

/// State that is kept from one round of questions to the next.
#[derive(Serialize, Deserialize)]
struct Reserved {
    table: u32,
}

/// Runs from its top in each round, so the state guards what must happen only once.
async fn order(input: Order, cx: Context) -> Result<String, HandlerError> {
    let reserved = match cx.state() {
        Some(reserved) => reserved,
        None => Reserved {
            table: free_table(),
        },
    };
    cx.set_state(&reserved)?;

    let form = FormSchema::new().required("guests", Field::integer().minimum(1).maximum(8));
    let question = format!("How many portions of {}?", input.dish);
    let answer = cx.elicit("guests", Elicit::form(question, form)).await?;
    if !answer.is_accepted() {
        return Ok("Nothing was ordered.".to_owned());
    }

    let form = FormSchema::new().optional("wish", Field::text().max_length(80));
    let wishes = cx.elicit("wish", Elicit::form("Any wishes?", form)).await?;
    let wish = wishes.content.get("wish").and_then(|wish| wish.as_str());
    Ok(format!(
        "{} × {} for table {}, {}.",
        answer.content["guests"],
        input.dish,
        reserved.table,
        wish.unwrap_or("as it comes")
    ))
}

fn free_table() -> u32 {
    7
}

fn main() -> Result<(), Box<dyn Error>> {
    let order = Tool::new("order", order)
        .description("Orders a dish, after a question or two")
        .input_schema(json!({
            "type": "object",
            "properties": { "dish": { "type": "string" } },
            "required": ["dish"],
        }));
    let server = Server::builder("kitchen", env!("CARGO_PKG_VERSION"))
        .tool(order)
        .build()?;
    smol::block_on(stdio::serve(&server))?;
    Ok(())
}
