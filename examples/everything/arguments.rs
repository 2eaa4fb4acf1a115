//! Arguments of tools: schemas that say more than types, and arguments that HTTP clients repeat in headers.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use smol_mcp::{Builder, Tool};

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("json_schema_2020_12_tool", contact)
                .description("Takes a contact; its schema has conditions")
                .input_schema(contact_schema()),
        )
        .tool(
            Tool::new("test_x_mcp_header", region)
                .description("Takes a region, which is in the header Mcp-Param-Region too")
                .input_schema(json!({
                    "type": "object",
                    "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                })),
        )
}

/// Clients and their models get the schema as it is written below. Arguments are read as the type of the handler's
/// input, which may be as loose or as strict as you like.
async fn contact(contact: Map<String, Value>) -> String {
    format!("got {}", Value::Object(contact))
}

fn contact_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
struct Place {
    region: Option<String>,
}

/// A load balancer may have read the region from the header; the server has checked that the body has the same.
async fn region(place: Place) -> String {
    match place.region {
        Some(region) => format!("region: {region}"),
        None => "no region".to_owned(),
    }
}
