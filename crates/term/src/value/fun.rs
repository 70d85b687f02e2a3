//! Funs and big integers in pieces, for callers with terms of their own.

use crate::{Atom, LocalFun, Pid, Term};

use super::encode::ValueWriter;
use super::error::ValueErrorKind;
use super::reader::{Result, ValueReader};
use super::tag;

/// The code of a closure: module, index, arity and what tells one version of the module from another. Equal for
/// closures that differ in their creator and captured values only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunCode([u8; tag::FUN_CODE]);

impl FunCode {
    /// Returns the code of a closure.
    pub fn of(fun: &LocalFun) -> FunCode {
        let mut bytes = [0; tag::FUN_CODE];
        let mut rest = &mut bytes[..];
        let mut put = |part: &[u8]| {
            let (place, behind) = std::mem::take(&mut rest).split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        };
        put(&fun.module.id().to_le_bytes());
        put(&fun.index.to_le_bytes());
        put(&fun.old_uniq.to_le_bytes());
        put(&[fun.arity]);
        put(&fun.uniq);
        put(&fun.old_index.to_le_bytes());
        FunCode(bytes)
    }

    /// Returns the closure of this code with these captured values.
    ///
    /// # Errors
    ///
    /// Where the bytes name an atom that was never given out.
    pub fn fun(&self, creator: Pid, free: Vec<Term>) -> Result<LocalFun> {
        let mut reader = ValueReader { left: &self.0 };
        let module = reader.u32()?;
        Ok(LocalFun {
            module: Atom::from_id(module).ok_or(ValueErrorKind::UnknownAtom(module))?,
            index: reader.u32()?,
            old_uniq: reader.i64()?,
            arity: reader.byte()?,
            uniq: reader.array()?,
            old_index: reader.i64()?,
            creator,
            free: free.into(),
        })
    }

    /// Returns a number that most other codes do not have.
    #[inline]
    pub fn number(&self) -> u32 {
        let [module, index] =
            [0, 4].map(|at| self.0[at..].first_chunk().map(|b| u32::from_le_bytes(*b)));
        let (module, index) = (module.unwrap_or(0), index.unwrap_or(0));
        module.wrapping_mul(31).wrapping_add(index)
    }

    /// Reads the code of a closure.
    pub(super) fn read(reader: &mut ValueReader<'_>) -> Result<FunCode> {
        reader.array().map(FunCode)
    }
}

impl ValueWriter<'_> {
    /// Writes an integer of more than 64 bits: its sign, and the digits of its magnitude from the lowest. O(digits).
    ///
    /// Digits of a smaller integer are read back as another form of it than [`ValueWriter::int`] writes.
    pub fn big(&mut self, negative: bool, digits: &[u64]) {
        /// More bytes than most such integers have.
        const FEW: usize = 32;
        let unused = digits.last().map_or(0, |top| top.leading_zeros() / 8);
        let significant = digits.len() * 8 - unused as usize;
        let mut bytes = smallvec::SmallVec::<[u8; FEW]>::with_capacity(significant + 1);
        let mut carry = negative;
        for &digit in digits {
            let mut digit = digit;
            if negative {
                (digit, carry) = (!digit).overflowing_add(u64::from(carry));
            }
            bytes.extend_from_slice(&digit.to_le_bytes());
        }
        bytes.truncate(significant);
        // The top bit is the sign.
        if bytes.last().is_some_and(|&top| (top >= 0x80) != negative) {
            bytes.push(if negative { 0xFF } else { 0 });
        }
        self.head(tag::BIG, bytes.len());
        self.out.extend_from_slice(&bytes);
    }

    /// Writes an external fun.
    pub fn external_fun(&mut self, module: Atom, function: Atom, arity: u8) {
        self.out.push(tag::FUN_EXTERNAL);
        self.words(&[module.id(), function.id()]);
        self.out.push(arity);
    }

    /// Begins a closure: as many captured values follow.
    pub fn begin_fun(&mut self, code: &FunCode, creator: &Pid, captured: usize) {
        self.out.push(tag::FUN_LOCAL);
        self.out.extend_from_slice(&code.0);
        self.pid_body(creator);
        self.length(captured);
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;
    use crate::{Fun, arbitrary, value};

    fn encoded(term: &Term) -> Vec<u8> {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        value::encode(term, &mut bytes, &mut blobs);
        bytes
    }

    fn written(write: impl FnOnce(&mut ValueWriter<'_>)) -> Vec<u8> {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        write(&mut ValueWriter::new(&mut bytes, &mut blobs));
        bytes
    }

    fn check(value: &BigInt) {
        let term = Term::integer(value.clone());
        if let Term::Big(_) = term {
            let digits = value.magnitude().to_u64_digits();
            let negative = value.sign() == num_bigint::Sign::Minus;
            assert_eq!(
                written(|out| out.big(negative, &digits)),
                encoded(&term),
                "{value}"
            );
        }
    }

    #[test]
    fn digits_around_powers_of_two_are_written_as_the_integer() {
        for bits in 60..200 {
            for off in -2..=2 {
                let value = (BigInt::from(1) << bits) + off;
                check(&value);
                check(&-value);
            }
        }
    }

    proptest! {
        #[test]
        fn digits_are_written_as_the_integer(bytes in proptest::collection::vec(any::<u8>(), 8..80)) {
            check(&BigInt::from_signed_bytes_le(&bytes));
        }

        #[test]
        fn funs_are_written_as_whole_terms(term in arbitrary::term()) {
            let Term::Fun(fun) = &term else { return Ok(()) };
            let pieces = written(|out| match &**fun {
                Fun::External { module, function, arity } => out.external_fun(*module, *function, *arity),
                Fun::Local(fun) => {
                    out.begin_fun(&FunCode::of(fun), &fun.creator, fun.free.len());
                    fun.free.iter().for_each(|t| out.any(t));
                }
            });
            prop_assert_eq!(pieces, encoded(&term));
        }
    }
}
