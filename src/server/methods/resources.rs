//! Resources and templates: `resources/read` and the two lists.

use std::sync::Arc;

use crate::era::{self, Method, Refusal};
use crate::server::arrival::{Arrival, Terms};
use crate::server::dispatch::Intake;

pub(super) fn serve(arrival: &Arrival<'_>, terms: Terms) -> Result<Intake, Refusal> {
    let (server, version) = (arrival.server(), terms.version);
    let items = match terms.method {
        Method::ListResources => server.resources.items(),
        Method::ListTemplates => server.templates.items(),
        _ => return read(arrival, terms),
    };
    arrival
        .list(items, version)
        .map_err(|error| era::adapt(version, error))
}

fn read(arrival: &Arrival<'_>, terms: Terms) -> Result<Intake, Refusal> {
    let (server, version) = (arrival.server(), terms.version);
    let uri: String = arrival
        .params
        .required("uri")
        .map_err(|error| era::adapt(version, error))?;
    let subject: Arc<str> = uri.as_str().into();
    if let Some(resource) = server.resources.get(&uri) {
        let read = Box::new(move |cx| resource.read(uri, cx));
        return arrival.start(terms, subject, read);
    }
    match server.templates.find(|template| template.variables(&uri)) {
        Some((template, variables)) => {
            let read = Box::new(move |cx| template.read(uri, variables, cx));
            arrival.start(terms, subject, read)
        }
        None => Err(era::adapt(version, era::resource_not_found(version, &uri))),
    }
}
