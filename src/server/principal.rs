//! Whom a request comes from.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The one on whose behalf a request is made, as the application has found out from its credentials.
///
/// Cheap to clone. Two principals with the same id are the same: a legacy session, or a state that a client carries, is
/// served to the one that it began with alone.
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
    /// Makes a principal of a name that no other has: that of the user, with that of who issued it if there are several.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            details: None,
        }
    }

    /// Adds what handlers want to know beside the name: scopes, claims, a tenant.
    #[must_use]
    pub fn with_details(mut self, details: impl Any + Send + Sync) -> Self {
        self.details = Some(Arc::new(details));
        self
    }

    /// Returns the name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns what was added, if it is of this type.
    pub fn details<T: Any>(&self) -> Option<&T> {
        self.details.as_deref()?.downcast_ref()
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.id).finish()
    }
}
