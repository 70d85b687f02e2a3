//! A child of a fork goes on: it waits for no thread that it does not have.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};

use common::{await_count, retire};
use fyris_sync::lock::rw::{FairRwLock, Groups, InWord, Indicated, RawFair, Readers};
use fyris_sync::reclaim::{Guard, Sections, later, pin, pin_owned};
use lock_api::RwLock;

/// Runs `f` in a child of this process; whether it returned `true` there.
fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing but what goes on behind a fork: the allocator of the C library and what is
    // tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
        // SAFETY: ends the child, without the destructors of the parent.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// Returns the number of blocks, of those retired, that are reclaimed when this thread is pinned no more.
fn reclaimed(blocks: usize) -> usize {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let before = FREED.load(Ordering::Relaxed);
    for _ in 0..blocks {
        retire(1, &FREED, &pin());
    }
    pin().flush_on_drop();
    FREED.load(Ordering::Relaxed) - before
}

/// One test: a child has the locks of the test harness as they were.
#[test]
fn a_child_goes_on() {
    let (pinned, is_pinned) = mpsc::channel();
    let (over, is_over) = mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        let _pin = pin();
        pinned.send(()).unwrap();
        let _ = is_over.recv();
    });
    is_pinned.recv().unwrap();
    assert_eq!(reclaimed(2000), 0, "another thread is pinned");
    assert!(
        in_child(|| reclaimed(2000) >= 2000),
        "in the child no other thread is"
    );

    // Its own pins stay, those that may be on any thread too.
    static KEPT: AtomicUsize = AtomicUsize::new(0);
    let own = pin();
    assert!(in_child(|| {
        retire(2000, &KEPT, &pin());
        std::thread::spawn(|| retire(2000, &KEPT, &pin()))
            .join()
            .unwrap();
        let under = KEPT.load(Ordering::Relaxed);
        drop(own);
        await_count(&KEPT, 4000);
        under == 0
    }));
    let owned = pin_owned();
    assert!(in_child(|| {
        std::thread::spawn(|| retire(2000, &KEPT, &pin()))
            .join()
            .unwrap();
        let under = KEPT.load(Ordering::Relaxed);
        drop(owned);
        await_count(&KEPT, 2000);
        under == 0
    }));
    drop(over);
    other.join().unwrap();

    jobs_are_done_in_a_child();
    sections_of_others_are_over();
    locks_go_on(|| InWord);
    locks_go_on(|| Indicated::new(Groups::new(4)));
    // Under a sanitizer threads park in a table that a child inherits with entries of threads that it does not have.
    if cfg!(not(fyris_sanitize)) {
        forks_meet_threads_that_wait();
    }
    forks_meet_no_lock_held();
}

/// Checks that a child runs its jobs, though the thread that was at one of its parent's is not there.
fn jobs_are_done_in_a_child() {
    let (begun, has_begun) = mpsc::channel();
    let (over, is_over) = mpsc::channel::<()>();
    later(move || {
        begun.send(()).unwrap();
        let _ = is_over.recv();
    });
    has_begun.recv().unwrap();
    assert!(in_child(|| {
        set_alarm();
        let (done, is_done) = mpsc::channel();
        later(move || done.send(()).unwrap());
        is_done.recv().is_ok()
    }));
    drop(over);
}

/// Checks that a child waits neither for a section that another thread's word tells of nor one that it counts is waited
/// for in a child.
fn sections_of_others_are_over() {
    let (word, counted) = (Sections::default(), Sections::default());
    let (ready, over) = (Barrier::new(2), Barrier::new(2));
    let good = std::thread::scope(|s| {
        s.spawn(|| {
            let pin = pin();
            let _sections = (word.enter(&pin), counted.enter(&pin));
            ready.wait();
            over.wait();
        });
        ready.wait();
        let good = in_child(|| {
            // SAFETY: ends a child that waits for ever.
            unsafe { libc::alarm(60) };
            let pin = pin();
            word.wait(&pin);
            counted.wait(&pin);
            // The sections of the child are counted anew.
            drop((word.enter(&pin), counted.enter(&pin)));
            counted.wait(&pin);
            true
        });
        over.wait();
        good
    });
    assert!(good);
}

/// Ends a child that waits for ever.
fn set_alarm() {
    // SAFETY: a signal ends the process.
    unsafe { libc::alarm(60) };
}

/// Checks that threads of the child can lock: each waits for the others now and then.
fn threads_can_lock<R: Readers>(lock: &RwLock<RawFair<R>, u64>) -> bool {
    let before = *lock.read();
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| (0..500).for_each(|_| *lock.write() += 1));
        }
    });
    *lock.read() == before + 1500
}

/// Checks what a child finds of a lock: free, as its thread had it, or as another thread had it.
fn locks_go_on<R: Readers>(readers: fn() -> R) {
    let new = || RwLock::<RawFair<R>, u64>::from_raw(RawFair::with_readers(readers()), 0);
    let waiters = |lock: &RwLock<RawFair<R>, u64>| {
        // SAFETY: only asks who waits.
        let waiting = unsafe { lock.raw() }.waiting();
        waiting.readers + waiting.writers
    };
    let wait_for = |lock, number| {
        while waiters(lock) < number {
            std::thread::yield_now();
        }
    };

    let free = new();
    assert!(threads_can_lock(&free));
    assert!(in_child(|| {
        set_alarm();
        threads_can_lock(&free)
    }));

    // Its own thread writes, and others wait to write and to read: they are not there to be told.
    let own = new();
    std::thread::scope(|s| {
        let write = own.write();
        s.spawn(|| *own.write() += 1);
        s.spawn(|| *own.read());
        wait_for(&own, 2);
        assert!(in_child(|| {
            set_alarm();
            // SAFETY: the write lock of this thread, whose guard the child never drops.
            unsafe { own.force_unlock_write() };
            waiters(&own) == 0 && threads_can_lock(&own)
        }));
        drop(write);
    });
    assert_eq!(*own.read(), 1);

    // Its own thread reads, and another has the claim already.
    let own = new();
    std::thread::scope(|s| {
        let read = own.read();
        s.spawn(|| *own.write() += 1);
        wait_for(&own, 1);
        assert!(in_child(|| {
            set_alarm();
            // SAFETY: the read lock of this thread, whose guard the child never drops.
            unsafe { own.force_unlock_read() };
            waiters(&own) == 0 && threads_can_lock(&own)
        }));
        drop(read);
    });

    // What another thread has stays locked.
    let others = new();
    let (ready, over) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|s| {
        s.spawn(|| {
            let _write = others.write();
            ready.wait();
            over.wait();
        });
        ready.wait();
        assert!(in_child(
            || others.try_read().is_none() && others.try_write().is_none()
        ));
        over.wait();
    });
}

/// Forks while other threads enter and leave the queue of a lock that this thread has. Writers: a reader that tries at
/// the fork may leave a note behind that it reads.
fn forks_meet_threads_that_wait() {
    let lock = FairRwLock::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let wait = std::time::Duration::from_micros(20);
                    lock.try_write_for(wait)
                        .into_iter()
                        .for_each(|mut value| *value += 1);
                    drop(lock.try_read_for(wait));
                }
            });
        }
        let good = (0..100).all(|_| {
            let write = lock.write();
            let good = in_child(|| {
                set_alarm();
                // SAFETY: the write lock of this thread, whose guard the child never drops.
                unsafe { lock.force_unlock_write() };
                threads_can_lock(&lock)
            });
            drop(write);
            good
        });
        stop.store(true, Ordering::Relaxed);
        assert!(good);
    });
}

/// Forks while others pin, retire and end.
fn forks_meet_no_lock_held() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::scope(|s| {
                        s.spawn(|| {
                            retire(3, &FREED, &pin_owned());
                            pin().flush_on_drop();
                        });
                    });
                }
            });
        }
        // A pin of another thread that may move between threads holds back what the child retires; no lock does.
        let good = (0..200).all(|_| {
            in_child(|| {
                reclaimed(600);
                true
            })
        });
        stop.store(true, Ordering::Relaxed);
        assert!(good);
    });
}
