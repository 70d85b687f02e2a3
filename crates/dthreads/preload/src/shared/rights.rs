//! Rights that the program gives to pages of the heap, or takes from them (`mprotect`). The kernel has them for each
//! process. Who changes them notes it here, in a turn, and each other process does likewise at its next update.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ops::Range;

use fyris_dthreads_tools::record::Number;

use crate::shared::control::{RIGHTS, control};
use crate::system::{Solo, sys};

/// The rights that pages of the heap have otherwise.
pub(crate) const USUAL: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Pages with other rights than usual: where they begin and end, and the rights.
type Part = [usize; 3];

/// The parts that this process has, and the last change that it knows.
static KNOWN: Solo<RefCell<Vec<Part>>> = Solo::new(RefCell::new(Vec::new()));
static SEEN: Solo<Cell<u64>> = Solo::new(Cell::new(0));

fn parts() -> Vec<Part> {
    let all = &control().rights[..control().rights_count.get() as usize];
    let part = |words: &[_; 3]| words.each_ref().map(|word: &Number| word.get() as usize);
    all.iter().map(part).collect()
}

/// Gives pages rights in all processes; false if there are too many parts with other rights than usual. The token is
/// here, and the process up to date.
pub(crate) fn set(pages: &Range<usize>, rights: c_int) -> bool {
    let before = parts();
    let mut all: Vec<Part> = Vec::new();
    for [start, end, has] in before.iter().copied() {
        let rest = [
            [start, end.min(pages.start), has],
            [start.max(pages.end), end, has],
        ];
        all.extend(rest.into_iter().filter(|part| part[0] < part[1]));
    }
    if rights != USUAL {
        all.push([pages.start, pages.end, rights as usize]);
    }
    all.sort_unstable();
    all.dedup_by(|next, part| {
        let joins = part[1] == next[0] && part[2] == next[2];
        if joins {
            part[1] = next[1];
        }
        joins
    });
    if all.len() > RIGHTS {
        return false;
    }
    if all != before {
        let control = control();
        for (words, part) in control.rights.iter().zip(&all) {
            words
                .iter()
                .zip(part)
                .for_each(|(word, &value)| word.set(value as u64));
        }
        control.rights_count.set(all.len() as u64);
        control.rights_version.add(1);
        update();
    }
    true
}

/// Gives pages the rights that others have given them.
pub(crate) fn update() {
    let now = control().rights_version.get();
    if SEEN.replace(now) == now {
        return;
    }
    let all = parts();
    let before = KNOWN.replace(all.clone());
    let change = |part: &Part, rights| sys::protect(part[0]..part[1], rights);
    let gone = before.iter().filter(|part| !all.contains(part));
    gone.for_each(|part| change(part, USUAL));
    let fresh = all.iter().filter(|part| !before.contains(part));
    fresh.for_each(|part| change(part, part[2] as c_int));
}

/// Begins a process, whose memory has been mapped anew.
pub(crate) fn begin() {
    KNOWN.take();
    SEEN.set(0);
    update();
}
