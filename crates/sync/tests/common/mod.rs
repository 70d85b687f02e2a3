//! Blocks that count how many of them were reclaimed.
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use fyris_sync::reclaim::{Guard, Retire, flush};

/// A block that counts itself when it is reclaimed.
pub(crate) struct Counted(pub(crate) &'static AtomicUsize);

impl Retire for Counted {
    unsafe fn reclaim(block: *mut Self) {
        // SAFETY: every `Counted` is a box, reclaimed once.
        let counted = unsafe { Box::from_raw(block) };
        counted.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Retires `blocks` new blocks, each of which adds one to `count` when it is reclaimed.
pub(crate) fn retire(blocks: usize, count: &'static AtomicUsize, pin: &impl Guard) {
    for _ in 0..blocks {
        // SAFETY: never shared, retired once.
        unsafe { pin.retire(Box::into_raw(Box::new(Counted(count)))) };
    }
}

/// Waits until `count` is `wanted`: another test of the process may be pinned for a moment.
pub(crate) fn await_count(count: &AtomicUsize, wanted: usize) {
    let begun = Instant::now();
    while count.load(Ordering::Relaxed) != wanted {
        let count = count.load(Ordering::Relaxed);
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{count} of {wanted} reclaimed"
        );
        flush();
        std::thread::yield_now();
    }
}
