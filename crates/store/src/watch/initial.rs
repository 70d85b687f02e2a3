//! The objects that a subscription begins with.

use fyris_term::Term;

use super::filter::WatchFilter;
use crate::error::Result;
use crate::ids::TableRef;
use crate::table::Table;

/// The objects of a table that are wanted, with `None` for each that is visited and not wanted.
pub(super) type VisitedObjects = Box<dyn Iterator<Item = Result<Option<Term>>> + Send + Sync>;

/// Objects that are told at once, and that are visited at once.
const PART: usize = 256;
const VISITED: usize = 4096;

/// The objects of snapshots of one moment, table by table; they hold these while there are more.
pub(super) struct InitialObjects(std::vec::IntoIter<Left>, Option<Left>);

/// What is left of a table.
struct Left {
    table: TableRef,
    objects: VisitedObjects,
}

impl InitialObjects {
    /// `tables` are handles of snapshots.
    pub(super) fn new(tables: impl Iterator<Item = Table>, filter: &WatchFilter) -> InitialObjects {
        let left = |table: Table| Left {
            table: table.reference(),
            objects: filter.objects_of(table),
        };
        let left: Vec<Left> = tables.map(left).collect();
        InitialObjects(left.into_iter(), None)
    }

    /// Returns some more of a table, none if there was none among those that were visited; `None` after all.
    pub(super) fn next_part(&mut self) -> Option<(TableRef, Vec<Term>)> {
        loop {
            if self.1.is_none() {
                self.1 = Some(self.0.next()?);
            }
            let left = self.1.as_mut()?;
            let (mut objects, mut visited) = (Vec::new(), 0);
            while objects.len() < PART && visited < VISITED {
                // Nobody else can end the snapshots: an error is one of an index from a library, which all calls tell
                // of.
                match left.objects.next() {
                    Some(object) => objects.extend(object.ok().flatten()),
                    None => break,
                }
                visited += 1;
            }
            if visited > 0 {
                return Some((left.table, objects));
            }
            self.1 = None;
        }
    }
}
