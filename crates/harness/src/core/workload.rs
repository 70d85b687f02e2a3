//! The operations of a pass, made beforehand, and the answers they must get.
//!
//! The keys of *updates* (insert, delete, the updates of a mix) are split between threads by index, so
//! the set that each thread takes out is known whatever the interleaving; lookups draw from all keys. With a
//! random order of keys the threads still meet in the same buckets and leaves.

use super::case::Case;
use super::keys::KeyKind;
use crate::rng::Rng;

/// An operation of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Get,
    Insert,
    Remove,
}

/// The keys of one case and thread, in the order of their use.
pub(super) struct List<K> {
    pub(super) keys: Vec<K>,
    /// For a mix: what to do with each key.
    pub(super) ops: Vec<Op>,
    /// The number of operations that must succeed (lookups that find, removals that remove); `None` if that is not
    /// fixed.
    pub(super) expect: Option<u64>,
    /// The first value to insert; the following ones count up.
    pub(super) base: u64,
}

impl<K> List<K> {
    fn plain(keys: Vec<K>, expect: Option<u64>) -> Self {
        Self {
            keys,
            ops: Vec::new(),
            expect,
            base: 0,
        }
    }
}

/// Everything a pass does.
pub(super) struct Workload<K> {
    pub(super) entries: usize,
    pub(super) threads: usize,
    /// By thread, then in the order of the cases asked for.
    pub(super) lists: Vec<Vec<(Case, List<K>)>>,
}

/// The number of neighbouring keys of `hot8`.
pub(super) const HOT: u64 = 8;

/// The number of entries that a `range100` visits.
pub(super) const RANGE: u64 = 100;

/// The state of the table as the workload is being made.
struct Maker<'a, K> {
    kind: &'a KeyKind<K>,
    range: u64,
    threads: u64,
    ops: usize,
    /// Whether each index is in the table now.
    present: Vec<bool>,
    /// The indexes that are in the table until the first mix.
    first: Vec<u32>,
    rng: Rng,
}

impl<K> Workload<K> {
    /// Returns a workload of `cases` (in the order of [`Case::POINTS`]; it starts with `Insert`) over a table of
    /// `entries` keys of a range of twice as many.
    pub(super) fn new(
        kind: &KeyKind<K>,
        cases: &[Case],
        entries: usize,
        ops: usize,
        threads: usize,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::new(seed);
        let range = 2 * entries as u64;
        let mut indexes: Vec<u32> = (0..range as u32).collect();
        rng.shuffle(&mut indexes);
        let mut present = vec![false; range as usize];
        for &index in &indexes[..entries] {
            present[index as usize] = true;
        }
        indexes.truncate(entries);
        let mut maker = Maker {
            kind,
            range,
            threads: threads as u64,
            ops,
            present,
            first: indexes,
            rng,
        };
        let mut lists: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for &case in cases {
            let of_case = maker.lists(case);
            for (thread, list) in of_case.into_iter().enumerate() {
                lists[thread].push((case, list));
            }
        }
        Self {
            entries,
            threads,
            lists,
        }
    }
}

impl<K> Maker<'_, K> {
    fn lists(&mut self, case: Case) -> Vec<List<K>> {
        match case {
            Case::Insert => self.inserts(),
            Case::Hot8 => self.hot(),
            Case::Delete => self.deletes(),
            _ => (0..self.threads)
                .map(|thread| self.draws(case, thread))
                .collect(),
        }
    }

    fn inserts(&mut self) -> Vec<List<K>> {
        let mut base = 0;
        let mut lists = Vec::new();
        for thread in 0..self.threads {
            let keys: Vec<K> = self
                .owned_by(thread)
                .map(|&i| (self.kind.make)(u64::from(i)))
                .collect();
            let first = base;
            base += keys.len() as u64;
            lists.push(List {
                base: first,
                ..List::plain(keys, None)
            });
        }
        lists
    }

    fn owned_by(&self, thread: u64) -> impl Iterator<Item = &u32> {
        self.first
            .iter()
            .filter(move |&&i| u64::from(i) % self.threads == thread)
    }

    /// Returns the cases that draw `ops` keys for each thread.
    fn draws(&mut self, case: Case, thread: u64) -> List<K> {
        if let Some(share) = case.lookup_share() {
            return self.mix(share, thread);
        }
        let ops = match case {
            Case::Scan => 0,
            Case::Range100 => self.ops.div_ceil(RANGE as usize),
            _ => self.ops,
        };
        let mut keys = Vec::with_capacity(ops);
        let mut found = 0;
        for _ in 0..ops {
            let index = self.draw(case);
            found += u64::from(self.present[index as usize]);
            keys.push((self.kind.make)(index));
        }
        List::plain(keys, (case != Case::Range100).then_some(found))
    }

    fn draw(&mut self, case: Case) -> u64 {
        match case {
            Case::Hit | Case::HitDependent => {
                u64::from(self.first[self.rng.below(self.first.len() as u64) as usize])
            }
            Case::Miss => loop {
                let index = self.rng.below(self.range);
                if !self.present[index as usize] {
                    return index;
                }
            },
            _ => self.rng.below(self.range),
        }
    }

    fn mix(&mut self, share: u64, thread: u64) -> List<K> {
        let mut list = List::plain(Vec::with_capacity(self.ops), None);
        let mut removed = 0;
        for _ in 0..self.ops {
            let (op, index) = if self.rng.below(100) < share {
                (Op::Get, self.rng.below(self.range))
            } else {
                let own = self.rng.below(self.range / self.threads) * self.threads + thread;
                let put = self.rng.below(2) == 0;
                let was = std::mem::replace(&mut self.present[own as usize], put);
                removed += u64::from(was && !put);
                (if put { Op::Insert } else { Op::Remove }, own)
            };
            list.ops.push(op);
            list.keys.push((self.kind.make)(index));
        }
        list.expect = Some(removed);
        list
    }

    /// Returns the same keys for every thread: eight neighbours in the middle of the range.
    fn hot(&mut self) -> Vec<List<K>> {
        let from = self.range / 2;
        let make = |i| (self.kind.make)(i);
        let lists = (0..self.threads)
            .map(|_| List::plain((from..from + HOT).map(make).collect(), None))
            .collect();
        self.present[from as usize..(from + HOT) as usize].fill(true);
        lists
    }

    fn deletes(&mut self) -> Vec<List<K>> {
        let mut live: Vec<u64> = (0..self.range)
            .filter(|&i| self.present[i as usize])
            .collect();
        self.rng.shuffle(&mut live);
        self.present.fill(false);
        (0..self.threads)
            .map(|thread| {
                let own = live.iter().filter(|&&i| i % self.threads == thread);
                let keys: Vec<K> = own.map(|&i| (self.kind.make)(i)).collect();
                let expect = keys.len() as u64;
                List::plain(keys, Some(expect))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::keys::U64;

    #[test]
    fn threads_share_the_entries_and_the_last_case_empties_the_table() {
        let work = Workload::new(&U64[0], &Case::POINTS, 1000, 500, 2, 7);
        let mut table = HashSet::new();
        let cases = work.lists[0].len();
        assert_eq!(cases, Case::POINTS.len());
        for at in 0..cases {
            for lists in &work.lists {
                let (case, list) = &lists[at];
                match case {
                    Case::Insert | Case::Hot8 => table.extend(list.keys.iter().copied()),
                    Case::Hit => assert!(list.keys.iter().all(|k| table.contains(k))),
                    Case::Miss => assert!(list.keys.iter().all(|k| !table.contains(k))),
                    Case::Delete => assert!(list.keys.iter().all(|k| table.remove(k))),
                    _ => {}
                }
                for (op, key) in list.ops.iter().zip(&list.keys) {
                    match op {
                        Op::Get => {}
                        Op::Insert => drop(table.insert(*key)),
                        Op::Remove => drop(table.remove(key)),
                    }
                }
                if *case == Case::Insert {
                    assert!(list.keys.len() > 400);
                }
            }
        }
        assert!(table.is_empty());
    }
}
