//! Blobs: bytes that are shared by reference count, and never change.
//!
//! The bytes are Rust's, an `Arc<[u8]>`, or *foreign*: a binding of a language with counted binaries of its own (the
//! Erlang machine) lets terms and objects hold those instead of copies. The binding says once in the process how they
//! are counted ([`set_foreign_blobs`]); who reads the bytes does not see the difference.
//!
//! Two words, as an `Arc<[u8]>` has: the address of the bytes, and their number, whose highest bit tells the foreign.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

/// Bytes that are shared by reference count, and never change: the content of binaries.
///
/// ```
/// use fyris_term::Blob;
/// let blob = Blob::from(vec![1, 2, 3]);
/// let other = blob.clone();
/// assert!(Blob::ptr_eq(&blob, &other));
/// assert_eq!(other[1..], [2, 3]);
/// ```
pub struct Blob {
    /// The first byte: of an `Arc<[u8]>`, or of foreign bytes.
    at: NonNull<u8>,
    /// The number of bytes, which is less than `FOREIGN`, and that bit.
    len: usize,
}

/// The bit that tells foreign bytes: no slice is as long.
const FOREIGN: usize = 1 << (usize::BITS - 1);

// SAFETY: the bytes do not change, and both counts, that of `Arc` and the binding's (the contract of
// `set_foreign_blobs`), may be used on any thread.
unsafe impl Send for Blob {}
// SAFETY: as above.
unsafe impl Sync for Blob {}

/// How a binding counts the holders of foreign bytes. All functions may be called on any thread, also while a slot of a
/// table is protected: they must be short and must not use tables.
#[derive(Clone, Copy, Debug)]
pub struct ForeignBlobs {
    /// Counts one more holder of the bytes that begin here.
    pub retain: unsafe fn(NonNull<u8>),
    /// Says how many hold the bytes that begin here.
    pub holders: unsafe fn(NonNull<u8>) -> usize,
    /// Counts one holder less, and frees what nobody holds any more.
    pub release: unsafe fn(NonNull<u8>),
}

static COUNTS: OnceLock<ForeignBlobs> = OnceLock::new();

/// Says how foreign bytes are counted in this process; only the first call counts.
///
/// # Safety
///
/// Bytes of [`Blob::foreign`] that have a holder stay where they are, and do not change.
pub unsafe fn set_foreign_blobs(counts: ForeignBlobs) {
    COUNTS.get_or_init(|| counts);
}

/// Returns how foreign bytes are counted, where there are any.
#[inline]
fn counts() -> &'static ForeignBlobs {
    COUNTS.get().expect("a blob is foreign")
}

impl Blob {
    /// Makes a blob of foreign bytes; one count of them becomes the blob's.
    ///
    /// # Safety
    ///
    /// [`set_foreign_blobs`] was called before; the bytes are there, and counted as its first call said.
    ///
    /// # Panics
    ///
    /// Never: no slice has so many bytes that their number needs the highest bit.
    #[inline]
    pub unsafe fn foreign(bytes: NonNull<[u8]>) -> Blob {
        assert!(bytes.len() < FOREIGN);
        Blob {
            at: bytes.cast(),
            len: bytes.len() | FOREIGN,
        }
    }

    /// Returns whether the bytes are foreign.
    #[inline]
    pub fn is_foreign(&self) -> bool {
        self.len & FOREIGN != 0
    }

    /// Returns whether both are the same bytes, at the same place.
    #[inline]
    pub fn ptr_eq(a: &Blob, b: &Blob) -> bool {
        (a.at, a.len) == (b.at, b.len)
    }

    /// Returns the number of holders now.
    pub fn holders(&self) -> usize {
        if self.is_foreign() {
            // SAFETY: we hold a count, so the bytes are there.
            return unsafe { (counts().holders)(self.at) };
        }
        // SAFETY: the pointer came from `Arc::into_raw`, and the `Arc` made of it gives no count away.
        Arc::strong_count(&*unsafe { ManuallyDrop::new(Arc::from_raw(self.as_raw())) })
    }

    /// Returns what `Arc::into_raw` returned, of bytes that are not foreign.
    #[inline]
    fn as_raw(&self) -> *const [u8] {
        NonNull::slice_from_raw_parts(self.at, self.len)
            .as_ptr()
            .cast_const()
    }

    /// Returns the bytes as an `Arc`: foreign ones are copied.
    pub fn to_arc(&self) -> Arc<[u8]> {
        if self.is_foreign() {
            return Arc::from(&**self);
        }
        // SAFETY: the pointer came from `Arc::into_raw`, and we hold a count, so the other one may be given away.
        unsafe {
            Arc::increment_strong_count(self.as_raw());
            Arc::from_raw(self.as_raw())
        }
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for Blob {
    #[inline]
    fn from(bytes: T) -> Blob {
        let raw = Arc::into_raw(bytes.into()).cast_mut();
        // SAFETY: a pointer of `Arc` is not null.
        let raw = unsafe { NonNull::new_unchecked(raw) };
        Blob {
            at: raw.cast(),
            len: raw.len(),
        }
    }
}

impl Deref for Blob {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: we hold a count, so the bytes are there, and do not change.
        unsafe { NonNull::slice_from_raw_parts(self.at, self.len & !FOREIGN).as_ref() }
    }
}

impl Clone for Blob {
    #[inline]
    fn clone(&self) -> Blob {
        // SAFETY: we hold a count, so there may be one more; it becomes that of the clone.
        unsafe {
            match self.is_foreign() {
                true => (counts().retain)(self.at),
                false => Arc::increment_strong_count(self.as_raw()),
            }
        }
        Blob {
            at: self.at,
            len: self.len,
        }
    }
}

impl Drop for Blob {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the count that we hold goes, and the blob with it.
        unsafe {
            match self.is_foreign() {
                true => (counts().release)(self.at),
                false => Arc::decrement_strong_count(self.as_raw()),
            }
        }
    }
}

impl AsRef<[u8]> for Blob {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Blob) -> bool {
        Blob::ptr_eq(self, other) || **self == **other
    }
}
impl Eq for Blob {}

impl std::hash::Hash for Blob {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl std::fmt::Debug for Blob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Foreign bytes of these tests: a count, and three bytes behind it.
    #[repr(C)]
    struct Counted(AtomicUsize, [u8; 3]);

    static BYTES: Counted = Counted(AtomicUsize::new(1), [1, 2, 3]);

    fn count_of(at: NonNull<u8>) -> &'static AtomicUsize {
        assert_eq!(at.as_ptr().cast_const(), BYTES.1.as_ptr());
        &BYTES.0
    }

    #[test]
    fn foreign_bytes_are_counted_by_their_owner() {
        let counts = ForeignBlobs {
            // Relaxed: one thread.
            retain: |at| _ = count_of(at).fetch_add(1, Ordering::Relaxed),
            holders: |at| count_of(at).load(Ordering::Relaxed),
            release: |at| _ = count_of(at).fetch_sub(1, Ordering::Relaxed),
        };
        let count = || BYTES.0.load(Ordering::Relaxed);
        // SAFETY: a static stays, and is not written but for the count.
        let blob = unsafe {
            set_foreign_blobs(counts);
            Blob::foreign(NonNull::from(&BYTES.1[..]))
        };
        assert!(blob.is_foreign() && blob == Blob::from([1, 2, 3]));
        let clones = [blob.clone(), blob.clone()];
        assert!(Blob::ptr_eq(&blob, &clones[1]));
        assert_eq!((count(), blob.holders()), (3, 3));
        assert_eq!(*blob.to_arc(), [1, 2, 3]);
        assert_eq!(count(), 3);
        drop(clones);
        assert_eq!(count(), 1);
        drop(blob);
        assert_eq!(count(), 0);
    }

    #[test]
    fn own_bytes_are_an_arc() {
        let arc: Arc<[u8]> = Arc::from(*b"abc");
        let blob = Blob::from(arc.clone());
        let other = blob.clone();
        assert!(!blob.is_foreign());
        assert_eq!(other.holders(), 3);
        assert!(Arc::ptr_eq(&other.to_arc(), &arc));
        drop((blob, other));
        assert_eq!(Arc::strong_count(&arc), 1);
        assert!(Blob::from([]).is_empty());
    }
}
