//! Bytes whose tracking is put off: what it costs is not paid for pages that are seldom written.

use std::ops::Range;

use crate::copy::without;
use crate::error::{Error, Result};
use crate::{PAGE, Segment};

impl Segment {
    /// Leaves `range` out, once the segment is as long, until [`Segment::track`]: for bytes that no process writes
    /// until all that look at them have said so. Whole pages, which are not in the segment yet. Neither scans, nor
    /// growth, nor checkouts by [`Segment::origin`], which leave them out as well, take time for them.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] beyond the length that the segment may have, [`Error::BadArgument`] for a part of a page
    /// or one that is there.
    ///
    /// ```
    /// use fyris_segment::{Options, PAGE, Segment};
    ///
    /// let mut ours = Segment::nameless(PAGE, &Options::new().max_size(3 * PAGE))?;
    /// ours.defer(PAGE..2 * PAGE)?;
    /// ours.grow(3 * PAGE)?;
    /// ours.track(PAGE..2 * PAGE)?;
    /// ours.as_mut_slice()[PAGE] = 1;
    /// ours.commit()?;
    /// assert_eq!(ours.origin().checkout()?.as_slice()[PAGE], 1);
    /// # Ok::<(), fyris_segment::Error>(())
    /// ```
    pub fn defer(&mut self, range: Range<usize>) -> Result<()> {
        let len = self.max_len();
        if range.start > range.end || range.end > len {
            return Err(Error::OutOfRange { range, len });
        }
        let (start, end) = (range.start / PAGE, range.end / PAGE);
        if start * PAGE != range.start || end * PAGE != range.end || start < self.pages() {
            return Err(Error::BadArgument(
                "what is deferred is whole pages, behind the segment's end",
            ));
        }
        self.copy.defer(start..end);
        self.options.deferred.push(range);
        Ok(())
    }

    /// Notices writes to deferred bytes of `range` from now on. Whole pages. O(pages).
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for a part of a page, [`Error::Os`] if the kernel cannot track them.
    pub fn track(&mut self, range: Range<usize>) -> Result<()> {
        if !range.start.is_multiple_of(PAGE) || !range.end.is_multiple_of(PAGE) {
            return Err(Error::BadArgument("what is tracked is whole pages"));
        }
        let all = std::mem::take(&mut self.options.deferred).into_iter();
        let rest = all.flat_map(|hole| without(hole, std::slice::from_ref(&range)));
        self.options.deferred = rest.collect();
        let pages = range.start / PAGE..range.end / PAGE;
        self.copy.track(pages, self.size.div_ceil(PAGE))
    }
}
