//! The addresses of pages of the user's view: most often in one piece, else in the pieces that were placed.

use std::ops::Range;

use super::runs;
use crate::PAGE;

/// Pages that are next to each other in the address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) pages: Range<usize>,
    /// The address of the first.
    pub(crate) at: usize,
}

impl Span {
    /// Returns the address behind the last page.
    pub(crate) fn end(&self) -> usize {
        self.at + self.pages.len() * PAGE
    }

    /// Returns the page at an address inside.
    pub(crate) fn page_at(&self, address: usize) -> usize {
        self.pages.start + (address - self.at) / PAGE
    }

    /// Returns whether all of another span is in this one.
    pub(crate) fn holds(&self, other: &Span) -> bool {
        self.part(&other.pages).is_some_and(|part| part == *other)
    }

    /// Returns its part of `pages`, if it has any.
    pub(crate) fn part(&self, pages: &Range<usize>) -> Option<Span> {
        let start = self.pages.start.max(pages.start);
        let end = self.pages.end.min(pages.end);
        (start < end).then(|| Span {
            at: self.at + (start - self.pages.start) * PAGE,
            pages: start..end,
        })
    }
}

/// Returns the spans of ascending pages, in pieces.
pub(super) fn spans_of<'a>(spans: &'a [Span], pages: &'a [u32]) -> impl Iterator<Item = Span> + 'a {
    runs(pages).flat_map(|run| spans.iter().filter_map(move |span| span.part(&run)))
}
