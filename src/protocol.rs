//! The wire in plain data: every noun of the specification, with no tasks and no sockets.
//!
//! One file per noun. The types serialise to exactly the JSON of the specification and read it
//! back: members they do not know are ignored, a member that is missing, doubled or of the wrong
//! type is an error that names it, and `null` for an optional member reads as the member left out.
//! Structs are `#[non_exhaustive]`, since revisions add members; their constructors take what is
//! required, and builder methods or the public fields the rest.
//!
//! "Sent since 2025-06-18" in the documentation of a field says that a client of an older revision
//! does not get it.
//!
//! A result serialises with the members of its own method alone. What a revision adds to every
//! result is stamped on later, by the era that answers.
//!
//! # Metadata
//!
//! `meta` of definitions, results and contents is the author's. A key is a name – letters and digits, with `-`, `_` and
//! `.` in between – after a prefix of the author's own, such as `com.example/`. A server refuses what is no key: in a
//! definition when it is registered; a result that has it is an unexpected failure. The error names the key. Prefixes whose
//! second label is `modelcontextprotocol` or `mcp` are for the protocol and its extensions; what the server itself writes
//! there wins.

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
