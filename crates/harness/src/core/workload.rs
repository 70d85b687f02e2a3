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
pub(crate) enum Op {
    Get,
    Insert,
    Remove,
}

/// The keys of one case and thread, in the order of their use.
pub(crate) struct List<K> {
    pub(crate) keys: Vec<K>,
    /// For a mix: what to do with each key.
    pub(crate) ops: Vec<Op>,
    /// The number of operations that must succeed (lookups that find, removals that remove); `None` if that is not
    /// fixed.
    pub(crate) expect: Option<u64>,
    /// The first value to insert; the following ones count up.
    pub(crate) base: u64,
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
pub(crate) struct Workload<K> {
    pub(crate) entries: usize,
    pub(crate) threads: usize,
    /// Entries that are left at the end.
    pub(crate) left: usize,
    /// By thread, then in the order of the cases asked for.
    pub(crate) lists: Vec<Vec<(Case, List<K>)>>,
}

/// The number of neighbouring keys of `hot8`.
pub(crate) const HOT: u64 = 8;

/// The number of entries that a `range100` visits.
pub(crate) const RANGE: u64 = 100;

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
    pub(crate) fn new(
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
        Self {
            entries,
            threads,
            lists: maker.all(cases, Maker::lists),
            left: maker.left(),
        }
    }

    /// Returns a workload of `cases` over keys below `range`: half as many inserts and deletes as there are keys, of
    /// keys drawn at random like those of the other cases, and `ops` operations of each of those and thread.
    pub(crate) fn drawn(
        kind: &KeyKind<K>,
        cases: &[Case],
        range: u64,
        ops: usize,
        threads: usize,
    ) -> Self {
        let mut maker = Maker {
            kind,
            range,
            threads: threads as u64,
            ops,
            present: vec![false; range as usize],
            first: Vec::new(),
            rng: Rng::new(42),
        };
        Self {
            entries: range as usize / 2,
            threads,
            lists: maker.all(cases, Maker::drawn),
            left: maker.left(),
        }
    }
}

impl<K> Maker<'_, K> {
    /// Returns the lists of each thread, by what makes those of a case.
    fn all(
        &mut self,
        cases: &[Case],
        of_case: fn(&mut Self, Case) -> Vec<List<K>>,
    ) -> Vec<Vec<(Case, List<K>)>> {
        let mut lists: Vec<Vec<_>> = (0..self.threads).map(|_| Vec::new()).collect();
        for &case in cases {
            for (of_thread, list) in lists.iter_mut().zip(of_case(self, case)) {
                of_thread.push((case, list));
            }
        }
        lists
    }

    /// Returns the number of entries that are there now.
    fn left(&self) -> usize {
        self.present.iter().filter(|&&present| present).count()
    }

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
                let own = self.own(thread);
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

    /// Returns the lists of a case that draws all its keys at random.
    fn drawn(&mut self, case: Case) -> Vec<List<K>> {
        let threads = 0..self.threads;
        threads
            .map(|thread| match case {
                Case::Insert => self.updates(thread, true),
                Case::Delete => self.updates(thread, false),
                _ => self.draws(case, thread),
            })
            .collect()
    }

    /// Returns a thread's part of as many inserts or deletes as half the range has keys.
    fn updates(&mut self, thread: u64, put: bool) -> List<K> {
        let mut keys = Vec::new();
        let mut removed = 0;
        for _ in 0..(self.range / 2).div_ceil(self.threads) {
            let own = self.own(thread);
            let was = std::mem::replace(&mut self.present[own as usize], put);
            removed += u64::from(was && !put);
            keys.push((self.kind.make)(own));
        }
        List::plain(keys, (!put).then_some(removed))
    }

    /// Returns one of the thread's own keys.
    fn own(&mut self, thread: u64) -> u64 {
        self.rng.below(self.range / self.threads) * self.threads + thread
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

    /// Does the operations of a mix.
    fn mix(list: &List<u64>, table: &mut HashSet<u64>) {
        for (op, key) in list.ops.iter().zip(&list.keys) {
            match op {
                Op::Get => {}
                Op::Insert => drop(table.insert(*key)),
                Op::Remove => drop(table.remove(key)),
            }
        }
    }

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
                mix(list, &mut table);
                if *case == Case::Insert {
                    assert!(list.keys.len() > 400);
                }
            }
        }
        assert!(table.is_empty());
        assert_eq!(work.left, 0);
    }

    #[test]
    fn drawn_keys_repeat_and_what_is_left_is_known() {
        let cases = [Case::Insert, Case::Mix50, Case::Lookup, Case::Delete];
        for (range, threads) in [(8, 2), (1000, 3)] {
            let work = Workload::drawn(&U64[0], &cases, range, 500, threads);
            let mut table = HashSet::new();
            for at in 0..cases.len() {
                for lists in &work.lists {
                    let (case, list) = &lists[at];
                    let found = list.keys.iter().filter(|key| table.contains(*key)).count();
                    match case {
                        Case::Insert => table.extend(&list.keys),
                        Case::Delete => list.keys.iter().for_each(|key| _ = table.remove(key)),
                        Case::Lookup => assert_eq!(list.expect, Some(found as u64)),
                        _ => {}
                    }
                    mix(list, &mut table);
                }
            }
            assert!(work.left > 0 && work.left < range as usize / 2);
            assert_eq!(work.left, table.len());
        }
    }
}
