//! Pins at the very end of threads: in destructors of thread-local values and of pthread keys, before and after ours.
#![cfg(all(unix, not(any(loom, shuttle))))]

mod common;

use std::cell::{Cell, RefCell};
use std::sync::Barrier;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use common::{await_count, retire};
use fyris_sync::reclaim::{LocalGuard, pin, pin_owned};

static FREED: AtomicUsize = AtomicUsize::new(0);
/// The number of blocks retired at the end of a thread.
static RETIRED: AtomicUsize = AtomicUsize::new(0);

fn use_it() {
    let outer = pin();
    let inner = pin();
    retire(700, &FREED, &inner);
    drop(outer);
    retire(5, &FREED, &inner);
    drop(inner);
    let owned = pin_owned();
    retire(6, &FREED, &owned);
    drop(owned);
    RETIRED.fetch_add(711, Ordering::Relaxed);
}

struct AtEnd;

impl Drop for AtEnd {
    fn drop(&mut self) {
        use_it();
    }
}

thread_local! {
    static FIRST: AtEnd = const { AtEnd };
    static LAST: AtEnd = const { AtEnd };
    static HELD: RefCell<Option<LocalGuard>> = const { RefCell::new(None) };
    static ROUNDS: Cell<usize> = const { Cell::new(0) };
}

fn check(run: fn()) {
    std::thread::spawn(run).join().unwrap();
    await_count(&FREED, RETIRED.load(Ordering::Relaxed));
}

/// Calls `use_it` when the calling thread ends, in `rounds` rounds of the destructors of keys.
fn in_key_destructor(rounds: usize) {
    /// One key for the process: its number, one more.
    static KEY: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
    unsafe extern "C" fn at_end(value: *mut libc::c_void) {
        use_it();
        let left = ROUNDS.get() - 1;
        ROUNDS.set(left);
        if left > 0 {
            let key = KEY.load(Ordering::Relaxed).addr() - 1;
            // SAFETY: the key was created below.
            unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, value) };
        }
    }
    ROUNDS.set(rounds);
    if KEY.load(Ordering::Relaxed).is_null() {
        let mut key = 0;
        // SAFETY: writes the number of a new key.
        let made = unsafe { libc::pthread_key_create(&mut key, Some(at_end)) };
        assert_eq!(made, 0);
        KEY.store(
            std::ptr::without_provenance_mut(key as usize + 1),
            Ordering::Relaxed,
        );
    }
    let key = KEY.load(Ordering::Relaxed).addr() - 1;
    // SAFETY: the key was created; any value but null has the destructor called.
    unsafe {
        libc::pthread_setspecific(key as libc::pthread_key_t, std::ptr::without_provenance(1))
    };
}

/// One after the other: all count in the same place.
#[test]
fn late_pins_work() {
    // Dropped after what this crate keeps for the thread, and before.
    check(|| {
        FIRST.with(|_| ());
        use_it();
        LAST.with(|_| ());
    });
    // A pin that lives longer than what this crate keeps for the thread.
    check(|| {
        HELD.with_borrow_mut(|held| *held = Some(pin()));
        use_it();
    });
    check(|| {
        HELD.with_borrow(|held| assert!(held.is_none()));
        use_it();
        HELD.with_borrow_mut(|held| *held = Some(pin()));
    });
    // After all thread-local values are gone.
    check(|| {
        use_it();
        in_key_destructor(3);
    });
    // The first pin of the thread is there.
    check(|| in_key_destructor(1));
    check(|| in_key_destructor(3));
}

#[test]
fn threads_with_late_pins_leave_nothing_taken() {
    static OTHER: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static LATE: Late = const { Late };
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            retire(3, &OTHER, &pin());
        }
    }
    for _ in 0..300 {
        std::thread::spawn(|| {
            LATE.with(|_| ());
            drop(pin());
        })
        .join()
        .unwrap();
    }
    await_count(&OTHER, 900);
}

/// More threads than a batch has blocks to spare, each of which has ended for this crate, pinned at once.
#[test]
fn what_many_ended_threads_retire_at_once_goes() {
    const THREADS: usize = 100;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static ALL: Barrier = Barrier::new(THREADS);
    thread_local! {
        static LATE: Late = const { Late };
    }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            let mut pin = Some(pin());
            ALL.wait();
            retire(3, &COUNT, pin.as_ref().expect("not dropped yet"));
            // One hands in what it has retired while the others are pinned.
            if ALL.wait().is_leader() {
                pin = None;
            }
            ALL.wait();
            drop(pin);
        }
    }
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                LATE.with(|_| ());
                drop(pin());
            });
        }
    });
    await_count(&COUNT, 3 * THREADS);
}
