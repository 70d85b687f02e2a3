//! The part of a record's key by which a table finds its objects: over both the keys and the records.

use std::hash::Hash;

use fyris_index::ordered::TreeKey;
use fyris_term::key::KeyBuf;

use crate::keys::{ExactKey, OrderKey};
use crate::record::RecordPtr;

/// The two key types by which an entry is found.
pub(crate) trait KeyKind: Send + Sync + 'static {
    /// The key type.
    type Key: ?Sized + Eq + Ord + Hash + TreeKey + 'static;

    /// Whether the table's order is the order of keys.
    const ORDERED: bool;

    /// Returns the part of an encoded key that counts.
    fn of(key: &KeyBuf) -> &Self::Key;

    /// Returns the key these bytes are; they are those of [`KeyKind::bytes`].
    fn from_bytes(bytes: &[u8]) -> &Self::Key;

    /// Returns the bytes of a key.
    fn bytes(key: &Self::Key) -> &[u8];

    /// Returns the key's bytes in a record.
    ///
    /// # Safety
    ///
    /// The record is not freed during `'r`.
    unsafe fn part<'r>(record: RecordPtr) -> &'r [u8];
}

/// `=:=`: hash tables.
pub(crate) enum Exact {}

/// `==`: ordered sets.
pub(crate) enum Order {}

impl KeyKind for Exact {
    type Key = ExactKey;

    const ORDERED: bool = false;

    #[inline]
    fn of(key: &KeyBuf) -> &ExactKey {
        ExactKey::new(key.bytes())
    }

    #[inline]
    fn from_bytes(bytes: &[u8]) -> &ExactKey {
        ExactKey::new(bytes)
    }

    #[inline]
    fn bytes(key: &ExactKey) -> &[u8] {
        key.bytes()
    }

    #[inline]
    unsafe fn part<'r>(record: RecordPtr) -> &'r [u8] {
        // SAFETY: forwarded.
        unsafe { record.exact() }.bytes()
    }
}

impl KeyKind for Order {
    type Key = OrderKey;

    const ORDERED: bool = true;

    #[inline]
    fn of(key: &KeyBuf) -> &OrderKey {
        OrderKey::new(key.order())
    }

    #[inline]
    fn from_bytes(bytes: &[u8]) -> &OrderKey {
        OrderKey::new(bytes)
    }

    #[inline]
    fn bytes(key: &OrderKey) -> &[u8] {
        key.bytes()
    }

    #[inline]
    unsafe fn part<'r>(record: RecordPtr) -> &'r [u8] {
        // SAFETY: forwarded.
        unsafe { record.order() }.bytes()
    }
}
