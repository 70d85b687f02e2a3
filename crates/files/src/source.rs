//! A file that is read in places.

use std::fs::{File, Metadata};
use std::io::ErrorKind;
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
        // To open a pipe waits for its writer.
        regular(path, &path.metadata().map_err(wrap)?)?;
        let file = File::open(path).map_err(wrap)?;
        let metadata = file.metadata().map_err(wrap)?;
        regular(path, &metadata)?;
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
        buf.clear();
        buf.resize(count as usize, 0);
        let mut done = 0;
        while done < buf.len() {
            match read_at(&self.file, &mut buf[done..], offset + done as u64) {
                Ok(0) => return Err(wrap(ErrorKind::UnexpectedEof.into())),
                Ok(more) => done += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(wrap(error)),
            }
        }
        Ok(())
    }
}

/// Refuses what is no regular file.
fn regular(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(FileError::read(path, ErrorKind::IsADirectory.into())),
        _ => Err(FileError::foreign(path, "it is not a regular file")),
    }
}

/// Reads at a place that is not shared with other readers of the file.
#[cfg(unix)]
fn read_at(file: &File, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}
