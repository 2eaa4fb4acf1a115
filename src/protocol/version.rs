//! The protocol revisions that the crate speaks.

use std::fmt;

/// A revision of the Model Context Protocol, ordered by age.
///
/// Revisions up to [`V2025_11_25`](Version::V2025_11_25) open with `initialize` (the legacy era); from
/// [`V2026_07_28`](Version::V2026_07_28) on every request names its revision itself (the modern era).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// 2024-11-05.
    V2024_11_05,
    /// 2025-03-26.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25, the last one that opens with `initialize`.
    V2025_11_25,
    /// 2026-07-28, the first one without a handshake.
    V2026_07_28,
}

impl Version {
    /// Every revision, newest first: the order in which a server offers them.
    pub const ALL: &'static [Version] = &[
        Version::V2026_07_28,
        Version::V2025_11_25,
        Version::V2025_06_18,
        Version::V2025_03_26,
        Version::V2024_11_05,
    ];

    /// Returns the revision of this name, if the crate speaks it.
    ///
    /// ```
    /// use smol_mcp::protocol::Version;
    ///
    /// assert_eq!(Version::from_name("2025-06-18"), Some(Version::V2025_06_18));
    /// assert_eq!(Version::from_name("2031-01-01"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|version| version.as_str() == name)
    }

    /// Returns the name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
