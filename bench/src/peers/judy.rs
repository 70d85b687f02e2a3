//! libJudy's JudyL: a map of one thread, with no lock.

use std::cell::UnsafeCell;

use fyris_harness::{Seen, Subject};

use crate::judyl::JudyL;

pub struct Judy(UnsafeCell<JudyL>);

// SAFETY: the harness gives a subject that is not `CONCURRENT` to one thread at a time.
unsafe impl Sync for Judy {}

impl Judy {
    #[expect(clippy::mut_from_ref, reason = "of one thread, as the type says")]
    #[inline]
    fn array(&self) -> &mut JudyL {
        // SAFETY: one thread, and no method keeps what it borrows.
        unsafe { &mut *self.0.get() }
    }
}

impl Subject<u64> for Judy {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(true);
    const CONCURRENT: bool = false;

    fn new() -> Self {
        Self(UnsafeCell::new(JudyL::new()))
    }
    #[inline]
    fn insert(&self, key: &u64, value: u64) {
        *self.array().place(*key) = value;
    }
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.array().get(*key)
    }
    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.array().remove(*key)
    }
    #[inline]
    fn add(&self, key: &u64) {
        *self.array().place(*key) += 1;
    }
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.array().walk(0, |_, value| {
            seen.add(value);
            true
        });
        seen
    }
    fn range(&self, from: &u64, limit: u64) -> Seen {
        let mut seen = Seen::default();
        if limit > 0 {
            self.array().walk(*from, |_, value| {
                seen.add(value);
                seen.entries < limit
            });
        }
        seen
    }
}
