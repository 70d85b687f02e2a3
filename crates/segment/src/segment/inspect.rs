//! Looking at changes, and taking them back.

use std::collections::HashSet;
use std::ops::Range;

use super::Segment;
use super::update::Policy;
use super::window::{add_ranges, push_range};
use crate::PAGE;
use crate::error::{Error, Result};
use crate::words::{self, load, store};

impl Segment {
    /// Takes the local changes back: the working copy is at its version again. If this process was
    /// evicted ([`Error::BaseLost`]) it is at the trunk's newest. Private bytes
    /// ([`Options::private`](crate::Options::private)) stay. O(pages written).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[0] = 1;
    /// ours.discard()?;
    /// assert_eq!(ours.as_slice()[0], 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`], [`Error::Corrupt`], [`Error::Forked`].
    pub fn discard(&mut self) -> Result<()> {
        self.check_writable()?;
        self.check_between()?;
        let candidates = self.candidates()?;
        for &page in &candidates {
            let private = self.private_values(page);
            let page = page as usize;
            let base = self.trunk.frame(self.base[page])?;
            // SAFETY: pages by `frame` and `page`.
            unsafe { words::copy(base, self.copy.page(page), [base; 2]) };
            self.put_private(page, &private);
        }
        if self.keeps() {
            self.copy.discarded();
            self.settled();
            return Ok(());
        }
        candidates
            .iter()
            .for_each(|&page| self.copy.mark(page as usize));
        let at = self.position;
        self.start_over(&mut Policy::Discard, &HashSet::new(), at)?;
        self.settled();
        Ok(())
    }

    /// Returns the words of a page that are private in part: the index, the mask of the private bits, and the value of
    /// each.
    fn private_values(&self, page: u32) -> Vec<(u16, u64, u64)> {
        let local = self.copy.page(page as usize);
        let here = self.private_words.iter().filter(|word| word.0 == page);
        // SAFETY: a page by `page`; private words are below WORDS.
        here.map(|&(_, word, bits)| (word, bits, unsafe { load(local, word.into()) }))
            .collect()
    }

    /// Puts private bits back.
    fn put_private(&self, page: usize, values: &[(u16, u64, u64)]) {
        let local = self.copy.page(page);
        for &(word, bits, value) in values {
            let word = usize::from(word);
            // SAFETY: as in `private_values`.
            unsafe { store(local, word, load(local, word) & !bits | value & bits) };
        }
    }

    /// Returns the byte ranges, whole units, ascending, where the working copy differs from its version.
    /// O(pages written).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[9] = 1;
    /// ours.as_mut_slice()[100] = 0; // as it was
    /// assert_eq!(ours.diff()?, [8..16]); // whole units
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BaseLost`] if the version is gone because this process was evicted: the ranges are the pages
    /// that may differ. [`Error::Corrupt`], [`Error::Forked`].
    pub fn diff(&mut self) -> Result<Vec<Range<usize>>> {
        self.check()?;
        let mut pages = self.candidates()?;
        pages.sort_unstable();
        let mut ranges = Vec::new();
        for &page in &pages {
            self.diff_page(page as usize, &mut ranges)?;
        }
        if self.keeps() {
            return Ok(ranges);
        }
        let mut ranges = Vec::new();
        for page in pages {
            push_range(
                &mut ranges,
                page as usize * PAGE..(page as usize + 1) * PAGE,
            );
        }
        Err(Error::BaseLost { ranges })
    }

    fn diff_page(&self, page: usize, ranges: &mut Vec<Range<usize>>) -> Result<()> {
        let (local, base) = (self.copy.page(page), self.trunk.frame(self.base[page])?);
        let private = |word: usize| {
            let of_word = |p: &&(u32, u16, u64)| p.0 as usize == page && usize::from(p.1) == word;
            self.private_words
                .iter()
                .filter(of_word)
                .fold(0, |bits, p| bits | p.2)
        };
        // SAFETY: pages by `page` and `frame`; a mask has bits below WORDS only.
        let differing = unsafe { words::diff(local, base) }.iter().map(|word| {
            // SAFETY: as above.
            let difference = unsafe { load(local, word) ^ load(base, word) };
            (word, difference & !private(word))
        });
        add_ranges(ranges, self.units(), page, differing);
        Ok(())
    }

    fn candidates(&mut self) -> Result<Vec<u32>> {
        let mut candidates = Vec::new();
        self.copy.collect(&mut candidates)?;
        // A scan protects: the pages that it found must stay known.
        candidates
            .iter()
            .for_each(|&page| self.copy.mark(page as usize));
        Ok(candidates)
    }

    /// Returns the byte ranges that the trunk has changed since the working copy's version: whole words or units,
    /// whichever is larger, ascending; whole pages if this process lags by more than the log, or may not write to the
    /// file. No system call. O(pages changed).
    ///
    /// ```
    /// # use fyris_segment::{Error, Options, Segment};
    /// # let mut ours = Segment::nameless(4096, &Options::new())?;
    /// # let mut theirs = ours.origin().checkout()?;
    /// ours.as_mut_slice()[9] = 1;
    /// ours.commit()?;
    /// assert_eq!(theirs.incoming()?, [8..16]);
    /// assert_eq!(theirs.as_slice()[9], 0); // only looked at
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Corrupt`], [`Error::Forked`].
    pub fn incoming(&mut self) -> Result<Vec<Range<usize>>> {
        self.check()?;
        let (from, to) = (self.position, self.trunk.position());
        let log = self.trunk.ring().len as u64;
        if to == from {
            return Ok(Vec::new());
        }
        let near = self.trunk.writable && to >= from && to - from <= log;
        if near && self.trunk.holds(self.slot, from) {
            let read = self
                .window
                .read(&self.trunk, from..to, &self.base, &self.copy);
            if self.trunk.holds(self.slot, from) {
                read?;
                return Ok(self.window_ranges());
            }
        }
        let mut ranges = Vec::new();
        for page in 0..self.trunk.pages()? {
            if self.trunk.head(page)?.1 > from {
                push_range(&mut ranges, page * PAGE..(page + 1) * PAGE);
            }
        }
        Ok(ranges)
    }

    fn window_ranges(&self) -> Vec<Range<usize>> {
        let mut changes: Vec<_> = self.window.changes.iter().collect();
        changes.sort_unstable_by_key(|change| change.page);
        let mut ranges = Vec::new();
        for change in changes {
            for word in self.window.mask(change.words).iter() {
                let at = change.page as usize * PAGE + word * 8;
                push_range(&mut ranges, at..at + 8);
            }
        }
        ranges
    }
}
