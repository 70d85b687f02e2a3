//! What can be wrong with a library, and the state of an index that has found it out.

use std::fmt;
use std::sync::OnceLock;

use super::Library;
use super::abi::{SYMBOL, VERSION};

/// What is wrong with a library, or what it did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The file cannot be found.
    NoFile(String),
    /// The file is no shared library that can be loaded.
    NotLoaded(String),
    /// It does not export the symbol.
    NoSymbol,
    /// The exported function returned no table of functions.
    NoFunctions,
    /// It is made for another version of the interface.
    Version(u32),
    /// Its table of functions is shorter than that of the version.
    Size(u32),
    /// It declares capabilities that are not known.
    Capabilities(u64),
    /// A function is missing.
    NoFunction(&'static str),
    /// It has no order of keys, which the type of table needs.
    NoOrder,
    /// It made no table.
    NotCreated,
    /// It returned a word that it was never handed, or that has been removed.
    UnknownWord(u64),
    /// It returned the word of another key than it was asked for.
    OtherKey,
    /// It did not find a key that was inserted.
    LostKey,
    /// It refused to insert a key.
    Refused(i32),
    /// Removing a key, it returned something else than the key's word.
    NotRemoved(u64),
    /// Its count of keys is not their number.
    Length {
        /// What it said.
        said: usize,
        /// The number of keys.
        keys: usize,
    },
    /// An iteration returned more words than there was room for.
    TooMany {
        /// What it said.
        said: usize,
        /// The most that it was asked for.
        most: usize,
    },
    /// An iteration returned keys that are not in order.
    Disorder,
    /// An iteration over all keys left some out.
    Incomplete {
        /// How many keys it returned.
        found: usize,
        /// The number of keys.
        keys: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoFile(why) => write!(f, "{why}"),
            Fault::NotLoaded(why) => write!(f, "it cannot be loaded: {why}"),
            Fault::NoSymbol => write!(f, "it does not export {SYMBOL}"),
            Fault::NoFunctions => write!(f, "{SYMBOL} returned NULL"),
            Fault::Version(found) => write!(f, "it has version {found}, not {VERSION}"),
            Fault::Size(found) => write!(f, "its table of functions has {found} bytes, too few"),
            Fault::Capabilities(unknown) => write!(f, "unknown capabilities {unknown:#x}"),
            Fault::NoFunction(name) => write!(f, "the function {name} is missing"),
            Fault::NoOrder => write!(f, "it has no order of keys, which an ordered_set needs"),
            Fault::NotCreated => write!(f, "create returned NULL"),
            Fault::UnknownWord(word) => {
                write!(f, "it returned {word:#x}, a word that is not in the table")
            }
            Fault::OtherKey => write!(f, "it returned the word of another key"),
            Fault::LostKey => write!(f, "it did not find a key that was inserted"),
            Fault::Refused(number) => write!(f, "insert refused a key with {number}"),
            Fault::NotRemoved(word) => {
                write!(f, "remove returned {word:#x}, which is not the key's word")
            }
            Fault::Length { said, keys } => {
                write!(f, "length returned {said}, with {keys} keys in the table")
            }
            Fault::TooMany { said, most } => {
                write!(
                    f,
                    "an iteration returned {said} words where {most} were asked for"
                )
            }
            Fault::Disorder => write!(f, "an iteration returned keys that are not in order"),
            Fault::Incomplete { found, keys } => {
                write!(f, "an iteration over {keys} keys returned {found} of them")
            }
        }
    }
}

impl std::error::Error for Fault {}

/// The status of an index from a library: at fault or not. A fault is set once, and for good.
#[derive(Debug)]
pub struct Status {
    library: Library,
    fault: OnceLock<Fault>,
}

impl Status {
    pub(super) fn new(library: Library) -> Self {
        Self {
            library,
            fault: OnceLock::new(),
        }
    }

    /// Returns the path of the library.
    pub fn path(&self) -> &'static str {
        self.library.path()
    }

    /// Returns the first fault that was found.
    #[inline]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.get()
    }

    pub(super) fn is_failed(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Keeps the first fault.
    pub(super) fn fail(&self, fault: Fault) {
        let _ = self.fault.set(fault);
    }
}
