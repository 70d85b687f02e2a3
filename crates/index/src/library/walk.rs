//! Iteration: what a library goes through is looked at key by key.

use std::ops::Bound;

use fyris_sync::reclaim::Guard;

use super::abi::{Direction, Key};
use super::held::StoredRef;
use super::{Fault, LibraryIndex};
use crate::plug::PlugEntry;
use crate::{Batch, Index};

/// The words that a library is asked for at once.
const WORDS: usize = if cfg!(fyris_small) { 3 } else { 64 };

/// A range of keys, as bytes: the lower bound and the upper one.
type ByteBounds<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// Where a key stands in the order of an index: by its bytes, or by its hash first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'k> {
    hash: u64,
    bytes: &'k [u8],
}

impl Rank<'_> {
    /// Returns whether the rank comes behind another in a direction.
    fn is_behind(self, other: Rank<'_>, direction: Direction) -> bool {
        match direction {
            Direction::Up => self > other,
            Direction::Down => self < other,
        }
    }

    /// Returns whether the rank is beyond a bound, as one comes to it in a direction.
    fn is_beyond(self, bound: Bound<Rank<'_>>, direction: Direction) -> bool {
        match bound {
            Bound::Unbounded => false,
            Bound::Included(last) => self.is_behind(last, direction),
            Bound::Excluded(end) => self == end || self.is_behind(end, direction),
        }
    }
}

impl Direction {
    fn back(self) -> Direction {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }
}

impl<E: PlugEntry> LibraryIndex<E> {
    /// Appends the entries of a range, from the end where the direction begins, at least `want` if there are that many;
    /// returns whether there may be more. Goes by the library's answers if these stand the checks, else by our own
    /// record.
    pub(super) fn walk(
        &self,
        direction: Direction,
        (low, high): ByteBounds<'_>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        let ends = match direction {
            Direction::Up => (low, high),
            Direction::Down => (high, low),
        };
        if self.table.can_walk(direction) {
            let already = out.len();
            let turn = self.locks.shared();
            if !self.status.is_failed()
                && let Ok(more) = self.walk_library(direction, ends, want, pin, out)
            {
                return more;
            }
            // Beside writers the library may be without fault: so without them.
            drop(turn);
            let _turns = self.locks.alone();
            out.truncate(already);
            if !self.status.is_failed() {
                match self.walk_library(direction, ends, want, pin, out) {
                    Ok(more) => return more,
                    Err(fault) => self.status.fail(fault),
                }
                out.truncate(already);
            }
        }
        self.walk_record(direction, ends, want, pin, out)
    }

    /// Appends entries as the library goes through them. Beside writers an error may be none of the library's.
    fn walk_library(
        &self,
        direction: Direction,
        (from, to): ByteBounds<'_>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> Result<bool, Fault> {
        let to_rank = to.map(|bytes| self.rank(&self.key(bytes)));
        let (mut words, mut taken, mut last) = ([0; WORDS], 0, None::<StoredRef<E>>);
        loop {
            let most = want.saturating_sub(taken).saturating_add(1).min(WORDS);
            let words = &mut words[..most];
            let found = match &last {
                Some(last) => {
                    let last = Key::new(last.bytes(), last.hash());
                    self.table.walk(direction, (Some(&last), false), words)
                }
                None => self.walk_from(direction, from, words),
            };
            if found > most {
                return Err(Fault::TooMany { said: found, most });
            }
            for &word in &words[..found] {
                let held = self.words.find(word, pin);
                let held = held.ok_or(Fault::UnknownWord(word))?;
                self.check_order(direction, (from, last), held)?;
                if self.rank_of(&held).is_beyond(to_rank, direction) {
                    return Ok(false);
                }
                if taken == want.max(1) {
                    return Ok(true);
                }
                out.push(held.entry());
                (taken, last) = (taken + 1, Some(held));
            }
            if found < most {
                let is_whole = (from, to) == (Bound::Unbounded, Bound::Unbounded);
                return self.check_number(is_whole, taken).map(|()| false);
            }
        }
    }

    /// Writes the first words beyond a bound.
    fn walk_from(&self, direction: Direction, from: Bound<&[u8]>, words: &mut [u64]) -> usize {
        match from {
            Bound::Unbounded => self.table.walk(direction, (None, false), words),
            Bound::Included(from) => {
                let from = self.key(from);
                self.table.walk(direction, (Some(&from), true), words)
            }
            Bound::Excluded(from) => {
                let from = self.key(from);
                self.table.walk(direction, (Some(&from), false), words)
            }
        }
    }

    /// Fails unless what the library has come to is behind what it came to before, or within the bound that it began
    /// at.
    fn check_order(
        &self,
        direction: Direction,
        (from, last): (Bound<&[u8]>, Option<StoredRef<E>>),
        held: StoredRef<E>,
    ) -> Result<(), Fault> {
        if cfg!(fyris_mutant = "library_order_unchecked") {
            return Ok(());
        }
        let rank = self.rank_of(&held);
        let is_behind = match &last {
            Some(last) => rank.is_behind(self.rank_of(last), direction),
            None => {
                let from = from.map(|bytes| self.rank(&self.key(bytes)));
                !rank.is_beyond(from, direction.back())
            }
        };
        is_behind.then_some(()).ok_or(Fault::Disorder)
    }

    /// Fails if a walk over all keys, beside no writer, has left some out.
    fn check_number(&self, is_whole: bool, found: usize) -> Result<(), Fault> {
        let keys = self.record.len();
        match is_whole && self.locks.is_one() && found != keys {
            true => Err(Fault::Incomplete { found, keys }),
            false => Ok(()),
        }
    }

    /// Appends entries by the record, out of which those that are wanted are sorted.
    fn walk_record(
        &self,
        direction: Direction,
        (from, to): ByteBounds<'_>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        let rank = |bytes| self.rank(&self.key(bytes));
        let (from, to) = (from.map(rank), to.map(rank));
        let mut all = Batch::new();
        let everything = (Bound::Unbounded, Bound::Unbounded);
        self.record.scan(everything, usize::MAX, pin, &mut all);
        all.retain(|held| {
            let rank = self.rank_of(held);
            !rank.is_beyond(from, direction.back()) && !rank.is_beyond(to, direction)
        });
        let order = |a: &StoredRef<E>, b: &StoredRef<E>| match direction {
            Direction::Up => self.rank_of(a).cmp(&self.rank_of(b)),
            Direction::Down => self.rank_of(b).cmp(&self.rank_of(a)),
        };
        let (want, found) = (want.max(1), all.len());
        if found > want {
            all.select_nth_unstable_by(want, order);
            all.truncate(want);
        }
        all.sort_unstable_by(order);
        out.extend(all.iter().map(StoredRef::entry));
        found > want
    }

    fn rank<'k>(&self, key: &Key<'k>) -> Rank<'k> {
        Rank {
            hash: if self.is_ordered { 0 } else { key.hash },
            bytes: key.bytes(),
        }
    }

    fn rank_of<'h>(&self, held: &'h StoredRef<E>) -> Rank<'h> {
        self.rank(&Key::new(held.bytes(), held.hash()))
    }
}
