//! What is wrong with a file, and where.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file cannot be read, or not as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused to open or read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not of the kind that it was opened as, or of a version that is not known here.
    #[error("{}: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A part of it is not as it was written.
    #[error("{}, byte {offset}: {why}", path.display())]
    Damage {
        /// The file.
        path: PathBuf,
        /// The offset of the part in the file, in bytes.
        offset: u64,
        /// What is wrong there, and what is left out for it.
        why: String,
    },
}

impl FileError {
    /// Returns whether the content of the file is wrong in a place, so that what stands behind it may be sound.
    pub fn is_damage(&self) -> bool {
        matches!(self, FileError::Damage { .. })
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        match self {
            FileError::Read { path, .. }
            | FileError::Foreign { path, .. }
            | FileError::Damage { path, .. } => path,
        }
    }

    pub(crate) fn damage(path: &Path, offset: u64, why: impl Into<String>) -> FileError {
        FileError::Damage {
            path: path.to_path_buf(),
            offset,
            why: why.into(),
        }
    }

    pub(crate) fn foreign(path: &Path, why: impl Into<String>) -> FileError {
        FileError::Foreign {
            path: path.to_path_buf(),
            why: why.into(),
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> FileError {
        FileError::Read {
            path: path.to_path_buf(),
            source,
        }
    }
}
