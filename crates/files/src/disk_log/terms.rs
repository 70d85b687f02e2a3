//! The terms of a log that somebody has left: of one file, or of the files of a wrap log, in the order of writing.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::vec;

use fyris_term::Term;

use super::{LogError, LogReader, Status};
use crate::source::Source;
use crate::{FileError, Inflated};

/// The largest item that is read, in bytes.
const MAX_ITEM: u32 = 512 << 20;
/// Bytes that compressed terms may take beside what the file's length gives.
const MAX_INFLATED: u64 = 64 << 20;
/// Items that do not decode are looked through for others up to as many times the bytes of the file, in all.
const RETRIES: u64 = 16;
/// The beginning of an index: zeros, and the version.
const INDEX_MARK: [u8; 6] = [0, 0, 0, 0, 0, 2];
/// The most files that a wrap log has.
const MAX_FILES: u64 = 65_000;

/// A log in the internal format: a halt log, or a wrap log. Nothing is written to it.
#[derive(Clone, Debug)]
pub struct DiskLog {
    files: Vec<PathBuf>,
    wrap: bool,
}

impl DiskLog {
    /// Finds the files of the log that `disk_log` was given as `{file, path}`: the file of this name, or, if there is
    /// none, those of the wrap log of this name. The index `NAME.idx` of a wrap log, and `NAME.siz`, stand for it, too,
    /// unless they are logs themselves. A file of a wrap log that is missing is told by [`DiskLog::terms`].
    ///
    /// # Errors
    ///
    /// [`FileError`], if there is no such file, no log in it, or an index that does not say which file is the oldest.
    pub fn open(path: impl AsRef<Path>) -> Result<DiskLog, FileError> {
        let path = path.as_ref();
        let of_index = path
            .extension()
            .filter(|ending| *ending == "idx" || *ending == "siz")
            .filter(|_| open(path).is_err())
            .map(|_| path.with_extension(""));
        let name = of_index.as_deref().unwrap_or(path);
        let index = with_ending(name, "idx");
        let log = match of_index.is_some() || (!path.exists() && index.exists()) {
            true => DiskLog {
                files: wrapped(name, &index)?,
                wrap: true,
            },
            false => DiskLog {
                files: vec![path.to_path_buf()],
                wrap: false,
            },
        };
        // What is missing of a wrap log is told by its terms.
        for file in log.files.iter().filter(|file| !log.wrap || file.exists()) {
            open(file)?;
        }
        Ok(log)
    }

    /// Returns the files, the oldest first.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns whether it is a wrap log.
    pub fn is_wrap(&self) -> bool {
        self.wrap
    }

    /// Returns the terms, the oldest first. Takes memory for the largest of them, in bytes and as a term.
    pub fn terms(&self) -> LogTerms {
        LogTerms {
            files: self.files.clone().into_iter(),
            open: None,
            unfinished: false,
        }
    }
}

/// The terms of a log: see [`DiskLog::terms`].
///
/// An item is a term, or what is wrong: after damage ([`FileError::is_damage`]) it goes on with the next item that can
/// be found, after another error with the next file.
pub struct LogTerms {
    files: vec::IntoIter<PathBuf>,
    open: Option<OpenLog>,
    unfinished: bool,
}

struct OpenLog {
    path: PathBuf,
    log: LogReader<File>,
    inflated: Inflated,
    /// Bytes of items that do not decode in which others may still be looked for.
    left: u64,
}

impl LogTerms {
    /// Returns whether a file read so far was not closed: its writer has died, or is still at work. A torn last item
    /// is no surprise there; it is told all the same.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Returns the file and the offset of the term that was returned last.
    pub(crate) fn place(&self) -> (&Path, u64) {
        match &self.open {
            Some(open) => (&open.path, open.log.item().offset),
            None => (Path::new(""), 0),
        }
    }
}

impl Iterator for LogTerms {
    type Item = Result<Term, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(open) = &mut self.open {
                match open.next() {
                    Some(Err(error)) if !error.is_damage() => {
                        self.open = None;
                        return Some(Err(error));
                    }
                    Some(read) => return Some(read),
                    None => self.open = None,
                }
            }
            let path = self.files.next()?;
            match open(&path) {
                Ok(log) => {
                    self.unfinished |= log.status() == Status::Opened;
                    self.open = Some(OpenLog {
                        path,
                        inflated: Inflated::new(MAX_INFLATED),
                        left: log.length().unwrap_or(0).saturating_mul(RETRIES),
                        log,
                    });
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl OpenLog {
    fn next(&mut self) -> Option<Result<Term, FileError>> {
        let (offset, why) = match self.log.advance() {
            Ok(false) => return None,
            Ok(true) => {
                let item = self.log.item();
                let (bytes, offset) = (item.bytes, item.offset);
                let why = match self.inflated.decode(bytes, offset + bytes.len() as u64) {
                    Ok((term, used)) if used == bytes.len() => return Some(Ok(term)),
                    Ok((_, used)) => format!(
                        "{} bytes are behind the term of this item",
                        bytes.len() - used
                    ),
                    Err(error) => format!("this item does not decode: {error}"),
                };
                match self.left.checked_sub(bytes.len() as u64) {
                    Some(left) => self.left = left,
                    None => {
                        let why = format!("{why}; the item is left out as a whole");
                        return Some(Err(FileError::damage(&self.path, offset, why)));
                    }
                }
                self.log.reject();
                (offset, why)
            }
            Err(error) if error.is_damage() => (error.offset(), told(&error)),
            Err(error) => return Some(Err(wrong(&self.path, error))),
        };
        match self.log.resync() {
            Ok(_) => {
                let to = self.log.offset();
                let why = format!("{why}; what is before byte {to} is left out");
                Some(Err(FileError::damage(&self.path, offset, why)))
            }
            Err(error) => Some(Err(wrong(&self.path, error))),
        }
    }
}

/// Returns what is wrong, without the offset.
fn told(error: &LogError) -> String {
    let text = error.to_string();
    match text.split_once(": ") {
        Some((_, what)) => what.to_owned(),
        None => text,
    }
}

fn wrong(path: &Path, error: LogError) -> FileError {
    match error {
        LogError::Io { source, .. } => FileError::read(path, source),
        LogError::NotALog { .. } => FileError::foreign(path, error.to_string()),
        damage => FileError::damage(path, damage.offset(), told(&damage)),
    }
}

fn open(path: &Path) -> Result<LogReader<File>, FileError> {
    let source = Source::open(path)?;
    let length = source.length();
    LogReader::new(source.into_file(), Some(length), MAX_ITEM).map_err(|error| wrong(path, error))
}

/// Returns `NAME.ENDING`.
fn with_ending(name: &Path, ending: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Returns the files of a wrap log, the oldest first.
fn wrapped(name: &Path, index: &Path) -> Result<Vec<PathBuf>, FileError> {
    let source = Source::open(index)?;
    let mut bytes = Vec::new();
    source.read(0, source.length().min(10 + 8 * MAX_FILES), &mut bytes)?;
    let (Some(mark), Some(current)) = (bytes.first_chunk::<6>(), bytes.get(6..10)) else {
        return Err(FileError::foreign(
            index,
            "it is no index of a wrap log: it is too short",
        ));
    };
    if *mark != INDEX_MARK {
        let why = "it is no index of a wrap log that is known here";
        return Err(FileError::foreign(index, why));
    }
    let current = current
        .iter()
        .fold(0, |n, &byte| (n << 8) | u64::from(byte));
    let made = (bytes.len() as u64 - 10) / 8;
    let is_empty = |number: u64| {
        let at = 10 + 8 * (number as usize - 1);
        bytes[at..at + 8] == [0; 8]
    };
    let files: Vec<_> = (current + 1..=made)
        .chain(1..=current.min(made))
        .map(|number| (number, with_ending(name, &number.to_string())))
        .filter(|(number, file)| !is_empty(*number) || file.exists())
        .map(|(_, file)| file)
        .collect();
    let last = with_ending(name, &current.to_string());
    match files.last() == Some(&last) && last.exists() {
        true => Ok(files),
        false => Err(FileError::damage(
            index,
            6,
            format!("the file {} that is written is not there", last.display()),
        )),
    }
}
