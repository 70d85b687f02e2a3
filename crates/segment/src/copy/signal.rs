//! Tracking by mprotect and SIGSEGV, for kernels without WP_ASYNC.
//!
//! The view is read-only; the handler notes the page of a write fault in a bitmap and makes it
//! writable. Faults elsewhere go to the handler that was there before (Rust's own, for stack
//! overflows, is one).
//!
//! The handler may run at any instruction of any thread, so it does only what is safe there: it walks a
//! fixed table of atomics, sets two bits (see `marks`), calls mprotect. Invariant **HANDLER**: a region in the table
//! whose owner is this process has its notes alive; drop empties the entry before they go.
//!
//! A forked child inherits the table, but no view. So an entry names its process: in the child those of the parent are
//! passed over, and free to be taken, also if their values are never dropped there.

use fyris_sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use super::marks::Marks;
use super::{PageSet, Span, runs};
use crate::PAGE;
use crate::error::{Error, Result};
use crate::map::Mapping;

/// Segments that one process can track this way.
const REGIONS: usize = 256;

/// One tracked view, for the handler.
struct TrackedView {
    /// The process that has the view (upper half; 0: the entry is free), how often the entry was taken, and whether it
    /// is filled (lowest bit). So no two views of an entry have the same word.
    owner: AtomicU64,
    start: AtomicUsize,
    len: AtomicUsize,
    notes: AtomicPtr<Notes>,
}

/// Set in the owner of an entry that is filled.
const FILLED: u64 = 1;

/// Returns the process of an owner.
fn process_of(owner: u64) -> u32 {
    (owner >> 32) as u32
}

/// Returns the owner of an entry that `process` takes after `before`.
fn next_owner(before: u64, process: u32) -> u64 {
    let times = (before as u32 >> 1).wrapping_add(1);
    u64::from(process) << 32 | u64::from(times << 1)
}

/// The notes of the handler.
struct Notes {
    marks: Marks,
    /// The kernel refused to split the mapping further: all of it is writable, anything may be dirty.
    all: AtomicBool,
}

static TABLE: [TrackedView; REGIONS] = [const {
    TrackedView {
        owner: AtomicU64::new(0),
        start: AtomicUsize::new(0),
        len: AtomicUsize::new(0),
        notes: AtomicPtr::new(ptr::null_mut()),
    }
}; REGIONS];

/// The handler that was there before ours.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// A tracked view.
#[derive(Debug)]
pub(super) struct Signal {
    region: usize,
    owner: u64,
    notes: NonNull<Notes>,
}

// SAFETY: the notes are owned by this value, and hold atomics only.
unsafe impl Send for Signal {}
// SAFETY: as above.
unsafe impl Sync for Signal {}

impl Signal {
    /// Tracks `view`.
    pub(super) fn new(view: &Mapping) -> Result<Signal> {
        install()?;
        let taken = TABLE.iter().enumerate().find_map(|(at, region)| {
            let owner = region.take(std::process::id())?;
            Some((at, owner))
        });
        let (region, owner) = taken.ok_or(Error::NoSpace {
            what: "another segment tracked by signals",
            bytes: None,
        })?;
        let notes = Box::new(Notes {
            marks: Marks::new(view.len() / PAGE),
            all: AtomicBool::new(false),
        });
        let notes = NonNull::from(Box::leak(notes));
        let entry = &TABLE[region];
        // Relaxed, all: published by the owner below.
        entry.start.store(view.start() as usize, Ordering::Relaxed);
        entry.len.store(view.len(), Ordering::Relaxed);
        entry.notes.store(notes.as_ptr(), Ordering::Relaxed);
        let owner = owner | FILLED;
        // Release: pairs with the Acquire in `find`; what the entry says is there.
        entry.owner.store(owner, Ordering::Release);
        Ok(Signal {
            region,
            owner,
            notes,
        })
    }

    fn notes(&self) -> &Notes {
        // SAFETY: made by `new`, freed only by drop.
        unsafe { self.notes.as_ref() }
    }

    /// Protects pages, or lets them be written unseen.
    pub(super) fn protect(&mut self, view: &Mapping, range: Range<usize>, on: bool) -> Result<()> {
        view.protect(range.start * PAGE, range.len() * PAGE, !on)
    }

    /// Adds the written pages to `dirty` and protects all but the hot ones.
    pub(super) fn collect(
        &mut self,
        view: &Mapping,
        tracked: &[Span],
        hot: &PageSet,
        dirty: &mut PageSet,
    ) -> Result<()> {
        let mut fresh = self.notes().marks.drain();
        fresh.iter().for_each(|&page| dirty.insert(page as usize));
        // Relaxed: faults of this thread came before; other threads' writes are their affair.
        if self.notes().all.swap(false, Ordering::Relaxed) {
            let done = self.protect_all(view, tracked, hot, dirty);
            return self.unless_done(done);
        }
        fresh.retain(|&page| !hot.has(page as usize));
        let done = runs(&fresh)
            .try_for_each(|run| view.protect(run.start * PAGE, run.len() * PAGE, false));
        self.unless_done(done)
    }

    /// Returns `done`. After a failure some pages are writable and not noted, so all count as dirty the next time.
    fn unless_done(&self, done: Result<()>) -> Result<()> {
        if done.is_err() {
            // Relaxed: read by the next `collect` or `look`, which have `self` as this call has.
            self.notes().all.store(true, Ordering::Relaxed);
        }
        done
    }

    /// Adds the written pages to `dirty`, and leaves them noted.
    pub(super) fn look(&self, tracked: &[Span], dirty: &mut PageSet) {
        // Relaxed: as in `collect`.
        if self.notes().all.load(Ordering::Relaxed) {
            let pages = tracked.iter().flat_map(|span| span.pages.clone());
            pages.for_each(|page| dirty.insert(page));
        }
        let noted = self.notes().marks.look();
        noted
            .into_iter()
            .for_each(|page| dirty.insert(page as usize));
    }

    /// Protects all tracked pages and adds them to `dirty`: they were left writable.
    fn protect_all(
        &self,
        view: &Mapping,
        tracked: &[Span],
        hot: &PageSet,
        dirty: &mut PageSet,
    ) -> Result<()> {
        for range in tracked.iter().map(|span| span.pages.clone()) {
            range.clone().for_each(|page| dirty.insert(page));
            view.protect(range.start * PAGE, range.len() * PAGE, false)?;
        }
        hot.iter()
            .try_for_each(|page| view.protect(page as usize * PAGE, PAGE, true))
    }
}

impl TrackedView {
    /// Takes the entry for `process` if it is free, or if a fork has left it behind; returns its owner.
    fn take(&self, process: u32) -> Option<u64> {
        // Relaxed: the exchange looks again.
        let before = self.owner.load(Ordering::Relaxed);
        if process_of(before) == process {
            return None;
        }
        let owner = next_owner(before, process);
        // Acquire: pairs with the Release in `drop`. Relaxed: another thread has it.
        let taken =
            self.owner
                .compare_exchange(before, owner, Ordering::Acquire, Ordering::Relaxed);
        // Release fence: pairs with the Acquire loads in `find`: a handler that loads what follows finds another owner.
        fence(Ordering::Release);
        taken.ok().map(|_| owner)
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        let free = next_owner(self.owner, 0);
        // Release: pairs with the Acquire in `take`, and in `find`, which then finds another owner. Relaxed: in a
        // forked child the entry may be another view's by now.
        let owner = &TABLE[self.region].owner;
        let _ = owner.compare_exchange(self.owner, free, Ordering::Release, Ordering::Relaxed);
        // SAFETY: leaked by `new`; the entry names this view no more, or a process that is not this one, and a thread
        // that could fault in the view while its segment is dropped breaks the contract of `Segment::as_mut_ptr`.
        drop(unsafe { Box::from_raw(self.notes.as_ptr()) });
    }
}

/// Installs the handler, once.
fn install() -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let installed = *DONE.get_or_init(|| {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a null action only asks; zeros are a valid `sigaction`.
        let before = unsafe {
            libc::sigaction(libc::SIGSEGV, ptr::null(), before.as_mut_ptr());
            before.assume_init()
        };
        // Before the handler can run: it reads this.
        let _ = BEFORE.set(before);
        // SAFETY: zeros are a valid `sigaction`.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: the handler does what is allowed in one.
        unsafe { libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()) == 0 }
    });
    match installed {
        true => Ok(()),
        false => Err(Error::Unsupported("a handler for SIGSEGV")),
    }
}

/// Handles SIGSEGV.
extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` (`SA_SIGINFO`).
    let address = unsafe { (*info).si_addr() } as usize;
    match find(address) {
        Some((start, len, notes)) if note(start, len, notes, address) => (),
        _ => pass_on(signal, info, context),
    }
}

fn find(address: usize) -> Option<(usize, usize, &'static Notes)> {
    // SAFETY: only asks, and may in a handler.
    let me = unsafe { libc::getpid() } as u32;
    TABLE.iter().find_map(|region| {
        // Acquire: pairs with the Release in `new`: the rest is that of this owner, or of a later one.
        let owner = region.owner.load(Ordering::Acquire);
        // A forked child inherits the entries of its parent, whose views it has not.
        let mine = process_of(owner) == me || cfg!(fyris_mutant = "segment_parents_row");
        if owner & FILLED == 0 || !mine {
            return None;
        }
        // Acquire, all: pair with the Release fence in `take`. What is of a later view comes with another owner, which
        // is looked at below.
        let start = region.start.load(Ordering::Acquire);
        let len = region.len.load(Ordering::Acquire);
        let notes = region.notes.load(Ordering::Acquire);
        let inside = address.wrapping_sub(start) < len;
        // Relaxed: ordered by the loads before.
        let is_same = inside && region.owner.load(Ordering::Relaxed) == owner;
        // SAFETY: an entry of this process has its notes (invariant HANDLER), and this one had its owner throughout.
        is_same.then(|| (start, len, unsafe { &*notes }))
    })
}

/// Notes a write and allows it; false if the page is not there.
fn note(start: usize, len: usize, notes: &Notes, address: usize) -> bool {
    // SAFETY: errno is this thread's; the interrupted code must find it unchanged.
    let errno = unsafe { *libc::__errno_location() };
    let page = (address - start) / PAGE;
    // Before the write is allowed.
    notes.marks.note(page);
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a page of a region in the table; where nothing is mapped the call fails.
    let mut done = unsafe { libc::mprotect((start + page * PAGE) as *mut _, PAGE, writable) == 0 };
    if !done {
        // The kernel allows no more mappings: one for the whole region instead of many. Relaxed: as the bits.
        notes.all.store(true, Ordering::Relaxed);
        // SAFETY: as above.
        done = unsafe { libc::mprotect(start as *mut _, len, writable) == 0 };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    done
}

/// Calls the handler that was there before, or lets the fault happen again without one.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(before) = BEFORE.get() else { return };
    match before.sa_sigaction {
        // Ignoring a fault is not possible: the kernel kills, and so does returning to it by default.
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: puts the default back; the instruction then faults for good.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: a handler with this flag has these arguments.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: a handler without `SA_SIGINFO` takes the number only.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}
