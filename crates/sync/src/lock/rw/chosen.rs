//! Readers noted in the flag word or in groups, as its maker says.

use super::groups::Groups;
use super::readers::{InWord, Indicated, Readers};
use crate::atomic::AtomicU64;

/// Readers of a lock whose kind is chosen when it is made. Costs a branch more than either kind.
#[derive(Debug)]
pub enum Chosen {
    /// In the flag word.
    Word(InWord),
    /// In reader groups.
    Groups(Indicated<Groups>),
}

impl Chosen {
    /// Chooses the flag word.
    pub const fn word() -> Self {
        Self::Word(InWord)
    }

    /// Chooses `number` reader groups, see [`Groups::new`].
    pub fn groups(number: usize) -> Self {
        Self::Groups(Indicated::new(Groups::new(number)))
    }

    /// Returns the reader groups, if the readers are noted there.
    pub fn in_groups(&self) -> Option<&Groups> {
        match self {
            Self::Word(_) => None,
            Self::Groups(groups) => Some(groups.indicator()),
        }
    }
}

/// Calls the method of the kind that was chosen.
macro_rules! of_the_chosen {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            Self::Word(readers) => readers.$method($($argument),*),
            Self::Groups(readers) => readers.$method($($argument),*),
        }
    };
}

// SAFETY: the choice does not change, and either kind keeps the contract.
unsafe impl Readers for Chosen {
    #[cfg(not(any(loom, shuttle)))]
    const INIT: Self = Self::word();

    #[inline]
    fn stale(&self) -> u64 {
        of_the_chosen!(self.stale())
    }

    #[inline]
    fn place(&self) -> usize {
        of_the_chosen!(self.place())
    }

    #[inline]
    fn arrive(&self, word: &AtomicU64, place: usize) -> u64 {
        of_the_chosen!(self.arrive(word, place))
    }

    #[inline]
    fn admit(&self, place: usize) {
        of_the_chosen!(self.admit(place));
    }

    #[inline]
    fn noted(&self, word: u64, readers: u64) -> u64 {
        of_the_chosen!(self.noted(word, readers))
    }

    #[inline]
    fn depart(&self, word: &AtomicU64, place: usize) -> u64 {
        of_the_chosen!(self.depart(word, place))
    }

    #[inline]
    fn is_empty(&self, word: &AtomicU64) -> bool {
        of_the_chosen!(self.is_empty(word))
    }
}
