//! Reader groups: an indicator of a counter for each group of threads, on a cache line of its own.

use std::ptr::{self, NonNull};

use super::readers::ReadIndicator;
use crate::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::thread;

/// The largest number of groups of one lock.
const MOST: usize = 64;

/// The readers of one group, alone in its line and the one that the processor fetches with it.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Group(AtomicU64);

/// The counters of a lock, made when a thread first reads: a lock that is only written to takes no memory for them.
///
/// A thread belongs to the group of its number ([`thread::place`]) modulo the number of groups, which is a power of
/// two. Invariant **GROUP**: a counter that was seen at zero under a claim has no reader who got the lock before the
/// claim, whatever comes and is turned away later: it never falls below what the readers that are there raised it to.
#[derive(Debug)]
pub struct Groups {
    /// The groups, or null.
    groups: AtomicPtr<Group>,
    /// Their number; zero before they are made, if it is the default.
    number: AtomicUsize,
}

/// Returns the default number of groups: one for each processor, at most 64, rounded up to a power of two.
fn default_number() -> usize {
    thread::processors().next_power_of_two().min(MOST)
}

impl Groups {
    /// Makes `number` groups: rounded up to a power of two, at most 64; the default for zero, which is one for each
    /// processor.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn new(number: usize) -> Self {
        Self {
            groups: AtomicPtr::new(ptr::null_mut()),
            number: AtomicUsize::new(number),
        }
    }

    /// As in the ordinary build.
    #[cfg(any(loom, shuttle))]
    pub fn new(number: usize) -> Self {
        Self {
            groups: AtomicPtr::new(ptr::null_mut()),
            number: AtomicUsize::new(number),
        }
    }

    /// Returns the number of groups.
    pub fn number(&self) -> usize {
        // Relaxed: a number that is given before the groups are made.
        match self.number.load(Ordering::Relaxed) {
            0 => default_number(),
            number => number.min(MOST).next_power_of_two(),
        }
    }

    /// Returns the number of bytes on the heap.
    pub fn memory(&self) -> usize {
        self.made().map_or(0, size_of_val)
    }

    /// Returns the groups, if they have been made.
    #[inline]
    fn made(&self) -> Option<&[Group]> {
        // SeqCst: as for the counters: a thread with a claim that sees no groups is seen by a reader that made them. It
        // acquires: pairs with the Release in `make`.
        let groups = NonNull::new(self.groups.load(Ordering::SeqCst))?;
        // Relaxed: ordered by the load above.
        let number = self.number.load(Ordering::Relaxed);
        // SAFETY: `make` put that number of groups there, which live as long as this.
        Some(unsafe { std::slice::from_raw_parts(groups.as_ptr(), number) })
    }

    #[cold]
    fn make(&self) -> &[Group] {
        let number = self.number();
        // Relaxed: the exchange releases; each thread that makes groups stores the same.
        self.number.store(number, Ordering::Relaxed);
        let groups: Box<[Group]> = (0..number).map(|_| Group::default()).collect();
        let groups = Box::into_raw(groups);
        // SeqCst: as in `made`. A loser frees its own.
        let won = self.groups.compare_exchange(
            ptr::null_mut(),
            groups.cast(),
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: from `Box::into_raw` above, and not published.
            drop(unsafe { Box::from_raw(groups) });
        }
        self.made().expect("made above, or by another thread")
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if let Some(groups) = self.made() {
            let groups = ptr::from_ref(groups).cast_mut();
            // SAFETY: from `Box::into_raw` in `make`; no other thread can reach them any more.
            drop(unsafe { Box::from_raw(groups) });
        }
    }
}

// SAFETY: the counters and the pointer to them are accessed sequentially consistently, each counter is seen at zero
// (GROUP), and a thread's place does not change.
unsafe impl ReadIndicator for Groups {
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self = Self::new(0);

    #[inline]
    fn place(&self) -> usize {
        thread::place()
    }

    #[inline]
    fn arrive(&self, place: usize) {
        let groups = self.made().unwrap_or_else(|| self.make());
        // SeqCst, as `ReadIndicator` asks: pairs with the load in `is_empty`.
        groups[place & (groups.len() - 1)]
            .0
            .fetch_add(1, Ordering::SeqCst);
    }

    #[inline]
    fn depart(&self, place: usize) -> bool {
        let groups = self.made().expect("a reader arrived");
        // SeqCst, as `ReadIndicator` asks. It releases: pairs with the Acquire in `is_empty`.
        groups[place & (groups.len() - 1)]
            .0
            .fetch_sub(1, Ordering::SeqCst)
            == 1
    }

    fn is_empty(&self) -> bool {
        let checked = if cfg!(fyris_mutant = "rw_group_unchecked") {
            1
        } else {
            MOST
        };
        let groups = self.made().unwrap_or(&[]).iter().take(checked);
        // SeqCst, as `ReadIndicator` asks. It acquires: pairs with the Release in `depart`.
        groups
            .into_iter()
            .all(|group| group.0.load(Ordering::SeqCst) == 0)
    }
}
