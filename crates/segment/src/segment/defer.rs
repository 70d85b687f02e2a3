//! Bytes whose tracking is put off: what it costs is not paid for pages that are seldom written.

use std::ops::Range;

use crate::copy::without;
use crate::error::{Error, Result};
use crate::options::Placement;
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

    /// Places deferred bytes of `range` at `address` from now on, as [`Options::replace`](crate::Options::replace) does
    /// at the checkout: for memory of which nobody knew then. They are as they were in the working copy. Checkouts by
    /// [`Segment::origin`] place them, too.
    ///
    /// # Safety
    ///
    /// As of [`Options::replace`](crate::Options::replace); the memory that is mapped there now goes.
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for a part of a page, or one that is not deferred or has its place; [`Error::Os`] if the
    /// kernel cannot map or track it.
    ///
    /// ```
    /// use fyris_segment::{Options, PAGE, Segment, Tracking};
    ///
    /// let options = Options::new().max_size(2 * PAGE).tracking(Tracking::Userfault);
    /// let mut ours = Segment::nameless(PAGE, &options)?;
    /// ours.defer(PAGE..2 * PAGE)?;
    /// ours.grow(2 * PAGE)?;
    /// let address = 0x2100_0000_0000;
    /// // SAFETY: nothing is mapped there.
    /// unsafe { ours.place_deferred(PAGE..2 * PAGE, address)? };
    /// ours.track(PAGE..2 * PAGE)?;
    /// // SAFETY: a page is mapped there while the segment lives, and no other code uses it.
    /// unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address).write(7) };
    /// ours.commit()?;
    /// assert_eq!(ours.as_slice()[PAGE], 7);
    /// # Ok::<(), fyris_segment::Error>(())
    /// ```
    pub unsafe fn place_deferred(&mut self, range: Range<usize>, address: usize) -> Result<()> {
        if !without(range.clone(), &self.options.deferred).is_empty() {
            return Err(Error::BadArgument("what is placed later is deferred"));
        }
        let place = Placement {
            range,
            address,
            replace: true,
        };
        let mut options = self.options.clone();
        options.places.push(place.clone());
        options.check_places(self.max_len())?;
        self.copy.place(&place)?;
        self.options = options;
        Ok(())
    }
}
