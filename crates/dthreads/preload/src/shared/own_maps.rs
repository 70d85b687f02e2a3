//! Memory that a thread has mapped for itself when there were others: files, and libraries that were loaded. The last
//! of it is remembered, to name what another thread meets where nothing is.

use std::ops::Range;

use fyris_dthreads_tools::record::Number;
use fyris_sync::atomic::Ordering;

use crate::shared::control::{OWN_MAPS, control};
use crate::system::LOCAL;

/// Notes that this thread has mapped memory for itself: of the library that has this number, or 0.
pub(crate) fn note(memory: &Range<usize>, library: u64) {
    let control = control();
    // Relaxed: a number of its own for each note; who reads what is half written names another thread, or none.
    let at = control.own_map_count.fetch_add(1, Ordering::Relaxed) as usize % OWN_MAPS;
    let words = [memory.start, memory.end, LOCAL.me.get()].map(|word| word as u64);
    let words = words.into_iter().chain([library]);
    let row = control.own_maps[at].iter();
    row.zip(words).for_each(|(word, value)| word.set(value));
}

/// Returns another thread that has mapped memory at an address, if one is known.
pub(crate) fn owner(address: usize) -> Option<u64> {
    let has = |row: &[_; 4]| {
        let [start, end, slot, _] = row.each_ref().map(|word: &Number| word.get());
        let is_there = (start..end).contains(&(address as u64));
        (is_there && slot != LOCAL.me.get() as u64).then_some(slot)
    };
    control().own_maps.iter().find_map(has)
}

/// Returns another thread that has loaded a library for itself.
pub(crate) fn loader(library: u64) -> Option<u64> {
    let has = |row: &[_; 4]| {
        let [_, _, slot, number] = row.each_ref().map(|word: &Number| word.get());
        (number == library && slot != LOCAL.me.get() as u64).then_some(slot)
    };
    control().own_maps.iter().find_map(has)
}
