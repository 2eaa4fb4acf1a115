//! What a call has said that its client has not read: in order, and bounded.

use std::collections::VecDeque;

use super::messages;
use crate::protocol::LogLevel;

/// How many reports of progress of one call wait for a slow client before the newest replaces the last.
const REPORTS: usize = 16;

/// The most bytes of a report of which that many wait. A larger one, such as with a long token, waits alone.
const LARGE: usize = 8 * 1024;

/// Messages that wait.
#[derive(Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    reports: usize,
    logs: usize,
    /// Log messages that were left out, where the oldest of those that wait stands.
    missed: Option<Missed>,
}

struct Entry {
    kind: Kind,
    message: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    Progress,
    Log(LogLevel),
}

#[derive(Clone, Copy)]
struct Missed {
    count: usize,
    /// The greatest of their levels, so that the client asked for what it is told.
    level: LogLevel,
}

impl Queue {
    pub(super) fn push(&mut self, message: Vec<u8>) {
        let kind = Kind::Message;
        self.entries.push_back(Entry { kind, message });
    }

    /// Adds progress. Of too much only the newest stays at the end, behind what was said before it.
    pub(super) fn push_progress(&mut self, message: Vec<u8>) {
        let kind = Kind::Progress;
        let most = if message.len() > LARGE { 1 } else { REPORTS };
        if self.reports >= most {
            let last = self.entries.iter().rposition(|entry| entry.kind == kind);
            last.map(|last| self.entries.remove(last));
            self.reports -= 1;
        }
        self.reports += 1;
        self.entries.push_back(Entry { kind, message });
    }

    /// Adds a log message, to at most so many. Of too many the oldest is left out.
    pub(super) fn push_log(&mut self, level: LogLevel, message: Vec<u8>, most: usize) {
        if self.logs >= most {
            self.leave_out_a_log();
        }
        self.logs += 1;
        let kind = Kind::Log(level);
        self.entries.push_back(Entry { kind, message });
    }

    fn leave_out_a_log(&mut self) {
        let log = |entry: &Entry| match entry.kind {
            Kind::Log(level) => Some(level),
            _ => None,
        };
        let mut entries = self.entries.iter().enumerate();
        let oldest = entries.find_map(|(at, entry)| Some((at, log(entry)?)));
        let Some((at, level)) = oldest else {
            return;
        };
        self.entries.remove(at);
        self.logs -= 1;
        let missed = self.missed.get_or_insert(Missed { count: 0, level });
        missed.count += 1;
        missed.level = missed.level.max(level);
    }

    /// Takes the oldest message, or what stands in for those that were left out before it.
    pub(super) fn pop(&mut self) -> Option<Vec<u8>> {
        match self.entries.front()?.kind {
            Kind::Message => {}
            Kind::Progress => self.reports -= 1,
            Kind::Log(_) => {
                if let Some(Missed { count, level }) = self.missed.take() {
                    return Some(messages::left_out(level, count));
                }
                self.logs -= 1;
            }
        }
        self.entries.pop_front().map(|entry| entry.message)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn contains(&self, message: &[u8]) -> bool {
        self.entries.iter().any(|entry| entry.message == message)
    }
}
