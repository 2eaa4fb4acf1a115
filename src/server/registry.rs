//! What a server offers by name: tools, prompts, resources and templates, in the order of their registration.

use std::collections::HashMap;
use std::sync::{Arc, RwLock, RwLockReadGuard};

use crate::Error;
use crate::era::{self, Stamp};
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::{Cache, Version};

/// Something that stands in a list.
pub(crate) trait Listed: Send + Sync + 'static {
    /// The member of the list's result: `tools`.
    const MEMBER: &'static str;

    /// What it is found by; no two have the same.
    fn key(&self) -> &str;

    /// The one among others that is found where this one is looked for, by another key.
    fn clash<'a>(&self, _others: &'a [Arc<Self>]) -> Option<&'a Self> {
        None
    }

    /// What clients are told of it, as JSON.
    fn definition(&self) -> String;
}

/// A list that may change while the server runs.
pub(crate) struct Registry<T> {
    state: RwLock<State<T>>,
    page_size: usize,
    cache: Cache,
}

struct State<T> {
    order: Vec<Arc<T>>,
    by_key: HashMap<Arc<str>, Arc<T>>,
    /// Whole results, written once: they are the same for every client of a revision.
    pages: HashMap<(Version, usize), Arc<[u8]>>,
}

impl<T: Listed> Registry<T> {
    pub(crate) fn new(page_size: usize, cache: Cache) -> Self {
        let state = State {
            order: Vec::new(),
            by_key: HashMap::new(),
            pages: HashMap::new(),
        };
        Self {
            state: RwLock::new(state),
            page_size,
            cache,
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, State<T>> {
        self.state
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn change<R>(&self, change: impl FnOnce(&mut State<T>) -> R) -> R {
        let mut state = self
            .state
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        state.pages.clear();
        change(&mut state)
    }

    /// Adds one at the end. Refuses one whose key is taken, or that could never be found.
    pub(crate) fn add(&self, what: &str, item: T) -> Result<(), Error> {
        self.change(|state| {
            if state.by_key.contains_key(item.key()) {
                return Err(Error::twice(what, item.key()));
            }
            if let Some(other) = item.clash(&state.order) {
                let (key, other) = (item.key(), other.key());
                return Err(Error::definition(format!(
                    "{what} {key:?} fits the same addresses as {other:?}"
                )));
            }
            let item = Arc::new(item);
            state.by_key.insert(item.key().into(), item.clone());
            state.order.push(item);
            Ok(())
        })
    }

    /// Takes one away. Calls of it that run are not touched.
    pub(crate) fn remove(&self, key: &str) -> Option<Arc<T>> {
        self.change(|state| {
            let item = state.by_key.remove(key)?;
            state.order.retain(|other| other.key() != key);
            Some(item)
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.state().by_key.get(key).cloned()
    }

    /// Returns the first that fits.
    pub(crate) fn find<R>(&self, fits: impl Fn(&Arc<T>) -> Option<R>) -> Option<R> {
        self.state().order.iter().find_map(fits)
    }

    /// Returns the result object of one page, written as the revision knows it.
    pub(crate) fn page(
        &self,
        version: Version,
        cursor: Option<&str>,
        stamp: &Stamp,
    ) -> Result<Arc<[u8]>, RpcError> {
        let start = match cursor {
            None => 0,
            Some(cursor) => self.position(cursor)?,
        };
        if let Some(page) = self.state().pages.get(&(version, start)) {
            return Ok(page.clone());
        }
        self.change_page(version, start, stamp)
    }

    /// A cursor is the number of items before the page. It needs no memory, and stays good while the list grows.
    fn position(&self, cursor: &str) -> Result<usize, RpcError> {
        let invalid = || RpcError::invalid_params("Invalid cursor");
        let digits = cursor.strip_prefix('p').ok_or_else(invalid)?;
        let position: usize = digits.parse().map_err(|_| invalid())?;
        let canonical =
            position > 0 && position % self.page_size == 0 && position.to_string() == digits;
        match canonical && position < self.state().order.len() {
            true => Ok(position),
            false => Err(invalid()),
        }
    }

    fn change_page(
        &self,
        version: Version,
        start: usize,
        stamp: &Stamp,
    ) -> Result<Arc<[u8]>, RpcError> {
        let mut state = self
            .state
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let items = state.order.get(start..).unwrap_or_default();
        let definitions = items
            .iter()
            .take(self.page_size)
            .map(|item| item.definition())
            .collect();
        let next = (items.len() > self.page_size).then(|| format!("p{}", start + self.page_size));
        let page: Arc<[u8]> =
            era::write_list(version, T::MEMBER, definitions, next, self.cache, stamp).into();
        state.pages.insert((version, start), page.clone());
        Ok(page)
    }
}
