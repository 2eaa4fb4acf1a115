//! What handlers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use smol_mcp::protocol::{
    Completion, CompletionRequest, PromptArgument, PromptInfo, PromptResult, ResourceContents,
    ResourceInfo,
};
use smol_mcp::testing::Client;
use smol_mcp::{
    Arguments, Context, HandlerError, Next, NoInput, Prompt, Resource, Tool, with_state,
};

use crate::common::builder;

#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn up(&self) -> String {
        self.0.fetch_add(1, Ordering::Relaxed).to_string()
    }

    async fn tool(self, _: NoInput, _: Context) -> String {
        self.up()
    }

    fn blocking(self, _: NoInput, _: Context) -> String {
        self.up()
    }

    async fn resource(self, uri: String, _: Context) -> ResourceContents {
        ResourceContents::text(uri, self.up())
    }
}

#[test]
fn handlers_of_every_kind_share_what_they_were_given() {
    let count = Count::default();
    let prompt = async |count: Count, _: Arguments, _| PromptResult::user(count.up());
    let completion = async |count: Count, _: CompletionRequest, _| {
        Ok::<_, HandlerError>(Completion::new([count.up()]))
    };
    let server = builder()
        .tool(Tool::new("t", with_state(&count, Count::tool)))
        .tool(Tool::blocking("b", with_state(&count, Count::blocking)))
        .resource(Resource::new(
            ResourceInfo::new("r:///", "r"),
            with_state(&count, Count::resource),
        ))
        .prompt(Prompt::new(
            PromptInfo::new("p").argument(PromptArgument::optional("a")),
            with_state(&count, prompt),
        ))
        .completion(with_state(&count, completion))
        .around(with_state(&count, async |count: Count, _, next: Next| {
            count.up();
            next.run().await
        }))
        .build()
        .unwrap();
    smol::block_on(async {
        let client = Client::new(&server);
        for (method, params) in [
            ("tools/call", json!({ "name": "t" })),
            ("tools/call", json!({ "name": "b" })),
            ("resources/read", json!({ "uri": "r:///" })),
            ("prompts/get", json!({ "name": "p" })),
            (
                "completion/complete",
                json!({
                    "ref": { "type": "ref/prompt", "name": "p" },
                    "argument": { "name": "a", "value": "" },
                }),
            ),
        ] {
            let before = count.0.load(Ordering::Relaxed);
            let result = client.request(method, params).await.unwrap().to_string();
            let counted = format!("\"{}\"", before + 1);
            assert!(result.contains(&counted), "{method}: {result}");
        }
    });
    assert_eq!(count.0.load(Ordering::Relaxed), 10);
}
