//! Models of the lock, over every kind of readers: every interleaving of two or three threads under loom, random
//! schedules of four under shuttle.
//!
//! A model in which a signal is lost does not end, which both checkers report. A hold that is not exclusive is an
//! access to the cell beside another thread's (loom), or a value that changes under a reader (both).

use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::atomic::Ordering;
use crate::cell::UnsafeCell;
use crate::thread::spawn;

/// A lock with two numbers under it, which are equal unless a thread writes.
struct Shared<R> {
    lock: RawFair<R>,
    values: UnsafeCell<(u64, u64)>,
}

// SAFETY: the values are reached under the lock only.
unsafe impl<R: Readers> Sync for Shared<R> {}
// SAFETY: as above.
unsafe impl<R: Readers> Send for Shared<R> {}

/// A deadline, which has passed in a model: a thread that has to wait enqueues and withdraws.
fn passed() -> Option<Instant> {
    Some(Instant::now())
}

impl<R: Readers + 'static> Shared<R> {
    fn new(readers: R) -> Arc<Self> {
        Arc::new(Self {
            lock: RawFair::with_readers(readers),
            values: UnsafeCell::new((0, 0)),
        })
    }

    /// Looks at the values, under a hold that keeps writers out.
    fn look(&self) {
        // SAFETY: the caller has the lock.
        let (one, other) = self.values.with(|values| unsafe { *values });
        assert_eq!(one, other, "a writer is at work");
        // A step at which another thread may run, for shuttle.
        assert!(self.lock.is_locked());
        // SAFETY: as above.
        assert_eq!(one, self.values.with(|values| unsafe { (*values).1 }));
    }

    /// Changes the values, under an exclusive hold.
    fn change(&self) {
        // SAFETY: the caller has the lock alone.
        self.values.with_mut(|values| unsafe { (*values).0 += 1 });
        assert!(self.lock.is_locked_exclusive());
        // SAFETY: as above.
        self.values.with_mut(|values| unsafe { (*values).1 += 1 });
    }

    /// Reads, if the lock is had in time.
    fn read(&self, deadline: Option<Instant>) {
        let got = self.lock.read(deadline);
        assert!(got || deadline.is_some(), "without a deadline it waits");
        if got {
            self.look();
            // SAFETY: locked above.
            unsafe { self.lock.unlock_shared() };
        }
    }

    /// Writes, if the lock is had in time. Returns the number of writes, as all of the following do.
    fn write(&self, deadline: Option<Instant>) -> u64 {
        let got = self.lock.write(deadline);
        assert!(got || deadline.is_some(), "without a deadline it waits");
        self.write_if(got)
    }

    /// Writes, if the lock is free.
    fn try_write(&self) -> u64 {
        self.write_if(self.lock.try_lock_exclusive())
    }

    fn write_if(&self, locked: bool) -> u64 {
        if locked {
            self.change();
            // SAFETY: locked, says the caller.
            unsafe { self.lock.unlock_exclusive() };
        }
        u64::from(locked)
    }

    /// Reads upgradably, and then writes if the readers are gone in time.
    fn upgrade(&self, deadline: Option<Instant>) -> u64 {
        self.lock.read_upgradably(None);
        self.look();
        // SAFETY: locked above; the lock is held as the result says.
        unsafe {
            let upgraded = self.lock.upgrade_until(deadline);
            if upgraded {
                self.change();
                self.lock.downgrade_to_upgradable();
            }
            self.look();
            self.lock.unlock_upgradable();
            u64::from(upgraded)
        }
    }

    /// Writes, and then reads.
    fn downgrade(&self) -> u64 {
        self.lock.write(None);
        self.change();
        // SAFETY: locked above.
        unsafe {
            self.lock.downgrade();
            self.look();
            self.lock.unlock_shared();
        }
        1
    }

    /// Checks that all is as at the beginning: no bit is set but that for readers, no thread is noted or queued.
    fn is_free(&self, writes: u64) {
        assert!(self.lock.try_lock_exclusive(), "{:?}", self.lock.word);
        // SAFETY: locked above.
        let values = self.values.with(|values| unsafe { *values });
        assert_eq!(values, (writes, writes));
        // SAFETY: as above.
        unsafe { self.lock.unlock_exclusive() };
        // Relaxed: no other thread is left.
        assert_eq!(self.lock.word.load(Ordering::Relaxed), 0);
        assert_eq!(self.lock.waiting(), Waiting::default());
    }
}

/// What a thread of a model does; returns how often it wrote.
type Act<R> = fn(&Shared<R>) -> u64;

/// Runs the acts, each in a thread, and checks what they leave behind.
fn run<R: Readers + 'static>(readers: R, acts: &[Act<R>]) {
    let shared = Shared::new(readers);
    let others = acts[1..].iter().map(|&act| {
        let shared = Arc::clone(&shared);
        spawn(move || act(&shared))
    });
    let others: Vec<_> = others.collect();
    let first = acts[0](&shared);
    let writes = others.into_iter().map(|other| other.join().unwrap());
    shared.is_free(first + writes.sum::<u64>());
}

fn reads<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.read(None);
    0
}

fn writes<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.write(None)
}

fn reads_or_gives_up<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.read(passed());
    0
}

fn writes_or_gives_up<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.write(passed())
}

fn tries<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.try_write()
}

fn upgrades<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.upgrade(None)
}

fn upgrades_or_gives_up<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.upgrade(passed())
}

fn downgrades<R: Readers + 'static>(shared: &Shared<R>) -> u64 {
    shared.downgrade()
}

/// The models: a name, and what each thread does. Each over every kind of readers.
macro_rules! models {
    ($($name:ident: $($act:ident)*;)*) => {
        mod in_word {
            use super::*;
            $(#[test]
            fn $name() {
                check(|| run(InWord, &[$($act),*]));
            })*
        }

        mod in_groups {
            use super::*;
            $(#[test]
            fn $name() {
                check(|| run(Indicated::new(Groups::new(2)), &[$($act),*]));
            })*
        }

        mod by_pointers {
            use super::*;
            $(#[test]
            fn $name() {
                check(|| run(Indicated::new(Pointers::new()), &[$($act),*]));
            })*
        }
    };
}

#[cfg(loom)]
fn check(model: impl Fn() + Sync + Send + 'static) {
    loom::model(model);
}

#[cfg(loom)]
models! {
    one_writer_at_a_time: writes writes;
    no_reader_beside_a_writer: reads writes;
    a_writer_waits_for_both_readers: reads writes reads;
    both_readers_follow_a_writer: writes reads reads;
    writers_and_a_reader_take_turns: writes writes reads;
    a_reader_gives_up: writes reads_or_gives_up;
    a_writer_gives_up_before_a_reader: reads writes_or_gives_up reads;
    a_try_is_undone: reads tries reads;
    an_upgrade_waits_for_readers: upgrades reads;
    an_upgrade_is_before_those_who_wait: upgrades writes reads;
    an_upgrade_gives_up: upgrades_or_gives_up reads;
    a_downgrade_lets_readers_in: downgrades reads;
}

/// Half of the schedules are random at every step, half let a thread go on for long.
#[cfg(shuttle)]
fn check(model: impl Fn() + Sync + Send + 'static) {
    let model = Arc::new(model);
    let other = Arc::clone(&model);
    shuttle::check_random(move || model(), 3000);
    shuttle::check_pct(move || other(), 3000, 3);
}

#[cfg(shuttle)]
models! {
    readers_and_writers: reads writes reads writes;
    many_readers_follow_writers: writes reads reads reads;
    some_give_up: reads_or_gives_up writes_or_gives_up writes reads;
    writers_give_up: writes_or_gives_up reads writes_or_gives_up reads;
    upgrades_take_turns: upgrades upgrades reads writes;
    an_upgrade_gives_up: upgrades_or_gives_up reads writes reads;
    a_downgrade_lets_readers_in: downgrades writes reads upgrades;
    tries_are_undone: tries tries reads writes;
}
