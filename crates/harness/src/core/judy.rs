//! `JudyMap` under measurement: a map of one thread, with no lock.

use std::cell::UnsafeCell;
use std::ops::Bound;

use fyris_judy::JudyMap;

use super::subject::{Seen, Subject};

/// The map, for a pass of one thread ([`Subject::CONCURRENT`]).
#[derive(Default)]
pub(super) struct Judy(UnsafeCell<JudyMap<u64, u64>>);

// SAFETY: the harness gives a subject that is not `CONCURRENT` to one thread at a time.
unsafe impl Sync for Judy {}

impl Judy {
    #[expect(clippy::mut_from_ref, reason = "of one thread, as the type says")]
    #[inline]
    fn map(&self) -> &mut JudyMap<u64, u64> {
        // SAFETY: one thread, and no method keeps what it borrows.
        unsafe { &mut *self.0.get() }
    }
}

impl Subject<u64> for Judy {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(true);
    const CONCURRENT: bool = false;

    fn new() -> Self {
        Self::default()
    }
    #[inline]
    fn insert(&self, key: &u64, value: u64) {
        self.map().insert(*key, value);
    }
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.map().get(key).copied()
    }
    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.map().remove(key).is_some()
    }
    #[inline]
    fn add(&self, key: &u64) {
        if let Some(value) = self.map().get_mut(key) {
            *value += 1;
        }
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.map().values().for_each(|value| seen.add(*value));
        seen
    }
    fn range(&self, from: &u64, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let range = self.map().range((Bound::Included(*from), Bound::Unbounded));
        range
            .take(limit as usize)
            .for_each(|(_, value)| seen.add(*value));
        seen
    }
}
