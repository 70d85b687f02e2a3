//! An iterator over entries, for the public maps.

use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use fyris_sync::reclaim::Guard;

use super::HashIndex;
use crate::Entry;

/// Entries fetched at a time: enough for their cache misses to overlap.
const AHEAD: usize = 32;

/// All entries of an index, met under a pin. An entry that is there throughout is met exactly once.
pub(crate) struct Entries<'g, E: Entry, S, P> {
    index: &'g HashIndex<E, S>,
    /// Entries are used under this pin.
    pin: PhantomData<&'g P>,
    /// The hash at which the next bucket begins; `None` after the last.
    from: Option<u64>,
    ahead: Vec<E>,
    at: usize,
}

impl<'g, E: Entry, S, P: Guard> Entries<'g, E, S, P> {
    pub(crate) fn new(index: &'g HashIndex<E, S>, _: &'g P) -> Self {
        Self {
            index,
            pin: PhantomData,
            from: Some(0),
            ahead: Vec::new(),
            at: 0,
        }
    }
}

impl<E: Entry, S: BuildHasher, P> Entries<'_, E, S, P>
where
    E::Key: Hash + Eq,
{
    #[cold]
    fn refill(&mut self) -> Option<()> {
        self.ahead.clear();
        self.at = 0;
        while self.ahead.len() < AHEAD {
            let Some(from) = self.from else { break };
            self.from = self.index.bucket_batch(from, &mut self.ahead);
        }
        for entry in &self.ahead {
            entry.prefetch();
        }
        (!self.ahead.is_empty()).then_some(())
    }
}

impl<E: Entry, S: BuildHasher, P> Iterator for Entries<'_, E, S, P>
where
    E::Key: Hash + Eq,
{
    type Item = E;

    #[inline]
    fn next(&mut self) -> Option<E> {
        if self.at == self.ahead.len() {
            self.refill()?;
        }
        self.at += 1;
        Some(self.ahead[self.at - 1])
    }
}
