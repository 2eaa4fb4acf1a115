//! Resources and templates: what they are registered with, and how functions read them.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::context::Context;
use super::failure::{AnyError, HandlerError};
use super::registry::Listed;
use super::work::{Work, work};
use crate::Error;
use crate::era::Reply;
use crate::protocol::jsonrpc::json_text;
use crate::protocol::uri::is_scheme;
use crate::protocol::uri_template::UriTemplate;
use crate::protocol::{
    ReadResult, ResourceContents, ResourceInfo, ResourceTemplateInfo, meta_keys,
};

type Read = Box<dyn Fn(String, Variables, Context) -> Work + Send + Sync>;

/// The values of a template's variables, by name.
///
/// They are percent-decoded, and may hold anything then, `/` and `..` included: whoever makes a path of one checks it.
/// Variables of the query and the fragment are there if the address has them, all others in any case.
pub type Variables = BTreeMap<String, String>;

/// One resource at one address.
///
/// ```
/// use smol_mcp::Resource;
/// use smol_mcp::protocol::{ResourceContents, ResourceInfo};
///
/// let resource = Resource::new(ResourceInfo::new("memo:///today", "today"), |uri: String, _cx| async move {
///     ResourceContents::text(uri, "Buy milk.")
/// });
/// # let _ = resource;
/// ```
#[must_use = "a resource does nothing until a server is given it"]
pub struct Resource {
    info: ResourceInfo,
    read: Read,
}

/// Resources whose addresses follow a pattern (RFC 6570). [`UriTemplate`] tells what its variables take.
///
/// ```
/// use smol_mcp::ResourceTemplate;
/// use smol_mcp::protocol::{ResourceContents, ResourceTemplateInfo};
///
/// let template = ResourceTemplate::new(
///     ResourceTemplateInfo::new("log:///{build}", "build log"),
///     |uri: String, variables, _cx| async move { ResourceContents::text(uri, format!("log of {}", variables["build"])) },
/// )?;
/// # let _ = template;
/// # Ok::<_, smol_mcp::Error>(())
/// ```
#[must_use = "a template does nothing until a server is given it"]
pub struct ResourceTemplate {
    info: ResourceTemplateInfo,
    pattern: UriTemplate,
    read: Read,
}

impl Resource {
    /// Defines a resource by what clients are told of it and by the function that reads it, which gets the address.
    pub fn new<F, Fut>(info: ResourceInfo, read: F) -> Self
    where
        F: Fn(String, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoReadResult> + Send + 'static,
    {
        Self {
            info,
            read: Box::new(move |uri, _, cx| work(read(uri, cx), finish)),
        }
    }

    pub(crate) fn read(&self, uri: String, cx: Context) -> Work {
        (self.read)(uri, Variables::new(), cx)
    }
}

impl ResourceTemplate {
    /// Defines a family of resources by what clients are told of it and by the function that reads one of them, which gets
    /// its address and the variables in it.
    ///
    /// # Errors
    ///
    /// Returns an error if the pattern is not a [URI template that can be matched](crate::protocol::UriTemplate).
    pub fn new<F, Fut>(info: ResourceTemplateInfo, read: F) -> Result<Self, Error>
    where
        F: Fn(String, Variables, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoReadResult> + Send + 'static,
    {
        let pattern = UriTemplate::from_str(&info.uri_template).map_err(|err| {
            Error::definition(format!("resource template {:?}: {err}", info.uri_template))
        })?;
        Ok(Self {
            info,
            pattern,
            read: Box::new(move |uri, variables, cx| work(read(uri, variables, cx), finish)),
        })
    }

    /// Returns the variables of an address, if it belongs to the family.
    pub(crate) fn variables(&self, uri: &str) -> Option<Variables> {
        self.pattern.matches(uri)
    }

    pub(crate) fn read(&self, uri: String, variables: Variables, cx: Context) -> Work {
        (self.read)(uri, variables, cx)
    }
}

fn finish(output: impl IntoReadResult) -> Result<Reply, HandlerError> {
    Ok(Reply::Other(Box::new(output.into_read_result()?)))
}

impl Listed for Resource {
    fn what(&self) -> &'static str {
        "resource"
    }

    fn key(&self) -> &str {
        &self.info.uri
    }

    fn check(&self) -> Result<(), Error> {
        let uri = &self.info.uri;
        let mistake =
            |why: &dyn fmt::Display| Error::definition(format!("resource {uri:?}: {why}"));
        match uri.split_once(':') {
            Some((scheme, _)) if is_scheme(scheme) => {}
            _ => return Err(mistake(&"not a URI")),
        }
        meta_keys::check(&self.info.meta).map_err(|err| mistake(&err))
    }

    fn definition(&self) -> String {
        json_text(&self.info)
    }
}

impl Listed for ResourceTemplate {
    fn what(&self) -> &'static str {
        "resource template"
    }

    fn key(&self) -> &str {
        &self.info.uri_template
    }

    fn check(&self) -> Result<(), Error> {
        let pattern = &self.info.uri_template;
        meta_keys::check(&self.info.meta)
            .map_err(|err| Error::definition(format!("resource template {pattern:?}: {err}")))
    }

    fn clashes(&self, other: &dyn Any) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| other.pattern.is_same(&self.pattern))
    }

    fn definition(&self) -> String {
        json_text(&self.info)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource")
            .field("uri", &self.info.uri)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTemplate")
            .field("uri_template", &self.info.uri_template)
            .finish_non_exhaustive()
    }
}

/// What reading a resource may yield: contents, several contents, a whole [`ReadResult`], or a `Result` of these.
///
/// It may also be an `Option` of these: `None` says that the resource does not exist.
#[diagnostic::on_unimplemented(
    message = "reading a resource cannot yield `{Self}`",
    label = "its future yields `{Self}`",
    note = "`ResourceContents`, a `Vec` of them, `ReadResult`, or an `Option` or a `Result` of these can be returned"
)]
pub trait IntoReadResult {
    /// Makes the result.
    ///
    /// # Errors
    ///
    /// Returns the failure of the handler.
    fn into_read_result(self) -> Result<ReadResult, HandlerError>;
}

impl IntoReadResult for ReadResult {
    fn into_read_result(self) -> Result<ReadResult, HandlerError> {
        Ok(self)
    }
}

impl IntoReadResult for ResourceContents {
    fn into_read_result(self) -> Result<ReadResult, HandlerError> {
        Ok(self.into())
    }
}

impl IntoReadResult for Vec<ResourceContents> {
    fn into_read_result(self) -> Result<ReadResult, HandlerError> {
        Ok(self.into())
    }
}

impl<T: IntoReadResult> IntoReadResult for Option<T> {
    fn into_read_result(self) -> Result<ReadResult, HandlerError> {
        match self {
            Some(found) => found.into_read_result(),
            None => Err(HandlerError::not_found()),
        }
    }
}

impl<T: IntoReadResult, E: Into<AnyError>> IntoReadResult for Result<T, E> {
    fn into_read_result(self) -> Result<ReadResult, HandlerError> {
        self.map_err(HandlerError::of)?.into_read_result()
    }
}
