//! What a tool may return: text, pictures, sound, resources, several of these, data; and how it fails.

use serde::Serialize;
use serde_json::{Value, json};
use smol_mcp::protocol::{Content, ResourceContents, ResourceInfo, ToolAnnotations};
use smol_mcp::{Builder, HandlerError, NoInput, Structured, Tool};

use crate::resources;

/// A picture of one pixel.
pub(crate) const DOT: &[u8] = include_bytes!("dot.png");

/// A twentieth of a second of sound.
const BEEP: &[u8] = include_bytes!("beep.wav");

pub(crate) fn add(builder: Builder) -> Builder {
    let tools = [
        // The first tool of all: one that takes nothing.
        Tool::new("test_simple_text", simple_text).description("Returns text"),
        Tool::new("test_image_content", image).description("Returns a picture"),
        Tool::new("test_audio_content", audio).description("Returns a sound"),
        Tool::new("test_embedded_resource", embedded)
            .description("Returns a resource with its contents"),
        Tool::new("test_resource_link", link).description("Returns where to read a resource"),
        Tool::new("test_multiple_content_types", several)
            .description("Returns text, a picture and a resource"),
        Tool::new("test_structured_content", structured)
            .description("Returns data, and the same as text")
            .output_schema_unchecked(reading_schema()),
        Tool::new("test_error_handling", failing).description("Fails, with a text for the model"),
        Tool::new("test_unexpected_error", broken)
            .description("Fails, and keeps the reason from the client"),
    ];
    let harmless = ToolAnnotations::default().read_only(true).open_world(false);
    tools.into_iter().fold(builder, |builder, tool| {
        builder.tool(tool.annotations(harmless.clone()))
    })
}

async fn simple_text(_: NoInput) -> &'static str {
    "This is a simple text response for testing."
}

async fn image(_: NoInput) -> Content {
    Content::image(DOT, "image/png")
}

async fn audio(_: NoInput) -> Content {
    Content::audio(BEEP, "audio/wav")
}

async fn embedded(_: NoInput) -> Content {
    let text = "This is an embedded resource content.";
    Content::resource(
        ResourceContents::text("test://embedded-resource", text).mime_type("text/plain"),
    )
}

async fn link(_: NoInput) -> Content {
    Content::resource_link(
        ResourceInfo::new(resources::STATIC_TEXT, "static-text").mime_type("text/plain"),
    )
}

async fn several(_: NoInput) -> Vec<Content> {
    let data = r#"{"test":"data","value":123}"#;
    let resource =
        ResourceContents::text("test://mixed-content-resource", data).mime_type("application/json");
    vec![
        Content::text("Multiple content types test:"),
        Content::image(DOT, "image/png"),
        Content::resource(resource),
    ]
}

#[derive(Serialize)]
struct Reading {
    sensor: &'static str,
    celsius: f64,
}

/// Nothing checks here that the type fits the schema; the features `schemars` and `validate` do.
fn reading_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "sensor": { "type": "string" }, "celsius": { "type": "number" } },
        "required": ["sensor", "celsius"],
    })
}

async fn structured(_: NoInput) -> Structured<Reading> {
    Structured(Reading {
        sensor: "roof",
        celsius: 21.5,
    })
}

async fn failing(_: NoInput) -> Result<(), HandlerError> {
    Err(HandlerError::public(
        "This tool intentionally returns an error for testing.",
    ))
}

/// An error passed on by `?` does not reach the client; `Builder::on_error` and the log tell the operator.
async fn broken(_: NoInput) -> Result<String, HandlerError> {
    let number: u32 = "no number".parse()?;
    Ok(number.to_string())
}
