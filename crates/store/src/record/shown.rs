//! Word objects shown as records.
//!
//! # Why
//!
//! All that looks at objects looks at the bytes of records. So a [word object](super::word) that is looked at is
//! written out as the record it would have been, in memory of the thread's own: some stores to lines that are near.
//!
//! # Life (invariant V, *view*)
//!
//! A shown record stays as it is as long as the pin lives under which it was shown, as any record does (R): the thread
//! fills a sheet place by place, never a place twice, and retires the sheet, pinned, when it is full. A shown record
//! has nothing of its own to free or to count, and does not go into a slot: [`RecordPtr::is_shown`] tells it from
//! blocks, [`RecordPtr::word`] names what it shows.

use std::cell::Cell;
use std::ptr::NonNull;

use fyris_sync::reclaim::{self, Pin, Retire};

use super::{RecordPtr, word};

/// Records on a sheet.
const PLACES: usize = if cfg!(fyris_small) { 2 } else { 256 };

/// A word and the record that shows it, which begins where no block does: 4 bytes above a multiple of 8.
#[repr(C, align(32))]
struct Place {
    word: u64,
    gap: u32,
    header: [u8; 4],
    bytes: u128,
}

const RECORD_AT: usize = std::mem::offset_of!(Place, header);
/// The low bits of the address of a shown record.
pub(super) const SHOWN: usize = RECORD_AT % 8;

/// The places that one allocation holds.
struct Sheet(#[expect(dead_code, reason = "written and read by pointer")] [Place; PLACES]);

impl Retire for Sheet {
    unsafe fn reclaim(sheet: *mut Sheet) {
        // SAFETY: made by `Box` in `Pen::turn`, retired once.
        drop(unsafe { Box::from_raw(sheet.cast::<std::mem::MaybeUninit<Sheet>>()) });
    }
}

/// Where the thread writes next.
struct Pen {
    sheet: Cell<*mut Sheet>,
    /// How many places of the sheet are used.
    used: Cell<usize>,
}

thread_local! {
    static PEN: Pen = const { Pen { sheet: Cell::new(std::ptr::null_mut()), used: Cell::new(PLACES) } };
}

impl Pen {
    /// The next place.
    #[inline]
    fn place(&self) -> *mut Place {
        if self.used.get() == PLACES {
            self.turn();
        }
        let used = self.used.get();
        self.used.set(used + 1);
        // SAFETY: `used` was below `PLACES`, which is how many places the sheet has.
        unsafe { self.sheet.get().cast::<Place>().add(used) }
    }

    /// Takes a fresh sheet.
    #[cold]
    fn turn(&self) {
        if cfg!(fyris_mutant = "store_sheet_reused") && !self.sheet.get().is_null() {
            return self.used.set(0);
        }
        if !self.sheet.get().is_null() {
            self.retire(&reclaim::pin());
        }
        let sheet = Box::into_raw(Box::<Sheet>::new_uninit());
        self.sheet.set(sheet.cast());
        self.used.set(0);
    }

    /// Lets go of the sheet.
    fn retire(&self, pin: &impl Pin) {
        let sheet = self.sheet.replace(std::ptr::null_mut());
        if !sheet.is_null() {
            // SAFETY: the pen has let go of it, so that nobody shows anything on it any more; whoever
            // looks at what it shows has been pinned since (V).
            unsafe { pin.retire(sheet) };
        }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        self.retire(&reclaim::pin());
    }
}

/// Shows a word object. The caller is pinned for as long as it looks.
#[inline]
pub(crate) fn show(word: u64) -> RecordPtr {
    match PEN.try_with(Pen::place) {
        Ok(place) => write(place, word),
        Err(_) => show_late(word),
    }
}

/// As [`show`], in a thread whose pen is gone already: on a place that goes with the pin.
#[cold]
fn show_late(word: u64) -> RecordPtr {
    let place = Box::into_raw(Box::<Place>::new_uninit()).cast::<Place>();
    let shown = write(place, word);
    // SAFETY: whoever looks at what it shows is pinned now (V), and it is retired once.
    unsafe { reclaim::pin().retire(place) };
    shown
}

impl Retire for Place {
    unsafe fn reclaim(place: *mut Place) {
        // SAFETY: made by `Box` in `show_late`, retired once.
        drop(unsafe { Box::from_raw(place) });
    }
}

#[inline]
fn write(place: *mut Place, word: u64) -> RecordPtr {
    let open = word::open(word);
    let (key, values) = (u128::from(open.key.word), u128::from(open.values));
    let filled = Place {
        word,
        gap: 0,
        header: [0, open.key.len as u8, open.len as u8, open.arity as u8],
        bytes: (key | values << (8 * open.key.len)).to_le(),
    };
    // SAFETY: a place of a sheet, and nobody else's.
    unsafe {
        place.write(filled);
        RecordPtr(NonNull::new_unchecked(place.cast::<u8>().add(RECORD_AT)))
    }
}

impl RecordPtr {
    /// Whether this shows a word object, and is no block.
    #[inline]
    pub(crate) fn is_shown(self) -> bool {
        self.0.as_ptr().addr() % 8 == SHOWN
    }

    /// The word object that this shows.
    #[inline]
    pub(crate) fn word(self) -> Option<u64> {
        // SAFETY: V: a shown record has its word in front of it.
        self.is_shown()
            .then(|| unsafe { self.0.byte_sub(RECORD_AT).cast::<u64>().read() })
    }
}
