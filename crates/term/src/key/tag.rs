//! The tag bytes of keys, in Erlang's order of types.
//!
//! Every tag lies in `0x02..=0xEF`, so a caller that seeks may append `0x00` (below every key that goes on) or `0xF0`
//! (above every key that goes on with one more term) to a prefix made of whole terms.

/// Negative integral number of more than 128 bytes.
pub(super) const NEG_HUGE: u8 = 0x08;
/// Negative integral number of 9 to 128 bytes.
pub(super) const NEG_BIG: u8 = 0x09;
/// `NEG_0 - n`: a negative number whose floor has `n` bytes (0 to 8) in two's complement without its sign; -1 has none.
pub(super) const NEG_0: u8 = 0x12;
/// A float strictly between -1 and 0.
pub(super) const NEG_TINY: u8 = 0x13;
/// Zero.
pub(super) const ZERO: u8 = 0x14;
/// A float strictly between 0 and 1.
pub(super) const POS_TINY: u8 = 0x15;
/// `POS_0 + n`: a positive number whose floor has `n` bytes (1 to 8).
pub(super) const POS_0: u8 = 0x15;
/// Positive integral number of 9 to 128 bytes.
pub(super) const POS_BIG: u8 = 0x1E;
/// Positive integral number of more than 128 bytes.
pub(super) const POS_HUGE: u8 = 0x1F;
/// A float inside a map's key.
pub(super) const EXACT_FLOAT: u8 = 0x20;

/// An atom.
pub(super) const ATOM: u8 = 0x28;
/// A reference.
pub(super) const REFERENCE: u8 = 0x30;
/// A closure.
pub(super) const FUN_LOCAL: u8 = 0x38;
/// `fun M:F/A`.
pub(super) const FUN_EXTERNAL: u8 = 0x39;
/// A port.
pub(super) const PORT: u8 = 0x40;
/// A process identifier.
pub(super) const PID: u8 = 0x48;
/// `TUPLE_0 + n`: a tuple of `n` elements, 0 to [`TUPLE_SHORT`].
pub(super) const TUPLE_0: u8 = 0x50;
/// The most elements that the tag alone can say.
pub(super) const TUPLE_SHORT: usize = 30;
/// A longer tuple: its arity follows.
pub(super) const TUPLE_LONG: u8 = TUPLE_0 + TUPLE_SHORT as u8 + 1;
/// A native record.
pub(super) const RECORD: u8 = 0x70;
/// A map.
pub(super) const MAP: u8 = 0x78;
/// The empty list.
pub(super) const NIL: u8 = 0x80;
/// A list cell: its element and its tail follow.
pub(super) const CONS: u8 = 0x88;
/// A bitstring.
pub(super) const BITS: u8 = 0x90;

/// Follows the floor of a number that has a fraction: above every tag, so that `2.5` is above `2` and whatever comes
/// after it.
pub(super) const FRACTION: u8 = 0xFF;
/// Follows a zero byte that belongs to an atom or a bitstring, and tells it from the end.
pub(super) const ESCAPED: u8 = 0xFF;
/// The mark that the last byte of a bitstring is a whole one.
pub(super) const WHOLE_BYTE: u8 = 8;
/// Nothing but zeros follows eight bytes of a big number.
pub(super) const ONLY_ZEROS: u8 = 0x00;
/// Something else than zeros follows them.
pub(super) const MORE: u8 = 0x01;
/// The longest integral part, in bytes, that a float can have.
pub(super) const FLOAT_BYTES: usize = 128;
