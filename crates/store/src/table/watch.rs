//! Watches that notice whether a table has been written to.
//!
//! Invariant **NOTICE**: a watch whose [count](WriteWatch::count) is as it was before its holder read the table has
//! seen every write that had returned by then. A write sees in the state that it loads in its section whether the table
//! is watched (see [`crate::life`]), and then counts itself before it returns, as the end of a table does. To begin a
//! watch waits for the writes that may not have seen it, so what those have written is there for who reads the table
//! afterwards.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fyris_sync::reclaim::pin;

use super::Table;
use crate::life::Life;
use crate::table_shared::TableShared;

/// The writes to a table that is watched.
#[derive(Default)]
pub(crate) struct Watched {
    watches: Mutex<usize>,
    writes: AtomicU64,
}

impl Watched {
    /// Counts a write, before it returns.
    #[cold]
    pub(crate) fn count(&self) {
        // Release: pairs with the Acquire in `WriteWatch::count`.
        self.writes.fetch_add(1, Ordering::Release);
    }

    fn change(&self, life: &Life, change: fn(&mut usize)) {
        // There is nothing that a panic could leave half done.
        let mut watches = self.watches.lock().unwrap_or_else(|p| p.into_inner());
        change(&mut watches);
        life.set_watched(*watches > 0);
    }
}

/// A watch over a table: notices whether the table has been written to, or deleted, by whomever.
///
/// Taken by [`Table::watch`]; ends with [`WriteWatch::end`] or when it is dropped. While it lasts a write to the table
/// adds to a counter that all writers of the table share.
pub struct WriteWatch {
    shared: Arc<TableShared>,
    ended: AtomicBool,
}

impl Table {
    /// Begins to watch the table for writes. Waits for the writes under way, which began before they had to count.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let watch = table.watch();
    /// let before = watch.count();
    /// let total = table.foldl(0, |_, sum| sum + 1)?;
    /// assert_eq!(watch.count(), before); // so the total holds still
    /// table.insert(&term!({1}))?;
    /// assert!(watch.count() > before);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn watch(&self) -> WriteWatch {
        let shared = self.shared.clone();
        shared.watched.change(&shared.life, |watches| *watches += 1);
        if !cfg!(fyris_mutant = "store_watch_unwaited") {
            shared.life.wait_for_writes(&pin());
        }
        WriteWatch {
            shared,
            ended: AtomicBool::new(false),
        }
    }
}

impl WriteWatch {
    /// Returns a number that has grown if the table was written to or deleted, or a write to it was tried; what that
    /// has written may be there before it is counted. One load.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let watch = table.watch();
    /// let before = watch.count();
    /// table.delete_key(&1)?; // nothing is there
    /// assert!(watch.count() > before);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[inline]
    pub fn count(&self) -> u64 {
        // Acquire: pairs with the Release in `Watched::count`.
        self.shared.watched.writes.load(Ordering::Acquire)
    }

    /// Ends the watch: writes are no longer counted for it.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let watch = table.watch();
    /// watch.end();
    /// let before = watch.count();
    /// table.insert(&term!({1}))?;
    /// assert_eq!(watch.count(), before);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn end(&self) {
        // Relaxed: only that it is done once matters.
        if !self.ended.swap(true, Ordering::Relaxed) {
            let shared = &self.shared;
            shared.watched.change(&shared.life, |watches| *watches -= 1);
        }
    }
}

impl Drop for WriteWatch {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for WriteWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "WriteWatch({}, {})",
            self.shared.reference(),
            self.count()
        )
    }
}
