//! Whom a request comes from.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The party on whose behalf a request is made, as the application found out from its credentials.
///
/// Cheap to clone. Two principals with the same id are the same: a legacy session, and a state that a client carries, are
/// served only to the principal that they began with.
///
/// # Examples
///
/// ```
/// use smol_mcp::Principal;
///
/// struct Scopes(Vec<String>);
///
/// let principal = Principal::new("ada").with_details(Scopes(vec!["read".into()]));
/// assert_eq!(principal.id(), "ada");
/// assert_eq!(principal.details::<Scopes>().unwrap().0, ["read"]);
/// ```
#[derive(Clone)]
pub struct Principal {
    id: Arc<str>,
    details: Option<Arc<dyn Any + Send + Sync>>,
}

impl Principal {
    /// Makes a principal with a unique id: the name of the user, together with its issuer if there are several issuers.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            details: None,
        }
    }

    /// Adds details for handlers: scopes, claims, a tenant. They replace earlier ones.
    #[must_use]
    pub fn with_details(mut self, details: impl Any + Send + Sync) -> Self {
        self.details = Some(Arc::new(details));
        self
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the details, if they are of this type.
    pub fn details<T: Any>(&self) -> Option<&T> {
        self.details.as_deref()?.downcast_ref()
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.id).finish()
    }
}
