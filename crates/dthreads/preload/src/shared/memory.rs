//! The memory model: one segment, its working copies, and when they are brought up to date.
//!
//! | range of the segment | address | content |
//! |---|---|---|
//! | globals | where the loader put them | writable data of the program and of the libraries that it brings |
//! | stack | [`STACK`] | the stack of main |
//! | later globals | where the loader put them | those of libraries that the program loads itself |
//! | heap | [`HEAP`] | blocks, anonymous mappings and the other stacks |
//!
//! All that a thread sees changes when it takes the token ([`update`]), and at no other time; all that it has written
//! is seen by others once it passes the token on ([`commit`]). Units are bytes; of two threads that wrote one byte the
//! last to commit wins. Nothing else of the segment's is used: this file is the memory model.

use std::ops::Range;

use fyris_segment::{Choice, Error, Options, Segment, Tracking, Updated};

use crate::shared::control::{Thread, control, record};
use crate::shared::{conflicts, end, handlers, rights, stacks, variables};
use crate::system::{LOCAL, Lent, Solo, real, sys};

pub(crate) use fyris_segment::PAGE;

pub(crate) const HEAP: usize = 0x2000_0000_0000;
const STACK: usize = 0x2f00_0000_0000;
pub(crate) const STACK_LEN: usize = 8 << 20;
/// Bytes that the globals of libraries may have which the program loads itself.
pub(crate) const LATER: usize = 64 << 20;
/// The end of main's stack.
pub(crate) const STACK_TOP: usize = STACK + STACK_LEN;
/// The kernel merges what lags: as many replaced pages may be kept.
const HISTORY: usize = 16;
/// Changed pages by which a thread may lag before its next update compares page heads.
const LAG: usize = 512;

struct Memory {
    segment: Segment,
    /// Where the globals are, and the bytes of those that the program began with.
    places: Vec<Range<usize>>,
    globals: usize,
    /// Where others are, and where in the segment they begin.
    later: Vec<(Range<usize>, usize)>,
    ranges: Vec<Range<usize>>,
    /// The lowest page of this thread's stack that was in use at a commit.
    lowest: usize,
}

static MEMORY: Solo<Lent<Memory>> = Solo::new(Lent::new());

/// Makes the segment and puts the globals into it. `heap` is the most that the heap may have, beside `threads` stacks.
/// If `wants_conflicts`, looks for bytes that two threads write at once.
pub(crate) fn make(
    globals: &[Range<usize>],
    heap: usize,
    threads: usize,
    wants_conflicts: bool,
) -> Result<(), Error> {
    let len: usize = globals.iter().map(|range| range.len()).sum();
    let heap_at = len + STACK_LEN + LATER;
    let usual = len + STACK_LEN + heap;
    let max = heap_at + heap + threads * (stacks::STACK + stacks::GUARD);
    control().heap_limit.set(heap as u64);
    let mut options = Options::new()
        .unit(1)
        .tracking(Tracking::Userfault)
        .slots(2 * fyris_dthreads_tools::record::THREADS)
        .max_size(max)
        .history(HISTORY * usual)
        // A process has one thread.
        .one_writer(true)
        // Threads that sleep do not make commits touch fresh frames: each would be a fault, and a scan.
        .lag(LAG)
        .place(len..len + STACK_LEN, STACK)
        .place(heap_at..max, HEAP);
    let mut at = 0;
    for range in globals {
        // SAFETY: the globals are saved, and stay in the segment for as long as the process lives; this library's own
        // and libc's are not among them.
        options = unsafe { options.replace(at..at + range.len(), range.start) };
        at += range.len();
    }
    let saved: Vec<Vec<u8>> = globals.iter().map(copy).collect();
    let mut segment = Segment::nameless(len + STACK_LEN, &options)?;
    for (range, bytes) in globals.iter().zip(&saved) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(range.start);
        // SAFETY: the range is mapped there again, and no code runs that uses it.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    segment.commit()?;
    segment.defer(len + STACK_LEN..heap_at)?;
    segment.grow(heap_at)?;
    if wants_conflicts {
        conflicts::look(max);
    }
    variables::find(globals);
    MEMORY.put(Memory {
        segment,
        places: globals.to_vec(),
        globals: len,
        later: Vec::new(),
        ranges: Vec::new(),
        lowest: usize::MAX,
    });
    Ok(())
}

fn copy(range: &Range<usize>) -> Vec<u8> {
    let from = std::ptr::with_exposed_provenance::<u8>(range.start);
    // SAFETY: readable memory of the loader, as it says itself.
    unsafe { std::slice::from_raw_parts(from, range.len()) }.to_vec()
}

/// Checks the segment out in a forked process. Until then the program's memory is not there.
pub(crate) fn attach() {
    MEMORY.with(|memory| {
        // Between libraries there are holes now, and the kernel must not put anything else there.
        let later = memory.later.iter().map(|(place, _)| place);
        for place in memory.places.iter().chain(later) {
            sys::reserve(place.start, place.len());
        }
        memory.attach();
    });
    rights::begin();
}

impl Memory {
    fn attach(&mut self) {
        match self.segment.origin().checkout() {
            // The parent's is forgotten, not dropped: the descriptors in it are the parent's too.
            Ok(fresh) => std::mem::forget(std::mem::replace(&mut self.segment, fresh)),
            Err(error) => fail("a new thread's memory", &error),
        }
    }
}

/// Says that a thread begins here, on a stack that none of it has been used of.
pub(crate) fn begin_stack() {
    MEMORY.with(|memory| memory.lowest = usize::MAX);
}

/// Gives the working copy up: the process ends.
pub(crate) fn detach() {
    drop(MEMORY.take());
}

/// Brings in what others have committed.
pub(crate) fn update() {
    let row = &record().threads[LOCAL.me.get()];
    let start = real::now();
    MEMORY.with(|memory| {
        let updated = match memory.update() {
            // Only a process that has waited for its next thread may lag so far, and it has no changes to lose.
            Err(Error::BaseLost { .. }) => memory.segment.discard().map(|()| 0),
            updated => updated.map(|updated| updated.pages as u64),
        };
        match updated {
            Ok(pages) => row.updated.add(pages),
            Err(error) => fail("update", &error),
        }
    });
    variables::update();
    handlers::update();
    rights::update();
    row.update.add(real::now() - start);
}

/// Publishes what this thread has written, and returns the number of pages.
pub(crate) fn commit() -> usize {
    let row = &record().threads[LOCAL.me.get()];
    let start = real::now();
    variables::commit();
    let published = MEMORY.with(|memory| {
        memory.find_ranges();
        let done = memory.segment.scan_only(&memory.ranges);
        let done = done.and_then(|()| memory.note_writes());
        if let Err(error) = done.and_then(|()| memory.segment.commit_merge()) {
            fail("commit", &error);
        }
        memory.segment.published()
    });
    let published = published.unwrap_or(0);
    row.published.add(published as u64);
    control().published.add(published as u64);
    let committed = LOCAL.committed.get() + published as u64;
    LOCAL.committed.set(committed);
    row.commit.add(real::now() - start);
    row.transactions.add(1);
    published
}

/// Returns whether an address is in the segment.
pub(crate) fn holds(address: usize) -> bool {
    let of_heap = (HEAP..end()).contains(&address) || (STACK..STACK_TOP).contains(&address);
    let of_globals = |memory: &mut Memory| {
        let later = memory.later.iter().map(|(place, _)| place);
        let mut all = memory.places.iter().chain(later);
        all.any(|place| place.contains(&address))
    };
    of_heap || MEMORY.with(of_globals) == Some(true)
}

/// Puts the globals of libraries that this process has loaded since it was made into the segment; those that are there
/// stay. Returns how many came; `None` if there is no room for some. The token is here, and the process up to date.
pub(crate) fn share(globals: &[Range<usize>]) -> Option<usize> {
    MEMORY.with(|memory| {
        let is_known = |range: &&Range<usize>| {
            memory.places.contains(range) || memory.later.iter().any(|(place, _)| place == *range)
        };
        let fresh: Vec<_> = globals.iter().filter(|range| !is_known(range)).collect();
        for &range in &fresh {
            let at = control().later.get() as usize;
            if at + range.len() > LATER {
                return None;
            }
            control().later.add(range.len() as u64);
            memory.share(range, memory.globals + STACK_LEN + at);
        }
        Some(fresh.len())
    })?
}

/// Returns where the heap ends now.
pub(crate) fn end() -> usize {
    HEAP + control().heap.get() as usize
}

/// Makes the heap longer by `len` bytes, whole pages, and returns where they are; `None` if it may not be as long. The
/// token is here.
pub(crate) fn take(len: usize) -> Option<usize> {
    let start = end();
    MEMORY.with(
        |memory| match memory.segment.grow(memory.offset(start + len)) {
            Ok(()) => {
                control().heap.add(len as u64);
                Some(start)
            }
            Err(Error::TooLarge { .. } | Error::NoSpace { .. }) => None,
            Err(error) => fail("growth of the heap", &error),
        },
    )?
}

/// Leaves writes to pages behind the heap's end unnoticed until [`track`].
pub(super) fn defer(pages: Range<usize>) {
    MEMORY.with(|memory| memory.track(pages, false));
}

/// Notices writes to these pages from now on; false in the midst of other work on the memory.
pub(super) fn track(pages: Range<usize>) -> bool {
    !MEMORY.is_lent() && MEMORY.with(|memory| memory.track(pages, true)).is_some()
}

impl Memory {
    /// Puts memory of the loader at `at` in the segment.
    fn share(&mut self, range: &Range<usize>, at: usize) {
        let (bytes, pages) = (copy(range), at..at + range.len());
        let to = std::ptr::with_exposed_provenance_mut::<u8>(range.start);
        // SAFETY: as in `make`: the library stays loaded, and no code runs that uses its memory meanwhile.
        let done = unsafe { self.segment.place_deferred(pages.clone(), range.start) };
        if let Err(error) = done.and_then(|()| self.segment.track(pages)) {
            fail("the variables of a library", &error);
        }
        // SAFETY: the range is mapped there again.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.later.push((range.clone(), at));
    }

    /// Notices writes to pages of the heap from now on, or does not until then.
    fn track(&mut self, pages: Range<usize>, yes: bool) {
        let range = self.offset(pages.start)..self.offset(pages.end);
        let done = match yes {
            true => self.segment.track(range),
            false => self.segment.defer(range),
        };
        if let Err(error) = done {
            fail("a stack", &error);
        }
    }

    /// Returns where in the segment an address of the heap or of main's stack is.
    fn offset(&self, address: usize) -> usize {
        match address < STACK {
            true => self.globals + STACK_LEN + LATER + (address - HEAP),
            false => self.globals + (address - STACK),
        }
    }

    /// Updates; notes what was written on both sides if that is wanted. The bytes of this thread, which commits later,
    /// stay.
    fn update(&mut self) -> Result<Updated, Error> {
        stacks::changes(|pages, yes| self.track(pages, yes));
        if !conflicts::are_looked_for() {
            let updated = self.segment.update()?;
            conflicts::count(updated.conflicts, None);
            return Ok(updated);
        }
        let mut offsets = Vec::new();
        let updated = self.segment.update_with(|conflict| match conflict.base {
            Some(_) => {
                offsets.push(conflict.offset);
                Choice::Local
            }
            // As in [`update`]: there are no changes to lose.
            None => Choice::Incoming,
        });
        offsets.sort_unstable();
        let address = |offset| self.address(offset);
        conflicts::count(offsets.len(), offsets.first().map(|&first| address(first)));
        conflicts::found(&offsets, address);
        updated
    }

    /// Notes what this commit is about to publish.
    fn note_writes(&mut self) -> Result<(), Error> {
        if conflicts::are_wanted() {
            let written = self.segment.diff()?;
            written.into_iter().for_each(conflicts::wrote);
        }
        Ok(())
    }

    /// Returns the address of a byte of the segment.
    fn address(&self, offset: usize) -> usize {
        let mut before = 0;
        for place in &self.places {
            if offset < before + place.len() {
                return place.start + (offset - before);
            }
            before += place.len();
        }
        let holds =
            |(place, at): &&(Range<usize>, usize)| (*at..*at + place.len()).contains(&offset);
        if let Some((place, at)) = self.later.iter().find(holds) {
            return place.start + (offset - at);
        }
        match offset - before {
            stack @ 0..STACK_LEN => STACK + stack,
            heap => HEAP + heap.saturating_sub(STACK_LEN + LATER),
        }
    }

    /// Finds what may have been written: all but the unused end of this thread's stack. What a dead frame has left
    /// there is committed when the stack has grown over it. The ranges only grow, so a process that has taken no page
    /// fault has nothing to look for.
    fn find_ranges(&mut self) {
        let own = control().thread(LOCAL.me.get());
        let stack = stack_of(LOCAL.me.get(), own);
        // A thread that has not called the library from its stack has no frame there when it ends.
        let low = own.stack_low.get() as usize & !(PAGE - 1);
        if stack.contains(&low) {
            self.lowest = self.lowest.min(low);
        }
        let used = self.lowest.min(stack.end);
        let (before, behind) = (self.offset(stack.start), self.offset(used));
        let all = self.offset(end());
        self.ranges.clear();
        self.ranges.extend([0..before, behind..all]);
    }
}

/// Returns where the stack of the thread in a slot is.
pub(crate) fn stack_of(slot: usize, thread: &Thread) -> Range<usize> {
    match slot {
        0 => STACK..STACK_TOP,
        _ => thread.stack.get() as usize..(thread.stack.get() + thread.stack_len.get()) as usize,
    }
}

#[cold]
fn fail(what: &str, error: &Error) -> ! {
    sys::say(format_args!("{what}: {error}"));
    end::end(sys::REFUSED)
}
