//! Which tables have changed since they were opened, loaded or saved.

use fyris::{SubscribeOptions, Subscription, Table, WatchFilter};

use super::error::ShellError;
use super::session::name_of;

/// Tables, and whether they have changed.
#[derive(Default)]
pub(crate) struct Unsaved(Vec<Tracked>);

struct Tracked {
    table: Table,
    /// Gets an event when there was a change; none once there was one.
    changes: Option<Subscription>,
    /// Is there a file of it?
    has_file: bool,
}

impl Unsaved {
    /// Takes note of tables that are new, which are as their files are if they have objects, and of changes; forgets
    /// tables that are gone.
    pub(crate) fn refresh(&mut self, tables: &[Table]) -> Result<(), ShellError> {
        self.0.retain(|known| known.table.info().is_some());
        for known in &mut self.0 {
            let changed = known
                .changes
                .as_mut()
                .is_some_and(|all| all.try_next().is_some());
            if changed {
                known.changes = None;
            }
        }
        for table in tables {
            if !self.0.iter().any(|known| known.table.id() == table.id()) {
                self.track(table, !table.is_empty())?;
            }
        }
        Ok(())
    }

    /// Takes note that a table is in a file, as it is.
    pub(crate) fn saved(&mut self, table: &Table) -> Result<(), ShellError> {
        self.0.retain(|known| known.table.id() != table.id());
        self.track(table, true)
    }

    /// Returns the names of the tables that have changed; with `of_files`, of those that are in a file otherwise.
    pub(crate) fn names(&self, of_files: bool) -> Vec<String> {
        let changed = self.0.iter().filter(|known| known.changes.is_none());
        let changed = changed.filter(|known| known.has_file || !of_files);
        changed.map(|known| name_of(&known.table)).collect()
    }

    fn track(&mut self, table: &Table, has_file: bool) -> Result<(), ShellError> {
        // That there was a change is all that is asked for.
        let any = SubscribeOptions::new().queue(0);
        self.0.push(Tracked {
            table: table.clone(),
            changes: Some(table.subscribe(&WatchFilter::all(), &any)?),
            has_file,
        });
        Ok(())
    }
}
