//! Telling clients that something has changed: a list, or a resource that they have subscribed to.
//!
//! `Server::add_tool` and similar methods tell clients by themselves. Here nothing really changes.

use smol_mcp::{Builder, Context, List, NoInput, Tool};

use crate::resources;

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("test_trigger_tool_change", |_: NoInput, cx| {
                changed(List::Tools, cx)
            })
            .description("Tells clients that the tools have changed"),
        )
        .tool(
            Tool::new("test_trigger_prompt_change", |_: NoInput, cx| {
                changed(List::Prompts, cx)
            })
            .description("Tells clients that the prompts have changed"),
        )
        .tool(
            Tool::new("test_trigger_resource_list_change", |_: NoInput, cx| {
                changed(List::Resources, cx)
            })
            .description("Tells clients that the list of resources has changed"),
        )
        .tool(
            Tool::new("test_trigger_resource_change", updated).description(
                "Tells those who have subscribed to it that the watched resource has changed",
            ),
        )
}

async fn changed(list: List, cx: Context) -> &'static str {
    cx.server().list_changed(list);
    "told"
}

async fn updated(_: NoInput, cx: Context) -> &'static str {
    cx.server().resource_updated(resources::WATCHED);
    "told"
}
