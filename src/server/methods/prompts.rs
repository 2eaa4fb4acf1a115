//! Prompts: `prompts/get` and the list.

use std::sync::Arc;

use crate::era::{self, Method, Refusal};
use crate::protocol::jsonrpc::{self, RpcError};
use crate::server::arrival::{Arrival, Terms};
use crate::server::dispatch::Intake;
use crate::server::prompts::{Arguments, Prompt};

pub(super) fn serve(arrival: &Arrival<'_>, terms: Terms) -> Result<Intake, Refusal> {
    let version = terms.version;
    if terms.method == Method::ListPrompts {
        return arrival
            .list(arrival.server().prompts.items(), version)
            .map_err(|error| era::adapt(version, error));
    }
    let (prompt, name, arguments) = find(arrival).map_err(|error| era::adapt(version, error))?;
    let get = Box::new(move |cx| prompt.get(arguments, cx));
    arrival.start(terms, name.into(), get)
}

/// Finds the prompt, and checks its arguments against its definition.
fn find(arrival: &Arrival<'_>) -> Result<(Arc<Prompt>, String, Arguments), RpcError> {
    let name: String = arrival.params.required("name")?;
    let arguments: Arguments = arrival.params.optional("arguments")?.unwrap_or_default();
    let prompt = arrival.server().prompts.get(&name).ok_or_else(|| {
        RpcError::invalid_params(format!("Unknown prompt: {}", jsonrpc::excerpt(&name)))
    })?;
    prompt.check_arguments(&arguments)?;
    Ok((prompt, name, arguments))
}
