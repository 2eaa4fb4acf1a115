//! `completion/complete`.

use crate::era::{self, Refusal};
use crate::protocol::jsonrpc::{self, RpcError};
use crate::protocol::{CompletionRef, CompletionRequest};
use crate::server::Inner;
use crate::server::arrival::{Arrival, Terms};
use crate::server::dispatch::Intake;

pub(super) fn serve(arrival: &Arrival<'_>, terms: Terms) -> Result<Intake, Refusal> {
    let (server, version) = (arrival.server(), terms.version);
    let request = read(arrival).map_err(|error| era::adapt(version, error))?;
    let Some(completer) = server.completer.clone() else {
        let error = RpcError::method_not_found(terms.method.as_str());
        return Err(era::adapt(version, error));
    };
    let subject = request.name.as_str().into();
    let complete = Box::new(move |cx| completer(request, cx));
    arrival.start(terms, subject, complete)
}

fn read(arrival: &Arrival<'_>) -> Result<CompletionRequest, RpcError> {
    let request: CompletionRequest = arrival.params.all()?;
    match unknown(arrival.server(), &request) {
        None => Ok(request),
        Some((what, name)) => Err(RpcError::invalid_params(format!(
            "Unknown {what}: {}",
            jsonrpc::excerpt(name)
        ))),
    }
}

/// Finds what the server does not have of that for which a completion is asked.
fn unknown<'a>(server: &Inner, request: &'a CompletionRequest) -> Option<(&'static str, &'a str)> {
    match &request.reference {
        CompletionRef::Prompt(reference) => {
            let Some(prompt) = server.prompts.get(&reference.name) else {
                return Some(("prompt", &reference.name));
            };
            let mut arguments = prompt.info.arguments.iter();
            let known = arguments.any(|argument| argument.name == request.name);
            (!known).then_some(("argument", &*request.name))
        }
        CompletionRef::Resource(reference) => {
            let uri = &reference.uri;
            let known = server.templates.get(uri).is_some()
                || server.resources.get(uri).is_some()
                || server
                    .templates
                    .find(|template| template.variables(uri))
                    .is_some();
            (!known).then_some(("resource", &**uri))
        }
    }
}
