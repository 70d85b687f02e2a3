//! Dumps: tables in the files of `ets:tab2file`, both ways.
//!
//! # Why in OTP's format
//!
//! Any OTP node reads the dumps of Fyris with `ets:file2tab`, and the reverse, so a table can move
//! between the two, and the dumps that exist can be opened without Erlang.
//!
//! # The format
//!
//! A [log](disk_log) whose items are terms in external format:
//!
//! 1. a [description](Header) of the table;
//! 2. the objects;
//! 3. an end mark, if the dump has extended information: the number of objects, an MD5, or both.
//!
//! # Invariants
//!
//! *Whole or not at all.* A dump takes its name when its last byte is written ([`SaveOptions::sync`]: and on
//! the disk); a table whose dump turns out bad is deleted again. A panic of the progress callback counts as
//! going wrong.
//!
//! *Never trusting the file.* Lengths, counts and types in a file are claims. Memory follows the bytes that are
//! there, one object at a time; the depth of terms is bounded; and every error says at which byte it was.
//!
//! # Where it differs from OTP
//!
//! The answers are OTP's ([`DumpError::reason`]) with these exceptions, all for damaged files:
//!
//! * OTP raises `badarg` for a description that does not decode, here that is `badfile`; and it
//!   never returns from reading a file cut within the first bytes of an object of 64 KiB and more.
//! * With `verify`, OTP looks for the version under another name than it is written by, and takes any.
//!   Here a later major version is `unsupported_file_version` in any case.
//! * With `verify`, bytes behind the end are always `badfile`; OTP overlooks them when the number of objects is a
//!   multiple of its batches; and so is an end mark that says more than the description promises. A file cut right
//!   behind the 8 bytes of an object's head is `badfile` too, where OTP takes it for one object less.
//! * Without `verify`, OTP stops at some kinds of damage without saying so, and raises `badarg` for an object
//!   that is no tuple. Here all that can be read is loaded, and [`Loaded::damage`] tells the rest.

mod error;
mod file;
mod header;
mod load;
mod objects;
mod options;
mod posix;
mod progress;
mod save;
mod transcode;

pub use fyris_files::disk_log;

pub use error::{Damage, DumpError};
pub use file::NewFile;
pub use header::{DumpInfo, Header};
pub use load::{Loaded, tabfile_info};
pub use objects::Salvage;
pub use options::{LoadOptions, MAX_INFLATED, MAX_OBJECT, SaveOptions};
pub use progress::{Progress, Watch, unwatched};
