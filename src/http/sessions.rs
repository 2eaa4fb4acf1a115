//! The sessions of an endpoint: a table by their names, bounded in number and in idle time.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::endpoint::Inner;
use super::session::Session;
use crate::random;

/// Sessions are looked through for idle ones at most this often.
const SWEEP: Duration = Duration::from_secs(60);

/// The sessions of an endpoint.
pub(super) struct Sessions {
    table: Mutex<Table>,
    most: usize,
    idle: Duration,
}

#[derive(Default)]
struct Table {
    /// By the number that the name is, so that finding one takes no collection of another kind. Sorted.
    sessions: Vec<(u128, Arc<Session>)>,
    swept: Option<Instant>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(1000, Duration::from_secs(30 * 60))
    }
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self {
            table: Mutex::default(),
            most,
            idle,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Finds a session by its name, unless it has been idle for too long.
    pub(super) fn get(&self, endpoint: &Inner, id: &str) -> Option<Arc<Session>> {
        self.sweep(endpoint, SWEEP.min(self.idle));
        let session = self.table().get(number(id)?)?;
        if session.is_idle(self.idle) {
            self.remove(id);
            session.end(endpoint);
            return None;
        }
        Some(session)
    }

    /// Ends the sessions that nobody uses, unless that was done `lately`.
    fn sweep(&self, endpoint: &Inner, lately: Duration) {
        let mut table = self.table();
        if table.swept.is_some_and(|swept| swept.elapsed() < lately) {
            return;
        }
        table.swept = Some(Instant::now());
        let mut ended = Vec::new();
        table.sessions.retain(|(_, session)| {
            let idle = session.is_idle(self.idle);
            if idle {
                ended.push(session.clone());
            }
            !idle
        });
        drop(table);
        ended.iter().for_each(|session| session.end(endpoint));
    }

    /// Enters a session, unless there are too many.
    pub(super) fn insert(&self, session: Session) -> bool {
        let mut table = self.table();
        let room = table.sessions.len() < self.most;
        if let (true, Some(number)) = (room, number(&session.id)) {
            let (Ok(at) | Err(at)) = table.place(number);
            table.sessions.insert(at, (number, Arc::new(session)));
        }
        room
    }

    pub(super) fn remove(&self, id: &str) {
        let mut table = self.table();
        if let Some(Ok(at)) = number(id).map(|number| table.place(number)) {
            table.sessions.remove(at);
        }
    }

    /// Tells whether there is room for one more, ending idle ones for it.
    pub(super) fn has_room(&self, endpoint: &Inner) -> bool {
        self.sweep(endpoint, SWEEP.min(self.idle));
        if self.is_full() {
            self.sweep(endpoint, Duration::ZERO);
        }
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.table().sessions.len() >= self.most
    }
}

impl Table {
    fn place(&self, number: u128) -> Result<usize, usize> {
        self.sessions
            .binary_search_by_key(&number, |(number, _)| *number)
    }

    fn get(&self, number: u128) -> Option<Arc<Session>> {
        let at = self.place(number).ok()?;
        Some(self.sessions[at].1.clone())
    }
}

/// 128 random bits: nobody guesses another's.
pub(super) fn new_id() -> io::Result<String> {
    let bytes = random::bytes::<16>()?;
    let mut name = String::with_capacity(32);
    for byte in bytes {
        for digit in [usize::from(byte >> 4), usize::from(byte & 15)] {
            name.push_str(&DIGITS[digit..=digit]);
        }
    }
    Ok(name)
}

const DIGITS: &str = "0123456789abcdef";

/// The number that a name is; `None` for what is no name of ours.
fn number(id: &str) -> Option<u128> {
    if id.len() != 32 {
        return None;
    }
    let mut number = 0;
    for byte in id.bytes() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | u128::from(digit);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    // R113, R114, R325
    #[test]
    fn names_of_sessions_are_128_random_bits_in_visible_characters() {
        let names: std::collections::HashSet<_> = (0..1000).map(|_| new_id().unwrap()).collect();
        assert_eq!(names.len(), 1000);
        for name in names {
            assert_eq!(name.len(), 32);
            assert!(name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        }
    }
}
