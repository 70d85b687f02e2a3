//! Terms of the machine into the stored forms and back.
//!
//! | file | from | to |
//! |---|---|---|
//! | `key` | a term of the machine | key bytes |
//! | `stage` | terms of the machine | value bytes |
//! | `order` | keys of a map | their exact order |
//! | `object` | a tuple | a record: both of these |
//! | `read` | a term of the machine | [`fyris_term::Term`], for arguments that are not stored, what stands deep down, and what has a layout that is not known |
//! | `make` | stored bytes, or a `Term` | a term of the machine |
//! | `keep` | references to resources | keepers, so that the resources live |
//! | `aliases` | the numbers of an alias | its process |
//! | `rare` | terms of unknown nodes, bitstrings, funs of an unknown layout | a `Term`, by the external format |
//!
//! References, aliases and ports of this node and large integers are read and made as the words that they are, where
//! their layout is known (`references`, `words`), and pids and references of other nodes by copies (`externals`). Only
//! elsewhere they go by way of the external format, in `rare` too.
//!
//! # Local processes
//!
//! A local pid, port or reference stays the same term when the node gets a name or another one; its external form does
//! not. Invariant **LOCAL**: pids, references and ports of this node are stored under a name that no node has, and get
//! the node's own again when they leave. The name sorts as `nonode@nohost` does. On a node with a name of its own,
//! local references and ports stand among those of other nodes as if it had none; nothing else about the order depends
//! on names.

mod aliases;
mod keep;
mod key;
mod make;
mod object;
mod order;
mod pids;
mod rare;
mod read;
mod stage;

pub(crate) use keep::{Offered, begin as begin_keeping, count as kept_resources, offer};
pub(crate) use key::find_key;
pub(crate) use make::{make, most_words, most_words_of, with_maker};
pub(crate) use object::MachineObject;
pub(crate) use order::sort as sort_pairs;
pub(crate) use rare::{known as known_locals, learn as learn_locals, node_name, this_node};
pub(crate) use read::read;
pub(crate) use stage::write_value;

use fyris::Error;
use key::read_key;

/// The state of a list that a thread gathers. It is kept apart from the list, which has a destructor and is slower to
/// access; the stage is read for every object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GatheringState {
    /// Nothing is to be gathered.
    None,
    /// Under way, with nothing in the list.
    Begun,
    /// Under way, with something in the list.
    Met,
}

/// The result of reading a term.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// The levels that are written by recursion. What is deeper is read as a [`fyris_term::Term`] first, which takes any
/// depth ([`fyris_term::walk`]).
const DEEP: usize = 32;
