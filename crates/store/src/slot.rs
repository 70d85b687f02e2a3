//! What an index entry of the store is: one of three things behind one pointer.
//!
//! # The three
//!
//! | low bits | the rest of the word points to |
//! |---|---|
//! | 0 | a record: the one object of the key |
//! | 1 | the newest cell of a [chain](crate::chain): several objects of the key, in a bag |
//! | 2 | a [pending cell](crate::pending): what the key holds depends on a commit under way |
//!
//! The first two are *content*: what a key holds. The third says what the key holds before and
//! after a decision. A version cell, which will chain what a live snapshot can still see behind what is
//! there now, is a fourth tag with the same shape as a pending cell (an old and a new content, and
//! a number that says which of them a reader takes); it costs readers nothing that the test for
//! tag 0 does not cost them already.
//!
//! # Who owns what (invariant O)
//!
//! Content that is in an index belongs to the slot. Whoever takes a word out of a slot retires
//! what that word owned and the new word does not: the record, the cells of a chain that are not
//! shared with the chain put in its place, the side of a pending cell that lost. The pending cell itself
//! belongs to its descriptor.

use std::marker::PhantomData;
use std::num::NonZeroU64;

use fyris_index::Entry;
use fyris_sync::reclaim::Pin;

use crate::chain::{self, CellPtr};
use crate::keys::{Exact, KeyKind, Order, ShortKey};
use crate::pending::{PendingPtr, State};
use crate::record::RecordPtr;

const TAG: u64 = 7;
pub(crate) const RECORD: u64 = 0;
pub(crate) const CHAIN: u64 = 1;
const PENDING: u64 = 2;

/// What a key holds: one record, or a chain of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content(NonZeroU64);

/// A content seen for what it is.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    One(RecordPtr),
    Many(CellPtr),
}

impl Content {
    #[inline]
    pub(crate) fn one(record: RecordPtr) -> Content {
        Content::raw(record.bits() | RECORD)
    }

    pub(crate) fn many(cell: CellPtr) -> Content {
        Content::raw(cell.bits() | CHAIN)
    }

    #[inline]
    fn raw(bits: u64) -> Content {
        debug_assert!(bits != 0 && bits < 1 << 48);
        // SAFETY: a pointer is not null, whatever its tag.
        Content(unsafe { NonZeroU64::new_unchecked(bits) })
    }

    /// The content as a number, for the fields of a pending cell.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0.get()
    }

    /// The content back from its number; `None` for zero.
    ///
    /// # Safety
    ///
    /// `bits` is zero or comes from [`Content::bits`] of content that has not been freed.
    #[inline]
    pub(crate) unsafe fn from_bits(bits: u64) -> Option<Content> {
        NonZeroU64::new(bits).map(Content)
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        let bits = self.0.get();
        // SAFETY: the tag says which pointer the bits were made from; the content is live (O, R).
        unsafe {
            if bits & TAG == RECORD {
                Kind::One(RecordPtr::from_bits(bits))
            } else {
                Kind::Many(CellPtr::from_bits(bits & !TAG))
            }
        }
    }

    /// The newest record: all of them have the same key.
    #[inline]
    pub(crate) fn newest(self) -> RecordPtr {
        match self.kind() {
            Kind::One(record) => record,
            Kind::Many(cell) => cell.get().record,
        }
    }

    /// How many objects.
    #[inline]
    pub(crate) fn count(self) -> usize {
        match self.kind() {
            Kind::One(_) => 1,
            Kind::Many(cell) => cell.get().count as usize,
        }
    }

    /// Bytes allocated for it. O(objects).
    pub(crate) fn size(self) -> usize {
        match self.kind() {
            Kind::One(record) => record.size(),
            Kind::Many(_) => chain::size_above(self, None),
        }
    }

    /// Retires all of it.
    ///
    /// # Safety
    ///
    /// As [`Entry::retire`].
    #[inline]
    pub(crate) unsafe fn retire(self, pin: &impl Pin) {
        match self.kind() {
            // SAFETY: forwarded.
            Kind::One(record) => unsafe { record.retire(pin) },
            // SAFETY: forwarded.
            Kind::Many(_) => unsafe { chain::retire_above(self, None, pin) },
        }
    }

    /// Frees all of it.
    ///
    /// # Safety
    ///
    /// Nobody else can reach it.
    pub(crate) unsafe fn free(self) {
        match self.kind() {
            // SAFETY: forwarded.
            Kind::One(record) => unsafe { record.free() },
            // SAFETY: forwarded.
            Kind::Many(_) => unsafe { chain::free(self) },
        }
    }
}

/// An index entry; `K` says which part of the record is its key.
pub(crate) struct Slot<K>(NonZeroU64, PhantomData<fn() -> K>);

impl<K> Clone for Slot<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Slot<K> {}

/// An entry as a writer sees it.
pub(crate) enum Settled {
    /// The key holds this.
    Content(Option<Content>),
    /// It depends on a commit that is not decided yet.
    Undecided(PendingPtr),
}

impl<K> Slot<K> {
    #[inline]
    pub(crate) fn content(content: Content) -> Self {
        Slot(content.0, PhantomData)
    }

    pub(crate) fn pending(cell: PendingPtr) -> Self {
        // SAFETY: a pointer is not null, whatever its tag.
        let bits = unsafe { NonZeroU64::new_unchecked(cell.bits() | PENDING) };
        Slot(bits, PhantomData)
    }

    /// What a reader finds: never waits. A commit that is not decided has not happened.
    #[inline]
    pub(crate) fn read(self) -> Option<Content> {
        if self.0.get() & TAG == PENDING {
            return self.read_pending();
        }
        Some(Content(self.0))
    }

    #[cold]
    fn read_pending(self) -> Option<Content> {
        self.as_pending()?.get().read()
    }

    /// What a writer finds.
    #[inline]
    pub(crate) fn settled(self) -> Settled {
        if self.0.get() & TAG != PENDING {
            return Settled::Content(Some(Content(self.0)));
        }
        self.settled_pending()
    }

    #[cold]
    fn settled_pending(self) -> Settled {
        match self.as_pending() {
            Some(cell)
                if cell.get().state() == State::Undecided
                    && !cfg!(fyris_mutant = "store_ignore_pending") =>
            {
                Settled::Undecided(cell)
            }
            Some(cell) => Settled::Content(cell.get().read()),
            None => Settled::Content(None),
        }
    }

    /// The pending cell, if the entry is one.
    #[inline]
    pub(crate) fn as_pending(self) -> Option<PendingPtr> {
        let bits = self.0.get();
        // SAFETY: the tag says what the pointer is; live by R.
        (bits & TAG == PENDING).then(|| unsafe { PendingPtr::from_bits(bits & !TAG) })
    }

    /// Whether the entry has this key. The caller is pinned.
    #[inline]
    pub(crate) fn has_key(self, key: ShortKey) -> bool {
        self.record().has_key(key)
    }

    /// A record with the entry's key.
    #[inline]
    fn record(&self) -> RecordPtr {
        let bits = self.0.get();
        if bits & TAG == RECORD {
            // SAFETY: tag 0 is a record; live by R.
            return unsafe { RecordPtr::from_bits(bits) };
        }
        self.far_record()
    }

    #[cold]
    fn far_record(&self) -> RecordPtr {
        match self.as_pending() {
            Some(cell) => cell.get().any().newest(),
            None => Content(self.0).newest(),
        }
    }
}

macro_rules! impl_entry {
    ($kind:ty, $part:ident) => {
        // SAFETY: the bits are a user-space pointer, not null and below 2^48, with tags in its low bits; the
        // round trip is the identity. The key is in an immutable record (invariant I) that lives
        // while the entry does (invariant O), and every content a slot has in turn has the key
        // that the index was asked for.
        unsafe impl Entry for Slot<$kind> {
            type Key = <$kind as KeyKind>::Key;

            #[inline]
            fn key(&self) -> &Self::Key {
                // SAFETY: the entry's record is not freed while the thread is pinned (R).
                unsafe { self.record().$part() }
            }

            #[inline]
            fn into_bits(self) -> u64 {
                self.0.get()
            }

            #[inline]
            unsafe fn from_bits(bits: u64) -> Self {
                // SAFETY: comes from `into_bits`, so it is not zero.
                Slot(unsafe { NonZeroU64::new_unchecked(bits) }, PhantomData)
            }

            unsafe fn retire(self, pin: &impl Pin) {
                if let Some(content) = self.read() {
                    // SAFETY: forwarded; a pending cell is its descriptor's.
                    unsafe { content.retire(pin) }
                }
            }

            unsafe fn dispose(self) {
                if let Some(content) = self.read() {
                    // SAFETY: forwarded. An index is dropped when no commit on it can be under
                    // way, so that an entry is content.
                    unsafe { content.free() }
                }
            }
        }
    };
}
impl_entry!(Exact, exact);
impl_entry!(Order, order);
