//! `fyris.Table`: making and finding tables, and what concerns them as wholes.

use std::path::PathBuf;
use std::sync::LazyLock;

use fyris::dump::{LoadOptions, SaveOptions};
use fyris::{InfoValue, Options, Owner, SecondaryIndex, Store, TableType};
use fyris_term::Term;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::convert::{from_term, from_terms, sought, to_term};
use crate::direct::Written;
use crate::errors::{self, BadValue};
use crate::mapping::{self, Argument, view};
use crate::walk::{Part, Walk};

mod dict;
mod ets;
mod ordered;
mod places;
mod query;

pub(crate) use query::{described, pattern_of, spec_of};

/// The one store of this process, and its owner, who lives as long as the process.
pub(crate) static OWNER: LazyLock<Owner> = LazyLock::new(|| new_store().owner());

/// Makes a store that knows the indexes of all crates.
fn new_store() -> Store {
    #[cfg_attr(not(feature = "classic"), expect(unused_mut))]
    let mut store = Store::new();
    #[cfg(feature = "classic")]
    {
        fyris_classic::register(&mut store).expect("new names");
        fyris_judy::register(&mut store).expect("new names");
    }
    store
}

/// A table of Erlang terms, shared by all threads of this process.
///
///     t = fyris.Table()                       # a set: one object a key
///     t = fyris.Table("ordered_set")          # and in order of the keys
///     t = fyris.Table("bag", name="edges")    # several objects a key; found by fyris.Table.named("edges")
///
/// As a dictionary it maps keys to values: t[key] = value keeps the object (key, value). Beside that it is a table of
/// Erlang's ets, whose objects are tuples of any length with the key in place keypos, counted from 1.
///
/// type is 'set', 'ordered_set', 'bag' or 'duplicate_bag'; index names the structure that holds the table, or is
/// ('library', path) for one of a shared library of C or C++, whose code this runs (see fyris_index.h). A table without
/// a name goes away with its last reference, one with a name when drop() is called. A with statement over a table that
/// was made or loaded deletes it at its end, for everybody; one over a table that named() has found does not.
///
/// The other arguments choose the locks of an index that has some, as the options of ets do: write_concurrency is True,
/// False or 'auto', bucket_locks a power of two from 1 to 32768 or 'auto', reader_groups a number from 1 to 64.
///
/// What iterates over more than 512 objects shows the table as it was at one moment, while others write; with
/// consistent=False it shows what is there when it comes by. What reads a mapping twice, keys and then each value, as
/// dict(t) and pandas.Series(t), pairs wrong values beside a writer: dict(t.items()) reads once, and t.snapshot() does
/// not change. snapshot_ttl is the age, in milliseconds, at which an
/// iterator that was begun ends: going on raises Closed.
///
/// secondary names secondary indexes, by which lookup_by() finds objects, and queries that name their element:
///
///     t = fyris.Table(secondary={"by_city": ("element", 3), "by_year": ("path", [2, "born"])})
///
/// ("element", position) is an element, ("path", [position, step, ...]) what the steps lead to from it, keys of a dict
/// or positions, and ("body", expressions) the value of the last of the expressions of a match specification, as a list
/// or a str in Erlang's syntax: ("body", "[{byte_size, {element, 2, '$_'}}]"). Objects without such a value are not
/// found.
///
/// Every operation on one key is atomic, and so are insert_many, update and clear as wholes. Reads take no lock.
#[pyclass(frozen, generic, mapping, weakref, module = "fyris")]
pub(crate) struct Table {
    pub(crate) table: fyris::Table,
    ending: Ending,
}

/// What a table ends with, if nobody drops it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Its object in Python, and a with statement over it.
    Object,
    /// A with statement over it.
    Block,
    /// Neither: somebody else has made it.
    Others,
}

impl Ending {
    /// Of a table that was made here.
    fn of_made(is_named: bool) -> Ending {
        match is_named {
            true => Ending::Block,
            false => Ending::Object,
        }
    }
}

/// What holds a table.
enum Index {
    Named(String),
    Library(String, String),
}

impl<'py> FromPyObject<'_, 'py> for Index {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Index> {
        let library = |(kind, path)| Index::Library(kind, path);
        let index = given.extract().map(Index::Named);
        index
            .or_else(|_| given.extract().map(library))
            .map_err(|_| {
                let text = format!("index is a name or ('library', path), not {given:?}");
                PyTypeError::new_err(text)
            })
    }
}

/// The argument `type`.
struct Type(TableType);

impl<'py> FromPyObject<'_, 'py> for Type {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Type> {
        let Ok(name) = given.extract::<&str>() else {
            let class = given.get_type();
            let text = format!(
                "the first argument of a Table is its type, such as 'ordered_set', not a {}: update() puts items in",
                class.name()?
            );
            return Err(PyTypeError::new_err(text));
        };
        type_of(name).map(Type)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.ending == Ending::Object {
            // It may be gone already.
            let _ = self.table.delete();
        }
    }
}

/// Returns the value of an option as a term: a word, a truth value, or a number.
fn option_value(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    if let Ok(word) = value.extract::<&str>() {
        return Ok(Term::Atom(atom(word)?));
    }
    if let Ok(truth) = value.extract::<bool>() {
        return Ok(Term::atom(if truth { "true" } else { "false" }));
    }
    Ok(Term::Int(value.extract()?))
}

/// Returns the options of secondary indexes, by name what each is of.
fn secondary_options(indexes: &Bound<'_, PyMapping>) -> PyResult<Vec<Term>> {
    let option = |item: Bound<'_, PyAny>| {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let value = secondary_value(&value)?;
        let parts = [Term::atom("secondary"), Term::Atom(atom(&name)?), value];
        Ok(Term::tuple(parts.to_vec()))
    };
    indexes.items()?.iter().map(option).collect()
}

/// Returns the secondary indexes that a loaded table is to have.
fn loaded_indexes(indexes: &Bound<'_, PyMapping>) -> PyResult<Vec<SecondaryIndex>> {
    let index = |item: Bound<'_, PyAny>| {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        Ok(SecondaryIndex::new(&name, secondary_value(&value)?))
    };
    indexes.items()?.iter().map(index).collect()
}

/// Returns what a secondary index is of.
fn secondary_value(value: &Bound<'_, PyAny>) -> PyResult<Term> {
    let parts = value.extract::<(String, Bound<'_, PyAny>)>();
    let (word, argument) = parts.map_err(|_| {
        BadValue::new_err(format!(
            "a secondary index is ('element', position), ('path', [position, step, ...]), ('body', expressions) or \
             ('unique', one of these), not {value:?}"
        ))
    })?;
    let argument = match word.as_str() {
        "body" => described(&argument)?,
        "unique" => secondary_value(&argument)?,
        _ => to_term(&argument)?,
    };
    Ok(Term::tuple(vec![Term::Atom(atom(&word)?), argument]))
}

fn type_of(name: &str) -> PyResult<TableType> {
    Ok(match name {
        "set" => TableType::Set,
        "ordered_set" => TableType::OrderedSet,
        "bag" => TableType::Bag,
        "duplicate_bag" => TableType::DuplicateBag,
        other => {
            return Err(BadValue::new_err(format!(
                "no type of table is called {other}: there are set, ordered_set, bag and duplicate_bag"
            )));
        }
    })
}

/// Refuses the empty name.
fn not_empty(name: &str) -> PyResult<()> {
    match name.is_empty() {
        true => Err(BadValue::new_err("the name of a table is not empty")),
        false => Ok(()),
    }
}

fn atom(name: &str) -> PyResult<fyris_term::Atom> {
    errors::not_forked()?;
    let atom = fyris_term::Atom::new(name);
    atom.map_err(|error| errors::LimitReached::new_err(error.to_string()))
}

impl Table {
    /// Runs a write of a key. Where it may wait for a transaction that goes first, that may need the interpreter.
    fn write<R: Send>(
        &self,
        py: Python<'_>,
        f: impl Send + FnOnce(&fyris::Table) -> fyris::Result<R>,
    ) -> PyResult<R> {
        let may_wait = OWNER.store().has_first_transaction()
            && self.table.holds_key(None::<&fyris_term::Term>);
        let done = match may_wait {
            true => py.detach(|| f(&self.table)),
            false => f(&self.table),
        };
        done.map_err(errors::store)
    }

    /// A table that ends with this object.
    pub(crate) fn owned(table: fyris::Table) -> Table {
        Table {
            table,
            ending: Ending::Object,
        }
    }

    /// A table that does not end with this object.
    pub(crate) fn not_owned(table: fyris::Table) -> Table {
        Table {
            table,
            ending: Ending::Others,
        }
    }

    fn of_snapshot(snapshot: &fyris::Snapshot) -> Table {
        Table::not_owned(fyris::Table::clone(snapshot))
    }

    /// Why it cannot be read: deleted, a snapshot that was released, of a transaction that has ended.
    fn gone(&self) -> fyris::Error {
        let why = self.table.check(fyris::Right::Read).err();
        why.unwrap_or_else(|| fyris::Error::NoSuchTable(self.table.reference().into()))
    }

    /// The number of objects.
    pub(crate) fn size(&self) -> PyResult<usize> {
        errors::not_forked()?;
        match self.table.info() {
            Some(info) => Ok(info.size),
            None => Err(errors::store(self.gone())),
        }
    }
}

#[pymethods]
impl Table {
    #[new]
    #[pyo3(signature = (
        r#type=Type(TableType::Set), *, name=None, keypos=1, index=None,
        write_concurrency=None, read_concurrency=None, bucket_locks=None, reader_groups=None,
        consistent=None, snapshot_ttl=None, secondary=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "arguments by name in Python")]
    fn new(
        r#type: Type,
        name: Option<&str>,
        keypos: usize,
        index: Option<Index>,
        write_concurrency: Option<&Bound<'_, PyAny>>,
        read_concurrency: Option<&Bound<'_, PyAny>>,
        bucket_locks: Option<&Bound<'_, PyAny>>,
        reader_groups: Option<&Bound<'_, PyAny>>,
        consistent: Option<&Bound<'_, PyAny>>,
        snapshot_ttl: Option<&Bound<'_, PyAny>>,
        secondary: Option<&Bound<'_, PyMapping>>,
    ) -> PyResult<Table> {
        let mut list = vec![Term::Atom(atom(r#type.0.as_str())?)];
        for (word, value) in [
            ("write_concurrency", write_concurrency),
            ("read_concurrency", read_concurrency),
            ("bucket_locks", bucket_locks),
            ("reader_groups", reader_groups),
            ("consistent", consistent),
            ("snapshot_ttl", snapshot_ttl),
        ] {
            if let Some(value) = value {
                list.push(Term::tuple(vec![Term::atom(word), option_value(value)?]));
            }
        }
        if let Some(indexes) = secondary {
            list.extend(secondary_options(indexes)?);
        }
        let options = Options::parse(&Term::list(list), |_| None).map_err(errors::store)?;
        let mut options = options.public().keypos(keypos);
        options = match index {
            Some(Index::Named(name)) => options.index(&name),
            Some(Index::Library(kind, path)) if kind == "library" => options.library_index(&path),
            Some(Index::Library(kind, _)) => {
                return Err(BadValue::new_err(format!("no index ({kind:?}, path)")));
            }
            None => options,
        };
        if let Some(name) = name {
            not_empty(name)?;
            options = options.named();
        }
        let table = OWNER.new_table(name.unwrap_or("python"), &options);
        Ok(Table {
            table: table.map_err(errors::store)?,
            ending: Ending::of_made(name.is_some()),
        })
    }

    /// The table that was made with this name. Raises NoSuchTable.
    #[staticmethod]
    fn named(name: &str) -> PyResult<Table> {
        errors::not_forked()?;
        let table = OWNER.named(name).map_err(errors::store)?;
        Ok(Table::not_owned(table))
    }

    /// Returns this table as it is at this moment: a Table that can only be read, while others write and do not wait.
    ///
    ///     before = t.snapshot()
    ///     t[1] = "changed"                    # before[1] is what it was
    ///
    /// It lasts until release(), or as long as something refers to it; what writes to it raises ReadOnly.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Table> {
        let taken = py.detach(|| self.table.snapshot());
        Ok(Table::of_snapshot(&taken.map_err(errors::store)?))
    }

    /// Returns snapshots of several tables, all of one moment.
    #[staticmethod]
    fn snapshots(py: Python<'_>, tables: Vec<PyRef<'_, Table>>) -> PyResult<Vec<Table>> {
        errors::not_forked()?;
        let handles: Vec<fyris::Table> = tables.iter().map(|table| table.table.clone()).collect();
        let taken = py.detach(|| OWNER.store().snapshots(&handles.iter().collect::<Vec<_>>()));
        let taken = taken.map_err(errors::store)?;
        Ok(taken.iter().map(Table::of_snapshot).collect())
    }

    /// Ends a snapshot; reading it afterwards raises Closed. Nothing happens to a table that is none.
    fn release(&self, py: Python<'_>) {
        if let Some(snapshot) = self.table.as_snapshot() {
            py.detach(|| snapshot.release());
        }
    }

    /// Makes a table out of a file that save() or Erlang's ets:tab2file wrote. The file may come from anybody: it is
    /// checked as far as it lets itself be, and refused whole if anything in it is wrong. name replaces the name in it.
    /// Files hold no secondary indexes: secondary says which the table gets, as in Table(...).
    ///
    /// Raises OSError, Damaged, NameTaken; NotUnique if objects share a value of a unique index. There is no table then.
    #[staticmethod]
    #[pyo3(signature = (path, *, name=None, secondary=None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        name: Option<&str>,
        secondary: Option<&Bound<'_, PyMapping>>,
    ) -> PyResult<Table> {
        name.map_or(Ok(()), not_empty)?;
        let options = LoadOptions {
            name: name.map(atom).transpose()?,
            ..LoadOptions::verified()
        };
        let indexes = secondary.map_or(Ok(Vec::new()), loaded_indexes)?;
        let loaded = py.detach(|| OWNER.file2tab(&path, &options));
        let table = loaded.map_err(errors::dump)?.table;
        let added = py.detach(|| indexes.iter().try_for_each(|one| table.add_secondary(one)));
        if let Err(error) = added {
            // It may be gone already.
            let _ = table.delete();
            return Err(errors::store(error));
        }
        let is_named = matches!(table.reference(), fyris::TableRef::Name(_));
        let ending = Ending::of_made(is_named);
        Ok(Table { table, ending })
    }

    /// Writes the table to a file, with a checksum, and returns how many objects there were; ets:file2tab reads it. A
    /// file that is there is replaced when the new one is whole. Secondary indexes are not in it, unique ones neither:
    /// load() is told them again. Raises OSError.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<u64> {
        let options = SaveOptions {
            object_count: true,
            md5sum: true,
            ..SaveOptions::default()
        };
        let saved = py.detach(|| self.table.tab2file(&path, &options));
        saved.map_err(errors::dump)
    }

    /// Deletes the table, for everybody and at once.
    fn drop(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.table.delete()).map_err(errors::store)
    }

    /// Gives the table another name. Raises NameTaken. One that was made without a name is found by none afterwards
    /// either.
    fn rename(&self, name: &str) -> PyResult<()> {
        not_empty(name)?;
        self.table.rename(atom(name)?).map_err(errors::store)?;
        Ok(())
    }

    /// The table, which is deleted at the end of the with statement; one that named() has found is not.
    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Deletes the table, for everybody, unless that has been done, or named() has found it.
    fn __exit__(
        &self,
        _class: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        if self.ending != Ending::Others {
            // Only that it is gone can be wrong with it.
            let _ = self.table.delete();
        }
    }

    /// The name, a str. A table that was made without one is called 'python', and nobody finds it by that.
    #[getter]
    fn name(&self) -> &'static str {
        self.table.name().as_str()
    }

    /// 'set', 'ordered_set', 'bag' or 'duplicate_bag'.
    #[getter]
    fn r#type(&self) -> &'static str {
        self.table.table_type().as_str()
    }

    /// The position of the key in an object, from 1.
    #[getter]
    fn keypos(&self) -> usize {
        self.table.keypos()
    }

    /// The number of bytes that the table has allocated.
    #[getter]
    fn memory(&self) -> usize {
        self.table.memory()
    }

    /// Returns the items of ets:info/1, a dict by name.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        errors::not_forked()?;
        let dict = PyDict::new(py);
        let Some(items) = self.table.info_items() else {
            return Err(errors::store(self.gone()));
        };
        for (name, value) in items {
            // Owners and heirs mean nothing in Python.
            if let InfoValue::Term(term) = value {
                dict.set_item(name, plain_word(py, &term)?)?;
            }
        }
        Ok(dict)
    }

    fn __repr__(&self) -> PyResult<String> {
        let (name, kind) = (self.table.reference(), self.table.table_type().as_str());
        Ok(match self.table.info() {
            Some(info) => format!("<fyris.Table {name}, {kind} of {}>", info.size),
            None if Store::is_forked() => format!("<fyris.Table {name}, {kind} of the parent>"),
            None => match self.gone() {
                fyris::Error::NoSuchTable(_) => format!("<fyris.Table {name}, deleted>"),
                why => format!("<fyris.Table {name}, {kind}: {why}>"),
            },
        })
    }

    /// All objects, one by one; what is there throughout comes up exactly once.
    fn objects(slf: Bound<'_, Self>) -> Walk {
        Walk::new(slf, Part::Object, false)
    }

    /// All objects in a list.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let objects = py.detach(|| self.table.tab2list());
        from_terms(py, &objects.map_err(errors::store)?)
    }

    /// The keys, as a view.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Keys")
    }

    /// The values, as a view. Walking raises BadValue at an object that is no pair.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Values")
    }

    /// Pairs of key and value, as a view. Walking raises BadValue at an object that is no pair.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        view(slf.as_any(), "Items")
    }

    fn _walk(slf: Bound<'_, Self>, items: bool, back: bool) -> Walk {
        Walk::new(slf, if items { Part::Item } else { Part::Value }, back)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Walk {
        Walk::new(slf, Part::Key, false)
    }

    fn __reversed__(slf: Bound<'_, Self>) -> Walk {
        Walk::new(slf, Part::Key, true)
    }

    fn __len__(&self) -> PyResult<usize> {
        self.size()
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let found = sought(key)?.map_or(Ok(false), |key| self.table.member(&key));
        found.map_err(errors::store)
    }

    /// Equal to any mapping with the same items.
    fn __eq__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::equal(slf.as_any(), other)
    }

    /// The dict of the items of both.
    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::union(slf.as_any(), other)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        mapping::union(other, slf.as_any())
    }

    /// As update().
    fn __ior__(&self, other: &Bound<'_, PyAny>) -> PyResult<()> {
        self.update(other.py(), Argument(Some(other.clone())), None)
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.find(key)? {
            Some(value) => Ok(value),
            None => Err(dict::missing(key)),
        }
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check()?;
        let object = Written::new(to_term(key)?, value)?;
        self.write(key.py(), |table| {
            table.insert_object(&object, &fyris::pin())
        })
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.take_any(key)?.is_empty() {
            true => Err(dict::missing(key)),
            false => Ok(()),
        }
    }
}

/// Words of `info/1` as str.
fn plain_word<'py>(py: Python<'py>, term: &Term) -> PyResult<Bound<'py, PyAny>> {
    match from_term(py, term)?.cast_into::<crate::values::Atom>() {
        Ok(word) => word.getattr("name"),
        Err(other) => Ok(other.into_inner()),
    }
}

/// The key and the value of an object that is a pair.
pub(crate) fn pair(object: Term, keypos: usize) -> PyResult<(Term, Term)> {
    match object {
        Term::Tuple(parts) if parts.len() == 2 => {
            let [first, second]: [Term; 2] = parts.into_vec().try_into().expect("two parts");
            Ok(if keypos == 1 {
                (first, second)
            } else {
                (second, first)
            })
        }
        other => {
            let arity = if let Term::Tuple(parts) = &other {
                parts.len()
            } else {
                0
            };
            Err(no_pair(arity))
        }
    }
}

/// The error of an object that is no pair.
pub(crate) fn no_pair(arity: usize) -> PyErr {
    BadValue::new_err(format!(
        "an object of {arity} elements has no value for a dictionary: lookup() and objects() return it whole"
    ))
}

/// The value of an object that is a pair.
pub(crate) fn value_of(object: Term, keypos: usize) -> PyResult<Term> {
    pair(object, keypos).map(|(_, value)| value)
}
