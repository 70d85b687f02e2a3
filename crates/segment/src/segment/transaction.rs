//! Transactions: a change of the latest version, committed as one step.

use std::ops::{Deref, Index, IndexMut, Range};
use std::slice::SliceIndex;
use std::thread;
use std::time::Duration;

use super::update::Updated;
use super::{Segment, Written};
use crate::PAGE;
use crate::error::{Error, Result};

/// The working copy within [`Segment::transaction`], as words of eight bytes: it reads as a slice, and `words[i]`,
/// `words[a..b]` can be written to. With [`Tracking::Declared`](crate::Tracking::Declared) writing through it declares
/// the write.
///
/// Bytes behind the last whole word are reached by [`Words::bytes_mut`] only.
///
/// ```
/// # use fyris_segment::{Error, Options, Segment};
/// # let mut ours = Segment::nameless(4096, &Options::new())?;
/// # let mut theirs = ours.origin().checkout()?;
/// ours.transaction(|words| {
///     words[0] = 0x0807;
///     words.bytes_mut(8..10)?.fill(9);
///     assert_eq!(words.bytes()[..2], [7, 8]);
///     Ok::<_, Error>(())
/// })?;
/// assert_eq!(ours.as_slice()[9], 9);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Words<'a>(&'a mut Segment);

impl Words<'_> {
    fn words(&self) -> &[u64] {
        let bytes = self.0.as_slice();
        // SAFETY: the working copy begins at a page, so its words are aligned, and any bits are a `u64`.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / 8) }
    }

    /// Returns the working copy as bytes.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let first = ours.transaction(|words| Ok::<_, Error>(words.bytes()[0]))?;
    /// assert_eq!(first, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Returns bytes to write to.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// let written = ours.transaction(|words| {
    ///     words.bytes_mut(0..2)?.fill(1);
    ///     words.bytes_mut(4095..4097).map(|_| ()) // beyond the end: the whole is taken back
    /// });
    /// assert!(matches!(written, Err(Error::OutOfRange { .. })));
    /// assert_eq!(ours.as_slice()[0], 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`].
    pub fn bytes_mut(&mut self, range: Range<usize>) -> Result<&mut [u8]> {
        let pages = self.0.pages_of(&range)?;
        self.0.copy.declare(pages);
        Ok(&mut self.0.slice_mut()[range])
    }
}

impl Deref for Words<'_> {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.words()
    }
}

impl<I: SliceIndex<[u64]>> Index<I> for Words<'_> {
    type Output = I::Output;

    fn index(&self, index: I) -> &I::Output {
        &self.words()[index]
    }
}

impl<I: SliceIndex<[u64]>> IndexMut<I> for Words<'_> {
    fn index_mut(&mut self, index: I) -> &mut I::Output {
        let start = self.0.as_ptr().addr();
        let bytes = self.0.slice_mut();
        // SAFETY: as in `words`; by its parts, so that pages can be declared beside it.
        let words = unsafe {
            std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast::<u64>(), bytes.len() / 8)
        };
        let found = &mut words[index];
        let (at, len) = ((&raw const *found).addr() - start, size_of_val(found));
        self.0.copy.declare(at / PAGE..(at + len).div_ceil(PAGE));
        found
    }
}

/// Takes the changes back unless they were committed, also when a closure panics.
struct Undo<'a>(&'a mut Segment, bool);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if self.1 {
            // If this fails the changes stay, and the next transaction says so.
            let _ = self.0.discard();
        }
    }
}

impl Segment {
    /// Begins a transaction: brings the working copy, in which nothing may be uncommitted, to the trunk's latest
    /// version. Then change it and [`commit`](Segment::commit), which is [`Error::Behind`] if another process was
    /// faster: take the changes back ([`discard`](Segment::discard)) and begin again. That is what
    /// [`Segment::transaction`] does; this is for programs that cannot give it a closure. Costs what an update does; if
    /// the working copy may have been written to since the last commit (through [`Segment::as_mut_slice`], or any time
    /// if [`Segment::as_mut_ptr`] was ever called), also what [`Segment::diff`] does.
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.begin()?;
    /// ours.as_mut_slice()[0] += 1;
    /// assert!(matches!(ours.begin(), Err(Error::Uncommitted)));
    /// ours.commit()?; // if it is `Error::Behind`: discard, and begin again
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Uncommitted`]: commit or discard first; [`Error::BaseLost`] if it cannot be told whether anything is
    /// uncommitted, since this process lagged too far: discard first; [`Error::ReadOnly`]; the others of
    /// [`Segment::update`].
    pub fn begin(&mut self) -> Result<Updated> {
        self.check_writable()?;
        self.check_between()?;
        self.check_settled()?;
        let updated = match self.update() {
            // Pages that were written to before count as written again, see `copy`: these are not.
            Err(Error::BaseLost { .. }) => {
                self.discard()?;
                self.update()
            }
            done => done,
        }?;
        // By whatever means: a transaction that was left without a commit or a discard is seen by the next.
        if self.written == Written::No {
            self.written = Written::Perhaps;
        }
        Ok(updated)
    }

    /// Returns [`Error::Uncommitted`] if there are changes that were neither committed nor discarded.
    pub(crate) fn check_settled(&mut self) -> Result<()> {
        match self.options.is_read_only() || self.written == Written::No || self.is_clean()? {
            true => Ok(()),
            false => Err(Error::Uncommitted),
        }
    }

    /// Returns whether nothing is uncommitted, by a look at every page that may have been written to.
    fn is_clean(&mut self) -> Result<bool> {
        match self.diff() {
            Ok(ranges) => Ok(ranges.is_empty()),
            // Lagged so far that the base is gone, but no page was written to.
            Err(Error::BaseLost { ranges }) if ranges.is_empty() => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Changes the segment by a closure, on the latest version, as one step: others see all of it or nothing. The
    /// closure runs again, on a newer version, whenever another process committed anything meanwhile; so all that it
    /// does beside must bear repetition. Transactions are serializable: each sees what all before it have committed. If
    /// the closure fails or panics, or the commit does, nothing of it remains.
    ///
    /// Each time that a transaction must begin again another process has committed; short closures are seldom
    /// overtaken. Changes of *different* units need no transaction: [`Segment::commit_merge`] merges them without a
    /// repetition.
    ///
    /// ```
    /// use fyris_segment::{Error, Options, Segment};
    ///
    /// let name = format!("account-{}", std::process::id());
    /// let mut segment = Segment::checkout(&name, 4096, &Options::new())?;
    /// segment.transaction(|words| {
    ///     words[0] += 100;
    ///     Ok::<_, Error>(())
    /// })?;
    /// let moved = segment.transaction(|words| {
    ///     let all = words[0];
    ///     words[1] += all;
    ///     words[0] = 0;
    ///     Ok::<_, Error>(all)
    /// })?;
    /// assert_eq!((moved, segment.version()), (100, 2));
    /// # Segment::unlink(&name)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The closure's; those of [`Segment::begin`]; those of [`Segment::commit`], but never [`Error::Behind`].
    pub fn transaction<T, E: From<Error>>(
        &mut self,
        mut change: impl FnMut(&mut Words<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        for lost in 0.. {
            // On the latest version, with nothing uncommitted, the closure runs. If it
            // * fails or panics, or the commit fails: its changes are taken back (`Undo`);
            // * has run, and no other process has committed since: its commit is the next, so it has seen what all
            //   before it have committed;
            // * has run, and another process was first: the changes are taken back, others may pass, and it runs again.
            //   So each repetition has a commit of another process behind it.
            self.begin()?;
            let mut undo = Undo(self, true);
            let value = change(&mut Words(undo.0))?;
            if undo.0.commit_first()? {
                undo.1 = false;
                return Ok(value);
            }
            drop(undo);
            let_others_pass(lost);
        }
        unreachable!("lost more often than a number can say")
    }

    /// Commits; returns false if another process was faster.
    fn commit_first(&mut self) -> Result<bool> {
        match self.commit() {
            Err(Error::Behind { .. }) if cfg!(fyris_mutant = "segment_transaction_merges") => {
                self.commit_merge().map(|_| true)
            }
            Err(Error::Behind { .. }) => Ok(false),
            done => done.map(|_| true),
        }
    }
}

/// Transactions of bindings, whose callers have no `&mut` that keeps them from a second call.
impl Segment {
    /// Begins a transaction as [`Segment::begin`]. Until [`Segment::end_change`] the copy can be read and written to,
    /// and the segment can grow; updates, commits and discards are [`Error::Busy`], as is another change.
    #[doc(hidden)]
    pub fn begin_change(&mut self) -> Result<Updated> {
        let updated = self.begin()?;
        self.changing = true;
        Ok(updated)
    }

    /// Ends it: commits, if the changes are to be kept, and returns the version. `None`: they were taken back, also
    /// because another process was faster.
    #[doc(hidden)]
    pub fn end_change(&mut self, keep: bool) -> Result<Option<u64>> {
        self.changing = false;
        let committed = match keep {
            true => self.commit_first(),
            false => Ok(false),
        };
        if let Ok(true) = committed {
            return Ok(Some(self.version));
        }
        let undone = self.discard();
        committed?;
        undone.map(|()| None)
    }

    /// Begins a change of a map, which was updated.
    pub(crate) fn set_changing(&mut self, on: bool) {
        self.changing = on;
    }
}

/// Lets other writers pass, longer each time: for bindings that repeat transactions by hand.
#[doc(hidden)]
pub fn let_others_pass(lost: u32) {
    match lost {
        0..4 => thread::yield_now(),
        _ => thread::sleep(Duration::from_micros(50 * u64::from(lost.min(20)))),
    }
}
