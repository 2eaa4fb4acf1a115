//! Prompts: with arguments, which clients may complete; with resources and pictures; and with questions.

use smol_mcp::protocol::{
    Completion, CompletionRequest, Content, PromptArgument, PromptInfo, PromptMessage,
    PromptResult, ResourceContents,
};
use smol_mcp::{Arguments, Context, HandlerError, Prompt};

use crate::{asks, content};

pub(crate) fn all() -> [Prompt; 5] {
    let argument = |name, description| PromptArgument::required(name).description(description);
    [
        Prompt::new(
            PromptInfo::new("test_simple_prompt").description("A prompt without arguments"),
            |_, _| async { PromptMessage::user("This is a simple prompt for testing.") },
        ),
        Prompt::new(
            PromptInfo::new("test_prompt_with_arguments")
                .description("A prompt with two arguments")
                .argument(argument("arg1", "Begins the text"))
                .argument(argument("arg2", "Ends the text")),
            with_arguments,
        ),
        Prompt::new(
            PromptInfo::new("test_prompt_with_embedded_resource")
                .description("A prompt about a resource, which comes with it")
                .argument(argument("resourceUri", "The resource")),
            with_resource,
        ),
        Prompt::new(
            PromptInfo::new("test_prompt_with_image").description("A prompt about a picture"),
            |_, _| async {
                PromptResult::user(Content::image(content::DOT, "image/png"))
                    .message(PromptMessage::user("What is this?"))
            },
        ),
        Prompt::new(
            PromptInfo::new("test_input_required_result_prompt")
                .description("A prompt that asks the person first"),
            after_a_question,
        ),
    ]
}

/// Required arguments are there, or the client was told so before.
async fn with_arguments(arguments: Arguments, _: Context) -> PromptMessage {
    PromptMessage::user(format!(
        "Prompt with arguments: arg1='{}', arg2='{}'",
        arguments["arg1"], arguments["arg2"]
    ))
}

async fn with_resource(arguments: Arguments, _: Context) -> Vec<PromptMessage> {
    let resource = ResourceContents::text(
        &arguments["resourceUri"],
        "Embedded resource content for testing.",
    );
    vec![
        PromptMessage::user(Content::resource(resource.mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn after_a_question(_: Arguments, cx: Context) -> Result<PromptMessage, HandlerError> {
    let context = asks::text(&cx, "user_context", "What is it about?", "context").await?;
    Ok(PromptMessage::user(format!("Write about {context}.")))
}

/// Completes any argument of any prompt by the same few words.
pub(crate) async fn complete(
    request: CompletionRequest,
    _: Context,
) -> Result<Completion, HandlerError> {
    let words = ["paris", "park", "party", "test", "testing"];
    Ok(Completion::new(
        words
            .into_iter()
            .filter(|word| word.starts_with(&request.value)),
    ))
}
