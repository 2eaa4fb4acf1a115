//! The message that tells of progress.

use std::fmt;

use serde_core::ser::{Serialize, SerializeMap, Serializer};

use super::amount::{Amount, Number};
use crate::protocol::ProgressToken;
use crate::protocol::jsonrpc;

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Number::Integer(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => serializer.serialize_i64(number),
                (_, Ok(number)) => serializer.serialize_u64(number),
                _ => serializer.serialize_f64(number as f64),
            },
            Number::Float(number) => serializer.serialize_f64(number),
        }
    }
}

/// Writes `notifications/progress`. The oldest revision knows no message.
pub(crate) fn notification(
    token: &ProgressToken,
    progress: Amount,
    total: Option<Amount>,
    message: Option<&dyn fmt::Display>,
) -> Vec<u8> {
    struct Params<'a>(&'a ProgressToken, Amount, Option<Amount>, Option<String>);
    impl Serialize for Params<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(None)?;
            map.serialize_entry("progressToken", self.0)?;
            map.serialize_entry("progress", &self.1)?;
            if let Some(total) = &self.2 {
                map.serialize_entry("total", total)?;
            }
            if let Some(message) = &self.3 {
                map.serialize_entry("message", message)?;
            }
            map.end()
        }
    }
    let message = message
        .map(ToString::to_string)
        .filter(|text| !text.is_empty());
    jsonrpc::notification(
        "notifications/progress",
        &Params(token, progress, total, message),
    )
}
