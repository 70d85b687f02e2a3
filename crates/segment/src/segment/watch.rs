//! Waiting for a new version.

use std::sync::Arc;
use std::time::Duration;

use super::Segment;
use crate::error::{Error, Result};
use crate::trunk::Trunk;

/// Waits for versions newer than that of a working copy, without needing the [`Segment`]: while one thread sleeps here,
/// another may use the segment. It keeps the trunk mapped, but is not attached to it: the segment keeps nothing for it,
/// and it works also after the [`Segment`] was dropped.
///
/// ```
/// use std::thread;
/// use std::time::Duration;
/// use fyris_segment::{Error, Options, Segment};
///
/// let name = format!("watched-{}", std::process::id());
/// let mut writer = Segment::checkout(&name, 4096, &Options::new())?;
/// let mut reader = Segment::checkout(&name, 0, &Options::new().read_only(true))?; // elsewhere
/// let watcher = reader.watcher();
/// let sleeper = thread::spawn(move || watcher.wait(Some(Duration::from_secs(60))));
///
/// writer.as_mut_slice()[0] = 1;
/// writer.commit()?;
/// assert!(sleeper.join().unwrap()?); // woken by the commit
/// reader.update()?;
/// assert_eq!(reader.as_slice()[0], 1);
/// assert!(!reader.wait(Some(Duration::from_millis(1)))?); // nothing new
/// # Segment::unlink(&name)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Watcher {
    trunk: Arc<Trunk>,
    position: u64,
    after_unlink: bool,
}

impl Watcher {
    /// Sleeps until the trunk has changes that the working copy had not when this watcher was made, or until `timeout`
    /// has passed (`None`: for ever). Returns whether there are such changes: at once, without a system call, if there
    /// are already.
    ///
    /// Sleepers are woken by commits (a futex in the shared file); four times a second each looks by itself, so that it
    /// also sees a commit whose process was killed before it could wake a sleeper. A process that may not write to the
    /// file cannot ask to be woken, and looks two hundred times a second.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// use std::time::Duration;
    ///
    /// let watcher = ours.watcher();
    /// assert!(!watcher.wait(Some(Duration::ZERO))?);
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert!(watcher.wait(None)?); // newer than when the watcher was made
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unlinked`] if there are no such changes, and the segment's name is gone, by whatever means: noticed at
    /// once or with the next look. [`Error::Forked`] in a forked child.
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
        match self.trunk.forked() {
            true => Err(Error::Forked),
            false => self.trunk.wait(self.position, timeout, self.after_unlink),
        }
    }
}

impl Segment {
    /// Returns a watcher, which waits for versions newer than that of the working copy now.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let watcher = theirs.watcher();
    /// let sleeper = std::thread::spawn(move || watcher.wait(None));
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert!(sleeper.join().expect("no panic")?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn watcher(&self) -> Watcher {
        Watcher {
            trunk: Arc::clone(&self.trunk),
            position: self.position,
            after_unlink: self.options.after_unlink,
        }
    }

    /// Sleeps until the trunk has changes that the working copy has not, or until `timeout` has passed (`None`: for
    /// ever). Returns [`Segment::is_behind`]. See [`Watcher::wait`].
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// use std::time::Duration;
    ///
    /// assert!(!theirs.wait(Some(Duration::from_millis(1)))?);
    /// ours.as_mut_slice()[0] = 1;
    /// ours.commit()?;
    /// assert!(theirs.wait(None)? && theirs.is_behind()); // it does not update
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unlinked`], [`Error::Forked`].
    pub fn wait(&self, timeout: Option<Duration>) -> Result<bool> {
        self.watcher().wait(timeout)
    }
}
