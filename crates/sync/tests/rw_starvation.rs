//! No thread starves: how many of the other side pass a thread that waits, however long they go on.
//!
//! Nothing here depends on time. A step is taken when the lock says that those wait who are meant to, and who gets in
//! is counted. A lock that prefers one side lets it pass as often as the test goes on: shown by two such locks of the
//! same interface.
#![cfg(not(any(loom, shuttle)))]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use fyris_sync::lock::rw::{Groups, InWord, Indicated, Pointers, RawFair, Readers, Waiting};
use lock_api::{RawRwLock, RawRwLockTimed, RawRwLockUpgradeTimed};

/// A lock that tells who waits for it.
trait Watched: RawRwLock + Sync {
    fn watch(&self) -> Waiting;
}

impl<R: Readers> Watched for RawFair<R> {
    fn watch(&self) -> Waiting {
        self.waiting()
    }
}

/// A lock that prefers readers, or writers: one of a test.
struct Preferring<const WRITERS: bool> {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    readers: usize,
    writer: bool,
    waiting: Waiting,
}

impl<const WRITERS: bool> Preferring<WRITERS> {
    fn may_read(state: &State) -> bool {
        !(state.writer || WRITERS && state.waiting.writers > 0)
    }

    fn may_write(state: &State) -> bool {
        !state.writer && state.readers == 0 && (WRITERS || state.waiting.readers == 0)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
    }
}

// SAFETY: the state says which threads have the lock, and changes under a mutex.
unsafe impl<const WRITERS: bool> RawRwLock for Preferring<WRITERS> {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "lock_api asks for it"
    )]
    const INIT: Self = Self {
        state: Mutex::new(State {
            readers: 0,
            writer: false,
            waiting: Waiting {
                readers: 0,
                writers: 0,
            },
        }),
        changed: Condvar::new(),
    };
    type GuardMarker = lock_api::GuardNoSend;

    fn lock_shared(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting.readers += 1;
        let wait = |state: &mut State| !Self::may_read(state);
        let mut state = self.changed.wait_while(state, wait).unwrap();
        state.waiting.readers -= 1;
        state.readers += 1;
    }

    fn try_lock_shared(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        let may = Self::may_read(&state);
        state.readers += usize::from(may);
        may
    }

    unsafe fn unlock_shared(&self) {
        self.change(|state| state.readers -= 1);
    }

    fn lock_exclusive(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting.writers += 1;
        let wait = |state: &mut State| !Self::may_write(state);
        let mut state = self.changed.wait_while(state, wait).unwrap();
        state.waiting.writers -= 1;
        state.writer = true;
    }

    fn try_lock_exclusive(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        state.writer |= Self::may_write(&state);
        state.writer
    }

    unsafe fn unlock_exclusive(&self) {
        self.change(|state| state.writer = false);
    }
}

impl<const WRITERS: bool> Watched for Preferring<WRITERS> {
    fn watch(&self) -> Waiting {
        self.state.lock().unwrap().waiting
    }
}

/// So many may pass a waiting thread before the test gives up: the thread starves.
const MOST: usize = 2000;

/// Waits until `is_so`.
fn wait_until(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never is so");
        std::thread::yield_now();
    }
}

/// Returns how many readers, of which there always is one, get the lock while a writer waits.
fn readers_that_pass_a_writer<L: Watched>(lock: L) -> usize {
    lock.lock_shared();
    std::thread::scope(|s| {
        s.spawn(|| {
            lock.lock_exclusive();
            // SAFETY: locked above.
            unsafe { lock.unlock_exclusive() };
        });
        wait_until(|| lock.watch().writers == 1);
        // The next reader comes before the last one goes.
        let passed = (0..MOST).take_while(|_| {
            let next = lock.try_lock_shared();
            if next {
                // SAFETY: locked before.
                unsafe { lock.unlock_shared() };
            }
            next
        });
        let passed = passed.count();
        // SAFETY: the last reader's.
        unsafe { lock.unlock_shared() };
        passed
    })
}

/// Returns how many writers, of which one always waits when another unlocks, get the lock while a reader waits.
fn writers_that_pass_a_reader<L: Watched>(lock: L) -> usize {
    let read = AtomicBool::new(false);
    let (passed, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    // Writes, and goes when another writer waits; until the reader has read.
    let writes = || {
        while passed.load(Ordering::SeqCst) < MOST {
            lock.lock_exclusive();
            let over = read.load(Ordering::SeqCst);
            if !over {
                passed.fetch_add(1, Ordering::SeqCst);
                wait_until(|| lock.watch().writers > 0 || ended.load(Ordering::SeqCst));
            }
            // SAFETY: locked above.
            unsafe { lock.unlock_exclusive() };
            if over {
                break;
            }
        }
        ended.store(true, Ordering::SeqCst);
    };
    lock.lock_exclusive();
    std::thread::scope(|s| {
        s.spawn(|| {
            lock.lock_shared();
            read.store(true, Ordering::SeqCst);
            // SAFETY: locked above.
            unsafe { lock.unlock_shared() };
        });
        wait_until(|| lock.watch().readers == 1);
        (0..2).for_each(|_| drop(s.spawn(writes)));
        wait_until(|| lock.watch().writers == 2);
        // SAFETY: locked above.
        unsafe { lock.unlock_exclusive() };
    });
    passed.into_inner()
}

#[test]
fn none_passes_a_waiting_thread() {
    fn check<R: Readers>(lock: impl Fn() -> RawFair<R>) {
        assert_eq!(readers_that_pass_a_writer(lock()), 0);
        assert_eq!(writers_that_pass_a_reader(lock()), 0);
    }
    check(|| RawFair::with_readers(InWord));
    check(|| RawFair::with_readers(Indicated::new(Groups::new(4))));
    check(|| RawFair::with_readers(Indicated::new(Pointers::new())));
}

#[test]
fn a_lock_that_prefers_readers_starves_a_writer() {
    assert_eq!(readers_that_pass_a_writer(Preferring::<false>::INIT), MOST);
    assert_eq!(writers_that_pass_a_reader(Preferring::<false>::INIT), 0);
}

#[test]
fn a_lock_that_prefers_writers_starves_a_reader() {
    assert_eq!(readers_that_pass_a_writer(Preferring::<true>::INIT), 0);
    let passed = writers_that_pass_a_reader(Preferring::<true>::INIT);
    assert!(passed >= MOST, "{passed}");
}

/// Places of readers that count how often one arrives.
struct Counting<R>(R, AtomicUsize);

// SAFETY: those of `R`, which keep the contract.
unsafe impl<R: Readers> Readers for Counting<R> {
    const INIT: Self = Self(R::INIT, AtomicUsize::new(0));

    fn stale(&self) -> u64 {
        self.0.stale()
    }

    fn place(&self) -> usize {
        self.0.place()
    }

    fn arrive(&self, word: &AtomicU64, place: usize) -> u64 {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.arrive(word, place)
    }

    fn admit(&self, place: usize) {
        self.0.admit(place);
    }

    fn noted(&self, word: u64, readers: u64) -> u64 {
        self.0.noted(word, readers)
    }

    fn depart(&self, word: &AtomicU64, place: usize) -> u64 {
        self.0.depart(word, place)
    }

    fn is_empty(&self, word: &AtomicU64) -> bool {
        self.0.is_empty(word)
    }
}

/// A thread that tries while another writes, or is about to, is not noted as a reader for a moment: many of them would
/// look to the writer like a reader that stays.
#[test]
fn who_only_tries_does_not_arrive() {
    fn check<R: Readers>() {
        let lock = RawFair::with_readers(Counting::<R>::INIT);
        lock.lock_exclusive();
        for _ in 0..10 {
            assert!(!lock.try_lock_shared());
            assert!(!lock.try_lock_shared_for(Duration::ZERO));
            assert!(!lock.try_lock_upgradable());
            assert!(!lock.try_lock_upgradable_for(Duration::ZERO));
        }
        assert_eq!(lock.readers().1.load(Ordering::Relaxed), 0);
        // SAFETY: locked above.
        unsafe { lock.unlock_exclusive() };
        assert!(lock.try_lock_shared());
        // SAFETY: locked above.
        unsafe { lock.unlock_shared() };
    }
    check::<InWord>();
    check::<Indicated<Groups>>();
    check::<Indicated<Pointers>>();
}

/// Threads that poll, each in its own way, keep neither writers out nor each other.
#[test]
fn who_only_tries_keeps_nobody_out() {
    const WRITES: usize = 100;
    const POLLING: usize = 16;
    fn check<R: Readers>() {
        let (lock, over) = (
            &RawFair::<R>::with_readers(R::INIT),
            &AtomicBool::new(false),
        );
        let moment = Duration::from_micros(1);
        std::thread::scope(|s| {
            for n in 0..POLLING {
                s.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        // SAFETY: each unlocks what it has locked.
                        unsafe {
                            match n % 4 {
                                0 if lock.try_lock_shared() => lock.unlock_shared(),
                                1 if lock.try_lock_shared_for(moment) => lock.unlock_shared(),
                                2 if lock.try_lock_upgradable() => lock.unlock_upgradable(),
                                3 if lock.try_lock_upgradable_for(moment) => {
                                    lock.unlock_upgradable();
                                }
                                _ => {}
                            }
                        }
                    }
                });
            }
            let begun = Instant::now();
            for write in 0..WRITES {
                let got = lock.try_lock_exclusive_for(Duration::from_secs(5));
                over.fetch_or(!got, Ordering::Relaxed);
                assert!(
                    got,
                    "kept out of write {write}, after {:?}",
                    begun.elapsed()
                );
                // SAFETY: locked above.
                unsafe { lock.unlock_exclusive() };
            }
            over.store(true, Ordering::Relaxed);
        });
    }
    check::<InWord>();
    check::<Indicated<Groups>>();
    check::<Indicated<Pointers>>();
}
