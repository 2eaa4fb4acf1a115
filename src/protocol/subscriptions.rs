//! What a client wants to be told of.

use crate::protocol::object::object;

object! {
    /// Names the changes that a subscription is about (MCP 2026-07-28, basic/patterns/subscriptions).
    #[derive(Eq, Default)]
    pub(crate) struct SubscriptionFilter {
        pub(crate) tools_list_changed: bool = optional "toolsListChanged",
        pub(crate) prompts_list_changed: bool = optional "promptsListChanged",
        pub(crate) resources_list_changed: bool = optional "resourcesListChanged",
        /// The addresses of the resources.
        pub(crate) resource_subscriptions: Vec<String> = optional "resourceSubscriptions",
    }
}
