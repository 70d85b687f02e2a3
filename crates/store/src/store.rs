//! Stores, owners, and finding tables.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[cfg(feature = "indexes")]
use fyris_index::plug::{IndexFactory, Registry};
use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Atom;

use crate::error::{Error, Result};
use crate::event::{Event, Sink};
use crate::fork;
use crate::ids::{ProcessId, TableId, TableRef};
use crate::life::Asked;
use crate::options::{Options, atom};
use crate::registry::Inner;
use crate::snapshot::{self, Snapshot};
use crate::table::Table;

/// A catalog of tables. Cloning makes another handle of the same store.
///
/// # Consistency
///
/// Making, deleting and renaming a table, changes of its owner and its protection are linearizable, each at one moment,
/// together with all operations on the table; when a process ends, its tables change hands or go one by one. Finding a
/// table takes no lock. A deleted table stops at once for every caller, and its name is free.
///
/// ```
/// use fyris::{Options, Store};
///
/// let store = Store::new();
/// let owner = store.owner();
/// owner.new_table("t", &Options::set())?;
/// assert_eq!(store.clone().all().len(), 1); // the same store
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone)]
pub struct Store(pub(crate) Arc<Inner>);

/// Every index is asked for the entries of both kinds of tables, so a factory serves any
/// [`PlugEntry`](crate::index::plug::PlugEntry). It may make indexes that lack a feature; operations that need it then
/// fail with [`Error::LacksFeature`]. A name is for tables with `{index, Name}` ([`Options::index`]) that are made from
/// then on. The crates `fyris-classic` and `fyris-judy` have indexes, and are examples of what an index takes.
///
/// ```
/// use fyris::index::plug::Registry;
/// use fyris::{Options, Store, term};
/// use fyris_classic::btree::LockedBTrees;
///
/// let mut store = Store::new();
/// store.add("my_btree", LockedBTrees)?;
/// let owner = store.owner();
/// let table = owner.new_table("t", &Options::ordered_set().index("my_btree"))?;
/// table.insert(&term!({1, "one"}))?;
/// assert_eq!(table.first()?, Some(term!(1)));
/// # Ok::<(), fyris::Error>(())
/// ```
#[cfg(feature = "indexes")]
impl Registry for Store {
    /// [`Error::NameTaken`]; [`Error::Atom`].
    type Error = Error;

    fn add(&mut self, name: &str, factory: impl IndexFactory) -> Result<()> {
        self.0.indexes.add(name, factory)
    }
}

impl Default for Store {
    fn default() -> Store {
        Store::new()
    }
}

impl Store {
    /// Makes a store without tables.
    ///
    /// ```
    /// assert!(fyris::Store::new().all().is_empty());
    /// ```
    pub fn new() -> Store {
        Store(Arc::new(Inner::new()))
    }

    /// Returns whether this process is a forked child of one that had made a store. Then every operation on tables,
    /// inherited or new, is [`Error::Forked`], as another thread of the parent may have had locked, or half changed,
    /// what it needs: the child may `exec` or `_exit`, and drop what it has. A process that forks before it makes its
    /// first store may use stores in its children.
    ///
    /// ```
    /// assert!(!fyris::Store::is_forked());
    /// ```
    pub fn is_forked() -> bool {
        fork::is_child()
    }

    /// Makes a new owner: when it is dropped, its tables go to their heirs or are deleted.
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// drop(owner);
    /// assert!(table.member(&1).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn owner(&self) -> Owner {
        let (sender, receiver) = channel();
        // A send fails when the owner is gone, and then no thread waits for the event.
        let sink: Sink = Box::new(move |event| drop(sender.send(event)));
        let id = self.0.new_owner(sink);
        Owner {
            store: self.clone(),
            id,
            events: Mutex::new(receiver),
        }
    }

    /// Takes snapshots of tables at one moment: what was written to any of them is in all of them, or was written
    /// later. Linearizable. See [`Snapshot`] and [`Table::snapshot`].
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let users = owner.new_table("users", &Options::set())?;
    /// let log = owner.new_table("log", &Options::ordered_set())?;
    /// users.insert(&term!({"ada", 1}))?;
    /// let both = store.snapshots(&[&users, &log])?;
    /// log.insert(&term!({1, "ada"}))?;
    /// assert_eq!((both[0].len(), both[1].len()), (1, 0));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Table::snapshot`] for any of the tables; [`Error::BadArgument`] for a table of another store. Then
    /// there is none.
    pub fn snapshots(&self, tables: &[&Table]) -> Result<Vec<Snapshot>> {
        tables.iter().try_for_each(|table| table.check_in(self))?;
        snapshot::take(tables)
    }

    /// Returns of each snapshot that is alive the table, the process that took it, and its age.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let snapshot = table.snapshot()?;
    /// let (reference, taker, _) = store.all_snapshots()[0];
    /// assert_eq!((reference, taker), (table.reference(), owner.id()));
    /// drop(snapshot);
    /// assert!(store.all_snapshots().is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn all_snapshots(&self) -> Vec<(TableRef, ProcessId, Duration)> {
        self.0.snapshots.all()
    }

    /// Returns when what released snapshots alone saw is freed, of all stores of the process.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let snapshot = table.snapshot()?;
    /// table.insert(&term!({1}))?;
    /// drop(snapshot);
    /// store.collect();
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn collect(&self) {
        snapshot::collect();
    }

    /// Makes a process known, and says where its events go. An unknown process that makes or fixes a
    /// table becomes known by that, without events. Only a known process can be an heir or be given a table.
    ///
    /// The id `ProcessId(u64::MAX)` is reserved.
    ///
    /// ```
    /// use fyris::{Event, Options, ProcessId, Store, Term};
    /// use std::sync::mpsc::channel;
    ///
    /// let (store, (sender, events)) = (Store::new(), channel());
    /// let (giver, taker) = (store.owner(), ProcessId(7));
    /// store.register(taker, Some(Box::new(move |event| drop(sender.send(event)))));
    /// let table = giver.new_table("gift", &Options::set())?;
    /// table.give_away(taker, Term::atom("yours"))?;
    /// assert!(matches!(events.recv(), Ok(Event::Transfer { .. })));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn register(&self, process: ProcessId, sink: Option<Sink>) {
        self.0.register(process, sink);
    }

    /// Handles the end of a process: its tables go to their heirs or are deleted, its fixes are released.
    ///
    /// When this returns, all of that has happened and all events about it are sent.
    ///
    /// ```
    /// use fyris::{Atom, Options, ProcessId, Store};
    ///
    /// let (store, process) = (Store::new(), ProcessId(7));
    /// let name = Atom::new("t")?;
    /// store.create(process, name, &Options::set().named())?;
    /// store.ended(process);
    /// assert_eq!(store.whereis(name), None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn ended(&self, process: ProcessId) {
        self.0.ended(process);
    }

    /// Returns the names of the indexes that tables can be made on by [`Options::index`], in alphabetical order: `hash`
    /// and `ordered`, and those that were added ([`Registry`]). Not each serves every type of table.
    ///
    /// ```
    /// let mut store = fyris::Store::new();
    /// assert_eq!(store.index_names(), ["hash", "ordered"]);
    /// fyris_classic::register(&mut store)?;
    /// assert!(store.index_names().contains(&"skip_list"));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn index_names(&self) -> Vec<&'static str> {
        self.0.indexes.names()
    }

    /// `new/2`: makes a table for `caller`.
    ///
    /// ```
    /// use fyris::{Atom, Options, ProcessId, Store, term};
    ///
    /// let store = Store::new();
    /// let table = store.create(ProcessId(1), Atom::new("t")?, &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`], [`Error::BadIndex`], [`Error::LibraryIndex`], [`Error::BadOption`],
    /// [`Error::TooManyTables`].
    pub fn create(&self, caller: ProcessId, name: Atom, options: &Options) -> Result<Table> {
        let shared = self.0.create(caller, name, options)?;
        Ok(Table::new(shared, caller, Asked::BY_IDENTITY))
    }

    /// Returns the table registered under `name`, made with `options` if there is none.
    ///
    /// ```
    /// use fyris::{Atom, Options, ProcessId, Store};
    ///
    /// let (store, name) = (Store::new(), Atom::new("settings")?);
    /// let first = store.open(ProcessId(1), name, &Options::set().public())?;
    /// let second = store.open(ProcessId(2), name, &Options::set())?;
    /// assert_eq!(first.id(), second.id());
    /// assert!(store.open(ProcessId(1), name, &Options::bag()).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OtherTable`] if the table that is there differs in type or key position; [`Error::BadIndex`],
    /// [`Error::LibraryIndex`], [`Error::BadOption`], [`Error::TooManyTables`].
    pub fn open(&self, caller: ProcessId, name: Atom, options: &Options) -> Result<Table> {
        let options = options.clone().named();
        loop {
            if let Ok(table) = self.table(caller, TableRef::Name(name)) {
                let (kind, keypos) = (table.table_type(), table.keypos());
                if (kind, keypos) == (options.kind, options.keypos) {
                    return Ok(table);
                }
                let name = name.as_str().to_owned();
                return Err(Error::OtherTable { name, kind, keypos });
            }
            match self.create(caller, name, &options) {
                // Another caller was quicker: take its table.
                Err(Error::NameTaken(_)) => continue,
                result => return result,
            }
        }
    }

    /// Returns a handle of a table for `caller`, which goes on working after a rename.
    ///
    /// ```
    /// use fyris::{Options, ProcessId, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let ours = owner.new_table("t", &Options::set())?;
    /// let theirs = store.table(ProcessId(7), ours.id())?;
    /// ours.insert(&term!({1, 2}))?;
    /// assert!(theirs.member(&1)? && theirs.insert(&term!({2, 3})).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`].
    pub fn table(&self, caller: ProcessId, table: impl Into<TableRef>) -> Result<Table> {
        let pin = pin();
        let shared = self.0.find_living(table.into(), &pin)?;
        // SAFETY: TABLE_STAYS: the registry holds a count at least until this thread unpins, so there is one to
        // add to.
        let shared = unsafe {
            Arc::increment_strong_count(shared);
            Arc::from_raw(shared)
        };
        Ok(Table::new(shared, caller, Asked::BY_IDENTITY))
    }

    /// Returns a handle for one operation or a few, which writes no shared line: what a binding uses.
    ///
    /// Found by name it stops working when the table is renamed, at that moment: it never shows what was put in under
    /// another name, and nothing is put in through it afterwards.
    ///
    /// ```
    /// use fyris::{Atom, Options, Store, index::reclaim::pin, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// owner.new_table("t", &Options::set().named())?.insert(&term!({1, 2}))?;
    /// let pin = pin();
    /// assert!(store.borrow(owner.id(), Atom::new("t")?, &pin)?.member(&1)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`].
    #[inline]
    pub fn borrow<'g>(
        &self,
        caller: ProcessId,
        table: impl Into<TableRef>,
        pin: &'g impl Guard,
    ) -> Result<Borrowed<'g>> {
        let (shared, asked) = self.0.find(table.into(), pin)?;
        // SAFETY: TABLE_STAYS: the registry's count outlives the pin; `ManuallyDrop` keeps it from being dropped
        // here.
        let shared = unsafe { Arc::from_raw(shared) };
        let table = ManuallyDrop::new(Table::new(shared, caller, asked));
        Ok(Borrowed {
            table,
            pin: std::marker::PhantomData,
        })
    }

    /// `whereis/1`: returns the id of the table registered under `name`.
    ///
    /// ```
    /// use fyris::{Atom, Options, Store};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set().named())?;
    /// assert_eq!(store.whereis(Atom::new("t")?), Some(table.id()));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn whereis(&self, name: Atom) -> Option<TableId> {
        self.0
            .find_living(TableRef::Name(name), &pin())
            .ok()
            .map(|shared| shared.id)
    }

    /// `all/0`: returns every table, by name if it is a named one. Exact at one moment.
    ///
    /// ```
    /// use fyris::{Atom, Options, Store, TableRef};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// owner.new_table("t", &Options::set().named())?;
    /// assert_eq!(store.all(), [TableRef::Name(Atom::new("t")?)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn all(&self) -> Vec<TableRef> {
        self.0.all()
    }
}

/// A table for as long as a pin lives. See [`Store::borrow`].
///
/// ```
/// use fyris::{Options, Store, pin};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let id = owner.new_table("t", &Options::set())?.id();
/// let pin = pin();
/// let table = store.borrow(owner.id(), id, &pin)?;
/// assert!(table.is_empty()); // all methods of `Table`
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Borrowed<'g> {
    table: ManuallyDrop<Table>,
    pin: std::marker::PhantomData<&'g ()>,
}

impl Borrowed<'_> {
    /// Returns a table whose count belongs to an owner that outlives the result.
    #[inline]
    pub(crate) fn new(table: Table) -> Self {
        Borrowed {
            table: ManuallyDrop::new(table),
            pin: std::marker::PhantomData,
        }
    }
}

impl Deref for Borrowed<'_> {
    type Target = Table;

    #[inline]
    fn deref(&self) -> &Table {
        &self.table
    }
}

/// A Rust caller that can own tables. Its drop is the end of that process.
///
/// Handles that it made may be shared among threads; they act in its name.
///
/// ```
/// use fyris::{Options, Store, Term};
///
/// let store = Store::new();
/// let owner = store.owner();
/// let table = owner.new_table("colours", &Options::set())?;
/// table.insert(&Term::tuple(vec![Term::atom("red"), Term::Int(0xff0000)]))?;
/// assert_eq!(table.lookup_element(&Term::atom("red"), 2)?.one(), Some(Term::Int(0xff0000)));
/// drop(owner);
/// assert!(table.lookup(&Term::atom("red")).is_err());
/// # Ok::<(), fyris::Error>(())
/// ```
pub struct Owner {
    store: Store,
    id: ProcessId,
    events: Mutex<Receiver<Event>>,
}

impl Owner {
    /// Returns the number it is known by.
    ///
    /// ```
    /// let store = fyris::Store::new();
    /// assert_ne!(store.owner().id(), store.owner().id());
    /// ```
    pub fn id(&self) -> ProcessId {
        self.id
    }

    /// Returns the store.
    ///
    /// ```
    /// let owner = fyris::Store::new().owner(); // keeps the store
    /// assert!(owner.store().all().is_empty());
    /// ```
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Makes a table.
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let table = owner.new_table("squares", &Options::ordered_set())?;
    /// table.insert(&term!({3, 9}))?;
    /// assert!(owner.new_table("t", &Options::set().index("no such index")).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`], [`Error::BadIndex`], [`Error::LibraryIndex`], [`Error::BadOption`],
    /// [`Error::TooManyTables`], [`Error::Atom`].
    pub fn new_table(&self, name: &str, options: &Options) -> Result<Table> {
        self.store.create(self.id, atom(name)?, options)
    }

    /// Returns the table registered under `name`, made with `options` if there is none.
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let owner = Store::new().owner();
    /// let first = owner.open("settings", &Options::set())?;
    /// assert_eq!(owner.open("settings", &Options::set())?.id(), first.id());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OtherTable`] if the table that is there differs in type or key position; [`Error::BadIndex`],
    /// [`Error::LibraryIndex`], [`Error::BadOption`], [`Error::TooManyTables`], [`Error::Atom`].
    pub fn open(&self, name: &str, options: &Options) -> Result<Table> {
        self.store.open(self.id, atom(name)?, options)
    }

    /// Returns a handle of a table that exists.
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let store = Store::new();
    /// let (ours, theirs) = (store.owner(), store.owner());
    /// let id = ours.new_table("t", &Options::set().private())?.id();
    /// assert!(theirs.table(id)?.member(&1).is_err()); // found, and not theirs to read
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`].
    pub fn table(&self, table: impl Into<TableRef>) -> Result<Table> {
        self.store.table(self.id, table)
    }

    /// Returns a handle of the table registered under a name. A name that is no atom becomes none.
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let owner = Store::new().owner();
    /// owner.new_table("t", &Options::set().named())?;
    /// assert!(owner.named("t").is_ok() && owner.named("u").is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`]; [`Error::NoSuchName`].
    pub fn named(&self, name: &str) -> Result<Table> {
        match Atom::known(name) {
            Some(name) => self.table(name),
            None => Err(Error::NoSuchName(name.to_owned())),
        }
    }

    /// Returns the next event for this owner, if one has come.
    ///
    /// ```
    /// assert!(fyris::Store::new().owner().try_event().is_none()); // does not wait
    /// ```
    pub fn try_event(&self) -> Option<Event> {
        self.events().try_recv().ok()
    }

    /// Waits for the next event, at most for `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use fyris::{Event, Options, Store, Term};
    ///
    /// let store = Store::new();
    /// let (giver, taker) = (store.owner(), store.owner());
    /// giver.new_table("t", &Options::set())?.give_away(taker.id(), Term::atom("yours"))?;
    /// assert!(matches!(taker.event(Duration::from_secs(1)), Some(Event::Transfer { .. })));
    /// assert!(taker.try_event().is_none());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn event(&self, timeout: Duration) -> Option<Event> {
        self.events().recv_timeout(timeout).ok()
    }

    fn events(&self) -> std::sync::MutexGuard<'_, Receiver<Event>> {
        self.events
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.store.ended(self.id);
    }
}
