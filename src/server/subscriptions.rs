//! Changes, and who is told of them: one bus for both eras.
//!
//! A modern client opens a subscription, a request that stays open, and is told of what it named there. A legacy client
//! is told of every list that changes, and of the resources that it has subscribed to.

use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::call::Call;
use super::peer::Kind;
use super::{Inner, List};
use crate::era::{Offers, Reply};
use crate::protocol::jsonrpc::{self, RpcError};
use crate::protocol::meta;
use crate::protocol::subscriptions::SubscriptionFilter;
use crate::signal::Reason;

/// How many resources one subscription, or one legacy session, may name.
pub(super) const MOST_RESOURCES: usize = 1024;

/// How many bytes their addresses may take in all. They are kept for as long as it is open.
pub(super) const MOST_ADDRESSES: usize = 256 * 1024;

/// Something that clients may be told of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    List(List),
    Resource(&'a str),
}

impl Change<'_> {
    fn method(self) -> &'static str {
        match self {
            Change::List(List::Tools) => "notifications/tools/list_changed",
            Change::List(List::Prompts) => "notifications/prompts/list_changed",
            Change::List(List::Resources) => "notifications/resources/list_changed",
            Change::Resource(_) => "notifications/resources/updated",
        }
    }

    /// Writes the notification, with the subscription that it belongs to, if there is one.
    fn message(self, subscription: Option<&Call>) -> Vec<u8> {
        let mut params = Value::Object(Map::new());
        if let Change::Resource(uri) = self {
            params["uri"] = uri.into();
        }
        if let Some(call) = subscription {
            params["_meta"] = tag(call);
        }
        jsonrpc::notification(self.method(), &params)
    }

    fn is_wanted(self, filter: &SubscriptionFilter) -> bool {
        match self {
            Change::List(List::Tools) => filter.tools_list_changed,
            Change::List(List::Prompts) => filter.prompts_list_changed,
            Change::List(List::Resources) => filter.resources_list_changed,
            // Sorted when the subscription began.
            Change::Resource(uri) => filter
                .resource_subscriptions
                .binary_search_by(|known| known.as_str().cmp(uri))
                .is_ok(),
        }
    }

    /// Tells whether the server has said that it tells of such changes.
    fn is_offered(self, offers: &Offers) -> bool {
        match self {
            Change::List(List::Tools) => offers.tools && offers.changing.tools,
            Change::List(List::Prompts) => offers.prompts && offers.changing.prompts,
            Change::List(List::Resources) => offers.resources && offers.changing.resources,
            Change::Resource(_) => offers.resources && offers.subscribe,
        }
    }
}

fn tag(call: &Call) -> Value {
    jsonrpc::object(meta::SUBSCRIPTION_ID, call.id.to_value())
}

/// The open subscriptions.
#[derive(Default)]
pub(crate) struct Bus {
    open: Mutex<Vec<Arc<Subscription>>>,
}

struct Subscription {
    call: Arc<Call>,
    /// What the client named and the server offers.
    honoured: SubscriptionFilter,
}

impl Bus {
    fn open(&self) -> MutexGuard<'_, Vec<Arc<Subscription>>> {
        self.open
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins a subscription. Nothing of it leaves before the acknowledgment.
    fn begin(
        &self,
        call: &Arc<Call>,
        honoured: SubscriptionFilter,
        most: usize,
    ) -> Result<(), RpcError> {
        let acknowledgment = jsonrpc::notification(
            "notifications/subscriptions/acknowledged",
            &Acknowledged(tag(call), &honoured),
        );
        let mut sorted = honoured;
        let resources = std::mem::take(&mut sorted.resource_subscriptions);
        sorted.resource_subscriptions = BinaryHeap::from(resources).into_sorted_vec();
        let mut open = self.open();
        if open.len() >= most {
            let message = format!("Too many open subscriptions: at most {most}");
            return Err(RpcError::new(RpcError::INTERNAL_ERROR, message));
        }
        if !call.say(acknowledgment) {
            // It has been ended meanwhile, and nobody would remove it.
            return Ok(());
        }
        open.push(Arc::new(Subscription {
            call: call.clone(),
            honoured: sorted,
        }));
        Ok(())
    }

    /// Forgets a subscription that has ended.
    pub(super) fn remove(&self, call: &Arc<Call>) {
        let mut open = self.open();
        let ended = open
            .iter()
            .position(|subscription| Arc::ptr_eq(&subscription.call, call))
            .map(|at| open.remove(at));
        // Not under the lock: it may hold the last of much.
        drop(open);
        drop(ended);
    }

    fn wanting(&self, change: Change<'_>) -> Vec<Arc<Subscription>> {
        let open = self.open();
        open.iter()
            .filter(|subscription| change.is_wanted(&subscription.honoured))
            .cloned()
            .collect()
    }
}

/// The params of the acknowledgment, in their usual order.
struct Acknowledged<'a>(Value, &'a SubscriptionFilter);

impl Serialize for Acknowledged<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("_meta", &self.0)?;
        map.serialize_entry("notifications", self.1)?;
        map.end()
    }
}

/// What of a filter a server can serve.
fn honour(offers: &Offers, wanted: SubscriptionFilter) -> SubscriptionFilter {
    let list = |list| Change::List(list).is_offered(offers);
    let resources = Change::Resource("").is_offered(offers);
    SubscriptionFilter {
        tools_list_changed: wanted.tools_list_changed && list(List::Tools),
        prompts_list_changed: wanted.prompts_list_changed && list(List::Prompts),
        resources_list_changed: wanted.resources_list_changed && list(List::Resources),
        resource_subscriptions: wanted
            .resource_subscriptions
            .into_iter()
            .filter(|_| resources)
            .collect(),
    }
}

/// Serves `subscriptions/listen`: the call stays open, and no handler runs.
pub(super) fn listen(call: &Arc<Call>, wanted: SubscriptionFilter) -> Result<(), RpcError> {
    let server = &call.peer.server;
    let resources = &wanted.resource_subscriptions;
    let too_many = |most, of_what| {
        let text = format!("Too many resources in one subscription: at most {most}{of_what}");
        Err(RpcError::invalid_params(text))
    };
    if resources.len() > MOST_RESOURCES {
        return too_many(MOST_RESOURCES, "");
    }
    if resources.iter().map(String::len).sum::<usize>() > MOST_ADDRESSES {
        return too_many(MOST_ADDRESSES, " bytes of addresses");
    }
    let honoured = honour(&server.offers, wanted);
    server
        .bus
        .begin(call, honoured, server.limits.subscriptions)?;
    // A server that was closed meanwhile has walked its table before this call stood in it.
    if server.is_closed() {
        end(call, &Reason::ServerClosed);
    }
    Ok(())
}

/// Ends a subscription from this side: with a closing result if the server closes, without a word if the client is gone.
pub(super) fn end(call: &Arc<Call>, reason: &Reason) {
    match reason {
        Reason::ServerClosed if call.is_open() => {
            call.settle(Ok(Reply::Closing(call.id.clone())));
            if call.peer.kind == Kind::Stream {
                // After the result: a feed writes what calls have to say first.
                let mut params = jsonrpc::object("requestId", call.id.to_value());
                params["_meta"] = tag(call);
                let message = jsonrpc::notification("notifications/cancelled", &params);
                call.peer.feed.send(message);
            }
        }
        Reason::ServerClosed => {}
        reason => {
            call.silence(reason.clone());
        }
    }
}

/// Tells everybody who wants to know.
pub(super) fn publish(server: &Inner, change: Change<'_>) {
    if !change.is_offered(&server.offers) {
        return;
    }
    for subscription in server.bus.wanting(change) {
        let message = change.message(Some(&subscription.call));
        subscription.call.say_once(message);
    }
    let mut message = None;
    for peer in server.live_peers() {
        if peer.is_told_of(change) {
            let message = message.get_or_insert_with(|| change.message(None));
            peer.feed.send(message.clone());
        }
    }
}
