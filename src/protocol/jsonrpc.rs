//! JSON-RPC 2.0 frames: what a message is, what is wrong with one that is none, and how answers are written.
//!
//! One message is parsed in one pass. The envelope borrows from the input; the members of `params` stay raw until the
//! method knows their types.

mod error;
mod id;
mod message;
mod params;
mod prefix;
mod scalar;
mod write;

pub use self::error::RpcError;
pub(crate) use self::error::{excerpt, without_position};
pub use self::id::Id;
pub(crate) use self::message::{
    Malformed, Message, Notification, Request, Response, elements, parse, parse_str,
};
pub(crate) use self::params::{Params, from_members, members};
pub(crate) use self::prefix::{id_in_prefix, string_end};
pub(crate) use self::scalar::{Key, Scalar};
pub(crate) use self::write::{
    array, begin_result, json_text, notification, object, request, write_error, write_json,
};
