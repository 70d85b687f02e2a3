//! The order of list inserts, and reading several keys at one place in it.
//!
//! # Why
//!
//! One store decides for all keys of a [commit](crate::pending). A reader of one key needs no more. A reader of
//! several keys looks at them one after another, and the decision may fall between two looks: it would see one key
//! before the commit and another after it, and so half of the list.
//!
//! # How
//!
//! The store keeps its commits in a log, a list from the last one to the first. To append a commit *is* to commit; only
//! then its state says so. Each content has a note of its newest commit, so that those of other tables do not matter to
//! a reader. A reader of several keys
//!
//! 1. takes the last commit of the log for its *place*,
//! 2. reads the keys as they are,
//! 3. looks at the note of the content again; if it has changed, the reader looks at the log, and undoes what was
//!    appended since: a key of such a commit holds, for this reader, what it held before the earliest of them, which is
//!    what the pending cell of that commit says.
//!
//! No reader waits, and what was read is not read again, whatever others do. As long as no list is inserted the price
//! is four loads.
//!
//! # Invariants
//!
//! * **ORDER**: a commit is in the log before the contents that it changes have noted it, and these before its state
//!   says so, and all at once: a thread that takes it for a place, or appends another, does both first. So a reader
//!   finds every commit before its place at all keys, and if it finds a change of a later commit, it finds that commit
//!   noted and in the log afterwards.
//! * **KEPT**: the content that a commit has displaced is retired after the commit was appended; so is the commit. A
//!   thread that was pinned before it took its place may follow the log from the end back to this place, and read the
//!   content that the cells of these commits name. The place itself is compared and never followed: it may be freed
//!   once it is not the last.
//!
//! A key that others delete after a commit is not among those that a scan comes by, so that it is not shown as it was
//! before: to the scan the key was deleted.
//!
//! # The clock
//!
//! The place in the log is the clock of [`crate::version`]: a snapshot is an empty commit in it, and a write is stamped
//! with the last place before it took effect.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64 as PlainU64, Ordering as PlainOrdering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use fyris_sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use fyris_sync::lock::Mutex;
use fyris_sync::reclaim::{Guard, PROTECT};

use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind, Order};
use crate::pending::{Commit, CommitPart, Decision};
use crate::record::RecordPtr;
use crate::slot::Content;
use crate::transaction::{FIRST, FirstOfStore};
use crate::version::LiveSnapshot;

/// Commits of more keys are searched for a key; the keys of others are gathered in a map.
const LONG: usize = if cfg!(fyris_small) { 4 } else { 256 };

/// The number of commits that are searched before the keys of all of them are gathered.
const SEARCHED: usize = if cfg!(fyris_small) { 1 } else { 4 };

/// The commits of a store.
pub(crate) struct CommitLog {
    /// Null before the first. The log has a use for it (see [`Decision`]).
    last: AtomicPtr<Decision>,
    /// Held by who begins snapshots, so that these are in the lists of their contents in the order of places.
    begins: Mutex<()>,
    /// Held by commits over several tables while they are decided, and by who swaps the content of one.
    contents: RwLock<()>,
    /// The ticket of the last transaction.
    tickets: PlainU64,
    /// The transaction that goes first.
    pub(crate) first: FirstOfStore,
    /// The highest stamp that was given to a version, or is about to be (STILL).
    stamped: AtomicU64,
}

/// The newest commit over one content.
pub(crate) struct NewestCommit {
    /// Its place in the log; 0 if there is none.
    version: AtomicU64,
}

/// The commits as one content knows them: the log of its store, and which commit was the last over the content itself.
pub(crate) struct Commits {
    pub(crate) log: Arc<CommitLog>,
    pub(crate) newest: Arc<NewestCommit>,
}

impl Commits {
    pub(crate) fn new(log: &Arc<CommitLog>) -> Commits {
        Commits {
            log: log.clone(),
            newest: Arc::new(NewestCommit {
                version: AtomicU64::new(0),
            }),
        }
    }
}

impl NewestCommit {
    /// Notes a commit that is in the log.
    pub(crate) fn raise(&self, version: u64) {
        // Release: pairs with the Acquire in `version`. A thread that was slow may note an older one.
        self.version.fetch_max(version, Ordering::Release);
    }

    fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `raise`: that commit is found in the log.
        self.version.load(Ordering::Acquire)
    }
}

impl CommitLog {
    pub(crate) fn new() -> Arc<CommitLog> {
        Arc::new(CommitLog {
            last: AtomicPtr::new(std::ptr::null_mut()),
            begins: Mutex::new(()),
            contents: RwLock::default(),
            tickets: PlainU64::new(FIRST),
            first: FirstOfStore::default(),
            stamped: AtomicU64::new(0),
        })
    }

    /// Keeps all tables from getting other contents while the result lives.
    pub(crate) fn keep_contents(&self) -> RwLockReadGuard<'_, ()> {
        // Nothing is left half done by a panic.
        self.contents.read().unwrap_or_else(|p| p.into_inner())
    }

    /// Keeps commits over several tables from being decided while the result lives.
    pub(crate) fn swap_contents(&self) -> RwLockWriteGuard<'_, ()> {
        self.contents.write().unwrap_or_else(|p| p.into_inner())
    }

    /// Returns a ticket for a transaction: a higher one than [`FIRST`].
    pub(crate) fn next_ticket(&self) -> u64 {
        // Relaxed: a number.
        self.tickets.fetch_add(1, PlainOrdering::Relaxed) + 1
    }

    /// Makes a commit happen, for all of its keys at once.
    pub(crate) fn append(&self, commit: &Commit, pin: &impl Guard) {
        loop {
            // To become the last of the log is to commit. So each time
            // * the last one now is made to appear, if the thread that has appended it has not got so far: commits
            //   appear in the order of the log (ORDER);
            // * the commit gets the number after it, and the way back to it;
            // * the exchange succeeds: it has happened, for all keys at once. It appears, and the one before is the
            //   log's no longer;
            // * or it fails, as another commit has come between: again, behind that.
            // PROTECT: pairs with the exchange below.
            let last = self.last.load(PROTECT);
            // SAFETY: null, or retired after the exchange that takes it from `last` (RECLAIM).
            if let Some(last) = unsafe { live(last) } {
                last.appear();
            }
            // SAFETY: as above; the commit is not in the log yet.
            unsafe { commit.follow(last) };
            // AcqRel: pairs with PROTECT, here and in `last`: a thread that finds the commit finds its cells. Failure
            // is repeated.
            let appended = self.last.compare_exchange(
                last,
                commit.as_ptr(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if appended.is_ok() {
                commit.block().appear();
                if !last.is_null() {
                    // SAFETY: the log's use; it is no longer the last, and no thread that pins from now on follows it
                    // (KEPT).
                    unsafe { Decision::release(last, pin) };
                }
                return;
            }
        }
    }

    /// Returns the last commit of the log, after making its state say that it is committed; null if there is none.
    fn last(&self) -> *const Decision {
        // PROTECT: pairs with the exchange in `append`.
        let last = self.last.load(PROTECT);
        // SAFETY: null, or retired after it was replaced as the last; the caller is pinned (RECLAIM).
        if let Some(last) = unsafe { live(last) }
            && !cfg!(fyris_mutant = "store_commit_unhelped")
        {
            last.appear();
        }
        last
    }

    /// Returns the place of the last commit; 0 if there was none. All up to it have appeared, so that snapshots there
    /// have noted their places (LISTED). The caller is pinned.
    pub(crate) fn clock(&self) -> u64 {
        let last = match cfg!(fyris_mutant = "store_clock_unhelped") {
            false => self.last(),
            true => self.last.load(PROTECT),
        };
        // SAFETY: null, or retired after it was replaced as the last (RECLAIM).
        unsafe { live(last) }.map_or(0, Decision::version)
    }

    /// Returns the stamp for a version that is in its slot.
    pub(crate) fn stamp(&self) -> u64 {
        let clock = self.clock();
        // Relaxed, both: who sees the version stamped, or that its write has returned, sees this as well (STILL).
        if self.stamped.load(Ordering::Relaxed) < clock
            && !cfg!(fyris_mutant = "store_stamp_unsaid")
        {
            self.stamped.fetch_max(clock, Ordering::Relaxed);
        }
        clock
    }

    /// Returns whether a snapshot that was taken at this place shows the present too: no commit and no version has come
    /// since that anyone can have seen. The caller is pinned.
    pub(crate) fn is_still(&self, place: u64) -> bool {
        // Relaxed: as in `stamp`.
        self.clock() == place && self.stamped.load(Ordering::Relaxed) < place
    }

    /// Begins snapshots that `enter` lists, and returns their place: that of an empty commit. They see what is before
    /// this place.
    pub(crate) fn begin(
        &self,
        enter: impl Fn() -> Box<[Arc<LiveSnapshot>]>,
        pin: &impl Guard,
    ) -> u64 {
        // Nothing is left half done by a panic.
        let turn = self.begins.lock().unwrap_or_else(|p| p.into_inner());
        let turn = (!cfg!(fyris_mutant = "store_begins_at_once")).then_some(turn);
        let is_late = cfg!(fyris_mutant = "store_listed_late");
        let none = Commit::of_snapshots(if is_late { Box::default() } else { enter() });
        self.append(&none, pin);
        let place = none.block().version();
        if is_late {
            enter().iter().for_each(|snapshot| snapshot.settle(place));
        }
        drop(turn);
        // SAFETY: it has no cells.
        unsafe { none.finish(pin) };
        // SeqCst: pairs with the fence where a version gets its stamp: what the snapshot does not find in a slot from
        // now on gets a stamp at this place or behind (STAMPED in `crate::version`).
        if !cfg!(fyris_mutant = "store_begin_unfenced") {
            fence(Ordering::SeqCst);
        }
        place
    }

    /// Swaps the content of a table, while no snapshot begins and no commit over several tables is decided. Returns
    /// what `swap` does, and the place of the last commit after it: a snapshot sees the new content if it begins behind
    /// that.
    pub(crate) fn swap_content<R>(&self, swap: impl FnOnce() -> R) -> (R, u64) {
        let is_unturned = cfg!(fyris_mutant = "store_swap_unturned");
        let turn = self.begins.lock().unwrap_or_else(|p| p.into_inner());
        let _turn = (!is_unturned).then_some(turn);
        let _contents = self.swap_contents();
        let swapped = swap();
        if is_unturned {
            // Long enough for a snapshot to begin between the two.
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        (swapped, self.clock())
    }

    /// Lets go of the memory of a long commit that is done.
    pub(crate) fn trim(&self, keys: usize, pin: &impl Guard) {
        if keys > LONG {
            let none = Commit::new([]);
            self.append(&none, pin);
            // SAFETY: it has no cells.
            unsafe { none.finish(pin) };
        }
    }
}

impl Drop for CommitLog {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let last = self.last.load(Ordering::Relaxed);
        if !last.is_null() {
            // SAFETY: the log's use was the last one: no thread commits on a content that is dropped, and the commits
            // that were replaced as the last have been released.
            drop(unsafe { Box::from_raw(last) });
        }
    }
}

/// A reader of several keys at one place in the order of commits.
pub(crate) struct Undo<'g> {
    /// The last commit that the reader sees.
    place: *const Decision,
    /// The place of the last of them over the content that is read, or of an earlier one.
    version: u64,
    changes: Option<Box<Changes<'g>>>,
    part: fn(RecordPtr) -> &'g [u8],
}

/// The changes of commits behind the place.
struct Changes<'g> {
    /// The last commit that is taken over.
    seen: *const Decision,
    /// The contents of keys before, each with the version of the commit that changed it.
    old: HashMap<&'g [u8], (u64, Option<Content>)>,
    /// Long commits, in their order.
    long: Vec<(u64, &'g CommitPart)>,
}

impl<'g> Undo<'g> {
    /// Returns a reader at the end of the log as it is now.
    #[inline]
    pub(crate) fn new(commits: &Commits, kind: TableType, _pin: &'g impl Guard) -> Undo<'g> {
        // The version first: a commit that notes itself between the two looks then seems to be due, and is not found.
        let version = commits.newest.version();
        let place = commits.log.last();
        Undo {
            place,
            version,
            changes: None,
            part: match kind {
                TableType::OrderedSet => order_part,
                _ => exact_part,
            },
        }
    }

    /// Returns whether there is anything to undo in what was read before the call.
    #[inline]
    pub(crate) fn is_due(&self, commits: &Commits) -> bool {
        // What was read of a commit was read after it had noted itself (ORDER).
        commits.newest.version() != self.version && !cfg!(fyris_mutant = "store_commit_not_undone")
    }

    /// Returns the content of a key at the place, if a commit has changed it since; to be asked after the key was read.
    pub(crate) fn before(&mut self, commits: &Commits, key: &[u8]) -> Option<Option<Content>> {
        self.take_over(commits);
        let part = self.part;
        let changes = self.changes.as_deref()?;
        let gathered = changes.old.get(key).copied();
        let searched = changes.long.iter().find_map(|(version, cells)| {
            let cells = cells.cells();
            let at = cells.binary_search_by(|cell| part(cell.key()).cmp(key));
            at.ok().map(|at| (*version, cells[at].before()))
        });
        let earliest = match (gathered, searched) {
            (Some(a), Some(b)) => Some(if a.0 < b.0 { a } else { b }),
            (a, b) => a.or(b),
        };
        earliest.map(|(_, old)| old)
    }

    /// Takes over the commits that were appended since the last time.
    fn take_over(&mut self, commits: &Commits) {
        // PROTECT: pairs with the exchange in `append`.
        let last = commits.log.last.load(PROTECT).cast_const();
        let changes = self.changes.get_or_insert_with(|| {
            Box::new(Changes {
                seen: self.place,
                old: HashMap::new(),
                long: Vec::new(),
            })
        });
        let (mut new, mut at) = (Vec::new(), last);
        while at != changes.seen {
            // SAFETY: appended after the reader took its place, under its pin (KEPT).
            let Some(commit) = (unsafe { live(at) }) else {
                break;
            };
            new.push(commit);
            at = commit.previous();
        }
        changes.seen = last;
        let ours = |part: &&CommitPart| Arc::ptr_eq(&part.newest, &commits.newest);
        for commit in new.into_iter().rev() {
            let Some(cells) = commit.parts().iter().find(ours) else {
                continue;
            };
            if cells.cells().len() > LONG {
                changes.long.push((commit.version(), cells));
            } else {
                changes.gather(commit.version(), cells, self.part);
            }
        }
        if changes.long.len() > SEARCHED {
            let long = std::mem::take(&mut changes.long);
            long.into_iter()
                .for_each(|(version, cells)| changes.gather(version, cells, self.part));
        }
    }
}

impl<'g> Changes<'g> {
    /// Notes what the keys of a commit held, unless an earlier one has changed it before.
    fn gather(&mut self, version: u64, cells: &'g CommitPart, part: fn(RecordPtr) -> &'g [u8]) {
        for cell in cells.cells() {
            let noted = self
                .old
                .entry(part(cell.key()))
                .or_insert((version, cell.before()));
            if version < noted.0 {
                *noted = (version, cell.before());
            }
        }
    }
}

/// Returns a reference to the commit, or `None` for null.
///
/// # Safety
///
/// It has not been freed, and is not during `'d`.
unsafe fn live<'d>(commit: *const Decision) -> Option<&'d Decision> {
    #[cfg(loom)]
    fyris_sync::reclaim::assert_not_reclaimed(commit);
    // SAFETY: the caller's promise.
    unsafe { commit.as_ref() }
}

fn order_part<'g>(record: RecordPtr) -> &'g [u8] {
    // SAFETY: of a commit that a reader follows under its pin (KEPT), which is what `'g` stands for.
    unsafe { Order::part(record) }
}

fn exact_part<'g>(record: RecordPtr) -> &'g [u8] {
    // SAFETY: as above.
    unsafe { Exact::part(record) }
}
