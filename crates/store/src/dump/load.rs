//! Loading a table: `ets:file2tab` and `ets:tabfile_info`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fyris_term::Term;

use super::header::Header;
use super::objects::{Objects, Salvage};
use super::progress::Reporter;
use super::transcode::FlatObject;
use super::{Damage, DumpError, DumpInfo, LoadOptions, Watch, unwatched};
use crate::{Error, Loader, Options, Owner, ProcessId, Store, Table, WriteConcurrency};

/// Bytes that an object takes in a dump at least: the head of an item, then a tuple of one element.
const LEAST_OBJECT: u64 = 12;

/// A table made from a dump.
#[derive(Debug)]
pub struct Loaded {
    /// The table, owned by the caller.
    pub table: Table,
    /// The number of objects that were read. The table may hold fewer, if keys came twice.
    pub objects: u64,
    /// The parts that could not be read; none if the load was verified.
    pub damage: Salvage,
    /// What the writer has said of the elements of the objects ([`SaveOptions::columns`](super::SaveOptions)), as it
    /// stands in the file.
    pub columns: Option<Term>,
}

impl Store {
    /// `file2tab/2`: makes a table for `caller` from a dump that OTP or Fyris wrote. O(n).
    ///
    /// The table is there, under its name if it is a named one, as soon as the description is read; if anything is
    /// wrong with the rest it is deleted again. Memory beyond that of the table is bounded by
    /// [`LoadOptions::max_object`]; what compressed objects take, in the table too, is bounded by the length of the
    /// file and [`LoadOptions::max_inflated`], however little they take in the file. The table has room for the objects
    /// that it is said to have from the beginning, but for no more than the length of the file allows.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().named())?;
    /// use fyris::Atom;
    /// use fyris::dump::{LoadOptions, SaveOptions};
    ///
    /// let file = tempfile::NamedTempFile::new()?;
    /// table.tab2file(file.path(), &SaveOptions::default())?;
    /// let store = owner.store();
    /// let again = LoadOptions::default();
    /// assert!(store.file2tab(owner.id(), file.path(), &again).is_err()); // the name is taken
    /// let renamed = LoadOptions { name: Some(Atom::new("u")?), ..again };
    /// assert_eq!(store.file2tab(owner.id(), file.path(), &renamed)?.table.name().as_str(), "u");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError`] lists them: the file cannot be read, is no dump or is damaged, the table cannot be made, or does
    /// not take an object. Without [`LoadOptions::verify`] damage behind the description is no error, but told in
    /// [`Loaded::damage`].
    pub fn file2tab(
        &self,
        caller: ProcessId,
        path: impl AsRef<Path>,
        options: &LoadOptions,
    ) -> Result<Loaded, DumpError> {
        self.file2tab_watched(caller, path, options, &mut unwatched)
    }

    /// `file2tab/2` ([`Store::file2tab`]) that tells `watch` how far it has come, and ends when `watch` says so.
    ///
    /// # Errors
    ///
    /// [`DumpError`] lists them; [`DumpError::Cancelled`] if `watch` has ended it.
    pub fn file2tab_watched(
        &self,
        caller: ProcessId,
        path: impl AsRef<Path>,
        options: &LoadOptions,
        watch: &mut Watch<'_>,
    ) -> Result<Loaded, DumpError> {
        let path = path.as_ref();
        let (file, length) = open(path)?;
        self.load_dump(caller, file, length, path, options, watch)
    }

    /// Makes a table from a dump in any input, and tells `watch` how far it has come; `path` is for messages, `length`
    /// that of the input in bytes, where known.
    ///
    /// # Errors
    ///
    /// [`DumpError`] lists them; [`DumpError::Cancelled`] if `watch` has ended it.
    pub fn load_dump(
        &self,
        caller: ProcessId,
        input: impl Read,
        length: Option<u64>,
        path: &Path,
        options: &LoadOptions,
        watch: &mut Watch<'_>,
    ) -> Result<Loaded, DumpError> {
        let objects = Objects::new(input, length, path, options)?;
        objects.header().check_version()?;
        let table = self.table_like(caller, objects.header(), objects.length(), options)?;
        let columns = objects.header().get("columns").cloned();
        let unfinished = Unfinished { table, done: false };
        let (objects, damage) = unfinished.load(objects, watch)?;
        Ok(Loaded {
            table: unfinished.finish(),
            objects,
            damage,
            columns,
        })
    }

    /// Makes a table such as the dump describes.
    fn table_like(
        &self,
        caller: ProcessId,
        header: &Header,
        length: Option<u64>,
        options: &LoadOptions,
    ) -> Result<Table, DumpError> {
        let bad = |damage: Damage| DumpError::BadDescription(damage.to_string());
        let info = header.info_but_size().map_err(bad)?;
        let like = like(&info, header).map_err(bad)?;
        let like = like.capacity(capacity(header, length));
        let name = options.name.unwrap_or(info.name);
        let made = match header.get("index") {
            Some(Term::Atom(index)) => {
                self.create(caller, name, &like.clone().index(index.as_str()))
            }
            _ => self.create(caller, name, &like),
        };
        match made {
            // Of another version of Fyris: the table's content matters more than what holds it.
            Err(Error::BadIndex { .. }) => self.create(caller, name, &like),
            made => made,
        }
        .map_err(|error| DumpError::CannotCreateTable(Box::new(error)))
    }
}

impl Owner {
    /// `file2tab/2`: makes a table of this owner's from a dump that OTP or Fyris wrote, as [`Store::file2tab`] says.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// use fyris::dump::{LoadOptions, SaveOptions};
    ///
    /// table.insert(&term!({1, "one"}))?;
    /// let file = tempfile::NamedTempFile::new()?;
    /// table.tab2file(file.path(), &SaveOptions::default())?;
    /// assert_eq!(owner.file2tab(file.path(), &LoadOptions::default())?.objects, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError`] lists them. Without [`LoadOptions::verify`] damage behind the description is no error, but told in
    /// [`Loaded::damage`].
    pub fn file2tab(
        &self,
        path: impl AsRef<Path>,
        options: &LoadOptions,
    ) -> Result<Loaded, DumpError> {
        self.store().file2tab(self.id(), path, options)
    }
}

/// `tabfile_info/1`: returns the description of the table in a dump. Reads no more than the dump's beginning.
///
/// ```
/// # use fyris::{Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::bag())?;
/// use fyris::dump::{SaveOptions, tabfile_info};
///
/// let file = tempfile::NamedTempFile::new()?;
/// table.tab2file(file.path(), &SaveOptions::default())?;
/// assert_eq!(tabfile_info(file.path())?.get("type"), Some(&term!(:bag)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`DumpError`], if the file cannot be read, is no dump, or is damaged up to the end of the description.
pub fn tabfile_info(path: impl AsRef<Path>) -> Result<Header, DumpError> {
    let path = path.as_ref();
    let (file, length) = open(path)?;
    let objects = Objects::new(file, length, path, &LoadOptions::default())?;
    Ok(objects.header().clone())
}

/// Opens the file; returns it and its length, which is known of regular files only.
fn open(path: &Path) -> Result<(File, Option<u64>), DumpError> {
    let wrap = |source| DumpError::Read {
        path: path.to_path_buf(),
        source,
    };
    let file = File::open(path).map_err(wrap)?;
    let metadata = file.metadata().map_err(wrap)?;
    if metadata.is_dir() {
        return Err(wrap(std::io::ErrorKind::IsADirectory.into()));
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok((file, length))
}

/// Returns the number of objects to make room for: as many as the dump says it has, if it is long enough for these.
/// Growing step by step takes a third of the time of a load.
fn capacity(header: &Header, length: Option<u64>) -> usize {
    let said = header.info().map_or(0, |info| info.size);
    let most = length.unwrap_or(0) / LEAST_OBJECT;
    usize::try_from(said.min(most)).unwrap_or(0)
}

/// Returns the options that the dump asks for: those that OTP restores.
fn like(info: &DumpInfo, header: &Header) -> Result<Options, Damage> {
    let writes = match header.get("write_concurrency") {
        Some(Term::Atom(word)) if word.as_str() == "auto" => WriteConcurrency::Auto,
        _ if header.is_on("write_concurrency")? => WriteConcurrency::On,
        _ => WriteConcurrency::Off,
    };
    let mut options = Options::new(info.table_type)
        .protection(info.protection)
        .keypos(info.keypos)
        .write_concurrency(writes)
        .read_concurrency(header.is_on("read_concurrency")?);
    if info.named_table {
        options = options.named();
    }
    if header.is_on("compressed")? {
        options = options.compressed();
    }
    Ok(options)
}

/// A table that goes away again unless all is well in the end.
struct Unfinished {
    table: Table,
    done: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.done {
            // It may be gone already, deleted by another process.
            let _ = self.table.delete();
        }
    }
}

impl Unfinished {
    /// Reads all objects into the table.
    fn load<R: Read>(
        &self,
        mut objects: Objects<'_, R>,
        watch: &mut Watch<'_>,
    ) -> Result<(u64, Salvage), DumpError> {
        let total = objects.header().info().ok().map(|info| info.size);
        let mut reporter = Reporter::new(watch, objects.length(), total);
        let mut loader = self.table.loader();
        while objects.advance()? {
            match loader.record(&FlatObject(objects.object().bytes)) {
                Ok(new) => {
                    let taken = loader.put(new);
                    taken.or_else(|error| objects.unacceptable(error))?;
                }
                Err(_) => slow_object(&mut objects, &mut loader)?,
            }
            reporter.at(objects.offset(), objects.count())?;
        }
        loader.flush()?;
        let count = objects.count();
        reporter.report(objects.offset(), count)?;
        Ok((count, objects.finish()?))
    }

    fn finish(mut self) -> Table {
        self.done = true;
        self.table.clone()
    }
}

/// Inserts an object by way of its term.
#[inline(never)]
fn slow_object<R: Read>(
    objects: &mut Objects<'_, R>,
    loader: &mut Loader<'_>,
) -> Result<(), DumpError> {
    let taken = match objects.decode() {
        Ok(object) => loader.object(&object),
        Err(error) => return objects.undecodable(error),
    };
    taken.or_else(|error| objects.unacceptable(error))
}
