//! Files without a name: nothing is left of them however a process ends.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A file in the folder for temporary ones, which goes with the last process that has it open.
#[derive(Debug)]
pub struct Scratch {
    file: File,
}

impl Scratch {
    /// Makes an empty file.
    ///
    /// ```
    /// let scratch = fyris_dthreads_tools::scratch::Scratch::new()?;
    /// std::fs::write(scratch.path(), "text")?;
    /// assert_eq!(std::fs::read(scratch.path())?, b"text");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of making a file.
    pub fn new() -> io::Result<Scratch> {
        let file = tempfile::tempfile()?;
        Ok(Scratch { file })
    }

    /// Returns a path that leads to the file, for this process and others of the same user, while this value lives.
    pub fn path(&self) -> PathBuf {
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        format!("/proc/{process}/fd/{file}").into()
    }
}
