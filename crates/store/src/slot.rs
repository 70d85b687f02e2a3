//! The index entry of the store: one of five things in one word.
//!
//! # The five
//!
//! | low bits | the rest of the word |
//! |---|---|
//! | 0 | points to a record: the one object of the key |
//! | 1 | points to the newest cell of a [chain](crate::chain): several objects of the key, in a bag |
//! | 2 | points to a [pending cell](crate::pending): the key's content depends on a commit under way |
//! | 3 | is the one object of the key: an [inline object](crate::record::INLINE) |
//! | 6 | points to a [version cell](crate::version): the present content, and those before that a snapshot may see |
//!
//! All but the third and the last are the *content* of a key; these two have bit 1 without bit 0, so that one branch
//! tells a reader of both. What a key *holds* is a content or a version cell. A pending cell names what the key holds
//! before and after a decision.
//!
//! # Ownership
//!
//! **OWNERSHIP**: content that is in an index belongs to the slot. A thread that takes a word out of a slot retires
//! everything that this word owned and the new word does not: the record, the cells of a chain that are not shared with
//! the chain put in its place, the side of a pending cell that lost. The pending cell itself belongs to its descriptor.
//! A version cell, with those below, belongs to the slot, and so does the content of the first one; that of the others
//! belongs to who displaced it (RETAINED in [`crate::version`]). An inline object owns nothing.

use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::num::NonZeroU64;

use fyris_index::{Entry, prefetch};
use fyris_sync::reclaim::Guard;

use crate::chain::{self, CellPtr};
use crate::key_kind::{Exact, KeyKind, Order};
use crate::keys::ShortKey;
use crate::pending::{CommitState, PendingPtr};
use crate::record::{INLINE, RecordPtr, materialize, word_has_key, word_key};
use crate::version::VersionPtr;

const TAG: u64 = 7;
pub(crate) const RECORD: u64 = 0;
pub(crate) const CHAIN: u64 = 1;
const PENDING: u64 = 2;
const VERSION: u64 = 6;

/// Returns whether a word is a content: no cell of a commit or of versions.
#[inline]
fn is_content(bits: u64) -> bool {
    bits & 3 != PENDING
}

/// The content of a key: one record, or a chain of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Content(NonZeroU64);

/// A content seen for what it is.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    One(RecordPtr),
    Many(CellPtr),
}

impl Content {
    /// Returns the object that a record is, or was made from.
    #[inline]
    pub(crate) fn one(record: RecordPtr) -> Content {
        Content::raw(record.bits() | RECORD)
    }

    /// Returns an inline object.
    #[inline]
    pub(crate) fn word(word: u64) -> Content {
        Content::raw(word)
    }

    /// Returns whether it is an inline object.
    #[inline]
    pub(crate) fn is_inline(self) -> bool {
        self.0.get() & TAG == INLINE
    }

    /// Returns the inline object that it is.
    #[inline]
    pub(crate) fn as_inline(self) -> Option<u64> {
        self.is_inline().then_some(self.0.get())
    }

    /// Returns whether it is several objects.
    #[inline]
    pub(crate) fn is_chain(self) -> bool {
        self.0.get() & TAG == CHAIN
    }

    pub(crate) fn many(cell: CellPtr) -> Content {
        Content::raw(cell.bits() | CHAIN)
    }

    #[inline]
    fn raw(bits: u64) -> Content {
        debug_assert!(bits != 0 && bits < 1 << 48);
        // SAFETY: a pointer is not null, whatever its tag, and the tag of an inline object is not zero.
        Content(unsafe { NonZeroU64::new_unchecked(bits) })
    }

    /// Returns the content as a number, for the fields of a pending cell.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0.get()
    }

    /// Returns the content back from its number; `None` for zero.
    ///
    /// # Safety
    ///
    /// `bits` is zero or comes from [`Content::bits`] of content that has not been freed.
    #[inline]
    pub(crate) unsafe fn from_bits(bits: u64) -> Option<Content> {
        NonZeroU64::new(bits).map(Content)
    }

    /// Returns its kind; the caller is pinned, or owns it. An inline object is materialized.
    #[inline]
    pub(crate) fn kind(self) -> Kind {
        let bits = self.0.get();
        // SAFETY: the tag says which pointer the bits were made from; the content is live (OWNERSHIP, RECLAIM).
        unsafe {
            match bits & TAG {
                RECORD => Kind::One(RecordPtr::from_bits(bits)),
                INLINE => Kind::One(materialize(bits)),
                _ => Kind::Many(CellPtr::from_bits(bits & !TAG)),
            }
        }
    }

    /// Returns the newest record: all of them have the same key.
    #[inline]
    pub(crate) fn newest(self) -> RecordPtr {
        match self.kind() {
            Kind::One(record) => record,
            Kind::Many(cell) => cell.get().record,
        }
    }

    /// Returns the key, if it is short and the content is one object. The caller is pinned, or owns it.
    #[inline]
    pub(crate) fn short_key(self) -> Option<ShortKey> {
        match self.owned() {
            None => Some(word_key(self.0.get())),
            Some(Kind::One(record)) => record.short_key(),
            Some(Kind::Many(_)) => None,
        }
    }

    /// Returns whether both are known to own as much memory; the allocator is not asked.
    #[inline]
    pub(crate) fn is_as_long(self, other: Content) -> bool {
        match (self.owned(), other.owned()) {
            (None, None) => true,
            (Some(Kind::One(record)), Some(Kind::One(other))) => record.is_as_long(other),
            _ => false,
        }
    }

    /// Returns whether both are one record, and these have the same bytes; then the objects are `=:=`.
    #[inline]
    pub(crate) fn has_same_bytes(self, other: Content) -> bool {
        match (self.owned(), other.owned()) {
            (Some(Kind::One(record)), Some(Kind::One(other))) => record.has_same_bytes(other),
            _ => false,
        }
    }

    /// Brings near what it names.
    #[inline]
    pub(crate) fn prefetch(self) {
        if let Some(Kind::One(record)) = self.owned() {
            record.prefetch();
        }
    }

    /// Brings the values of its record near, which must be near already.
    #[inline]
    pub(crate) fn prefetch_values(self) {
        if let Some(Kind::One(record)) = self.owned() {
            record.prefetch_values();
        }
    }

    /// Returns the number of objects.
    #[inline]
    pub(crate) fn count(self) -> usize {
        match self.owned() {
            Some(Kind::Many(cell)) => cell.get().count(),
            _ => 1,
        }
    }

    /// Returns the memory that it owns: none, if it is an inline object.
    #[inline]
    fn owned(self) -> Option<Kind> {
        (!self.is_inline()).then(|| self.kind())
    }

    /// Returns the number of bytes allocated for it. O(objects).
    pub(crate) fn size(self) -> usize {
        self.owned().map_or(0, |kind| self.size_of(kind))
    }

    fn size_of(self, kind: Kind) -> usize {
        match kind {
            Kind::One(record) => record.size(),
            Kind::Many(_) => chain::size_above(self, None),
        }
    }

    /// Retires all of it.
    ///
    /// # Safety
    ///
    /// It is in no slot any more, and is retired once.
    #[inline]
    pub(crate) unsafe fn retire(self, pin: &impl Guard) {
        match self.owned() {
            None => {}
            // SAFETY: forwarded.
            Some(Kind::One(record)) => unsafe { record.retire(pin) },
            // SAFETY: forwarded.
            Some(Kind::Many(_)) => unsafe { chain::retire_above(self, None, pin) },
        }
    }

    /// Frees all of it.
    ///
    /// # Safety
    ///
    /// No other thread can reach it.
    pub(crate) unsafe fn free(self) {
        match self.owned() {
            None => {}
            // SAFETY: forwarded.
            Some(Kind::One(record)) => unsafe {
                record.free();
            },
            // SAFETY: forwarded.
            Some(Kind::Many(_)) => unsafe { chain::free(self) },
        }
    }
}

/// What a key holds: a content, or a version cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held(NonZeroU64);

impl Held {
    #[inline]
    pub(crate) fn content(content: Content) -> Held {
        Held(content.0)
    }

    pub(crate) fn version(cell: VersionPtr) -> Held {
        // SAFETY: a pointer is not null, whatever its tag.
        Held(unsafe { NonZeroU64::new_unchecked(cell.bits() | VERSION) })
    }

    /// Returns it as a number, for the fields of cells.
    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.0.get()
    }

    /// Returns it back from its number; `None` for zero.
    ///
    /// # Safety
    ///
    /// `bits` is zero or comes from [`Held::bits`] of what has not been freed.
    #[inline]
    pub(crate) unsafe fn from_bits(bits: u64) -> Option<Held> {
        NonZeroU64::new(bits).map(Held)
    }

    /// Returns the version cell, if it is one.
    #[inline]
    pub(crate) fn as_version(self) -> Option<VersionPtr> {
        let bits = self.0.get();
        // SAFETY: the tag says what the pointer is; live by RECLAIM.
        (bits & TAG == VERSION).then(|| unsafe { VersionPtr::from_bits(bits & !TAG) })
    }

    /// Returns the content at present, for a reader.
    #[inline]
    pub(crate) fn now(self) -> Option<Content> {
        match self.as_version() {
            Some(cell) => cell.now(),
            None => Some(Content(self.0)),
        }
    }

    /// Returns the content at present, for a writer: who changes it comes after who put it there (STAMPED).
    #[inline]
    pub(crate) fn settled(self) -> Option<Content> {
        match self.as_version() {
            Some(cell) => {
                cell.stamp();
                cell.content()
            }
            None => Some(Content(self.0)),
        }
    }

    /// Returns the content just before a place of the log.
    pub(crate) fn before(self, place: u64) -> Option<Content> {
        match self.as_version() {
            Some(cell) => cell.before(place),
            None => Some(Content(self.0)),
        }
    }

    /// Returns the number of the last commit before the content took effect; 0 if that was before all snapshots that
    /// may see it.
    pub(crate) fn stamp(self) -> u64 {
        self.as_version().map_or(0, VersionPtr::stamp)
    }

    /// Returns a content with the key.
    pub(crate) fn with_key(self) -> Content {
        match self.as_version() {
            Some(cell) => cell.named(),
            None => Content(self.0),
        }
    }
}

/// The moment at which a reader reads.
pub(crate) trait Moment: Copy {
    /// Whether it is that of a snapshot.
    const PAST: bool;

    /// Returns what an entry holds at the moment; never waits. A commit that is not decided has not happened.
    fn read<K>(self, slot: Slot<K>) -> Option<Content>;
}

/// The moment of the read itself.
#[derive(Clone, Copy)]
pub(crate) struct Now;

impl Moment for Now {
    const PAST: bool = false;

    #[inline]
    fn read<K>(self, slot: Slot<K>) -> Option<Content> {
        slot.read()
    }
}

/// The moment just before a place of the log: of a snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Before(pub(crate) u64);

impl Moment for Before {
    const PAST: bool = true;

    #[inline]
    fn read<K>(self, slot: Slot<K>) -> Option<Content> {
        if is_content(slot.0.get()) {
            return Some(Content(slot.0));
        }
        match slot.as_pending() {
            Some(cell) => cell.get().before_place(self.0),
            None => Held(slot.0).before(self.0),
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
    /// The key holds this; a decided commit that has the slot no snapshot can tell from it.
    Held(Option<Held>),
    /// It depends on a commit that is not decided yet.
    Undecided(PendingPtr),
}

impl<K> Slot<K> {
    #[inline]
    pub(crate) fn content(content: Content) -> Self {
        Slot(content.0, PhantomData)
    }

    #[inline]
    pub(crate) fn held(held: Held) -> Self {
        Slot(held.0, PhantomData)
    }

    pub(crate) fn pending(cell: PendingPtr) -> Self {
        // SAFETY: a pointer is not null, whatever its tag.
        let bits = unsafe { NonZeroU64::new_unchecked(cell.bits() | PENDING) };
        Slot(bits, PhantomData)
    }

    /// Returns the content for a reader, which never waits. A commit that is not decided has not happened.
    #[inline]
    pub(crate) fn read(self) -> Option<Content> {
        if !is_content(self.0.get()) {
            return self.read_cell();
        }
        Some(Content(self.0))
    }

    #[cold]
    fn read_cell(self) -> Option<Content> {
        match self.as_pending() {
            Some(cell) => cell.get().read(),
            None => Held(self.0).now(),
        }
    }

    /// Returns the content for a reader, which never waits, and becomes that content; if there is none it stays a
    /// cell.
    #[inline]
    pub(crate) fn resolve(&mut self) -> Option<Content> {
        if !is_content(self.0.get()) {
            return self.resolve_cell();
        }
        Some(Content(self.0))
    }

    #[cold]
    fn resolve_cell(&mut self) -> Option<Content> {
        let content = self.read_cell()?;
        *self = Slot::content(content);
        Some(content)
    }

    /// Returns the result of [`Slot::resolve`].
    #[inline]
    pub(crate) fn resolved(self) -> Option<Content> {
        is_content(self.0.get()).then_some(Content(self.0))
    }

    /// Returns what the key holds for a writer.
    #[inline]
    pub(crate) fn settled(self) -> Settled {
        if self.0.get() & TAG != PENDING {
            return Settled::Held(Some(Held(self.0)));
        }
        self.settled_pending()
    }

    #[cold]
    fn settled_pending(self) -> Settled {
        match self.as_pending() {
            Some(cell)
                if cell.get().state() == CommitState::Undecided
                    && !cfg!(fyris_mutant = "store_ignore_pending") =>
            {
                Settled::Undecided(cell)
            }
            Some(cell) => Settled::Held(cell.get().held()),
            None => Settled::Held(None),
        }
    }

    /// Returns what the key holds, unless that depends on a commit.
    pub(crate) fn as_held(self) -> Option<Held> {
        (self.0.get() & TAG != PENDING).then_some(Held(self.0))
    }

    /// Returns the pending cell, if the entry is one.
    #[inline]
    pub(crate) fn as_pending(self) -> Option<PendingPtr> {
        let bits = self.0.get();
        // SAFETY: the tag says what the pointer is; live by RECLAIM.
        (bits & TAG == PENDING).then(|| unsafe { PendingPtr::from_bits(bits & !TAG) })
    }

    /// Returns the version cell, if the entry is one.
    #[inline]
    pub(crate) fn as_version(self) -> Option<VersionPtr> {
        Held(self.0).as_version()
    }

    /// Returns whether the entry has this key. The caller is pinned.
    #[inline]
    pub(crate) fn has_short_key(self, key: ShortKey) -> bool {
        match self.word() {
            Some(word) => word_has_key(word, key.integer()),
            None => self.far_has(
                |word| word_has_key(word, key.integer()),
                |record| record.has_key(key),
            ),
        }
    }

    /// Returns whether an entry that is no inline object has the key that the one of the two tells. The inline object
    /// of a version is not materialized for that.
    #[inline]
    fn far_has(self, of_word: impl Fn(u64) -> bool, of_record: impl Fn(RecordPtr) -> bool) -> bool {
        match self.as_version().and_then(|cell| cell.named().as_inline()) {
            Some(word) => of_word(word),
            None => of_record(self.record()),
        }
    }

    /// Returns the entry itself if it is an inline object.
    #[inline]
    fn word(self) -> Option<u64> {
        Content(self.0).as_inline()
    }

    /// Returns a record with the entry's key.
    #[inline]
    fn record(&self) -> RecordPtr {
        let bits = self.0.get();
        match bits & TAG {
            // SAFETY: tag 0 is a record; live by RECLAIM.
            RECORD => unsafe { RecordPtr::from_bits(bits) },
            INLINE => materialize(bits),
            _ => self.far_record(),
        }
    }

    #[cold]
    fn far_record(&self) -> RecordPtr {
        let record = match (self.as_pending(), self.as_version()) {
            (Some(cell), _) => cell.get().key(),
            (_, Some(cell)) => cell.key(),
            _ => Content(self.0).newest(),
        };
        #[cfg(loom)]
        fyris_sync::reclaim::assert_not_reclaimed(std::ptr::without_provenance::<u8>(
            record.bits() as usize,
        ));
        record
    }
}

macro_rules! impl_entry {
    ($kind:ty, $part:ident) => {
        // SAFETY: the bits are a user-space pointer, not null and below 2^48, with tags in its low bits, or a word
        // object, neither zero nor above; the round trip is the identity. The key is in an immutable record (invariant
        // IMMUTABLE) that lives while the entry does (invariant OWNERSHIP), or is materialized for as long as the pin
        // lives (VIEW), and every content a slot has in turn has the key that the index was asked for.
        unsafe impl Entry for Slot<$kind> {
            type Key = <$kind as KeyKind>::Key;

            #[inline]
            fn key(&self) -> &Self::Key {
                // SAFETY: the entry's record is not freed while the thread is pinned (RECLAIM).
                unsafe { self.record().$part() }
            }

            #[inline]
            fn has_key(&self, key: &Self::Key) -> bool {
                match self.word() {
                    Some(word) => word_key(word).is(key.bytes()),
                    None => self.far_has(
                        |word| word_key(word).is(key.bytes()),
                        // SAFETY: as in `key`.
                        |record| unsafe { record.$part() == key },
                    ),
                }
            }

            #[inline]
            fn hash_key(&self, hasher: &impl BuildHasher) -> u64 {
                match self.word() {
                    Some(word) => hasher.hash_one(word_key(word)),
                    None => hasher.hash_one(self.key()),
                }
            }

            #[inline]
            fn prefetch(&self) {
                if self.word().is_none() {
                    prefetch::read(std::ptr::without_provenance::<u8>(self.0.get() as usize));
                }
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

            unsafe fn retire(self, pin: &impl Guard) {
                if let Some(content) = self.read() {
                    // SAFETY: forwarded; a pending cell is its descriptor's.
                    unsafe { content.retire(pin) }
                }
                if let Some(cell) = self.as_version() {
                    // SAFETY: forwarded.
                    unsafe { cell.retire_chain(pin) }
                }
            }

            unsafe fn dispose(self) {
                if let Some(cell) = self.as_version() {
                    // SAFETY: forwarded; older contents are not the slot's (RETAINED).
                    unsafe {
                        cell.content().map(|content| content.free());
                        cell.free_chain();
                    }
                } else if let Some(content) = self.read() {
                    // SAFETY: forwarded. An index is dropped when no commit on it can be under way, so that an entry is
                    // content.
                    unsafe { content.free() }
                }
            }
        }
    };
}
impl_entry!(Exact, exact);
impl_entry!(Order, order);
