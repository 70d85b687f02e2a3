//! Waiting for words that other processes give: looking at them, and sleeping for them.
//!
//! A process that sleeps is woken by a system call, and has the processor some 30 us later: longer than a short turn.
//! So a process looks at its word, as long as waits are short. It looks only while it is *near*: the thread that has
//! the token is the one before it in the ring, or there are processors for all. Who passes the token on wakes the
//! thread that is near then, which comes to look while the new holder has its turn.

use std::cell::Cell;

use fyris_sync::atomic::{AtomicU32, Ordering};

use crate::control::{control, state};
use crate::local::{LOCAL, Solo};
use crate::{sys, watchdog};

pub(crate) const GIVEN: u32 = 1;
const SLEEPS: u32 = 2;

/// Looks at a word from one look at the time to the next: a microsecond.
const LOOKS: u32 = 32;
/// Nanoseconds that a process looks at a word before it sleeps for it, and where waits are longer on average.
const LONG: u64 = 100_000;
const SHORT: u64 = 2_000;
/// Nanoseconds after which a process that looks lets others run.
const YIELDS: u64 = 15_000;
/// The longest wait that the average knows of. A wait that long, for a processor that others have, keeps the process
/// from looking for a dozen short ones: where others want the processors it is quicker woken than let on again.
const LONGEST: u64 = 64 * LONG;

/// The average of the latest waits, in nanoseconds: each counts for a quarter.
pub(crate) struct Average(Cell<u64>);

impl Average {
    pub(crate) const fn new() -> Self {
        Average(Cell::new(0))
    }

    /// Returns the time that is worth looking.
    fn patience(&self) -> u64 {
        match self.0.get() {
            0..=LONG if processors() > 1 => LONG,
            _ => SHORT,
        }
    }

    fn add(&self, wait: u64) {
        self.0.set((3 * self.0.get() + wait.min(LONGEST)) / 4);
    }
}

/// The waits for the token, while near.
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

/// Looks at a word until it is `value`; false if it is not, after a while, or if `near` says so.
fn look(word: &AtomicU32, value: u32, patience: u64, near: impl Fn() -> bool) -> bool {
    let start = sys::now();
    while near() {
        for _ in 0..LOOKS {
            // Acquire: pairs with the Release of `signal`: what the giver did under the token is seen.
            if word.load(Ordering::Acquire) == value {
                return true;
            }
            std::hint::spin_loop();
        }
        match sys::now() - start {
            looked if looked > patience => break,
            // The giver may be waiting for this very processor.
            looked if looked > YIELDS => sys::yield_now(),
            _ => (),
        }
    }
    false
}

/// Looks at a word until it is `value`, for a while; then calls `sleep`, which waits for it.
pub(crate) fn look_or(word: &AtomicU32, value: u32, sleep: impl FnOnce()) {
    let start = sys::now();
    if !look(word, value, OTHERS.patience(), || true) {
        sleep();
    }
    OTHERS.add(sys::now() - start);
}

/// Waits for a word to be given, and leaves it.
pub(crate) fn wait_for(word: &AtomicU32) {
    look_or(word, GIVEN, || while !sleep_for(word) {});
}

/// Waits for the token, and takes it.
pub(crate) fn wait_for_turn() {
    let word = &control().thread(LOCAL.me.get()).go;
    let (mut near_since, mut seconds) = (None, 0);
    loop {
        if is_near() && near_since.is_none() {
            near_since = Some(sys::now());
        }
        if look(word, GIVEN, TURNS.patience(), is_near) {
            break;
        }
        let before = sys::now();
        if sleep_for(word) {
            break;
        }
        if sys::now() - before > 900_000_000 {
            seconds += 1;
            watchdog::waited(seconds);
        }
    }
    if let Some(since) = near_since {
        TURNS.add(sys::now() - since);
    }
    // Relaxed: none gives it again before this process has passed it on.
    word.store(0, Ordering::Relaxed);
}

/// Returns whether it pays to look for the token. A guess: the ring changes meanwhile.
fn is_near() -> bool {
    let (control, me) = (control(), LOCAL.me.get());
    let (thread, turn) = (control.thread(me), control.turn.get());
    let (running, processors) = (control.running.get(), u64::from(processors()));
    match thread.state.get() {
        state::RING => turn == thread.previous.get() || turn == me as u64 || running <= processors,
        _ => running < processors,
    }
}

/// Sleeps until a word is given, for a second at most, or until it is roused. Returns whether it is given.
fn sleep_for(word: &AtomicU32) -> bool {
    // Acquire, both: as in `look`.
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
    // Release: pairs with the Acquire loads of `look` and `sleep_for`.
    if word.swap(GIVEN, Ordering::Release) == SLEEPS {
        sys::futex_wake(word);
    }
}

/// Wakes the process that sleeps for a word, which is to be given soon.
///
/// The word is the sleeper's to change: if it were changed here, and this process stopped before the call, the giver
/// would take the sleeper for awake.
pub(crate) fn rouse(word: &AtomicU32) {
    // Relaxed: says nothing but that the process may look again.
    if processors() > 1 && word.load(Ordering::Relaxed) == SLEEPS {
        sys::futex_wake(word);
    }
}
