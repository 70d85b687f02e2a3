//! The state of a scan between its steps.

use fyris_sync::reclaim::Pin;

use super::view::View;
use crate::ops::Span;
use crate::record::{Object, RecordPtr, object};

/// Objects read in one batch: their records are asked for together, and are still near when their turn comes.
pub(super) const BATCH: usize = 256;

/// How many objects ahead of the one that is looked at the values are asked for: a walk has asked for the line where a record
/// begins, and the values of one with a key of some length are often on the next.
const AHEAD: usize = 8;

/// A stretch of a table that a scan has to visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// One key, as bytes.
    Key(Vec<u8>),
    /// All keys of a span.
    Span(Span),
}

/// What is left of a scan: keys, and nothing that belongs to the table or to a thread.
///
/// An object that is there from the first step to the last is visited exactly once.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// The nearest part is the last.
    parts: Vec<Part>,
    back: bool,
    ordered: bool,
    keypos: usize,
    visited: u64,
}

impl Scan {
    /// A scan of disjoint parts in ascending order; with `back` they are visited from the end. `ordered` tells that
    /// objects come in the order of keys, so that the scan may stop behind any of them.
    pub(crate) fn new(mut parts: Vec<Part>, back: bool, ordered: bool, keypos: usize) -> Scan {
        let back = back && ordered;
        if !back {
            parts.reverse();
        }
        Scan {
            parts,
            back,
            ordered,
            keypos,
            visited: 0,
        }
    }

    /// Whether everything was visited.
    pub(crate) fn is_done(&self) -> bool {
        self.parts.is_empty()
    }

    /// Objects visited so far.
    pub(crate) fn visited(&self) -> u64 {
        self.visited
    }

    /// Whether it goes down.
    pub(crate) fn is_back(&self) -> bool {
        self.back
    }

    /// Whether it may stop behind any object.
    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// What is left, in ascending order.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut parts = self.parts.clone();
        if !self.back {
            parts.reverse();
        }
        parts
    }

    /// A scan of the same kind of other parts, in ascending order.
    pub(crate) fn of(&self, parts: Vec<Part>) -> Scan {
        Scan::new(parts, self.back, self.ordered, self.keypos)
    }

    /// The same at its end, having visited so many objects more.
    pub(crate) fn ended(&self, visited: u64) -> Scan {
        Scan {
            visited: self.visited + visited,
            ..self.of(Vec::new())
        }
    }

    /// Visits about `want` objects (in a bag: the objects of so many keys), `batch` at a time; more only to the end of a
    /// bucket; fewer if `f`
    /// says `true`: then, in an ordered table, the object it said so of is the last, and elsewhere the batch under
    /// way is.
    pub(crate) fn step<'g>(
        &mut self,
        view: &impl View,
        (want, batch): (usize, usize),
        pin: &'g impl Pin,
        mut f: impl FnMut(Object<'g>) -> bool,
    ) {
        let mut records = Vec::new();
        let mut left = want.max(1);
        while left > 0
            && let Some(part) = self.parts.pop()
        {
            records.clear();
            let rest = self.fetch(part, view, left.min(batch), pin, &mut records);
            let (seen, enough) = self.visit(&records, &mut f);
            self.put_back(rest, &records, seen);
            self.visited += seen as u64;
            left = left.saturating_sub(seen);
            if enough {
                return;
            }
        }
    }

    /// Reads the next objects of a part.
    fn fetch(
        &self,
        part: Part,
        view: &impl View,
        want: usize,
        pin: &impl Pin,
        records: &mut Vec<RecordPtr>,
    ) -> Rest {
        match part {
            Part::Key(key) => {
                view.get(&key, pin, records);
                Rest::Done
            }
            Part::Span(mut span) => match view.walk(&mut span, self.back, want, pin, records) {
                true => Rest::More(span),
                false => Rest::End(span),
            },
        }
    }

    /// Shows objects to `f`; how many, and whether it wants no more.
    fn visit<'g>(
        &self,
        records: &[RecordPtr],
        f: &mut impl FnMut(Object<'g>) -> bool,
    ) -> (usize, bool) {
        let mut enough = false;
        for (i, &record) in records.iter().enumerate() {
            if let Some(ahead) = records.get(i + AHEAD) {
                ahead.bring_values();
            }
            enough |= f(object(record, self.keypos));
            if enough && self.ordered {
                return (i + 1, true);
            }
        }
        (records.len(), enough)
    }

    /// Puts back what is left of a part of which `seen` of the objects read were visited.
    fn put_back(&mut self, rest: Rest, records: &[RecordPtr], seen: usize) {
        let all = seen == records.len();
        match rest {
            Rest::More(span) if all => self.parts.push(Part::Span(span)),
            Rest::More(mut span) | Rest::End(mut span) if !all => {
                let last = if cfg!(fyris_mutant = "query_skips_rest") {
                    records.len()
                } else {
                    seen
                };
                // SAFETY: the records were read under the caller's pin.
                let key = unsafe { records[last - 1].order() };
                span.leave(key.bytes(), self.back);
                self.parts.push(Part::Span(span));
            }
            _ => {}
        }
    }
}

/// What is left of a part after a batch.
enum Rest {
    /// This.
    More(Span),
    /// Nothing; but this, if not all of the batch is visited.
    End(Span),
    /// Nothing.
    Done,
}
