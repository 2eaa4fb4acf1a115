//! Authorization: who asks, and what one who may not is told (MCP 2026-07-28, basic/authorization).

use std::fmt;
use std::iter;
use std::pin::Pin;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use serde_json::json;

use super::Body;
use super::accepts::Accepts;
use super::endpoint::Inner;
use super::headers::add;
use super::post::Begun;
use super::respond::{self, aborted, plain};
use crate::era::{Field, Mirrored};
use crate::executor::Spawner;
use crate::protocol::jsonrpc::json_text;
use crate::protocol::uri::is_uri_text;
use crate::server::dispatch::Caller;
use crate::{Error, Principal, Signal};

/// The place of the metadata of protected resources (RFC 9728 §3).
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The application's decision on a request, on its way.
type Deciding = Pin<Box<dyn Future<Output = Result<Principal, Challenge>> + Send>>;

/// A request of which the application has yet to say whether it is served.
///
/// Boxed, so that requests which nobody is asked about take no more room than they need.
type Undecided = Pin<Box<dyn Future<Output = Begun> + Send>>;

/// Asks the application about a request, and begins it if it may be served.
pub(super) type Authorizer =
    dyn Fn(Arc<Inner>, Request<Vec<u8>>, Signal, &Spawner) -> Undecided + Send + Sync;

pub(super) fn authorizer(
    decide: impl Fn(Parts) -> Deciding + Send + Sync + 'static,
) -> Arc<Authorizer> {
    Arc::new(move |endpoint, request, signal, spawner| {
        let (parts, body) = request.into_parts();
        let decision = decide(parts.clone());
        let request = Request::from_parts(parts, body);
        let spawner = spawner.clone();
        Box::pin(begin(decision, endpoint, request, signal, spawner))
    })
}

async fn begin(
    decision: Deciding,
    endpoint: Arc<Inner>,
    request: Request<Vec<u8>>,
    signal: Signal,
    spawner: Spawner,
) -> Begun {
    match signal.run(decision).await {
        Ok(Ok(principal)) => {
            let caller = Caller {
                signal: &signal,
                spawner: &spawner,
            };
            endpoint.begin(&request, Some(&principal), caller)
        }
        Ok(Err(challenge)) => {
            let resource = endpoint.resource.as_deref().map(Published::resource);
            Begun::Done(challenge.respond(resource))
        }
        Err(_) => Begun::Done(aborted()),
    }
}

/// Returns the token of `Authorization: Bearer …`, if there is exactly one.
///
/// Tokens in the query of an address are ignored, as the protocol demands (MCP 2026-07-28, basic/authorization).
///
/// # Examples
///
/// ```
/// use smol_mcp::http::bearer;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("authorization", http::HeaderValue::from_static("Bearer abc"));
/// assert_eq!(bearer(&headers), Some("abc"));
/// ```
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(&AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The answer to a request that is not authorized: a status, and the header `WWW-Authenticate`.
///
/// # Examples
///
/// ```
/// use smol_mcp::Principal;
/// use smol_mcp::http::{Challenge, bearer};
///
/// async fn check(parts: http::request::Parts) -> Result<Principal, Challenge> {
///     match bearer(&parts.headers) {
///         None => Err(Challenge::unauthorized().scope("notes:read")),
///         Some("secret") => Ok(Principal::new("ada")),
///         Some(_) => Err(Challenge::invalid_token().description("expired")),
///     }
/// }
/// # let _ = check;
/// ```
#[derive(Clone, Debug)]
#[must_use = "a challenge does nothing until it is returned"]
pub struct Challenge {
    status: StatusCode,
    error: Option<&'static str>,
    scope: Option<String>,
    description: Option<String>,
}

impl Challenge {
    fn new(status: StatusCode, error: Option<&'static str>) -> Self {
        Self {
            status,
            error,
            scope: None,
            description: None,
        }
    }

    /// Status 401, for a request without credentials.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, None)
    }

    /// Status 401, for a token that is not valid: unknown, expired, or issued for another server.
    pub fn invalid_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_token"))
    }

    /// Status 403, for a token that is valid but lacks a scope. `scope` names all scopes that are needed.
    pub fn insufficient_scope(scope: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, Some("insufficient_scope")).scope(scope)
    }

    /// Status 400, for malformed credentials.
    pub fn malformed() -> Self {
        Self::new(StatusCode::BAD_REQUEST, Some("invalid_request"))
    }

    /// Names the scopes that are needed, separated by spaces. Default: those of the [`ProtectedResource`].
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Adds a text for the developer of the client. It must hold no secrets.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    fn respond(self, resource: Option<&ProtectedResource>) -> Response<Body> {
        let mut parameters = Vec::new();
        if let Some(error) = self.error {
            parameters.push(("error", error.to_owned()));
        }
        let scopes = || {
            resource
                .map(ProtectedResource::scope)
                .filter(|scope| !scope.is_empty())
        };
        if let Some(scope) = self.scope.or_else(scopes) {
            parameters.push(("scope", scope));
        }
        if let Some(text) = self.description {
            parameters.push(("error_description", text));
        }
        if let Some(resource) = resource {
            parameters.push(("resource_metadata", resource.metadata_url()));
        }
        let reason = self
            .status
            .canonical_reason()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let mut response = plain(self.status, &format!("{reason}\n"));
        let value = HeaderValue::from_str(&challenge(&parameters)).expect("quoted");
        add(response.headers_mut(), WWW_AUTHENTICATE, value);
        response
    }
}

/// Writes the header. What cannot stand between quotes is left out.
fn challenge(parameters: &[(&str, String)]) -> String {
    let mut out = "Bearer".to_owned();
    for (at, (name, value)) in parameters.iter().enumerate() {
        let fits = |letter: &char| matches!(letter, ' ' | '!' | '#'..='[' | ']'..='~');
        let value: String = value.chars().filter(fits).collect();
        out += if at == 0 { " " } else { ", " };
        out += &format!("{name}=\"{value}\"");
    }
    out
}

/// Where clients get tokens for this server: the metadata of RFC 9728.
///
/// # Examples
///
/// ```
/// use smol_mcp::http::ProtectedResource;
///
/// let resource = ProtectedResource::new("https://notes.example/mcp", "https://login.example")
///     .scopes(["notes:read", "notes:write"]);
/// assert_eq!(resource.metadata_url(), "https://notes.example/.well-known/oauth-protected-resource/mcp");
/// ```
#[derive(Clone, Debug)]
pub struct ProtectedResource {
    resource: String,
    servers: Vec<String>,
    scopes: Vec<String>,
}

impl ProtectedResource {
    /// Makes the metadata of the server at the URL `resource`, for which `authorization_server` issues tokens.
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            servers: vec![authorization_server.into()],
            scopes: Vec::new(),
        }
    }

    /// Adds another authorization server.
    #[must_use]
    pub fn authorization_server(mut self, server: impl Into<String>) -> Self {
        self.servers.push(server.into());
        self
    }

    /// Names the scopes of the server. `offline_access` is left out, since clients decide about it.
    #[must_use]
    pub fn scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        let scopes = scopes.into_iter().map(Into::into);
        self.scopes
            .extend(scopes.filter(|scope| scope != "offline_access"));
        self
    }

    /// Returns the URL of the metadata: the well-known one with the path of the resource appended.
    pub fn metadata_url(&self) -> String {
        let (start, path) = self.split();
        format!("{start}{WELL_KNOWN}{path}")
    }

    /// Splits the address before its path.
    fn split(&self) -> (&str, &str) {
        let authority = self.resource.find("://").map_or(0, |at| at + 3);
        let path = self.resource[authority..].find('/');
        let (start, path) = self
            .resource
            .split_at(path.map_or(self.resource.len(), |at| authority + at));
        (start, path.trim_end_matches('/'))
    }

    /// Refuses what no client can take for an address.
    pub(super) fn check(&self) -> Result<(), Error> {
        let resource = iter::once(("protected resource", &self.resource));
        let servers = self
            .servers
            .iter()
            .map(|server| ("authorization server", server));
        match resource.chain(servers).find(|(_, url)| !is_url(url)) {
            Some((what, url)) => Err(Error::definition(format!(
                "{what} {url:?}: expected an address such as \"https://notes.example/mcp\""
            ))),
            None => Ok(()),
        }
    }

    fn scope(&self) -> String {
        self.scopes.join(" ")
    }
}

/// Whether a text is the address of something on the web, without a fragment (RFC 9728, section 1.2).
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    ["https", "http"].contains(&&*scheme.to_ascii_lowercase())
        && !rest.starts_with(['/', '?'])
        && !rest.is_empty()
        && is_uri_text(rest)
        && !rest.contains('#')
}

/// The metadata of a resource as something to be had.
pub(super) trait Published: Send + Sync {
    /// Tells whether it is to be had at this path: with the path of the resource, or without.
    fn is_at(&self, path: &str) -> bool;

    fn respond(&self) -> Response<Body>;

    fn resource(&self) -> &ProtectedResource;
}

impl Published for ProtectedResource {
    fn is_at(&self, path: &str) -> bool {
        let rest = path.strip_prefix(WELL_KNOWN);
        rest.is_some_and(|rest| rest.is_empty() || rest == self.split().1)
    }

    fn respond(&self) -> Response<Body> {
        let mut document = json!({
            "resource": self.resource,
            "authorization_servers": self.servers,
            "bearer_methods_supported": ["header"],
        });
        if !self.scopes.is_empty() {
            document["scopes_supported"] = self.scopes.clone().into();
        }
        respond::json(200, json_text(&document).into_bytes())
    }

    fn resource(&self) -> &ProtectedResource {
        self
    }
}

/// The head of a request, and whom it comes from.
pub(super) struct Head<'a> {
    pub(super) headers: &'a HeaderMap,
    pub(super) principal: Option<&'a Principal>,
}

impl Head<'_> {
    /// The name of the principal: what sessions are bound to.
    pub(super) fn owner(&self) -> Option<&str> {
        self.principal.map(Principal::id)
    }
}

impl Mirrored for Head<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        // A look at each costs less than to make a name of the map's own kind.
        let named = self.headers.iter();
        let named = named.filter(|(own, _)| own.as_str().eq_ignore_ascii_case(name));
        Field::new(named.map(|(_, value)| value.as_bytes()))
    }

    fn principal(&self) -> Option<&Principal> {
        self.principal
    }

    fn takes_messages(&self) -> bool {
        Accepts::read(self.headers).stream
    }
}

impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("principal", &self.principal)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(challenge: Challenge, resource: Option<&ProtectedResource>) -> String {
        let response = challenge.respond(resource);
        response.headers()[WWW_AUTHENTICATE]
            .to_str()
            .unwrap()
            .to_owned()
    }

    // R298, R300, R308, R309, R311, R312
    #[test]
    fn challenges_say_what_is_missing_and_where_to_get_it() {
        let resource = ProtectedResource::new("https://h.example/mcp/", "https://as.example")
            .scopes(["a", "offline_access", "b"]);
        let at = "resource_metadata=\"https://h.example/.well-known/oauth-protected-resource/mcp\"";
        let here = Some(&resource);
        assert_eq!(header(Challenge::unauthorized(), None), "Bearer");
        assert_eq!(
            header(Challenge::unauthorized(), here),
            format!("Bearer scope=\"a b\", {at}")
        );
        assert_eq!(
            header(
                Challenge::invalid_token().description("too \"old\"\r\nSet-Cookie: x"),
                None
            ),
            "Bearer error=\"invalid_token\", error_description=\"too oldSet-Cookie: x\""
        );
        assert_eq!(
            header(Challenge::insufficient_scope("build:write"), here),
            format!("Bearer error=\"insufficient_scope\", scope=\"build:write\", {at}")
        );
    }

    #[test]
    fn metadata_is_at_the_well_known_place_with_the_path_and_without() {
        let resource = ProtectedResource::new("https://h.example/mcp", "https://as.example");
        assert!(resource.is_at("/.well-known/oauth-protected-resource"));
        assert!(resource.is_at("/.well-known/oauth-protected-resource/mcp"));
        assert!(!resource.is_at("/.well-known/oauth-protected-resource/other"));
        assert!(!resource.is_at("/mcp"));
        let bare = ProtectedResource::new("https://h.example", "https://as.example");
        assert_eq!(
            bare.metadata_url(),
            "https://h.example/.well-known/oauth-protected-resource"
        );
    }

    // R306
    #[test]
    fn a_token_is_taken_from_one_header_of_the_right_scheme() {
        for (values, token) in [
            (&["Bearer abc"][..], Some("abc")),
            (&["bearer  abc "], Some("abc")),
            (&["Basic abc"], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Bearer a", "Bearer b"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(bearer(&headers), token, "{values:?}");
        }
    }
}
