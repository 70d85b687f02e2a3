//! The queue of a subscription: what it is to be told of, in order.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use fyris_sync::atomic::{AtomicBool, Ordering, fence};
use fyris_sync::lock::{Mutex, MutexGuard};
use smallvec::SmallVec;

use super::filter::KeyFilter;
use super::latest::{Latest, LatestChange};
use crate::ids::TableId;
use crate::record::NewRecord;

/// One step of changes, for the subscriptions that are told of it.
pub(super) struct Announced {
    /// The number of changes, for the bounds of queues.
    pub(super) weight: usize,
    told: OnceLock<Told>,
}

/// What the step was.
pub(super) enum Told {
    /// Changes of objects; the stamp of the version that they left, or the place of their commit; 0 if there is none.
    Changes {
        stamp: u64,
        changes: ToldChanges,
    },
    /// A table was emptied, before a place of the log.
    Cleared {
        table: TableId,
        stamp: u64,
        objects: usize,
    },
    Deleted(TableId),
    /// Whoever was to say it has panicked, or nothing has changed.
    Nothing,
}

/// Most often one.
pub(super) type ToldChanges = SmallVec<[ToldChange; 1]>;

/// The change of one object.
pub(super) struct ToldChange {
    pub(super) table: TableId,
    pub(super) old: Option<NewRecord>,
    pub(super) new: Option<NewRecord>,
}

// SAFETY: the records are the change's own, are never written, and may be freed on any thread.
unsafe impl Send for ToldChange {}
// SAFETY: as above.
unsafe impl Sync for ToldChange {}

impl Queued {
    /// Returns whether it is known what it tells.
    pub(super) fn is_told(&self) -> bool {
        match self {
            Queued::Event(_, event) => event.told().is_some(),
            Queued::Latest(change) => change.is_told(),
            Queued::Lost(_) => true,
        }
    }
}

impl Announced {
    pub(super) fn new(weight: usize) -> Announced {
        Announced {
            weight,
            told: OnceLock::new(),
        }
    }

    /// Says what it was; once.
    pub(super) fn tell(&self, told: Told) {
        let _ = self.told.set(told);
    }

    pub(super) fn told(&self) -> Option<&Told> {
        self.told.get()
    }
}

/// An entry of a queue.
pub(super) enum Queued {
    /// Changes of one key, in a queue that keeps the newest alone.
    Latest(LatestChange),
    /// With the number of those that were announced before.
    Event(u64, Arc<Announced>),
    /// This many changes did not fit in here.
    Lost(u64),
}

/// What a subscription is to be told of.
pub(crate) struct WatchQueue {
    /// The number of changes that it has room for.
    bound: usize,
    /// What its subscription wants to know of each of its tables.
    filters: Vec<(TableId, KeyFilter)>,
    state: Mutex<QueueState>,
    /// Whether somebody waits to be woken.
    waits: AtomicBool,
}

#[derive(Default)]
struct QueueState {
    entries: Entries,
    /// The number of changes in the entries.
    changes: usize,
    announced: u64,
    /// Who waits for the first entry to be there, and told.
    waker: Option<Waker>,
    /// Whether nobody reads it any more.
    closed: bool,
}

/// The entries of a queue.
enum Entries {
    All(VecDeque<Queued>),
    /// The newest change of each key alone.
    Latest(Latest),
}

impl Default for Entries {
    fn default() -> Entries {
        Entries::All(VecDeque::new())
    }
}

impl Entries {
    fn push(&mut self, entry: Queued) {
        match self {
            Entries::All(entries) => entries.push_back(entry),
            Entries::Latest(latest) => latest.push(entry),
        }
    }

    fn pop(&mut self) -> Option<Queued> {
        match self {
            Entries::All(entries) => entries.pop_front(),
            Entries::Latest(latest) => latest.pop(),
        }
    }

    fn last_mut(&mut self) -> Option<&mut Queued> {
        match self {
            Entries::All(entries) => entries.back_mut(),
            Entries::Latest(latest) => latest.last_mut(),
        }
    }
}

impl QueueState {
    /// Returns whether so many changes have room. What is alone has, however large it is, as a commit is whole, unless
    /// the bound is 0. The end of a table, which is no change, always has.
    fn has_room(&self, changes: usize, bound: usize) -> bool {
        let is_alone = self.changes == 0 && bound > 0;
        is_alone || changes == 0 || self.changes + changes <= bound
    }

    fn lose(&mut self, changes: u64) {
        if cfg!(fyris_mutant = "store_overflow_untold") {
            return;
        }
        match self.entries.last_mut() {
            Some(Queued::Lost(lost)) => *lost += changes,
            _ => self.entries.push(Queued::Lost(changes)),
        }
    }
}

impl WatchQueue {
    pub(super) fn new(bound: usize, filters: Vec<(TableId, KeyFilter)>) -> Arc<WatchQueue> {
        Arc::new(WatchQueue {
            bound,
            filters,
            state: Mutex::default(),
            waits: AtomicBool::new(false),
        })
    }

    /// Returns what its subscription wants to know of a table; `None` of one that it does not watch.
    pub(super) fn filter(&self, table: TableId) -> Option<&KeyFilter> {
        let mut filters = self.filters.iter();
        filters.find_map(|(of, filter)| (*of == table).then_some(filter))
    }

    /// Returns whether its subscription may want to know of changes of a key.
    pub(super) fn may_want(&self, table: TableId, key: &[u8]) -> bool {
        self.filter(table)
            .is_some_and(|filter| filter.may_want(key))
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        // Nothing is left half done by a panic.
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Gives an event its place, if there is room; returns `false` if it is not kept. `keys` are those that it is
    /// about; none of one that is about a whole table.
    pub(super) fn announce<'k>(
        &self,
        event: &Arc<Announced>,
        keys: impl Iterator<Item = (TableId, &'k [u8])>,
    ) -> bool {
        let mut state = self.state();
        if state.closed {
            return false;
        }
        let at = state.announced;
        state.announced += 1;
        if matches!(state.entries, Entries::Latest(_))
            && self.replace_latest(&mut state, event, keys)
        {
            return true;
        }
        let is_kept = state.has_room(event.weight, self.bound);
        match is_kept {
            true => {
                state.changes += event.weight;
                state.entries.push(Queued::Event(at, event.clone()));
            }
            false => state.lose(event.weight as u64),
        }
        is_kept
    }

    /// Puts an event in the places of what waits of the same keys. Returns `false` if it is about none.
    fn replace_latest<'k>(
        &self,
        state: &mut QueueState,
        event: &Arc<Announced>,
        keys: impl Iterator<Item = (TableId, &'k [u8])>,
    ) -> bool {
        let mut any = false;
        for (table, key) in keys {
            any = true;
            let Entries::Latest(latest) = &mut state.entries else {
                continue;
            };
            if !self.may_want(table, key) {
                continue;
            }
            let key = (table, Box::from(key));
            if latest.replace(&key, event) {
                continue;
            }
            if state.changes < self.bound {
                latest.add(key, event);
                state.changes += 1;
            } else {
                state.lose(1);
            }
        }
        if let (false, Entries::Latest(latest)) = (any, &mut state.entries) {
            latest.begin_anew();
        }
        any
    }

    /// Keeps the newest change of each key alone, from now on.
    pub(super) fn conflate(&self) {
        let mut state = self.state();
        let mut latest = Latest::default();
        while let Some(entry) = state.entries.pop() {
            latest.push(entry);
        }
        state.entries = Entries::Latest(latest);
    }

    /// Returns whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.state().changes == 0
    }

    /// Returns the number of events that were announced.
    pub(super) fn announced(&self) -> u64 {
        self.state().announced
    }

    /// Wakes who waits, after an event was told (TOLD).
    pub(super) fn wake(&self) {
        // SeqCst: pairs with the fence in `wait`: who waits sees the event told, or is seen here.
        fence(Ordering::SeqCst);
        // Relaxed: the fence orders it.
        if !self.waits.load(Ordering::Relaxed) {
            return;
        }
        let waker = {
            let mut state = self.state();
            self.waits.store(false, Ordering::Relaxed);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Lets a waker be woken when an event is told. The caller then looks again.
    pub(super) fn wait(&self, waker: &Waker) {
        {
            let mut state = self.state();
            state.waker = Some(waker.clone());
            // Relaxed: the fence orders it.
            self.waits.store(true, Ordering::Relaxed);
        }
        // SeqCst: pairs with the fence in `wake`.
        fence(Ordering::SeqCst);
    }

    /// Moves the next entries to `taken`, some at a time.
    pub(super) fn take(&self, taken: &mut VecDeque<Queued>) {
        let mut state = self.state();
        for _ in 0..TAKEN {
            let Some(entry) = state.entries.pop() else {
                break;
            };
            state.changes -= match &entry {
                Queued::Event(_, event) => event.weight,
                Queued::Latest(_) => 1,
                Queued::Lost(_) => 0,
            };
            taken.push_back(entry);
        }
    }

    /// Takes no more.
    pub(super) fn close(&self) {
        let left = {
            let mut state = self.state();
            state.closed = true;
            state.waker = None;
            std::mem::take(&mut state.entries)
        };
        // Out of the lock, which writers take with a slot protected.
        drop(left);
    }
}

/// Entries that are taken at a time: so that who reads and who writes seldom meet at the lock.
const TAKEN: usize = 64;
