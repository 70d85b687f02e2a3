//! Memory that reclamation allocates for itself is freed as well: the memory of a process that retires stays as it is.
#![cfg(not(any(loom, shuttle)))]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use common::{await_count, retire};
use fyris_sync::reclaim::{Guard, pin};

/// Bytes that are allocated.
static ALLOCATED: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: forwarded.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: forwarded.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: usize = 2000;

/// Retires and reclaims in rounds of one block each, on this thread and on some that end.
fn work(count: &'static AtomicUsize) {
    let before = count.load(Ordering::Relaxed);
    for round in 0..ROUNDS {
        if round % 100 == 0 {
            let ends = std::thread::spawn(move || retire(1, count, &pin()));
            ends.join().unwrap();
        } else {
            let pin = pin();
            retire(1, count, &pin);
            pin.flush_on_drop();
        }
    }
    await_count(count, before + ROUNDS);
}

#[test]
fn rounds_leave_no_memory_behind() {
    static RECLAIMED: AtomicUsize = AtomicUsize::new(0);
    work(&RECLAIMED);
    let before = ALLOCATED.load(Ordering::Relaxed);
    work(&RECLAIMED);
    let more = ALLOCATED.load(Ordering::Relaxed) - before;
    // The list of a round takes more than this; batches that wait are few, and take some kilobytes each.
    assert!(
        more < 32 * ROUNDS as isize,
        "{more} bytes more after {ROUNDS} rounds"
    );
}
