//! Asking in the middle of a call: the user, the client's model, or the client itself.
//!
//! From 2026-07-28 on the handlers run again from the top for each round of questions, and find the answers so far; before
//! that they wait. None of them has to know which.

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::elicitation::Format;
use smol_mcp::protocol::{
    CreateMessage, CreateMessageResult, Elicit, Field, FormSchema, Roots, SamplingMessage,
};
use smol_mcp::{Ask, Builder, Context, HandlerError, NoInput, Tool};

pub(crate) fn add(builder: Builder) -> Builder {
    let takes = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    builder
        .tool(
            Tool::new("test_sampling", sampling)
                .description("Passes a prompt to the client's model")
                .input_schema(takes("prompt")),
        )
        .tool(
            Tool::new("test_elicitation", elicitation)
                .description("Asks the person for the name and the address of an account")
                .input_schema(takes("message")),
        )
        .tool(
            Tool::new("test_input_required_result_elicitation", greet)
                .description("Asks the person for their name"),
        )
        .tool(
            Tool::new("test_streaming_elicitation", greet)
                .description("Asks the person for their name, too"),
        )
        .tool(
            Tool::new("test_input_required_result_sampling", capital)
                .description("Asks the client's model"),
        )
        .tool(
            Tool::new("test_missing_capability", capital)
                .description("Asks the client's model, too"),
        )
        .tool(
            Tool::new("test_input_required_result_list_roots", roots)
                .description("Asks the client where it may work"),
        )
        .tool(
            Tool::new("test_input_required_result_capabilities", what_it_can)
                .description("Asks whoever the client says can be asked"),
        )
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
        .required("email", Field::text().format(Format::Email));
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

/// A client that has no model is told so by `?`, with the error of the protocol.
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

/// Asks the user for one line of text.
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

pub(crate) fn name() -> Elicit {
    Elicit::form(
        "What is your name?",
        FormSchema::new().required("name", Field::text()),
    )
}

pub(crate) fn say(prompt: &str) -> CreateMessage {
    CreateMessage::new(100).message(SamplingMessage::user(prompt))
}

pub(crate) fn words(answer: &CreateMessageResult) -> String {
    let words: Vec<_> = answer
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .collect();
    words.join(" ")
}

pub(crate) fn places(roots: &Roots) -> String {
    let places: Vec<_> = roots.roots.iter().map(|root| root.uri.as_str()).collect();
    format!("{} roots: {}", places.len(), places.join(", "))
}
