//! Who gets the token next: the ring skips threads that are expected to compute for long.
//!
//! A ring that gives each thread one turn a round makes a thread that synchronizes often wait for one that computes
//! for long: the reader of a compressor waits until a block is compressed before it may read the next one. An order
//! by executed instructions (Kendo, ASPLOS 2009) lets the reader go ahead, but needs hardware counters, which virtual
//! machines often lack. A commit counts something else that is a function of the program and its input: the pages
//! that the thread has changed since its turn before. They are remembered for the *place* where the computation
//! began, by its callers; when a thread comes from there again, it is skipped for a number of rounds.
//!
//! Invariant **SKIP**: a thread has rounds to be skipped only while it is in the ring without the token. They are set
//! at the end of its turn and count down as the token passes it by. If all threads are to be skipped, the one with
//! the fewest rounds is next.
//!
//! So the order is decided. A wrong forecast costs a thread time: as many turns of the others.

use fyris_dthreads_tools::record::{self, Operation};

use crate::shared::control::{Forecast, PLACES, Thread, control};
use crate::shared::memory::{PAGE, stack_of};
use crate::system::{LOCAL, image};
use crate::turn::wait::{signal, wake_early};
use crate::turn::{fence, ring};

/// Fewer pages are no long computation: a turn takes about as long as changing them.
const LEAST: u64 = 16;
/// Pages for which a thread is skipped a round.
const PAGES_A_ROUND: u64 = 4;
/// The most rounds that a thread is skipped: the others may compute in each for longer than it does.
const MOST: u64 = 256;
/// Addresses that make a place, and words of the stack that are searched for them.
const CALLERS: usize = 4;
const WORDS: usize = 64;

/// Notes the bytes of the program's memory that a system call has filled: they took no computation.
pub(crate) fn filled(bytes: i64) {
    if LOCAL.on() && !LOCAL.is_inside() {
        let bytes = LOCAL.filled.get() + bytes.max(0) as usize;
        LOCAL.filled.set(bytes);
    }
}

/// Returns whether this turn is one that the library has by itself: it interrupts a computation of the program.
fn is_own() -> bool {
    LOCAL.call.get()[0] == 0
}

/// Remembers the pages that this thread has changed since its last turn, by the first commit of the turn after.
pub(crate) fn remember(published: usize) {
    let filled = LOCAL.filled.replace(0).div_ceil(PAGE);
    let pages = LOCAL.changed.get() + published.saturating_sub(filled);
    if is_own() {
        return LOCAL.changed.set(pages);
    }
    LOCAL.changed.set(0);
    let place = LOCAL.place.replace(0);
    if place != 0 {
        let forecast = forecast(place);
        forecast.place.set(place);
        forecast.pages.set(pages as u64);
    }
}

fn forecast(place: u64) -> &'static Forecast {
    &control().forecasts[place as usize % PLACES]
}

/// Sets how long this thread is skipped, which ends its turn with this operation. With a fence none is: it could not
/// begin its computation before its next turn.
pub(crate) fn begin(operation: Operation) {
    if fence::is_on() || cfg!(fyris_mutant = "dthreads_skips_none") {
        return;
    }
    let thread = control().thread(LOCAL.me.get());
    if !is_own() {
        LOCAL.place.set(place(thread, operation));
    }
    let forecast = forecast(LOCAL.place.get());
    let is_known = forecast.place.get() == LOCAL.place.get();
    if is_known && forecast.pages.get() >= LEAST {
        set(thread, (forecast.pages.get() / PAGES_A_ROUND).min(MOST));
    }
}

/// Returns a hash of where the program is, which does not depend on where the loader has put it. Threads of one
/// function share places: they do the same work.
fn place(thread: &Thread, operation: Operation) -> u64 {
    let known = [thread.function.get(), LOCAL.call.get()[0] as u64];
    let known = known.map(|address| image::offset_in_code(address).unwrap_or(0));
    let all = known.into_iter().chain(callers(thread));
    all.fold(1, |place, caller| record::mix(place, 0, operation, caller))
}

/// Returns the addresses of code that are first on the program's stack: where callers go on, and what earlier frames
/// have left there.
fn callers(thread: &Thread) -> impl Iterator<Item = u64> {
    let stack = stack_of(LOCAL.me.get(), thread);
    let low = LOCAL.call.get()[1].next_multiple_of(size_of::<u64>());
    // A program may have switched to another stack.
    let end = match stack.contains(&low) {
        true => stack.end.min(low + WORDS * size_of::<u64>()),
        false => low,
    };
    let words = (low..end).step_by(size_of::<u64>()).map(|at| {
        // SAFETY: aligned, and on the program's stack above its pointer, whose end is that of a page.
        unsafe { std::ptr::with_exposed_provenance::<u64>(at).read_volatile() }
    });
    words.filter_map(image::offset_in_code).take(CALLERS)
}

/// Sets the rounds of a thread, and counts the threads that have any.
fn set(thread: &Thread, rounds: u64) {
    let (skipped, before) = (&control().skipped, thread.rounds.get());
    skipped.set(skipped.get() + u64::from(rounds > 0) - u64::from(before > 0));
    thread.rounds.set(rounds);
}

/// Chooses the thread whose turn is next: in the order of the ring, `first` first.
pub(crate) fn choose(first: usize) -> usize {
    let control = control();
    if control.skipped.get() == 0 {
        return first;
    }
    let rounds = |slot: usize| control.thread(slot).rounds.get();
    let fewest = ring::walk(first).map(rounds).min().unwrap_or(0);
    let mut chosen = None;
    for slot in ring::walk(first) {
        let more = rounds(slot) - fewest;
        if chosen.is_none() && more == 0 {
            chosen = Some(slot);
        }
        // Those before the chosen one are skipped in its round, too.
        let passed = u64::from(chosen.is_none());
        set(control.thread(slot), more - passed);
    }
    chosen.unwrap_or(first)
}

/// Returns whether the token passes a thread by in this round.
fn is_skipped(thread: &Thread) -> bool {
    thread.rounds.get() > 0
}

/// Passes the token to the thread in a slot.
pub(crate) fn give(slot: usize) {
    let control = control();
    let behind = control.thread(control.thread(slot).next.get() as usize);
    // Now: the token's next holder changes it (TOKEN).
    let is_near = !is_skipped(behind);
    LOCAL.holding.set(false);
    fence::pass(control.thread(slot));
    control.turn.set(slot as u64);
    signal(&control.thread(slot).go);
    if is_near {
        wake_early(&behind.go);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes the token by one thread after the other until one has no round left.
    fn walk(rounds: &mut [(usize, u64)]) -> usize {
        loop {
            for (slot, rounds) in rounds.iter_mut() {
                match *rounds {
                    0 => return *slot,
                    _ => *rounds -= 1,
                }
            }
        }
    }

    #[test]
    fn the_next_thread_is_the_one_that_a_walk_around_the_ring_finds() {
        ring::alone(0);
        (1..5).for_each(|slot| ring::enter_before(slot, 0));
        let mut random = 7u64;
        let mut first = 0;
        for _ in 0..10_000 {
            for slot in 0..5 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                if random >> 62 == 0 {
                    set(control().thread(slot), (random >> 32) % 9);
                }
            }
            let rounds = |slot| (slot, control().thread(slot).rounds.get());
            let mut known: Vec<_> = ring::walk(first).map(rounds).collect();
            assert_eq!(known.len(), 5);
            let next = walk(&mut known);
            assert_eq!(choose(first), next);
            for (slot, rounds) in known {
                assert_eq!(control().thread(slot).rounds.get(), rounds);
            }
            let skipped = ring::walk(0).filter(|&slot| is_skipped(control().thread(slot)));
            assert_eq!(control().skipped.get(), skipped.count() as u64);
            first = control().thread(next).next.get() as usize;
        }
    }
}
