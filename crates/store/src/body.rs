//! A table's content: an index and the counts that go with it.
//!
//! Everything that is common to all writes is here: settling a slot that belongs to a decided
//! commit, waiting for an undecided one, retiring what was displaced, keeping the counts.
//! The operations themselves are in [`crate::ops`], written once over [`Index`].

use std::marker::PhantomData;

use fyris_index::{Action, Entry, HashIndex, Index, Ordered};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::{Pin, Retire};
use fyris_term::key::KeyBuf;

use crate::chain;
use crate::ids::TableType;
use crate::keys::KeyKind;
use crate::pending::{PendingPtr, State};
use crate::slot::{Content, Settled, Slot};
use crate::sweeper;

/// Finished changes of one stripe after which a table's counters are spread out.
const SPREAD_AFTER: u64 = 512;

/// How often the counters are read before a count that may include too much is taken for good.
const LOOKS: u32 = 100;

/// Contents of so many objects are freed in the background: about a quarter of a millisecond's work.
const LARGE: usize = 4096;

/// A table's content; `delete_all_objects` puts a fresh one in its place.
pub(crate) struct Body<K, I> {
    pub(crate) index: I,
    pub(crate) kind: TableType,
    pub(crate) keypos: usize,
    objects: Striped,
    bytes: Striped,
    keys: PhantomData<fn() -> K>,
}

/// What becomes of a key.
pub(crate) enum Change {
    Keep,
    Put(Content),
    Remove,
}

impl<K, I> Body<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    pub(crate) fn new(index: I, kind: TableType, keypos: usize) -> Self {
        Body {
            index,
            kind,
            keypos,
            objects: Striped::new(),
            bytes: Striped::new(),
            keys: PhantomData,
        }
    }

    /// The part of an encoded key that counts here.
    #[inline]
    pub(crate) fn key<'k>(&self, key: &'k KeyBuf) -> &'k K::Key {
        K::of(key)
    }

    /// What the key holds now; never waits.
    #[inline]
    pub(crate) fn get(&self, key: &K::Key, pin: &impl Pin) -> Option<Content> {
        self.index.get(key, pin)?.read()
    }

    /// Runs `f` once on what the key holds, with the slot protected, and does as it says.
    ///
    /// The contract of `f` is that of [`Index::upsert`]. What `f` displaces is the caller's to retire
    /// and to account for.
    #[inline]
    pub(crate) fn write<R>(
        &self,
        key: &K::Key,
        pin: &impl Pin,
        mut f: impl FnMut(Option<Content>) -> (Change, R),
    ) -> R {
        self.write_slot(key, pin, |old| {
            let (change, result) = f(old);
            let action = match change {
                Change::Keep => Action::Keep,
                Change::Put(content) => Action::Put(Slot::content(content)),
                Change::Remove => Action::Remove,
            };
            (action, result)
        })
    }

    /// As [`Body::write`], for one who puts pending cells.
    #[inline]
    pub(crate) fn write_slot<R>(
        &self,
        key: &K::Key,
        pin: &impl Pin,
        mut f: impl FnMut(Option<Content>) -> (Action<Slot<K>>, R),
    ) -> R {
        loop {
            let outcome = self.index.upsert(key, pin, |slot| {
                let old = match slot.map(Slot::settled) {
                    None => None,
                    Some(Settled::Content(content)) => content,
                    Some(Settled::Undecided(cell)) => return (Action::Keep, Err(cell)),
                };
                let (action, result) = f(old);
                let cell = slot.and_then(Slot::as_pending);
                let displaced = if matches!(action, Action::Keep) {
                    None
                } else {
                    cell
                };
                (action, Ok((result, displaced)))
            });
            match outcome {
                Ok((result, None)) => return result,
                Ok((result, Some(cell))) => {
                    self.retire_loser(cell, pin);
                    return result;
                }
                // Another commit holds the key: it decides without needing anything of ours.
                Err(cell) => cell.get().wait(),
            }
        }
    }

    /// Retires the side of a decided cell that lost; the caller has taken the cell out of its slot.
    #[cold]
    pub(crate) fn retire_loser(&self, cell: PendingPtr, pin: &impl Pin) {
        let (old, new) = (cell.get().before(), cell.get().after());
        // SAFETY: O: the cell owned both sides, the winner went to the slot, and the cell is taken out
        // of its slot once. In a bag what wins contains the old chain.
        unsafe {
            match (cell.get().state(), old, new) {
                (State::Committed, Some(old), _) if !self.kind.is_bag() && Some(old) != new => {
                    old.retire(pin);
                }
                (State::Aborted, _, Some(new)) => chain::retire_above(new, old, pin),
                _ => {}
            }
        }
    }

    /// Counts a finished change: objects and bytes more (or fewer).
    #[inline]
    pub(crate) fn account(&self, objects: i64, bytes: i64) {
        if bytes != 0 {
            self.bytes.add(bytes);
        }
        // True each time the stripe passes a multiple of the constant; once is what counts.
        if objects != 0 && self.objects.add(objects) % SPREAD_AFTER < objects.unsigned_abs() {
            self.objects.inflate();
            self.bytes.inflate();
        }
    }

    /// How many objects, exact with respect to finished operations: all of them are counted.
    ///
    /// True at one moment, unless others write so fast that no two looks at the counters agree; then
    /// some of the inserts that overlap the call count although their deletion does not.
    pub(crate) fn len(&self) -> usize {
        let count = self
            .objects
            .try_exact(LOOKS)
            .unwrap_or_else(|| self.objects.sum());
        count.max(0) as usize
    }

    /// Bytes allocated for objects, their keys and the index. O(1).
    pub(crate) fn memory(&self) -> usize {
        let objects = self.bytes.sum().max(0) as usize;
        let counters = self.objects.memory() + self.bytes.memory();
        objects + self.index.memory() + counters + size_of::<Self>()
    }
}

/// The registry of indexes, from which the type of a table's content is made.
///
/// One line an index: the word for `{index, Name}`, the variant, the kind of key, the type. A new index is
/// one line here.
macro_rules! indexes {
    ($($name:literal $variant:ident $kind:ident $index:ty;)*) => {
        /// A table's content, whichever index holds it.
        pub(crate) enum AnyBody {
            $($variant(Body<$kind, $index>),)*
        }

        impl AnyBody {
            /// Fresh content with room for so many objects; `None` if there is no such index for the type.
            pub(crate) fn new(
                index: &str,
                kind: TableType,
                keypos: usize,
                capacity: usize,
            ) -> Option<AnyBody> {
                $(if index == $name && $kind::suits(kind) {
                    let mut index = <$index as Default>::default();
                    index.reserve(capacity);
                    return Some(AnyBody::$variant(Body::new(index, kind, keypos)));
                })*
                None
            }

            /// Every name an index is known under.
            pub(crate) const NAMES: &[&str] = &[$($name),*];
        }

        /// Runs an expression on the body, whatever its index.
        macro_rules! with_any_body {
            ($any:expr, $body:ident => $result:expr) => {
                match $any {
                    $($crate::body::AnyBody::$variant($body) => $result,)*
                }
            };
        }
    };
}

use crate::keys::{AsKey, Exact, Order, ShortKey};

impl Exact {
    fn suits(kind: TableType) -> bool {
        kind != TableType::OrderedSet
    }
}

impl Order {
    fn suits(kind: TableType) -> bool {
        kind == TableType::OrderedSet
    }
}

indexes! {
    "hash"    Hash       Exact HashIndex<Slot<Exact>>;
    "ordered" Tree       Exact Ordered<Slot<Exact>>;
    "ordered" OrderedSet Order Ordered<Slot<Order>>;
}
pub(crate) use with_any_body as with_body;

impl AnyBody {
    /// What a key holds now; never waits. Short keys in a hash table, which are most, are hashed and compared in a
    /// register.
    #[inline]
    pub(crate) fn look_up(&self, key: &(impl AsKey + ?Sized), pin: &impl Pin) -> Option<Content> {
        match (self, key.word()) {
            (AnyBody::Hash(body), Some((word, len))) => {
                let key = ShortKey { word, len };
                let slot = body
                    .index
                    .get_by(&key, |slot| slot.has_short_key(key), pin)?;
                slot.read()
            }
            _ => key.with(|buf| self.look_up_bytes(buf, pin)),
        }
    }

    fn look_up_bytes(&self, key: &KeyBuf, pin: &impl Pin) -> Option<Content> {
        with_body!(self, body => body.get(body.key(key), pin))
    }

    /// How many objects: see [`Body::len`].
    pub(crate) fn len(&self) -> usize {
        with_body!(self, body => body.len())
    }
}

impl Retire for AnyBody {
    unsafe fn reclaim(ptr: *mut AnyBody) {
        // SAFETY: a body is made by `Box`, and reclaimed once.
        let body = unsafe { Box::from_raw(ptr) };
        // Whoever comes by last reclaims: it may be in a hurry.
        match body.len() {
            0..LARGE => drop(body),
            _ => sweeper::sweep(*body),
        }
    }
}
