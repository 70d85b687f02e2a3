//! Subscriptions, as who is told of changes has them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use futures_core::Stream;
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::{LocalGuard, pin};
use smallvec::smallvec;

use super::difference::ObjectDiff;
use super::event::{ObjectChange, WatchEvent, WatchKind};
use super::filter::{KeyFilter, WatchFilter};
use super::initial::InitialObjects;
use super::latest::{LatestChange, WatchedKey};
use super::options::SubscribeOptions;
use super::queue::{Announced, Queued, Told, ToldChange, WatchQueue};
use crate::error::{Error, Result};
use crate::fork;
use crate::ids::{Right, TableId, TableType};
use crate::record::newest;
use crate::slot::Content;
use crate::snapshot;
use crate::store::Store;
use crate::table::Table;

/// What changes in one or several tables, from [`Store::subscribe`] on: an iterator that waits, a [`Stream`] for async
/// programs, or [`Subscription::try_next`] for who looks now and then.
///
/// # Order and consistency
///
/// What one call or one transaction changes in the tables is one event, which is whole, and comes after the change can
/// be seen. Events come in the order of the changes of each key, and of calls that do not overlap; so does what a
/// transaction changes, with respect to all that it has read. Changes of different keys by calls that overlap come in
/// some order, which another subscription may see in another way. In one event the changes come in the order of
/// writing, each key's where its last write was; those of a list that had begun before the table was watched, in that
/// of keys.
///
/// A write that puts an object where the same object is, or deletes what is not there, changes nothing, and is no
/// event.
///
/// # Cost
///
/// Writers of a watched table pay for finding who wants to know, and where somebody does, for two short locks of the
/// queue and copies of the objects. They never wait for a reader: what does not fit into the queue is lost, and the
/// queue says so ([`WatchKind::Overflow`]).
///
/// It lasts until it is dropped, whatever becomes of the rights to the tables.
///
/// ```
/// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let orders = owner.new_table("orders", &Options::set())?;
/// let changes = orders.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
/// let counter = std::thread::spawn(move || {
///     // Ends with the table.
///     changes.flat_map(|event| event.changes().to_vec()).filter(|change| change.old.is_none()).count()
/// });
/// orders.insert(&term!({1, :new}))?;
/// orders.insert(&term!({1, :paid}))?;
/// orders.insert(&term!({2, :new}))?;
/// orders.delete()?;
/// assert_eq!(counter.join().unwrap(), 2);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Subscription {
    queue: Arc<WatchQueue>,
    /// The next ones of it.
    taken: VecDeque<Queued>,
    tables: Vec<Watching>,
    /// What of it was told before the snapshot that it began with (FROM).
    start: Option<SnapshotStart>,
    initial: Option<InitialObjects>,
    told: u64,
}

/// A table that is watched.
struct Watching {
    table: Table,
    ended: bool,
}

/// Where a snapshot is, with which a subscription begins.
#[derive(Clone, Copy)]
struct SnapshotStart {
    place: u64,
    /// The number of events that were announced before it was taken, and perhaps a few more.
    announced: u64,
}

impl Store {
    /// Subscribes to what changes in tables of this store.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let from = owner.new_table("from", &Options::set())?;
    /// let to = owner.new_table("to", &Options::set())?;
    /// from.insert(&term!({1}))?;
    /// let mut changes = store.subscribe(&[&from, &to], &WatchFilter::all(), &SubscribeOptions::new())?;
    /// store.transaction(|tx| {
    ///     tx.table(&from)?.delete_key(&1)?;
    ///     tx.table(&to)?.insert(&term!({1}))
    /// })?;
    /// let event = changes.try_next().expect("it was committed");
    /// assert_eq!(event.changes().len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`]; [`Error::NoAccess`] without the right to read; [`Error::WrongType`] for a range of a
    /// table without an order of keys, and to conflate a bag; [`Error::ReadOnly`] and [`Error::InTransaction`] for
    /// handles of snapshots and transactions; [`Error::BadArgument`] for a table of another store, one that is given
    /// twice, and for none.
    pub fn subscribe(
        &self,
        tables: &[&Table],
        filter: &WatchFilter,
        options: &SubscribeOptions,
    ) -> Result<Subscription> {
        tables.iter().try_for_each(|table| table.check_in(self))?;
        Subscription::new(tables, filter, options)
    }
}

impl Table {
    /// Subscribes to what changes in the table: as [`Store::subscribe`].
    ///
    /// ```
    /// # use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:a, 1}))?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// table.insert(&term!({:a, 2}))?;
    /// table.delete_key(&term!(:a))?;
    /// let event = changes.try_next().expect("the insert");
    /// let change = &event.changes()[0];
    /// assert_eq!((event.seq, &change.old, &change.new), (1, &Some(term!({:a, 1})), &Some(term!({:a, 2}))));
    /// assert_eq!(changes.try_next().expect("the delete").changes()[0].new, None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Store::subscribe`].
    pub fn subscribe(
        &self,
        filter: &WatchFilter,
        options: &SubscribeOptions,
    ) -> Result<Subscription> {
        Subscription::new(&[self], filter, options)
    }
}

fn refuse<T>(what: String) -> Result<T> {
    Err(Error::BadArgument(what))
}

/// What is to be had of a subscription at once.
enum Next {
    Event(WatchEvent),
    /// Nothing yet.
    Later,
    /// Nothing any more.
    Ended,
}

impl Subscription {
    fn new(
        tables: &[&Table],
        filter: &WatchFilter,
        options: &SubscribeOptions,
    ) -> Result<Subscription> {
        fork::check()?;
        if tables.is_empty() {
            return refuse("no table to subscribe to".to_owned());
        }
        let (mut watching, mut filters) = (Vec::<Watching>::new(), Vec::new());
        for table in tables {
            table.check_live("subscribe")?;
            table.live(Right::Read, &pin())?;
            if watching.iter().any(|other| other.table.id() == table.id()) {
                return refuse(format!("table {} is given twice", table.shared().named()));
            }
            if options.conflate && table.table_type().is_bag() {
                return Err(Error::WrongType {
                    operation: "conflate",
                    found: table.table_type(),
                });
            }
            filters.push((table.id(), filter.of(table)?));
            watching.push(Watching {
                table: Table::clone(table),
                ended: true,
            });
        }
        let mut new = Subscription {
            queue: WatchQueue::new(options.queue, filters),
            taken: VecDeque::new(),
            tables: watching,
            start: None,
            initial: None,
            told: 0,
        };
        // If one fails, the drop of `new` takes back the others.
        for watching in &mut new.tables {
            let shared = watching.table.shared();
            watching.ended = !shared.watchers().enter(&new.queue, &shared.life);
            // Who has deleted it may not have found the watchers; `enter` has waited, with a barrier.
            if watching.ended || shared.is_deleted() {
                return Err(shared.gone());
            }
        }
        if options.from_snapshot {
            new.begin_with_objects(tables, filter)?;
        }
        // Not before: what the snapshot has must not become one with what comes later.
        if options.conflate {
            new.queue.conflate();
        }
        Ok(new)
    }

    /// Takes the snapshot that it begins with (FROM).
    fn begin_with_objects(&mut self, tables: &[&Table], filter: &WatchFilter) -> Result<()> {
        let taken = snapshot::take_within(tables)?;
        self.start = Some(SnapshotStart {
            place: taken[0].place(),
            announced: self.queue.announced(),
        });
        let handles = tables
            .iter()
            .zip(taken)
            .map(|(table, taken)| table.at(taken));
        self.initial = Some(InitialObjects::new(handles, filter));
        Ok(())
    }

    /// Returns the next event, if there is one now; `None` if there is none yet, or there are no more.
    ///
    /// ```
    /// # use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// assert!(changes.try_next().is_none());
    /// table.insert(&term!({1}))?;
    /// assert!(changes.try_next().is_some());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn try_next(&mut self) -> Option<WatchEvent> {
        match self.step(None) {
            Next::Event(event) => Some(event),
            Next::Later | Next::Ended => None,
        }
    }

    /// Returns whether all that was announced has been told.
    pub(crate) fn is_drained(&self) -> bool {
        self.taken.is_empty() && self.queue.is_empty()
    }

    /// Waits for the next event, for some time; `None` if none came, or there are no more.
    ///
    /// ```
    /// # use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    /// # use std::time::Duration;
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// assert!(changes.next_within(Duration::from_millis(1)).is_none());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn next_within(&mut self, time: Duration) -> Option<WatchEvent> {
        self.wait(Instant::now().checked_add(time))
    }

    /// Returns whether all its tables are deleted, and all was told.
    ///
    /// ```
    /// # use fyris::{Options, Store, SubscribeOptions, WatchFilter};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// table.delete()?;
    /// assert!(!changes.has_ended());
    /// assert!(changes.next().is_some() && changes.has_ended());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn has_ended(&self) -> bool {
        fork::is_child() || self.tables.iter().all(|watching| watching.ended)
    }

    /// Returns the next event; if there is none yet, the context's waker is woken when there may be. The waker is woken
    /// by who writes to a table: it must not wait, nor use the store. One waker waits at a time.
    ///
    /// ```
    /// # use fyris::{Options, Store, SubscribeOptions, WatchFilter};
    /// # use std::task::{Context, Poll, Waker};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let mut changes = table.subscribe(&WatchFilter::all(), &SubscribeOptions::new())?;
    /// assert_eq!(changes.poll_event(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        match self.step(Some(context.waker())) {
            Next::Event(event) => Poll::Ready(Some(event)),
            Next::Ended => Poll::Ready(None),
            Next::Later => Poll::Pending,
        }
    }

    fn wait(&mut self, end: Option<Instant>) -> Option<WatchEvent> {
        // Most often the next event comes soon; to sleep, and to be woken, costs more than to look again.
        let mut backoff = Backoff::new();
        while !backoff.is_long() {
            match self.step(None) {
                Next::Event(event) => return Some(event),
                Next::Ended => return None,
                Next::Later => backoff.wait(),
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        loop {
            match self.step(Some(&waker)) {
                Next::Event(event) => return Some(event),
                Next::Ended => return None,
                Next::Later => {}
            }
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    }

    fn step(&mut self, waker: Option<&Waker>) -> Next {
        if self.has_ended() {
            return Next::Ended;
        }
        while let Some(initial) = &mut self.initial {
            let kind = match initial.next_part() {
                // On with it, in another step where others wait for their turn.
                Some((_, objects)) if objects.is_empty() => match waker {
                    Some(waker) => {
                        waker.wake_by_ref();
                        return Next::Later;
                    }
                    None => continue,
                },
                Some((table, objects)) => WatchKind::Objects { table, objects },
                None => {
                    self.initial = None;
                    WatchKind::Current
                }
            };
            return Next::Event(self.numbered(kind, 1));
        }
        let pin = pin();
        loop {
            if !self.has_next() {
                let Some(waker) = waker else {
                    return Next::Later;
                };
                self.queue.wait(waker);
                if !self.has_next() {
                    return Next::Later;
                }
            }
            let kind = match self.taken.pop_front() {
                None => return Next::Later,
                Some(Queued::Lost(lost)) => {
                    return Next::Event(self.numbered(WatchKind::Overflow { lost }, lost));
                }
                Some(Queued::Event(at, event)) => {
                    event.told().and_then(|told| self.kind(told, at, &pin))
                }
                Some(Queued::Latest(change)) => self.latest(&change, &pin),
            };
            if let Some(kind) = kind {
                return Next::Event(self.numbered(kind, 1));
            }
        }
    }

    /// Returns whether the next entry is there, and told.
    fn has_next(&mut self) -> bool {
        if self.taken.is_empty() {
            self.queue.take(&mut self.taken);
        }
        self.taken.front().is_some_and(Queued::is_told)
    }

    fn numbered(&mut self, kind: WatchKind, counts: u64) -> WatchEvent {
        let seq = self.told + 1;
        self.told += counts;
        WatchEvent { seq, kind }
    }

    /// Returns what is to be told of an event; `None` if nothing of it was asked for.
    fn kind(&mut self, told: &Told, at: u64, pin: &LocalGuard) -> Option<WatchKind> {
        let start = self.start;
        let is_late = |stamp| {
            start.is_none_or(|start| {
                stamp >= start.place || cfg!(fyris_mutant = "store_watch_from_all")
            })
        };
        let is_later = |stamp| match stamp {
            0 => start.is_none_or(|start| at >= start.announced),
            stamp => is_late(stamp),
        };
        match told {
            Told::Changes { stamp, changes } if is_later(*stamp) => {
                let wanted = changes.iter().filter_map(|change| self.change(change, pin));
                let wanted: Vec<ObjectChange> = wanted.collect();
                (!wanted.is_empty()).then_some(WatchKind::Changes(wanted))
            }
            Told::Cleared {
                table,
                stamp,
                objects,
            } if is_late(*stamp) => Some(WatchKind::Cleared {
                table: self.watching(*table)?.table.reference(),
                objects: *objects,
            }),
            Told::Deleted(table) => {
                let watching = self
                    .tables
                    .iter_mut()
                    .find(|watching| watching.table.id() == *table)?;
                watching.ended = true;
                let table = watching.table.reference();
                Some(WatchKind::Deleted { table })
            }
            _ => None,
        }
    }

    /// Returns what is to be told of changes of one key.
    fn latest(&self, change: &LatestChange, pin: &LocalGuard) -> Option<WatchKind> {
        let watching = self.watching(change.key.0)?;
        let of_key = |event: &Arc<Announced>| match event.told() {
            Some(Told::Changes { changes, .. }) => {
                let found = changes
                    .iter()
                    .find(|told| watching.is_about(told, &change.key));
                found.map(ToldChange::diff)
            }
            _ => None,
        };
        // An event without the key is a commit that has found nothing there and left it so.
        let diff = ObjectDiff {
            old: of_key(&change.first).and_then(|first| first.old),
            new: of_key(&change.last).and_then(|last| last.new),
        };
        let filter = self.queue.filter(change.key.0)?;
        Some(WatchKind::Changes(vec![
            watching.change(diff, filter, pin)?,
        ]))
    }

    fn watching(&self, table: TableId) -> Option<&Watching> {
        self.tables
            .iter()
            .find(|watching| watching.table.id() == table)
    }

    fn change(&self, change: &ToldChange, pin: &LocalGuard) -> Option<ObjectChange> {
        let filter = self.queue.filter(change.table)?;
        self.watching(change.table)?
            .change(change.diff(), filter, pin)
    }
}

impl Watching {
    /// Returns whether a change is one of a key.
    fn is_about(&self, change: &ToldChange, key: &WatchedKey) -> bool {
        let content = change.diff().new.or(change.diff().old);
        change.table == key.0 && content.is_some_and(|content| *self.key_of(content) == *key.1)
    }

    fn key_of<'g>(&self, content: Content) -> &'g [u8] {
        let object = newest(content, self.table.keypos());
        match self.table.table_type() {
            TableType::OrderedSet => object.key_order(),
            _ => object.key_bytes(),
        }
    }

    /// Returns the change of an object, if it is wanted, and is one.
    fn change(
        &self,
        diff: ObjectDiff,
        filter: &KeyFilter,
        _pin: &LocalGuard,
    ) -> Option<ObjectChange> {
        let keypos = self.table.keypos();
        let key = self.key_of(diff.new.or(diff.old)?);
        let object = |content: Content| newest(content, keypos).to_term();
        let is_wanted = diff.is_change() && filter.wants(key, &smallvec![diff], keypos);
        is_wanted.then(|| ObjectChange {
            table: self.table.reference(),
            old: diff.old.map(object),
            new: diff.new.map(object),
        })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        // A forked child has the locks as other threads had left them.
        if fork::is_child() {
            return;
        }
        for watching in self.tables.iter().filter(|watching| !watching.ended) {
            let shared = watching.table.shared();
            shared.watchers().leave(&self.queue, &shared.life);
        }
        self.queue.close();
    }
}

/// Waits for each event; ends when all tables are deleted.
impl Iterator for Subscription {
    type Item = WatchEvent;

    fn next(&mut self) -> Option<WatchEvent> {
        self.wait(None)
    }
}

/// As [`Subscription::poll_event`].
impl Stream for Subscription {
    type Item = WatchEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        self.get_mut().poll_event(context)
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tables = self.tables.iter().map(|watching| &watching.table);
        f.debug_list().entries(tables).finish()
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
