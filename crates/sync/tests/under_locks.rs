//! Retiring runs no foreign code, under any pin and however much is retired: a structure may do it under its own locks.
#![cfg(not(any(loom, shuttle)))]

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{await_count, retire};
use fyris_sync::reclaim::{Guard, Retire, pin, pin_owned};

const BLOCKS: usize = 5000;

#[test]
fn blocks_are_reclaimed_where_pins_end() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let local = pin();
    retire(BLOCKS, &FREED, &local);
    local.flush_on_drop();
    retire(1, &FREED, &local);
    assert_eq!(FREED.load(Ordering::Relaxed), 0);
    drop(local);
    await_count(&FREED, BLOCKS + 1);

    // This thread is not pinned when it retires, yet that reclaims nothing that another has waiting.
    let (first, second) = (pin_owned(), pin_owned());
    retire(BLOCKS, &FREED, &first);
    std::thread::spawn(move || drop(first)).join().unwrap();
    let before = FREED.load(Ordering::Relaxed);
    retire(BLOCKS, &FREED, &second);
    assert_eq!(FREED.load(Ordering::Relaxed), before);
    drop(second);
    await_count(&FREED, 3 * BLOCKS + 1);
}

/// A block whose reclaiming retires the next, as values do that hold structures, and sees how deep it is in others'.
struct Chain(usize);

thread_local! {
    /// The number of reclaims that this thread is in. By thread: two of them reclaim chains side by side.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

static DEEPEST: AtomicUsize = AtomicUsize::new(0);
static GONE: AtomicUsize = AtomicUsize::new(0);

impl Retire for Chain {
    unsafe fn reclaim(block: *mut Self) {
        // SAFETY: every `Chain` is a box, reclaimed once.
        let Chain(left) = *unsafe { Box::from_raw(block) };
        DEPTH.set(DEPTH.get() + 1);
        DEEPEST.fetch_max(DEPTH.get(), Ordering::Relaxed);
        if left > 0 {
            let pin = pin();
            // SAFETY: never shared, retired once.
            unsafe { pin.retire(Box::into_raw(Box::new(Chain(left - 1)))) };
            pin.flush_on_drop();
        }
        DEPTH.set(DEPTH.get() - 1);
        GONE.fetch_add(1, Ordering::Relaxed);
    }
}

/// Also in threads whose first pin is made by what is reclaimed.
#[test]
fn reclaiming_does_not_recurse() {
    for _ in 0..3 {
        let guard = pin_owned();
        std::thread::spawn(move || {
            // SAFETY: never shared, retired once.
            unsafe { guard.retire(Box::into_raw(Box::new(Chain(2000)))) };
            drop(guard);
            pin().flush_on_drop();
        })
        .join()
        .unwrap();
    }
    await_count(&GONE, 3 * 2001);
    assert_eq!(DEEPEST.load(Ordering::Relaxed), 1);
}
