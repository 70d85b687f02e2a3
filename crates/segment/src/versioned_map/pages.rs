//! The map of free pages: one bit a page, set if it is in use.
//!
//! The lowest free page is taken first, so that changes stay close together, and with them the dirty
//! pages of a commit.

use std::ops::Range;

use super::layout::{FIRST, GROUP, Region, corrupt, page, page_mut, place, put_u64, u64_at};
use super::{MapError, MapResult};

/// Returns the page of bitmap that has the bit of a page.
pub(super) fn map_page(number: u32) -> u32 {
    match number / GROUP {
        0 => FIRST,
        group => group * GROUP,
    }
}

/// Returns whether a page is of the header or of the bitmap: never free, never given away.
pub(super) fn is_system(number: u32) -> bool {
    number <= FIRST || number.is_multiple_of(GROUP)
}

/// Returns whether a page is marked as in use.
pub(super) fn is_used(bytes: &[u8], number: u32) -> MapResult<bool> {
    let bit = number % GROUP;
    let map = page(bytes, map_page(number))?;
    Ok(map[(bit / 8) as usize] >> (bit % 8) & 1 != 0)
}

/// Returns the first free page of `range`.
fn first_free(bytes: &[u8], range: Range<u32>) -> MapResult<Option<u32>> {
    next(bytes, range, false)
}

/// Returns the first page of `range` that is in use, or, unless `used`, the first that is free.
fn next(bytes: &[u8], range: Range<u32>, used: bool) -> MapResult<Option<u32>> {
    let mut number = range.start;
    while number < range.end {
        let map = page(bytes, map_page(number))?;
        let bit = number % GROUP;
        let word = u64_at(map, (bit / 64 * 8) as usize);
        let sought = if used { word } else { !word } >> (bit % 64);
        if sought != 0 {
            let hit = u64::from(number) + u64::from(sought.trailing_zeros());
            return Ok((hit < u64::from(range.end)).then_some(hit as u32));
        }
        number = number.saturating_add(64 - bit % 64);
    }
    Ok(None)
}

/// Returns the first run of `count` free pages in `range`, and the first free page of all. Runs do not reach over pages
/// of bitmap, since those are in use.
pub(super) fn find_run(bytes: &[u8], range: Range<u32>, count: u32) -> MapResult<Option<u32>> {
    let mut from = range.start;
    while let Some(start) = first_free(bytes, from..range.end)? {
        let end = start.saturating_add(count);
        if end > range.end {
            return Ok(None);
        }
        match next(bytes, start..end, true)? {
            None => return Ok(Some(start)),
            Some(used) => from = used + 1,
        }
    }
    Ok(None)
}

/// Returns the longest run of free pages in `range`.
pub(super) fn longest_run(bytes: &[u8], range: Range<u32>) -> MapResult<u32> {
    let (mut from, mut longest) = (range.start, 0);
    while let Some(start) = first_free(bytes, from..range.end)? {
        let end = next(bytes, start..range.end, true)?.unwrap_or(range.end);
        longest = longest.max(end - start);
        from = end;
    }
    Ok(longest)
}

/// Marks pages as in use or free. They must be marked otherwise now.
pub(super) fn mark<R: Region>(region: &mut R, pages: Range<u32>, used: bool) -> MapResult<()> {
    let mut number = pages.start;
    while number < pages.end {
        let bit = number % GROUP;
        let width = (64 - bit % 64).min(pages.end - number);
        let mask = (u64::MAX >> (64 - width)) << (bit % 64);
        let at = (bit / 64 * 8) as usize;
        let map = map_page(number);
        let word = u64_at(page(region.bytes(), map)?, at);
        if word & mask != if used { 0 } else { mask } {
            return Err(corrupt(place(map) + at, "a page used twice or freed twice"));
        }
        put_u64(page_mut(region, map)?, at, word ^ mask);
        number += width;
    }
    Ok(())
}

/// Writes the bitmap of the pages in `pages`, which are new to the map: free but for the system's.
/// Returns how many are free.
pub(super) fn format<R: Region>(region: &mut R, pages: Range<u32>) -> MapResult<u32> {
    let mut free = 0;
    let mut from = pages.start;
    while from < pages.end {
        let group_end = (from / GROUP).saturating_add(1).saturating_mul(GROUP);
        let end = pages.end.min(group_end);
        free += format_group(region, from..end)?;
        from = end;
    }
    Ok(free)
}

fn format_group<R: Region>(region: &mut R, pages: Range<u32>) -> MapResult<u32> {
    let map = page_mut(region, map_page(pages.start))?;
    // The bits behind the old end may be anything.
    let first = (pages.start % GROUP) as usize;
    map[first / 8] &= (1 << (first % 8)) - 1;
    map[first / 8 + 1..].fill(0);
    let system = pages
        .clone()
        .take_while(|&number| is_system(number))
        .count() as u32;
    mark(region, pages.start..pages.start + system, true)?;
    Ok(pages.end - pages.start - system)
}

/// Returns the error for too few free pages: not in one piece, or not at all.
pub(super) fn full(wanted: u32, free: u32) -> MapError {
    MapError::Full { wanted, free }
}
