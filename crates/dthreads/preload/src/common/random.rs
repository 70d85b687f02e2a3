//! The generators of random numbers that a program has one of: their state is shared, and changed in turns.
//!
//! libc's functions that are given a state do the work. While there is no other thread a call is no turn. Those of
//! `drand48`'s kin that are given their numbers need nothing of the state but what `lcong48` sets: each process has
//! that (`shared/variables.rs`), and no call of them is a turn.

use std::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ushort};
use std::ptr;

use fyris_dthreads_tools::record::{Number, Operation};

use crate::common::alone;
use crate::shared::control::{NUMBERS, control};
use crate::shared::variables::FACTORS;
use crate::system::on;
use crate::turn::in_turn;

unsafe extern "C" {
    fn random_r(state: *mut Number, result: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, state: *mut Number) -> c_int;
    fn initstate_r(seed: c_uint, numbers: *mut c_char, len: usize, state: *mut Number) -> c_int;
    fn setstate_r(numbers: *mut c_char, state: *mut Number) -> c_int;
    fn drand48_r(state: *mut Number, result: *mut c_double) -> c_int;
    fn lrand48_r(state: *mut Number, result: *mut c_long) -> c_int;
    fn mrand48_r(state: *mut Number, result: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, state: *mut Number) -> c_int;
    fn seed48_r(seed: *mut c_ushort, state: *mut Number) -> c_int;
    fn erand48_r(numbers: *mut c_ushort, state: *mut usize, result: *mut c_double) -> c_int;
    fn nrand48_r(numbers: *mut c_ushort, state: *mut usize, result: *mut c_long) -> c_int;
    fn jrand48_r(numbers: *mut c_ushort, state: *mut usize, result: *mut c_long) -> c_int;
    fn lcong48_r(parameters: *mut c_ushort, state: *mut Number) -> c_int;
}

/// Changes a generator in a turn.
fn turn<R>(change: impl FnOnce() -> R) -> R {
    match on() && !alone() {
        true => in_turn(Operation::Random, 0, |_| change()),
        false => change(),
    }
}

fn address(words: &'static [Number]) -> *mut Number {
    words.as_ptr().cast_mut()
}

/// Returns the state of `random`, which begins as libc's does. To be called in a turn.
fn random_state() -> *mut Number {
    let state = address(&control().random);
    if control().random[0].get() == 0 {
        let numbers = address(&control().random_numbers);
        // SAFETY: words of shared memory, as many as libc wants; who has the turn alone uses them (TOKEN).
        unsafe { initstate_r(1, numbers.cast(), NUMBERS * size_of::<Number>(), state) };
    }
    state
}

/// Returns where the numbers of the present state are. Before them is a word about them, which belongs to it.
fn numbers() -> *mut c_char {
    let at = control().random[2].get() as usize;
    ptr::with_exposed_provenance_mut(at - size_of::<i32>())
}

fn drand48_state() -> *mut Number {
    address(&control().drand48)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn random() -> c_long {
    let mut result = 0;
    // SAFETY: libc's function on its state, in a turn, and a variable of this frame.
    turn(|| unsafe { random_r(random_state(), &mut result) });
    c_long::from(result)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn rand() -> c_int {
    random() as c_int
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn srandom(seed: c_uint) {
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe { srandom_r(seed, random_state()) });
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn srand(seed: c_uint) {
    srandom(seed);
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn initstate(seed: c_uint, to: *mut c_char, len: usize) -> *mut c_char {
    turn(|| {
        let state = random_state();
        let before = numbers();
        // SAFETY: libc's function on its state, in a turn, and the caller's memory.
        match unsafe { initstate_r(seed, to, len, state) } {
            0 => before,
            _ => ptr::null_mut(),
        }
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn setstate(to: *mut c_char) -> *mut c_char {
    turn(|| {
        let state = random_state();
        let before = numbers();
        // SAFETY: libc's function on its state, in a turn, and the caller's memory.
        match unsafe { setstate_r(to, state) } {
            0 => before,
            _ => ptr::null_mut(),
        }
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn drand48() -> c_double {
    let mut result = 0.0;
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe { drand48_r(drand48_state(), &mut result) });
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn lrand48() -> c_long {
    let mut result = 0;
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe { lrand48_r(drand48_state(), &mut result) });
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn mrand48() -> c_long {
    let mut result = 0;
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe { mrand48_r(drand48_state(), &mut result) });
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn srand48(seed: c_long) {
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe {
        srand48_r(seed, drand48_state());
        note_factors();
    });
}

/// Notes what the generators are made by, after a change. To be called in a turn.
fn note_factors() {
    for (factor, word) in FACTORS.iter().zip(&control().drand48[1..]) {
        factor.set(word.get() as usize);
    }
}

/// Returns a state of `drand48` with no numbers.
fn factors() -> [usize; 3] {
    [0, FACTORS[0].get(), FACTORS[1].get()]
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn erand48(numbers: *mut c_ushort) -> c_double {
    let mut result = 0.0;
    // SAFETY: libc's function on a state of this frame, and the caller's memory.
    unsafe { erand48_r(numbers, factors().as_mut_ptr(), &mut result) };
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn nrand48(numbers: *mut c_ushort) -> c_long {
    let mut result = 0;
    // SAFETY: as in `erand48`.
    unsafe { nrand48_r(numbers, factors().as_mut_ptr(), &mut result) };
    result
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn jrand48(numbers: *mut c_ushort) -> c_long {
    let mut result = 0;
    // SAFETY: as in `erand48`.
    unsafe { jrand48_r(numbers, factors().as_mut_ptr(), &mut result) };
    result
}

/// Returns where the seed before is kept: behind the present one.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn seed48(seed: *mut c_ushort) -> *mut c_ushort {
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe {
        seed48_r(seed, drand48_state());
        note_factors();
    });
    drand48_state().cast::<c_ushort>().wrapping_add(3)
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn lcong48(parameters: *mut c_ushort) {
    // SAFETY: libc's function on its state, in a turn, and the caller's memory.
    turn(|| unsafe {
        lcong48_r(parameters, drand48_state());
        note_factors();
    });
}
