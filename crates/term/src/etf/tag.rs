//! The tag bytes of the external term format, by the names of its documentation.
//!
//! | tag | name | then |
//! |---|---|---|
//! | 67 | native record, of OTP 29 | fields:32, exported:8, module, name, the names of the fields, their values |
//! | 70 | `NEW_FLOAT_EXT` | 8 bytes IEEE 754 |
//! | 77 | `BIT_BINARY_EXT` | len:32, bits in the last byte:8, bytes |
//! | 80 | compressed | size:32, zlib data; only right behind the version byte |
//! | 82 | `ATOM_CACHE_REF` | refused |
//! | 88 | `NEW_PID_EXT` | node, id:32, serial:32, creation:32 |
//! | 89 | `NEW_PORT_EXT` | node, id:32, creation:32 |
//! | 90 | `NEWER_REFERENCE_EXT` | words:16, node, creation:32, words of 32 |
//! | 97 | `SMALL_INTEGER_EXT` | one byte |
//! | 98 | `INTEGER_EXT` | signed:32 |
//! | 99 | `FLOAT_EXT` | 31 bytes of text, filled up with zeros |
//! | 100 | `ATOM_EXT` | len:16, Latin-1 |
//! | 101 | `REFERENCE_EXT` | node, id:32, creation:8 |
//! | 102 | `PORT_EXT` | node, id:32, creation:8 |
//! | 103 | `PID_EXT` | node, id:32, serial:32, creation:8 |
//! | 104 | `SMALL_TUPLE_EXT` | arity:8, elements |
//! | 105 | `LARGE_TUPLE_EXT` | arity:32, elements |
//! | 106 | `NIL_EXT` | nothing |
//! | 107 | `STRING_EXT` | len:16, one byte an element |
//! | 108 | `LIST_EXT` | len:32, elements, tail |
//! | 109 | `BINARY_EXT` | len:32, bytes |
//! | 110 | `SMALL_BIG_EXT` | n:8, sign:8, n bytes, the least significant first |
//! | 111 | `LARGE_BIG_EXT` | n:32, sign:8, n bytes |
//! | 112 | `NEW_FUN_EXT` | see `identifiers.rs` |
//! | 113 | `EXPORT_EXT` | module, function, arity: three terms |
//! | 114 | `NEW_REFERENCE_EXT` | words:16, node, creation:8, words of 32 |
//! | 115 | `SMALL_ATOM_EXT` | len:8, Latin-1 |
//! | 116 | `MAP_EXT` | pairs:32, key and value in turn |
//! | 117 | `FUN_EXT` | refused |
//! | 118 | `ATOM_UTF8_EXT` | len:16, UTF-8 |
//! | 119 | `SMALL_ATOM_UTF8_EXT` | len:8, UTF-8 |
//! | 120 | `V4_PORT_EXT` | node, id:64, creation:32 |
//! | 121 | `LOCAL_EXT` | refused |

pub(super) const VERSION: u8 = 131;

/// Of OTP 29, and in no documentation yet.
pub(super) const NATIVE_RECORD: u8 = 67;
pub(super) const NEW_FLOAT: u8 = 70;
pub(super) const BIT_BINARY: u8 = 77;
pub(super) const COMPRESSED: u8 = 80;
pub(super) const ATOM_CACHE_REF: u8 = 82;
pub(super) const NEW_PID: u8 = 88;
pub(super) const NEW_PORT: u8 = 89;
pub(super) const NEWER_REFERENCE: u8 = 90;
pub(super) const SMALL_INTEGER: u8 = 97;
pub(super) const INTEGER: u8 = 98;
pub(super) const FLOAT: u8 = 99;
pub(super) const ATOM: u8 = 100;
pub(super) const REFERENCE: u8 = 101;
pub(super) const PORT: u8 = 102;
pub(super) const PID: u8 = 103;
pub(super) const SMALL_TUPLE: u8 = 104;
pub(super) const LARGE_TUPLE: u8 = 105;
pub(super) const NIL: u8 = 106;
pub(super) const STRING: u8 = 107;
pub(super) const LIST: u8 = 108;
pub(super) const BINARY: u8 = 109;
pub(super) const SMALL_BIG: u8 = 110;
pub(super) const LARGE_BIG: u8 = 111;
pub(super) const NEW_FUN: u8 = 112;
pub(super) const EXPORT: u8 = 113;
pub(super) const NEW_REFERENCE: u8 = 114;
pub(super) const SMALL_ATOM: u8 = 115;
pub(super) const MAP: u8 = 116;
pub(super) const FUN: u8 = 117;
pub(super) const ATOM_UTF8: u8 = 118;
pub(super) const SMALL_ATOM_UTF8: u8 = 119;
pub(super) const V4_PORT: u8 = 120;
pub(super) const LOCAL: u8 = 121;
