//! Log levels: how loud a log notification is.

use crate::protocol::object::words;

words! {
    /// Tells how severe a log message is (MCP 2026-07-28, server/utilities/logging; the levels of
    /// RFC 5424).
    ///
    /// Levels are ordered: a client that asks for [`Warning`](Self::Warning) wants it and all levels
    /// above.
    ///
    /// ```
    /// use smol_mcp::protocol::LogLevel;
    ///
    /// assert!(LogLevel::Debug < LogLevel::Warning && LogLevel::Warning < LogLevel::Emergency);
    /// assert_eq!("notice".parse(), Ok(LogLevel::Notice));
    /// assert_eq!(LogLevel::Notice.to_string(), "notice");
    /// ```
    #[derive(PartialOrd, Ord)]
    pub enum LogLevel: "log level" {
        /// Details for debugging.
        Debug = "debug",
        /// Progress of normal work.
        Info = "info",
        /// Normal but worth noting.
        Notice = "notice",
        /// Something may go wrong.
        Warning = "warning",
        /// Something went wrong.
        Error = "error",
        /// A part of the system fails.
        Critical = "critical",
        /// Someone must act now.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}
