//! Version cells: the contents of one key, from the present one back to the oldest that a snapshot sees.

use std::ptr::NonNull;

use fyris_sync::alloc;
use fyris_sync::atomic::{AtomicU64, Ordering, fence};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::{Guard, PROTECT, Retire};

use super::live_snapshots::LiveSnapshots;
use crate::record::RecordPtr;
use crate::slot::{Content, Held};

/// The bit of a stamp that is not there yet: the others are the address of the snapshots of the cell's content, which
/// know the log that will give it.
const UNSTAMPED: u64 = 1 << 63;

/// A content that a key holds since a moment, and what it held before: 8-byte aligned.
pub(crate) struct Version {
    /// Bits of a content; zero if the key holds nothing.
    content: u64,
    /// The number of the last commit before the content took effect (STAMPED).
    stamp: AtomicU64,
    /// What the key held before, as far as anyone may ask: bits of [`Held`], or zero. Changes under the protection of
    /// the slot (CHAINED).
    older: AtomicU64,
    /// Bits of a content with the key; of use where `content` is zero. Changes as `older` does.
    key: AtomicU64,
}

/// A pointer to a live version cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionPtr(NonNull<Version>);

impl VersionPtr {
    /// The bytes of a cell.
    pub(super) const BYTES: usize = size_of::<Version>();

    /// Makes the cell of a write, which has no stamp yet. `older` is what the key holds now; one of the two contents is
    /// there.
    pub(crate) fn new(
        content: Option<Content>,
        older: Option<Held>,
        snapshots: &LiveSnapshots,
    ) -> Self {
        if cfg!(fyris_mutant = "store_stamp_first") {
            return VersionPtr::with_stamp(content, older, snapshots.log().clock());
        }
        let snapshots = std::ptr::from_ref(snapshots).expose_provenance() as u64;
        VersionPtr::with_stamp(content, older, UNSTAMPED | snapshots)
    }

    /// Makes the cell of a commit at a place of the log.
    pub(crate) fn of_commit(content: Option<Content>, older: Option<Held>, version: u64) -> Self {
        VersionPtr::with_stamp(content, older, version)
    }

    fn with_stamp(content: Option<Content>, older: Option<Held>, stamp: u64) -> Self {
        let key = content.or_else(|| older.map(Held::with_key));
        let bits = |content: Option<Content>| content.map_or(0, Content::bits);
        let at: NonNull<Version> = alloc::allocate(size_of::<Version>()).cast();
        let cell = Version {
            content: bits(content),
            stamp: AtomicU64::new(stamp),
            older: AtomicU64::new(older.map_or(0, Held::bits)),
            key: AtomicU64::new(bits(key)),
        };
        // SAFETY: allocated just now, with this size and an alignment of 8; no other thread has it.
        unsafe { at.write(cell) };
        VersionPtr(at)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    ///
    /// `bits` comes from [`VersionPtr::bits`] of a cell that has not been freed.
    pub(crate) unsafe fn from_bits(bits: u64) -> VersionPtr {
        let ptr = std::ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: the bits came from a NonNull.
        VersionPtr(unsafe { NonNull::new_unchecked(ptr) })
    }

    fn get<'c>(self) -> &'c Version {
        #[cfg(loom)]
        fyris_sync::reclaim::assert_not_reclaimed(self.0.as_ptr());
        // SAFETY: live by RECLAIM, as the caller holds it under a pin or owns it.
        unsafe { self.0.as_ref() }
    }

    /// Returns the content, whatever its stamp.
    pub(crate) fn content(self) -> Option<Content> {
        // SAFETY: from `Content::bits`; live by RECLAIM (RETAINED).
        unsafe { Content::from_bits(self.get().content) }
    }

    /// Returns the content for a reader of the present: after it was stamped (STAMPED), or what was there before, if it
    /// cannot be stamped yet (UNPASSED).
    pub(crate) fn now(self) -> Option<Content> {
        match self.stamp_for_reader() {
            Some(_) => self.content(),
            None => self.older()?.now(),
        }
    }

    fn stamp_for_reader(self) -> Option<u64> {
        if cfg!(fyris_mutant = "store_reader_stamps_not") {
            return Some(0);
        }
        self.stamp_unless_sealed()
    }

    /// Returns the content that the key held just before a place of the log.
    pub(crate) fn before(self, place: u64) -> Option<Content> {
        let mut cell = self;
        loop {
            // From the newest to the oldest:
            // * stamped before the place: this is what the key held there;
            // * later, and over a content that is in no cell: that was there before all snapshots that see it;
            // * later, and over another cell: on with that;
            // * later, and over nothing: the key was not there.
            // It is later, too, if it waits for a transaction that is not in the log yet (UNPASSED).
            let stamp = cell.stamp_for_snapshot().unwrap_or(UNSTAMPED);
            if stamp < place || (stamp == place && cfg!(fyris_mutant = "store_equal_is_before")) {
                return cell.content();
            }
            let older = cell.older()?;
            match older.as_version() {
                Some(version) => cell = version,
                None => return older.now(),
            }
        }
    }

    /// Returns the stamp as a reader at a place asks for it.
    fn stamp_for_snapshot(self) -> Option<u64> {
        // Acquire: as in `stamp`.
        if cfg!(fyris_mutant = "store_snapshot_stamps_not") {
            return Some(self.get().stamp.load(Ordering::Acquire));
        }
        self.stamp_unless_sealed()
    }

    /// Returns the stamp, if it has one.
    pub(crate) fn stamped(self) -> Option<u64> {
        // Acquire: as in `stamp`.
        Some(self.get().stamp.load(Ordering::Acquire)).filter(|stamp| stamp & UNSTAMPED == 0)
    }

    /// Returns the stamp, which is given first if need be (STAMPED), for a writer: waits for the transactions that are
    /// about to be decided and have read the key. The caller has the cell from a slot, or has put it in one.
    pub(crate) fn stamp(self) -> u64 {
        let mut backoff = Backoff::new();
        loop {
            if let Some(stamp) = self.stamp_unless_sealed() {
                return stamp;
            }
            backoff.wait_long();
        }
    }

    /// Does so for a reader, who does not wait: `None` if a transaction that has read the key is about to be decided.
    fn stamp_unless_sealed(self) -> Option<u64> {
        // Acquire: pairs with the Release in `give_stamp`: what the log held before is seen.
        match self.get().stamp.load(Ordering::Acquire) {
            stamp if stamp & UNSTAMPED == 0 => Some(stamp),
            unstamped => self.give_stamp(unstamped),
        }
    }

    #[cold]
    fn give_stamp(self, unstamped: u64) -> Option<u64> {
        // SeqCst: pairs with the fence in `CommitLog::begin`: either the clock has the place of a snapshot, or that
        // finds the cell in its slot (STAMPED); and with that in `LiveSnapshots::guard` (GUARDED).
        if !cfg!(fyris_mutant = "store_stamp_unfenced") {
            fence(Ordering::SeqCst);
        }
        let at = (unstamped ^ UNSTAMPED) as usize;
        // SAFETY: they are part of the content that the cell is in, which the caller keeps.
        let snapshots = unsafe { &*std::ptr::with_exposed_provenance::<LiveSnapshots>(at) };
        let early =
            cfg!(fyris_mutant = "store_clock_before_guards").then(|| snapshots.log().stamp());
        if !snapshots.passes(|| self.key()) {
            return None;
        }
        let clock = early.unwrap_or_else(|| snapshots.log().stamp());
        // Release, Acquire: pair with each other, and with the Acquire in `stamp`.
        let given = self.get().stamp.compare_exchange(
            unstamped,
            clock,
            Ordering::Release,
            Ordering::Acquire,
        );
        Some(given.map_or_else(|other| other, |_| clock))
    }

    /// Returns what the key held before, as far as anyone may ask.
    pub(crate) fn older(self) -> Option<Held> {
        // PROTECT: pairs with the Release in `set_older`. SAFETY: live by RECLAIM (CHAINED).
        unsafe { Held::from_bits(self.get().older.load(PROTECT)) }
    }

    /// Says what the key held before. With the slot protected.
    pub(crate) fn set_older(self, older: Option<Held>) {
        // Release: pairs with PROTECT in `older`.
        let bits = older.map_or(0, Held::bits);
        self.get().older.store(bits, Ordering::Release);
    }

    /// Puts an older history of the key below this one, unless this ends with a content in no cell; returns whether it
    /// did. With the slots of both protected.
    pub(super) fn put_above(self, older: VersionPtr) -> bool {
        let mut last = self;
        while let Some(below) = last.older() {
            match below.as_version() {
                Some(cell) => last = cell,
                None => return false,
            }
        }
        last.set_older(Some(Held::version(older)));
        true
    }

    /// Returns a content with the key: its own, if it has one.
    pub(crate) fn named(self) -> Content {
        self.content().unwrap_or_else(|| self.other_named())
    }

    fn other_named(self) -> Content {
        // PROTECT: pairs with the Release in `set_key`. SAFETY: live by RECLAIM (NAMED).
        let key = unsafe { Content::from_bits(self.get().key.load(PROTECT)) };
        key.expect("a cell has a key")
    }

    /// Lets another content say what the key is. With the slot protected.
    pub(crate) fn set_key(self, key: Content) {
        // Release: pairs with PROTECT in `other_named`.
        self.get().key.store(key.bits(), Ordering::Release);
    }

    /// Returns a record with the key.
    pub(crate) fn key(self) -> RecordPtr {
        self.named().newest()
    }

    /// Retires the cell alone.
    ///
    /// # Safety
    ///
    /// It is in no chain any more that a slot holds, and is retired once.
    pub(crate) unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: forwarded.
        unsafe { pin.retire(self.0.as_ptr()) }
    }

    /// Retires the cell and those below, without what is in them.
    ///
    /// # Safety
    ///
    /// As for [`VersionPtr::retire`], for all of them.
    pub(crate) unsafe fn retire_chain(self, pin: &impl Guard) {
        let mut next = Some(self);
        while let Some(cell) = next {
            next = cell.older().and_then(Held::as_version);
            // SAFETY: forwarded.
            unsafe { cell.retire(pin) };
        }
    }

    /// Frees the cell and those below, without what is in them.
    ///
    /// # Safety
    ///
    /// No other thread can reach them.
    pub(crate) unsafe fn free_chain(self) {
        let mut next = Some(self);
        while let Some(cell) = next {
            next = cell.older().and_then(Held::as_version);
            // SAFETY: forwarded.
            unsafe { Version::reclaim(cell.0.as_ptr()) };
        }
    }
}

impl Retire for Version {
    unsafe fn reclaim(ptr: *mut Version) {
        // Those of loom are larger.
        #[cfg(not(loom))]
        const {
            assert!(size_of::<Version>() == 32 && !std::mem::needs_drop::<Version>())
        };
        // SAFETY: no pointer to a cell is null; allocated in `with_stamp` with this size, and reclaimed once.
        unsafe { alloc::free(NonNull::new_unchecked(ptr).cast(), size_of::<Version>()) };
    }
}
