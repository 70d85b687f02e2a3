//! Integers that take more than one word: a header that has the sign, and digits of 64 bits from the lowest (the
//! machine's `big.h`).

use std::slice;

use fyris_term::Term as Owned;
use num_bigint::{BigInt, Sign};
use smallvec::SmallVec;

use crate::machine::{
    ARITY_SHIFT, BOXED, Env, Learned, Room, SUBTAG, Term, address, header, word_of, words_of,
};

/// Digits that need no allocation on their way from bytes.
const FEW: usize = 8;

/// A large integer, where it is.
pub(crate) struct Large<'t> {
    pub(crate) negative: bool,
    /// The digits of the magnitude, from the lowest; the last is not zero.
    pub(crate) digits: &'t [u64],
}

impl Large<'_> {
    /// Returns the value, if it has no more than 64 bits.
    pub(crate) fn as_int(&self) -> Option<i64> {
        let &[digit] = self.digits else {
            return None;
        };
        match self.negative {
            true => 0i64.checked_sub_unsigned(digit),
            false => digit.try_into().ok(),
        }
    }
}

/// The kinds in the headers of large integers, of those above and of those below zero.
static KINDS: Learned<[usize; 2]> = Learned::new();

pub(crate) fn are_known() -> bool {
    KINDS.is_known()
}

/// Learns the kinds; the number of digits stands in the headers besides.
pub(super) fn learn(env: Env) {
    KINDS.learn(|| {
        let kind_of = |sign: Sign| {
            let header_of = |digits: &[u32]| {
                let large = BigInt::from_slice(sign, digits);
                let term = env.encoded(&Owned::integer(large))?;
                let [header, first, second]: [usize; 3] = words_of(term)?;
                let [low, high] = [0, 2].map(|at| word_of(digits[at], digits[at + 1]));
                ([first, second] == [low, high]).then_some(header)
            };
            let (two, three) = (header_of(&[1, 2, 3, 4])?, header_of(&[5, 6, 7, 8, 9, 10])?);
            let kind = two.checked_sub(2 << ARITY_SHIFT)?;
            (three == 3 << ARITY_SHIFT | kind && kind <= SUBTAG).then_some(kind)
        };
        Some([kind_of(Sign::Plus)?, kind_of(Sign::Minus)?])
    });
}

impl<'t> Large<'t> {
    /// Returns a large integer, read where it is; `None` for anything else, and where such look otherwise. Valid during
    /// the call that the term belongs to (CALL).
    #[inline]
    pub(super) fn see(term: Term) -> Option<Large<'t>> {
        let &[plus, minus] = KINDS.get()?;
        let header = header(term)?;
        let sign = header & SUBTAG;
        // SAFETY: behind the header are as many digits as it says (ARITY).
        (sign == plus || sign == minus).then(|| unsafe {
            let digits = address(term).add(1).cast();
            Large {
                negative: sign == minus,
                digits: slice::from_raw_parts(digits, header >> ARITY_SHIFT),
            }
        })
    }
}

/// Returns a large integer; `None` for anything else, and where such look otherwise.
pub(crate) fn read(term: Term) -> Option<BigInt> {
    let large = Large::see(term)?;
    let sign = match large.negative {
        true => Sign::Minus,
        false => Sign::Plus,
    };
    let halves = |digit: &u64| [*digit as u32, (*digit >> u32::BITS) as u32];
    let digits: Vec<u32> = large.digits.iter().flat_map(halves).collect();
    Some(BigInt::from_slice(sign, &digits))
}

impl Room {
    /// Returns an integer of more than 64 bits; `None` where such look otherwise than we know.
    pub(crate) fn large(&mut self, negative: bool, digits: &[u64]) -> Option<Term> {
        let &[plus, minus] = KINDS.get()?;
        let at = self.take(1 + digits.len())?;
        let subtag = if negative { minus } else { plus };
        // SAFETY: as many words are ours; the header says that they are one whole integer (WHOLE).
        unsafe {
            at.add(1)
                .cast::<u64>()
                .copy_from_nonoverlapping(digits.as_ptr(), digits.len());
            at.write(digits.len() << ARITY_SHIFT | subtag);
        }
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Returns an integer of more than 64 bits, from bytes in two's complement, low ones first; `None` where such look
    /// otherwise than we know.
    pub(crate) fn large_from_bytes(&mut self, bytes: &[u8]) -> Option<Term> {
        let negative = bytes.last().is_some_and(|&top| top >= 0x80);
        let mut digits: SmallVec<[u64; FEW]> = SmallVec::new();
        let mut carry = negative;
        for chunk in bytes.chunks(8) {
            let mut digit = [if negative { 0xFF } else { 0 }; 8];
            digit[..chunk.len()].copy_from_slice(chunk);
            let mut digit = u64::from_le_bytes(digit);
            if negative {
                (digit, carry) = (!digit).overflowing_add(carry.into());
            }
            digits.push(digit);
        }
        while digits.last() == Some(&0) {
            digits.pop();
        }
        self.large(negative, &digits)
    }
}
