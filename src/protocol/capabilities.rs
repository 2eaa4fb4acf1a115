//! What clients declare that they can do.

use serde_json::Value;
use serde_json::value::RawValue;

/// The capabilities that a client declared: with this request (from 2026-07-28), or in its `initialize` request.
///
/// The set is open: [`get`](ClientCapabilities::get) reads capabilities that have no method here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientCapabilities(Value);

impl ClientCapabilities {
    /// Reads the capabilities from their JSON object; any other value declares none.
    pub fn from_value(value: Value) -> Self {
        Self(value)
    }

    pub(crate) fn from_raw(raw: &RawValue) -> Self {
        Self(raw.get().parse().unwrap_or_default())
    }

    /// Returns the settings of a capability, if it is declared.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|settings| settings.is_object())
    }

    /// Returns the settings of a capability's member, if it is declared.
    fn member(&self, name: &str, member: &str) -> Option<&Value> {
        self.get(name)?
            .get(member)
            .filter(|settings| settings.is_object())
    }

    /// Tells whether the client can show forms. `elicitation: {}` means only forms.
    pub fn elicitation_form(&self) -> bool {
        match self.get("elicitation") {
            None => false,
            Some(settings) => settings.get("form").is_some() || settings.get("url").is_none(),
        }
    }

    /// Tells whether the client can open URLs.
    pub fn elicitation_url(&self) -> bool {
        self.member("elicitation", "url").is_some()
    }

    /// Tells whether the client's model can be asked.
    pub fn sampling(&self) -> bool {
        self.get("sampling").is_some()
    }

    /// Tells whether the client's model can be given tools.
    pub fn sampling_tools(&self) -> bool {
        self.member("sampling", "tools").is_some()
    }

    /// Tells whether the client's model can be given context of its servers.
    pub fn sampling_context(&self) -> bool {
        self.member("sampling", "context").is_some()
    }

    /// Tells whether the client has roots.
    pub fn roots(&self) -> bool {
        self.get("roots").is_some()
    }

    /// Returns the settings of an extension, if it is declared.
    pub fn extension(&self, id: &str) -> Option<&Value> {
        self.member("extensions", id)
    }
}
