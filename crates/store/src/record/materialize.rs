//! Inline objects materialized as records.
//!
//! # Why
//!
//! All that looks at objects looks at the bytes of records. So a [inline object](super::inline) that is looked at is
//! written out as the record it would have been, on a scratch page of the thread: some stores to lines that are near.
//!
//! # Life
//!
//! **VIEW**: a materialized record stays as it is as long as the pin lives under which it was made, as any record does
//! (RECLAIM): the thread fills a page place by place, never a place twice, and retires the page, pinned, when it is
//! full. Such a record has nothing of its own to free or to count, and does not go into a slot:
//! [`RecordPtr::is_materialized`] tells it from blocks, [`RecordPtr::word`] names the object that it was made from.

use std::cell::Cell;
use std::ptr::NonNull;

use fyris_sync::reclaim::{self, Guard, Retire};

use super::{RecordPtr, inline};

/// Records on a page.
const PLACES: usize = if cfg!(fyris_small) { 2 } else { 256 };

/// An inline object and its record, which begins where no block does: 4 bytes above a multiple of 8.
#[repr(C, align(32))]
struct MaterializedRecord {
    word: u64,
    gap: u32,
    header: [u8; 4],
    bytes: u128,
}

const RECORD_AT: usize = std::mem::offset_of!(MaterializedRecord, header);
/// The low bits of the address of a materialized record.
pub(super) const MATERIALIZED: usize = RECORD_AT % 8;

/// The places that one allocation holds.
struct ScratchPage(
    #[expect(dead_code, reason = "written and read by pointer")] [MaterializedRecord; PLACES],
);

impl Retire for ScratchPage {
    unsafe fn reclaim(page: *mut ScratchPage) {
        // SAFETY: made by `Box` in `PageCursor::turn`, retired once.
        drop(unsafe { Box::from_raw(page.cast::<std::mem::MaybeUninit<ScratchPage>>()) });
    }
}

/// The place at which the thread writes next.
struct PageCursor {
    page: Cell<*mut ScratchPage>,
    /// The number of places of the page that are used.
    used: Cell<usize>,
}

thread_local! {
    static PAGE_CURSOR: PageCursor = const { PageCursor { page: Cell::new(std::ptr::null_mut()), used: Cell::new(PLACES) } };
}

impl PageCursor {
    /// Returns the next place.
    #[inline]
    fn place(&self) -> *mut MaterializedRecord {
        if self.used.get() == PLACES {
            self.turn();
        }
        let used = self.used.get();
        self.used.set(used + 1);
        // SAFETY: `used` was below `PLACES`, which is how many places the page has.
        unsafe { self.page.get().cast::<MaterializedRecord>().add(used) }
    }

    /// Takes a fresh page.
    #[cold]
    fn turn(&self) {
        if cfg!(fyris_mutant = "store_page_reused") && !self.page.get().is_null() {
            return self.used.set(0);
        }
        if !self.page.get().is_null() {
            self.retire(&reclaim::pin());
        }
        let page = Box::into_raw(Box::<ScratchPage>::new_uninit());
        self.page.set(page.cast());
        self.used.set(0);
    }

    /// Retires the page.
    fn retire(&self, pin: &impl Guard) {
        let page = self.page.replace(std::ptr::null_mut());
        if !page.is_null() {
            // SAFETY: the cursor has let go of it, so that nothing is written on it any more; a thread that looks at a
            // record on it has been pinned since (VIEW).
            unsafe { pin.retire(page) };
        }
    }
}

impl Drop for PageCursor {
    fn drop(&mut self) {
        self.retire(&reclaim::pin());
    }
}

/// Materializes an inline object. The caller is pinned for as long as it looks.
#[inline]
pub(crate) fn materialize(word: u64) -> RecordPtr {
    match PAGE_CURSOR.try_with(PageCursor::place) {
        Ok(place) => write(place, word),
        Err(_) => materialize_late(word),
    }
}

/// Materializes an inline object in a thread whose cursor is gone already: on a place that goes with the pin.
#[cold]
fn materialize_late(word: u64) -> RecordPtr {
    let place = Box::into_raw(Box::<MaterializedRecord>::new_uninit()).cast::<MaterializedRecord>();
    let record = write(place, word);
    // SAFETY: every thread that looks at it is pinned now (VIEW), and it is retired once.
    unsafe { reclaim::pin().retire(place) };
    record
}

impl Retire for MaterializedRecord {
    unsafe fn reclaim(place: *mut MaterializedRecord) {
        // SAFETY: made by `Box` in `materialize_late`, retired once.
        drop(unsafe { Box::from_raw(place) });
    }
}

#[inline]
fn write(place: *mut MaterializedRecord, word: u64) -> RecordPtr {
    let parts = inline::unpack(word);
    let (key, values) = (u128::from(parts.key.word), u128::from(parts.values));
    let filled = MaterializedRecord {
        word,
        gap: 0,
        header: [0, parts.key.len as u8, parts.len as u8, parts.arity as u8],
        bytes: (key | values << (8 * parts.key.len)).to_le(),
    };
    // SAFETY: a place of a page, which no other thread has.
    unsafe {
        place.write(filled);
        RecordPtr(NonNull::new_unchecked(place.cast::<u8>().add(RECORD_AT)))
    }
}

impl RecordPtr {
    /// Returns whether this is a materialized inline object, and no block.
    #[inline]
    pub(crate) fn is_materialized(self) -> bool {
        self.0.as_ptr().addr() % 8 == MATERIALIZED
    }

    /// Returns the inline object that this was made from.
    #[inline]
    pub(crate) fn word(self) -> Option<u64> {
        // SAFETY: VIEW: a materialized record has its word in front of it.
        self.is_materialized()
            .then(|| unsafe { self.0.byte_sub(RECORD_AT).cast::<u64>().read() })
    }
}
