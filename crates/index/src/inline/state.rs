//! The buckets of a map in use: which arrays they are in, and how far a move from one to the other has come.

use fyris_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::bucket::InlineBucket;
use super::space::{Place, Space};
use crate::progress::Progress;

/// The buckets of a map, and how far they have moved.
pub(super) struct InlineState {
    root: AtomicU64,
    pub(super) space: Space,
    pub(super) work: Work,
}

/// The shares of a move, which its movers write, on a line apart from what all who use the map read meanwhile.
#[repr(align(64))]
#[derive(Default)]
pub(super) struct Work {
    /// True while a thread changes the size.
    pub(super) resizing: AtomicBool,
    /// Generation of the move and units taken on.
    pub(super) claimed: AtomicU64,
    pub(super) progress: Progress,
}

impl InlineState {
    /// Makes `2^bits` buckets; `None` if there is no memory for them.
    pub(super) fn try_new(bits: u32) -> Option<Self> {
        Some(Self {
            root: AtomicU64::new(Root::new(0, bits, bits).0),
            space: Space::try_new(bits)?,
            work: Work::default(),
        })
    }

    #[inline]
    pub(super) fn root(&self) -> Root {
        // Acquire: pairs with the Release in `set_root`.
        Root(self.root.load(Ordering::Acquire))
    }

    pub(super) fn set_root(&self, root: Root) {
        // Release: pairs with the Acquire in `root`: the arrays it names have been made.
        self.root.store(root.0, Ordering::Release);
    }

    /// Returns the arrays in which a bucket may be live. If the root is another one by now, some others.
    #[inline]
    pub(super) fn places(&self, root: Root) -> impl Iterator<Item = Place> {
        let latest = root.generation();
        let first = latest - u64::from(root.is_moving());
        (first..=latest).map(|generation| self.space.place(generation))
    }

    /// Returns the array of the present size, while the root is this one.
    pub(super) fn now(&self, root: Root) -> Place {
        self.space
            .place(root.generation() - u64::from(root.is_moving()))
    }

    /// Returns whether a bucket of this array is live, and empty, because nobody has written it (FRESH). The root is
    /// loaded after the bucket, and if it is the same, the array was one of its own.
    pub(super) fn is_fresh(&self, root: Root, place: Place, bucket: &InlineBucket) -> bool {
        root.is_first(place.bits())
            && bucket.is_zero()
            && (self.root() == root || cfg!(fyris_mutant = "inline_zero_is_fresh"))
    }

    /// Brings bucket `i` of the array of the present size to life if it is fresh (FRESH): before it is locked.
    pub(super) fn freshen(&self, root: Root, place: Place, i: usize) {
        let is_fresh = |bucket: &InlineBucket| self.is_fresh(root, place, bucket);
        // SAFETY: an array of this map, which outlives the call (MEMORY_TYPE).
        if is_fresh(unsafe { place.nth(i) }) {
            self.space.bring_to_life(place, i, is_fresh);
        }
    }
}

/// The sizes in use: bits 0-7 the present, 8-15 the next (the same when nothing moves), above a
/// generation that counts moves.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Root(u64);

impl Root {
    pub(super) fn new(generation: u64, now: u32, next: u32) -> Self {
        Self(generation << 16 | u64::from(next) << 8 | u64::from(now))
    }
    #[inline]
    pub(super) fn now(self) -> u32 {
        (self.0 & 0xFF) as u32
    }
    #[inline]
    pub(super) fn next(self) -> u32 {
        (self.0 >> 8 & 0xFF) as u32
    }
    pub(super) fn generation(self) -> u64 {
        self.0 >> 16
    }
    #[inline]
    pub(super) fn is_moving(self) -> bool {
        self.now() != self.next()
    }
    /// Returns whether the array of this size is the map's first, and not all of it has been moved (FRESH).
    pub(super) fn is_first(self, bits: u32) -> bool {
        bits == self.now() && self.generation() <= u64::from(self.is_moving())
    }
}
