//! The tags of values; the module's essay draws what follows each.

/// `NEGATIVE + n`: the integer `n - 16`.
pub(super) const NEGATIVE: u8 = 0x80;
/// `MIDDLE + high 4 bits`: the integer 128 + 12 bits.
pub(super) const MIDDLE: u8 = 0x90;
/// The least integer of the two-byte form.
pub(super) const MIDDLE_FIRST: i64 = 128;
/// The greatest.
pub(super) const MIDDLE_LAST: i64 = MIDDLE_FIRST + 0xFFF;
/// `INT_0 + n`: an integer of `n` bytes, 1 to 8.
pub(super) const INT_0: u8 = 0x9F;
pub(super) const FLOAT: u8 = 0xA9;
pub(super) const BIG: u8 = 0xAA;
/// `ATOM_0 + n`: an atom whose number has `n` bytes, 1 to 4.
pub(super) const ATOM_0: u8 = 0xAB;
/// `BINARY_0 + n`: a binary of `n` bytes, 0 to 15.
pub(super) const BINARY_0: u8 = 0xB0;
pub(super) const BINARY: u8 = 0xC0;
pub(super) const BLOB: u8 = 0xC1;
pub(super) const BITS: u8 = 0xC2;
pub(super) const BITS_BLOB: u8 = 0xC3;
/// A map of which the keys are a shape.
pub(super) const SHAPED: u8 = 0xC7;
pub(super) const NIL: u8 = 0xC8;
pub(super) const STRING: u8 = 0xC9;
pub(super) const LIST: u8 = 0xCA;
pub(super) const IMPROPER: u8 = 0xCB;
pub(super) const MAP: u8 = 0xCC;
pub(super) const PID: u8 = 0xCD;
pub(super) const PORT: u8 = 0xCE;
pub(super) const REFERENCE: u8 = 0xCF;
pub(super) const FUN_EXTERNAL: u8 = 0xD0;
pub(super) const FUN_LOCAL: u8 = 0xD1;
pub(super) const TUPLE: u8 = 0xD2;
/// A native record.
pub(super) const RECORD: u8 = 0xD3;
/// `TUPLE_0 + n`: a tuple of `n` elements, 0 to 7.
pub(super) const TUPLE_0: u8 = 0xD8;

/// Bytes of a closure before its creator.
pub(super) const FUN_CODE: usize = 4 + 4 + 8 + 1 + 16 + 8;
/// Bytes of a closure before the count of its captured values.
pub(super) const FUN_HEAD: usize = FUN_CODE + PID_BODY;
/// Bytes of a pid.
pub(super) const PID_BODY: usize = 16;
/// Bytes of a port.
pub(super) const PORT_BODY: usize = 16;
/// Bytes of a reference before its words.
pub(super) const REFERENCE_HEAD: usize = 8;
/// Bytes of an external fun.
pub(super) const FUN_EXTERNAL_BODY: usize = 9;
