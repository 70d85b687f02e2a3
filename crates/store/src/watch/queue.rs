//! The queue of a subscription: what it is to be told of, in order.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use fyris_sync::atomic::{AtomicBool, Ordering, fence};
use fyris_sync::lock::{Mutex, MutexGuard};
use smallvec::SmallVec;

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
    /// With the number of those that were announced before.
    Event(u64, Arc<Announced>),
    /// This many changes did not fit in here.
    Lost(u64),
}

/// What a subscription is to be told of.
pub(crate) struct WatchQueue {
    /// The number of changes that it has room for.
    bound: usize,
    state: Mutex<QueueState>,
    /// Whether somebody waits to be woken.
    waits: AtomicBool,
}

#[derive(Default)]
struct QueueState {
    entries: VecDeque<Queued>,
    /// The number of changes in the entries.
    changes: usize,
    announced: u64,
    /// Who waits for the first entry to be there, and told.
    waker: Option<Waker>,
    /// Whether nobody reads it any more.
    closed: bool,
}

impl QueueState {
    fn lose(&mut self, changes: u64) {
        match self.entries.back_mut() {
            Some(Queued::Lost(lost)) => *lost += changes,
            _ => self.entries.push_back(Queued::Lost(changes)),
        }
    }
}

impl WatchQueue {
    pub(super) fn new(bound: usize) -> Arc<WatchQueue> {
        Arc::new(WatchQueue {
            bound,
            state: Mutex::default(),
            waits: AtomicBool::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        // Nothing is left half done by a panic.
        self.state.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Gives an event its place, if there is room. What is alone has room, however large it is: a commit is whole.
    pub(super) fn announce(&self, event: &Arc<Announced>) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        let at = state.announced;
        state.announced += 1;
        if state.changes == 0 || state.changes + event.weight <= self.bound {
            state.changes += event.weight;
            state.entries.push_back(Queued::Event(at, event.clone()));
        } else if !cfg!(fyris_mutant = "store_overflow_untold") {
            state.lose(event.weight as u64);
        }
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
        if !cfg!(fyris_mutant = "store_wait_unfenced") {
            fence(Ordering::SeqCst);
        }
    }

    /// Moves the next entries to `taken`, some at a time.
    pub(super) fn take(&self, taken: &mut VecDeque<Queued>) {
        let mut state = self.state();
        let some = state.entries.len().min(TAKEN);
        let mut changes = 0;
        for entry in state.entries.drain(..some) {
            if let Queued::Event(_, event) = &entry {
                changes += event.weight;
            }
            taken.push_back(entry);
        }
        state.changes -= changes;
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
