//! A set of pages, quick to ask and to empty.

/// A set of page numbers: bits to ask, a list to walk and to empty.
#[derive(Debug, Default)]
pub(crate) struct PageSet {
    bits: Vec<u64>,
    list: Vec<u32>,
}

impl PageSet {
    /// Makes an empty set for page numbers below `pages`.
    pub(crate) fn new(pages: usize) -> PageSet {
        PageSet {
            bits: vec![0; pages.div_ceil(64)],
            list: Vec::new(),
        }
    }

    /// Returns whether `page` is in it.
    #[inline]
    pub(crate) fn has(&self, page: usize) -> bool {
        self.bits[page / 64] >> (page % 64) & 1 == 1
    }

    /// Adds `page`.
    #[inline]
    pub(crate) fn insert(&mut self, page: usize) {
        if !self.has(page) {
            self.bits[page / 64] |= 1 << (page % 64);
            self.list.push(page as u32);
        }
    }

    /// Returns the pages, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.list.iter().copied()
    }

    /// Returns the number of pages.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Removes all.
    pub(crate) fn clear(&mut self) {
        self.retain(|_| false);
    }

    /// Removes those for which `keep` is false.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let bits = &mut self.bits;
        self.list.retain(|&page| {
            let stays = keep(page);
            if !stays {
                bits[page as usize / 64] &= !(1 << (page % 64));
            }
            stays
        });
    }
}
