//! A file that appears under its name whole, or not at all.
//!
//! OTP deletes what stood under the name and writes in its place, so a full disk or a crash leaves
//! neither the old dump nor the new one. Here the dump is written beside it under a name of its own, and
//! renamed when it is whole; with `sync` only after the disk has it, and the folder is synced too, so
//! that the name does not outlive a power cut without the content.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers the files of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A file on its way; deleted unless [`NewFile::publish`]ed.
pub(super) struct NewFile {
    at: PathBuf,
    to: PathBuf,
    published: bool,
}

impl NewFile {
    /// Opens a new file beside `to`.
    pub(super) fn create(to: &Path) -> io::Result<(NewFile, File)> {
        if to.file_name().is_none() || to.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        loop {
            // Relaxed: only the number counts; it publishes nothing.
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            // Without the name that it will have: that may be as long as a name can be.
            let hidden = format!(".fyris-{}-{number}.tmp", std::process::id());
            let at = to.with_file_name(hidden);
            match OpenOptions::new().write(true).create_new(true).open(&at) {
                Ok(file) => {
                    return Ok((
                        NewFile {
                            at,
                            to: to.into(),
                            published: false,
                        },
                        file,
                    ));
                }
                // Left behind by a process of the same number that died.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Gives the file its name.
    pub(super) fn publish(mut self, file: File, sync: bool) -> io::Result<()> {
        if sync {
            file.sync_all()?;
        }
        // Closing reports nothing in Rust; on file systems that find no space only then, `sync` does.
        drop(file);
        fs::rename(&self.at, &self.to)?;
        self.published = true;
        if sync {
            sync_folder(&self.to)?;
        }
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.published {
            // Nothing can be done about a file that will not go.
            let _ = fs::remove_file(&self.at);
        }
    }
}

fn sync_folder(of: &Path) -> io::Result<()> {
    let folder = match of.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn nothing_is_there_until_all_is() {
        let folder = std::env::temp_dir().join(format!("fyris-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("dump");
        fs::write(&path, "old").unwrap();
        let (new, mut file) = NewFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop((new, file));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let (new, mut file) = NewFile::create(&path).unwrap();
        file.write_all(b"whole").unwrap();
        new.publish(file, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(NewFile::create(&folder).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A name of 255 bytes is fine for a file, but the file on its way used to have a longer one.
    #[test]
    fn a_name_may_be_as_long_as_the_system_allows() {
        let path = std::env::temp_dir().join("n".repeat(255));
        let (new, file) = NewFile::create(&path).unwrap();
        new.publish(file, false).unwrap();
        fs::remove_file(&path).unwrap();
    }
}
