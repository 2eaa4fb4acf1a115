//! The sources of a signal: none, one, two, or a shared list.

use std::slice;
use std::sync::Arc as List;

use super::source::Source;
use super::sync::Arc;

/// The sources that a signal observes, each once.
#[derive(Clone)]
pub(super) enum Set {
    Never,
    One(Arc<Source>),
    Two([Arc<Source>; 2]),
    Many(List<[Arc<Source>]>),
}

/// As many survivors of a union are noted on the stack. It takes more only for a chain of as many controllers.
const NOTED: usize = 32;

impl Set {
    #[inline]
    pub(super) fn sources(&self) -> &[Arc<Source>] {
        match self {
            Self::Never => &[],
            Self::One(source) => slice::from_ref(source),
            Self::Two(sources) => sources,
            Self::Many(sources) => sources,
        }
    }

    /// Whether any source has fired.
    #[inline]
    pub(super) fn is_fired(&self) -> bool {
        match self {
            Self::Never => false,
            Self::One(source) => source.is_fired(),
            // All loads at once are cheaper than a branch between them.
            Self::Two([one, two]) => one.is_fired() | two.is_fired(),
            Self::Many(sources) => sources
                .iter()
                .fold(false, |fired, source| fired | source.is_fired()),
        }
    }

    fn contains(&self, source: &Arc<Source>) -> bool {
        self.sources()
            .iter()
            .any(|other| Arc::ptr_eq(source, other))
    }

    /// The sources of both. If `other` brings nothing new, or `self` is empty, it is a clone; otherwise inert sources
    /// are left out.
    pub(super) fn union(&self, other: Self) -> Self {
        match (self, other) {
            (_, Self::Never) => self.clone(),
            (Self::Never, other) => other,
            (Self::One(one), Self::One(two)) => {
                if Arc::ptr_eq(one, &two) || two.is_inert() {
                    Self::One(one.clone())
                } else if one.is_inert() {
                    Self::One(two)
                } else {
                    Self::Two([one.clone(), two])
                }
            }
            (_, other) => self.union_of_many(&other),
        }
    }

    fn union_of_many(&self, other: &Self) -> Self {
        let is_new = |source: &&Arc<Source>| !self.contains(source) && !source.is_inert();
        let mut new = other.sources().iter().filter(is_new).peekable();
        if new.peek().is_none() {
            return self.clone();
        }
        // An inert source is asked for only once, since a source may become inert at any moment.
        let old = self.sources().iter().filter(|source| !source.is_inert());
        let mut survivors = old.chain(new);
        let mut noted: [Option<&Arc<Source>>; NOTED] = [None; NOTED];
        let mut len = 0;
        while len < NOTED {
            let Some(source) = survivors.next() else {
                return match noted {
                    [None, ..] => Self::Never,
                    [Some(one), None, ..] => Self::One(one.clone()),
                    [Some(one), Some(two), None, ..] => Self::Two([one.clone(), two.clone()]),
                    // The length is known, so that this allocates once.
                    _ => Self::Many(
                        noted[..len]
                            .iter()
                            .map(|source| source.unwrap().clone())
                            .collect(),
                    ),
                };
            };
            noted[len] = Some(source);
            len += 1;
        }
        let noted = noted.iter().flatten().copied();
        Self::Many(noted.chain(survivors).cloned().collect::<Vec<_>>().into())
    }
}

/// Each source once, inert ones left out.
impl FromIterator<Arc<Source>> for Set {
    fn from_iter<I: IntoIterator<Item = Arc<Source>>>(iter: I) -> Self {
        let mut sources: Vec<_> = iter
            .into_iter()
            .filter(|source| !source.is_inert())
            .collect();
        sources.sort_unstable_by_key(|source| std::ptr::from_ref(&**source));
        sources.dedup_by(|a, b| Arc::ptr_eq(a, b));
        match sources.len() {
            0 => Self::Never,
            1 => Self::One(sources.remove(0)),
            2 => {
                let two = sources.remove(1);
                Self::Two([sources.remove(0), two])
            }
            _ => Self::Many(sources.into()),
        }
    }
}
