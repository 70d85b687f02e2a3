//! Leaves: write-once slots under one permutation word.
//!
//! ```text
//! offset  0  permutation word          which slots are live, in key order (perm.rs)
//!         8  lock word                 lock, statistic, dead, skip (word.rs)
//!        16  15 key prefixes of 8 bytes
//!       136  15 items (8 bytes each for handles: 256 bytes in all, four cache lines)
//! ```
//!
//! A writer holds the leaf's lock, writes a slot that no published word has named, and publishes it by storing the next
//! word. A reader loads the word once and looks at nothing but slots it names. So no plain memory is written while a
//! thread may read it (invariant WRITTEN_ONCE), and a reader sees the leaf as it was at the moment of that load.

use std::cmp::Ordering as Order;
use std::hint::select_unpredictable;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use fyris_sync::alloc::{LINE, allocate_lines, free_lines};
use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::cell::UnsafeCell;
use fyris_sync::lock::{StatLock, StatWord};
use fyris_sync::reclaim::{PROTECT, Retire, assert_not_reclaimed};

use super::SLOTS;
use super::item::Item;
use super::perm::Perm;
use super::word::skip_of;
use crate::key::TreeKey;
use crate::key::probe::Probe;
use crate::simd::{self, Lanes, Vectors, Words};

/// A leaf. See the module.
#[repr(C, align(64))]
pub(crate) struct Leaf<I> {
    perm: AtomicU64,
    pub(super) lock: StatLock,
    key_prefixes: [AtomicU64; SLOTS],
    items: [UnsafeCell<MaybeUninit<I>>; SLOTS],
}

// SAFETY: slots are read and written as invariant WRITTEN_ONCE says.
unsafe impl<I: Send + Sync> Sync for Leaf<I> {}

impl<I: Item> Leaf<I> {
    /// Makes a leaf of these entries, which are sorted and fit.
    pub(super) fn alloc(word: StatWord, parts: &Parts<I>, from: usize, to: usize) -> NonNull<Self> {
        const { assert!(align_of::<Self>() == LINE) };
        debug_assert!(to - from <= SLOTS);
        let leaf = allocate_lines(size_of::<Self>()).cast::<Self>();
        let raw = leaf.as_ptr();
        // SAFETY: freshly allocated for a `Self`, ours alone; every field is written.
        unsafe {
            (&raw mut (*raw).perm).write(AtomicU64::new(Perm::sorted(to - from).0));
            (&raw mut (*raw).lock).write(StatLock::new(word));
            for slot in 0..SLOTS {
                let used = from + slot < to;
                let key_prefix = if used {
                    parts.key_prefix(from + slot)
                } else {
                    0
                };
                (&raw mut (*raw).key_prefixes[slot]).write(AtomicU64::new(key_prefix));
                (&raw mut (*raw).items[slot]).write(UnsafeCell::new(MaybeUninit::uninit()));
                if used {
                    // Untyped, as in `Parts::extend`.
                    let item = parts.items[from + slot].as_ptr();
                    (*raw).items[slot]
                        .with_mut(|to| (*to).as_mut_ptr().copy_from_nonoverlapping(item, 1));
                }
            }
        }
        leaf
    }

    /// Returns the leaf at this moment.
    #[inline]
    pub(super) fn view(&self) -> View<'_, I> {
        assert_not_reclaimed(self);
        // PROTECT: pairs with the Release in `publish`; the entries that the items name are read under the pin.
        View {
            leaf: self,
            perm: Perm(self.perm.load(PROTECT)),
        }
    }

    /// Returns the number of bytes that all keys share and the key prefixes leave out.
    #[inline]
    pub(super) fn skip(&self) -> usize {
        if I::Key::EXACT {
            0
        } else {
            skip_of(self.lock.word())
        }
    }

    /// Puts an entry in at `pos`, in place of the one there if `replace`; returns its slot.
    ///
    /// # Safety
    ///
    /// The caller holds the leaf's lock, `perm` is its word now, and not full.
    #[inline]
    pub(super) unsafe fn write(
        &self,
        perm: Perm,
        pos: usize,
        replace: bool,
        key_prefix: u64,
        item: I,
    ) -> &I {
        let slot = perm.used();
        let next = if replace {
            perm.remove(pos).insert(pos)
        } else {
            perm.insert(pos)
        };
        if cfg!(fyris_mutant = "ordered_publish_early") {
            self.publish(next);
            fyris_sync::thread::yield_now();
        }
        // Relaxed: `publish` comes after it. (`lookup` may look at it meanwhile, and overlook it.)
        self.key_prefixes[slot].store(key_prefix, Ordering::Relaxed);
        // SAFETY: (WRITTEN_ONCE) no word has named `slot` yet and the lock keeps other writers out, so no other thread
        // accesses it; `slot < SLOTS` because the word is not full.
        self.items[slot].with_mut(|p| unsafe { (*p).write(item) });
        self.publish(next);
        View {
            leaf: self,
            perm: next,
        }
        .item(pos)
    }

    /// Takes the entry at `pos` out. The caller holds the lock; `perm` is the word now.
    #[inline]
    pub(super) fn remove(&self, perm: Perm, pos: usize) {
        self.publish(perm.remove(pos));
    }

    #[inline]
    fn publish(&self, next: Perm) {
        if cfg!(fyris_mutant = "ordered_unpublished") {
            return self.perm.store(next.0, Ordering::Relaxed);
        }
        // Release: pairs with the PROTECT load in `view`.
        self.perm.store(next.0, Ordering::Release);
    }

    /// Brings the leaf's lines near.
    #[inline]
    pub(super) fn prefetch(leaf: *const Self) {
        for line in 0..size_of::<Self>().div_ceil(64).min(4) {
            crate::prefetch::read(leaf.cast::<u8>().wrapping_add(64 * line));
        }
    }
}

impl<I> Leaf<I> {
    /// Frees the leaf's memory; the entries that its items name are not touched.
    ///
    /// # Safety
    ///
    /// Only the caller can reach it, and it is freed once.
    pub(super) unsafe fn free(leaf: *mut Self) {
        // SAFETY: from `alloc`, by the caller's contract.
        unsafe { free_lines(NonNull::new_unchecked(leaf.cast()), size_of::<Self>()) }
    }
}

impl<I> Retire for Leaf<I> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: (RECLAIM) the contract of `reclaim`.
        unsafe { Self::free(ptr) }
    }
}

/// A leaf as one value of its permutation word shows it.
pub(super) struct View<'p, I> {
    pub(super) leaf: &'p Leaf<I>,
    pub(super) perm: Perm,
}

impl<I> Clone for View<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<I> Copy for View<'_, I> {}

impl<'p, I: Item> View<'p, I> {
    /// Returns the number of entries.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.perm.len()
    }

    #[inline]
    fn slot(self, pos: usize) -> usize {
        assert!(pos < self.perm.len());
        self.perm.slot(pos)
    }

    /// Returns the key prefix of the entry at `pos`.
    #[inline]
    pub(super) fn key_prefix(self, pos: usize) -> u64 {
        assert!(pos < self.perm.len());
        // SAFETY: just looked at.
        unsafe { self.key_prefix_unchecked(pos) }
    }

    /// Returns the key prefix of the entry at `pos`.
    ///
    /// # Safety
    ///
    /// There are more than `pos` entries.
    #[inline]
    unsafe fn key_prefix_unchecked(self, pos: usize) -> u64 {
        debug_assert!(pos < self.perm.len());
        // SAFETY: a live slot is below `SLOTS` (perm.rs).
        let key_prefix = unsafe { self.leaf.key_prefixes.get_unchecked(self.perm.slot(pos)) };
        // Relaxed: (WRITTEN_ONCE) `perm` was published after the slot was written.
        key_prefix.load(Ordering::Relaxed)
    }

    /// Returns the item at `pos`. Its slot is never written again, so the reference lasts as the leaf does.
    #[inline]
    pub(super) fn item(self, pos: usize) -> &'p I {
        let slot = self.slot(pos);
        // SAFETY: as in `key_prefix`.
        let item = unsafe { self.leaf.items.get_unchecked(slot) };
        // SAFETY: (WRITTEN_ONCE) as in `key_prefix`.
        item.with(|p| unsafe { (*p).assume_init_ref() })
    }

    /// Returns the entry that is equal to `probe`: its key prefix and item. Cheaper than [`View::search`]: no place is
    /// counted.
    #[inline(always)]
    pub(super) fn lookup<L: Lanes>(self, probe: &impl Probe<I::Key>) -> Option<(u64, &'p I)> {
        let key_prefix = probe.key_prefix(self.leaf.skip());
        let known = probe.is_exact(self.leaf.skip());
        let mut same = L::equal(&self.leaf.key_prefixes, key_prefix);
        while same != 0 {
            // A slot may have the key prefix and not be live: its entry is gone, or not published in this view.
            if let Some(pos) = self
                .perm
                .position((same.trailing_zeros() / L::STEP) as usize)
            {
                let item = self.item(pos);
                if known || probe.cmp_key(item.key()) == Order::Equal {
                    return Some((key_prefix, item));
                }
            }
            same &= same - 1;
        }
        None
    }

    /// Returns the place of `probe`: the number of entries below it, and whether the next one is equal.
    #[inline]
    pub(super) fn search(self, probe: &impl Probe<I::Key>) -> (usize, bool) {
        if simd::wide() {
            self.search_by::<Vectors>(probe)
        } else {
            self.search_by::<Words>(probe)
        }
    }

    /// Returns the place of `probe`, compared by `L`: the number of entries below it, and whether the next one is
    /// equal.
    #[inline(always)]
    pub(super) fn search_by<L: Lanes>(self, probe: &impl Probe<I::Key>) -> (usize, bool) {
        let key_prefix = probe.key_prefix(self.leaf.skip());
        if let Some((below, equal)) = L::below_and_equal(&self.leaf.key_prefixes, key_prefix) {
            let live = self.perm.live();
            let at = L::ones(below & live);
            return match equal & live {
                0 => (at, false),
                _ if probe.is_exact(self.leaf.skip()) => (at, true),
                _ => self.search_equal(probe, key_prefix, at),
            };
        }
        let at = self.bound(|h| h < key_prefix);
        let len = self.len();
        if at == len || self.key_prefix(at) != key_prefix {
            return (at, false);
        }
        if probe.is_exact(self.leaf.skip()) {
            (at, true)
        } else {
            self.search_equal(probe, key_prefix, at)
        }
    }

    /// Goes on among the entries from `at` that have the probe's key prefix, by whole keys.
    #[inline]
    fn search_equal(self, probe: &impl Probe<I::Key>, key_prefix: u64, at: usize) -> (usize, bool) {
        let (mut low, mut high) = (at, at + 1);
        if high < self.len() && self.key_prefix(high) == key_prefix {
            high = self.bound(|h| h <= key_prefix);
        }
        while low < high {
            let mid = low.midpoint(high);
            match probe.cmp_key(self.item(mid).key()) {
                Order::Less => high = mid,
                Order::Equal => return (mid, true),
                Order::Greater => low = mid + 1,
            }
        }
        (low, false)
    }

    /// Returns the number of entries, from the first, whose key prefix is `below`.
    #[inline]
    fn bound(self, below: impl Fn(u64) -> bool) -> usize {
        let (mut base, mut len) = (0, self.len());
        while len > 1 {
            let half = len / 2;
            // SAFETY: `base + len` never grows, and was the number of entries.
            let key_prefix = unsafe { self.key_prefix_unchecked(base + half - 1) };
            // Not a branch: which way it goes cannot be guessed.
            base += select_unpredictable(below(key_prefix), half, 0);
            len -= half;
        }
        base + usize::from(len == 1 && below(self.key_prefix(base)))
    }
}

/// Entries in key order on their way from old leaves to new ones.
pub(super) struct Parts<I> {
    len: usize,
    /// The index of the entry whose new slot the caller asks for.
    pub(super) wanted: usize,
    key_prefixes: [u64; 2 * SLOTS + 1],
    items: [MaybeUninit<I>; 2 * SLOTS + 1],
}

impl<I: Item> Parts<I> {
    pub(super) fn new() -> Self {
        Self {
            len: 0,
            wanted: 0,
            key_prefixes: [0; 2 * SLOTS + 1],
            items: [MaybeUninit::uninit(); 2 * SLOTS + 1],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn key_prefix(&self, at: usize) -> u64 {
        self.key_prefixes[..self.len][at]
    }

    pub(super) fn item(&self, at: usize) -> &I {
        // SAFETY: the first `len` were written by `push`.
        unsafe { self.items[..self.len][at].assume_init_ref() }
    }

    pub(super) fn push(&mut self, key_prefix: u64, item: I) {
        self.key_prefixes[self.len] = key_prefix;
        self.items[self.len].write(item);
        self.len += 1;
    }

    /// Puts an item in the place of the last one, which has the same key; returns that.
    pub(super) fn replace_last(&mut self, item: I) -> I {
        let last = *self.item(self.len - 1);
        self.items[self.len - 1].write(item);
        last
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds the entries `from..to` of a leaf, byte for byte: a pair whose bytes are the same is taken for the same.
    pub(super) fn extend(&mut self, view: View<'_, I>, from: usize, to: usize) {
        for pos in from..to {
            self.key_prefixes[self.len] = view.key_prefix(pos);
            let item = self.items[self.len].as_mut_ptr();
            // SAFETY: both are places for an item. Untyped, so that padding comes along.
            unsafe { item.copy_from_nonoverlapping(view.item(pos), 1) };
            self.len += 1;
        }
    }

    /// Computes the key prefixes anew, behind another prefix.
    pub(super) fn rehead(&mut self, skip: usize) {
        for at in 0..self.len {
            self.key_prefixes[at] = self.item(at).key().key_prefix(skip);
        }
    }
}
