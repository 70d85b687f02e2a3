//! Full verification.

use super::header::Header;
use super::layout::{GROUP, NODE, NODE_HEAD, SLOT, corrupt, place};
use super::node::{Node, head};
use super::{MapResult, pages, seal, tree};

/// The counts that [`View::check`](super::View::check) returns for a map without faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MapReport {
    /// Entries.
    pub entries: u64,
    /// Bytes of all keys and values.
    pub data_bytes: u64,
    /// Levels of the tree, the leaves included.
    pub levels: u32,
    /// Leaves.
    pub leaf_pages: u32,
    /// Inner nodes.
    pub inner_pages: u32,
    /// Pages of long values.
    pub extent_pages: u32,
    /// Pages of the header and of the bitmap.
    pub system_pages: u32,
    /// Free pages.
    pub free_pages: u32,
    /// The longest run of free pages: the next long value may need as many.
    pub longest_free_run: u32,
    /// Bytes in nodes that hold nothing: gaps and dead cells.
    pub slack_bytes: u64,
}

/// Verifies a map.
pub(super) fn check(bytes: &[u8]) -> MapResult<MapReport> {
    let header = Header::read(bytes)?;
    seal::verify(bytes)?;
    let mut check = Check {
        bytes,
        pages: header.pages,
        seen: vec![0; (header.pages as usize).div_ceil(64)],
        report: MapReport {
            levels: header.level + 1,
            ..MapReport::default()
        },
    };
    check.node(header.root, header.level, None, None)?;
    check.counters(&header)?;
    Ok(check.report)
}

struct Check<'a> {
    bytes: &'a [u8],
    pages: u32,
    /// One bit a page, set when the page was met.
    seen: Vec<u64>,
    report: MapReport,
}

impl<'a> Check<'a> {
    /// Notes that a page was met: for the first time, and marked as in use.
    fn meet(&mut self, page: u32) -> MapResult<()> {
        let at = place(page);
        if page >= self.pages || pages::is_system(page) {
            return Err(corrupt(at, "a page that nothing may point to"));
        }
        let (word, bit) = (&mut self.seen[page as usize / 64], 1 << (page % 64));
        if *word & bit != 0 {
            return Err(corrupt(at, "a page that two things point to"));
        }
        *word |= bit;
        match pages::is_used(self.bytes, page)? {
            true => Ok(()),
            false => Err(corrupt(at, "a page in use that is marked free")),
        }
    }

    /// Checks a node and all below. Recursion is as deep as the root's level, at most 31.
    fn node(
        &mut self,
        page: u32,
        level: u32,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> MapResult<()> {
        self.meet(page)?;
        let node = Node::load(self.bytes, page, level)?;
        node.reserved()?;
        self.cells(&node)?;
        self.keys(&node, low, high)?;
        if level == 0 {
            self.report.leaf_pages += 1;
            return self.values(&node);
        }
        self.report.inner_pages += 1;
        self.children(&node, level, low, high)
    }

    /// Checks each child, between the keys around it.
    fn children(
        &mut self,
        node: &Node<'_>,
        level: u32,
        low: Option<&[u8]>,
        high: Option<&[u8]>,
    ) -> MapResult<()> {
        let count = node.count();
        for index in 0..=count {
            let left = if index > 0 {
                Some(node.key(index - 1)?)
            } else {
                low
            };
            let right = if index < count {
                Some(node.key(index)?)
            } else {
                high
            };
            self.node(node.child(index)?, level - 1, left, right)?;
        }
        Ok(())
    }

    /// Checks that the cells fill the node from its end without overlap, together with the dead
    /// bytes.
    fn cells(&mut self, node: &Node<'_>) -> MapResult<()> {
        let mut spans: Vec<(usize, usize)> = (0..node.count())
            .map(|pos| Ok((node.cell_at(pos), node.cell(pos)?.size())))
            .collect::<MapResult<_>>()?;
        spans.sort_unstable();
        let overlap = spans.windows(2).any(|two| two[0].0 + two[0].1 > two[1].0);
        let living: usize = spans.iter().map(|span| span.1).sum();
        let slots_end = NODE_HEAD + node.count() * SLOT;
        let heap = node.heap();
        let first = spans.first().map_or(NODE, |span| span.0);
        match () {
            () if overlap => Err(corrupt(node.at(), "cells that overlap")),
            () if heap < slots_end || heap > first => {
                Err(corrupt(node.at() + 4, "cells in the wrong place"))
            }
            () if heap + living + node.dead() != NODE => {
                Err(corrupt(node.at() + 6, "bytes that are no cell's"))
            }
            () => {
                self.report.slack_bytes += (heap - slots_end + node.dead()) as u64;
                Ok(())
            }
        }
    }

    /// Checks that keys ascend, within the bounds that the parents set, and that each slot has the
    /// head of its key.
    fn keys(&self, node: &Node<'_>, low: Option<&[u8]>, high: Option<&[u8]>) -> MapResult<()> {
        let mut before = None;
        let common = if node.count() > 0 {
            node.key(0)?.get(..node.skip())
        } else {
            None
        };
        for pos in 0..node.count() {
            let at = node.at() + NODE_HEAD + pos * SLOT;
            let key = node.key(pos)?;
            let inside = low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high);
            match () {
                () if before.is_some_and(|before| before >= key) => {
                    return Err(corrupt(at, "keys out of order"));
                }
                () if !inside => return Err(corrupt(at, "a key outside its node's range")),
                () if common.is_none() || key.get(..node.skip()) != common => {
                    return Err(corrupt(at, "a key that begins unlike the others"));
                }
                () if node.head(pos) != head(&key[node.skip()..]) => {
                    return Err(corrupt(at, "another key's head"));
                }
                () => before = Some(key),
            }
        }
        Ok(())
    }

    fn values(&mut self, leaf: &Node<'a>) -> MapResult<()> {
        for pos in 0..leaf.count() {
            let cell = leaf.cell(pos)?;
            let value = tree::value(self.bytes, leaf, &cell)?;
            self.report.entries += 1;
            self.report.data_bytes += (cell.key.len() + value.len()) as u64;
            if let Some((first, count)) = cell.extent() {
                self.report.extent_pages += count;
                (first..first.saturating_add(count)).try_for_each(|page| self.meet(page))?;
            }
        }
        Ok(())
    }

    /// Checks that the header's counters and the bitmap agree with the tree.
    fn counters(&mut self, header: &Header) -> MapResult<()> {
        for page in 0..self.pages {
            let (system, used) = (pages::is_system(page), pages::is_used(self.bytes, page)?);
            let seen = self.seen[page as usize / 64] >> (page % 64) & 1 != 0;
            self.report.system_pages += u32::from(system);
            self.report.free_pages += u32::from(!used);
            match () {
                () if used != (seen || system) => {
                    return Err(corrupt(place(page), "a page that nothing points to"));
                }
                () if !used && page < header.hint => {
                    return Err(corrupt(place(page), "a free page below the hint"));
                }
                () => {}
            }
        }
        let report = &mut self.report;
        report.longest_free_run = pages::longest_run(self.bytes, 0..self.pages)?;
        debug_assert!(report.longest_free_run < GROUP);
        match () {
            () if report.free_pages != header.free => {
                Err(corrupt(28, "another number of free pages"))
            }
            () if report.entries != header.len => Err(corrupt(32, "another number of entries")),
            () => Ok(()),
        }
    }
}
