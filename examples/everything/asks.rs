//! Asking the client in the middle of a call: the person behind it, its model, or the client itself.
//!
//! The handlers read like straight code. From 2026-07-28 on they run again from their tops for each round of questions, and
//! find what has been answered; before that they wait. None has to know.

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::{
    CreateMessage, CreateMessageResult, Elicit, Field, FormSchema, Roots, SamplingMessage,
};
use smol_mcp::{Ask, Context, HandlerError, NoInput, Tool};

pub(crate) fn tools() -> Vec<Tool> {
    let prompt = json!({ "type": "object", "properties": { "prompt": { "type": "string" } }, "required": ["prompt"] });
    let message = json!({ "type": "object", "properties": { "message": { "type": "string" } }, "required": ["message"] });
    vec![
        Tool::new("test_sampling", sampling)
            .description("Passes a prompt to the client's model")
            .input_schema(prompt),
        Tool::new("test_elicitation", elicitation)
            .description("Asks the person for a name and an address, with a message")
            .input_schema(message),
        Tool::new("test_input_required_result_elicitation", greet)
            .description("Asks the person for their name"),
        Tool::new("test_streaming_elicitation", greet)
            .description("Asks the person for their name, too"),
        Tool::new("test_input_required_result_sampling", capital)
            .description("Asks the client's model"),
        Tool::new("test_missing_capability", capital).description("Asks the client's model, too"),
        Tool::new("test_input_required_result_list_roots", roots)
            .description("Asks the client where it may work"),
        Tool::new("test_input_required_result_capabilities", what_it_can)
            .description("Asks whoever the client says can be asked"),
        Tool::new("test_input_required_result_multiple_inputs", at_once)
            .description("Asks the person, the model and the client at once"),
        Tool::new("test_input_required_result_request_state", stateful)
            .description("Keeps something while the person is asked"),
        Tool::new("test_input_required_result_tampered_state", stateful)
            .description("The same: what is kept cannot be changed on its way"),
        Tool::new("test_input_required_result_multi_round", rounds)
            .description("Asks the person twice, the second time with the first answer"),
    ]
}

#[derive(Deserialize)]
struct Sampling {
    prompt: String,
}

async fn sampling(input: Sampling, cx: Context) -> Result<String, HandlerError> {
    let answer = cx.sample("answer", say(&input.prompt)).await?;
    Ok(format!("LLM response: {}", words(&answer)))
}

#[derive(Deserialize)]
struct Elicitation {
    message: String,
}

async fn elicitation(input: Elicitation, cx: Context) -> Result<String, HandlerError> {
    let form = FormSchema::new()
        .required(
            "username",
            Field::text().description("The name of the account"),
        )
        .required("email", Field::text().description("Where to write to"));
    let answer = cx
        .elicit("account", Elicit::form(input.message, form))
        .await?;
    // The content is empty unless the person has accepted.
    Ok(format!(
        "{:?}: {}",
        answer.action,
        serde_json::to_string(&answer.content)?
    ))
}

async fn greet(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let name = text(&cx, "user_name", "What is your name?", "name").await?;
    Ok(format!("Hello, {name}!"))
}

/// A client that has no model is told so by `?`, in the way of the protocol.
async fn capital(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let answer = cx
        .sample("capital", say("What is the capital of France?"))
        .await?;
    Ok(words(&answer))
}

async fn roots(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    Ok(places(&cx.roots("client_roots").await?))
}

async fn what_it_can(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let (client, mut ask) = (cx.client_capabilities(), Ask::new());
    if client.elicitation_form() {
        ask = ask.elicit("name", name());
    }
    if client.sampling() {
        ask = ask.sample("capital", say("What is the capital of France?"));
    }
    let answers = cx.ask(ask).await?;
    let named = answers
        .elicit("name")
        .is_some_and(|answer| answer.is_accepted());
    let capital = answers.sample("capital").map(words);
    Ok(format!(
        "named: {named}, the model: {}",
        capital.unwrap_or_default()
    ))
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

/// The state is with the client from round to round, sealed: it comes back as it was, or the request is refused.
async fn stateful(_: NoInput, cx: Context) -> Result<String, HandlerError> {
    let round: u32 = cx.state().unwrap_or(1);
    cx.set_state(&(round + 1))?;
    let form = FormSchema::new().required("ok", Field::boolean());
    cx.elicit("confirm", Elicit::form("Is this right?", form))
        .await?;
    Ok(format!("state-ok, round {round}"))
}

/// Answers of earlier rounds need not be kept by the handler; the state is for what it has found out itself.
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

/// Asks the person for one line of text.
pub(crate) async fn text(
    cx: &Context,
    key: &str,
    message: &str,
    field: &str,
) -> Result<String, HandlerError> {
    let form = FormSchema::new().required(field, Field::text());
    let answer = cx.elicit(key, Elicit::form(message, form)).await?;
    match answer.content.get(field).and_then(|text| text.as_str()) {
        Some(text) => Ok(text.to_owned()),
        None => Err(HandlerError::public("The person gave no answer.")),
    }
}

fn name() -> Elicit {
    Elicit::form(
        "What is your name?",
        FormSchema::new().required("name", Field::text()),
    )
}

fn say(prompt: &str) -> CreateMessage {
    CreateMessage::new(100).message(SamplingMessage::user(prompt))
}

fn words(answer: &CreateMessageResult) -> String {
    let words: Vec<_> = answer
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    words.join(" ")
}

fn places(roots: &Roots) -> String {
    let places: Vec<_> = roots.roots.iter().map(|root| root.uri.as_str()).collect();
    format!("{} roots: {}", places.len(), places.join(", "))
}
