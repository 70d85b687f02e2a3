//! The list of those that take part.

use crate::array_mix::{ArrayContender, own as own_arrays};
use crate::core::contender::Contender;
use crate::core::keys::Bytes20;
use crate::core::{own, store};

/// The contenders of the suites; a suite with subjects of Fyris alone has no list here.
pub struct Registry {
    /// The program's name: `fyris-bench` or `fyris-compare`, for messages.
    pub program: &'static str,
    /// `core`: subjects with `u64` keys.
    pub u64: Vec<Contender<u64>>,
    /// `core`: subjects with 20-byte keys.
    pub bytes20: Vec<Contender<Bytes20>>,
    /// `core`: tables of the store with integer keys.
    pub term_int: Vec<Contender<u64>>,
    /// `core`: tables of the store with binaries as keys.
    pub term_bin20: Vec<Contender<Bytes20>>,
    /// `array_mix`: shared arrays.
    pub array_mix: Vec<ArrayContender>,
}

impl Registry {
    /// Fyris alone, and the empty loop.
    pub fn own(program: &'static str) -> Self {
        Self {
            program,
            u64: own::u64(),
            bytes20: own::bytes20(),
            term_int: store::term_int(),
            term_bin20: store::term_bin20(),
            array_mix: own_arrays(),
        }
    }
}
