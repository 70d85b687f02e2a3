//! Sorted arrays of keys of one to eight bytes, packed.
//!
//! A key is stored as its lowest bytes in the processor's usual order of little-endian, without room between. Each is
//! read in at most two loads that stay within it.

use super::digits::above;
use super::gap;

/// Runs `$body` with a constant `W` that is `$width`.
macro_rules! with_width {
    ($width:expr, $w:ident => $body:expr) => {
        with_width!(@each $width, $w => $body; 1 2 3 4 5 6 7)
    };
    (@each $width:expr, $w:ident => $body:expr; $($n:literal)*) => {
        match $width {
            $($n => {
                const $w: usize = $n;
                $body
            })*
            _ => {
                const $w: usize = 8;
                $body
            }
        }
    };
}

/// Returns the bits of a key that are stored in `width` bytes.
#[inline(always)]
pub(super) fn stored(key: u64, width: usize) -> u64 {
    key & !above(width)
}

/// Reads the key at index `i`.
///
/// # Safety
///
/// There are at least `i + 1` keys of `W` bytes at `keys`.
#[inline(always)]
pub(super) unsafe fn read<const W: usize>(keys: *const u8, i: usize) -> u64 {
    // SAFETY: each load lies within the `W` bytes of the key; loads that overlap agree on what they share.
    unsafe {
        let at = keys.add(i * W);
        let byte = |offset: usize| u64::from(at.add(offset).read());
        let pair = |offset: usize| {
            u64::from(u16::from_le(at.add(offset).cast::<u16>().read_unaligned())) << (8 * offset)
        };
        let four = |offset: usize| {
            u64::from(u32::from_le(at.add(offset).cast::<u32>().read_unaligned())) << (8 * offset)
        };
        match W {
            1 => byte(0),
            2 => pair(0),
            3 => pair(0) | pair(1),
            4 => four(0),
            5 => four(0) | four(1),
            6 => four(0) | four(2),
            7 => four(0) | four(3),
            _ => u64::from_le(at.cast::<u64>().read_unaligned()),
        }
    }
}

/// Returns key `i`, of a width that is not a constant.
///
/// # Safety
///
/// There are `i + 1` keys of `width` bytes at `keys`.
#[inline(always)]
pub(super) unsafe fn read_any(keys: *const u8, width: usize, i: usize) -> u64 {
    // SAFETY: the caller's contract.
    with_width!(width, W => unsafe { read::<W>(keys, i) })
}

/// Writes the key at index `i`.
///
/// # Safety
///
/// There is room for `i + 1` keys of `W` bytes at `keys`.
#[inline(always)]
pub(super) unsafe fn write<const W: usize>(keys: *mut u8, i: usize, key: u64) {
    let bytes = key.to_le_bytes();
    // SAFETY: `W` bytes of eight, to where there is room for them.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), keys.add(i * W), W) }
}

/// Writes key `i`, of a width that is not a constant.
///
/// # Safety
///
/// There is room for `i + 1` keys of `width` bytes at `keys`.
#[inline(always)]
pub(super) unsafe fn write_any(keys: *mut u8, width: usize, i: usize, key: u64) {
    // SAFETY: the caller's contract.
    with_width!(width, W => unsafe { write::<W>(keys, i, key) });
}

/// Moves `len` keys to where `to` is, which may be where they are, and puts one more in at an index.
///
/// # Safety
///
/// `from` has `len` keys, and there is room for one more at `to`; the two are the same, or do not overlap.
#[inline(always)]
pub(super) unsafe fn insert(
    from: *const u8,
    to: *mut u8,
    width: usize,
    len: usize,
    at: usize,
    key: u64,
) {
    // SAFETY: the caller's contract.
    with_width!(width, W => unsafe {
        gap::open::<[u8; W]>(from.cast(), to.cast(), len, at);
        write::<W>(to, at, key);
    });
}

/// Moves `len` keys, but the one at an index, to where `to` is, which may be where they are.
///
/// # Safety
///
/// `from` has `len` keys, and there is room for all but one at `to`; the two are the same, or do not overlap.
#[inline(always)]
pub(super) unsafe fn remove(from: *const u8, to: *mut u8, width: usize, len: usize, at: usize) {
    // SAFETY: the caller's contract.
    unsafe { gap::close_bytes(from, to, width, len, at) }
}

/// Returns the number of keys below `key`, which has no other bits than those stored, and whether the next one equals
/// it.
///
/// # Safety
///
/// There are `len` sorted keys of `W` bytes at `keys`, at least one.
#[inline(always)]
pub(super) unsafe fn search<const W: usize>(
    keys: *const u8,
    len: usize,
    key: u64,
) -> (usize, bool) {
    let (mut from, mut rest) = (0, len);
    // INVARIANT: keys before `from` are below `key`, those from `from + rest` on are not.
    while rest > 1 {
        let half = rest / 2;
        // SAFETY: `from + half <= len`.
        let below = unsafe { read::<W>(keys, from + half - 1) } < key;
        from += if below { half } else { 0 };
        rest -= half;
    }
    // SAFETY: `from < len`, as `rest` is still one.
    let last = unsafe { read::<W>(keys, from) };
    if last < key {
        from += 1;
        // SAFETY: checked to be among the keys.
        return (from, from < len && unsafe { read::<W>(keys, from) } == key);
    }
    (from, last == key)
}

/// Returns the number of keys below `key`, and whether the next one equals it, for a width that is not a constant.
///
/// # Safety
///
/// There are `len` sorted keys of `width` bytes at `keys`, at least one.
#[inline]
pub(super) unsafe fn search_any(
    keys: *const u8,
    width: usize,
    len: usize,
    key: u64,
) -> (usize, bool) {
    // SAFETY: the caller's contract.
    with_width!(width, W => unsafe { search::<W>(keys, len, key) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_widths_are_found_at_their_places() {
        for width in 1..=8 {
            for len in 1..=50usize {
                let step = 5 << (8 * (width - 1)).min(50);
                let key = |i: usize| {
                    stored(
                        (i as u64 + 1) * (if width == 1 { 5 } else { step + 3 }),
                        width,
                    )
                };
                let mut sorted: Vec<u64> = (0..len).map(key).collect();
                sorted.sort();
                sorted.dedup();
                let mut bytes = vec![0u8; sorted.len() * width];
                for (i, key) in sorted.iter().enumerate() {
                    // SAFETY: room for all of them.
                    unsafe { write_any(bytes.as_mut_ptr(), width, i, *key) };
                }
                for target in sorted.iter().flat_map(|k| [k.saturating_sub(1), *k, k + 1]) {
                    let target = stored(target, width);
                    let at = sorted.partition_point(|key| *key < target);
                    let expected = (at, sorted.get(at) == Some(&target));
                    // SAFETY: `bytes` are the sorted keys, `width` bytes each.
                    let found = unsafe { search_any(bytes.as_ptr(), width, sorted.len(), target) };
                    assert_eq!(found, expected, "width {width}, {target:x} in {sorted:x?}");
                }
            }
        }
    }
}
