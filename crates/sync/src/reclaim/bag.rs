//! The blocks that a thread has retired and not handed in yet.

use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;

use super::background::freed;
use super::clock::millis;

/// Blocks a thread gathers before it hands them in: that costs a barrier, a system call on Linux that interrupts every
/// processor on which the process runs. With two threads one costs 9 us on the virtual machine this was measured on.
pub(super) const BLOCKS: usize = if cfg!(fyris_small) { 4 } else { 512 };

/// Bytes that are gathered, of the blocks that say how many they hold.
pub(super) const BYTES: usize = if cfg!(fyris_small) { 512 } else { 256 << 10 };

/// Blocks that wait no longer than [`PATIENCE`] if their thread goes on retiring: some may own much that nobody
/// weighed. Also the number of blocks after which a thread that is busy looks at the clock again.
const SOME: usize = if cfg!(fyris_small) { 2 } else { 16 };

/// Milliseconds in which a round costs a thread no more than a hundredth of its time.
const PATIENCE: u64 = 2;

/// Milliseconds that the bags of a process wait if any of its threads goes on retiring.
pub(super) const AGE: u64 = 100;

/// A block that holds as many bytes is not kept at rest.
const HEAVY: usize = 64 << 10;

/// Bytes that a block holds for which nobody has said how many, more or less.
const USUAL: usize = 128;

/// A block, and what frees it.
struct Retired {
    block: *mut (),
    reclaim: unsafe fn(*mut ()),
}

/// Retired blocks, which are reclaimed when the bag is dropped.
#[derive(Default)]
pub(super) struct Bag {
    blocks: Vec<Retired>,
    bytes: usize,
    /// The number of blocks at which to look whether it is full.
    look_at: usize,
    /// When the first block came, and when it was looked at last; 0 before that.
    since: u64,
    looked: u64,
}

// SAFETY: retired blocks may be reclaimed on any thread, as `push` demands.
unsafe impl Send for Bag {}

impl Bag {
    pub(super) const fn new() -> Self {
        Self {
            blocks: Vec::new(),
            bytes: 0,
            look_at: 0,
            since: 0,
            looked: 0,
        }
    }

    /// Takes a block in, 16 bytes. Returns whether it is time to [look](Bag::look).
    ///
    /// # Safety
    ///
    /// When the bag is dropped, on whatever thread, `reclaim` may be called with the block.
    #[inline]
    pub(super) unsafe fn push(&mut self, block: *mut (), reclaim: unsafe fn(*mut ())) -> bool {
        self.blocks.push(Retired { block, reclaim });
        self.blocks.len() >= self.look_at
    }

    /// Returns whether the bag is full: of blocks, of bytes, or of blocks that have waited for long. Says when to look
    /// again: at the next block of a thread that retires seldom.
    pub(super) fn look(&mut self) -> bool {
        let (now, blocks) = (millis(), self.blocks.len());
        if self.since == 0 {
            self.since = now;
        }
        let age = now - self.since;
        let many = blocks >= BLOCKS || self.bytes >= BYTES;
        let full = many || (blocks >= SOME && age >= PATIENCE) || age >= AGE;
        let step = if now > self.looked { 1 } else { SOME };
        self.looked = now;
        // Once is enough: the bag is handed in when the pin ends.
        self.look_at = if full {
            usize::MAX
        } else {
            BLOCKS.min(blocks + step)
        };
        full && !cfg!(fyris_mutant = "sync_never_due")
    }

    /// Takes in the blocks of another bag.
    pub(super) fn append(&mut self, other: &mut Bag) {
        let mut other = std::mem::take(other);
        if self.blocks.is_empty() {
            std::mem::swap(&mut self.blocks, &mut other.blocks);
        } else {
            self.blocks.append(&mut other.blocks);
        }
    }

    /// Counts bytes that a block in the bag holds; the bag is full if they are many.
    #[inline]
    pub(super) fn weigh(&mut self, bytes: usize) {
        if !cfg!(fyris_mutant = "sync_weighs_nothing") {
            let counts = if bytes < HEAVY { bytes } else { BYTES };
            self.bytes = self.bytes.saturating_add(counts);
            if self.bytes >= BYTES {
                // The block comes next.
                self.look_at = 0;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the bag, with no more memory than its blocks need.
    pub(super) fn shrunk(mut self) -> Bag {
        self.blocks.shrink_to_fit();
        self
    }
}

impl Drop for Bag {
    fn drop(&mut self) {
        let bytes = self.blocks.len() * USUAL + self.bytes;
        Rest(&mut self.blocks).reclaim();
        freed(bytes);
    }
}

/// Blocks that are still to be reclaimed, also when the drop of one before them panics.
struct Rest<'a>(&'a mut Vec<Retired>);

impl Rest<'_> {
    fn reclaim(&mut self) {
        while let Some(Retired { block, reclaim }) = self.0.pop() {
            // SAFETY: `push` demands that this may be done now, and the block is out of the bag, so it is done once.
            unsafe { reclaim(block) };
        }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.reclaim();
    }
}

/// Takes a bag that may be reclaimed, for [`reclaim_waiting`]. Runs no foreign code.
pub(super) fn put_off(bag: Box<Bag>) {
    // SAFETY: of this thread alone; the reference ends before anything is called.
    WAITING.with(|waiting| unsafe { (*waiting.bags.get()).push(*bag) });
}

/// Returns whether bags wait for [`reclaim_waiting`].
#[inline]
pub(super) fn is_any_waiting() -> bool {
    // SAFETY: as in `put_off`.
    WAITING.with(|waiting| unsafe { !(*waiting.bags.get()).is_empty() })
}

/// Reclaims the blocks of the bags that this thread has put off. Reclaiming a block may release guards that held other
/// bags back: these wait for the call that is under way, so that a chain of such blocks takes no more stack than one.
pub(super) fn reclaim_waiting() {
    WAITING.with(|waiting| {
        if waiting.busy.replace(true) && !cfg!(fyris_mutant = "sync_reclaims_deep") {
            return;
        }
        let _busy = Busy(&waiting.busy);
        // SAFETY: as in `put_off`.
        while let Some(bag) = unsafe { (*waiting.bags.get()).pop() } {
            drop(bag);
        }
        // The memory of the list goes as well: nothing would free it at the end of the thread.
        // SAFETY: as in `put_off`.
        let list = unsafe { std::mem::take(&mut **waiting.bags.get()) };
        if cfg!(fyris_mutant = "sync_list_leaks") {
            std::mem::forget(list);
        }
    });
}

/// Bags that were put off. Without a destructor, so that destructors of other values may reclaim.
struct DeferredBags {
    bags: UnsafeCell<ManuallyDrop<Vec<Bag>>>,
    busy: Cell<bool>,
}

thread_local! {
    static WAITING: DeferredBags = const {
        DeferredBags {
            bags: UnsafeCell::new(ManuallyDrop::new(Vec::new())),
            busy: Cell::new(false),
        }
    };
}

/// A call is under way on this thread until this goes, also by a panic of what is called.
pub(super) struct Busy<'a>(pub(super) &'a Cell<bool>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_drop_that_panics_costs_no_other_block_its_own() {
        static RECLAIMED: AtomicUsize = AtomicUsize::new(0);
        unsafe fn reclaim(block: *mut ()) {
            // Relaxed, as the load below: one thread.
            RECLAIMED.fetch_add(1, Ordering::Relaxed);
            assert!(block.addr() != 3, "the third");
        }
        let mut bag = Bag::new();
        for at in 1..=8 {
            // SAFETY: `reclaim` looks at the address alone.
            unsafe { bag.push(std::ptr::without_provenance_mut(at), reclaim) };
        }
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(bag)));
        assert!(dropped.is_err());
        assert_eq!(RECLAIMED.load(Ordering::Relaxed), 8);
    }
}
