//! Tables that are watched: what each command has changed in them.

use fyris::{SubscribeOptions, Subscription, Table, TableId, WatchEvent, WatchFilter, WatchKind};
use fyris_term::Term;

use super::error::ShellError;
use super::session::name_of;

/// A table that is watched.
pub(crate) struct Watch {
    table: Table,
    changes: Subscription,
    /// How many changes are still to be told, if not all.
    left: Option<usize>,
}

impl Watch {
    /// Watches a table from now on, for `limit` changes.
    pub(crate) fn new(
        table: Table,
        filter: &WatchFilter,
        limit: Option<usize>,
    ) -> Result<Watch, ShellError> {
        Ok(Watch {
            changes: table.subscribe(filter, &SubscribeOptions::new())?,
            table,
            left: limit,
        })
    }

    /// Returns the table.
    pub(crate) fn table(&self) -> TableId {
        self.table.id()
    }

    /// Returns whether nothing more will be told.
    pub(crate) fn is_over(&self) -> bool {
        self.left == Some(0) || self.changes.has_ended()
    }

    /// Returns a term for each change since the last call.
    pub(crate) fn news(&mut self) -> Vec<Term> {
        let name = Term::atom(&name_of(&self.table));
        let events = std::iter::from_fn(|| self.changes.try_next());
        let told = events.flat_map(|event| terms_of(&name, event));
        let news: Vec<Term> = told.take(self.left.unwrap_or(usize::MAX)).collect();
        if let Some(left) = &mut self.left {
            *left -= news.len();
        }
        news
    }
}

/// Returns `{insert, Table, New}`, `{update, Table, Old, New}` or `{delete, Table, Old}` for each change, or what else
/// has happened.
fn terms_of(table: &Term, event: WatchEvent) -> Vec<Term> {
    let told = |what: &str, more: Vec<Term>| {
        Term::tuple([vec![Term::atom(what), table.clone()], more].concat())
    };
    let number = |number: u64| vec![Term::Int(number as i64)];
    match event.kind {
        WatchKind::Changes(changes) => {
            let each = changes
                .into_iter()
                .map(|change| match (change.old, change.new) {
                    (Some(old), Some(new)) => told("update", vec![old, new]),
                    (Some(old), None) => told("delete", vec![old]),
                    (None, new) => told("insert", new.into_iter().collect()),
                });
            each.collect()
        }
        WatchKind::Cleared { objects, .. } => vec![told("cleared", number(objects as u64))],
        WatchKind::Deleted { .. } => vec![told("deleted", vec![])],
        WatchKind::Overflow { lost } => vec![told("overflow", number(lost))],
        // Of a snapshot, with which no watch begins.
        _ => vec![],
    }
}
