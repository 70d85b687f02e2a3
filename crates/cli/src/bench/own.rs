//! Fyris under measurement: the plain Rust faces of the two indexes.

use super::keys::Bytes20;
use super::subject::{Contender, Harness};

/// The subjects with `u64` keys.
pub fn u64() -> Vec<Contender<u64>> {
    vec![Contender::peer::<Harness>("harness")]
}

/// The subjects with 20-byte keys.
pub fn bytes20() -> Vec<Contender<Bytes20>> {
    vec![Contender::peer::<Harness>("harness")]
}
