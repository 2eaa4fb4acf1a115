//! Resources: text, bytes, a family of them, and one to subscribe to.

use serde_json::json;
use smol_mcp::protocol::{ResourceContents, ResourceInfo, ResourceTemplateInfo};
use smol_mcp::{Builder, Context, Error, Resource, ResourceTemplate, Variables};

use crate::content;

pub(crate) const STATIC_TEXT: &str = "test://static-text";
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn add(builder: Builder) -> Result<Builder, Error> {
    let static_text = ResourceInfo::new(STATIC_TEXT, "static-text")
        .title("Text")
        .description("A text that never changes")
        .mime_type("text/plain");
    let static_binary = ResourceInfo::new("test://static-binary", "static-binary")
        .title("Picture")
        .description("A picture that never changes")
        .mime_type("image/png")
        .size(content::DOT.len() as u64);
    let watched = ResourceInfo::new(WATCHED, "watched-resource")
        .title("Watched text")
        .description("A text to subscribe to; test_trigger_resource_change tells of changes")
        .mime_type("text/plain");
    let template = ResourceTemplateInfo::new("test://template/{id}/data", "template")
        .title("Data by number")
        .description("Data of whatever id")
        .mime_type("application/json");
    let builder = builder
        .resource(Resource::new(static_text, |uri, _| {
            text(uri, "This is the content of the static text resource.")
        }))
        .resource(Resource::new(static_binary, picture))
        .resource(Resource::new(watched, |uri, _| {
            text(uri, "This is what the watched resource holds.")
        }))
        .resource_template(ResourceTemplate::new(template, data)?);
    Ok(builder)
}

async fn text(uri: String, text: &str) -> ResourceContents {
    ResourceContents::text(uri, text).mime_type("text/plain")
}

async fn picture(uri: String, _: Context) -> ResourceContents {
    ResourceContents::blob(uri, content::DOT).mime_type("image/png")
}

async fn data(uri: String, variables: Variables, _: Context) -> ResourceContents {
    let id = &variables["id"];
    let data = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    ResourceContents::text(uri, data.to_string()).mime_type("application/json")
}
