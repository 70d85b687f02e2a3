//! Isolation of list inserts from calls of several steps.

use fyris_sync::reclaim::{LocalGuard, pin};

use super::Table;
use crate::commits::Place;
use crate::error::Result;
use crate::view::{ReadMany, TableReader, View};

/// The state of a call of several steps between two of them.
pub(crate) enum Hold<'d, 'g> {
    /// The place of the first step, and a pin a step: what others free meanwhile comes back. It serves as long as no
    /// list is inserted between two steps.
    Steps(Option<Place>),
    /// A reader, under one pin for all steps, which the caller holds.
    Pinned(TableReader<'d, 'g>),
}

impl Hold<'_, '_> {
    /// Returns the same for another thread.
    pub(crate) fn beside(&self) -> Self {
        match self {
            Hold::Steps(place) => Hold::Steps(*place),
            Hold::Pinned(reader) => Hold::Pinned(reader.beside()),
        }
    }

    /// Runs a step and returns its result. `None` if a list was inserted since the step before, and what was read so
    /// far is of no use.
    pub(crate) fn step<R>(
        &mut self,
        table: &Table,
        f: impl FnOnce(&mut TableReader<'_, '_>, &LocalGuard) -> R,
    ) -> Result<Option<R>> {
        match self {
            Hold::Steps(place) => table.read(|view, pin| {
                let mut reader = view.read_many(pin);
                let here = reader.place();
                let stays = *place.get_or_insert(here) == here;
                Ok(stays.then(|| f(&mut reader, pin)))
            }),
            Hold::Pinned(reader) => Ok(Some(f(reader, &pin()))),
        }
    }
}
