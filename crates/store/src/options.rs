//! The options of a new table.
//!
//! Options given as a term are read as `ets:new/2` reads them: from left to right, later wins, but `set`
//! and `protected` are only the defaults and never undo an earlier choice. Beyond ETS there are
//! `{index, Name}`, which chooses the structure that holds the table, `{bucket_locks, N}` and `{reader_groups, N}`,
//! which set the numbers of its locks and of what readers note themselves in, and `{owner, none}`, for tables that
//! outlive their maker; and `{consistent, false}` and `{snapshot_ttl, Ms}` for calls that read many objects.

mod parse;

use std::sync::Arc;
use std::time::Duration;

use fyris_index::{BucketLocks, IndexOptions};
use fyris_term::{Atom, Term};

use crate::commits::CommitLog;
use crate::error::{Error, Result};
use crate::ids::{ProcessId, Protection, TableType};
use crate::indexes::{Choice, Indexes, RequestedIndex};
use crate::secondary::{self, Definition, SecondaryIndex};
use crate::table_data::AnyTableData;

/// The concurrency of writers of different objects. Both default indexes always let them: the option is accepted and
/// reported. An index with locks has them for it ([`Options::parse`]).
///
/// ```
/// # use fyris::{Options, Store, WriteConcurrency};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set().write_concurrency(WriteConcurrency::Auto))?;
/// let info = table.info().expect("the table lives");
/// assert_eq!(info.write_concurrency, WriteConcurrency::Auto);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WriteConcurrency {
    /// `false`.
    #[default]
    Off,
    /// `true`.
    On,
    /// `auto`.
    Auto,
}

/// Options of a new table. The default is a protected `set` with the key in the first element.
///
/// ```
/// # use fyris::Options;
/// let options = Options::ordered_set().public().keypos(2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) kind: TableType,
    /// `None` until chosen: see [`Options::unowned`].
    pub(crate) protection: Option<Protection>,
    pub(crate) named: bool,
    pub(crate) keypos: usize,
    pub(crate) heir: Option<(ProcessId, Option<Term>)>,
    pub(crate) owned: bool,
    pub(crate) index: Option<RequestedIndex>,
    /// `None`: as `write_concurrency` says.
    pub(crate) bucket_locks: Option<BucketLocks>,
    /// Those in the value of `write_concurrency`.
    pub(crate) debug_locks: Option<BucketLocks>,
    pub(crate) reader_groups: Option<usize>,
    pub(crate) write_concurrency: WriteConcurrency,
    pub(crate) read_concurrency: bool,
    pub(crate) decentralized_counters: Option<bool>,
    pub(crate) compressed: bool,
    pub(crate) consistent: bool,
    pub(crate) snapshot_ttl: Option<Duration>,
    pub(crate) secondaries: Vec<SecondaryIndex>,
    /// Objects that the first content has room for.
    pub(crate) capacity: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options::new(TableType::Set)
    }
}

impl Options {
    /// Options of a table of this type.
    ///
    /// ```
    /// use fyris::{Options, TableType};
    ///
    /// assert_eq!(Options::new(TableType::Set), Options::default());
    /// ```
    pub fn new(kind: TableType) -> Options {
        Options {
            kind,
            protection: None,
            named: false,
            keypos: 1,
            heir: None,
            owned: true,
            index: None,
            bucket_locks: None,
            debug_locks: None,
            reader_groups: None,
            capacity: 0,
            write_concurrency: WriteConcurrency::Off,
            read_concurrency: false,
            decentralized_counters: None,
            compressed: false,
            consistent: true,
            snapshot_ttl: None,
            secondaries: Vec::new(),
        }
    }

    /// Makes the options of a `set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1.0, "uno"})])?;
    /// assert_eq!(table.len(), 2); // `1` and `1.0` are two keys
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn set() -> Options {
        Options::new(TableType::Set)
    }

    /// Makes the options of an `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({2}), term!({1}), term!({1.0})])?;
    /// assert_eq!(table.tab2list()?, [term!({1.0}), term!({2})]); // `1` and `1.0` are one key
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn ordered_set() -> Options {
        Options::new(TableType::OrderedSet)
    }

    /// Makes the options of a `bag`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"}), term!({1, "one"})])?;
    /// assert_eq!(table.len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn bag() -> Options {
        Options::new(TableType::Bag)
    }

    /// Makes the options of a `duplicate_bag`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::duplicate_bag())?;
    /// table.insert_list(&[term!({1, "one"}), term!({1, "uno"}), term!({1, "one"})])?;
    /// assert_eq!(table.len(), 3);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn duplicate_bag() -> Options {
        Options::new(TableType::DuplicateBag)
    }

    /// Lets every process read and write.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().public())?;
    /// table.for_caller(ProcessId(7)).insert(&term!({1, "one"}))?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn public(self) -> Options {
        self.protection(Protection::Public)
    }

    /// Lets only the owner read and write.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().private())?;
    /// assert!(table.for_caller(ProcessId(7)).member(&1).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn private(self) -> Options {
        self.protection(Protection::Private)
    }

    /// Sets which processes may read and write.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Protection, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().protection(Protection::Protected))?;
    /// let guest = table.for_caller(ProcessId(7));
    /// assert!(guest.member(&1).is_ok() && guest.insert(&term!({1})).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn protection(self, protection: Protection) -> Options {
        Options {
            protection: Some(protection),
            ..self
        }
    }

    /// `named_table`: registers the table under its name.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().named())?;
    /// assert_eq!(owner.named("t")?.id(), table.id());
    /// assert!(owner.new_table("t", &Options::set().named()).is_err()); // the name is taken
    /// owner.new_table("t", &Options::set())?; // this one does not register it
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn named(self) -> Options {
        Options {
            named: true,
            ..self
        }
    }

    /// Sets the position of the key, from 1.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().keypos(2))?;
    /// table.insert(&term!({"Ada", 1815}))?;
    /// assert!(table.member(&1815)?);
    /// assert!(table.insert(&term!({"Bob"})).is_err()); // no second element
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn keypos(self, keypos: usize) -> Options {
        Options { keypos, ..self }
    }

    /// Sets the process that gets the table when its owner ends, and the data of its message; without data there is
    /// none.
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let store = Store::new();
    /// let (owner, heir) = (store.owner(), store.owner());
    /// let options = Options::set().heir(heir.id(), Some(term!("yours now")));
    /// let table = owner.new_table("t", &options)?.for_caller(heir.id());
    /// drop(owner);
    /// table.insert(&term!({1, "one"}))?;
    /// assert!(heir.try_event().is_some());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn heir(self, heir: ProcessId, data: Option<Term>) -> Options {
        Options {
            heir: Some((heir, data)),
            ..self
        }
    }

    /// `{owner, none}`: makes a table without an owner, which outlives its maker. Unless chosen otherwise it is public,
    /// since a protected table without an owner could never be written.
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::set().unowned())?;
    /// drop(owner);
    /// table.insert(&term!({1, "one"}))?; // as long as the store lives
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn unowned(self) -> Options {
        Options {
            owned: false,
            ..self
        }
    }

    /// `{secondary, Name, Value}`: keeps a secondary index, by which [`Table::lookup_by`] finds objects, and queries
    /// that name its element. Up to 64 of them, each with a name of its own.
    ///
    /// Each insert puts an entry of value and key into an ordered set, as a second table would have it; a write that
    /// leaves the value as it is does not. The memory of entries is that of the table. A table that is in use gets one
    /// by [`Table::add_secondary`]. Files of tables do not have them.
    ///
    /// [`Table::lookup_by`]: crate::Table::lookup_by
    /// [`Table::add_secondary`]: crate::Table::add_secondary
    ///
    /// ```
    /// use fyris::{MatchSpec, Options, SecondaryIndex, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let options = Options::set().secondary(SecondaryIndex::element("by_state", 2));
    /// let jobs = owner.new_table("jobs", &options)?;
    /// jobs.insert_many((0..1000).map(|n| term!({n, (if n == 7 { term!(:done) } else { term!(:open) })})))?;
    /// assert_eq!(jobs.lookup_by("by_state", &term!(:done))?, [term!({7, :done})]);
    /// let done = MatchSpec::new(&term!([{{:"$1", :done}, [], [:"$1"]}]))?;
    /// assert_eq!(jobs.explain(&done)?.estimated, 1); // looks at one object
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn secondary(mut self, index: SecondaryIndex) -> Options {
        self.secondaries.push(index);
        self
    }

    /// Makes room for this many objects from the beginning.
    #[cfg(feature = "files")]
    pub(crate) fn capacity(self, capacity: usize) -> Options {
        Options { capacity, ..self }
    }

    /// `{index, Name}`: sets the structure that holds the table: `hash` or `ordered`, the defaults, or one that the
    /// store has been given ([`Registry`](crate::index::plug::Registry)): those of the crates `fyris-classic` and
    /// `fyris-judy`, or of the program's own. [`Store::index_names`](crate::Store::index_names) has all of them.
    ///
    /// ```
    /// use fyris::{Options, Store, term};
    ///
    /// let mut store = Store::new();
    /// fyris_classic::register(&mut store)?;
    /// let owner = store.owner();
    /// let table = owner.new_table("t", &Options::ordered_set().index("skip_list"))?;
    /// table.insert_list(&[term!({2}), term!({1})])?;
    /// assert_eq!(table.first()?, Some(term!(1)));
    /// assert!(owner.new_table("t", &Options::ordered_set().index("hash")).is_err()); // has no order
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn index(self, name: &str) -> Options {
        Options {
            index: Some(RequestedIndex::Name(name.to_owned())),
            ..self
        }
    }

    /// `{index, {library, Path}}`: sets the index of a shared library of C or C++ as the structure that holds the
    /// table, if it exports what `fyris_index.h` declares ([`library`](crate::index::library)). A relative path is one
    /// from the folder that the process is in; the system's folders of libraries are not searched.
    ///
    /// The library is loaded when the table is made, once for each file, and stays loaded until the process ends.
    /// **This runs its code**, in this process and with all of its rights, as every operation on the table does: the
    /// path, and the file, are to be trusted as the program itself is, also where they come from options that are read
    /// as a term ([`Options::parse`]). Answers of the library are checked, and one that is wrong fails the table by
    /// name ([`Error::LibraryIndex`]); that it keeps to its own memory cannot be checked.
    ///
    /// ```no_run
    /// use fyris::{Options, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let options = Options::ordered_set().library_index("/usr/local/lib/map.so");
    /// let table = owner.new_table("t", &options)?;
    /// table.insert(&term!({1, "one"}))?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    #[cfg(feature = "indexes")]
    pub fn library_index(self, path: &str) -> Options {
        Options {
            index: Some(RequestedIndex::Library(path.to_owned())),
            ..self
        }
    }

    /// Sets `{write_concurrency, _}`. See [`Options::parse`] for what it means for an index that has locks.
    ///
    /// ```
    /// # use fyris::{InfoValue, Options, Store, WriteConcurrency, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().write_concurrency(WriteConcurrency::On))?;
    /// assert_eq!(table.info_item("write_concurrency")?, Some(InfoValue::Term(term!(true))));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn write_concurrency(self, write_concurrency: WriteConcurrency) -> Options {
        Options {
            write_concurrency,
            ..self
        }
    }

    /// Sets `{bucket_locks, N}`: the number of locks of an index that can have an array of them, a power of two from 1
    /// to 32,768; or `auto`, as many as contention asks for. A table with fewer entries than locks has 1024
    /// of them at most, or as many as buckets. See [`Options::parse`] for what it means without `write_concurrency`.
    ///
    /// ```
    /// use fyris::{BucketLocks, Options, Store};
    ///
    /// let mut store = Store::new();
    /// fyris_classic::register(&mut store)?;
    /// let owner = store.owner();
    /// let options = Options::set().bucket_locks(BucketLocks::Fixed(256));
    /// owner.new_table("t", &options.clone().index("linear_hash"))?;
    /// assert!(owner.new_table("t", &options).is_err()); // `hash` has none
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn bucket_locks(self, locks: BucketLocks) -> Options {
        Options {
            bucket_locks: Some(locks),
            ..self
        }
    }

    /// Sets `{reader_groups, N}`: the number of reader groups of each lock that has them, from 1 to 64, which is
    /// rounded up to a power of two.
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let mut store = Store::new();
    /// fyris_classic::register(&mut store)?;
    /// let owner = store.owner();
    /// let options = Options::ordered_set().index("avl").read_concurrency(true).reader_groups(4);
    /// owner.new_table("t", &options)?;
    /// assert!(owner.new_table("t", &Options::set().reader_groups(4)).is_err()); // `hash` has no locks
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn reader_groups(self, groups: usize) -> Options {
        Options {
            reader_groups: Some(groups),
            ..self
        }
    }

    /// Sets `{consistent, _}`: whether a call that reads many objects, or reads them in several steps, shows the table as
    /// it was at one moment. It does unless this is `false`; then each step reads the live table.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set().consistent(false))?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let chunk = table.match_object_limit(&term!(:"_"), 999)?;
    /// table.insert(&term!({1000}))?;
    /// assert_eq!(chunk.next.expect("more").next()?.results.len(), 2); // with what came meanwhile
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn consistent(self, consistent: bool) -> Options {
        Options { consistent, ..self }
    }

    /// Sets `{snapshot_ttl, _}`: the age at which a snapshot ends that such a call has taken and goes on to read in later
    /// steps, of a continuation or an iterator. Going on is [`Error::Expired`] then. `None`, the default, is `infinity`.
    ///
    /// ```
    /// # use fyris::{Error, Options, Store, term};
    /// # use std::time::Duration;
    /// # let owner = Store::new().owner();
    /// # let options = Options::set().snapshot_ttl(Some(Duration::from_millis(20)));
    /// # let table = owner.new_table("t", &options)?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 10)?.next.expect("more");
    /// assert!(place.clone().next().is_ok());
    /// std::thread::sleep(Duration::from_millis(30));
    /// assert!(matches!(place.next(), Err(Error::Expired)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn snapshot_ttl(self, age: Option<Duration>) -> Options {
        Options {
            snapshot_ttl: age,
            ..self
        }
    }

    /// Sets `{decentralized_counters, _}`, which is reported only with `write_concurrency`.
    ///
    /// ```
    /// # use fyris::{Options, Store, WriteConcurrency};
    /// # let owner = Store::new().owner();
    /// let options = Options::set().decentralized_counters(true);
    /// let table = owner.new_table("t", &options)?;
    /// assert_eq!(table.info().map(|info| info.decentralized_counters), Some(false)); // as in ETS
    /// let table = owner.new_table("t", &options.write_concurrency(WriteConcurrency::On))?;
    /// assert_eq!(table.info().map(|info| info.decentralized_counters), Some(true));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn decentralized_counters(self, decentralized: bool) -> Options {
        Options {
            decentralized_counters: Some(decentralized),
            ..self
        }
    }

    /// Sets `{read_concurrency, _}`.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().read_concurrency(true))?;
    /// assert_eq!(table.info().map(|info| info.read_concurrency), Some(true));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn read_concurrency(self, read_concurrency: bool) -> Options {
        Options {
            read_concurrency,
            ..self
        }
    }

    /// Sets `compressed`, which is reported and has no other effect: objects are always stored compactly.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().compressed())?;
    /// assert_eq!(table.info().map(|info| info.compressed), Some(true));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn compressed(self) -> Options {
        Options {
            compressed: true,
            ..self
        }
    }

    /// Returns the settings of the table, which do not change.
    pub(crate) fn settings(&self, indexes: &Indexes) -> Result<Settings> {
        let kind = self.kind;
        // Before a library is loaded.
        self.check_numbers()?;
        let index = match &self.index {
            Some(asked) => indexes.find(asked, kind)?,
            None => indexes.named(kind.index(), kind)?,
        };
        self.check_locks(&index)?;
        let default = if self.owned {
            Protection::Protected
        } else {
            Protection::Public
        };
        let protection = self.protection.unwrap_or(default);
        let shared = protection != Protection::Private;
        let write = if shared {
            self.write_concurrency
        } else {
            WriteConcurrency::Off
        };
        let spread = match write {
            WriteConcurrency::Off => false,
            WriteConcurrency::Auto => self.decentralized_counters.unwrap_or(true),
            WriteConcurrency::On => self
                .decentralized_counters
                .unwrap_or(kind == TableType::OrderedSet),
        };
        Ok(Settings {
            kind,
            keypos: self.keypos,
            named: self.named,
            protection,
            index,
            bucket_locks: self
                .bucket_locks
                .or(self.debug_locks)
                .unwrap_or(match write {
                    WriteConcurrency::Off => BucketLocks::None,
                    WriteConcurrency::On => BucketLocks::Fixed(BucketLocks::USUAL),
                    WriteConcurrency::Auto => BucketLocks::Auto,
                }),
            reader_groups: self.reader_groups,
            counters: self.decentralized_counters,
            compressed: self.compressed,
            consistent: self.consistent,
            snapshot_ttl: self.snapshot_ttl,
            write_concurrency: write,
            read_concurrency: shared && self.read_concurrency,
            decentralized_counters: spread,
        })
    }

    /// Returns the secondary indexes as tables use them.
    pub(crate) fn definitions(&self) -> Result<Vec<Arc<Definition>>> {
        let compiled = |secondary: &SecondaryIndex| secondary.definition().map(Arc::new);
        let all = self.secondaries.iter().map(compiled);
        let all = all.collect::<Result<Vec<_>>>()?;
        secondary::check(&all, self.kind)?;
        Ok(all)
    }

    /// Refuses options that would do nothing.
    fn check_locks(&self, index: &Choice) -> Result<()> {
        let features = index.features();
        let given = [
            (
                "bucket_locks",
                features.bucket_locks,
                self.bucket_locks.is_some(),
            ),
            (
                "reader_groups",
                features.reader_groups,
                self.reader_groups.is_some(),
            ),
        ];
        for (name, has_use, is_given) in given {
            if is_given && !has_use {
                let text = format!("{{{name},_}}: the index {} has no {name}", index.name());
                return Err(Error::BadOption(text));
            }
        }
        Ok(())
    }

    /// Checks the numbers that [`Options::parse`] has checked, where they come from a program.
    fn check_numbers(&self) -> Result<()> {
        let refuse = |name: &str, value: usize| {
            let option = Term::tuple(vec![Term::atom(name), Term::Int(value as i64)]);
            Err(Error::BadOption(parse::refusal(&option)))
        };
        if self.keypos == 0 {
            return refuse("keypos", 0);
        }
        match (self.bucket_locks, self.reader_groups) {
            (Some(BucketLocks::Fixed(locks)), _)
                if locks > BucketLocks::MOST || !locks.is_power_of_two() =>
            {
                refuse("bucket_locks", locks)
            }
            (_, Some(groups)) if !(1..=64).contains(&groups) => refuse("reader_groups", groups),
            _ => Ok(()),
        }
    }
}

/// Returns the atom of a name.
pub(crate) fn atom(name: &str) -> Result<Atom> {
    Ok(Atom::new(name)?)
}

/// The settings of a table, of which only the protection may change, by `setopts`.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) kind: TableType,
    pub(crate) keypos: usize,
    pub(crate) named: bool,
    pub(crate) protection: Protection,
    pub(crate) index: Choice,
    pub(crate) bucket_locks: BucketLocks,
    pub(crate) reader_groups: Option<usize>,
    /// How an index counts, if the options say so; else it adapts.
    pub(crate) counters: Option<bool>,
    pub(crate) compressed: bool,
    /// Whether calls of many objects show one moment.
    pub(crate) consistent: bool,
    /// The age at which the snapshot of such a call ends.
    pub(crate) snapshot_ttl: Option<Duration>,
    pub(crate) write_concurrency: WriteConcurrency,
    pub(crate) read_concurrency: bool,
    pub(crate) decentralized_counters: bool,
}

impl Settings {
    /// Makes fresh content with room for this many objects and with these secondary indexes, of a store with this log
    /// of commits.
    ///
    /// # Errors
    ///
    /// [`Error::BadIndex`] if the index does not serve the type of table; [`Error::LibraryIndex`].
    pub(crate) fn content<'d>(
        &self,
        capacity: usize,
        secondaries: impl IntoIterator<Item = &'d Arc<Definition>>,
        log: &Arc<CommitLog>,
    ) -> Result<AnyTableData> {
        let mut options = IndexOptions::with_capacity(capacity);
        options.bucket_locks = self.bucket_locks;
        options.read_concurrency = self.read_concurrency;
        options.reader_groups = self.reader_groups;
        options.decentralized_counters = self.counters;
        let content = self.index.content(self.kind, self.keypos, log, &options)?;
        Ok(content.with_secondaries(secondaries))
    }
}
