//! The external term format: how Erlang nodes write terms as bytes.
//!
//! # Why
//!
//! Everything that reaches Fyris from a real node (a dump, a message, a golden file) is in this
//! format, and everything Fyris hands back has to be readable by such a node. So the decoder takes
//! each tag that OTP 25 to 29 can write, and the encoder writes what `term_to_binary` would have
//! written, byte for byte.
//!
//! # Shape
//!
//! ```text
//! 131 term               a term
//! 131 80 size:32 zlib    the same, compressed: `size` bytes once inflated
//! ```
//!
//! A term is one tag byte and the fields that the tag asks for; `tag.rs` lists the tags. Numbers are big-endian, except
//! the digits of a bignum.
//!
//! # Invariants
//!
//! *Bounded allocation.* No declared length is believed. `EtfReader::claim` admits a container of `n`
//! elements only if the bytes left can hold them *and* every element still owed to the containers
//! around it, one byte each at the least. The room reserved by a whole decode is thus at most one
//! `Term` for each byte of input, however the containers nest. Compressed input is inflated
//! piece by piece, up to the declared size and no more, and the declaration itself is refused where deflate could not
//! reach it or [`MAX_INFLATED`] forbids it; and the elements in the inflated bytes are limited, four million and
//! sixteen for each compressed byte, because the memory they take is thirty-two thousand times these bytes otherwise.
//!
//! *Any depth.* What is nested is read and written on any stack, with some hundred bytes of heap a level. A list whose
//! tail is written as one more list is not deeper for it: it is read in a loop.
//!
//! *Errors point.* A [`DecodeError`] carries the offset of the byte where the offending item
//! begins, never beyond the end of the input.
//!
//! *Canonical.* A value that `binary_to_term` accepts in more than one spelling (a bignum that fits a small integer, an
//! empty `LIST_EXT`, a bitstring of whole bytes, a map in any order) becomes one `Term`.
//!
//! # Differences from `binary_to_term` of OTP 25
//!
//! * Compressed terms whose checksum is wrong, references without any word, and `fun M:F/A` with an arity above 255 are refused; OTP takes them.
//! * Compressed terms that inflate to more than [`MAX_INFLATED`] bytes, or to millions of elements that were hardly any
//!   bytes (see *bounded allocation*), are refused; OTP takes them if the memory is there.
//! * A few tags between 71 and 79 stand for addresses and table indexes inside a running node, which yet reads them
//!   from any peer. They are no tags here.
//! * `0.0` and `-0.0` may both be keys of one map, as in OTP 27.
//! * No node name is special: OTP applies narrower limits to identifiers of the node it runs on.
//! * Bytes behind the term are an error in [`decode`]; OTP ignores them, as [`decode_prefix`] does.
//!
//! Refused by both: `ATOM_CACHE_REF` (it means nothing outside a connection), `FUN_EXT` (gone since
//! OTP 23), `LOCAL_EXT` (OTP 26; only the node that wrote it can tell what it says), bytes that are
//! no UTF-8 in an atom, infinities and NaN, a map with one key twice.
//!
//! # Order of maps
//!
//! The pairs of a map are written in the exact order of the keys. This is the order that `[deterministic]` asks for on
//! every release, and that OTP 25 uses by itself for maps of up to 32 pairs. Larger maps are written by OTP, unless
//! asked to be deterministic, in the order of a private hash: nothing to be reproduced, and nothing a reader may depend
//! on.

mod atoms;
mod decode;
mod encode;
mod error;
mod identifiers;
mod inflate;
mod measure;
mod reader;
mod record;
mod tag;

use crate::Term;

pub use encode::{Compression, EncodeError, EncodeOptions, MinorVersion};
pub use error::{DecodeError, DecodeErrorKind};
pub use inflate::{InflateBudget, MAX_INFLATED};

/// The first byte of every external term.
pub const VERSION: u8 = tag::VERSION;

/// Decodes one term that begins with the version byte 131 and fills `input` entirely.
///
/// Linear in the input (a map that is not written in order is sorted); allocates at most a constant
/// times the length of the input; of compressed input, of what it inflates to, and that for few elements only.
///
/// # Errors
///
/// The first thing found wrong, with its offset.
pub fn decode(input: &[u8]) -> Result<Term, DecodeError> {
    whole(input, decode_prefix(input)?)
}

/// Decodes one term that fills `input` entirely, and makes no atoms, as `binary_to_term(Bytes, [safe])` does: for bytes
/// from anywhere, as atoms are kept for ever. Costs as [`decode`].
///
/// # Errors
///
/// The first thing found wrong, with its offset; an atom that is not known is [`DecodeErrorKind::UnknownAtom`].
pub fn decode_known(input: &[u8]) -> Result<Term, DecodeError> {
    let mut reader = reader::EtfReader::known(input);
    let term = decode::versioned(&mut reader, &mut InflateBudget::new(u64::MAX))?;
    whole(input, (term, reader.offset()))
}

/// Decodes one term that begins with the version byte; returns it with the number of bytes that it took, as
/// `binary_to_term(Bytes, [used])` does.
///
/// # Errors
///
/// The first thing found wrong, with its offset.
pub fn decode_prefix(input: &[u8]) -> Result<(Term, usize), DecodeError> {
    decode_prefix_within(input, &mut InflateBudget::new(u64::MAX))
}

/// Decodes one term that begins with the version byte, with the number of bytes that it took. If it is compressed, its
/// memory is taken from the budget, so that one budget bounds any number of decodes, whatever their terms inflate to.
///
/// # Errors
///
/// The first thing found wrong, with its offset; a compressed term for which the budget has no room is
/// [`DecodeErrorKind::TooLarge`] or [`DecodeErrorKind::TooManyElements`].
pub fn decode_prefix_within(
    input: &[u8],
    budget: &mut InflateBudget,
) -> Result<(Term, usize), DecodeError> {
    let mut reader = reader::EtfReader::new(input);
    let term = decode::versioned(&mut reader, budget)?;
    Ok((term, reader.offset()))
}

/// Takes from the budget as much as [`decode_prefix_within`] takes for the same bytes, without building a term: nothing
/// unless they begin with a compressed one. Works in one loop, whatever the depth; takes no more memory than the term
/// inflates to.
///
/// # Errors
///
/// [`DecodeErrorKind::TooLarge`] or [`DecodeErrorKind::TooManyElements`] if the budget has no room. The bytes are read
/// only as far as they tell where terms end, so bytes that do not decode may be measured.
pub fn measure_prefix_within(input: &[u8], budget: &mut InflateBudget) -> Result<(), DecodeError> {
    match input {
        [VERSION, tag::COMPRESSED, ..] => {
            let mut reader = reader::EtfReader::new(input);
            reader.advance(1);
            measure::compressed(&mut reader, budget)
        }
        _ => Ok(()),
    }
}

/// Decodes one term without the version byte that fills `input` entirely.
///
/// # Errors
///
/// The first thing found wrong, with its offset. Compressed terms need the version byte.
pub fn decode_bare(input: &[u8]) -> Result<Term, DecodeError> {
    whole(input, decode_bare_prefix(input)?)
}

/// Decodes one term without the version byte, and tells how many bytes it took.
///
/// # Errors
///
/// The first thing found wrong, with its offset. Compressed terms need the version byte.
pub fn decode_bare_prefix(input: &[u8]) -> Result<(Term, usize), DecodeError> {
    let mut reader = reader::EtfReader::new(input);
    let term = decode::term(&mut reader)?;
    Ok((term, reader.offset()))
}

fn whole(input: &[u8], (term, used): (Term, usize)) -> Result<Term, DecodeError> {
    match input.len() - used {
        0 => Ok(term),
        count => Err(DecodeError::new(used, DecodeErrorKind::Trailing { count })),
    }
}

/// Returns the bytes that `term_to_binary(Term)` gives on OTP 26 and later (atoms always in UTF-8); see
/// [`EncodeOptions::otp25`] for the bytes of OTP 25. Maps are in the exact order of their keys.
///
/// # Panics
///
/// If a binary in the term is longer than 2^32 - 1 bytes, which the format cannot say;
/// [`EncodeOptions::encode`] returns that as an error.
pub fn encode(term: &Term) -> Vec<u8> {
    let mut out = Vec::new();
    encode_into(term, &mut out);
    out
}

/// Appends the bytes of [`encode`] to `out`.
///
/// # Panics
///
/// If a binary in the term is longer than 2^32 - 1 bytes.
pub fn encode_into(term: &Term, out: &mut Vec<u8>) {
    EncodeOptions::default()
        .encode_into(term, out)
        .expect("a term that the format can express");
}

/// Returns the bytes that `term_to_binary(Term, [deterministic])` gives on OTP 26 and later.
///
/// The same bytes as [`encode`], which writes maps in this order anyway; the name promises that it
/// stays so.
///
/// # Panics
///
/// If a binary in the term is longer than 2^32 - 1 bytes.
pub fn encode_deterministic(term: &Term) -> Vec<u8> {
    encode(term)
}
