//! Prompts: with arguments, which clients may complete; with resources and pictures; and with questions.

use smol_mcp::protocol::{
    Completion, CompletionRequest, Content, PromptArgument, PromptInfo, PromptMessage,
    PromptResult, ResourceContents,
};
use smol_mcp::{Arguments, Builder, Context, HandlerError, Prompt};

use crate::{asks, content};

pub(crate) fn add(builder: Builder) -> Builder {
    let info = |name, description| PromptInfo::new(name).description(description);
    let argument = |name, description| PromptArgument::required(name).description(description);
    let simple = info("test_simple_prompt", "A prompt without arguments");
    let with_arguments = info("test_prompt_with_arguments", "A prompt with two arguments")
        .argument(argument("arg1", "Begins the text"))
        .argument(argument("arg2", "Ends the text"));
    let with_resource = info(
        "test_prompt_with_embedded_resource",
        "A prompt about a resource, which comes with it",
    )
    .argument(argument("resourceUri", "The resource"));
    let with_image = info("test_prompt_with_image", "A prompt about a picture");
    let asking = info(
        "test_input_required_result_prompt",
        "A prompt that asks the person first",
    );
    builder
        .prompt(Prompt::new(simple, |_, _| async {
            PromptMessage::user("This is a simple prompt for testing.")
        }))
        .prompt(Prompt::new(with_arguments, about_arguments))
        .prompt(Prompt::new(with_resource, about_resource))
        .prompt(Prompt::new(with_image, about_image))
        .prompt(Prompt::new(asking, after_a_question))
        .completion(complete)
}

/// Required arguments are there: a request without one was refused before.
async fn about_arguments(arguments: Arguments, _: Context) -> PromptMessage {
    PromptMessage::user(format!(
        "Prompt with arguments: arg1='{}', arg2='{}'",
        arguments["arg1"], arguments["arg2"]
    ))
}

async fn about_resource(arguments: Arguments, _: Context) -> Vec<PromptMessage> {
    let resource = ResourceContents::text(
        &arguments["resourceUri"],
        "Embedded resource content for testing.",
    );
    vec![
        PromptMessage::user(Content::resource(resource.mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

async fn about_image(_: Arguments, _: Context) -> PromptResult {
    PromptResult::user(Content::image(content::DOT, "image/png"))
        .message(PromptMessage::user("What is this?"))
}

async fn after_a_question(_: Arguments, cx: Context) -> Result<PromptMessage, HandlerError> {
    let context = asks::text(&cx, "user_context", "What is it about?", "context").await?;
    Ok(PromptMessage::user(format!("Write about {context}.")))
}

/// Completes any argument of any prompt with the same few words.
async fn complete(request: CompletionRequest, _: Context) -> Result<Completion, HandlerError> {
    let words = ["paris", "park", "party", "test", "testing"];
    Ok(Completion::new(
        words
            .into_iter()
            .filter(|word| word.starts_with(&request.value)),
    ))
}
