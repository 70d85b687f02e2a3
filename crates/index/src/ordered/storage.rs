//! The storage of the pairs of a `ConcurrentTree`: in boxes, in the leaves, or packed with the bytes of their keys.

use std::borrow::Borrow;
use std::ptr::NonNull;

use fyris_sync::reclaim::{Guard, Retire};

use super::item::{InlineValue, Item};
use crate::Entry;
use crate::bytes_entry::BytesRef;
use crate::into_iter::OwnedPair;
use crate::key::{PrefixKey, TreeKey};
use crate::retired::Retired;

/// Each pair in a box of its own: any types, 8 bytes in the leaf.
#[derive(Clone, Copy, Debug, Default)]
pub struct Boxed;

/// Values in the leaf, keys as their key prefixes: no allocation for a pair, one miss less for a read. For integer keys
/// and small `Copy` values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inline;

/// Each pair in one block that ends with the bytes of the key: for byte strings, 8 bytes in the leaf.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packed;

/// Each pair in a box of its own, for keys and values that are `Copy` and may borrow.
///
/// A pair that is taken out of a map is freed at some later time. If freeing it ran code, a borrow in it could have
/// ended by then; freeing a `Copy` value runs none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied;

/// The storage of the pairs of a tree: [`Boxed`], [`Copied`], [`Inline`] or [`Packed`]. Cannot be implemented
/// elsewhere.
pub trait Storage<K: TreeKey + ?Sized, V>: SealedStorage<K, V> {
    /// The form of a key when a pair is handed out: `&K`, or `K` where keys are not stored.
    type Key<'g>: Borrow<K>
    where
        K: 'g,
        V: 'g;

    /// A pair of a tree that is used up.
    type Owned: OwnedPair<Value = V>;

    /// Returns the key of an item and its key prefix.
    #[doc(hidden)]
    fn key<'g>(key_prefix: u64, item: &'g Self::Item) -> Self::Key<'g>;

    /// Returns an item that is in no tree any more, and its key prefix, as a pair.
    #[doc(hidden)]
    fn owned(key_prefix: u64, item: Self::Item) -> Self::Owned;
}

/// The private part of [`Storage`], which keeps it from being implemented elsewhere.
pub trait SealedStorage<K: TreeKey + ?Sized, V> {
    /// The contents of a slot.
    type Item: Item<Key = K> + Send + Sync;

    /// Retires what an item names.
    ///
    /// # Safety
    ///
    /// This thread took it out of the tree, and retires it once.
    unsafe fn retire(item: &Self::Item, retired: &Retired<K, V>, pin: &impl Guard);

    /// Returns the value. Valid as long as the item's slot (invariant WRITTEN_ONCE) and the pin (RECLAIM).
    fn value(item: &Self::Item) -> &V;

    /// Returns whether two items, seen in slots under one pin, are one pair.
    fn same(a: &Self::Item, b: &Self::Item) -> bool;
}

/// A [`Storage`] that makes items of keys given as `G`: the key itself, or for byte strings whatever is bytes.
#[diagnostic::on_unimplemented(
    message = "a key of this tree cannot be given as `{G}`",
    note = "the key of a tree of `K` is given as a `K`, that of a tree of byte strings as any `AsRef<[u8]>`"
)]
pub trait MakeItem<G, K: TreeKey + ?Sized, V>: Storage<K, V> {
    /// Something to get the key of a pair from while the pair goes in.
    #[doc(hidden)]
    type Name;

    /// Returns the key in the form that is compared.
    #[doc(hidden)]
    fn given(given: &G) -> &K;

    /// Returns the key of an item that is about to go in.
    #[doc(hidden)]
    fn named(name: &Self::Name) -> &K;

    /// Makes an item.
    #[doc(hidden)]
    fn make(given: G, value: V) -> (Self::Name, Self::Item);

    /// Takes an item apart, drops its value and returns the key that was given.
    ///
    /// # Safety
    ///
    /// The item comes from `make`, together with the name, has not gone in, and is used no more.
    #[doc(hidden)]
    unsafe fn into_parts(name: Self::Name, item: Self::Item) -> G;
}

/// A [`Storage`] that makes items of keys that are in a tree already: those of [`Boxed`] are cloned.
pub trait RemakeItem<K: TreeKey + ?Sized, V>: Storage<K, V> {
    /// Makes an item of a key that lives.
    #[doc(hidden)]
    fn remake(key: &K, value: V) -> Self::Item;

    /// Frees an item.
    ///
    /// # Safety
    ///
    /// It comes from `remake`, and has not gone in.
    #[doc(hidden)]
    unsafe fn forget(item: Self::Item) {
        // SAFETY: the caller's contract: no other thread has seen it.
        unsafe { item.dispose() }
    }
}

/// A pair in a box, owned by the tree.
pub struct BoxedPair<K, V>(NonNull<(K, V)>);

impl<K, V> Clone for BoxedPair<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for BoxedPair<K, V> {}
// SAFETY: an owned box, shared by reference.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for BoxedPair<K, V> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for BoxedPair<K, V> {}

impl<K, V> BoxedPair<K, V> {
    #[inline]
    fn new(key: K, value: V) -> Self {
        Self(NonNull::from(Box::leak(Box::new((key, value)))))
    }

    #[inline]
    fn pair(&self) -> &(K, V) {
        // SAFETY: (RECLAIM) items are looked at under the pin under which they were found, or before they go in.
        unsafe { self.0.as_ref() }
    }
}

// SAFETY: the box's key does not change, and the box lives as invariant RECLAIM says.
unsafe impl<K: TreeKey, V> Item for BoxedPair<K, V> {
    type Key = K;

    #[inline]
    fn key(&self) -> &K {
        &self.pair().0
    }

    #[inline]
    fn prefetch(&self) {
        crate::prefetch::read(self.0.as_ptr());
    }

    unsafe fn dispose(self) {
        // SAFETY: from `Box::leak` in `make`; only this thread can reach it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<K, V> OwnedPair for BoxedPair<K, V> {
    type Key = K;
    type Value = V;

    unsafe fn into_pair(self) -> (K, V) {
        // SAFETY: from `Box::leak` in `new`; the caller's contract.
        *unsafe { Box::from_raw(self.0.as_ptr()) }
    }

    unsafe fn let_go(self) {
        // SAFETY: as above.
        drop(unsafe { self.into_pair() });
    }
}

/// A pair on its way out, as the collector knows it.
struct Gone<K, V>((K, V));

impl<K, V> Retire for Gone<K, V> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `Box::leak` in `make`; `Gone` is the pair and nothing else.
        drop(unsafe { Box::from_raw(ptr.cast::<(K, V)>()) });
    }
}

macro_rules! box_storage {
    ($storage:ty: $bound:tt) => {
        impl<K, V> Storage<K, V> for $storage
        where
            K: TreeKey + Send + Sync + $bound,
            V: Send + Sync + $bound,
        {
            type Key<'g>
                = &'g K
            where
                K: 'g,
                V: 'g;

            type Owned = BoxedPair<K, V>;

            #[inline]
            fn key(_: u64, item: &BoxedPair<K, V>) -> &K {
                &item.pair().0
            }

            fn owned(_: u64, item: BoxedPair<K, V>) -> BoxedPair<K, V> {
                item
            }
        }

        impl<K, V> SealedStorage<K, V> for $storage
        where
            K: TreeKey + Send + Sync + $bound,
            V: Send + Sync + $bound,
        {
            type Item = BoxedPair<K, V>;

            unsafe fn retire(item: &BoxedPair<K, V>, retired: &Retired<K, V>, pin: &impl Guard) {
                let (key, value) = item.pair();
                retired.note(key, value, pin);
                // SAFETY: the caller's contract.
                unsafe { pin.retire(item.0.as_ptr().cast::<Gone<K, V>>()) }
            }

            #[inline]
            fn value(item: &BoxedPair<K, V>) -> &V {
                &item.pair().1
            }

            fn same(a: &BoxedPair<K, V>, b: &BoxedPair<K, V>) -> bool {
                a.0 == b.0
            }
        }

        impl<K, V> MakeItem<K, K, V> for $storage
        where
            K: TreeKey + Send + Sync + $bound,
            V: Send + Sync + $bound,
        {
            type Name = BoxedPair<K, V>;

            #[inline]
            fn given(given: &K) -> &K {
                given
            }

            #[inline]
            fn named(name: &BoxedPair<K, V>) -> &K {
                &name.pair().0
            }

            #[inline]
            fn make(given: K, value: V) -> (BoxedPair<K, V>, BoxedPair<K, V>) {
                let own = BoxedPair::new(given, value);
                (own, own)
            }

            unsafe fn into_parts(_: BoxedPair<K, V>, item: BoxedPair<K, V>) -> K {
                // SAFETY: from `Box::leak` in `BoxedPair::new`, and never published.
                unsafe { Box::from_raw(item.0.as_ptr()) }.0
            }
        }

        impl<K, V> RemakeItem<K, V> for $storage
        where
            K: TreeKey + Clone + Send + Sync + $bound,
            V: Send + Sync + $bound,
        {
            fn remake(key: &K, value: V) -> BoxedPair<K, V> {
                BoxedPair::new(key.clone(), value)
            }
        }
    };
}
box_storage!(Boxed: 'static);
box_storage!(Copied: Copy);

impl<K, V> Storage<K, V> for Inline
where
    K: PrefixKey + Send + Sync,
    V: Copy + Send + Sync,
{
    type Key<'g>
        = K
    where
        K: 'g,
        V: 'g;

    type Owned = (K, V);

    #[inline]
    fn key(key_prefix: u64, _: &InlineValue<K, V>) -> K {
        K::from_key_prefix(key_prefix)
    }

    fn owned(key_prefix: u64, item: InlineValue<K, V>) -> (K, V) {
        (K::from_key_prefix(key_prefix), item.value)
    }
}

impl<K, V> SealedStorage<K, V> for Inline
where
    K: PrefixKey + Send + Sync,
    V: Copy + Send + Sync,
{
    type Item = InlineValue<K, V>;

    unsafe fn retire(_: &InlineValue<K, V>, _: &Retired<K, V>, _: &impl Guard) {}

    #[inline]
    fn value(item: &InlineValue<K, V>) -> &V {
        &item.value
    }

    /// Compares bytes, those of padding included: a pair keeps all of them when its leaf is rebuilt (`Parts`). Slots
    /// would not do: a leaf is rebuilt because of other pairs.
    fn same(a: &InlineValue<K, V>, b: &InlineValue<K, V>) -> bool {
        std::ptr::eq(a, b) || (a.has_bytes_of(b) && !cfg!(fyris_mutant = "tree_pair_is_slot"))
    }
}

impl<K, V> MakeItem<K, K, V> for Inline
where
    K: PrefixKey + Send + Sync,
    V: Copy + Send + Sync,
{
    type Name = K;

    #[inline]
    fn given(given: &K) -> &K {
        given
    }

    #[inline]
    fn named(name: &K) -> &K {
        name
    }

    #[inline]
    fn make(given: K, value: V) -> (K, InlineValue<K, V>) {
        (given, InlineValue::new(value))
    }

    unsafe fn into_parts(name: K, _: InlineValue<K, V>) -> K {
        name
    }
}

impl<K, V> RemakeItem<K, V> for Inline
where
    K: PrefixKey + Send + Sync,
    V: Copy + Send + Sync,
{
    #[inline]
    fn remake(_: &K, value: V) -> InlineValue<K, V> {
        InlineValue::new(value)
    }
}

/// A value and the bytes of its key in one block, owned by the tree.
pub struct PackedPair<V>(pub(crate) BytesRef<V>);

impl<V> Clone for PackedPair<V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V> Copy for PackedPair<V> {}

// SAFETY: the block's key does not change, and the block lives as invariant RECLAIM says.
unsafe impl<V: 'static> Item for PackedPair<V> {
    type Key = [u8];

    #[inline]
    fn key(&self) -> &[u8] {
        self.0.key()
    }

    #[inline]
    fn prefetch(&self) {
        let at = self.0.into_bits() as usize;
        crate::prefetch::read(std::ptr::without_provenance::<u8>(at));
    }

    unsafe fn dispose(self) {
        // SAFETY: the caller's contract.
        unsafe { self.0.dispose() }
    }
}

impl<V: Send + Sync + 'static> Storage<[u8], V> for Packed {
    type Key<'g>
        = &'g [u8]
    where
        V: 'g;

    type Owned = BytesRef<V>;

    #[inline]
    fn key(_: u64, item: &PackedPair<V>) -> &[u8] {
        item.0.key()
    }

    fn owned(_: u64, item: PackedPair<V>) -> BytesRef<V> {
        item.0
    }
}

impl<V: Send + Sync + 'static> SealedStorage<[u8], V> for Packed {
    type Item = PackedPair<V>;

    unsafe fn retire(item: &PackedPair<V>, retired: &Retired<[u8], V>, pin: &impl Guard) {
        // SAFETY: it was in the tree under the pin (RECLAIM).
        let (key, value) = unsafe { item.0.pair() };
        retired.note(key, value, pin);
        // SAFETY: the caller's contract.
        unsafe { item.0.retire(pin) }
    }

    #[inline]
    fn value(item: &PackedPair<V>) -> &V {
        // SAFETY: (RECLAIM) items are looked at under the pin under which they were found.
        unsafe { item.0.value() }
    }

    fn same(a: &PackedPair<V>, b: &PackedPair<V>) -> bool {
        a.0 == b.0
    }
}

impl<G: AsRef<[u8]>, V: Send + Sync + 'static> MakeItem<G, [u8], V> for Packed {
    type Name = G;

    #[inline]
    fn given(given: &G) -> &[u8] {
        given.as_ref()
    }

    #[inline]
    fn named(name: &G) -> &[u8] {
        name.as_ref()
    }

    #[inline]
    fn make(given: G, value: V) -> (G, PackedPair<V>) {
        let item = PackedPair(BytesRef::new(given.as_ref(), value));
        (given, item)
    }

    unsafe fn into_parts(name: G, item: PackedPair<V>) -> G {
        // SAFETY: the caller's contract.
        unsafe { item.0.dispose() };
        name
    }
}

impl<V: Send + Sync + 'static> RemakeItem<[u8], V> for Packed {
    fn remake(key: &[u8], value: V) -> PackedPair<V> {
        PackedPair(BytesRef::new(key, value))
    }
}
