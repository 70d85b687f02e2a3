//! Saving a table: `ets:tab2file`.

use std::io::{self, Seek, Write};
use std::path::Path;

use fyris_files::disk_log::LogWriter;
use fyris_sync::reclaim::pin;
use fyris_term::Term;
use fyris_term::etf::EncodeOptions;
use md5::{Digest, Md5};

use super::file::NewFile;
use super::header::{describe, pair};
use super::progress::Reporter;
use super::{DumpError, SaveOptions, Watch, unwatched};
use crate::{Cursor, Info, InfoValue, Object, Table};

impl Table {
    /// `tab2file/3`: writes the table to a file that OTP reads with `ets:file2tab`, and Fyris with
    /// [`Store::file2tab`](crate::Store::file2tab). Returns the number of objects written. O(n).
    ///
    /// The file takes its name when it is whole: whatever goes wrong, the file that stood there before stays. A file
    /// that is replaced passes its owner, permissions and access control list on; a symbolic link is followed.
    ///
    /// # Consistency
    ///
    /// As a [`Cursor`]: an object that is there throughout is written exactly once.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// use fyris::dump::{LoadOptions, SaveOptions};
    ///
    /// table.insert(&term!({1, "one"}))?;
    /// let file = tempfile::NamedTempFile::new()?; // is replaced, when all is written
    /// assert_eq!(table.tab2file(file.path(), &SaveOptions::default())?, 1);
    /// let loaded = owner.file2tab(file.path(), &LoadOptions::verified())?;
    /// assert_eq!(loaded.table.tab2list()?, table.tab2list()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError::Table`] (table gone, no right to read), [`DumpError::Write`], [`DumpError::CannotReplace`] (a
    /// read-only file, a folder, a named pipe, a device, or an owner that cannot be kept), [`DumpError::Encode`].
    pub fn tab2file(
        &self,
        path: impl AsRef<Path>,
        options: &SaveOptions,
    ) -> Result<u64, DumpError> {
        self.tab2file_watched(path, options, &mut unwatched)
    }

    /// `tab2file/3` ([`Table::tab2file`]) that tells `watch` how far it has come, and ends when `watch` says so.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// use fyris::dump::{DumpError, SaveOptions};
    /// use std::ops::ControlFlow;
    ///
    /// table.insert(&term!({1, "one"}))?;
    /// let path = tempfile::tempdir()?.path().join("t.ets");
    /// let stop = &mut |_: &_| ControlFlow::Break(());
    /// let saved = table.tab2file_watched(&path, &SaveOptions::default(), stop);
    /// assert!(saved.is_err() && !path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`DumpError::Table`], [`DumpError::Write`], [`DumpError::CannotReplace`], [`DumpError::Encode`];
    /// [`DumpError::Cancelled`] if `watch` has ended it.
    pub fn tab2file_watched(
        &self,
        path: impl AsRef<Path>,
        options: &SaveOptions,
        watch: &mut Watch<'_>,
    ) -> Result<u64, DumpError> {
        let path = path.as_ref();
        let failed = |source| refused(path, source);
        // Before a file is touched, so that a table that is gone leaves no trace.
        let table = self.at_one_moment()?;
        let info = table.info().ok_or_else(|| self.shared().gone())?;
        let (new, file) = NewFile::create(path).map_err(failed)?;
        let mut saving = Saving::new(&file, path, options);
        let count = saving.table(&table, &info, options, watch)?;
        saving.finish()?;
        new.publish(file, options.sync).map_err(failed)?;
        Ok(count)
    }
}

/// Returns the error of a file that cannot be made or take its name. A file that is there and cannot be replaced has
/// an error of its own.
fn refused(path: &Path, source: io::Error) -> DumpError {
    let path = path.to_path_buf();
    match path.symlink_metadata() {
        Ok(_) => DumpError::CannotReplace { path, source },
        Err(_) => DumpError::Write { path, source },
    }
}

/// A dump being written.
struct Saving<'p, W> {
    log: LogWriter<W>,
    path: &'p Path,
    sum: Option<Md5>,
}

impl<'p, W: Write + Seek> Saving<'p, W> {
    fn new(out: W, path: &'p Path, options: &SaveOptions) -> Self {
        Saving {
            log: LogWriter::new(out),
            path,
            sum: options.md5sum.then(Md5::new),
        }
    }

    /// Writes the description, the objects and the end mark. Returns the number of objects.
    fn table(
        &mut self,
        table: &Table,
        info: &Info,
        options: &SaveOptions,
        watch: &mut Watch<'_>,
    ) -> Result<u64, DumpError> {
        self.term(&describe(items(info, options), options.extended_info()))?;
        let mut reporter = Reporter::new(watch, None, Some(info.size as u64));
        let count = self.objects(table, &mut reporter)?;
        let mut end = Vec::new();
        if options.object_count {
            end.push(pair("count", Term::integer(count)));
        }
        if let Some(sum) = self.sum.take() {
            let sum: [u8; 16] = sum.finalize().into();
            end.push(pair("md5", Term::binary(sum)));
        }
        if !end.is_empty() {
            self.term(&Term::list(vec![
                Term::atom("$end_of_table"),
                Term::list(end),
            ]))?;
        }
        reporter.report(self.log.offset(), count)?;
        Ok(count)
    }

    fn objects(
        &mut self,
        table: &Table,
        reporter: &mut Reporter<'_, '_>,
    ) -> Result<u64, DumpError> {
        let mut cursor = Cursor::new();
        let mut count = 0;
        loop {
            // One pin a batch: a dump may take long, and a pin holds up what others delete.
            let pin = pin();
            let mut batch: Vec<Object<'_>> = Vec::new();
            if !cursor.next_batch(table, &pin, &mut batch)? && batch.is_empty() {
                return Ok(count);
            }
            for object in &batch {
                self.term(&object.to_term())?;
                count += 1;
            }
            drop(batch);
            drop(pin);
            reporter.at(self.log.offset(), count)?;
        }
    }

    /// Writes a term as an item.
    fn term(&mut self, term: &Term) -> Result<(), DumpError> {
        let sum = &mut self.sum;
        // The spellings of OTP 25, which older and newer systems read, too.
        let written = self.log.item(
            |buf| EncodeOptions::otp25().encode_into(term, buf),
            |payload| {
                if let Some(sum) = sum {
                    sum.update(payload);
                }
            },
        );
        written
            .map_err(|error| DumpError::writing(self.path, error))?
            .map_err(|error| DumpError::Encode(error.to_string()))
    }

    fn finish(self) -> Result<(), DumpError> {
        let finished = self.log.finish();
        finished
            .map(drop)
            .map_err(|error| DumpError::writing(self.path, error))
    }
}

/// Returns the description of the table: the items of `ets:info/1` that mean something in another process, and two that
/// OTP passes over: the index that Fyris holds it in, and the writer's columns. A library is none of this: to read a
/// file loads no code.
fn items(info: &Info, options: &SaveOptions) -> Vec<Term> {
    let items = info
        .items()
        .into_iter()
        .filter_map(|(name, value)| match value {
            InfoValue::Term(value) => Some(pair(name, value)),
            _ => None,
        });
    let index = (!info.library_index).then(|| pair("index", Term::atom(info.index)));
    let columns = options.columns.clone();
    let columns = columns.map(|columns| pair("columns", columns));
    items.chain(index).chain(columns).collect()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor as Memory, SeekFrom};

    use super::*;
    use crate::{Options, Store};

    /// Takes a number of bytes and then finds the disk full.
    struct Full(Memory<Vec<u8>>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.1.checked_sub(bytes.len()) {
                None => Err(io::Error::from_raw_os_error(28)),
                Some(left) => {
                    self.1 = left;
                    self.0.write(bytes)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Full {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn a_full_disk_is_an_error_wherever_it_fills() {
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        for i in 0..40_000 {
            table
                .insert(&Term::tuple(vec![Term::Int(i), Term::binary(vec![1; 20])]))
                .unwrap();
        }
        let options = SaveOptions {
            object_count: true,
            md5sum: true,
            ..SaveOptions::default()
        };
        let info = table.info().unwrap();
        let save = |room| {
            let full = Full(Memory::new(Vec::new()), room);
            let mut saving = Saving::new(full, Path::new("/full"), &options);
            saving.table(&table, &info, &options, &mut unwatched)?;
            saving.finish()
        };
        for room in [0, 300_000, 1_000_000] {
            let error = save(room).unwrap_err();
            let DumpError::Write { source, .. } = &error else {
                panic!("{error}")
            };
            assert_eq!(super::super::posix::name(source), "enospc");
        }
        save(usize::MAX).unwrap();
    }
}
