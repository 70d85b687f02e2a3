//! A value and a byte string as its key, in one allocation.
//!
//! ```text
//!  byte 0             size of V    + 4
//!      +-------------+------------+----------------------+
//!      | value       | length     | the bytes of the key |   (the length aligned to 4)
//!      +-------------+------------+----------------------+
//! ```
//!
//! A boxed key would be one more cache miss for each look at it, and one more block to allocate and free. With
//! an 8-byte value a key of 20 bytes makes an entry of 32: one block of the allocator, within one line.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use fyris_sync::alloc as record;
use fyris_sync::reclaim::{Guard, Retire};

use crate::Entry;
use crate::into_iter::OwnedPair;

/// The beginning of an entry; the key's bytes follow right behind `length`.
#[repr(C)]
pub(crate) struct EntryHead<V> {
    value: V,
    length: u32,
}

/// The entry of a map from byte strings: a pointer to its value and key.
pub struct BytesRef<V>(NonNull<EntryHead<V>>);

impl<V> Clone for BytesRef<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for BytesRef<V> {}

impl<V> PartialEq for BytesRef<V> {
    /// Returns whether they are the same entry, not an equal one.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

// SAFETY: a `BytesRef` gives shared access to `V`, and whichever thread retires it may have it dropped on
// any thread.
unsafe impl<V: Send + Sync> Send for BytesRef<V> {}
// SAFETY: as above.
unsafe impl<V: Send + Sync> Sync for BytesRef<V> {}

impl<V> BytesRef<V> {
    /// The offset of the key.
    const KEY: usize = offset_of!(EntryHead<V>, length) + size_of::<u32>();
    /// Whether the record allocator aligns such an entry.
    const IS_RECORD: bool = align_of::<EntryHead<V>>() <= 8;

    /// Makes an entry; O(length of the key).
    ///
    /// # Panics
    ///
    /// If the key is 4 GiB long or longer.
    #[inline]
    pub(crate) fn new(key: &[u8], value: V) -> Self {
        let length = u32::try_from(key.len()).expect("a key is shorter than 4 GiB");
        let entry = Self::allocate(key.len());
        // SAFETY: freshly allocated for a head and `length` bytes behind it.
        unsafe {
            (&raw mut (*entry.as_ptr()).value).write(value);
            (&raw mut (*entry.as_ptr()).length).write(length);
            let to = entry.as_ptr().byte_add(Self::KEY).cast::<u8>();
            ptr::copy_nonoverlapping(key.as_ptr(), to, key.len());
        }
        Self(entry)
    }

    #[inline]
    fn allocate(length: usize) -> NonNull<EntryHead<V>> {
        if Self::IS_RECORD {
            return record::allocate(Self::KEY + length).cast();
        }
        let layout = Self::layout(length);
        // SAFETY: the size is not zero: it includes the length.
        let entry = unsafe { alloc(layout) };
        NonNull::new(entry.cast()).unwrap_or_else(|| handle_alloc_error(layout))
    }

    /// # Safety
    ///
    /// `entry` comes from `allocate` with the same length, and is not used any more.
    #[inline]
    unsafe fn free(entry: NonNull<EntryHead<V>>, length: usize) {
        if Self::IS_RECORD {
            // SAFETY: allocated there, with this size.
            return unsafe { record::free(entry.cast(), Self::KEY + length) };
        }
        // SAFETY: allocated there, with this layout.
        unsafe { dealloc(entry.as_ptr().cast(), Self::layout(length)) }
    }

    fn layout(length: usize) -> Layout {
        Layout::from_size_align(Self::KEY + length, align_of::<EntryHead<V>>())
            .expect("the size of a value and a slice that exist")
    }

    /// Returns the key, for as long as the entry is known to live.
    ///
    /// # Safety
    ///
    /// The entry is not freed during `'g`.
    #[inline]
    pub(crate) unsafe fn bytes<'g>(self) -> &'g [u8] {
        // SAFETY: written in `new`, immutable, alive by the caller's contract.
        unsafe {
            let length = (&raw const (*self.0.as_ptr()).length).read();
            let from = self.0.as_ptr().byte_add(Self::KEY).cast::<u8>();
            std::slice::from_raw_parts(from, length as usize)
        }
    }

    /// Returns the value, for as long as the entry is known to live.
    ///
    /// # Safety
    ///
    /// The entry is not freed during `'g`.
    #[inline]
    pub(crate) unsafe fn value<'g>(self) -> &'g V {
        // SAFETY: as in `bytes`.
        unsafe { &(*self.0.as_ptr()).value }
    }

    /// Returns the key and the value, for as long as the entry is known to live.
    ///
    /// # Safety
    ///
    /// The entry is not freed during `'g`.
    #[inline]
    pub(crate) unsafe fn pair<'g>(self) -> (&'g [u8], &'g V) {
        // SAFETY: the caller's contract.
        unsafe { (self.bytes(), self.value()) }
    }
}

impl<V: 'static> OwnedPair for BytesRef<V> {
    type Key = Box<[u8]>;
    type Value = V;

    unsafe fn into_pair(self) -> (Box<[u8]>, V) {
        // SAFETY: the caller's contract: the value is moved out, and the block freed without it.
        unsafe {
            let key: Box<[u8]> = self.bytes().into();
            let value = (&raw const (*self.0.as_ptr()).value).read();
            Self::free(self.0, key.len());
            (key, value)
        }
    }

    unsafe fn let_go(self) {
        // SAFETY: the caller's contract.
        unsafe { self.dispose() }
    }
}

impl<V: 'static> Retire for EntryHead<V> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: the caller's contract: ours alone, once; a retired entry is not null.
        unsafe {
            let length = (&raw const (*ptr).length).read();
            ptr::drop_in_place(&raw mut (*ptr).value);
            BytesRef::free(NonNull::new_unchecked(ptr), length as usize);
        }
    }
}

// SAFETY: a pointer is non-zero, and user space ends below 2^48 on every 64-bit system we know; the
// key is immutable, and lives until the entry is retired and no pin could see it (RECLAIM).
unsafe impl<V: 'static> Entry for BytesRef<V> {
    type Key = [u8];

    #[inline]
    fn key(&self) -> &[u8] {
        // SAFETY: by the contract of `Entry` an index asks only for entries that live.
        unsafe { self.bytes() }
    }

    #[inline]
    fn into_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    #[inline]
    unsafe fn from_bits(bits: u64) -> Self {
        let ptr = ptr::with_exposed_provenance_mut(bits as usize);
        // SAFETY: `bits` comes from `into_bits`, of a non-null pointer.
        Self(unsafe { NonNull::new_unchecked(ptr) })
    }

    #[inline]
    unsafe fn retire(self, pin: &impl Guard) {
        if cfg!(fyris_mutant = "bytes_early_free") {
            // SAFETY: none; this is the mistake that the tests must notice.
            return unsafe { EntryHead::reclaim(self.0.as_ptr()) };
        }
        // SAFETY: the caller's contract.
        unsafe { pin.retire(self.0.as_ptr()) };
    }

    unsafe fn dispose(self) {
        // SAFETY: the caller's contract.
        unsafe { EntryHead::reclaim(self.0.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<V: PartialEq + std::fmt::Debug + Clone + 'static>(value: V) {
        for length in [0, 1, 3, 4, 5, 7, 8, 20, 1000, 100_000] {
            let key: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let entry = BytesRef::new(&key, value.clone());
            // SAFETY: it is ours, and freed once after its last use.
            unsafe {
                assert_eq!(entry.pair(), (&key[..], &value));
                assert!(std::ptr::from_ref(entry.value()).is_aligned());
                assert!(BytesRef::from_bits(entry.into_bits()) == entry);
                entry.dispose();
            }
        }
    }

    #[test]
    fn values_of_every_alignment_lie_before_their_keys() {
        #[repr(align(64))]
        #[derive(Clone, Debug, PartialEq)]
        struct Wide(u8);
        check(());
        check(7u8);
        check(7u16);
        check([1u8, 2, 3]);
        check(u64::MAX);
        check(u128::MAX);
        check(Wide(3));
        check("owned".to_owned());
    }
}
