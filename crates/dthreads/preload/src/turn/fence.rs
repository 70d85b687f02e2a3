//! The scheme of Dthreads before CONVERSION, for comparison (`--fence`): threads compute together, and take their turns
//! together.
//!
//! A *round* is one turn of each thread in the ring. The first of a round waits until all others have come to their
//! synchronization points (the parallel phase ends); who has had a turn waits until the round is over (the serial phase
//! ends). Without isolation a commit while others compute would be seen by them; here it would not, and the waits are
//! the cost that isolation saves.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::shared::control::{Thread, control, record};
use crate::system::{LOCAL, real, sys};
use crate::turn::ring::walk;
use crate::turn::wait;

static ON: AtomicBool = AtomicBool::new(false);

/// Puts a fence before commits, here and in processes forked from here.
pub(crate) fn build() {
    // Relaxed: stored before the program begins.
    ON.store(true, Ordering::Relaxed);
    // Relaxed: as above.
    control().round.store(1, Ordering::Relaxed);
}

/// Returns whether there is a fence.
pub(crate) fn is_on() -> bool {
    // Relaxed: as above.
    ON.load(Ordering::Relaxed)
}

fn round() -> u32 {
    // Relaxed: it changes in turns.
    control().round.load(Ordering::Relaxed)
}

/// Adds to the time that this thread has spent at the fence.
fn waits(wait: impl FnOnce()) {
    let start = real::now();
    wait();
    record().threads[LOCAL.me.get()]
        .fence
        .add(real::now() - start);
}

/// Says that this thread is at a synchronization point: it waits for the token.
pub(crate) fn arrive() {
    if is_on() {
        wait::signal(&control().thread(LOCAL.me.get()).arrived);
    }
}

/// Begins a turn. The first of a round waits for the others to arrive.
pub(crate) fn begin_turn() {
    let control = control();
    if !is_on() || control.serial.get() == u64::from(round()) {
        return;
    }
    control.serial.set(u64::from(round()));
    let me = LOCAL.me.get();
    let others = walk(me).skip(1);
    waits(|| others.for_each(|slot| wait::wait_for(&control.thread(slot).arrived)));
}

/// Ends a turn: the token is about to be passed. Returns the round, for [`wait`].
pub(crate) fn end_turn() -> u32 {
    if is_on() {
        let thread = control().thread(LOCAL.me.get());
        // Relaxed: looked at in later turns.
        thread.arrived.store(0, Ordering::Relaxed);
        thread.round.set(u64::from(round()));
        // A thread that was alone has begun its turn before there was a round.
        control().serial.set(u64::from(round()));
    }
    round()
}

/// Ends the round if the thread that is next has had its turn in it.
pub(crate) fn pass(next: &Thread) {
    if is_on() && next.round.get() == u64::from(round()) {
        // Release: pairs with the Acquire of `wait`.
        control().round.store(round() + 1, Ordering::Release);
        sys::futex_wake_all(&control().round);
    }
}

/// Waits until a round is over.
pub(crate) fn wait(round: u32) {
    if !is_on() {
        return;
    }
    // Acquire: pairs with the Release of `pass`.
    let over = || control().round.load(Ordering::Acquire) != round;
    waits(|| {
        while !over() {
            sys::futex_wait(&control().round, round);
        }
    });
}
