//! Any number of pins that may move between threads: they hold back what was retired since they began, and nothing
//! else.
#![cfg(not(any(loom, shuttle)))]

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{await_count, retire};
use fyris_sync::reclaim::{OwnedGuard, pin, pin_owned};

fn owned(pins: usize) -> Vec<OwnedGuard> {
    (0..pins).map(|_| pin_owned()).collect()
}

#[test]
fn the_garbage_of_an_ended_thread_goes_with_the_last_of_many_guards() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let guards = owned(700);
    std::thread::spawn(|| retire(200, &FREED, &pin()))
        .join()
        .unwrap();
    assert_eq!(
        FREED.load(Ordering::Relaxed),
        0,
        "under guards that may reach it"
    );
    drop(guards);
    await_count(&FREED, 200);
}

#[test]
fn guards_that_began_later_hold_nothing_back() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let old = owned(10);
    std::thread::spawn(|| retire(200, &FREED, &pin()))
        .join()
        .unwrap();
    let new = owned(1000);
    drop(old);
    await_count(&FREED, 200);
    drop(new);
}

#[test]
fn a_guard_ends_on_another_thread_with_what_was_retired_under_it() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let guard = pin_owned();
    retire(2000, &FREED, &guard);
    assert_eq!(FREED.load(Ordering::Relaxed), 0, "under the guard");
    std::thread::spawn(move || drop(guard)).join().unwrap();
    // This thread has retired it, and hands it in with its next pin.
    drop(pin());
    await_count(&FREED, 2000);
}

/// With no further pin of the thread, which had left its guard lying before anything was due.
#[test]
fn what_was_retired_under_a_guard_that_ends_under_a_pin_goes_with_the_pin() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    std::thread::spawn(|| {
        drop(pin());
        let guard = pin_owned();
        retire(2000, &FREED, &guard);
        let pin = pin();
        drop(guard);
        drop(pin);
        let begun = std::time::Instant::now();
        while FREED.load(Ordering::Relaxed) < 2000 {
            assert!(begun.elapsed().as_secs() < 60, "not freed");
            std::thread::yield_now();
        }
    })
    .join()
    .unwrap();
}
