//! The messages of the protocol as plain data: a type for every noun of the specification.
//!
//! The types serialise to exactly the JSON of the specification, and deserialise from it: unknown
//! members are ignored; a member that is missing, doubled or of the wrong type is an error that
//! names it; and `null` for an optional member means that it is left out. Structs are
//! `#[non_exhaustive]`, since revisions add members; constructors take the required members, and
//! builder methods or the public fields set the others.
//!
//! "Sent since 2025-06-18" at a field means that a client of an older revision does not get it.
//!
//! A result serialises only the members of its own method. The server adds the members that a
//! revision has in every result.
//!
//! # Metadata
//!
//! `meta` of definitions, results and contents is for your metadata. A key is a name – letters and digits, with `-`, `_` and
//! `.` in between – after an optional prefix such as `com.example/` (MCP 2026-07-28, basic). A server refuses a definition
//! with an invalid key when it is registered, and a result with one is an unexpected failure; the error names the key.
//! Prefixes whose second label is `modelcontextprotocol` or `mcp` are for the protocol and its extensions; a key that the
//! server writes there replaces yours.

pub(crate) mod base64;
mod invalid;
mod object;

pub mod cache;
pub mod capabilities;
pub mod completion;
pub mod content;
pub mod elicitation;
pub(crate) mod header_params;
pub mod implementation;
pub mod jsonrpc;
pub mod logging;
pub mod meta;
pub(crate) mod meta_keys;
pub mod prompts;
pub mod resources;
pub mod roots;
pub mod sampling;
pub(crate) mod subscriptions;
pub(crate) mod tool_name;
pub mod tools;
pub(crate) mod uri;
pub mod uri_template;
pub mod version;

pub use cache::{Cache, CacheScope};
pub use capabilities::ClientCapabilities;
pub use completion::{Completion, CompletionRef, CompletionRequest};
pub use content::{Annotations, Content, Icon, ResourceContents, Role};
pub use elicitation::{Elicit, ElicitAction, ElicitAnswer, Field, FormSchema};
pub use implementation::Implementation;
pub use invalid::Invalid;
pub use jsonrpc::{Id, RpcError};
pub use logging::LogLevel;
pub use meta::ProgressToken;
pub use prompts::{PromptArgument, PromptInfo, PromptMessage, PromptResult};
pub use resources::{ReadResult, ResourceInfo, ResourceTemplateInfo};
pub use roots::{Root, Roots};
pub use sampling::{CreateMessage, CreateMessageResult, SamplingContent, SamplingMessage};
pub use tools::{ToolAnnotations, ToolInfo, ToolResult};
pub use uri_template::UriTemplate;
pub use version::Version;
