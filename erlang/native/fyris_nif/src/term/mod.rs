//! Terms of the machine into the stored forms and back.
//!
//! | file | from | to |
//! |---|---|---|
//! | `key` | a term of the machine | key bytes |
//! | `stage` | terms of the machine | value bytes |
//! | `object` | a tuple | a record: both of these |
//! | `read` | a term of the machine | [`fyris_term::Term`], for arguments that are not stored, what stands deep down, and what looks otherwise than we know |
//! | `make` | stored bytes, or a `Term` | a term of the machine |
//! | `keep` | references to resources | keepers, so that the resources live |
//! | `external` | bitstrings, terms of unknown nodes and of unknown layouts | a `Term`, by the external format; and back |
//!
//! The kinds of terms, and how each is seen in the machine's words, are in [`kind`](crate::kind).

mod external;
mod keep;
mod key;
mod make;
mod object;
mod read;
mod stage;

pub(crate) use external::by_external;
pub(crate) use keep::{
    Offered, begin as begin_keeping, count as kept_resources, kept_reference, met_resource, offer,
};
pub(crate) use key::{exact_order, find_key};
pub(crate) use make::{make, make_list, most_words, most_words_of, with_maker};
pub(crate) use object::MachineObject;
pub(crate) use read::read;
pub(crate) use stage::write_value;

use fyris::Error;
use key::read_key;

/// The result of reading a term.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The levels that are written by recursion. What is deeper is read as a [`fyris_term::Term`] first, which takes any
/// depth ([`fyris_term::walk`]).
const DEEP: usize = 32;
