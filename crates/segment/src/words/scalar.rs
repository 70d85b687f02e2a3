//! Word by word, for processors without wide registers, and to test the others against.

use super::{Mask, WORDS, load, store};

/// See [`Mask::count`].
#[inline]
pub(super) fn count(mask: &Mask) -> usize {
    mask.0.iter().map(|w| w.count_ones() as usize).sum()
}

/// See [`super::diff_copy`].
///
/// # Safety
///
/// As there.
pub(super) unsafe fn diff_copy(
    from: *const u8,
    base: *const u8,
    out: *mut u8,
    _: [*const u8; 2],
) -> Mask {
    let mut mask = Mask::default();
    for word in 0..WORDS {
        // SAFETY: in the page; pages by the caller's promise.
        unsafe {
            let value = load(from, word);
            store(out, word, value);
            if value != load(base, word) {
                mask.set(word);
            }
        }
    }
    mask
}

/// See [`super::diff`].
///
/// # Safety
///
/// As there.
pub(super) unsafe fn diff(from: *const u8, base: *const u8) -> Mask {
    let mut mask = Mask::default();
    for word in 0..WORDS {
        // SAFETY: in the page; pages by the caller's promise.
        if unsafe { load(from, word) != load(base, word) } {
            mask.set(word);
        }
    }
    mask
}

/// See [`super::copy`].
///
/// # Safety
///
/// As there.
pub(super) unsafe fn copy(from: *const u8, out: *mut u8, _: [*const u8; 2]) {
    for word in 0..WORDS {
        // SAFETY: in the page; pages by the caller's promise.
        unsafe { store(out, word, load(from, word)) };
    }
}

/// See [`super::merge`].
///
/// # Safety
///
/// As there.
pub(super) unsafe fn merge(
    local: *const u8,
    base: *const u8,
    incoming: *const u8,
    out: *mut u8,
) -> usize {
    let mut conflicts = 0;
    for word in 0..WORDS {
        // SAFETY: in the page; pages by the caller's promise.
        unsafe {
            let (ours, old, theirs) = (load(local, word), load(base, word), load(incoming, word));
            conflicts += usize::from(ours != old && theirs != old);
            store(out, word, if ours == old { theirs } else { ours });
        }
    }
    conflicts
}
