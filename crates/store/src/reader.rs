//! Reading several keys of a table's content, with each list insert seen as a whole.
//!
//! How that is done is in [`crate::commits`]. A [`Reader`] is for one pin. A call that reads on and on has the choice
//! ([`Hold`]): a pin a step, so that what others free meanwhile comes back, which serves as long as no list is inserted
//! between two steps; or one pin for all.

use fyris_sync::reclaim::{Guard, LocalGuard, pin};
use fyris_term::key::KeyBuf;

use crate::chain;
use crate::commits::{Place, Undo};
use crate::error::Result;
use crate::ids::Right;
use crate::ops::Span;
use crate::query::View;
use crate::slot::Content;
use crate::table::Table;
use crate::table_data::{AnyTableData, with_data};

/// Reads a content. What it hands out was there, for each key, when the key was read; but every list insert is in all
/// of it or in nothing: it was made before the reader, or it is undone.
pub(crate) struct Reader<'b, 'g> {
    data: &'b AnyTableData,
    undo: Undo<'g>,
}

impl<'b, 'g> Reader<'b, 'g> {
    #[inline]
    pub(crate) fn new(data: &'b AnyTableData, pin: &'g impl Guard) -> Reader<'b, 'g> {
        Reader {
            data,
            undo: with_data!(data, b => Undo::new(&b.commits, b.kind, pin)),
        }
    }

    /// What is read.
    #[inline]
    pub(crate) fn data(&self) -> &'b AnyTableData {
        self.data
    }

    /// Another reader that sees the same lists, for another thread.
    pub(crate) fn beside(&self) -> Reader<'b, 'g> {
        Reader {
            data: self.data,
            undo: self.undo.beside(),
        }
    }

    fn place(&self) -> Place {
        with_data!(self.data, b => self.undo.place(&b.commits))
    }

    /// Whether keys that were looked up beside the reader may hold something else at its place: see [`Reader::before`].
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        with_data!(self.data, b => self.undo.is_due(&b.commits))
    }

    /// What a key held at the reader's place, if that is not what it was found to hold before the call.
    #[cold]
    pub(crate) fn before(&mut self, key: &KeyBuf) -> Option<Option<Content>> {
        with_data!(self.data, b => self.undo.before(&b.commits, b.key_bytes(key)))
    }
}

/// The content as it is at the moment of each batch, but for list inserts.
impl View for Reader<'_, '_> {
    #[inline]
    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        with_data!(self.data, b => b.scan_span(span, back, want, &mut self.undo, pin, out))
    }

    fn get(&mut self, key: &[u8], pin: &impl Guard, out: impl FnMut(Content)) {
        let found = with_data!(self.data, b => {
            let found = b.get_bytes(key, pin);
            match self.undo.is_due(&b.commits) {
                true => self.undo.before(&b.commits, key).unwrap_or(found),
                false => found,
            }
        });
        if let Some(content) = found {
            chain::each(content, out);
        }
    }
}

/// How a call of several steps sees each list insert as a whole.
pub(crate) enum Hold<'b, 'g> {
    /// A pin a step, at the place of the first of them.
    Steps(Option<Place>),
    /// One pin for all, which somebody else holds.
    Pinned(Reader<'b, 'g>),
}

impl Hold<'_, '_> {
    /// The same for another thread.
    pub(crate) fn beside(&self) -> Self {
        match self {
            Hold::Steps(place) => Hold::Steps(*place),
            Hold::Pinned(reader) => Hold::Pinned(reader.beside()),
        }
    }

    /// A step. `None` if a list was inserted since the step before, and what was read so far is of no use.
    pub(crate) fn step<R>(
        &mut self,
        table: &Table,
        f: impl FnOnce(&mut Reader<'_, '_>, &LocalGuard) -> R,
    ) -> Result<Option<R>> {
        match self {
            Hold::Steps(place) => table.with_content(Right::Read, |data, pin| {
                let mut reader = Reader::new(data, pin);
                let here = reader.place();
                let stays = *place.get_or_insert(here) == here;
                Ok(stays.then(|| f(&mut reader, pin)))
            }),
            Hold::Pinned(reader) => Ok(Some(f(reader, &pin()))),
        }
    }
}
