//! Growing and shrinking, by chunks, by the threads that write. As in the `hash` index, with two differences.
//!
//! Keys are here, so a moved pair's hash is computed afresh. And since a late reader or writer may come to an
//! array that has been in use before, a bucket changes places in this order, all under locks:
//! the new buckets come to life locked, the old ones end their lives, the new ones are unlocked.
//! Readers always find one that is live, and no writer changes one copy while the other is read.

use std::hash::{BuildHasher, Hash};

use fyris_sync::atomic::Ordering;
use smallvec::SmallVec;

use super::bucket::{GENERATION, InlineBucket, LockedInline};
use super::space::MAX_BITS;
use super::{InlineMap, Root, Word};

/// Units one writer takes on at a time.
const CHUNK: usize = if cfg!(fyris_small) { 1 } else { 16 };
/// Pairs in ten buckets above which a table grows.
const FULL: u64 = if cfg!(fyris_small) { 12 } else { 48 };
/// Pairs in ten buckets below which a table shrinks.
const EMPTY: u64 = 6;
/// A table shrinks to a quarter at once: then it is half full, and what is emptied step by step touches the
/// memory of half as many arrays, and moves what stays half as often.
const SHRINK_BITS: u32 = 2;
/// The smallest table has two buckets.
pub(super) const MIN_BITS: u32 = 1;
/// From this size on, counts are kept in stripes.
pub(super) const INFLATE_BITS: u32 = 6;

/// Returns the size (its binary logarithm) of the smallest table that holds `capacity` pairs without growing, if there
/// is one.
pub(super) fn bits_for(capacity: usize) -> Option<u32> {
    let buckets = (capacity as u64).checked_mul(10)? / FULL + 1;
    let bits = buckets.checked_next_power_of_two()?.ilog2();
    (bits <= MAX_BITS).then_some(bits.max(MIN_BITS))
}

impl<K: Word + Hash, V: Word, S: BuildHasher> InlineMap<K, V, S> {
    /// Begins to grow if the table is full. Called when a bucket has overflown.
    #[cold]
    pub(super) fn grow_if_full(&self, bits: u32) {
        if (self.len() as u64).saturating_mul(10) > FULL << bits && bits < MAX_BITS {
            self.begin(bits, bits + 1);
        }
    }

    /// Begins to shrink if the table is nearly empty. Called for the `nth` removal of a stripe; looks
    /// now and then.
    #[inline]
    pub(super) fn shrink_if_empty(&self, bits: u32, nth: u64) {
        // A power of two, so that no division is needed.
        let every = 1u64 << bits.saturating_sub(2).min(8);
        if nth & (every - 1) == 0 && bits > self.floor {
            self.shrink_if_empty_now(bits);
        }
    }

    #[cold]
    fn shrink_if_empty_now(&self, bits: u32) {
        if (self.len() as u64).saturating_mul(10) < EMPTY << bits {
            self.begin(bits, bits.saturating_sub(SHRINK_BITS).max(self.floor));
        }
    }

    /// Begins to move from one size to another, unless a move is under way, or there is no memory for the other size:
    /// then the table stays as it is, and a later overflow tries again.
    fn begin(&self, from: u32, to: u32) {
        // Acquire: pairs with the Release in `finish`.
        if self.shared.resizing.swap(true, Ordering::Acquire) {
            return;
        }
        let root = self.root();
        if root.now() != from || root.is_moving() || !self.space.provide(to) {
            // Release: pairs with the Acquire above.
            return self.shared.resizing.store(false, Ordering::Release);
        }
        if to >= INFLATE_BITS {
            self.shared.entries.inflate();
        }
        let root = Root::new(root.generation() + 1, from, to);
        self.shared.progress.begin();
        // Release: pairs with the Acquire in `claim`.
        self.shared.claimed.store(claims(root), Ordering::Release);
        self.set_root(root);
    }

    /// Does a chunk of the move under way, if any is left.
    #[cold]
    pub(super) fn help(&self, root: Root) {
        let units = 1 << root.now().min(root.next());
        let progress = &self.shared.progress;
        let chunk = if let Some(first) = self.claim(root, units) {
            first..units.min(first + CHUNK)
        } else if let Some(unit) = progress.take_abandoned(root.generation()) {
            unit..unit + 1
        } else {
            return;
        };
        let one = |unit| self.move_unit(root, unit);
        if progress.run(root.generation(), chunk, units, one) {
            self.finish(root);
        }
    }

    /// Takes on a chunk; returns its first unit. A claim is taken only in its own generation: a helper that comes late
    /// must not take one of a later move for its own.
    fn claim(&self, root: Root, units: usize) -> Option<usize> {
        // Acquire: pairs with the Release in `begin`.
        let seen = self.shared.claimed.load(Ordering::Acquire);
        let first = seen.wrapping_sub(claims(root));
        if first >= units as u64 {
            return None;
        }
        // Acquire: as above. Relaxed: another thread took the chunk, which is all that this one needs to know.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.shared
            .claimed
            .compare_exchange(seen, seen + CHUNK as u64, acquire, relaxed)
            .ok()
            .map(|_| first as usize)
    }

    fn finish(&self, root: Root) {
        self.set_root(Root::new(root.generation(), root.next(), root.next()));
        self.space.discard(root.now());
        // Release: pairs with the Acquire in `begin`: the array is not used again before it is
        // discarded.
        self.shared.resizing.store(false, Ordering::Release);
    }

    fn move_unit(&self, root: Root, unit: usize) {
        let (from, to) = (root.now(), root.next());
        let of = |bits: u32| {
            let each = bits - from.min(to);
            (unit << each)..(unit + 1) << each
        };
        of(to).for_each(|i| self.space.nth(to, i).prefetch());
        if !cfg!(fyris_mutant = "inline_moves_unfreshened") {
            of(from).for_each(|i| self.freshen(root, i));
        }
        let old: Few<'_> = of(from)
            .filter_map(|i| self.space.nth(from, i).lock())
            .collect();
        let version = root.generation().wrapping_mul(GENERATION);
        let draft = |i| self.space.nth(to, i).draft(version);
        let mut new: Few<'_> = of(to).map(draft).collect();
        let first = of(to).start;
        for old in &old {
            // The user's hash function may panic: no other thread sees the drafts yet.
            old.pairs(&mut |key, value| {
                let target = (self.hash_of_word(key) >> (64 - to)) as usize;
                new[target - first].insert(key, value, &mut || self.space.spare());
            });
        }
        new.iter_mut().for_each(LockedInline::bring_to_life);
        let mut spares: SmallVec<[&InlineBucket; 4]> = SmallVec::new();
        old.into_iter()
            .for_each(|old| old.end_life(&mut |spare| spares.push(spare)));
        drop(new);
        if !spares.is_empty() {
            self.space.take_back(spares);
        }
    }
}

/// The buckets of one side of a unit.
type Few<'a> = SmallVec<[LockedInline<'a>; 1 << SHRINK_BITS]>;

/// Returns the value of `claimed` at the beginning of a move: the generation above, no units below.
fn claims(root: Root) -> u64 {
    root.generation() << 32
}
