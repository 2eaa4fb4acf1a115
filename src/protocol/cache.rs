//! How long and for whom a client may keep a result.

use std::time::Duration;

use crate::protocol::object::{object, words};

/// The largest integer that every JSON reader keeps exactly: 2^53 - 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

object! {
    /// Says how long a client may serve a result from its cache, and to whom (MCP 2026-07-28,
    /// server/utilities/caching).
    ///
    /// It is a hint: the result may change earlier, and a change notification overrides it. By default
    /// a result is stale at once, and private.
    ///
    /// ```
    /// use std::time::Duration;
    /// use smol_mcp::protocol::Cache;
    ///
    /// let json = |cache| serde_json::to_string(&cache).unwrap();
    /// assert_eq!(json(Cache::default()), r#"{"ttlMs":0,"cacheScope":"private"}"#);
    /// assert_eq!(json(Cache::public(Duration::from_secs(60))), r#"{"ttlMs":60000,"cacheScope":"public"}"#);
    /// ```
    #[derive(Copy, Eq, Default)]
    pub struct Cache {
        /// How many milliseconds the result stays fresh; 0 is stale at once.
        pub ttl_ms: u64 = required "ttlMs",
        /// Who may be served the cached result.
        pub scope: CacheScope = required "cacheScope",
    }
}

impl Cache {
    /// Lets anyone be served the result for `ttl`, across users and tokens.
    ///
    /// Use it only for results that are the same for every caller.
    pub fn public(ttl: Duration) -> Self {
        Self {
            ttl_ms: millis(ttl),
            scope: CacheScope::Public,
        }
    }

    /// Lets the same caller be served the result for `ttl`.
    pub fn private(ttl: Duration) -> Self {
        Self {
            ttl_ms: millis(ttl),
            scope: CacheScope::Private,
        }
    }
}

fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).map_or(MAX_SAFE_INTEGER, |ms| ms.min(MAX_SAFE_INTEGER))
}

words! {
    /// Names who may be served a cached result. It is not access control: every request is still
    /// checked.
    #[derive(Default)]
    pub enum CacheScope: "cache scope" {
        /// Only the caller whose authorization produced it.
        #[default]
        Private = "private",
        /// Anyone.
        Public = "public",
    }
}
