//! Who watches a table, and of what.

use std::sync::Arc;

use fyris_index::{Action, BytesMap};
use fyris_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};
use fyris_sync::reclaim::{Guard, PROTECT, Retire, pin};
use smallvec::SmallVec;

use super::announce::Announcement;
use super::difference::Difference;
use super::filter::KeyFilter;
use super::queue::{Told, WatchQueue};
use crate::ids::TableId;
use crate::life::Life;

/// Queues that are told of one event.
pub(super) type Queues = SmallVec<[Arc<WatchQueue>; 2]>;

/// The subscriptions of a table.
pub(crate) struct Watchers {
    pub(super) table: TableId,
    pub(super) keypos: usize,
    /// Those of single keys, by the bytes of these.
    by_key: BytesMap<Queues>,
    /// The number of these keys: where there is none, none is looked for.
    keyed: AtomicUsize,
    /// The others; null if there are none.
    others: AtomicPtr<Others>,
    turn: Mutex<Turn>,
}

/// Subscriptions that are asked one by one.
struct Others(Vec<Arc<WatchQueue>>);

/// How the subscriptions stand, which one thread at a time changes.
#[derive(Default)]
struct Turn {
    subscriptions: usize,
    /// Whether the table is deleted.
    ended: bool,
}

impl Watchers {
    pub(crate) fn new(table: TableId, keypos: usize) -> Watchers {
        Watchers {
            table,
            keypos,
            by_key: BytesMap::new(),
            keyed: AtomicUsize::new(0),
            others: AtomicPtr::new(std::ptr::null_mut()),
            turn: Mutex::default(),
        }
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        // Nothing is left half done by a panic.
        self.turn.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Returns the number of subscriptions.
    pub(crate) fn subscriptions(&self) -> usize {
        self.turn().subscriptions
    }

    /// Lets a queue be told of what it wants (ANNOUNCED). Returns `false` if the table is deleted.
    pub(super) fn enter(&self, queue: &Arc<WatchQueue>, life: &Life) -> bool {
        let pin = pin();
        {
            let mut turn = self.turn();
            if turn.ended {
                return false;
            }
            turn.subscriptions += 1;
            self.change(queue, &pin, |queues| queues.push(queue.clone()));
            life.set_watched(true);
        }
        if !cfg!(fyris_mutant = "store_watch_unwaited") {
            life.wait_for_changes(&pin);
        }
        true
    }

    /// Lets it be told of nothing more.
    pub(super) fn leave(&self, queue: &Arc<WatchQueue>, life: &Life) {
        let (pin, mut turn) = (pin(), self.turn());
        self.change(queue, &pin, |queues| {
            queues.retain(|other| !Arc::ptr_eq(other, queue))
        });
        turn.subscriptions -= 1;
        if turn.subscriptions == 0 {
            life.set_watched(false);
        }
    }

    /// Changes the list in which a queue stands: that of its key, or that of those that are asked one by one. The
    /// caller has the turn.
    fn change(&self, queue: &WatchQueue, pin: &impl Guard, change: impl Fn(&mut Queues)) {
        match queue.filter(self.table) {
            Some(KeyFilter::Key(key)) => self.change_key(key, pin, change),
            _ => self.change_others(pin, change),
        }
    }

    fn change_key(&self, key: &[u8], pin: &impl Guard, change: impl Fn(&mut Queues)) {
        self.by_key.compute(key, pin, |queues| {
            let mut queues = queues.cloned().unwrap_or_default();
            change(&mut queues);
            match queues.is_empty() {
                true => Action::Remove,
                false => Action::Put(queues),
            }
        });
        // Relaxed: as in `of_key`.
        self.keyed.store(self.by_key.exact_len(), Ordering::Relaxed);
    }

    fn change_others(&self, pin: &impl Guard, change: impl Fn(&mut Queues)) {
        let mut list = Queues::from(self.others(pin));
        change(&mut list);
        let new = match list.is_empty() {
            true => std::ptr::null_mut(),
            false => Box::into_raw(Box::new(Others(list.into_vec()))),
        };
        // AcqRel: pairs with PROTECT in `others`.
        let old = self.others.swap(new, Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: from a Box, and replaced once.
            unsafe { pin.retire(old) };
        }
    }

    fn others<'g>(&self, _pin: &'g impl Guard) -> &'g [Arc<WatchQueue>] {
        // PROTECT: pairs with the AcqRel in `change_others`.
        let others = self.others.load(PROTECT);
        // SAFETY: null, or retired after it was replaced (RECLAIM).
        unsafe { others.as_ref() }.map_or(&[], |others| &others.0)
    }

    /// Returns who may want to know of changes of a key; `None` if nobody does.
    #[inline(never)]
    pub(crate) fn interest<'g>(&'g self, key: &[u8], pin: &'g impl Guard) -> Option<Interest<'g>> {
        let interest = Interest {
            watchers: self,
            of_key: self.of_key(key, pin),
            others: self.others(pin),
        };
        let may_want = |queue: &Arc<WatchQueue>| queue.may_want(self.table, key);
        (!interest.of_key.is_empty() || interest.others.iter().any(may_want)).then_some(interest)
    }

    /// Adds those that may want to know of changes of many keys: of a commit.
    pub(super) fn of_keys<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        pin: &impl Guard,
        queues: &mut Queues,
    ) {
        // Relaxed: as in `of_key`.
        if self.keyed.load(Ordering::Relaxed) > 0 {
            queues.extend(keys.flat_map(|key| self.of_key(key, pin)).cloned());
        }
        queues.extend(self.others(pin).iter().cloned());
    }

    fn of_key<'g>(&'g self, key: &[u8], pin: &'g impl Guard) -> &'g [Arc<WatchQueue>] {
        // Relaxed: who adds one then waits for the writes that may not have seen it (ANNOUNCED).
        match self.keyed.load(Ordering::Relaxed) {
            0 => &[],
            _ => self.by_key.get(key, pin).map_or(&[], |queues| queues),
        }
    }

    fn all(&self, pin: &impl Guard) -> Queues {
        let mut queues = Queues::from(self.others(pin));
        queues.extend(self.by_key.values(pin).flatten().cloned());
        each_once(&mut queues);
        queues
    }

    /// Announces that the table is going to be emptied, to which nobody writes.
    pub(crate) fn announce_clearing(&self, pin: &impl Guard) -> Clearing {
        Clearing(
            Announcement::new(self.all(pin), 1, std::iter::empty()),
            self.table,
        )
    }

    /// Tells that the table is deleted, and lets nobody in any more.
    pub(crate) fn end(&self, pin: &impl Guard) {
        self.turn().ended = true;
        // It weighs nothing: a queue that is full has room for it.
        Announcement::new(self.all(pin), 0, std::iter::empty()).tell(|| Told::Deleted(self.table));
    }
}

/// The emptying of a table that has its place in queues.
pub(crate) struct Clearing(Announcement, TableId);

impl Clearing {
    /// Tells that it has happened: how many objects there were, and the place in the log from which on snapshots do not
    /// see them.
    pub(crate) fn tell(self, objects: usize, stamp: u64) {
        self.0.tell(|| Told::Cleared {
            table: self.1,
            stamp,
            objects,
        });
    }
}

/// Who may want to know of changes of a key.
pub(crate) struct Interest<'g> {
    pub(super) watchers: &'g Watchers,
    of_key: &'g [Arc<WatchQueue>],
    others: &'g [Arc<WatchQueue>],
}

impl Interest<'_> {
    /// Returns the queues of those that want to know of a change. Runs with a slot protected.
    pub(super) fn in_change(&self, key: &[u8], difference: &Difference) -> Queues {
        let Watchers { table, keypos, .. } = self.watchers;
        let wants = |queue: &&Arc<WatchQueue>| {
            let filter = queue.filter(*table);
            filter.is_some_and(|filter| filter.wants(key, difference, *keypos))
        };
        let mut queues = Queues::from(self.of_key);
        queues.extend(self.others.iter().filter(wants).cloned());
        queues
    }
}

/// Leaves each queue in the list once.
pub(super) fn each_once(queues: &mut Queues) {
    queues.sort_unstable_by_key(Arc::as_ptr);
    queues.dedup_by(|a, b| Arc::ptr_eq(a, b));
}

impl Drop for Watchers {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let others = self.others.load(Ordering::Relaxed);
        if !others.is_null() {
            // SAFETY: from a Box, and not retired, as it was not replaced.
            drop(unsafe { Box::from_raw(others) });
        }
    }
}

impl Retire for Others {
    unsafe fn reclaim(ptr: *mut Others) {
        // SAFETY: from a Box, reclaimed once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}
