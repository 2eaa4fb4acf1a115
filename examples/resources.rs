//! Resources and prompts: notes that clients list, read, watch and complete, and a prompt that uses them.
//!
//! ```sh
//! cargo run --example resources
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::json;
use smol_mcp::protocol::{
    Completion, PromptArgument, PromptInfo, PromptResult, ResourceContents, ResourceInfo,
    ResourceTemplateInfo,
};
use smol_mcp::{Context, HandlerError, Prompt, Resource, ResourceTemplate, Server, Tool, stdio};

/// Notes by name. Clones are the same notes.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

impl Notes {
    fn with<T>(&self, look: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(&self, name: &str) -> Option<String> {
        self.with(|notes| notes.get(name).cloned())
    }
}

#[derive(Deserialize)]
struct Write {
    name: String,
    text: String,
}

/// All names, at one address.
fn index(notes: Notes) -> Resource {
    let info = ResourceInfo::new("note-index:///", "index").mime_type("text/plain");
    Resource::new(info, move |uri, _| {
        let names = notes.with(|notes| notes.keys().cloned().collect::<Vec<_>>());
        async move { ResourceContents::text(uri, names.join("\n")) }
    })
}

/// Each note, at an address with its name. `None` says that there is no such note.
fn note(notes: Notes) -> Result<ResourceTemplate, smol_mcp::Error> {
    let info = ResourceTemplateInfo::new("note:///{name}", "note").mime_type("text/plain");
    ResourceTemplate::new(info, move |uri, variables, _| {
        let note = notes.get(&variables["name"]);
        async move { note.map(|text| ResourceContents::text(uri, text)) }
    })
}

fn write(notes: Notes) -> Tool {
    let write = move |input: Write, cx: Context| {
        notes.with(|notes| notes.insert(input.name.clone(), input.text));
        cx.server()
            .resource_updated(&format!("note:///{}", input.name));
        cx.server().resource_updated("note-index:///");
        async move { format!("wrote {}", input.name) }
    };
    Tool::new("write", write)
        .description("Writes a note")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "pattern": "^[a-z]+$" },
                "text": { "type": "string" },
            },
            "required": ["name", "text"],
        }))
}

fn summary(notes: Notes) -> Prompt {
    let info = PromptInfo::new("summary")
        .description("Asks for a summary of a note")
        .argument(PromptArgument::required("name"));
    Prompt::new(info, move |arguments, _| {
        let text = notes.get(&arguments["name"]);
        async move {
            let text = text.ok_or_else(|| HandlerError::public("There is no such note."))?;
            Ok::<_, HandlerError>(PromptResult::user(format!(
                "Summarise in a sentence:\n\n{text}"
            )))
        }
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let notes = Notes::default();
    notes.with(|notes| notes.insert("milk".into(), "Buy milk.".into()));
    let names = notes.clone();
    let server = Server::builder("notes", env!("CARGO_PKG_VERSION"))
        .subscriptions()
        .tool(write(notes.clone()))
        .resource(index(notes.clone()))
        .resource_template(note(notes.clone())?)
        .prompt(summary(notes))
        // Both the prompt and the template have one argument, the name.
        .completion(move |request, _| {
            let fits = |name: &&String| name.starts_with(&request.value);
            let fitting: Vec<_> = names.with(|notes| notes.keys().filter(fits).cloned().collect());
            async move { Ok(Completion::new(fitting)) }
        })
        .build()?;
    smol::block_on(stdio::serve(&server))?;
    Ok(())
}
