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
use super::state::{InlineState, Root};
use super::{InlineMap, Word};

/// Units one writer takes on at a time.
const CHUNK: usize = if cfg!(fyris_small) { 1 } else { 16 };
/// Pairs in ten buckets above which a table grows.
const FULL: u64 = if cfg!(fyris_small) { 12 } else { 50 };
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
    let buckets = (capacity as u64).checked_mul(10)?.div_ceil(FULL);
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
        let state = self.made();
        // Acquire: pairs with the Release in `finish`.
        if state.work.resizing.swap(true, Ordering::Acquire) {
            return;
        }
        let root = state.root();
        let next = root.generation() + 1;
        if root.now() != from || root.is_moving() || !state.space.provide(next, to) {
            // Release: pairs with the Acquire above.
            return state.work.resizing.store(false, Ordering::Release);
        }
        if to >= INFLATE_BITS {
            self.entries.0.inflate();
        }
        state.work.progress.begin();
        let now = state.now(root);
        let root = Root::new(next, from, to);
        // Release: pairs with the Acquire in `claim`.
        state.work.claimed.store(claims(root), Ordering::Release);
        // Before the root: once that is seen the move may end, and there is a newer hint.
        self.set_hint(now);
        state.set_root(root);
    }

    /// Does a chunk of the move under way, if any is left.
    #[cold]
    pub(super) fn help(&self, state: &InlineState, root: Root) {
        let units = 1 << root.now().min(root.next());
        let progress = &state.work.progress;
        let chunk = if let Some(first) = state.claim(root, units) {
            first..units.min(first + CHUNK)
        } else if let Some(unit) = progress.take_abandoned(root.generation()) {
            unit..unit + 1
        } else {
            return;
        };
        let one = |unit| self.move_unit(state, root, unit);
        if progress.run(root.generation(), chunk, units, one) {
            self.finish(state, root);
        }
    }

    fn finish(&self, state: &InlineState, root: Root) {
        state.set_root(Root::new(root.generation(), root.next(), root.next()));
        self.set_hint(state.space.place(root.generation()).steady());
        state.space.discard(root.now());
        // Release: pairs with the Acquire in `begin`: the array is not used again before it is
        // discarded.
        state.work.resizing.store(false, Ordering::Release);
    }

    fn move_unit(&self, state: &InlineState, root: Root, unit: usize) {
        // The move lasts until this unit is done: the places are its own.
        let (now, next) = (state.now(root), state.space.place(root.generation()));
        let (from, to) = (now.bits(), next.bits());
        let of = |bits: u32| {
            let each = bits - from.min(to);
            (unit << each)..(unit + 1) << each
        };
        // SAFETY: arrays of this map, which outlives the call (MEMORY_TYPE).
        let (old, new) = unsafe { (|i| now.nth(i), |i| next.nth(i)) };
        of(to).for_each(|i| new(i).prefetch());
        if !cfg!(fyris_mutant = "inline_moves_unfreshened") {
            of(from).for_each(|i| state.freshen(root, now, i));
        }
        let old: Few<'_> = of(from).filter_map(|i| old(i).lock()).collect();
        let version = root.generation().wrapping_mul(GENERATION);
        let mut new: Few<'_> = of(to).map(|i| new(i).draft(version)).collect();
        let first = of(to).start;
        for old in &old {
            // The user's hash function may panic: no other thread sees the drafts yet.
            old.pairs(&mut |key, value| {
                let target = next.index(self.hash_of_word(key));
                new[target - first].insert(key, value, &mut || state.space.spare());
            });
        }
        new.iter_mut().for_each(LockedInline::bring_to_life);
        let mut spares: SmallVec<[&InlineBucket; 4]> = SmallVec::new();
        old.into_iter()
            .for_each(|old| old.end_life(&mut |spare| spares.push(spare)));
        drop(new);
        if !spares.is_empty() {
            state.space.take_back(spares);
        }
    }
}

impl InlineState {
    /// Takes on a chunk; returns its first unit. A claim is taken only in its own generation: a helper that comes late
    /// must not take one of a later move for its own.
    fn claim(&self, root: Root, units: usize) -> Option<usize> {
        // Acquire: pairs with the Release in `begin`.
        let seen = self.work.claimed.load(Ordering::Acquire);
        let first = seen.wrapping_sub(claims(root));
        if first >= units as u64 {
            return None;
        }
        // Acquire: as above. Relaxed: another thread took the chunk, which is all that this one needs to know.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.work
            .claimed
            .compare_exchange(seen, seen + CHUNK as u64, acquire, relaxed)
            .ok()
            .map(|_| first as usize)
    }
}

/// The buckets of one side of a unit.
type Few<'a> = SmallVec<[LockedInline<'a>; 1 << SHRINK_BITS]>;

/// Returns the value of `claimed` at the beginning of a move: the generation above, no units below.
fn claims(root: Root) -> u64 {
    root.generation() << 32
}
