//! What a server offers by name: tools, prompts, resources and templates, in the order of their registration.

use std::any::Any;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::Error;
use crate::era::{self, Stamp};
use crate::protocol::jsonrpc::RpcError;
use crate::protocol::{Cache, Version};

/// Something whose type can be asked for again.
pub(crate) trait Typed: Any + Send + Sync {
    fn as_any(&self) -> &dyn Any;

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<T: Any + Send + Sync> Typed for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Something that stands in a list.
pub(crate) trait Listed: Typed {
    /// What it is called in an error: `tool`.
    fn what(&self) -> &'static str;

    /// What it is found by; no two have the same.
    fn key(&self) -> &str;

    /// Finds what an author can do wrong.
    fn check(&self) -> Result<(), Error>;

    /// Tells whether it is found where the other one is looked for, by another key.
    fn clashes(&self, _other: &dyn Any) -> bool {
        false
    }

    /// What clients are told of it, as JSON.
    fn definition(&self) -> String;
}

/// Any one thing that a server lists.
pub(crate) type Item = Arc<dyn Listed>;

/// The thing itself: the pointer to it has a type that can be asked for, too.
fn item_as_any(item: &Item) -> &dyn Any {
    let item: &dyn Listed = &**item;
    item.as_any()
}

/// A list of things of one type that may change while the server runs.
pub(crate) struct Registry<T> {
    items: Items,
    of: PhantomData<fn() -> T>,
}

impl<T: Listed> Registry<T> {
    /// Makes a list that is called `member` in the result that holds it: `tools`.
    pub(crate) fn new(
        member: &'static str,
        page_size: usize,
        cache: Cache,
        items: Vec<Item>,
    ) -> Result<Self, Error> {
        let registry = Self {
            items: Items {
                member,
                state: RwLock::default(),
                page_size,
                cache,
            },
            of: PhantomData,
        };
        items
            .into_iter()
            .try_for_each(|item| registry.items.add(item))?;
        Ok(registry)
    }

    /// Returns what does not depend on the type.
    pub(crate) fn items(&self) -> &Items {
        &self.items
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.items.get(key)?.into_any().downcast().ok()
    }

    /// Returns the first that fits, and what it was found to be.
    pub(crate) fn find<R>(&self, fits: impl Fn(&T) -> Option<R>) -> Option<(Arc<T>, R)> {
        let state = self.items.state();
        let (item, found) = state
            .order
            .iter()
            .find_map(|item| Some((item, fits(item_as_any(item).downcast_ref()?)?)))?;
        Some((item.clone().into_any().downcast().ok()?, found))
    }
}

/// A list of whatever, in one piece of code for all types.
pub(crate) struct Items {
    member: &'static str,
    state: RwLock<State>,
    page_size: usize,
    cache: Cache,
}

#[derive(Default)]
struct State {
    order: Vec<Item>,
    by_key: HashMap<Arc<str>, Item>,
    /// Whole results, written once: they are the same for every client of a revision.
    pages: HashMap<(Version, usize), Arc<[u8]>>,
}

impl Items {
    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state
            .read()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state
            .write()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds one at the end. Refuses one whose key is taken, or that could never be found.
    pub(crate) fn add(&self, item: Item) -> Result<(), Error> {
        item.check()?;
        let mut state = self.state_mut();
        if state.by_key.contains_key(item.key()) {
            return Err(Error::twice(item.what(), item.key()));
        }
        if let Some(other) = state
            .order
            .iter()
            .find(|other| item.clashes(item_as_any(other)))
        {
            return Err(Error::definition(format!(
                "{} {:?} fits the same addresses as {:?}",
                item.what(),
                item.key(),
                other.key()
            )));
        }
        state.pages.clear();
        state.by_key.insert(item.key().into(), item.clone());
        state.order.push(item);
        Ok(())
    }

    /// Takes one away. Calls of it that run are not touched.
    pub(crate) fn remove(&self, key: &str) -> Option<Item> {
        let mut state = self.state_mut();
        let item = state.by_key.remove(key)?;
        state.pages.clear();
        state.order.retain(|other| other.key() != key);
        Some(item)
    }

    fn get(&self, key: &str) -> Option<Item> {
        self.state().by_key.get(key).cloned()
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
        self.write_page(version, start, stamp)
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

    fn write_page(
        &self,
        version: Version,
        start: usize,
        stamp: &Stamp,
    ) -> Result<Arc<[u8]>, RpcError> {
        let mut state = self.state_mut();
        let items = state.order.get(start..).unwrap_or_default();
        let definitions = items
            .iter()
            .take(self.page_size)
            .map(|item| item.definition())
            .collect();
        let next = (items.len() > self.page_size).then(|| format!("p{}", start + self.page_size));
        let page: Arc<[u8]> =
            era::write_list(version, self.member, definitions, next, self.cache, stamp).into();
        state.pages.insert((version, start), page.clone());
        Ok(page)
    }
}
