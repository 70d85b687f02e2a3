//! What cannot be seen from outside: who may take the lock between the two steps of an unlock.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::word::{UPGRADER, WRITER};
use super::*;
use crate::atomic::Ordering;

/// Waits until `is_so`.
fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never is so");
        std::thread::yield_now();
    }
}

/// Checks that none passes the queue while its head waits for the thread that has taken `held` off the word to let it
/// in.
fn none_passes<R: Readers>(readers: R, held: u64) {
    let lock = &RawFair::with_readers(readers);
    let order = &Mutex::new(Vec::new());
    let writes = |name: &'static str| {
        move || {
            lock.write(None);
            order.lock().unwrap().push(name);
            // SAFETY: locked above.
            unsafe { lock.unlock_exclusive() };
        }
    };
    let reads = || {
        lock.read(None);
        order.lock().unwrap().push("reader");
        // SAFETY: locked above.
        unsafe { lock.unlock_shared() };
    };
    assert!(if held == WRITER {
        lock.try_lock_exclusive()
    } else {
        lock.try_lock_upgradable()
    });
    let tries = std::thread::scope(|s| {
        s.spawn(writes("first"));
        wait_until(|| lock.waiting().writers == 1);
        // Release, as the unlock whose first half this is.
        lock.word.fetch_sub(held, Ordering::Release);
        let tries = [
            lock.try_lock_shared(),
            lock.try_lock_exclusive(),
            lock.try_lock_upgradable(),
        ];
        if tries[0] {
            // SAFETY: locked by the first try.
            unsafe { lock.unlock_shared() };
        }
        s.spawn(writes("second"));
        let is_in = || !order.lock().unwrap().is_empty();
        wait_until(|| is_in() || lock.waiting().writers == 2);
        s.spawn(reads);
        wait_until(|| is_in() || lock.waiting().readers == 1);
        lock.advance();
        tries
    });
    assert_eq!(tries, [false; 3], "a try passes the queue");
    assert_eq!(*order.lock().unwrap(), ["first", "second", "reader"]);
}

#[test]
fn none_passes_the_queue() {
    for held in [WRITER, UPGRADER] {
        none_passes(InWord, held);
        none_passes(Indicated::new(Groups::new(2)), held);
    }
}
