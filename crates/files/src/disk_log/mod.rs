//! The files of OTP's `disk_log` in its internal format, of which every `ets:tab2file` dump is one.
//!
//! # Layout
//!
//! A file is a head of 8 bytes and then items, one after the other, without an index or an end mark.
//! All numbers are big-endian.
//!
//! | part | bytes | what |
//! |---|---|---|
//! | head | 4 | `01 02 03 04` |
//! | | 4 | status: `63 58 4d 0b` closed, `06 07 08 09` still open (its writer died) |
//! | item | 4 | size of the payload |
//! | | 4 | magic: `62 57 4c 41`, or `0c 21 2c 37` in files of very old systems |
//! | | 16 | only with the first magic and a size of at least 65,528: MD5 of the 4 size bytes |
//! | | size | payload: a term in external format |
//!
//! A wrap log is several such files, `NAME.1` and so on, and `NAME.idx`: five zero bytes, `02`, the number of the file
//! that is written (32 bits), and for each file made so far the number of its items (64 bits). When a file is full the
//! next one begins anew, the first one behind the last. So the oldest items are in the next file that exists.
//!
//! # Never trusting a length
//!
//! A size that a file claims is a guess until that many bytes have been seen. The reader keeps one
//! buffer; it grows only behind bytes that were truly read, to at most the largest item that the
//! caller accepts, and shrinks back after it. Where the length of the input is known, an item that
//! would end beyond it is refused before anything is read for it.
//!
//! Invariant **WINDOW**: in [`LogReader`], `start <= end <= buf.len()`, the bytes
//! `buf[start..end]` are those of the input at `base + start`, and damage reported at an offset leaves
//! `start` there, so that [`LogReader::resync`] can look for the next item right behind it.

mod reader;
mod terms;
mod writer;

pub use reader::{Item, LogReader};
pub use terms::{DiskLog, LogTerms};
pub use writer::LogWriter;

/// First four bytes of a file.
const FILE_MAGIC: [u8; 4] = [1, 2, 3, 4];
/// Status of a file that its writer has finished.
const CLOSED: [u8; 4] = [99, 88, 77, 11];
/// Status of a file being written.
const OPENED: [u8; 4] = [6, 7, 8, 9];
/// Marks an item.
const ITEM_MAGIC: [u8; 4] = [98, 87, 76, 65];
/// Marks an item in the files of old systems; never followed by an MD5.
const OLD_ITEM_MAGIC: [u8; 4] = [12, 33, 44, 55];
/// Bytes of the file's head.
const FILE_HEAD: usize = 8;
/// Bytes of an item's size and magic.
const ITEM_HEAD: usize = 8;
/// Bytes of the MD5 that guards the size of a big item.
const SIZE_SUM: usize = 16;
/// Items of this size and more carry the MD5 of their size.
const BIG_ITEM: usize = 65_528;

/// Did the writer finish the file?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Yes.
    Closed,
    /// No, or it is still writing. `ets:file2tab` reads such a file all the same.
    Opened,
}

/// Errors in a log file, with the offset.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The first eight bytes are not those of a log.
    #[error("not a disk_log file: it begins with {found:02x?}")]
    NotALog {
        /// The bytes found, at most 8.
        found: Vec<u8>,
    },
    /// No item begins here.
    #[error("byte {offset}: no item begins here: {found:02x?} is not an item's mark")]
    BadMagic {
        /// The offset at which the item was expected.
        offset: u64,
        /// The four bytes found in place of its mark.
        found: [u8; 4],
    },
    /// The file ends within an item.
    #[error("byte {offset}: the file ends {missing} bytes before this item does ({have} are here)")]
    Truncated {
        /// The offset of the item.
        offset: u64,
        /// Bytes of it that are in the file, its head included.
        have: u64,
        /// Bytes of it that are not.
        missing: u64,
    },
    /// The MD5 of a big item's size does not fit the size.
    #[error("byte {offset}: the checksum of the item's size ({size}) does not fit")]
    BadSizeSum {
        /// The offset of the item.
        offset: u64,
        /// The size it claims.
        size: u32,
    },
    /// An item larger than the caller accepts.
    #[error("byte {offset}: an item of {size} bytes is more than the {limit} allowed")]
    TooLarge {
        /// The offset of the item.
        offset: u64,
        /// The size it claims, or has.
        size: u64,
        /// The largest size accepted.
        limit: u64,
    },
    /// The system refused to read or write.
    #[error("byte {offset}: {source}")]
    Io {
        /// The offset that reading or writing had reached.
        offset: u64,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl LogError {
    /// Returns whether the content of the file is wrong (so that looking for the next item makes sense).
    pub fn is_damage(&self) -> bool {
        !matches!(self, LogError::NotALog { .. } | LogError::Io { .. })
    }

    /// Returns the offset in the file, in bytes.
    pub fn offset(&self) -> u64 {
        match self {
            LogError::NotALog { .. } => 0,
            LogError::BadMagic { offset, .. }
            | LogError::Truncated { offset, .. }
            | LogError::BadSizeSum { offset, .. }
            | LogError::TooLarge { offset, .. }
            | LogError::Io { offset, .. } => *offset,
        }
    }
}

/// Returns the MD5 that guards the size of a big item.
fn size_sum(size: u32) -> [u8; SIZE_SUM] {
    use md5::Digest;
    md5::Md5::digest(size.to_be_bytes()).into()
}
