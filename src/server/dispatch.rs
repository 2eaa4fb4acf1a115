//! Inbound messages: what each one is, and who takes it. A request goes on as an [`Arrival`].

use std::sync::Arc;

use serde_json::value::RawValue;

use super::arrival::Arrival;
use super::call::{Answer, Call};
use super::journal;
use super::peer::{Kind, Peer};
use super::{Cancelled, Inner, Principal};
use crate::era::{self, Around, Field, Mirrored, Refusal, Route};
use crate::executor::Spawner;
use crate::protocol::jsonrpc::{
    self, Id, Malformed, Message, Notification, Params, Request, Response, RpcError,
};
use crate::signal::{Reason, Signal};

/// What came of an inbound message.
pub(crate) enum Intake {
    /// There is nothing to say.
    Silent,
    /// It is answered already.
    Answer(Answer),
    /// A handler has begun, and may have ended. The call is [held](Call::hold): whoever takes it looks at it.
    Call(Arc<Call>),
}

/// What a message comes with.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    /// Fires when the transport does not wait for the answer any more.
    pub(crate) signal: &'a Signal,
    /// Where a handler runs that waits.
    pub(crate) spawner: &'a Spawner,
}

/// Takes any message of a peer that has one stream.
pub(crate) fn receive(peer: &Arc<Peer>, bytes: &[u8], caller: Caller<'_>) -> Intake {
    take(peer, jsonrpc::parse(bytes), |request| {
        let around = Around::Stream {
            legacy: peer.legacy_version(),
        };
        match era::route(&request, around, &peer.server.offers) {
            Ok(route) => run(peer, request, route, None, caller),
            Err(refusal) => refuse(&request.method, &request.id, &refusal),
        }
    })
}

/// Takes a line that holds an array, of a peer whose revision knows such. Each element is answered for itself.
pub(crate) fn receive_batch(
    peer: &Arc<Peer>,
    bytes: &[u8],
    caller: Caller<'_>,
    mut each: impl FnMut(Intake),
) {
    let around = Around::Stream {
        legacy: peer.legacy_version(),
    };
    match jsonrpc::parse(bytes) {
        Ok(Message::Batch(elements)) => match refuse_length(&peer.server, elements.len()) {
            Some(answer) => each(Intake::Answer(answer)),
            None => batch(peer, &elements, around, caller, each),
        },
        Ok(_) => each(Intake::Answer(refuse_batch())),
        Err(malformed) => each(refuse_malformed(malformed)),
    }
}

/// Takes the elements of a batch, for as long as what is answered at once fits into a message. The requests behind that
/// are refused: an answer may be many times as long as what it answers.
pub(crate) fn batch(
    peer: &Arc<Peer>,
    elements: &[&RawValue],
    around: Around<'_>,
    caller: Caller<'_>,
    mut take: impl FnMut(Intake),
) {
    let mut room = peer.server.limits.message_bytes;
    for text in elements {
        let intake = element(peer, text.get(), around, caller, room > 0);
        if let Intake::Answer(answer) = &intake {
            room = room.saturating_sub(answer.body.len());
        }
        take(intake);
    }
}

/// Takes one element of a batch. None of them opens a session.
fn element(
    peer: &Arc<Peer>,
    text: &str,
    around: Around<'_>,
    caller: Caller<'_>,
    has_room: bool,
) -> Intake {
    take(peer, jsonrpc::parse_str(text), |request| {
        if !has_room {
            let error = RpcError::new(RpcError::INTERNAL_ERROR, "Too much for one batch");
            return refuse(&request.method, &request.id, &Refusal::new(503, error));
        }
        let element = match around {
            Around::Http { headers, .. } => Some(Element(headers)),
            Around::Stream { .. } => None,
        };
        let headers = element.as_ref().map(|element| element as &dyn Mirrored);
        match era::route(&request, around, &peer.server.offers) {
            Ok(route @ Route::Legacy(..)) => run(peer, request, route, headers, caller),
            Ok(Route::Handshake | Route::Modern(_)) => {
                let error = RpcError::invalid_request("Invalid request: not in a batch");
                refuse(&request.method, &request.id, &Refusal::new(400, error))
            }
            Err(refusal) => refuse(&request.method, &request.id, &refusal),
        }
    })
}

/// The surroundings of an element of a batch: no header mirrors it, and an array has room for its answer alone.
struct Element<'a>(&'a dyn Mirrored);

impl Mirrored for Element<'_> {
    fn principal(&self) -> Option<&Principal> {
        self.0.principal()
    }

    fn field(&self, _: &str) -> Field<'_> {
        Field::new(std::iter::empty())
    }

    fn takes_messages(&self) -> bool {
        false
    }
}

/// Takes one message, of which only a request is taken by the caller.
fn take<'a>(
    peer: &Arc<Peer>,
    message: Result<Message<'a>, Malformed>,
    request: impl FnOnce(Request<'a>) -> Intake,
) -> Intake {
    match message {
        Ok(Message::Request(message)) => request(message),
        other => take_other(peer, other),
    }
}

#[inline(never)]
fn take_other(peer: &Arc<Peer>, message: Result<Message<'_>, Malformed>) -> Intake {
    match message {
        Ok(Message::Notification(notification)) => {
            notify(peer, &notification);
            Intake::Silent
        }
        Ok(Message::Response(response)) => {
            respond(peer, response);
            Intake::Silent
        }
        // A request has been taken by the caller.
        Ok(Message::Batch(_) | Message::Request(_)) => Intake::Answer(refuse_batch()),
        Err(malformed) => refuse_malformed(malformed),
    }
}

/// Takes a request whose route is known.
///
/// `headers` are those that mirror the body, where there are any.
pub(crate) fn run(
    peer: &Arc<Peer>,
    request: Request<'_>,
    route: Route,
    headers: Option<&dyn Mirrored>,
    caller: Caller<'_>,
) -> Intake {
    let (method, begun) = (request.method, journal::begun());
    let arrival = Arrival {
        peer,
        id: request.id,
        params: request.params,
        headers,
        caller,
    };
    let outcome = if peer.server.is_closed() {
        Err(closing())
    } else {
        match route {
            Route::Handshake => arrival.handshake(),
            Route::Modern(opening) => arrival.modern(opening),
            Route::Legacy(version, method) => arrival.legacy(version, method),
        }
    };
    match outcome {
        Ok(intake) => {
            if let Intake::Answer(_) = intake {
                journal::answered(&method, &arrival.id, begun);
            }
            intake
        }
        Err(refusal) => refuse(&method, &arrival.id, &refusal),
    }
}

/// The answer to a request that comes after the end has begun.
pub(super) fn closing() -> Refusal {
    let error = RpcError::new(RpcError::INTERNAL_ERROR, "The server is closing");
    Refusal::new(503, error)
}

/// Refuses an array of nothing, or of more messages than calls may run.
pub(crate) fn refuse_length(server: &Inner, count: usize) -> Option<Answer> {
    let most = server.limits.calls_per_peer;
    match count {
        0 => Some(refuse_batch()),
        count if count > most => {
            let text = format!("Invalid request: an array of more than {most} messages");
            let refusal = Refusal::new(400, RpcError::invalid_request(text));
            Some(Answer::refusal(None, &refusal))
        }
        _ => None,
    }
}

/// Answers a request that does not begin.
fn refuse(method: &str, id: &Id, refusal: &Refusal) -> Intake {
    journal::refused(method, id, &refusal.error);
    Intake::Answer(Answer::refusal(Some(id), refusal))
}

fn refuse_malformed(malformed: Malformed) -> Intake {
    match malformed.notification {
        true => Intake::Silent,
        false => Intake::Answer(Answer::refusal(
            malformed.id.as_ref(),
            &Refusal::new(400, malformed.error),
        )),
    }
}

/// The answer to an array, where the revision knows none.
pub(crate) fn refuse_batch() -> Answer {
    let error =
        RpcError::invalid_request("Invalid request: not an object (batches are not supported)");
    Answer::refusal(None, &Refusal::new(400, error))
}

/// Takes the answer to a request of the server's own.
pub(crate) fn respond(peer: &Arc<Peer>, response: Response<'_>) {
    peer.outgoing.answered(&response);
}

/// Takes a notification. None is answered; what is unknown or malformed is ignored.
pub(crate) fn notify(peer: &Arc<Peer>, notification: &Notification<'_>) {
    match &*notification.method {
        // The second spelling is that of clients that shipped it.
        "notifications/cancelled" | "notifications/canceled" => cancel(peer, &notification.params),
        "notifications/progress" => peer.outgoing.progressed(peer, &notification.params),
        "notifications/initialized" => peer.set_ready(),
        _ => {}
    }
}

/// Aborts the request that a client does not wait for any more.
fn cancel(peer: &Arc<Peer>, params: &Params<'_>) {
    let Ok(Some(id)) = params.optional::<Id>("requestId") else {
        return;
    };
    let reason: Option<String> = params.optional("reason").unwrap_or_default();
    let abort = match &reason {
        Some(text) => Reason::cancelled(text),
        None => Reason::Cancelled(None),
    };
    let calls: Vec<_> = match peer.kind {
        // Among the requests of many clients an id says nothing.
        Kind::Crowd => Vec::new(),
        Kind::Stream => peer.inflight.find(&id).into_iter().collect(),
        // Clients that use an id for several requests at a time mean all of them.
        Kind::Session => peer.inflight.calls(),
    };
    let text = match &abort {
        Reason::Cancelled(text) => text.clone(),
        _ => None,
    };
    let mut aborted = false;
    for call in calls.iter().filter(|call| call.id == id) {
        aborted |= call.silence(abort.clone());
    }
    peer.server.report_cancelled(&Cancelled {
        request_id: &id,
        reason: text.as_deref(),
        aborted,
    });
}
