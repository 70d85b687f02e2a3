//! Storage of the pairs of a [`Map`](super::Map): each behind one pointer, with the key as it is or as bytes.

use std::hash::Hash;

use super::node::NodeRef;
use crate::Entry;
use crate::bytes_entry::BytesRef;
use crate::into_iter::OwnedPair;
pub use crate::ordered::storage::{Boxed, Copied, Packed};

/// The storage of the pairs of a [`Map`](super::Map): [`Boxed`], [`Copied`] or [`Packed`]. Cannot be implemented
/// elsewhere.
pub trait MapStorage<K: ?Sized, V>: SealedMapStorage<K, V> {}

/// The private part of [`MapStorage`], which keeps it from being implemented elsewhere.
pub trait SealedMapStorage<K: ?Sized, V> {
    /// The entry that leads to a pair.
    type Entry: Entry<Key = K> + OwnedPair<Value = V> + PartialEq + Send + Sync;

    /// Returns the key and the value of an entry.
    ///
    /// # Safety
    ///
    /// The entry is not freed during `'g`.
    unsafe fn pair<'g>(entry: Self::Entry) -> (&'g K, &'g V);

    /// Returns the value of an entry.
    ///
    /// # Safety
    ///
    /// The entry is not freed during `'g`.
    unsafe fn value<'g>(entry: Self::Entry) -> &'g V
    where
        K: 'g;
}

/// A [`MapStorage`] that makes entries of keys given as `G`: the key itself, or for byte strings whatever is bytes.
#[diagnostic::on_unimplemented(
    message = "a key of this map cannot be given as `{G}`",
    note = "the key of a map of `K` is given as a `K`, that of a map of byte strings as any `AsRef<[u8]>`"
)]
pub trait MakeEntry<G, K: ?Sized, V>: MapStorage<K, V> {
    /// The part of the given key that is not in the entry.
    #[doc(hidden)]
    type Rest;

    /// Returns the key in the form that is hashed and compared.
    #[doc(hidden)]
    fn key(given: &G) -> &K;

    /// Makes an entry.
    #[doc(hidden)]
    fn make(given: G, value: V) -> (Self::Entry, Self::Rest);

    /// Takes an entry apart, drops its value and returns the key that was given.
    ///
    /// # Safety
    ///
    /// The entry comes from `make`, together with `rest`, was never shared and is used no more.
    #[doc(hidden)]
    unsafe fn into_parts(entry: Self::Entry, rest: Self::Rest) -> G;
}

/// A [`MapStorage`] that makes entries of keys that are in a map already: those of [`Boxed`] are cloned.
pub trait RemakeEntry<K: ?Sized, V>: MapStorage<K, V> {
    /// Makes an entry of another one's key, which lives.
    #[doc(hidden)]
    fn remake(old: Self::Entry, value: V) -> Self::Entry;
}

macro_rules! node_storage {
    ($storage:ty: $key:tt, $value:tt) => {
        impl<K: $key, V: $value> MapStorage<K, V> for $storage where Self: SealedMapStorage<K, V> {}

        impl<K: Hash + Eq + Send + Sync + $key, V: Send + Sync + $value> SealedMapStorage<K, V>
            for $storage
        {
            type Entry = NodeRef<K, V>;

            #[inline]
            unsafe fn pair<'g>(entry: NodeRef<K, V>) -> (&'g K, &'g V) {
                // SAFETY: the caller's contract.
                unsafe { entry.pair() }
            }

            #[inline]
            unsafe fn value<'g>(entry: NodeRef<K, V>) -> &'g V
            where
                K: 'g,
            {
                // SAFETY: the caller's contract.
                unsafe { entry.pair().1 }
            }
        }

        impl<K: Hash + Eq + Send + Sync + $key, V: Send + Sync + $value> MakeEntry<K, K, V>
            for $storage
        {
            type Rest = ();

            #[inline]
            fn key(given: &K) -> &K {
                given
            }

            #[inline]
            fn make(given: K, value: V) -> (NodeRef<K, V>, ()) {
                (NodeRef::new(given, value), ())
            }

            #[inline]
            unsafe fn into_parts(entry: NodeRef<K, V>, (): ()) -> K {
                // SAFETY: the caller's contract.
                unsafe { entry.into_parts().0 }
            }
        }

        impl<K: Clone, V> RemakeEntry<K, V> for $storage
        where
            Self: MakeEntry<K, K, V, Entry = NodeRef<K, V>>,
        {
            #[inline]
            fn remake(old: NodeRef<K, V>, value: V) -> NodeRef<K, V> {
                NodeRef::new(old.key().clone(), value)
            }
        }
    };
}
node_storage!(Boxed: 'static, 'static);
node_storage!(Copied: Copy, Copy);

impl<V: Send + Sync + 'static> MapStorage<[u8], V> for Packed {}

impl<V: Send + Sync + 'static> SealedMapStorage<[u8], V> for Packed {
    type Entry = BytesRef<V>;

    #[inline]
    unsafe fn pair<'g>(entry: BytesRef<V>) -> (&'g [u8], &'g V) {
        // SAFETY: the caller's contract.
        unsafe { entry.pair() }
    }

    #[inline]
    unsafe fn value<'g>(entry: BytesRef<V>) -> &'g V {
        // SAFETY: the caller's contract.
        unsafe { entry.value() }
    }
}

impl<G: AsRef<[u8]>, V: Send + Sync + 'static> MakeEntry<G, [u8], V> for Packed {
    type Rest = G;

    #[inline]
    fn key(given: &G) -> &[u8] {
        given.as_ref()
    }

    #[inline]
    fn make(given: G, value: V) -> (BytesRef<V>, G) {
        (BytesRef::new(given.as_ref(), value), given)
    }

    #[inline]
    unsafe fn into_parts(entry: BytesRef<V>, given: G) -> G {
        // SAFETY: the caller's contract.
        unsafe { entry.dispose() };
        given
    }
}

impl<V: Send + Sync + 'static> RemakeEntry<[u8], V> for Packed {
    #[inline]
    fn remake(old: BytesRef<V>, value: V) -> BytesRef<V> {
        BytesRef::new(old.key(), value)
    }
}
