//! The information that a table gives about itself: `info/1` and `info/2`.

use fyris_index::{Figure, Figures};
use fyris_term::{Atom, Float, Term, term};

use super::{Cursor, Table};
use crate::error::{Error, Result};
use crate::fix::Fixed;
use crate::ids::{ProcessId, Protection, TableId, TableType};
use crate::memory::Memory;
use crate::options::WriteConcurrency;
use crate::table_shared::TableShared;
use crate::view::{Live, View};

/// `info/1`.
///
/// `size` is exact with respect to finished operations ([`Table::len`] says what of others); `memory` counts what is
/// allocated for the objects (records as the allocator rounds them, cells of the bags), the index and the table itself,
/// but not large binaries, which are shared. Both O(1).
///
/// ```
/// # use fyris::{Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.insert(&term!({1, "one"}))?;
/// let info = table.info().expect("the table lives");
/// assert_eq!((info.size, info.keypos, info.owner), (1, 1, Some(owner.id())));
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The table's identity.
    pub id: TableId,
    /// Its name.
    pub name: Atom,
    /// Whether it is registered under the name.
    pub named_table: bool,
    /// Its type.
    pub table_type: TableType,
    /// The position of the key among the elements.
    pub keypos: usize,
    /// Which processes may read and write.
    pub protection: Protection,
    /// The owner; `None` for `{owner, none}`.
    pub owner: Option<ProcessId>,
    /// The process that inherits the table.
    pub heir: Option<ProcessId>,
    /// The number of objects.
    pub size: usize,
    /// The allocated memory, in words of 8 bytes.
    pub memory: usize,
    /// As set at `new/2`.
    pub compressed: bool,
    /// As set at `new/2`; false for a private table.
    pub read_concurrency: bool,
    /// As set at `new/2`; off for a private table.
    pub write_concurrency: WriteConcurrency,
    /// As ETS would report it.
    pub decentralized_counters: bool,
    /// The structure that holds the table: the name of `{index, Name}`, or the path of `{index, {library, Path}}`.
    pub index: &'static str,
    /// Whether the structure is from a library.
    pub library_index: bool,
}

/// The value of an info item, where a binding has its own words for processes and tables.
///
/// ```
/// # use fyris::{InfoValue, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// assert_eq!(table.info_item("size")?, Some(InfoValue::Term(term!(0))));
/// assert_eq!(table.info_item("owner")?, Some(InfoValue::Process(Some(owner.id()))));
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InfoValue {
    /// A term.
    Term(Term),
    /// A process; `None` is the atom `none`.
    Process(Option<ProcessId>),
    /// A table's identity.
    Table(TableId),
    /// The processes that have fixed the table; `None` is the atom `false`.
    Fixed(Option<Fixed>),
}

/// The items of `info/1`, in its order.
const ITEMS: [&str; 15] = [
    "id",
    "decentralized_counters",
    "read_concurrency",
    "write_concurrency",
    "compressed",
    "memory",
    "owner",
    "heir",
    "name",
    "size",
    "node",
    "named_table",
    "type",
    "keypos",
    "protection",
];

fn word(word: &str) -> InfoValue {
    InfoValue::Term(Term::atom(word))
}

fn boolean(value: bool) -> InfoValue {
    word(if value { "true" } else { "false" })
}

fn number(value: usize) -> InfoValue {
    InfoValue::Term(Term::Int(value as i64))
}

/// Returns figures as a list of pairs.
fn pairs(figures: &Figures) -> InfoValue {
    let pair = |(name, figure)| {
        let value = match figure {
            Figure::Word(word) => Term::atom(word),
            Figure::Count(count) => Term::Int(i64::try_from(count).unwrap_or(i64::MAX)),
            Figure::Real(real) => Term::Float(Float::new(real).unwrap_or(Float::ZERO)),
        };
        Term::tuple(vec![Term::atom(name), value])
    };
    InfoValue::Term(Term::List(figures.iter().map(pair).collect()))
}

impl Info {
    /// Returns the items that `ets:info/1` has, in its order.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let items = table.info().expect("the table lives").items();
    /// assert_eq!(items[0].0, "id"); // the order of `ets:info/1`
    /// assert!(items.iter().all(|(name, _)| *name != "index"));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn items(&self) -> Vec<(&'static str, InfoValue)> {
        ITEMS
            .iter()
            .filter_map(|item| Some((*item, self.item(item)?)))
            .collect()
    }

    /// Returns one of the items of `info/1`.
    ///
    /// ```
    /// # use fyris::{InfoValue, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let info = table.info().expect("the table lives");
    /// assert_eq!(info.item("index"), Some(InfoValue::Term(term!(:hash))));
    /// assert_eq!(info.item("fixed"), None); // only `Table::info_item` has it
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn item(&self, item: &str) -> Option<InfoValue> {
        Some(match item {
            "id" => InfoValue::Table(self.id),
            "name" => InfoValue::Term(Term::Atom(self.name)),
            "named_table" => boolean(self.named_table),
            "type" => word(self.table_type.as_str()),
            "keypos" => number(self.keypos),
            "protection" => word(self.protection.as_str()),
            "owner" => InfoValue::Process(self.owner),
            "heir" => InfoValue::Process(self.heir),
            "node" => word("nonode@nohost"),
            "size" => number(self.size),
            "memory" => number(self.memory),
            "compressed" => boolean(self.compressed),
            "read_concurrency" => boolean(self.read_concurrency),
            "write_concurrency" => match self.write_concurrency {
                WriteConcurrency::Off => boolean(false),
                WriteConcurrency::On => boolean(true),
                WriteConcurrency::Auto => word("auto"),
            },
            "decentralized_counters" => boolean(self.decentralized_counters),
            "index" if self.library_index => {
                let path = self
                    .index
                    .chars()
                    .map(|c| Term::Int(i64::from(u32::from(c))));
                let pair = vec![Term::atom("library"), Term::List(path.collect())];
                InfoValue::Term(Term::tuple(pair))
            }
            "index" => word(self.index),
            _ => return None,
        })
    }
}

impl Table {
    /// `info/1`: returns all items; `None` if the table is deleted. Works for every caller, on private tables too.
    /// Name, protection, owner and heir are as they were at one moment.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().private())?;
    /// let guest = table.for_caller(ProcessId(7));
    /// assert!(guest.member(&1).is_err());
    /// assert_eq!(guest.info().map(|info| info.size), Some(0)); // private or not
    /// table.delete()?;
    /// assert_eq!(guest.info(), None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn info(&self) -> Option<Info> {
        let shared = &self.shared;
        let s = &shared.settings;
        let (state, owner, heir) = match self.past() {
            // Also when the table is deleted.
            Some(_) => (shared.life.state(), shared.life.owner(), None),
            None => shared.store.upgrade()?.describe(shared, self.asked)?,
        };
        let (size, bytes) = self.counts()?;
        Some(Info {
            id: shared.id,
            name: state.name(),
            named_table: s.named,
            table_type: s.kind,
            keypos: s.keypos,
            protection: state.protection(),
            owner,
            heir,
            size,
            memory: bytes.div_ceil(8),
            compressed: s.compressed,
            read_concurrency: s.read_concurrency,
            write_concurrency: s.write_concurrency,
            decentralized_counters: s.decentralized_counters,
            index: s.index.name(),
            library_index: s.index.is_from_library(),
        })
    }

    /// Returns the items of `info/1`: those that `ets` has; and for a table on an index that is not its type's own also
    /// `index` and `index_info`, the latter without the lengths of buckets. `None` if the table is deleted. O(1).
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let mut store = Store::new();
    /// fyris_classic::register(&mut store)?;
    /// let owner = store.owner();
    /// let plain = owner.new_table("t", &Options::ordered_set())?;
    /// let avl = owner.new_table("t", &Options::ordered_set().index("avl"))?;
    /// let names = |table: fyris::Table| table.info_items().map(|items| items.len());
    /// assert_eq!((names(plain), names(avl)), (Some(15), Some(17)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn info_items(&self) -> Option<Vec<(&'static str, InfoValue)>> {
        let info = self.info()?;
        let mut items = info.items();
        if info.library_index || info.index != info.table_type.index() {
            items.push(("index", info.item("index")?));
            let pin = fyris_sync::reclaim::pin();
            // A snapshot may outlive its table's content.
            let data = self.shared.any_data(&pin);
            items.extend(data.map(|data| ("index_info", pairs(&Live(data).describe(&pin)))));
        }
        Some(items)
    }

    /// Returns what the index reports about its locks, its shape and contention: [`Figures`] lists it.
    /// `None` if the table is deleted.
    ///
    /// O(objects) for an index that has buckets, since it looks at each; O(1) for a tree. Figures of a table that is
    /// written to meanwhile are of different moments. Works for every caller, as [`Table::info`].
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// let figures = table.figures().expect("the table lives");
    /// assert!(figures.iter().any(|(name, _)| name == "buckets"));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn figures(&self) -> Option<Figures> {
        let pin = fyris_sync::reclaim::pin();
        let view = Live(self.shared.any_data(&pin)?);
        Some(view.lengths(view.describe(&pin), &pin))
    }

    /// `info/2`: returns one item; `None` if the table is deleted, whatever the item.
    ///
    /// Beyond the items of [`Info`]: `fixed`, `safe_fixed_monotonic_time`, `safe_fixed`, `binary` (a walk over the
    /// whole table), `stats`, `index`, and `index_info`: what [`Table::figures`] returns, as a list of pairs; and
    /// `snapshots`: a map of the number `alive`, the age of the `oldest` in milliseconds (`none`, if none is), whether
    /// the table is `versioned`, the number of versions that are `retained`, and the `bytes` that these take;
    /// `subscriptions`: how many watch the table; and `secondary`: a list of pairs, the name of each secondary index
    /// and what it is of.
    ///
    /// ```
    /// # use fyris::{InfoValue, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(table.info_item("fixed")?, Some(InfoValue::Term(term!(false))));
    /// assert!(table.info_item("colour").is_err());
    /// table.delete()?;
    /// assert_eq!(table.info_item("colour")?, None);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadItem`].
    pub fn info_item(&self, item: &str) -> Result<Option<InfoValue>> {
        let Some(info) = self.info() else {
            return Ok(None);
        };
        Ok(Some(match item {
            "fixed" => boolean(self.shared.life.state().is_fixed()),
            "safe_fixed" | "safe_fixed_monotonic_time" => InfoValue::Fixed(self.shared.fixes.get()),
            "binary" => InfoValue::Term(self.binaries()),
            "stats" => boolean(false),
            "snapshots" => return Ok(self.snapshots_info().map(InfoValue::Term)),
            "subscriptions" => InfoValue::Term(Term::Int(self.shared.subscriptions() as i64)),
            "secondary" => InfoValue::Term(self.secondary_info()),
            "consistent" => boolean(self.shared.settings.consistent),
            "snapshot_ttl" => InfoValue::Term(match self.shared.settings.snapshot_ttl {
                Some(age) => Term::Int(age.as_millis() as i64),
                None => Term::atom("infinity"),
            }),
            "index_info" => return Ok(self.figures().as_ref().map(pairs)),
            item => info
                .item(item)
                .ok_or_else(|| Error::BadItem(item.to_owned()))?,
        }))
    }

    /// Returns the number of objects; 0 if the table is deleted.
    ///
    /// # Consistency
    ///
    /// Counts every operation that has returned, and none that has not begun. An operation counts what it puts in
    /// before it can be seen, and what it takes out when it is gone: so the number is never too low. It is above that
    /// of the objects at a moment of the call by no more than what the operations under way at this moment change: one
    /// object for each thread that inserts or deletes one, the length of a list for one that inserts a list. If others
    /// write so fast that of a hundred looks no two agree, objects that go while it looks may be counted besides.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, 2}), term!({1, 3})])?;
    /// assert_eq!(table.len(), 2); // objects, not keys
    /// table.delete()?;
    /// assert_eq!(table.len(), 0);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.counts().map_or(0, |(size, _)| size)
    }

    /// Returns whether there are no objects.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.is_empty());
    /// table.insert(&term!({1}))?;
    /// assert!(!table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes allocated for the table, as [`Info::memory`] counts them; 0 if the table is deleted.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let empty = table.memory();
    /// table.insert(&term!({1, "a text that does not fit an index entry"}))?;
    /// assert!(table.memory() > empty);
    /// assert_eq!(table.info().map(|info| info.memory), Some(table.memory().div_ceil(8))); // words
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn memory(&self) -> usize {
        self.counts().map_or(0, |(_, bytes)| bytes)
    }

    /// Returns the number of bytes allocated for the table, by what they are for.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 2}))?; // two small integers are their index entry
    /// assert_eq!(table.memory_by_kind().objects, 0);
    /// table.insert(&term!({2, "a text that does not fit an index entry"}))?;
    /// assert!(table.memory_by_kind().objects > 0);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn memory_by_kind(&self) -> Memory {
        let pin = fyris_sync::reclaim::pin();
        let of = |view: Live<'_>| {
            let objects = view.objects_memory();
            let all = view.memory() + size_of::<TableShared>();
            Memory {
                objects,
                indexes: all.saturating_sub(objects),
            }
        };
        self.shared
            .any_data(&pin)
            .map_or(Memory::default(), |data| of(Live(data)))
    }

    fn counts(&self) -> Option<(usize, usize)> {
        let pin = fyris_sync::reclaim::pin();
        if let Some(past) = self.past() {
            let view = past.view(&pin).ok()?;
            let size = past.size(view);
            // A release under the count makes it wrong.
            past.check().ok()?;
            return Some((size, Live(view.data).memory()));
        }
        if let Some(part) = self.part() {
            let view = part.view(&pin).ok()?;
            return Some((view.len(), Live(view.begun.data).memory()));
        }
        let view = Live(self.shared.any_data(&pin)?);
        Some((view.len(), view.memory() + size_of::<TableShared>()))
    }

    fn snapshots_info(&self) -> Option<Term> {
        let pin = fyris_sync::reclaim::pin();
        let current = self.shared.any_data(&pin);
        let data = match self.past() {
            Some(past) => past.view(&pin).ok()?.data,
            None => current?,
        };
        let (retained, retained_bytes) = data.snapshots().retained();
        let bytes = match current.is_some_and(|current| std::ptr::eq(current, data)) {
            true => data.retained_bytes(),
            // All of what the table has no more is there for its snapshots.
            false => data.memory() + retained_bytes,
        };
        let (alive, oldest) = data.snapshots().figures(&pin);
        let age = oldest.map(|age| Term::Int(age.as_millis() as i64));
        Some(term!(#{
            :alive => (alive as i64),
            :oldest => (age.unwrap_or_else(|| Term::atom("none"))),
            :versioned => (self.shared.life.state().is_versioned()),
            :retained => (retained as i64),
            :bytes => (bytes as i64),
        }))
    }

    /// Returns the large binaries held by reference, as `{Id, Size, References}`.
    fn binaries(&self) -> Term {
        // Every process that may see the table's info may see this: it shows sizes, no content.
        let reader = match self.shared.life.owner() {
            Some(owner) => self.for_caller(owner),
            None => self.clone(),
        };
        let mut cursor = Cursor::new();
        let mut list = Vec::new();
        let pin = fyris_sync::reclaim::pin();
        let mut objects = Vec::new();
        while let Ok(true) = cursor.next_batch(&reader, &pin, &mut objects) {
            list.extend(objects.drain(..).flat_map(|object| object.binaries()));
        }
        Term::list(list)
    }
}
