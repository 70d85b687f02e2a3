//! Threads in system calls that may last: waits for signals, for other programs' data, for children.
//!
//! Such a thread publishes what it has written and leaves the ring, so it holds up no other. Its memory stays as it is
//! meanwhile; it is brought up to date when the thread is back. Two things bring it back:
//!
//! * A signal that a thread of the program sends to it. That is decided in the sender's turn, which puts it into the
//!   ring: the order is the same in every run.
//! * Anything else. The moment comes from outside, and is the program's input: the thread says that it wants to come
//!   back, and the holder of the token puts it into the ring at the end of the turn.
//!
//! Invariant **PARKED**: when the ring is empty and no sleeper has a deadline, the token is parked, and the next thread
//! to come back takes it. A parker looks for arrivals after parking, an arriving thread looks for the parked token
//! after announcing itself: all of these accesses are SeqCst, so one of the two sees the other.

use fyris_sync::atomic::Ordering;

use crate::shared::control::{control, state};
use crate::system::{LOCAL, noise};
use crate::turn::{ring, skip};

/// States of `Thread::outside`; 0 in the ring or elsewhere.
const OUT: u32 = 1;
const WANTS_BACK: u32 = 2;
const CALLED: u32 = 3;

/// Notes that this thread is about to leave the ring. The token is here.
pub(crate) fn begin(accepts: u64) {
    let control = control();
    let thread = control.thread(LOCAL.me.get());
    thread.accepts.set(accepts);
    thread.signal.set(0);
    // Relaxed: others look at it in turns, after this one.
    thread.outside.store(OUT, Ordering::Relaxed);
    control.outside.add(1);
}

/// Returns the signal by which this thread was called back; 0 if none has done so.
pub(crate) fn called() -> u64 {
    let thread = control().thread(LOCAL.me.get());
    // Acquire: pairs with the Release of `call`, which comes after the signal's number is set.
    match thread.outside.load(Ordering::Acquire) {
        CALLED => thread.signal.get(),
        _ => 0,
    }
}

/// Asks for a place in the ring. Returns the signal by which this thread has one already; 0 if it will be admitted.
pub(crate) fn end() -> u64 {
    let (control, me) = (control(), LOCAL.me.get());
    let thread = control.thread(me);
    // Acquire: as in `called`. Release: pairs with the Acquire of `admitted`.
    let wanted =
        thread
            .outside
            .compare_exchange(OUT, WANTS_BACK, Ordering::AcqRel, Ordering::Acquire);
    if wanted.is_err() {
        return called();
    }
    // SeqCst: see PARKED.
    control.arrivals.store(1, Ordering::SeqCst);
    unpark();
    0
}

/// Puts a thread into the ring that waits outside for this signal; false if it does not. The token is here; the signal
/// itself is to be sent, too.
pub(crate) fn call(slot: usize, signal: u64) -> bool {
    let control = control();
    let thread = control.thread(slot);
    if thread.state.get() != state::OUTSIDE || thread.accepts.get() & bit(signal) == 0 {
        return false;
    }
    thread.signal.set(signal);
    // Release: pairs with the Acquire of `called`. A failure means that the thread comes back by itself.
    let called = thread
        .outside
        .compare_exchange(OUT, CALLED, Ordering::Release, Ordering::Relaxed);
    if called.is_err() {
        return false;
    }
    control.outside.set(control.outside.get() - 1);
    ring::enter(slot);
    true
}

/// Returns the bit of a signal in a mask.
pub(crate) fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// Puts the threads into the ring that want to come back. The token is here, and this thread in the ring.
pub(crate) fn admit() {
    let control = control();
    // Relaxed: an arrival that is not seen now is seen in a later turn, or when the token is parked.
    if control.arrivals.load(Ordering::Relaxed) == 0 {
        return;
    }
    admitted().for_each(ring::enter);
}

/// Takes the slots of the threads that want to come back off the list of those outside.
fn admitted() -> impl Iterator<Item = usize> {
    let control = control();
    // SeqCst: see PARKED. Before the threads are looked at: one that comes later announces itself anew.
    control.arrivals.store(0, Ordering::SeqCst);
    control.used().filter_map(move |(slot, thread)| {
        // Acquire: pairs with the AcqRel of `end`.
        if thread.outside.load(Ordering::Acquire) != WANTS_BACK {
            return None;
        }
        // Relaxed: its process waits for the token now.
        thread.outside.store(0, Ordering::Relaxed);
        control.outside.set(control.outside.get() - 1);
        Some(slot)
    })
}

/// Leaves the token to the next thread that comes back: the ring is empty.
pub(crate) fn park() {
    LOCAL.holding.set(false);
    // A thread may announce itself after the last turn has looked for arrivals: noise makes that common.
    noise::delay();
    // SeqCst: see PARKED. What was done under the token is seen by the thread that takes it.
    control().parked.store(1, Ordering::SeqCst);
    if !cfg!(fyris_mutant = "dthreads_parks_blindly") {
        unpark();
    }
}

/// Takes a parked token for the threads that want to come back, and passes it to the first of them.
fn unpark() {
    let control = control();
    // SeqCst, all: see PARKED.
    while control.arrivals.load(Ordering::SeqCst) != 0
        && control.parked.swap(0, Ordering::SeqCst) == 1
    {
        let mut threads = admitted();
        if let Some(first) = threads.next() {
            ring::alone(first);
            threads.for_each(|slot| ring::enter_before(slot, first));
            return skip::give(first);
        }
        // The threads that had announced themselves are back already.
        control.parked.store(1, Ordering::SeqCst);
    }
}
