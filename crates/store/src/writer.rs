//! A write under way, as the operations on a table's content know it.

use std::cell::Cell;
use std::sync::Arc;

use fyris_sync::reclaim::LocalGuard;

use crate::error::{Error, Result};
use crate::fix::Fixes;
use crate::life::State;
use crate::record::RecordPtr;
use crate::table_data::AnyTableData;
use crate::table_shared::TableShared;
use crate::transaction::TransactionPart;
use crate::view::{Live, TableView};
use crate::watch::Watchers;

/// The pin of a write, and what the modes ask of it that its table had when its section began (see [`crate::life`]).
pub(crate) struct Writer<'g> {
    pub(crate) pin: &'g LocalGuard,
    /// The fixes of the table, if there are any (FIXED).
    fixes: Option<&'g Fixes>,
    /// Whether it leaves what it displaces for snapshots.
    pub(crate) is_versioned: bool,
    /// The transaction that it writes for: then nothing is written to the table.
    pub(crate) within: Option<&'g TransactionPart>,
    /// Whether that had ended before one of the writes.
    late: Cell<bool>,
    /// Who is to be told of what it changes, if the table is watched.
    pub(crate) watchers: Option<&'g Watchers>,
    /// What a transaction that goes first has read of the table, if there is one.
    pub(crate) held: Option<Arc<TransactionPart>>,
    /// The stamp of the last version that it has left; 0 if there is none.
    stamp: Cell<u64>,
    /// Why it was refused with a slot protected, if it was.
    refusal: Cell<Option<Box<Error>>>,
}

impl<'g> Writer<'g> {
    #[inline]
    pub(crate) fn new(pin: &'g LocalGuard, state: State, shared: &'g TableShared) -> Writer<'g> {
        Writer {
            fixes: state.is_fixed().then_some(&shared.fixes),
            is_versioned: state.is_versioned(),
            watchers: state.is_watched().then(|| shared.watchers()),
            held: state.is_held().then(|| shared.life.held()).flatten(),
            ..Writer::plain(pin)
        }
    }

    /// Returns a write of which nothing is asked, as of a content that nobody else has.
    #[inline]
    pub(crate) fn plain(pin: &'g LocalGuard) -> Writer<'g> {
        Writer {
            pin,
            fixes: None,
            is_versioned: false,
            within: None,
            late: Cell::new(false),
            watchers: None,
            held: None,
            stamp: Cell::new(0),
            refusal: Cell::new(None),
        }
    }

    /// Returns a write of a transaction.
    pub(crate) fn within(pin: &'g LocalGuard, part: &'g TransactionPart) -> Writer<'g> {
        Writer {
            within: Some(part),
            ..Writer::plain(pin)
        }
    }

    /// Returns the view that the write reads by, of a content that it has been handed.
    pub(crate) fn view<'d>(&self, data: &'d AnyTableData) -> Result<TableView<'d>>
    where
        'g: 'd,
    {
        match self.within {
            None => Ok(TableView::Now(Live(data))),
            Some(part) => part.view(self.pin).map(TableView::Within),
        }
    }

    /// Returns a write to a table that a process has fixed.
    #[cfg(test)]
    pub(crate) fn fixed(pin: &'g LocalGuard, fixes: &'g Fixes) -> Writer<'g> {
        Writer {
            fixes: Some(fixes),
            ..Writer::plain(pin)
        }
    }

    /// Returns a write to a table that is watched.
    #[cfg(all(test, loom))]
    pub(crate) fn watched(pin: &'g LocalGuard, watchers: &'g Watchers) -> Writer<'g> {
        Writer {
            watchers: Some(watchers),
            ..Writer::plain(pin)
        }
    }

    /// Returns a write to a table that snapshots have.
    #[cfg(test)]
    pub(crate) fn versioned(pin: &'g LocalGuard) -> Writer<'g> {
        Writer {
            is_versioned: true,
            ..Writer::plain(pin)
        }
    }

    /// Notes the stamp of the version that it has left.
    pub(crate) fn note_stamp(&self, stamp: u64) {
        self.stamp.set(stamp);
    }

    /// Returns the stamp that was noted since the last time, or 0.
    pub(crate) fn take_stamp(&self) -> u64 {
        self.stamp.take()
    }

    /// Notes that nothing was written.
    #[cold]
    pub(crate) fn refuse(&self, why: Error) {
        self.refusal.set(Some(Box::new(why)));
    }

    /// Returns an error if that was noted since the last time.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.refusal.take() {
            None => Ok(()),
            Some(why) => Err(*why),
        }
    }

    /// Notes that the transaction had ended before a write.
    pub(crate) fn note_late(&self) {
        self.late.set(true);
    }

    /// Returns whether that was so.
    pub(crate) fn is_late(&self) -> bool {
        self.late.get()
    }

    /// Remembers the key of an object that is about to be deleted, if the table is fixed. The object is live, and the
    /// key is there until this returns: so no traversal finds it gone and unknown.
    #[inline]
    pub(crate) fn note_one(&self, record: RecordPtr) {
        if let Some(fixes) = self.fixes {
            // SAFETY: the caller holds the record.
            fixes.note(unsafe { record.exact() }.bytes());
        }
    }

    /// Remembers that every key is about to be deleted, if the table is fixed.
    pub(crate) fn note_all(&self) {
        if let Some(fixes) = self.fixes {
            fixes.note_all();
        }
    }
}
