//! The memory that compressed terms take, of a whole file.

use fyris_term::Term;
use fyris_term::etf::{self, DecodeError, InflateBudget};

/// Bytes of memory that compressed terms may take for each byte of the file: more than what OTP's own compression of
/// most terms saves.
const FOR_A_BYTE: u64 = 32;

/// Decodes the terms of a file, with a bound on what all compressed ones among them take together.
///
/// Invariant **COMPRESSED**: compressed terms take no more memory than the bytes that [`Inflated::new`] was given and
/// `FOR_A_BYTE` for each byte of the file that has been read, however much each term inflates to.
#[derive(Debug)]
pub struct Inflated {
    most: u64,
    taken: u64,
}

impl Inflated {
    /// Makes room for `most` bytes, beside those that the file's own length gives.
    pub fn new(most: u64) -> Inflated {
        Inflated { most, taken: 0 }
    }

    /// Decodes the term that `bytes` begin with, and whose last byte is at `offset` of the file at the most. Returns it
    /// with the number of bytes that it took.
    ///
    /// # Errors
    ///
    /// Those of [`etf::decode_prefix_within`].
    pub fn decode(&mut self, bytes: &[u8], offset: u64) -> Result<(Term, usize), DecodeError> {
        let most = self.most.saturating_add(offset.saturating_mul(FOR_A_BYTE));
        let before = InflateBudget::new(most.saturating_sub(self.taken));
        let mut budget = before;
        let decoded = etf::decode_prefix_within(bytes, &mut budget);
        if !cfg!(fyris_mutant = "dump_inflates_anew") {
            self.taken += before.left() - budget.left();
        }
        decoded
    }
}
