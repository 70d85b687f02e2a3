//! Transactions: several keys, of several tables, read and changed as one.
//!
//! # How
//!
//! A transaction reads its tables by snapshots of one moment ([`crate::snapshot`]) and keeps what it writes to itself
//! ([`part`]); what it has written it sees, by whatever it reads. While it runs nobody waits for it, and it waits for
//! nobody. When it takes in another table, it moves on to snapshots of that moment, in which all that it has read must
//! be the same.
//!
//! If it has written nothing, it takes effect where its snapshots are. Else it is [committed](commit): its writes are a
//! [commit](crate::pending) over its tables, which are all at once appended to the log, if what it has read is still so
//! at that moment ([`crate::version::guards`]). So transactions are strictly serializable, among each other and with
//! all other operations on the tables: each takes effect at one moment between its begin and its end.
//!
//! If what it has read has changed, it comes to nothing, and is tried again, for some time. Whoever began earlier goes
//! first, so that of transactions that are at odds one is committed. One that has lost too often [holds](hold) what it
//! reads for a while, and then reads by snapshots of several moments.
//!
//! [`batch`] has those that need no closure.

mod batch;
mod commit;
pub(crate) mod hold;
#[cfg(all(test, loom))]
mod model;
mod part;
mod write;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::pin;

use crate::error::{Error, Result};
use crate::fork;
use crate::ids::{NamedTable, TableId};
use crate::snapshot::{self, SnapshotInner};
use crate::store::Store;
use crate::table::Table;
use crate::table_data::with_data;

pub use batch::{BatchArgs, BatchCheck, BatchOp, BatchReply};
use hold::PATIENCE;
pub(crate) use hold::{FIRST, FirstOfStore, Hold};
use part::PartState;
pub(crate) use part::TransactionPart;

/// How often a transaction is tried that others are in the way of, and how long they wait for it in the end.
///
/// ```
/// use fyris::{Store, TransactionOptions};
///
/// let once = TransactionOptions::new().attempts(1);
/// let result: fyris::Result<i64> = Store::new().transaction_with(&once, |_| Ok(1));
/// assert_eq!(result, Ok(1));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionOptions {
    attempts: u32,
    hold: Duration,
    migrates: bool,
}

/// The number of attempts where none is asked for.
const ATTEMPTS: u32 = 1000;

/// The time for which writers wait where none is asked for.
const HOLD: Duration = Duration::from_millis(100);

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions {
            attempts: ATTEMPTS,
            hold: HOLD,
            migrates: false,
        }
    }
}

impl TransactionOptions {
    /// Returns the options of [`Store::transaction`]: up to 1,000 attempts, and 100 ms for one that goes first.
    ///
    /// ```
    /// assert_eq!(fyris::TransactionOptions::new(), fyris::TransactionOptions::default());
    /// ```
    pub fn new() -> TransactionOptions {
        TransactionOptions::default()
    }

    /// Returns options with another bound of attempts, at least one.
    ///
    /// ```
    /// let patient = fyris::TransactionOptions::new().attempts(u32::MAX);
    /// assert_ne!(patient, fyris::TransactionOptions::new());
    /// ```
    pub fn attempts(self, attempts: u32) -> TransactionOptions {
        TransactionOptions {
            attempts: attempts.max(1),
            ..self
        }
    }

    /// Returns options with another time for which writers wait: after eight conflicts the transaction *goes first*, if
    /// no other one of the store does. Then a write of a key that it has read or written, or in a range that it has
    /// read, waits until it ends, for so long at most; other writes and all reads go on. If it has not ended by then,
    /// the next read fails with [`Error::HoldExpired`]; so does the commit if others were faster once more. The hold
    /// ends early, and the transaction is tried again, when a table that it reads is emptied, renamed, deleted or given
    /// away, gets another protection or secondary index, is fixed or watched for the first time, or when its own thread
    /// writes to it by another handle. With zero it never goes first.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let short = fyris::TransactionOptions::new().hold(Duration::from_millis(10));
    /// assert_ne!(short, fyris::TransactionOptions::new());
    /// ```
    pub fn hold(self, hold: Duration) -> TransactionOptions {
        TransactionOptions { hold, ..self }
    }

    /// Returns options of a transaction whose operations come from one thread after another, where each of these also
    /// writes for others. Without, a write by another handle on the thread that began the transaction is taken for its
    /// own: it does not wait for it.
    ///
    /// ```
    /// let moving = fyris::TransactionOptions::new().migrates(true);
    /// assert_ne!(moving, fyris::TransactionOptions::new());
    /// ```
    pub fn migrates(self, migrates: bool) -> TransactionOptions {
        TransactionOptions { migrates, ..self }
    }
}

/// Several tables as a transaction reads and writes them, until it is committed; dropped before, it comes to nothing.
///
/// Made by [`Store::transaction`], which commits it and tries again where others were in the way, or by
/// [`Store::begin`]. Reading and writing is done by handles of its tables, from [`Transaction::table`]. It is `Send`
/// and `Sync`; who uses it from several threads at once sees the operations of the others in some order.
///
/// # What works in it
///
/// | | |
/// |---|---|
/// | all that reads objects, of one key or many | by the transaction's snapshots, with its own writes; what is read is
/// protected |
/// | all that writes objects, of one key or many | is kept until the commit |
/// | `info`, rights | of the live table |
/// | `delete`, `rename`, `setopts`, `give_away`, `delete_all_objects`, `init_table`, `snapshot`, and `slot` of a table
/// without an order of keys | [`Error::InTransaction`] |
/// | `safe_fixtable` | does nothing: no walk in a transaction needs it |
///
/// Handles that were not made by [`Transaction::table`] are no part of it: what is done by them is done at once.
///
/// # Cost
///
/// A transaction holds a snapshot of each of its tables: while it lasts, others that write there keep what they change
/// (see [`Snapshot`](crate::Snapshot)). To commit takes O(keys and ranges read and keys written); under each key of a
/// bag that it writes to, all objects are copied.
///
/// ```
/// use fyris::{CounterOp, Options, Store, term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let accounts = owner.new_table("accounts", &Options::set())?;
/// accounts.insert_list(&[term!({:ada, 100}), term!({:bob, 0})])?;
/// store.transaction(|tx| {
///     let accounts = tx.table(&accounts)?;
///     accounts.update_counter(&term!(:ada), &[CounterOp::add(-30)])?;
///     accounts.update_counter(&term!(:bob), &[CounterOp::add(30)])
/// })?;
/// assert_eq!(accounts.lookup(&term!(:bob))?, [term!({:bob, 30})]);
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Transaction {
    store: Store,
    place: Place,
    /// What it holds its tables by, if it goes first.
    holds: OnceLock<Arc<Hold>>,
    ended: AtomicBool,
    /// The table of the first conflict that it has met: then it can only be tried again.
    conflict: OnceLock<NamedTable>,
    /// The number of nested transactions under way.
    depth: AtomicUsize,
    parts: Mutex<BTreeMap<TableId, Arc<TransactionPart>>>,
}

/// What a transaction hands on to the one that is tried in its place ([`Transaction::again`]).
#[derive(Clone)]
struct Place {
    ticket: u64,
    tries: Arc<Tries>,
    /// The longest hold.
    hold: Duration,
    /// The thread that runs it, if it stays on one.
    thread: Option<ThreadId>,
}

/// What all tries of a transaction count together.
#[derive(Default)]
struct Tries {
    /// The tries that met a conflict.
    lost: AtomicU32,
    /// The writes.
    written: AtomicU64,
}

impl Store {
    /// Runs `f` in a transaction, commits that, and returns what `f` returned. Strictly serializable: all that `f` has
    /// read and written by handles of [`Transaction::table`] happens at one moment of the call.
    ///
    /// If `f` returns an error, or panics, nothing has happened. If others have changed meanwhile what it has read, `f`
    /// is run again, up to 1,000 times: so it should do nothing else that cannot be done twice.
    ///
    /// ```
    /// use fyris::{Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let seats = owner.new_table("seats", &Options::ordered_set())?;
    /// let names = owner.new_table("names", &Options::set())?;
    /// seats.insert(&term!({1, :free}))?;
    /// let reserve = |name: &str| {
    ///     store.transaction(|tx| {
    ///         let (seats, names) = (tx.table(&seats)?, tx.table(&names)?);
    ///         let free = term!([{{:"$1", :free}, [], [:"$1"]}]);
    ///         let Some(seat) = seats.select(&fyris::MatchSpec::new(&free)?)?.pop() else {
    ///             return Ok(None);
    ///         };
    ///         seats.insert(&term!({(seat.clone()), name}))?;
    ///         names.insert(&term!({name, (seat.clone())}))?;
    ///         Ok::<_, Error>(Some(seat))
    ///     })
    /// };
    /// assert_eq!((reserve("ada")?, reserve("bob")?), (Some(term!(1)), None));
    /// assert_eq!(names.tab2list()?, [term!({"ada", 1})]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `f`; [`Error::Conflict`] after the last attempt; of tables that were written to
    /// [`Error::NoSuchTable`], [`Error::NoAccess`], [`Error::NotUnique`].
    pub fn transaction<R, E: From<Error>>(
        &self,
        f: impl FnMut(&Transaction) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        self.transaction_with(&TransactionOptions::new(), f)
    }

    /// As [`Store::transaction`], with another bound of attempts.
    ///
    /// ```
    /// use fyris::{Error, Options, Store, TransactionOptions, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let once = TransactionOptions::new().attempts(1);
    /// let result = store.transaction_with(&once, |tx| {
    ///     let within = tx.table(&table)?;
    ///     within.insert(&term!({1, (within.len() as i64)}))?;
    ///     table.insert(&term!({2}))?; // as another would
    ///     Ok(())
    /// });
    /// assert!(matches!(result, Err(Error::Conflict { .. })));
    /// assert!(!table.member(&1)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Store::transaction`].
    pub fn transaction_with<R, E: From<Error>>(
        &self,
        options: &TransactionOptions,
        mut f: impl FnMut(&Transaction) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let (mut transaction, mut backoff, mut attempt) =
            (self.begin_with(options), Backoff::new(), 1);
        loop {
            let place = transaction.place.clone();
            let result = f(&transaction);
            let is_last = attempt >= options.attempts;
            match result {
                Ok(result) => match transaction.commit() {
                    Ok(()) => return Ok(result),
                    Err(Error::Conflict { .. }) if !is_last => {}
                    Err(error) => return Err(error.into()),
                },
                Err(error) if is_last || !transaction.has_conflict() => return Err(error),
                Err(_) => drop(transaction),
            }
            attempt += 1;
            transaction = Transaction::new(self, place);
            backoff.wait_long();
        }
    }

    /// Begins a transaction, for who commits it by hand: see [`Store::transaction`].
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let transaction = store.begin();
    /// transaction.table(&table)?.insert(&term!({1}))?;
    /// assert!(!table.member(&1)?);
    /// transaction.commit()?;
    /// assert!(table.member(&1)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn begin(&self) -> Transaction {
        self.begin_with(&TransactionOptions::new())
    }

    /// As [`Store::begin`], with other options. How often to try is up to who commits by hand.
    ///
    /// ```
    /// # use fyris::{Store, TransactionOptions};
    /// let transaction = Store::new().begin_with(&TransactionOptions::new());
    /// transaction.commit()?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn begin_with(&self, options: &TransactionOptions) -> Transaction {
        let place = Place {
            ticket: self.0.commits.next_ticket(),
            tries: Arc::default(),
            hold: options.hold,
            thread: (!options.migrates).then(|| std::thread::current().id()),
        };
        Transaction::new(self, place)
    }
}

impl Transaction {
    fn new(store: &Store, place: Place) -> Transaction {
        Transaction {
            store: store.clone(),
            place,
            holds: OnceLock::new(),
            ended: AtomicBool::new(false),
            conflict: OnceLock::new(),
            depth: AtomicUsize::new(0),
            parts: Mutex::default(),
        }
    }

    /// Returns one to begin in the place of this one, for who tries again by hand: of transactions that are at odds the
    /// one that began first goes first, and what is tried again counts as begun when the first of its tries was.
    ///
    /// ```
    /// use fyris::{CounterOp, Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:hits, 0}))?;
    /// let mut transaction = store.begin();
    /// loop {
    ///     let next = transaction.again();
    ///     let within = transaction.table(&table)?;
    ///     within.update_counter(&term!(:hits), &[CounterOp::add(1)])?;
    ///     match transaction.commit() {
    ///         Err(Error::Conflict { .. }) => transaction = next,
    ///         done => break done?,
    ///     }
    /// }
    /// assert_eq!(table.lookup(&term!(:hits))?, [term!({:hits, 1})]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn again(&self) -> Transaction {
        Transaction::new(&self.store, self.place.clone())
    }

    /// Returns what it holds its tables by: after some conflicts, and if no other transaction goes first.
    fn take_turn(&self) -> Option<Arc<Hold>> {
        // Relaxed, here and in `end`: a number, of attempts that follow each other.
        let Place { hold, thread, .. } = self.place;
        let has_lost = self.place.tries.lost.load(Ordering::Relaxed) >= PATIENCE;
        if self.holds.get().is_none() && has_lost && !hold.is_zero() {
            let first = &self.store.0.commits.first;
            // Under the lock of the parts, so that nobody sets it between.
            if let Some(hold) = first.begin(|| Hold::new(hold, thread)) {
                self.holds.get_or_init(|| hold);
            }
        }
        self.holds.get().cloned()
    }

    /// Returns whether others wait for it: [`TransactionOptions::hold`].
    ///
    /// ```
    /// assert!(!fyris::Store::new().begin().goes_first());
    /// ```
    pub fn goes_first(&self) -> bool {
        self.holds.get().is_some_and(|hold| hold.stands())
    }

    /// Returns a handle of a table by which the transaction reads and writes it. The first time for a table it takes
    /// snapshots of all its tables; later in O(1).
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::ordered_set())?;
    /// let transaction = store.begin();
    /// let within = transaction.table(&table)?;
    /// within.insert(&term!({1, "one"}))?;
    /// assert_eq!((within.first()?, table.first()?), (Some(term!(1)), None));
    /// drop(transaction); // without a commit
    /// assert!(within.first().is_err() && table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; [`Error::Conflict`] if what was read of another table has changed
    /// since; [`Error::ReadOnly`] for a snapshot; [`Error::BadArgument`] for a table of another store, one that another
    /// caller has within the transaction, or one of another transaction.
    pub fn table(&self, table: &Table) -> Result<Table> {
        self.check()?;
        table.check_in(&self.store)?;
        if table.past().is_some() {
            return Err(Error::ReadOnly);
        }
        let mut parts = self.parts();
        let known = parts.get(&table.id());
        match (known, table.part()) {
            (Some(known), Some(part)) if Arc::ptr_eq(known, part) => return Ok(table.clone()),
            (_, Some(_)) => return refuse("a table of another transaction"),
            (Some(known), None) if known.table.caller() != table.caller() => {
                return refuse("another caller has the table in the transaction");
            }
            (Some(known), None) => return Ok(table.within(known.clone())),
            (None, None) => {}
        }
        self.take_in(&mut parts, &[table])?;
        let part = parts[&table.id()].clone();
        Ok(table.within(part))
    }

    /// Takes in all of these tables that it has not, at one moment. Where one cannot be taken in none is: who asks for
    /// them one by one is told which.
    fn take_in_all<'t>(&self, tables: impl Iterator<Item = &'t Table>) {
        let mut parts = self.parts();
        let is_new = |table: &&Table| {
            table.is_live() && table.is_in(&self.store) && !parts.contains_key(&table.id())
        };
        let mut new = BTreeMap::new();
        for table in tables.filter(is_new) {
            new.entry(table.id()).or_insert(table);
        }
        let new: Vec<&Table> = new.into_values().collect();
        if new.len() > 1 && self.check().is_ok() {
            self.take_in(&mut parts, &new).ok();
        }
    }

    /// Takes snapshots of all tables and of others.
    fn take_in(
        &self,
        parts: &mut BTreeMap<TableId, Arc<TransactionPart>>,
        others: &[&Table],
    ) -> Result<()> {
        let hold = match parts.is_empty() {
            true => self.take_turn(),
            // All of its tables, or none.
            false => self.holds.get().cloned(),
        };
        let tables = parts.values().map(|part| &part.table);
        let tables: Vec<&Table> = tables.chain(others.iter().copied()).collect();
        let mut taken = snapshot::take_within(&tables)?;
        let new = taken.split_off(parts.len());
        // Nothing is read of any table between the look at what was read and the move.
        let mut states: Vec<_> = parts.values().map(|part| part.state()).collect();
        for ((part, state), later) in parts.values().zip(&states).zip(&taken) {
            if !cfg!(fyris_mutant = "store_moved_on_unasked") {
                self.compare(&part.table, state, later)?;
            }
        }
        for (state, later) in states.iter_mut().zip(taken) {
            state.move_on(later);
        }
        drop(states);
        // Relaxed: as in `begin_nested`.
        let depth = self.depth.load(Ordering::Relaxed);
        for (table, snapshot) in others.iter().zip(new) {
            let (table_of, tries) = (Table::clone(table), self.place.tries.clone());
            let part = TransactionPart::new(table_of, snapshot, depth, tries, hold.clone());
            let part = Arc::new(part);
            if hold.is_some() {
                table.shared().life.set_held(part.clone(), &pin());
            }
            parts.insert(table.id(), part);
        }
        Ok(())
    }

    /// Looks whether what was read of a table is the same in a later snapshot.
    fn compare(&self, table: &Table, state: &PartState, later: &SnapshotInner) -> Result<()> {
        let pin = pin();
        let (before, now) = (state.snapshot()?.view(&pin)?, later.view(&pin)?);
        let reads = &state.reads;
        let is_same = std::ptr::eq(before.data, now.data)
            && with_data!(now.data, data => data.same_at(reads, before.place, now.place, &pin));
        match is_same || reads.is_empty() {
            true => Ok(()),
            false => Err(self.conflict(table, None)),
        }
    }

    /// Returns the error of a conflict, and remembers that there was one.
    fn conflict(&self, table: &Table, key: Option<fyris_term::Term>) -> Error {
        let table = table.shared().named();
        self.conflict.get_or_init(|| table);
        Error::Conflict {
            table,
            key: key.map(Box::new),
        }
    }

    /// Returns whether the transaction has met a conflict: then an error of what was done in it comes from that, and it
    /// is to be tried again.
    ///
    /// ```
    /// # use fyris::Store;
    /// assert!(!Store::new().begin().has_conflict());
    /// ```
    pub fn has_conflict(&self) -> bool {
        self.conflict.get().is_some() || self.holds.get().is_some_and(|hold| hold.gave_way())
    }

    fn check(&self) -> Result<()> {
        // Acquire: pairs with the Release in `end`.
        match self.ended.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::TransactionEnded),
        }
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<TableId, Arc<TransactionPart>>> {
        // Nothing is left half done by a panic.
        self.parts.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Runs `f` in a transaction within this one: if it returns an error, or panics, what it has written is taken back,
    /// and this one goes on. What it has read counts for this one in either case.
    ///
    /// ```
    /// use fyris::{Error, Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// store.transaction(|tx| {
    ///     let table = tx.table(&table)?;
    ///     table.insert(&term!({1}))?;
    ///     let failed: Result<(), Error> = tx.nested(|_| {
    ///         table.insert(&term!({2}))?;
    ///         Err(Error::NoSuchKey)
    ///     });
    ///     assert!(failed.is_err() && !table.member(&2)?);
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert!(table.member(&1)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `f`.
    pub fn nested<R, E>(
        &self,
        f: impl FnOnce(&Transaction) -> std::result::Result<R, E>,
    ) -> std::result::Result<R, E> {
        let mut nested = Nested {
            around: self,
            keep: false,
        };
        self.begin_nested();
        let result = f(self);
        nested.keep = result.is_ok();
        result
    }

    /// Begins a transaction within this one, for who ends it by hand: see [`Transaction::nested`].
    ///
    /// ```
    /// # use fyris::Store;
    /// let transaction = Store::new().begin();
    /// transaction.begin_nested();
    /// transaction.end_nested(true);
    /// transaction.commit()?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn begin_nested(&self) {
        let parts = self.parts();
        // Relaxed: read by the thread that runs the transaction.
        self.depth.fetch_add(1, Ordering::Relaxed);
        parts.values().for_each(|part| part.begin_nested());
    }

    /// Ends the innermost transaction within this one, and keeps what it has written, or takes it back. Does nothing if
    /// there is none.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let transaction = store.begin();
    /// transaction.begin_nested();
    /// let within = transaction.table(&table)?;
    /// within.insert(&term!({1}))?;
    /// transaction.end_nested(false);
    /// assert!(within.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn end_nested(&self, keep: bool) {
        let parts = self.parts();
        let less = |depth: usize| depth.checked_sub(1);
        // Relaxed, both: as in `begin_nested`.
        let ended = (self.depth).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if ended.is_ok() {
            parts.values().for_each(|part| part.end_nested(keep));
        }
    }

    /// Returns the number of keys that it has written.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let transaction = store.begin();
    /// transaction.table(&table)?.insert_list(&[term!({1}), term!({2})])?;
    /// assert_eq!(transaction.written(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn written(&self) -> usize {
        let parts = self.parts();
        parts.values().map(|part| part.state().writes.len()).sum()
    }

    /// Ends it: handles of its tables read and write no more.
    fn end(&self) {
        // A forked child has the locks as other threads had left them, and no use for what it would free.
        if fork::is_child() {
            return;
        }
        // Release: pairs with the Acquire in `check`.
        self.ended.store(true, Ordering::Release);
        if self.has_conflict() {
            self.place.tries.lost.fetch_add(1, Ordering::Relaxed);
        }
        let hold = self.holds.get();
        for part in self.parts().values() {
            if hold.is_some() {
                part.table.shared().life.end_held(part);
            }
            part.give_up();
        }
        if let Some(hold) = hold {
            self.store.0.commits.first.end(hold);
        }
    }

    /// Ends the transaction without a trace, as dropping it does.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let transaction = store.begin();
    /// transaction.table(&table)?.insert(&term!({1}))?;
    /// transaction.abort();
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn abort(self) {}
}

/// A nested transaction under way.
struct Nested<'t> {
    around: &'t Transaction,
    keep: bool,
}

impl Drop for Nested<'_> {
    fn drop(&mut self) {
        self.around.end_nested(self.keep);
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = self.parts();
        let tables: Vec<_> = parts.values().map(|part| &part.table).collect();
        write!(f, "Transaction({tables:?})")
    }
}

fn refuse<R>(what: &str) -> Result<R> {
    Err(Error::BadArgument(what.to_owned()))
}
