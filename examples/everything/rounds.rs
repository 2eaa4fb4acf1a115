//! Asking several questions: at once, or one after the other, with a state that is kept meanwhile.

use smol_mcp::protocol::{Elicit, Field, FormSchema};
use smol_mcp::{Ask, Builder, Context, HandlerError, NoInput, Tool};

use crate::asks::{name, places, say, text, words};

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("test_input_required_result_multiple_inputs", at_once)
                .description("Asks the person, the model and the client at once"),
        )
        .tool(
            Tool::new("test_input_required_result_request_state", stateful)
                .description("Keeps something while the person is asked"),
        )
        .tool(
            Tool::new("test_input_required_result_tampered_state", stateful)
                .description("The same: what is kept cannot be changed on its way"),
        )
        .tool(
            Tool::new("test_input_required_result_multi_round", rounds)
                .description("Asks the person twice, the second time with the first answer"),
        )
}

async fn at_once(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    cx.set_state(&"all at once")?;
    let ask = Ask::new()
        .elicit("user_name", name())
        .sample("greeting", say("Generate a greeting"))
        .roots("client_roots");
    let answers = cx.ask(ask).await?;
    let named = answers
        .elicit("user_name")
        .is_some_and(|answer| answer.is_accepted());
    let greeting = answers.sample("greeting").map(words);
    let places = answers.roots("client_roots").map(places);
    Ok(format!(
        "named: {named}, {}, {}",
        greeting.unwrap_or_default(),
        places.unwrap_or_default()
    ))
}

/// The client carries the state from round to round, sealed: it comes back unchanged, or the request is refused.
async fn stateful(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let round: u32 = cx.state().unwrap_or(1);
    cx.set_state(&(round + 1))?;
    let form = FormSchema::new().required("ok", Field::boolean());
    cx.elicit("confirm", Elicit::form("Is this right?", form))
        .await?;
    Ok(format!("state-ok, round {round}"))
}

/// The handler need not keep the answers of earlier rounds; the state is for what it has found out itself.
async fn rounds(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    cx.set_state(&"named")?;
    let name = text(&cx, "step1", "Step 1: what is your name?", "name").await?;
    cx.set_state(&"coloured")?;
    let color = text(
        &cx,
        "step2",
        &format!("Step 2: {name}, what is your favourite colour?"),
        "color",
    )
    .await?;
    Ok(format!("{name} likes {color}."))
}
