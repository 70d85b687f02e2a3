//! A bucket of two cache lines: keys in the first, values in the second.
//!
//! ```text
//!  byte 0         8                            64                            120       128
//!      +---------+-------+--- ... ---+-------+---------+--- ... ---+---------+----------+
//!      | header  | key 0 |           | key 6 | value 0 |           | value 6 | overflow |
//!      +---------+-------+--- ... ---+-------+---------+--- ... ---+---------+----------+
//!
//!  header:  63         16 15             4 3  2           1      0
//!          +-------------+----------------+---------------+------+--------+
//!          | version     | bits 2 + 2 * i | bit 3:        | live | locked |
//!          |             | slot i is used | overflow      |      |        |
//!          +-------------+----------------+---------------+------+--------+
//! ```

use fyris_sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use fyris_sync::lock::{Backoff, unlock};

use crate::prefetch;
#[cfg(not(any(loom, shuttle)))]
use crate::simd;

/// Pairs in a bucket.
pub(super) const SLOTS: usize = if cfg!(fyris_small) { 2 } else { 7 };

const LOCKED: u64 = 1;
const LIVE: u64 = 2;
const OVERFLOW: u64 = 8;
/// Bits 2, 4, ...: where [`InlineBucket::matches`] has the bits of the keys.
const OCCUPIED: u64 = 0x5554 & ((1 << (2 * SLOTS + 2)) - 1);
const VERSION: u64 = 1 << 16;

/// Versions begin at a multiple of this in each life of a bucket: a reader would have to sleep through
/// 16 million changes of one bucket to take a later life's version for the one it saw.
pub(super) const GENERATION: u64 = VERSION << 24;

/// A bucket, or an overflow bucket (whose header is only the occupied bits). Zeroed memory is a bucket
/// that is not live, or one of the first array that nobody has written (invariant FRESH).
#[repr(C, align(128))]
#[derive(Default)]
pub(super) struct InlineBucket {
    header: AtomicU64,
    keys: [AtomicU64; SLOTS],
    values: [AtomicU64; SLOTS],
    overflow: AtomicPtr<InlineBucket>,
}

/// The result of reading a bucket.
pub(super) enum Read<T> {
    /// The truth at a moment during the read.
    Answer(T),
    /// The bucket is not live: its content is elsewhere.
    Elsewhere,
    /// A writer changed the bucket meanwhile.
    Again,
}

/// A pair's place in a chain.
#[derive(Clone, Copy)]
pub(super) struct PairPosition<'a> {
    bucket: &'a InlineBucket,
    slot: usize,
}

impl InlineBucket {
    /// Runs `read` on the bucket as it is at one moment (invariant VERSION).
    #[inline]
    fn validated<T>(&self, read: impl FnOnce(u64) -> T) -> Read<T> {
        // Acquire: pairs with the Release of `unlock`, where a `LockedInline` is dropped, and of the store in
        // `bring_to_life`.
        let before = self.header.load(Ordering::Acquire);
        if before & LIVE == 0 {
            return Read::Elsewhere;
        }
        let answer = read(before);
        // Relaxed: what `read` loads is acquired, so this comes after, and if it read a word of a pair put in
        // later it also sees the header that the pair's predecessor was taken out by.
        let after = self.header.load(Ordering::Relaxed);
        if (before ^ after) & !LOCKED == 0 || cfg!(fyris_mutant = "inline_unvalidated") {
            Read::Answer(answer)
        } else if after & LIVE == 0 {
            Read::Elsewhere
        } else {
            Read::Again
        }
    }

    /// Returns the value of a key.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Read<Option<u64>> {
        // The values' line is asked for before the keys' line tells which value it is.
        prefetch::read(&self.values[SLOTS - 1]);
        self.validated(|header| {
            let place = self.find(header, key)?;
            if cfg!(fyris_mutant = "inline_unvalidated") {
                // The mistake is seen only by a reader that is held up here.
                fyris_sync::thread::yield_now();
            }
            // Acquire: pairs with the Release in `set` and `replace`.
            Some(place.bucket.values[place.slot].load(Ordering::Acquire))
        })
    }

    /// Returns whether nobody has written this bucket since its array was made or discarded.
    pub(super) fn is_zero(&self) -> bool {
        // Acquire: the root is loaded after it (FRESH).
        self.header.load(Ordering::Acquire) == 0
    }

    /// Does what the system does to discarded memory, as far as it is looked at.
    #[cfg(any(loom, shuttle))]
    pub(super) fn zero(&self) {
        // Release: pairs with the Acquire loads of headers: the system orders it so.
        self.header.store(0, Ordering::Release);
    }

    /// Hands all pairs out. After anything but an answer what was handed out is void.
    pub(super) fn pairs(&self, out: &mut impl FnMut(u64, u64)) -> Read<()> {
        self.validated(|header| self.collect(header, out))
    }

    #[inline]
    fn collect(&self, header: u64, out: &mut impl FnMut(u64, u64)) {
        let (mut bucket, mut header) = (self, header);
        loop {
            let mut left = header & OCCUPIED;
            while left != 0 {
                let slot = slot_of(left);
                left &= left - 1;
                // Acquire, both: pair with the Release stores in `set`; that of the value also with the one in
                // `replace`.
                let key = bucket.keys[slot].load(Ordering::Acquire);
                out(key, bucket.values[slot].load(Ordering::Acquire));
            }
            let Some((next, its)) = bucket.next(header) else {
                return;
            };
            (bucket, header) = (next, its);
        }
    }

    /// Returns the place of a key in the chain, given this bucket's header.
    #[inline]
    fn find(&self, header: u64, key: u64) -> Option<PairPosition<'_>> {
        let (mut bucket, mut header) = (self, header);
        loop {
            let found = bucket.matches(key) & header & OCCUPIED;
            if !cfg!(fyris_mutant = "inline_unfenced") {
                // Acquire: pairs with the Release in `set`, for all keys at once.
                fence(Ordering::Acquire);
            }
            if found != 0 {
                let slot = slot_of(found);
                return Some(PairPosition { bucket, slot });
            }
            (bucket, header) = bucket.next(header)?;
        }
    }

    /// Returns a mask whose bit `2 + 2 * i` tells whether the key in slot `i` equals `key`; the other bits have no
    /// meaning. Each is loaded Relaxed.
    #[cfg(not(any(loom, shuttle)))]
    #[inline]
    fn matches(&self, key: u64) -> u64 {
        const { assert!(size_of::<InlineBucket>() >= 64 && align_of::<InlineBucket>() >= 64) };
        // SAFETY: the bucket begins with these eight words, or (with tiny constants) has more than eight words
        // behind its beginning, all of them atomic and initialised.
        simd::equal(unsafe { &*std::ptr::from_ref(self).cast() }, key)
    }

    /// Returns the mask as above.
    #[cfg(any(loom, shuttle))]
    fn matches(&self, key: u64) -> u64 {
        // Relaxed: the Acquire fence in `find` follows.
        let is = |i: usize| self.keys[i].load(Ordering::Relaxed) == key;
        (0..SLOTS).filter(|&i| is(i)).map(bit).sum()
    }

    /// Returns the next bucket of the chain and its header.
    #[inline]
    fn next(&self, header: u64) -> Option<(&InlineBucket, u64)> {
        if header & OVERFLOW == 0 {
            return None;
        }
        // Acquire, here and for the header below: pair with the Release stores in `link` and `draft`, and in `occupy`.
        let next = self.overflow.load(Ordering::Acquire);
        // SAFETY: null, or an overflow bucket of this map: those are reused but not freed before the
        // map is (invariant MEMORY_TYPE).
        let next = unsafe { next.as_ref() }?;
        Some((next, next.header.load(Ordering::Acquire)))
    }

    /// Fetches both lines to write them.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch::write(&self.header);
        prefetch::write(&self.values[SLOTS - 1]);
    }

    /// Locks the bucket; `None` if it is not live.
    #[inline]
    pub(super) fn lock(&self) -> Option<LockedInline<'_>> {
        // Both lines at once; the lock itself cannot be overtaken.
        prefetch::write(&self.values[SLOTS - 1]);
        // Acquire: pairs with the Release stores of headers.
        let seen = self.header.load(Ordering::Acquire);
        match self.try_lock(seen) {
            Some(locked) => Some(locked),
            None => self.lock_again(),
        }
    }

    /// Returns the bucket as if it were locked, for a thread that has the map to itself; `None` if it is not live.
    #[inline]
    pub(super) fn own(&self) -> Option<LockedInline<'_>> {
        // Relaxed: no other thread writes it.
        let seen = self.header.load(Ordering::Relaxed);
        if seen & LIVE == 0 {
            return None;
        }
        // Made only now: dropping a `LockedInline` writes the header.
        Some(LockedInline {
            bucket: self,
            release: seen,
            spare: None,
            shared: false,
        })
    }

    #[cold]
    fn lock_again(&self) -> Option<LockedInline<'_>> {
        let mut backoff = Backoff::new();
        loop {
            // Acquire: pairs with the Release stores of headers.
            let seen = self.header.load(Ordering::Acquire);
            if seen & LIVE == 0 {
                return None;
            }
            if let Some(locked) = self.try_lock(seen) {
                return Some(locked);
            }
            backoff.wait();
        }
    }

    /// Locks the bucket if its header is still this one, live and not locked.
    #[inline]
    fn try_lock(&self, seen: u64) -> Option<LockedInline<'_>> {
        if seen & (LIVE | LOCKED) != LIVE {
            return None;
        }
        // Acquire: pairs with the Release stores of headers.
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        self.header
            .compare_exchange(seen, seen | LOCKED, acquire, relaxed)
            .ok()?;
        // Made only now: dropping a `LockedInline` unlocks.
        Some(LockedInline {
            bucket: self,
            release: seen,
            spare: None,
            shared: true,
        })
    }

    /// Writes a pair into a slot that no header says is occupied.
    #[inline]
    fn set(&self, slot: usize, key: u64, value: u64) {
        // Release, both: pair with the Acquire loads of readers, which may still be after the pair
        // that was here before: having seen this one they see that the header has changed.
        self.keys[slot].store(key, Ordering::Release);
        self.values[slot].store(value, Ordering::Release);
    }

    /// Returns a bucket that is not live, to be filled before it is [brought to life](LockedInline::bring_to_life).
    pub(super) fn draft(&self, version: u64) -> LockedInline<'_> {
        // Release: pairs with the Acquire in `next`.
        self.overflow.store(std::ptr::null_mut(), Ordering::Release);
        LockedInline {
            bucket: self,
            release: version,
            spare: None,
            shared: true,
        }
    }
}

fn bit(slot: usize) -> u64 {
    1 << (2 * slot + 2)
}

/// Returns the first slot among the bits of [`OCCUPIED`] that are set; there must be one.
#[inline]
fn slot_of(bits: u64) -> usize {
    (bits.trailing_zeros() / 2) as usize - 1
}

/// A bucket that this thread has locked. Dropping it unlocks and makes its changes to the header seen.
pub(super) struct LockedInline<'a> {
    bucket: &'a InlineBucket,
    release: u64,
    spare: Option<&'a InlineBucket>,
    /// Other threads may be at the map.
    shared: bool,
}

impl<'a> LockedInline<'a> {
    /// Returns the place and value of a key.
    #[inline]
    pub(super) fn find(&self, key: u64) -> Option<(PairPosition<'a>, u64)> {
        let place = self.bucket.find(self.release, key)?;
        // Acquire: pairs with the Release in `set` and `replace`.
        Some((
            place,
            place.bucket.values[place.slot].load(Ordering::Acquire),
        ))
    }

    /// Replaces the value of a key: one store, which readers see or do not see.
    #[inline]
    pub(super) fn replace(&mut self, place: PairPosition<'_>, value: u64) {
        // Release: pairs with the Acquire in `get`, `collect` and `find`.
        place.bucket.values[place.slot].store(value, Ordering::Release);
    }

    /// Adds a pair whose key is not there. Returns whether it took an overflow bucket for it.
    #[inline]
    pub(super) fn insert(
        &mut self,
        key: u64,
        value: u64,
        spare: &mut impl FnMut() -> &'a InlineBucket,
    ) -> bool {
        let free = !self.release & OCCUPIED;
        if free != 0 {
            let slot = slot_of(free);
            self.bucket.set(slot, key, value);
            self.release = (self.release | bit(slot)).wrapping_add(VERSION);
            return false;
        }
        self.release = self.release.wrapping_add(VERSION);
        self.insert_overflow(key, value, spare)
    }

    #[cold]
    fn insert_overflow(
        &mut self,
        key: u64,
        value: u64,
        spare: &mut impl FnMut() -> &'a InlineBucket,
    ) -> bool {
        let (mut bucket, mut header) = (self.bucket, self.release);
        while let Some((next, its)) = bucket.next(header) {
            let free = !its & OCCUPIED;
            if free != 0 {
                let slot = slot_of(free);
                next.set(slot, key, value);
                next.occupy(its | bit(slot));
                return false;
            }
            (bucket, header) = (next, its);
        }
        let next = spare();
        next.set(0, key, value);
        next.occupy(bit(0));
        self.link(bucket, Some(next));
        true
    }

    /// Takes a pair out.
    #[inline]
    pub(super) fn remove(&mut self, place: PairPosition<'a>) {
        self.release = self.release.wrapping_add(VERSION);
        if std::ptr::eq(place.bucket, self.bucket) {
            self.release &= !bit(place.slot);
        } else {
            self.remove_overflow(place);
        }
    }

    #[cold]
    fn remove_overflow(&mut self, place: PairPosition<'a>) {
        // Acquire: pairs with the Release in `occupy`.
        let header = place.bucket.header.load(Ordering::Acquire) & !bit(place.slot);
        place.bucket.occupy(header);
        if header & OCCUPIED != 0 {
            return;
        }
        let (mut bucket, mut its) = (self.bucket, self.release);
        while let Some((next, header)) = bucket.next(its) {
            if std::ptr::eq(next, place.bucket) {
                self.link(bucket, next.next(header).map(|(after, _)| after));
                self.spare = Some(next);
                return;
            }
            (bucket, its) = (next, header);
        }
    }

    /// Makes `next` follow `bucket` in the chain.
    fn link(&mut self, bucket: &InlineBucket, next: Option<&InlineBucket>) {
        let ptr = next.map_or(std::ptr::null_mut(), |b| std::ptr::from_ref(b).cast_mut());
        // Release: pairs with the Acquire in `next`.
        bucket.overflow.store(ptr, Ordering::Release);
        let flag = if next.is_some() { OVERFLOW } else { 0 };
        if std::ptr::eq(bucket, self.bucket) {
            self.release = self.release & !OVERFLOW | flag;
        } else {
            // Acquire: pairs with the Release in `occupy`.
            bucket.occupy(bucket.header.load(Ordering::Acquire) & !OVERFLOW | flag);
        }
    }

    /// Makes a draft live, locked: readers may come, writers wait.
    pub(super) fn bring_to_life(&mut self) {
        self.release |= LIVE;
        // Release: pairs with the Acquire in `validated` and `lock`.
        self.bucket
            .header
            .store(self.release | LOCKED, Ordering::Release);
    }

    /// Hands all pairs out.
    #[inline]
    pub(super) fn pairs(&self, out: &mut impl FnMut(u64, u64)) {
        self.bucket.collect(self.release, out);
    }

    /// Unlocks. Returns an overflow bucket that is not used any more: it may be used again from now
    /// on, since a thread that is still reading it finds that the header has changed.
    #[inline]
    pub(super) fn unlock(mut self) -> Option<&'a InlineBucket> {
        self.spare.take()
    }

    /// Unlocks a bucket whose content lives elsewhere from now on; hands its overflow buckets over.
    pub(super) fn end_life(mut self, spares: &mut impl FnMut(&'a InlineBucket)) {
        let (mut bucket, mut header) = (self.bucket, self.release);
        while let Some((next, its)) = bucket.next(header) {
            spares(next);
            (bucket, header) = (next, its);
        }
        self.release = self.release.wrapping_add(VERSION);
        if !cfg!(fyris_mutant = "inline_old_lives") {
            self.release &= !LIVE;
        }
    }
}

impl Drop for LockedInline<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.shared {
            // Pairs with the Acquire in `validated` and `lock`; VISIBLE.
            return unlock(&self.bucket.header, self.release);
        }
        // Release: whatever shows the map to another thread comes later.
        self.bucket.header.store(self.release, Ordering::Release);
    }
}

impl InlineBucket {
    /// Sets the header of an overflow bucket.
    fn occupy(&self, header: u64) {
        // Release: pairs with the Acquire in `next`; the pair was written before.
        self.header.store(header, Ordering::Release);
    }
}
