//! Resources: text, bytes, a family of them, and one to subscribe to.

use smol_mcp::protocol::{ResourceContents, ResourceInfo, ResourceTemplateInfo};
use smol_mcp::{Context, Error, Resource, ResourceTemplate, Variables};

use crate::content;

pub(crate) const STATIC_TEXT: &str = "test://static-text";
pub(crate) const WATCHED: &str = "test://watched-resource";

pub(crate) fn all() -> [Resource; 3] {
    [
        Resource::new(
            ResourceInfo::new(STATIC_TEXT, "static-text")
                .title("Text")
                .description("A text that never changes")
                .mime_type("text/plain"),
            |uri, _| text(uri, "This is the content of the static text resource."),
        ),
        Resource::new(
            ResourceInfo::new("test://static-binary", "static-binary")
                .title("Picture")
                .description("A picture that never changes")
                .mime_type("image/png")
                .size(content::DOT.len() as u64),
            |uri, _| async { ResourceContents::blob(uri, content::DOT).mime_type("image/png") },
        ),
        Resource::new(
            ResourceInfo::new(WATCHED, "watched-resource")
                .title("Watched text")
                .description("A text to subscribe to; the tool test_trigger_resource_change tells of a change")
                .mime_type("text/plain"),
            |uri, _| text(uri, "Watched resource content"),
        ),
    ]
}

async fn text(uri: String, text: &str) -> ResourceContents {
    ResourceContents::text(uri, text).mime_type("text/plain")
}

pub(crate) fn template() -> Result<ResourceTemplate, Error> {
    let info = ResourceTemplateInfo::new("test://template/{id}/data", "template")
        .title("Data by number")
        .description("Data of whatever id")
        .mime_type("application/json");
    ResourceTemplate::new(info, data)
}

async fn data(uri: String, variables: Variables, _: Context) -> ResourceContents {
    let id = &variables["id"];
    let data =
        serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
    ResourceContents::text(uri, data.to_string()).mime_type("application/json")
}
