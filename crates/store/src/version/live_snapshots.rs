//! The snapshots of one content that are alive, and what waits for each to end.
//!
//! The list is an array that is replaced as a whole, in the order of places: a writer loads it and looks at its end. A
//! snapshot is in the list *before* it takes its place in the log, and has noted that place before anyone has a stamp
//! from there on. So a writer whose stamp says that it came after the snapshot finds it there (LISTED in [`super`]),
//! and what no snapshot sees no snapshot will see.
//!
//! What a writer displaces hangs on the newest snapshot that sees it. When that one ends it goes to the one before, if
//! that sees it too; else it is garbage (the dead lists of ZFS). So that nothing is looked at one by one, a snapshot
//! keeps it in lists by the newest snapshot that does *not* see it, being older.
//!
//! Where nothing is displaced (a key was not there, or an object came to those of a bag) the key waits instead, so that
//! its cells can go when the snapshot does. It waits once, however often it is written to; and each time that one
//! comes, two of those that wait are looked at, in turn: a key that is gone without a trace waits no longer. So do two
//! of those that a newer snapshot left behind, and what of them still waits is put to the others. So a snapshot keeps
//! no more than about twice the keys that have a history, and no write does more than these few steps for it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as PlainUsize, Ordering as PlainOrdering};
use std::time::{Duration, Instant};

use fyris_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use fyris_sync::lock::{Mutex, MutexGuard};
use fyris_sync::reclaim::{Guard, PROTECT, Retire};
use fyris_sync::thread::slot;

use super::cell::VersionPtr;
use super::guards::SnapshotGuard;
use crate::chain::{self, Edited};
use crate::commits::CommitLog;
use crate::record::RecordPtr;
use crate::slot::Content;

/// The place of who has not taken it yet: behind all stamps that were given so far.
const COMING: u64 = u64::MAX;

/// Lists that a snapshot has, so that several threads may displace at once.
const STRIPES: usize = 8;

/// Keys that are looked at when one comes.
const LOOKED_AT: usize = 2;

/// Items that lie together.
const CHUNK: usize = if cfg!(fyris_small) { 2 } else { 500 };

/// The living snapshots of a content.
pub(crate) struct LiveSnapshots {
    log: Arc<CommitLog>,
    /// How many of them guard what their transactions have read: see [`super::guards`].
    pub(super) guards: AtomicUsize,
    list: AtomicPtr<Listed>,
    /// Held by who changes the list.
    turn: Mutex<()>,
    /// The number of retained versions, and the bytes that they take.
    retained: (PlainUsize, PlainUsize),
    /// Snapshots and jobs that need the content, and one for its table.
    holders: PlainUsize,
}

/// In the order of places: who begins one has the turn of the log from before this list to the place.
struct Listed(Vec<Arc<LiveSnapshot>>);

/// One snapshot of a content.
pub(crate) struct LiveSnapshot {
    place: AtomicU64,
    pub(super) guard: SnapshotGuard,
    since: Instant,
    lists: [Mutex<Waiting>; STRIPES],
}

/// What waits for a snapshot to end.
#[derive(Default)]
struct Waiting {
    /// Whether it has ended.
    closed: bool,
    lists: Vec<DeadList>,
}

impl Waiting {
    /// Returns the list of what was born behind that place, and not behind a later one.
    fn list(&mut self, unseen: u64) -> &mut DeadList {
        let at = self.lists.iter().position(|list| list.unseen == unseen);
        let at = at.unwrap_or_else(|| {
            self.lists.push(DeadList::new(unseen));
            self.lists.len() - 1
        });
        &mut self.lists[at]
    }
}

/// What a displaced version owned alone.
pub(crate) enum DeadItem {
    Nothing,
    Content(Content),
    /// What the chain in its place does not have.
    Part(Edited),
}

impl DeadItem {
    /// Returns whether an older content of a bag's key has any of it too (PERSISTENT).
    pub(super) fn is_in(&self, older: Content) -> bool {
        match self {
            DeadItem::Nothing => false,
            DeadItem::Content(content) => chain::share(*content, older),
            DeadItem::Part(edited) => edited.is_in(older),
        }
    }

    /// Returns a record with the key.
    pub(super) fn key(&self) -> Option<RecordPtr> {
        match self {
            DeadItem::Nothing => None,
            DeadItem::Content(content) => Some(content.newest()),
            DeadItem::Part(edited) => edited.gone.first().map(|object| object.record),
        }
    }

    /// Returns the bytes that are kept with it: its own, those of the cell over it, and its place in a list.
    pub(super) fn bytes(&self) -> usize {
        let (own, place) = match self {
            DeadItem::Nothing => (0, 0),
            DeadItem::Content(content) => (content.size(), size_of::<Content>()),
            DeadItem::Part(edited) => (edited.bytes(), size_of::<Edited>()),
        };
        own + place + VersionPtr::BYTES
    }

    /// Retires it.
    ///
    /// # Safety
    ///
    /// No slot and no chain of versions has it, and it is retired once.
    pub(crate) unsafe fn retire(self, pin: &impl Guard) {
        match self {
            DeadItem::Nothing => {}
            // SAFETY: forwarded.
            DeadItem::Content(content) => unsafe { content.retire(pin) },
            // SAFETY: forwarded.
            DeadItem::Part(edited) => unsafe { edited.retire(pin) },
        }
    }
}

/// What was displaced while a snapshot was the newest that sees it.
pub(crate) struct DeadList {
    /// The place of the newest snapshot that does not see it, being older than it is; 0 if there was none.
    unseen: u64,
    chunks: Vec<Vec<Content>>,
    /// In a bag.
    parts: Vec<Edited>,
    /// Keys under which nothing was displaced.
    keys: WaitingKeys,
}

/// Keys that wait for the end of a snapshot, as bytes.
#[derive(Default)]
struct WaitingKeys {
    keys: BTreeSet<Box<[u8]>>,
    /// The last one that was looked at.
    looked_at: Box<[u8]>,
    /// Those that were taken over of snapshots behind.
    left_behind: Vec<BTreeSet<Box<[u8]>>>,
}

impl WaitingKeys {
    /// Returns the bytes that are kept with a key, and the cell over it.
    fn bytes(key: &[u8]) -> usize {
        size_of::<Box<[u8]>>() + key.len() + VersionPtr::BYTES
    }

    /// Lets a key wait. O(log n), however many were taken over.
    fn keep(&mut self, key: &[u8], has_history: impl Fn(&[u8]) -> bool) -> KeyWaits {
        if self.keys.contains(key) {
            return KeyWaits::Already;
        }
        // Before the others are looked at: it may be among those that were left behind.
        self.keys.insert(key.into());
        let (mut gone, mut bytes) = (0, 0);
        for _ in 0..LOOKED_AT {
            let next = [self.look_at_next(&has_history), self.put_next(&has_history)];
            for key in next.into_iter().flatten() {
                (gone, bytes) = (gone + 1, bytes + WaitingKeys::bytes(&key));
            }
        }
        KeyWaits::Newly { gone, bytes }
    }

    /// Takes the next of the keys out if it has no history.
    fn look_at_next(&mut self, has_history: &impl Fn(&[u8]) -> bool) -> Option<Box<[u8]>> {
        let behind = (Bound::Excluded(&*self.looked_at), Bound::Unbounded);
        let next = self.keys.range::<[u8], _>(behind).next();
        self.looked_at = next.or_else(|| self.keys.first())?.clone();
        match has_history(&self.looked_at) || cfg!(fyris_mutant = "store_waits_for_ever") {
            true => None,
            false => self.keys.take(&self.looked_at),
        }
    }

    /// Puts one of the keys that were taken over to the others. Returns one that has no history, or waits there
    /// already.
    fn put_next(&mut self, has_history: &impl Fn(&[u8]) -> bool) -> Option<Box<[u8]>> {
        let Some(key) = self.left_behind.last_mut()?.pop_first() else {
            self.left_behind.pop();
            return None;
        };
        match has_history(&key)
            && !self.keys.contains(&key)
            && !cfg!(fyris_mutant = "store_left_behind_lost")
        {
            true => {
                self.keys.insert(key);
                None
            }
            false => Some(key),
        }
    }

    /// Takes over those of a snapshot behind. O(its own).
    fn take_over(&mut self, other: WaitingKeys) {
        self.left_behind.extend(other.left_behind);
        self.left_behind
            .extend((!other.keys.is_empty()).then_some(other.keys));
    }

    /// Hands out all of them, some of them more than once.
    fn into_keys(self) -> impl Iterator<Item = Box<[u8]>> {
        let left_behind = self.left_behind.into_iter().flatten();
        self.keys.into_iter().chain(left_behind)
    }
}

/// What became of a key that was to wait.
pub(super) enum KeyWaits {
    /// It does, with what is kept for it; and so many others, of so many bytes, do no longer.
    Newly { gone: usize, bytes: usize },
    /// It did before.
    Already,
    /// The snapshot has ended.
    Not,
}

// SAFETY: what is in it is the list's own (RETAINED), and contents may be retired on any thread.
unsafe impl Send for DeadList {}

impl DeadList {
    fn new(unseen: u64) -> DeadList {
        DeadList {
            unseen,
            chunks: Vec::new(),
            parts: Vec::new(),
            keys: WaitingKeys::default(),
        }
    }

    /// Takes over what another list has.
    fn extend(&mut self, other: DeadList) {
        self.chunks.extend(other.chunks);
        self.parts.extend(other.parts);
        self.keys.take_over(other.keys);
    }

    fn push(&mut self, item: DeadItem) {
        match item {
            DeadItem::Nothing => {}
            DeadItem::Content(content) => self.push_content(content),
            DeadItem::Part(edited) => self.parts.push(edited),
        }
    }

    fn push_content(&mut self, item: Content) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(item),
            // It grows, since most snapshots keep little.
            _ => self.chunks.push(vec![item]),
        }
    }

    /// Hands out the keys, each with the bytes that are kept with it.
    pub(super) fn take_keys(&mut self) -> impl Iterator<Item = (Box<[u8]>, usize)> + use<> {
        let keys = std::mem::take(&mut self.keys).into_keys();
        keys.map(|key| {
            let bytes = WaitingKeys::bytes(&key);
            (key, bytes)
        })
    }

    /// Hands out what else is in it.
    pub(crate) fn into_items(self) -> impl Iterator<Item = DeadItem> {
        let contents = self.chunks.into_iter().flatten().map(DeadItem::Content);
        contents.chain(self.parts.into_iter().map(DeadItem::Part))
    }
}

impl LiveSnapshots {
    pub(crate) fn new(log: &Arc<CommitLog>) -> LiveSnapshots {
        LiveSnapshots {
            log: log.clone(),
            guards: AtomicUsize::new(0),
            list: AtomicPtr::new(std::ptr::null_mut()),
            turn: Mutex::new(()),
            retained: Default::default(),
            holders: PlainUsize::new(1),
        }
    }

    /// Returns the log of the content's store.
    pub(crate) fn log(&self) -> &CommitLog {
        &self.log
    }

    /// Adds a holder of the content. Returns `false` if it has none any more.
    pub(crate) fn hold(&self) -> bool {
        let more = |holders: usize| (holders > 0).then_some(holders + 1);
        // Relaxed, both: a holder found the content in its table, or has it from another.
        let held = self
            .holders
            .fetch_update(PlainOrdering::Relaxed, PlainOrdering::Relaxed, more);
        held.is_ok()
    }

    /// Takes a holder away. Returns `true` if that was the last one.
    pub(crate) fn let_go(&self) -> bool {
        // AcqRel: pairs with itself: what others did with the content comes before it is retired.
        self.holders.fetch_sub(1, PlainOrdering::AcqRel) == 1
    }

    /// Counts a version of this many bytes as retained.
    pub(super) fn add_retained(&self, bytes: usize) {
        // Relaxed, both: counts.
        self.retained.0.fetch_add(1, PlainOrdering::Relaxed);
        self.retained.1.fetch_add(bytes, PlainOrdering::Relaxed);
    }

    /// Counts some as retained no longer.
    pub(super) fn sub_retained(&self, versions: usize, bytes: usize) {
        // Relaxed, both: as above.
        self.retained.0.fetch_sub(versions, PlainOrdering::Relaxed);
        self.retained.1.fetch_sub(bytes, PlainOrdering::Relaxed);
    }

    /// Returns the number of retained versions, and their bytes.
    pub(crate) fn retained(&self) -> (usize, usize) {
        // Relaxed: as above.
        let now = |count: &PlainUsize| count.load(PlainOrdering::Relaxed);
        (now(&self.retained.0), now(&self.retained.1))
    }

    /// Lists a snapshot that is about to take its place: see [`CommitLog::begin`](crate::commits::CommitLog::begin).
    pub(crate) fn enter(&self, snapshot: &Arc<LiveSnapshot>, pin: &impl Guard) {
        let _turn = self.turn();
        let mut list = self.now(pin).to_vec();
        list.push(snapshot.clone());
        self.publish(list, pin);
    }

    /// Takes a snapshot out of the list, and hands out what nobody sees any more.
    pub(crate) fn leave(&self, ended: &Arc<LiveSnapshot>, pin: &impl Guard) -> Vec<DeadList> {
        let _turn = self.turn();
        let list = self.now(pin);
        let Some(at) = list.iter().position(|other| Arc::ptr_eq(other, ended)) else {
            return Vec::new();
        };
        let older = &list[..at];
        self.publish([older, &list[at + 1..]].concat(), pin);
        let mut garbage = Vec::new();
        for stripe in 0..STRIPES {
            for mut dead in ended.close(stripe) {
                // Snapshots that have ended are no reason to keep lists apart.
                dead.unseen = last_place(&older[..behind(older, dead.unseen)]);
                match older.last() {
                    // That one sees what was born before it.
                    Some(before)
                        if before.place() > dead.unseen
                            && !cfg!(fyris_mutant = "store_left_unasked") =>
                    {
                        before.take_over(stripe, dead);
                    }
                    _ => garbage.push(dead),
                }
            }
        }
        garbage
    }

    /// Returns the newest snapshot that sees a version which was born at the one stamp and died at the other, and the
    /// place of the newest one that it was born behind; `None` if no snapshot sees it, now or ever. The second stamp is
    /// in its cell already (LISTED). O(log n) in the snapshots.
    pub(crate) fn seeing<'g>(
        &self,
        born: u64,
        died: u64,
        pin: &'g impl Guard,
    ) -> Option<(&'g LiveSnapshot, u64)> {
        let list = self.now(pin);
        // Most of what is displaced was put there since the last one.
        if last_place(list) <= born {
            return None;
        }
        let (unseeing, seeing) = list[..behind(list, died)].split_at(behind(list, born.min(died)));
        Some((seeing.last()?, last_place(unseeing)))
    }

    /// Returns whether a snapshot sees a version: see [`LiveSnapshots::seeing`].
    pub(crate) fn sees(&self, born: u64, died: u64, pin: &impl Guard) -> bool {
        self.seeing(born, died, pin).is_some()
    }

    /// Returns the number of live snapshots, and the age of the oldest.
    pub(crate) fn figures(&self, pin: &impl Guard) -> (usize, Option<Duration>) {
        let list = self.now(pin);
        (list.len(), list.first().map(|snapshot| snapshot.age()))
    }

    pub(super) fn now<'g>(&self, _pin: &'g impl Guard) -> &'g [Arc<LiveSnapshot>] {
        // PROTECT: pairs with the Release in `publish`.
        let list = self.list.load(PROTECT);
        // SAFETY: null, or retired after it was replaced (RECLAIM).
        unsafe { list.as_ref() }.map_or(&[], |list| &list.0)
    }

    /// Replaces the list. The caller has the turn.
    fn publish(&self, list: Vec<Arc<LiveSnapshot>>, pin: &impl Guard) {
        let new = match list.is_empty() {
            true => std::ptr::null_mut(),
            false => Box::into_raw(Box::new(Listed(list))),
        };
        // AcqRel: pairs with PROTECT in `now`.
        let old = self.list.swap(new, Ordering::AcqRel);
        if !old.is_null() {
            // SAFETY: from a Box, and replaced once.
            unsafe { pin.retire(old) };
        }
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        // Nothing is left half done by a panic.
        self.turn.lock().unwrap_or_else(|p| p.into_inner())
    }
}

/// Returns how many of some snapshots have places up to this one.
fn behind(list: &[Arc<LiveSnapshot>], place: u64) -> usize {
    list.partition_point(|snapshot| snapshot.place() <= place)
}

/// Returns the place of the last; 0 if there is none.
fn last_place(list: &[Arc<LiveSnapshot>]) -> u64 {
    list.last().map_or(0, |snapshot| snapshot.place())
}

impl Drop for LiveSnapshots {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let list = self.list.load(Ordering::Relaxed);
        if !list.is_null() {
            // SAFETY: from a Box; no other thread has it.
            drop(unsafe { Box::from_raw(list) });
        }
    }
}

impl Retire for Listed {
    unsafe fn reclaim(ptr: *mut Listed) {
        // SAFETY: from a Box, reclaimed once.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

impl LiveSnapshot {
    /// Returns for how long it has been there.
    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Returns a snapshot that is about to begin.
    pub(crate) fn new() -> Arc<LiveSnapshot> {
        Arc::new(LiveSnapshot {
            place: AtomicU64::new(COMING),
            guard: SnapshotGuard::default(),
            since: Instant::now(),
            lists: Default::default(),
        })
    }

    /// Notes the place that it has taken.
    pub(crate) fn settle(&self, place: u64) {
        // Release: pairs with the Acquire in `place`.
        self.place.store(place, Ordering::Release);
    }

    fn place(&self) -> u64 {
        // Acquire: pairs with the Release in `settle`.
        self.place.load(Ordering::Acquire)
    }

    /// Lets something wait for the end of the snapshot; gives it back if that has ended.
    pub(super) fn keep(&self, item: DeadItem, unseen: u64) -> Option<DeadItem> {
        let mut waiting = self.waiting(slot() % STRIPES);
        if waiting.closed && !cfg!(fyris_mutant = "store_kept_for_none") {
            return Some(item);
        }
        waiting.list(unseen).push(item);
        None
    }

    /// Lets a key wait for the end of the snapshot, once; `has_history` says whether a key has one still.
    pub(super) fn keep_key(
        &self,
        key: &[u8],
        unseen: u64,
        has_history: impl Fn(&[u8]) -> bool,
    ) -> KeyWaits {
        // All of one key are in one stripe.
        let stripe = key.iter().fold(0, |sum, byte| sum ^ byte);
        let mut waiting = self.waiting(usize::from(stripe) % STRIPES);
        match waiting.closed {
            true => KeyWaits::Not,
            false => waiting.list(unseen).keys.keep(key, has_history),
        }
    }

    /// Returns the bytes that are kept with a key.
    pub(super) fn bytes_of_key(key: &[u8]) -> usize {
        WaitingKeys::bytes(key)
    }

    /// Takes a list over from the snapshot behind.
    fn take_over(&self, stripe: usize, dead: DeadList) {
        let mut waiting = self.waiting(stripe);
        debug_assert!(!waiting.closed, "it is in the list, and the turn is held");
        waiting.list(dead.unseen).extend(dead);
    }

    /// Hands out what waits in a stripe, and lets nothing wait there any more.
    fn close(&self, stripe: usize) -> Vec<DeadList> {
        let mut waiting = self.waiting(stripe);
        waiting.closed = true;
        std::mem::take(&mut waiting.lists)
    }

    fn waiting(&self, stripe: usize) -> MutexGuard<'_, Waiting> {
        // Nothing is left half done by a panic.
        self.lists[stripe].lock().unwrap_or_else(|p| p.into_inner())
    }
}
