//! Local pids: the machine's word, and the two numbers that order them.
//!
//! A pid has a number and a serial number, which counts how often the numbers have wrapped around. Two layouts of the
//! word are known. Up to OTP 26 its low bits are the number, 15 bits, and the serial number, 13; above is the index in
//! the process table. Later its low 28 bits are the number, and above is the serial number; in a table of 2^n processes
//! the low n bits of the number are rotated left by three, so that processes started in a row are not in one cache
//! line. The layout, and n, are learned from pids of known numbers when the library is loaded.

use std::sync::atomic::{AtomicU32, Ordering};

use fyris_term::Pid;

use super::node::here;
use crate::load::Samples;
use crate::machine::Term;

/// The widths of the numbers in the older layout.
const OLD_NUMBER: u32 = 15;
const OLD_BOTH: u32 = 28;
/// The width of the number in the newer one, and the bits by which its low part is rotated.
const NUMBER: u32 = 28;
const ROTATED: u32 = 3;

/// The number of bits that are rotated; 0 in the older layout.
static PLACES: AtomicU32 = AtomicU32::new(0);

/// Returns a local pid as it is stored: its two numbers, and its place in the process table, if that is in the word.
#[inline]
pub(crate) fn local_pid(id: u64) -> Pid {
    // Relaxed: written once, before tables are made.
    split(id, PLACES.load(Ordering::Relaxed))
}

fn split(id: u64, places: u32) -> Pid {
    let (number, serial, place) = match places {
        0 => {
            let both = id & low(OLD_BOTH);
            (both & low(OLD_NUMBER), both >> OLD_NUMBER, id >> OLD_BOTH)
        }
        _ => {
            let rotated = id & low(places);
            let first = rotated >> ROTATED | (rotated & low(ROTATED)) << (places - ROTATED);
            (id & low(NUMBER) & !low(places) | first, id >> NUMBER, 0)
        }
    };
    Pid {
        node: here(),
        id: number as u32,
        serial: serial as u32,
        creation: place as u32,
    }
}

/// Returns the machine's local pid from its stored form; `None` for a foreign one.
#[inline]
pub(crate) fn from_local_pid(node: u32, id: u32, serial: u32, creation: u32) -> Option<Term> {
    let numbers = [id, serial, creation].map(u64::from);
    // Relaxed: learned before any call.
    let id = joined(numbers, PLACES.load(Ordering::Relaxed));
    (node == here().id()).then(|| Term::from_local_pid(id))
}

fn joined([number, serial, place]: [u64; 3], places: u32) -> u64 {
    match places {
        0 => place << OLD_BOTH | serial << OLD_NUMBER | number,
        _ => {
            let first = number & low(places);
            let rotated = (first << ROTATED | first >> (places - ROTATED)) & low(places);
            serial << NUMBER | number & !low(places) | rotated
        }
    }
}

/// Returns a number whose `bits` low bits are set.
const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Learns the layout from the pid with number 0 and serial number 1, and from those whose numbers are powers of two. In
/// any other layout pids come back all the same, but may be in another order than the machine's.
pub(super) fn learn(samples: &Samples) {
    let ids: Option<Vec<u64>> = samples.pids.iter().map(|pid| pid.local_pid()).collect();
    let Some([serial, ids @ ..]) = ids.as_deref() else {
        return;
    };
    // The number that has the lowest bit of the word.
    let lowest = ids.iter().position(|id| id & low(NUMBER) == 1);
    let places = lowest.map_or(0, |at| at as u32 + ROTATED);
    if places <= ROTATED || places > NUMBER {
        return;
    }
    let is_so = |(at, &id): (usize, &u64)| split(id, places).id == 1 << at;
    if ids.iter().enumerate().all(is_so) && split(*serial, places).serial == 1 {
        // Relaxed: the library is being loaded.
        PLACES.store(places, Ordering::Relaxed);
    }
}
