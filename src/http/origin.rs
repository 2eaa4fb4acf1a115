//! `Origin` and `Host`: whether a request comes from where it may.
//!
//! A web page of a stranger can make a browser send requests to this machine, under the stranger's name (DNS rebinding).
//! The names in these headers give it away.

use http::HeaderMap;
use http::header::{HOST, HeaderValue, ORIGIN};

use crate::Error;
use crate::protocol::uri::is_scheme;

/// Which names are served. By default those of the loopback interface alone, with any port.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    hosts: Vec<String>,
    origins: Vec<String>,
    pub(super) any_host: bool,
    pub(super) any_origin: bool,
}

impl Origins {
    pub(super) fn add_host(&mut self, name: &str) -> Result<(), Error> {
        let host = name_of(name).to_ascii_lowercase();
        if !is_name(&host) {
            let expected =
                "expected a name such as \"notes.example\", or an address, IPv6 in brackets";
            return Err(Error::definition(format!("host {name:?}: {expected}")));
        }
        self.hosts.push(host);
        Ok(())
    }

    pub(super) fn add_origin(&mut self, origin: &str) -> Result<(), Error> {
        let own = origin.trim_end_matches('/').to_ascii_lowercase();
        // What browsers send for pages without an origin.
        if own != "null" && !is_origin(&own) {
            let expected = "expected a scheme and a host such as \"https://app.example\"";
            return Err(Error::definition(format!("origin {origin:?}: {expected}")));
        }
        self.origins.push(without_own_port(&own).to_owned());
        Ok(())
    }

    /// Checks a request; the error says what is not allowed.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        // HTTP/1.0 knows requests without a host; browsers send none such.
        for host in headers.get_all(&HOST).iter().filter(|_| !self.any_host) {
            let host = text(host);
            if !self.is_host(name_of(&host)) {
                return Err(not_allowed("host", &host));
            }
        }
        for origin in headers.get_all(&ORIGIN).iter().filter(|_| !self.any_origin) {
            let origin = text(origin);
            if !self.is_origin(&origin) {
                return Err(not_allowed("origin", &origin));
            }
        }
        Ok(())
    }

    fn is_host(&self, name: &str) -> bool {
        is_loopback(name) || self.hosts.iter().any(|host| host == name)
    }

    fn is_origin(&self, origin: &str) -> bool {
        let named = without_own_port(origin);
        if self.origins.iter().any(|own| own == named) {
            return true;
        }
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        // A page of the very host that is served is no stranger.
        rest.is_some_and(|rest| !rest.contains(['/', '@', '?', '#']) && self.is_host(name_of(rest)))
    }
}

#[cold]
fn not_allowed(what: &str, name: &str) -> String {
    format!("{what} {name:?} is not allowed")
}

/// Bytes beyond ASCII stay what they are: unequal to every name that is allowed.
fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes())
        .trim()
        .to_ascii_lowercase()
}

/// Takes the port from a host.
fn name_of(host: &str) -> &str {
    let port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, digits)) if port(digits) && (name.ends_with(']') || !name.contains(':')) => {
            name
        }
        _ => host,
    }
}

/// Whether any client can mean this host: letters and signs that the name of one is made of (RFC 3986, section 3.2.2), or
/// an address in brackets. A star stands in no name, and would look like a pattern.
fn is_name(host: &str) -> bool {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let name = inner.unwrap_or(host);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()+;=".contains(&byte);
    let mut bytes = name.bytes();
    !name.is_empty() && bytes.all(|byte| fits(byte) || (byte == b':' && inner.is_some()))
}

/// Whether any page can have this origin.
fn is_origin(origin: &str) -> bool {
    let parts = origin.split_once("://");
    parts.is_some_and(|(scheme, host)| is_scheme(scheme) && is_name(name_of(host)))
}

/// Takes the port from an origin that its scheme has anyway: browsers leave it out.
fn without_own_port(origin: &str) -> &str {
    let own = match origin.split_once("://") {
        Some(("http", _)) => ":80",
        Some(("https", _)) => ":443",
        _ => return origin,
    };
    origin.strip_suffix(own).unwrap_or(origin)
}

fn is_loopback(name: &str) -> bool {
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origins: &Origins, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        origins.check(&headers).is_ok()
    }

    #[test]
    fn the_names_of_loopback_are_served_with_any_port() {
        let origins = Origins::default();
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:9",
        ] {
            assert!(check(&origins, host, None), "{host}");
            assert!(
                check(&origins, "localhost", Some(&format!("http://{host}"))),
                "{host}"
            );
        }
    }

    #[test]
    fn strangers_and_those_who_look_like_friends_are_refused() {
        let origins = Origins::default();
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "127.0.0.1@evil",
            "::1",
            "",
        ] {
            assert!(!check(&origins, host, None), "{host}");
        }
        for origin in [
            "http://evil.example",
            "null",
            "file://",
            "http://localhost@evil.example",
            "http://localhost/x",
            "ftp://localhost",
            "",
        ] {
            assert!(!check(&origins, "localhost", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn names_that_were_added_are_served() {
        let mut origins = Origins::default();
        origins.add_host("API.example").unwrap();
        origins.add_host("other.example:8443").unwrap();
        origins.add_origin("https://app.example/").unwrap();
        assert!(check(
            &origins,
            "api.example:443",
            Some("https://app.example")
        ));
        assert!(check(&origins, "api.example", Some("https://api.example")));
        assert!(check(&origins, "other.example:8443", None));
        assert!(check(&origins, "other.example", None));
        assert!(!check(&origins, "app.example", None));
        assert!(!check(&origins, "api.example", Some("http://app.example")));
    }
}
