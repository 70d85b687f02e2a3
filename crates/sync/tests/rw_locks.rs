//! The reader-writer locks under threads: mutual exclusion with stalls anywhere, deadlines, panics, ends of threads.
#![cfg(not(any(loom, shuttle)))]

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fyris_sync::lock::rw::{
    Chosen, Groups, InWord, Indicated, Pointers, RawFair, ReadIndicator, Readers,
};
use lock_api::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

type Lock<R, T> = RwLock<RawFair<R>, T>;

/// Two numbers that differ only while a thread changes them.
type Pair = (Cell<u64>, Cell<u64>);

/// A lock over cells: what protects them is what is tested.
struct Shared<R>(Lock<R, Pair>);

// SAFETY: the cells are changed under the lock for writing only.
unsafe impl<R: Readers> Sync for Shared<R> {}

/// Random numbers.
struct Random(SmallRng);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// Stalls for a while, now and then for a turn of other threads.
    fn stall(&mut self) {
        match self.below(64) {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(Duration::from_micros(self.below(50))),
            short => (0..short).for_each(|turn| _ = black_box(turn)),
        }
    }

    /// Returns a short time for a thread to wait at most.
    fn patience(&mut self) -> Duration {
        Duration::from_micros(self.below(100))
    }
}

fn look(pair: &Pair, random: &mut Random) {
    let seen = pair.0.get();
    random.stall();
    assert_eq!(seen, pair.1.get(), "a writer is at work");
}

fn change(pair: &Pair, random: &mut Random, writes: &mut u64) {
    let seen = pair.0.get();
    pair.0.set(seen + 1);
    random.stall();
    assert_eq!(pair.1.replace(seen + 1), seen, "two writers");
    *writes += 1;
}

/// Does one of all that can be done with a lock.
fn step<R: Readers>(lock: &Lock<R, Pair>, random: &mut Random, writes: &mut u64) {
    match random.below(21) {
        0..7 => look(&lock.read(), random),
        7..11 => change(&lock.write(), random, writes),
        11 => lock.try_read().iter().for_each(|pair| look(pair, random)),
        12 => (lock.try_write().iter()).for_each(|pair| change(pair, random, writes)),
        13 => {
            let pair = lock.try_read_for(random.patience());
            pair.iter().for_each(|pair| look(pair, random));
        }
        14 => {
            let pair = lock.try_write_for(random.patience());
            (pair.iter()).for_each(|pair| change(pair, random, writes));
        }
        15 => {
            let pair = lock.write();
            change(&pair, random, writes);
            look(&RwLockWriteGuard::downgrade(pair), random);
        }
        16 => {
            let mut pair = lock.upgradable_read();
            look(&pair, random);
            pair.with_upgraded(|pair| change(pair, random, writes));
            look(&pair, random);
        }
        17 => {
            let pair = lock.upgradable_read();
            match RwLockUpgradableReadGuard::try_upgrade_for(pair, random.patience()) {
                Ok(pair) => change(&pair, random, writes),
                Err(pair) => look(&RwLockUpgradableReadGuard::downgrade(pair), random),
            }
        }
        18 => {
            let Some(pair) = lock.try_upgradable_read_for(random.patience()) else {
                return;
            };
            match RwLockUpgradableReadGuard::try_upgrade(pair) {
                Ok(pair) => {
                    change(&pair, random, writes);
                    let pair = RwLockWriteGuard::downgrade_to_upgradable(pair);
                    look(&pair, random);
                }
                Err(pair) => look(&pair, random),
            }
        }
        19 => {
            let mut pair = lock.write();
            change(&pair, random, writes);
            RwLockWriteGuard::bump(&mut pair);
            change(&pair, random, writes);
            RwLockWriteGuard::unlock_fair(pair);
        }
        _ => {
            // A reader that reads once more, if it may.
            let pair = lock.read();
            lock.try_read().iter().for_each(|again| look(again, random));
            look(&pair, random);
        }
    }
}

/// Returns the raw lock.
fn raw<R: Readers, T>(lock: &Lock<R, T>) -> &RawFair<R> {
    // SAFETY: the tests only ask it who waits.
    unsafe { lock.raw() }
}

fn all_that_can_be_done_excludes_writers<R: Readers>(readers: R) {
    const THREADS: u64 = 5;
    const STEPS: u64 = 4000;
    let shared = Shared(Lock::from_raw(
        RawFair::with_readers(readers),
        Pair::default(),
    ));
    let total = AtomicU64::new(0);
    std::thread::scope(|s| {
        for thread in 1..=THREADS {
            let (shared, total) = (&shared, &total);
            s.spawn(move || {
                let mut random = Random(SmallRng::seed_from_u64(thread));
                let mut writes = 0;
                (0..STEPS).for_each(|_| step(&shared.0, &mut random, &mut writes));
                total.fetch_add(writes, Ordering::Relaxed);
            });
        }
    });
    assert!(!shared.0.is_locked());
    let pair = shared.0.try_write().expect("free");
    assert_eq!(pair.0.get(), total.load(Ordering::Relaxed));
    assert_eq!(raw(&shared.0).waiting(), Default::default());
}

/// Waits until the given numbers of readers and writers wait for the lock.
fn await_waiting<R: Readers, T>(lock: &Lock<R, T>, readers: usize, writers: usize) {
    let begun = Instant::now();
    loop {
        let waiting = raw(lock).waiting();
        if (waiting.readers, waiting.writers) == (readers, writers) {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{waiting:?}");
        std::thread::yield_now();
    }
}

fn a_deadline_that_passes_leaves_nothing_behind<R: Readers>(readers: R) {
    let lock = &Lock::from_raw(RawFair::with_readers(readers), 0);
    let short = Duration::from_millis(1);
    let long = Duration::from_secs(60);
    std::thread::scope(|s| {
        let read = lock.read();
        s.spawn(|| assert!(lock.try_write_for(short).is_none()))
            .join()
            .unwrap();
        // The writer that gave up is in no reader's way.
        s.spawn(|| assert!(lock.try_read().is_some()))
            .join()
            .unwrap();
        drop(read);

        let write = lock.write();
        let gives_up = || {
            assert!(lock.try_read_for(short).is_none());
            assert!(lock.try_write_for(short).is_none());
            assert!(lock.try_upgradable_read_for(short).is_none());
            assert!(lock.try_write_until(Instant::now()).is_none());
        };
        s.spawn(gives_up).join().unwrap();
        assert_eq!(raw(lock).waiting(), Default::default());
        // Those who have time left get the lock.
        let got = s.spawn(|| lock.try_write_for(long).map(|mut value| *value += 1));
        await_waiting(lock, 0, 1);
        drop(write);
        assert_eq!(got.join().unwrap(), Some(()));
        assert!(lock.try_write_for(Duration::MAX).is_some());
    });
    assert_eq!(*lock.read(), 1);
}

/// A reader waits behind a writer, and the writer for the thread that reads upgradably. When the writer gives up, the
/// reader goes on.
fn a_writer_that_gives_up_lets_readers_in<R: Readers>(readers: R) {
    let lock = &Lock::from_raw(RawFair::with_readers(readers), ());
    // The reader has to come before the writer's time is up.
    let mut patience = (0..12).map(|round| Duration::from_millis(10 << round));
    let met = patience.any(|patience| a_reader_meets_a_writer(lock, patience));
    assert!(met, "the reader never came in time");
    assert_eq!(raw(lock).waiting(), Default::default());
}

/// Returns whether the reader came to wait behind the writer, which gives up after a time.
fn a_reader_meets_a_writer<R: Readers>(lock: &Lock<R, ()>, patience: Duration) -> bool {
    let upgradable = lock.upgradable_read();
    std::thread::scope(|s| {
        let writer = s.spawn(|| assert!(lock.try_write_for(patience).is_none()));
        while raw(lock).waiting().writers == 0 && !writer.is_finished() {
            std::thread::yield_now();
        }
        let reader = s.spawn(|| drop(lock.read()));
        let mut met = false;
        while !met && !writer.is_finished() && !reader.is_finished() {
            let waiting = raw(lock).waiting();
            met = (waiting.readers, waiting.writers) == (1, 1);
            std::thread::yield_now();
        }
        let begun = Instant::now();
        while !reader.is_finished() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        let goes_on = reader.is_finished();
        // So that the threads end if it does not.
        drop(upgradable);
        assert!(goes_on, "a reader waits for a writer that gave up");
        met
    })
}

fn readers_gather_and_all_follow_a_writer<R: Readers>(readers: R) {
    const READERS: usize = 6;
    let lock = &Lock::from_raw(RawFair::with_readers(readers), ());
    let inside = &AtomicU64::new(0);
    std::thread::scope(|s| {
        let write = lock.write();
        // A reader, a writer, and then more readers, which join the first before the writer.
        let read = || {
            let _read = lock.read();
            inside.fetch_add(1, Ordering::Relaxed);
            // None leaves until all are in: the writer between them would keep the late ones out for ever.
            let begun = Instant::now();
            while inside.load(Ordering::Relaxed) < READERS as u64 {
                assert!(begun.elapsed() < Duration::from_secs(60));
                std::thread::yield_now();
            }
        };
        s.spawn(read);
        await_waiting(lock, 1, 0);
        s.spawn(|| {
            let _write = lock.write();
            assert_eq!(inside.load(Ordering::Relaxed), READERS as u64);
        });
        await_waiting(lock, 1, 1);
        for more in 2..=READERS {
            s.spawn(read);
            await_waiting(lock, more, 1);
        }
        drop(write);
    });
}

fn a_panic_unlocks<R: Readers>(readers: R) {
    let lock = &Lock::from_raw(RawFair::with_readers(readers), 0);
    std::thread::scope(|s| {
        let failed = s.spawn(|| {
            let mut value = lock.write();
            *value += 1;
            panic!("under the lock");
        });
        assert!(failed.join().is_err());
        let failed = s.spawn(|| {
            let _value = lock.read();
            panic!("under the lock");
        });
        assert!(failed.join().is_err());
        let failed = s.spawn(|| {
            let mut value = lock.upgradable_read();
            value.with_upgraded(|_| panic!("under the lock"));
        });
        assert!(failed.join().is_err());
    });
    assert!(!lock.is_locked());
    assert_eq!(*lock.try_write().expect("free, and not poisoned"), 1);
}

/// A thread that ends with a guard it has forgotten leaves the lock locked; one that keeps its guard in a thread-local
/// value gives it up when that is dropped, after the thread's number has been given back.
fn a_thread_ends_inside<R: Readers + 'static>(readers: fn() -> R) {
    let lock = Lock::from_raw(RawFair::with_readers(readers()), ());
    let lock = &*Box::leak(Box::new(lock));
    std::thread::spawn(|| std::mem::forget(lock.read()))
        .join()
        .unwrap();
    assert!(lock.try_write().is_none() && lock.try_read().is_some());

    struct AtEnd(RefCell<Option<Box<dyn FnOnce()>>>);
    impl Drop for AtEnd {
        fn drop(&mut self) {
            self.0.take().into_iter().for_each(|end| end());
        }
    }
    thread_local! {
        // Made first, dropped last.
        static END: AtEnd = const { AtEnd(RefCell::new(None)) };
    }
    let lock = Lock::from_raw(RawFair::with_readers(readers()), ());
    let lock = &*Box::leak(Box::new(lock));
    std::thread::spawn(|| {
        END.with(|_| ());
        let read = lock.read();
        END.with(|end| {
            end.0.replace(Some(Box::new(|| {
                drop(read);
                drop((lock.read(), lock.try_read()));
                drop(lock.write());
            })));
        });
    })
    .join()
    .unwrap();
    assert!(lock.try_write().is_some());
}

fn a_lock_in_a_static<R: Readers + 'static>(lock: &'static Lock<R, u64>) {
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..1000 {
                    let seen = *lock.read();
                    let mut value = lock.write();
                    assert!(*value >= seen);
                    *value += 1;
                }
            });
        }
    });
    assert_eq!(*lock.read(), 3000);
}

macro_rules! tests {
    ($($kind:ident, $type:ty, $readers:expr;)*) => {$(
        mod $kind {
            use super::*;

            #[test]
            fn all_that_can_be_done_excludes_writers() {
                super::all_that_can_be_done_excludes_writers($readers);
            }

            #[test]
            fn a_deadline_that_passes_leaves_nothing_behind() {
                super::a_deadline_that_passes_leaves_nothing_behind($readers);
            }

            #[test]
            fn a_writer_that_gives_up_lets_readers_in() {
                super::a_writer_that_gives_up_lets_readers_in($readers);
            }

            #[test]
            fn readers_gather_and_all_follow_a_writer() {
                super::readers_gather_and_all_follow_a_writer($readers);
            }

            #[test]
            fn a_panic_unlocks() {
                super::a_panic_unlocks($readers);
            }

            #[test]
            fn a_thread_ends_inside() {
                super::a_thread_ends_inside(|| $readers);
            }

            #[test]
            fn a_lock_in_a_static() {
                static LOCK: Lock<$type, u64> = Lock::new(0);
                super::a_lock_in_a_static(&LOCK);
            }
        }
    )*};
}

tests! {
    in_word, InWord, InWord;
    in_groups, Indicated<Groups>, Indicated::new(Groups::new(4));
    by_pointers, Indicated<Pointers>, Indicated::new(Pointers::new());
    chosen_in_word, Chosen, Chosen::word();
    chosen_in_groups, Chosen, Chosen::groups(4);
    in_one_group, Indicated<Groups>, Indicated::new(Groups::new(1));
}

#[test]
fn groups_are_as_many_as_asked_for_and_made_when_read() {
    let numbers = [(1, 1), (3, 4), (64, 64), (1000, 64)];
    for (asked, number) in numbers {
        let groups = Groups::new(asked);
        assert_eq!((groups.number(), groups.memory()), (number, 0));
        assert!(groups.is_empty());
        let place = groups.place();
        groups.arrive(place);
        assert!(!groups.is_empty());
        assert!(groups.depart(place) && groups.is_empty());
        assert_eq!(groups.memory(), number * 128);
    }
    let default = Groups::new(0).number();
    assert!(default.is_power_of_two() && default <= 64);
}

/// More readers than a thread has words: of other locks, of the same, and of threads that share a place.
#[test]
fn readers_without_a_word_are_counted() {
    let (one, other) = (Pointers::new(), Pointers::new());
    let place = one.place();
    one.arrive(place);
    other.arrive(place);
    one.arrive(place);
    assert!(!one.is_empty() && !other.is_empty());
    // The word stands for one of the two readers, whichever goes first.
    assert!(one.depart(place));
    assert!(!one.is_empty());
    other.arrive(place);
    assert!(one.depart(place) && one.is_empty());
    other.depart(place);
    assert!(!other.is_empty());
    other.depart(place);
    assert!(other.is_empty());
    other.arrive(1000);
    assert!(!other.is_empty() && one.is_empty());
    assert!(other.depart(1000) && other.is_empty());
}
