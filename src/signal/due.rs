//! Who is to be woken when: a heap of which the earliest is the first, and from which each can be taken by its place.

use std::task::Waker;

/// No slot is free.
const NONE: usize = usize::MAX;

/// As much room is kept, however few are left.
const KEPT: usize = 64;

pub(super) struct Due {
    heap: Vec<Item>,
    /// Where in the heap the item of a slot stands; of a free slot, the next free one.
    slots: Vec<usize>,
    free: usize,
    next: u64,
}

struct Item {
    at: u64,
    /// Tells equal times apart, in the order in which they came, and an item from a later one in its slot.
    number: u64,
    slot: usize,
    waker: Waker,
}

/// What an item is found by.
#[derive(Clone, Copy)]
pub(super) struct Place {
    slot: usize,
    number: u64,
}

impl Due {
    pub(super) const fn new() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free: NONE,
            next: 0,
        }
    }

    /// The earliest moment.
    pub(super) fn first(&self) -> Option<u64> {
        self.heap.first().map(|item| item.at)
    }

    pub(super) fn insert(&mut self, at: u64, waker: Waker) -> Place {
        let (number, last) = (self.next, self.heap.len());
        self.next += 1;
        let slot = match self.free {
            NONE => {
                self.slots.push(last);
                self.slots.len() - 1
            }
            free => {
                self.free = std::mem::replace(&mut self.slots[free], last);
                free
            }
        };
        self.heap.push(Item {
            at,
            number,
            slot,
            waker,
        });
        self.rise(last);
        Place { slot, number }
    }

    /// Takes an item out, if it is there still.
    pub(super) fn remove(&mut self, place: Place) -> Option<Waker> {
        let at = *self.slots.get(place.slot)?;
        let there = self.heap.get(at)?.number == place.number;
        there.then(|| self.take(at))
    }

    /// Takes the first, if its moment has come.
    pub(super) fn pop(&mut self, now: u64) -> Option<Waker> {
        (self.first()? <= now).then(|| self.take(0))
    }

    fn take(&mut self, at: usize) -> Waker {
        let item = self.heap.swap_remove(at);
        self.slots[item.slot] = std::mem::replace(&mut self.free, item.slot);
        if at < self.heap.len() {
            self.note(at);
            self.rise(at);
            self.sink(at);
        }
        self.give_back();
        item.waker
    }

    /// Gives back the room that a great number has taken; that of the slots once nobody waits.
    fn give_back(&mut self) {
        let room = self.heap.capacity();
        if room > KEPT && self.heap.len() < room / 4 {
            self.heap.shrink_to(room / 2);
        }
        // Before, a slot may be anybody's.
        if self.heap.is_empty() && self.slots.len() > KEPT {
            (self.slots, self.free) = (Vec::new(), NONE);
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_before(at, (at - 1) / 2) {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.is_before(child, least) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }

    fn is_before(&self, one: usize, two: usize) -> bool {
        let key = |item: &Item| (item.at, item.number);
        key(&self.heap[one]) < key(&self.heap[two])
    }

    fn swap(&mut self, one: usize, two: usize) {
        self.heap.swap(one, two);
        self.note(one);
        self.note(two);
    }

    fn note(&mut self, at: usize) {
        self.slots[self.heap[at].slot] = at;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Goes through as many steps, of which each inserts, removes or pops, and compares with a map that is searched.
    fn go(steps: u64, room: u64) {
        let (mut due, mut told) = (Due::new(), BTreeMap::new());
        let mut places = Vec::new();
        let mut random = 1_u64;
        for step in 0..steps {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let chance = random >> 33;
            let at = chance % 1000;
            if chance % 3 < 2 && (step % (2 * room)) < room {
                places.push((at, step, due.insert(at, Waker::noop().clone())));
                told.insert((at, step), ());
            } else if chance % 5 < 3 && !places.is_empty() {
                // Also one that is gone already.
                let (at, number, place) = places[chance as usize % places.len()];
                let there = told.remove(&(at, number)).is_some();
                assert_eq!(due.remove(place).is_some(), there, "step {step}");
            } else {
                let first = told.keys().next().copied().filter(|first| first.0 <= at);
                assert_eq!(due.pop(at).is_some(), first.is_some(), "step {step}");
                first.and_then(|first| told.remove(&first));
            }
            let first = told.keys().next().map(|first| first.0);
            assert_eq!(due.first(), first, "step {step}");
            assert_eq!(due.heap.len(), told.len(), "step {step}");
        }
        while due.pop(u64::MAX).is_some() {}
        assert!(due.heap.capacity() <= 2 * KEPT && due.slots.len() <= KEPT);
    }

    #[test]
    fn the_first_is_the_earliest_whoever_comes_and_goes() {
        go(20_000, 50);
        go(20_000, 3_000);
    }
}
