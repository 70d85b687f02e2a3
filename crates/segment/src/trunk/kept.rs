//! Frames kept for processes that the log has left behind.
//!
//! A snapshot is the set of frames that were current at one log position: one for each page. A slot keeps the
//! snapshots of its place and of its base (see `slots`). When an entry leaves the log, the frame that it replaced is
//! free unless a snapshot has it: then it comes into this table, until the last of these snapshots is given up.
//!
//! | bytes of an entry | content |
//! |---|---|
//! | 0..4 | frame; 0: the entry is empty |
//! | 4..8 | for how many positions before the last it was current; the highest number: since the beginning |
//! | 8..16 | the last position at which it was current: the log entry that replaced it |
//!
//! So a frame of the trunk is named by a page head, by the log, or here: the table is written before the tail moves,
//! and an entry is emptied before its frame is free. If the table is full the lowest snapshot that is not pinned is
//! given up, and its process evicted; if all are pinned the log stays as long as it is.

use fyris_sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

use super::Trunk;
use super::layout::{KEPT, word};
use crate::PAGE;
use crate::failpoints::failpoint;

/// A frame that was replaced, with the positions at which it was current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) frame: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Kept {
    /// Returns whether one of these snapshots, ascending, has the frame.
    pub(super) fn needed(&self, snapshots: &[u64]) -> bool {
        if cfg!(fyris_mutant = "segment_base_not_kept") {
            return false;
        }
        let next = snapshots.partition_point(|&at| at < self.from);
        snapshots.get(next).is_some_and(|&at| at <= self.to)
    }

    fn words(&self) -> [u64; 2] {
        let age = self.to.saturating_sub(self.from).min(u32::MAX.into());
        [u64::from(self.frame) | age << 32, self.to]
    }

    /// Makes a kept frame out of the words of an entry; `None` if it is empty.
    fn of(words: [u64; 2]) -> Option<Kept> {
        let [first, to] = words;
        let from = match (first >> 32) as u32 {
            u32::MAX => 0,
            age => to.saturating_sub(age.into()),
        };
        let frame = first as u32;
        (frame != 0).then_some(Kept { frame, from, to })
    }
}

impl Trunk {
    fn kept_words(&self, index: usize) -> [&AtomicU64; 2] {
        assert!(index < self.geometry.kept);
        let at = self.geometry.kept_at + index * KEPT;
        [self.word(at), self.word(at + 8)]
    }

    /// Returns the number of entries that were ever used.
    fn kept_top(&self) -> usize {
        // Relaxed: the lock's Acquire came before.
        let top = self.word(word::KEPT_TOP).load(Ordering::Relaxed);
        (top as usize).min(self.geometry.kept)
    }

    /// Returns the number of kept frames.
    pub(crate) fn kept_count(&self) -> usize {
        // Relaxed: under the lock, or for people.
        self.word(word::KEPT).load(Ordering::Relaxed) as usize
    }

    /// Returns the kept frames, with their indexes. For holders of the lock.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (usize, Kept)> + '_ {
        (0..self.kept_top()).filter_map(|index| {
            // Relaxed: under the lock.
            let words = self
                .kept_words(index)
                .map(|word| word.load(Ordering::Relaxed));
            Kept::of(words).map(|kept| (index, kept))
        })
    }

    /// Puts a frame into the table; false if that is full.
    fn keep(&self, kept: Kept) -> bool {
        let Some(index) = self.empty() else {
            return false;
        };
        let [first, last] = self.kept_words(index);
        let words = kept.words();
        // Relaxed, both: under the lock. The second makes the entry: a process that dies between leaves an empty one.
        last.store(words[1], Ordering::Relaxed);
        failpoint!("frame about to be kept");
        first.store(words[0], Ordering::Relaxed);
        // Relaxed: as above.
        self.word(word::KEPT).fetch_add(1, Ordering::Relaxed);
        failpoint!("frame kept");
        true
    }

    /// Returns the index of an empty entry.
    fn empty(&self) -> Option<usize> {
        let (top, capacity) = (self.kept_top(), self.geometry.kept);
        if top < capacity && self.has_space_for_kept(top) {
            // Relaxed: under the lock.
            self.word(word::KEPT_TOP)
                .store(top as u64 + 1, Ordering::Relaxed);
            return Some(top);
        }
        if self.kept_count() >= top {
            return None;
        }
        // Relaxed, all: under the lock. The cursor is only where to begin.
        let cursor = self.word(word::KEPT_CURSOR);
        let begin = cursor.load(Ordering::Relaxed) as usize % top;
        let index = (begin..top)
            .chain(0..begin)
            .find(|&index| self.kept_words(index)[0].load(Ordering::Relaxed) == 0)?;
        cursor.store(index as u64 + 1, Ordering::Relaxed);
        Some(index)
    }

    /// Returns whether entry `index` has space, if those below have.
    fn has_space_for_kept(&self, index: usize) -> bool {
        let at = index * KEPT;
        let page = self.geometry.kept_at + at..self.geometry.kept_at + at + PAGE;
        !at.is_multiple_of(PAGE) || at == 0 || self.give_space("kept pages", &[page]).is_ok()
    }

    /// Empties the entries that are not `needed`, and hands what was in them to `free`. For holders of the lock.
    pub(super) fn let_go(&self, needed: impl Fn(&Kept) -> bool, mut free: impl FnMut(Kept)) {
        let (mut top, mut count) = (0, 0);
        for (index, kept) in self.kept() {
            if needed(&kept) {
                (top, count) = (index + 1, count + 1);
                continue;
            }
            // Relaxed: under the lock. First: nothing names the frame any more when it is free.
            self.kept_words(index)[0].store(0, Ordering::Relaxed);
            failpoint!("kept frame let go");
            if kept.frame as usize <= self.geometry.frames {
                free(kept);
            }
        }
        // Relaxed, both: under the lock.
        self.word(word::KEPT).store(count, Ordering::Relaxed);
        self.word(word::KEPT_TOP)
            .store(top as u64, Ordering::Relaxed);
    }

    /// Hands kept frames that none of `snapshots` has to `free`, if others were asked for last time.
    pub(super) fn let_go_for(&self, snapshots: &[u64], mut free: impl FnMut(u32)) {
        if self.kept_count() == 0 {
            return;
        }
        let asked = super::layout::sum(snapshots);
        // Relaxed, both: under the lock.
        if self.word(word::KEPT_FOR).load(Ordering::Relaxed) != asked {
            self.let_go(|kept| kept.needed(snapshots), |kept| free(kept.frame));
            self.word(word::KEPT_FOR).store(asked, Ordering::Relaxed);
        }
    }

    /// Keeps what `snapshots` have of the frames that the entries `positions` replaced. If that is too much it gives up
    /// snapshots and evicts their processes: those of the dead first, then the lowest. False if all that are left are
    /// pinned: then the table is as it was, and the entries have to stay. For holders of the lock.
    pub(super) fn keep_for(
        &self,
        snapshots: &mut Vec<u64>,
        positions: Range<u64>,
        mut free: impl FnMut(u32),
    ) -> bool {
        let mut reaped = false;
        let log = self.log();
        for position in positions.clone() {
            let replaced = log.replaced(position);
            while let Some((_, kept)) = replaced.filter(|(_, kept)| kept.needed(snapshots)) {
                if self.keep(kept) {
                    break;
                }
                if !self.give_up(snapshots, &mut reaped, &positions) {
                    self.keep_only_before(positions.start);
                    return false;
                }
                self.let_go(
                    |kept| kept.needed(snapshots),
                    // Frames that leave the log now are judged again by the caller.
                    |kept| {
                        if kept.to < positions.start {
                            free(kept.frame);
                        }
                    },
                );
            }
        }
        true
    }

    /// Gives snapshots up: those of the dead the first time, then the lowest one that is not pinned. False if there is
    /// none.
    fn give_up(&self, snapshots: &mut Vec<u64>, reaped: &mut bool, positions: &Range<u64>) -> bool {
        if *reaped {
            let lowest = snapshots.iter().position(|&at| !self.is_pinned(at));
            let Some(lowest) = lowest else {
                return false;
            };
            self.evict(snapshots.remove(lowest));
        } else {
            // It has no errors of its own: a process that cannot be looked at counts as alive.
            let _ = self.reap(None);
            *reaped = true;
        }
        let left = self.standing(positions.start, positions.end).snapshots;
        snapshots.retain(|at| left.contains(at));
        true
    }

    /// Empties the entries of frames whose log entries have not left the log. After a death, or if not all frames could
    /// be kept, such frames are named twice.
    pub(super) fn keep_only_before(&self, tail: u64) {
        self.let_go(|kept| kept.to < tail, |_| ());
        // Relaxed: under the lock. The next advance goes through the table.
        self.word(word::KEPT_FOR).store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_back_and_are_needed_by_snapshots_within(
            frame in 1..u32::MAX,
            from in 0..1u64 << 40,
            life in prop_oneof![0..100u64, 0..1u64 << 34],
            mut snapshots in prop::collection::vec(0..1u64 << 41, 0..10),
        ) {
            let kept = Kept { frame, from, to: from + life };
            let back = Kept::of(kept.words()).unwrap();
            let exact = life < u64::from(u32::MAX);
            prop_assert_eq!(back, Kept { from: if exact { from } else { 0 }, ..kept });
            snapshots.sort_unstable();
            let within = snapshots.iter().any(|at| (from..=kept.to).contains(at));
            prop_assert_eq!(kept.needed(&snapshots), within);
        }
    }
}
