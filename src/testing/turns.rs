//! Something that one future uses at a time, across its waits.

use std::ops::{Deref, DerefMut};

use async_channel::{Receiver, Sender};

/// The others wait; whoever is dropped or done gives way to the next.
pub(super) struct Turns<T> {
    give: Sender<T>,
    take: Receiver<T>,
}

/// What is used, until this is dropped.
pub(super) struct Turn<'a, T> {
    /// `None` only within `drop`.
    value: Option<T>,
    give: &'a Sender<T>,
}

const OPEN: &str = "both ends live together";
const KEPT: &str = "it is given back by `drop` alone";

impl<T> Turns<T> {
    pub(super) fn new(value: T) -> Self {
        let (give, take) = async_channel::bounded(1);
        let turns = Self { give, take };
        turns.turn(value);
        turns
    }

    /// Waits for a turn.
    pub(super) async fn next(&self) -> Turn<'_, T> {
        self.turn(self.take.recv().await.expect(OPEN))
    }

    /// Takes a turn if nobody has it.
    pub(super) fn now(&self) -> Option<Turn<'_, T>> {
        self.take.try_recv().ok().map(|value| self.turn(value))
    }

    fn turn(&self, value: T) -> Turn<'_, T> {
        let (value, give) = (Some(value), &self.give);
        Turn { value, give }
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            // There is one value, and one place.
            let _ = self.give.try_send(value);
        }
    }
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect(KEPT)
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect(KEPT)
    }
}
