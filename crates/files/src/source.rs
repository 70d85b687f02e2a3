//! A file that is read in places.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::FileError;

/// A regular file and its length when it was opened.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Source {
    pub(crate) fn open(path: &Path) -> Result<Source, FileError> {
        let wrap = |source| FileError::read(path, source);
        let file = File::open(path).map_err(wrap)?;
        let metadata = file.metadata().map_err(wrap)?;
        if metadata.is_dir() {
            return Err(wrap(std::io::ErrorKind::IsADirectory.into()));
        }
        if !metadata.is_file() {
            return Err(FileError::foreign(path, "it is not a regular file"));
        }
        Ok(Source {
            file,
            path: path.to_path_buf(),
            length: metadata.len(),
        })
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn damage(&self, offset: u64, why: impl Into<String>) -> FileError {
        FileError::damage(&self.path, offset, why)
    }

    /// Fills `buf` with the `count` bytes at `offset`; no memory is taken for what lies beyond the end of the file.
    pub(crate) fn read(&self, offset: u64, count: u64, buf: &mut Vec<u8>) -> Result<(), FileError> {
        if offset
            .checked_add(count)
            .is_none_or(|end| end > self.length)
        {
            let end = self.length;
            let why = format!("the file ends at {end}, within the {count} bytes that begin here");
            return Err(self.damage(offset, why));
        }
        let wrap = |source| FileError::read(&self.path, source);
        (&self.file).seek(SeekFrom::Start(offset)).map_err(wrap)?;
        buf.clear();
        buf.reserve_exact(count as usize);
        let got = (&self.file).take(count).read_to_end(buf).map_err(wrap)?;
        match got as u64 == count {
            true => Ok(()),
            false => Err(wrap(std::io::ErrorKind::UnexpectedEof.into())),
        }
    }
}
