//! The objects that a subscription begins with.

use fyris_term::Term;

use super::filter::WatchFilter;
use crate::error::Result;
use crate::ids::TableRef;
use crate::table::Table;

/// Objects that are told at once.
const PART: usize = 256;

/// The objects of snapshots of one moment, table by table; they hold these while there are more.
pub(super) struct InitialObjects(std::vec::IntoIter<Left>, Option<Left>);

/// What is left of a table.
struct Left {
    table: TableRef,
    objects: Box<dyn Iterator<Item = Result<Term>> + Send + Sync>,
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

    /// Returns some more of a table; `None` after all.
    pub(super) fn next_part(&mut self) -> Option<(TableRef, Vec<Term>)> {
        loop {
            if self.1.is_none() {
                self.1 = Some(self.0.next()?);
            }
            let left = self.1.as_mut()?;
            // Nobody else can end the snapshots.
            let objects: Vec<Term> = left.objects.by_ref().flatten().take(PART).collect();
            if !objects.is_empty() {
                return Some((left.table, objects));
            }
            self.1 = None;
        }
    }
}
