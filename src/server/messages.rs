//! Log messages, as a client reads them.

use serde_core::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::protocol::LogLevel;
use crate::protocol::jsonrpc;

/// Writes `notifications/message`.
pub(super) fn notification(level: LogLevel, data: Value) -> Vec<u8> {
    struct Params(LogLevel, Value);
    impl Serialize for Params {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("level", &self.0)?;
            map.serialize_entry("data", &self.1)?;
            map.end()
        }
    }
    jsonrpc::notification("notifications/message", &Params(level, data))
}

/// Writes what stands in for messages that a client has not read in time.
pub(super) fn left_out(level: LogLevel, count: usize) -> Vec<u8> {
    let text = match count {
        1 => "1 message was left out: it was not read in time".to_owned(),
        _ => format!("{count} messages were left out: they were not read in time"),
    };
    notification(level, text.into())
}
