//! The processes of aliases, beside the store.
//!
//! # Why
//!
//! Up to OTP 26 the machine compares, orders and writes an alias by its three numbers, and so it is stored there. But
//! in its words there is the process too. The machine can find that, by way of the external format, while the alias is
//! in use; that takes as long as ten lookups. So processes are remembered here by the numbers, for as many aliases as
//! there are places.
//!
//! # Invariant **ALIAS**: an alias keeps its process
//!
//! The machine gives the numbers of an alias to no other reference. So what is remembered never gets wrong, and is lost
//! only to another alias with the same place.
//!
//! # Invariant **EVEN_TURN**: a place is read whole
//!
//! The turn of a place is odd while one thread writes it, and another one afterwards. A reader takes what is there only
//! if it has seen the same even turn before and behind its loads.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use crate::machine::Term;

/// The numbers of an alias, and its process.
pub(crate) type Alias = ([u32; 3], Term);

/// The number of places: a megabyte, of which only pages in use take memory.
const PLACES: usize = 1 << 15;

struct AliasPlace {
    turn: AtomicU64,
    /// The numbers, two in the first.
    numbers: [AtomicU64; 2],
    process: AtomicUsize,
}

impl AliasPlace {
    const fn empty() -> AliasPlace {
        AliasPlace {
            turn: AtomicU64::new(0),
            numbers: [AtomicU64::new(0), AtomicU64::new(0)],
            process: AtomicUsize::new(0),
        }
    }
}

static ALL: [AliasPlace; PLACES] = [const { AliasPlace::empty() }; PLACES];

/// Returns the numbers as a place has them. No alias has zeros only: one bit marks them all.
fn packed([a, b, c]: [u32; 3]) -> [u64; 2] {
    [u64::from(a) | u64::from(b) << u32::BITS, c.into()]
}

/// Returns the place of an alias. Aliases that one scheduler makes in a row have adjacent places.
fn place([a, b, c]: [u32; 3]) -> &'static AliasPlace {
    /// An odd number that parts schedulers.
    const SPREAD: u32 = 0x9E37_79B1;
    let other = (b ^ c).wrapping_mul(SPREAD) >> u16::BITS;
    &ALL[a.wrapping_add(other) as usize % PLACES]
}

/// Returns the process of an alias with these numbers, if it is remembered.
#[inline]
pub(super) fn process_of(numbers: [u32; 3]) -> Option<Term> {
    let place = place(numbers);
    // Acquire: pairs with the end of the turn in `write`, so that the loads see that turn or a later one.
    let turn = place.turn.load(Ordering::Acquire);
    // Relaxed: EVEN_TURN tells whether they belong together.
    let found = [0, 1].map(|i| place.numbers[i].load(Ordering::Relaxed));
    let process = place.process.load(Ordering::Relaxed);
    // Acquire: pairs with the fence in `write`: with anything of a later turn this one has ended here.
    fence(Ordering::Acquire);
    let is_whole = turn.is_multiple_of(2) && place.turn.load(Ordering::Relaxed) == turn;
    let is_it = found == packed(numbers) || (turn > 0 && cfg!(fyris_mutant = "nif_alias_mixed"));
    (is_whole && is_it).then_some(Term(process))
}

/// Remembers the process of an alias, unless the place is being written.
#[inline]
pub(super) fn remember((numbers, process): Alias) {
    if process_of(numbers).is_none() {
        write(place(numbers), packed(numbers), process);
    }
}

#[cold]
fn write(place: &AliasPlace, numbers: [u64; 2], process: Term) {
    // Relaxed: only the exchange decides.
    let turn = place.turn.load(Ordering::Relaxed);
    if !turn.is_multiple_of(2) {
        return;
    }
    // Acquire: what the writer before has stored is before what is stored here.
    let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
    let begun = place
        .turn
        .compare_exchange(turn, turn + 1, success, failure);
    if begun.is_err() {
        return;
    }
    // Release: pairs with the Acquire fence in `process_of`. A reader that loads one of the stores below loads the odd
    // turn behind its fence (EVEN_TURN).
    fence(Ordering::Release);
    for (to, number) in place.numbers.iter().zip(numbers) {
        to.store(number, Ordering::Relaxed);
    }
    place.process.store(process.0, Ordering::Relaxed);
    // Release: pairs with the first load in `process_of`.
    place.turn.store(turn + 2, Ordering::Release);
}
