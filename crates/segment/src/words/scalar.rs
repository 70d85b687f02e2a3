//! Word by word, for processors without wide registers, and to test the others against.

use super::{Mask, WORDS, load, store};

/// Returns the number of bits that are set.
#[inline]
pub(super) fn count(mask: &Mask) -> usize {
    mask.0.iter().map(|w| w.count_ones() as usize).sum()
}

/// Copies page `from` to `out` and returns in which words it differs from `base`.
///
/// # Safety
///
/// Three pages (invariant PAGES), `out` writable and none of the others.
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

/// Returns the mask of the words in which two pages differ.
///
/// # Safety
///
/// Two pages (invariant PAGES).
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

/// Copies page `from` to `out`.
///
/// # Safety
///
/// Two different pages (invariant PAGES), `out` writable.
pub(super) unsafe fn copy(from: *const u8, out: *mut u8, _: [*const u8; 2]) {
    for word in 0..WORDS {
        // SAFETY: in the page; pages by the caller's promise.
        unsafe { store(out, word, load(from, word)) };
    }
}

/// Merges pages by words: `out` gets those of `incoming` where `local` equals `base`, elsewhere those of `local`.
/// Returns how many differ on both sides.
///
/// # Safety
///
/// Four pages (invariant PAGES), `out` writable and none of the others.
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
