//! Waiting for words that other processes give: spinning, then sleeping.
//!
//! A process that sleeps is woken by a system call, and has the processor some 30 us later: longer than a short turn.
//! So a process spins on its word first, as long as waits are short on average. It spins only while it is *near*: the
//! thread before it in the ring has the token, or there are processors for all. The process that passes the token on
//! wakes the thread that is near then, which spins while the new holder has its turn.

use std::cell::Cell;

use fyris_sync::atomic::{AtomicU32, Ordering};

use crate::shared::control::{Thread, control, state};
use crate::system::{LOCAL, Solo, real, sys};
use crate::turn::watchdog;

const GIVEN: u32 = 1;
const SLEEPS: u32 = 2;

/// States of `Thread::assigned`.
pub(crate) const BEGIN: u32 = 1;
pub(crate) const RETIRE: u32 = 2;

/// Loads of a word between two looks at the clock: a microsecond.
const LOADS: u32 = 32;
/// Nanoseconds that a process spins before it sleeps; more than that on average, and it spins briefly.
const SPIN: u64 = 100_000;
const BRIEFLY: u64 = 2_000;
/// Nanoseconds after which a spinning process yields the processor between loads: the giver may wait for it.
const YIELD_AFTER: u64 = 15_000;
/// The longest wait that the average counts. A wait that long, for a processor that other programs have, keeps the
/// process from spinning for the next dozen short ones: it is woken sooner than it comes back from a yield.
const LONGEST: u64 = 64 * SPIN;

/// The average of the latest waits, in nanoseconds: each counts for a quarter.
pub(crate) struct Average(Cell<u64>);

impl Average {
    pub(crate) const fn new() -> Self {
        Average(Cell::new(0))
    }

    /// Returns the nanoseconds to spin.
    fn spin(&self) -> u64 {
        match self.0.get() {
            0..=SPIN if processors() > 1 => SPIN,
            _ => BRIEFLY,
        }
    }

    fn add(&self, wait: u64) {
        self.0.set((3 * self.0.get() + wait.min(LONGEST)) / 4);
    }
}

/// The waits for the token, from when a thread is near.
static TURNS: Solo<Average> = Solo::new(Average::new());
/// The waits for another process, which is to begin or to end something.
static OTHERS: Solo<Average> = Solo::new(Average::new());

/// Returns the number of processors that this process may have.
fn processors() -> u32 {
    static KNOWN: Solo<Cell<u32>> = Solo::new(Cell::new(0));
    if KNOWN.get() == 0 {
        KNOWN.set(sys::processors());
    }
    KNOWN.get()
}

/// Spins until a word is `value`, from `start` for `spin` nanoseconds at most and while `near`. Returns whether it is.
fn spin(word: &AtomicU32, value: u32, start: u64, spin: u64, near: impl Fn() -> bool) -> bool {
    while near() {
        for _ in 0..LOADS {
            // Acquire: pairs with the Release of `signal`: what the giver did under the token is seen.
            if word.load(Ordering::Acquire) == value {
                return true;
            }
            std::hint::spin_loop();
        }
        match real::now() - start {
            spun if spun > spin => break,
            spun if spun > YIELD_AFTER => sys::yield_now(),
            _ => (),
        }
    }
    false
}

/// Spins until a word is `value`; if it takes long calls `sleep`, which waits for the word.
pub(crate) fn spin_or(word: &AtomicU32, value: u32, sleep: impl FnOnce()) {
    let start = real::now();
    if !spin(word, value, start, OTHERS.spin(), || true) {
        sleep();
    }
    OTHERS.add(real::now() - start);
}

/// Waits for a word to be given, and leaves it.
pub(crate) fn wait_for(word: &AtomicU32) {
    spin_or(word, GIVEN, || while !sleep_for(word) {});
}

/// Waits for the token, and takes it.
pub(crate) fn wait_for_turn() {
    let word = &control().thread(LOCAL.me.get()).go;
    let (mut near_since, mut seconds) = (None, 0);
    loop {
        let start = real::now();
        if is_near() {
            near_since.get_or_insert(start);
        }
        if spin(word, GIVEN, start, TURNS.spin(), is_near) {
            break;
        }
        let before = real::now();
        if sleep_for(word) {
            break;
        }
        if real::now() - before > 900_000_000 {
            seconds += 1;
            watchdog::waited(seconds);
        }
    }
    if let Some(since) = near_since {
        TURNS.add(real::now() - since);
    }
    // Relaxed: none gives it again before this process has passed it on.
    word.store(0, Ordering::Relaxed);
}

/// Returns whether spinning for the token pays. A hint: the ring changes meanwhile.
fn is_near() -> bool {
    let (control, me) = (control(), LOCAL.me.get());
    let (thread, turn) = (control.thread(me), control.turn.get());
    let (running, processors) = (control.running.get(), u64::from(processors()));
    match thread.state.get() {
        state::RING => turn == thread.previous.get() || turn == me as u64 || running <= processors,
        _ => running < processors,
    }
}

/// Sleeps until a word is given, for a second at most, or until it is woken early. Returns whether the word is given.
fn sleep_for(word: &AtomicU32) -> bool {
    // Acquire, both: as in `spin`.
    match word.compare_exchange(0, SLEEPS, Ordering::Acquire, Ordering::Acquire) {
        Err(GIVEN) => true,
        _ => {
            sys::futex_wait(word, SLEEPS);
            // Awake: the giver need not wake it.
            word.compare_exchange(SLEEPS, 0, Ordering::Acquire, Ordering::Acquire) == Err(GIVEN)
        }
    }
}

/// Gives a word, and wakes the process that sleeps for it.
pub(crate) fn signal(word: &AtomicU32) {
    // Release: pairs with the Acquire loads of `spin` and `sleep_for`.
    if word.swap(GIVEN, Ordering::Release) == SLEEPS {
        sys::futex_wake(word);
    }
}

/// Wakes the process that sleeps for a word before the word is given, so that it spins by then.
///
/// The word is the sleeper's to change: if it were changed here, and this process stopped before the call, the giver
/// would take the sleeper for awake.
pub(crate) fn wake_early(word: &AtomicU32) {
    // Relaxed: says nothing but that the process may load it again.
    if processors() > 1 && word.load(Ordering::Relaxed) == SLEEPS {
        sys::futex_wake(word);
    }
}

/// Says that this new thread has the memory of its creation.
pub(crate) fn begun() {
    signal(&control().thread(LOCAL.me.get()).begun);
}

/// Tells the process in a slot, which has no thread, what it is to do.
pub(crate) fn assign(thread: &Thread, what: u32) {
    // Release: pairs with the Acquire of `next_thread`.
    if thread.assigned.swap(what, Ordering::Release) == 3 {
        sys::futex_wake(&thread.assigned);
    }
}
