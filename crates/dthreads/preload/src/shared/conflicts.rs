//! Races: bytes that two threads have written, none of them knowing of the other's.
//!
//! Each update counts them: it compares such bytes anyway. Which they are takes a second comparison; that is made where
//! few pages come, in the first updates of each slot and once a byte was counted, until one is known. So a run can say
//! at its end how many there were, and where the first.
//!
//! With `--conflicts` there is a word for each byte of the segment, in memory that all processes share, with the thread
//! that committed it last and the place in the program where it did. An update that finds a byte changed on both sides
//! looks there. All of it is read and written by the holder of the token (invariant TOKEN).

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use fyris_dthreads_tools::record::{CONFLICTS, ConflictRecord, Number};
use fyris_dthreads_tools::symbols::Modules;

use crate::shared::control::{control, record};
use crate::system::{Inside, LOCAL, Solo, noise, site, sys};

/// The first updates of a slot, which ask which bytes were changed on both sides; and the most pages of such an update.
const ASKED: u64 = 64;
const FEW: u64 = 64;

/// The pages that had been published at this process's last update.
static SEEN: Solo<Cell<u64>> = Solo::new(Cell::new(0));

static WRITERS: AtomicPtr<Number> = AtomicPtr::new(ptr::null_mut());

/// Looks for races from now on, in a segment of at most `len` bytes.
pub(crate) fn look(len: usize) {
    let words: *mut Number = sys::map_shared(len * size_of::<Number>()).cast();
    if words.is_null() {
        sys::say(format_args!(
            "no address space for the writers of {len} bytes"
        ));
        sys::exit_now(sys::REFUSED);
    }
    // Relaxed: stored once, before the program begins.
    WRITERS.store(words, Ordering::Relaxed);
}

/// Returns whether races are looked for.
pub(crate) fn are_wanted() -> bool {
    // Relaxed: stored once, before the program begins.
    !WRITERS.load(Ordering::Relaxed).is_null()
}

/// Returns whether this update is to tell which bytes were changed on both sides.
pub(crate) fn are_looked_for() -> bool {
    let (record, published) = (record(), control().published.get());
    let has_few = published - SEEN.replace(published) <= FEW;
    let is_early = || record.threads[LOCAL.me.get()].transactions.get() < ASKED;
    let is_known = || record.first_clash[0].get() != 0;
    are_wanted() || has_few && (is_early() || record.clashes.get() != 0) && !is_known()
}

/// Counts bytes that were changed on both sides; `first` is the address of one of them, if it is known.
pub(crate) fn count(bytes: usize, first: Option<usize>) {
    let record = record();
    record.clashes.add(bytes as u64);
    if let Some(address) = first
        && record.first_clash[0].get() == 0
    {
        let known = [address as u64, LOCAL.me.get() as u64, site::get()];
        for (word, value) in record.first_clash.iter().zip(known) {
            word.set(value);
        }
    }
}

/// Says at the program's end how many bytes were changed on both sides, if any were and they are not listed. The names
/// of the first, if they are wanted, are read from files.
pub(crate) fn tell(wanted: bool) {
    let record = record();
    let bytes = record.clashes.get();
    // A run under noise is one of many. Relaxed: only one process is to speak.
    if bytes == 0
        || are_wanted()
        || noise::is_made()
        || control().told.swap(1, Ordering::Relaxed) != 0
    {
        return;
    }
    let _inside = Inside::enter();
    let [address, thread, site] = record.first_clash.each_ref().map(Number::get);
    let first = match (address, wanted) {
        (0, _) => String::new(),
        (_, false) => format!(", one of them at {address:#x}"),
        (_, true) => {
            let modules = Modules::new(record);
            let call = match site {
                0 => "it ended, or wanted memory".to_owned(),
                site => format!("its call in {}", modules.call(site)),
            };
            let variable = modules.name(address);
            format!(", first at {address:#x} ({variable}), by thread {thread} before {call}")
        }
    };
    sys::say(format_args!(
        "two threads changed a byte, neither seeing the other's change, {bytes} times{first}: a race{} (--conflicts)",
        match cfg!(target_arch = "x86_64") {
            true => "",
            false => ", or atomic operations, which carry nothing from thread to thread here",
        }
    ));
}

/// Returns the word of a byte of the segment.
fn writer(offset: usize) -> &'static Number {
    // Relaxed: stored once, before the program begins.
    // SAFETY: a word for each byte that the segment may have, mapped for ever; zeros are valid.
    unsafe { &*WRITERS.load(Ordering::Relaxed).add(offset) }
}

/// Notes that this thread commits these bytes, at the present place in the program.
pub(crate) fn wrote(bytes: std::ops::Range<usize>) {
    let mark = (LOCAL.me.get() as u64 + 1) << 48 | site::get();
    bytes.for_each(|offset| writer(offset).set(mark));
}

/// Notes that bytes at these offsets were changed on both sides; `address` says where a byte is.
pub(crate) fn found(offsets: &[usize], address: impl Fn(usize) -> usize) {
    let follows =
        |one: &usize, next: &usize| one + 1 == *next && writer(*one).get() == writer(*next).get();
    if !are_wanted() {
        return;
    }
    for run in offsets.chunk_by(follows) {
        let mark = writer(run[0]).get();
        // Written by no commit that was noted: what was there when the program began.
        if mark != 0 {
            note(address(run[0]) as u64, run.len() as u64, mark);
        }
    }
}

/// Counts a conflict in the record.
fn note(address: u64, len: u64, mark: u64) {
    let (record, me) = (record(), LOCAL.me.get() as u64);
    record.races.add(1);
    let (first, first_site) = ((mark >> 48) - 1, mark & ((1 << 48) - 1));
    let known = record.conflict_rows.get() as usize;
    let row = [address, len, first, first_site, me, site::get()];
    let words = |conflict: &'static ConflictRecord| {
        let of = conflict;
        [
            &of.address,
            &of.len,
            &of.first,
            &of.first_site,
            &of.second,
            &of.second_site,
        ]
    };
    let same = |at: &usize| {
        let has = words(&record.conflicts[*at]);
        has.iter().zip(row).all(|(word, value)| word.get() == value)
    };
    if let Some(at) = (0..known).rev().find(same) {
        return record.conflicts[at].count.add(1);
    }
    if known < CONFLICTS {
        let fresh = &record.conflicts[known];
        for (word, value) in words(fresh).into_iter().zip(row) {
            word.set(value);
        }
        fresh.count.set(1);
        record.conflict_rows.set(known as u64 + 1);
    }
}
