//! The state of a scan between its steps.

use std::sync::Arc;

use fyris_sync::reclaim::Guard;

use crate::chain::{self, Fingerprints};
use crate::ids::TableType;
use crate::ops::Span;
use crate::record::{Object, newest};
use crate::secondary::{Candidates, Definition, KeyBytes};
use crate::slot::Content;
use crate::table::Table;
use crate::view::ReadMany;

/// Objects read in one batch.
pub(super) const BATCH: usize = 256;

/// The number of objects by which records are prefetched ahead of the object that is looked at. All of a batch at once
/// would wait for memory, which brings about two dozen lines at a time; so they come while the objects before them are
/// looked at.
const FAR: usize = 32;

/// The number of objects by which values are prefetched ahead, when the line where the record begins is in the cache:
/// the values of an object with a key of some length are often on the next line.
const AHEAD: usize = 8;

/// A step visits at least one in 16 objects of a batch that is larger than the step.
const SHARES: usize = 16;

/// The number of objects beyond a step's limit that are still visited with the others.
const SLACK: usize = 1024;

/// How far a step goes.
#[derive(Clone, Copy)]
pub(crate) enum Pace {
    /// To the end, whatever its user has found, if that is up to this many objects; else not at all.
    Few(usize),
    /// Over about this many objects.
    About(usize),
}

/// A stretch of a table that a scan has to visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// One key, as bytes.
    Key(Vec<u8>),
    /// All keys of a span.
    Span(Span),
    /// All keys that a secondary index has under a value.
    Indexed(Candidates),
    /// Objects of one key in a bag that wait for their turn, by their addresses, ascending (invariant ADDRESS).
    Waiting { key: Vec<u8>, addresses: Vec<u64> },
}

/// The rest of a scan: keys, and nothing that belongs to the table or to a thread.
///
/// An object that is there from the first step to the last is visited exactly once.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// The nearest part is the last.
    parts: Vec<Part>,
    /// In an ordered table: from the end. In others: of the objects of a key the newest comes first.
    back: bool,
    ordered: bool,
    whole: bool,
    /// The objects of a key are visited together, however many they are.
    whole_keys: bool,
    /// Of a key with many objects those with other fingerprints need not be visited.
    alike: Fingerprints,
    /// The value that objects have to have by a secondary index, if that is not left to who visits them.
    value: Option<(Arc<Definition>, KeyBytes)>,
    keypos: usize,
    visited: u64,
}

impl Scan {
    /// Returns a scan of disjoint parts in ascending order; with `back` they are visited from the end. `ordered` tells
    /// that objects come in the order of keys, so that the scan may stop behind any of them.
    pub(crate) fn new(mut parts: Vec<Part>, back: bool, ordered: bool, keypos: usize) -> Scan {
        let whole = parts == [Part::Span(Span::ALL)];
        if !(back && ordered) {
            parts.reverse();
        }
        Scan {
            parts,
            back,
            ordered,
            whole,
            whole_keys: false,
            alike: chain::ANY,
            value: None,
            keypos,
            visited: 0,
        }
    }

    /// Returns whether it visits keys that it does not name.
    pub(crate) fn has_span(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Span(_)))
    }

    /// Returns whether it asks secondary indexes.
    fn names_candidates(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Indexed(_)))
    }

    /// Returns the scan from the end, in an ordered table; before anything was visited.
    pub(crate) fn reversed(mut self) -> Scan {
        if self.ordered && !self.back {
            self.parts.reverse();
            self.back = true;
        }
        self
    }

    /// Returns the scan with the newest object of each key first, in a table without an order of keys.
    pub(crate) fn newest_first(self) -> Scan {
        Scan {
            back: self.back || !self.ordered,
            ..self
        }
    }

    /// Returns a scan that visits the objects of a key together: for changes of a bag, each of which makes the key's
    /// chain anew.
    pub(crate) fn by_whole_keys(self) -> Scan {
        Scan {
            whole_keys: true,
            ..self
        }
    }

    /// Returns a scan that may leave out objects of a key with other fingerprints.
    pub(crate) fn of_alike(self, alike: Fingerprints) -> Scan {
        Scan { alike, ..self }
    }

    /// Returns a scan of the objects of candidates that have their value.
    pub(crate) fn of_candidates(left: Candidates, table: &Table) -> Scan {
        let ordered = table.table_type() == TableType::OrderedSet;
        Scan {
            value: Some((left.of.clone(), left.value.clone())),
            ..Scan::new(vec![Part::Indexed(left)], false, ordered, table.keypos())
        }
    }

    /// Takes the horizons of its spans away.
    pub(super) fn widen(&mut self) {
        for part in &mut self.parts {
            if let Part::Span(span) = part {
                span.widen();
            }
        }
    }

    /// Returns whether everything was visited.
    pub(crate) fn is_done(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of objects visited so far.
    pub(crate) fn visited(&self) -> u64 {
        self.visited
    }

    /// Returns whether it is a reversed one, or has the newest objects first.
    pub(crate) fn is_back(&self) -> bool {
        self.back
    }

    /// Returns whether it visits keys from the last to the first.
    pub(crate) fn goes_down(&self) -> bool {
        self.back && self.ordered
    }

    /// Returns whether it is of the whole table.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns whether it may stop behind any object.
    pub(crate) fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Returns the parts that are left, in ascending order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        let len = self.parts.len();
        let place = move |n| if self.goes_down() { n } else { len - 1 - n };
        (0..len).map(move |n| &self.parts[place(n)])
    }

    /// Returns a scan of the same kind of other parts, in ascending order.
    pub(crate) fn of(&self, parts: Vec<Part>) -> Scan {
        Scan {
            value: self.value.clone(),
            ..Scan::new(parts, self.back, self.ordered, self.keypos).of_alike(self.alike.clone())
        }
    }

    /// Returns the scan after a number of visited objects more, with these scans left, the nearest first.
    pub(crate) fn followed_by(&self, left: Vec<Scan>, visited: u64) -> Scan {
        let parts = left.into_iter().rev().flat_map(|scan| scan.parts);
        Scan {
            parts: parts.collect(),
            visited: self.visited + visited,
            ..self.of(Vec::new())
        }
    }

    /// Visits objects, `batch` keys at a time, and returns whether it did: about as many as asked for, more only to the
    /// end of a bucket and in a bag, there up to a thousand or a sixteenth of what one batch has; fewer if `f` says
    /// `true`: then, in an ordered table, the object it said so of is the last, and elsewhere the batch under way is.
    pub(crate) fn step<'g>(
        &mut self,
        reader: &mut impl ReadMany,
        (pace, batch): (Pace, usize),
        pin: &'g impl Guard,
        mut f: impl FnMut(Object<'g>) -> bool,
    ) -> bool {
        let mut records = Vec::new();
        let mut left = match pace {
            Pace::Few(most) if !self.fetch_few(most, reader, pin, &mut records) => return false,
            Pace::Few(_) => 1,
            Pace::About(objects) => objects.max(1),
        };
        while left > 0 {
            // One call of `visit`, into which `f` is inlined, serves both.
            let keys = left.min(batch);
            let rest = match (pace, self.parts.pop()) {
                (Pace::Few(_), _) => Rest::Done,
                (_, None) => break,
                (_, Some(part)) => {
                    records.clear();
                    self.fetch(part, reader, keys, pin, &mut records)
                }
            };
            // Keys that hold nothing at the moment of a snapshot count, too.
            let least = if rest.is_more() { keys } else { 0 };
            let now = self.in_this_step(records.len(), left);
            let is_few = matches!(pace, Pace::Few(_));
            let (seen, enough) = self.visit(&records[..now], |object| f(object) && !is_few);
            if now < records.len() {
                self.put_back(rest, &[], 0);
                self.defer(&records[now..]);
            } else {
                self.put_back(rest, &records, seen);
            }
            self.visited += seen as u64;
            left = left.saturating_sub(seen.max(least));
            if enough || is_few {
                break;
            }
        }
        true
    }

    /// Reads all that is left, if that is up to `most` objects; else returns `false`, and all is left.
    fn fetch_few(
        &mut self,
        most: usize,
        reader: &mut impl ReadMany,
        pin: &impl Guard,
        records: &mut Vec<Content>,
    ) -> bool {
        for part in self.parts.iter().rev() {
            // One more than there may be: the end is found with them.
            let want = most + 1 - records.len();
            let rest = self.fetch(part.clone(), reader, want, pin, records);
            if rest.is_more() || records.len() > most {
                return false;
            }
        }
        // The entries of what a commit has displaced meanwhile may be gone.
        if self.names_candidates()
            && reader.is_due()
            && !cfg!(fyris_mutant = "store_candidates_torn")
        {
            return false;
        }
        self.parts.clear();
        true
    }

    /// Reads the next objects of a part.
    fn fetch(
        &self,
        part: Part,
        reader: &mut impl ReadMany,
        want: usize,
        pin: &impl Guard,
        records: &mut Vec<Content>,
    ) -> Rest {
        let (key, waiting) = match part {
            Part::Indexed(left) => return self.fetch_candidates(left, reader, want, pin, records),
            Part::Key(key) => (key, None),
            Part::Waiting { key, addresses } => (key, Some(addresses)),
            Part::Span(mut span) => {
                let already = records.len();
                let more = reader.scan(&mut span, self.back, want, pin, records);
                if self.value.is_some() {
                    let read = records.split_off(already);
                    records.extend(read.into_iter().filter(|&record| self.has_value(record)));
                }
                return match more {
                    true => Rest::More(span),
                    false => Rest::End(span),
                };
            }
        };
        let already = records.len();
        let waits = |record: &Content| {
            let addresses = waiting.as_ref();
            addresses.is_none_or(|all| all.binary_search(&record.bits()).is_ok())
        };
        reader.get(&key, &self.alike, pin, |record| {
            if waits(&record) {
                records.push(record);
            }
        });
        if self.back {
            records[already..].reverse();
        }
        Rest::Done
    }

    /// Reads the objects of the next candidates of a secondary index.
    fn fetch_candidates(
        &self,
        mut left: Candidates,
        reader: &mut impl ReadMany,
        want: usize,
        pin: &impl Guard,
        records: &mut Vec<Content>,
    ) -> Rest {
        let (mut keys, mut span) = (Vec::new(), std::mem::replace(&mut left.keys, Span::ALL));
        let by = left.by_value();
        let Some(more) = reader.candidates(by, &mut span, self.goes_down(), want, pin, &mut keys)
        else {
            // It has been removed since the scan was made.
            let rest = match self.ordered {
                true => span,
                false => Span::ALL,
            };
            return self.fetch(Part::Span(rest), reader, want, pin, records);
        };
        for key in keys {
            let already = records.len();
            reader.get(&key, &self.alike, pin, |record| {
                if self.has_value(record) {
                    records.push(record);
                }
            });
            if self.back {
                records[already..].reverse();
            }
        }
        left.keys = span;
        Rest::Candidates(left, more)
    }

    fn has_value(&self, record: Content) -> bool {
        let value = self.value.as_ref();
        value.is_none_or(|(of, value)| of.has(&newest(record, self.keypos), value))
    }

    /// Returns the number of objects read that are visited in a step that is to visit `left`: all, unless keys of a bag
    /// have very many more. Then a share of them, since each step reads all of such a key.
    fn in_this_step(&self, found: usize, left: usize) -> usize {
        let most = left.max(BATCH).max(found / SHARES);
        if self.ordered || self.whole_keys || found - found.min(most) <= SLACK {
            found
        } else {
            most
        }
    }

    /// Leaves objects for later, key by key.
    fn defer(&mut self, records: &[Content]) {
        // SAFETY: the records were read under the caller's pin.
        let key = |record: &Content| unsafe { record.newest().exact() };
        let keys = records.chunk_by(|a, b| key(a) == key(b));
        let waiting = keys.map(|of_key| {
            let mut addresses: Vec<u64> = of_key.iter().map(|record| record.bits()).collect();
            addresses.sort_unstable();
            Part::Waiting {
                key: key(&of_key[0]).bytes().to_vec(),
                addresses,
            }
        });
        let waiting: Vec<Part> = waiting.collect();
        if !cfg!(fyris_mutant = "query_forgets_waiting") {
            self.parts.extend(waiting.into_iter().rev());
        }
    }

    /// Shows objects to `f`; how many, and whether it wants no more.
    fn visit<'g>(
        &self,
        records: &[Content],
        mut f: impl FnMut(Object<'g>) -> bool,
    ) -> (usize, bool) {
        let mut enough = false;
        records
            .iter()
            .take(FAR)
            .for_each(|record| record.prefetch());
        for (i, &record) in records.iter().enumerate() {
            if let Some(far) = records.get(i + FAR) {
                far.prefetch();
            }
            if let Some(ahead) = records.get(i + AHEAD) {
                ahead.prefetch_values();
            }
            enough |= f(newest(record, self.keypos));
            if enough && self.ordered {
                return (i + 1, true);
            }
        }
        (records.len(), enough)
    }

    /// Puts back what is left of a part of which `seen` of the objects read were visited.
    fn put_back(&mut self, rest: Rest, records: &[Content], seen: usize) {
        let all = seen == records.len();
        match rest {
            Rest::More(span) if all => self.parts.push(Part::Span(span)),
            Rest::Candidates(left, true) if all => self.parts.push(Part::Indexed(left)),
            Rest::More(mut span) | Rest::End(mut span) if !all => {
                span.leave(last_seen(records, seen), self.back);
                self.parts.push(Part::Span(span));
            }
            Rest::Candidates(mut left, _) if !all => {
                left.keys.leave(last_seen(records, seen), self.back);
                self.parts.push(Part::Indexed(left));
            }
            _ => {}
        }
    }
}

/// Returns the key of the last object that was visited of those that were read, in an ordered table.
fn last_seen<'k>(records: &[Content], seen: usize) -> &'k [u8] {
    let last = if cfg!(fyris_mutant = "query_skips_rest") {
        records.len()
    } else {
        seen
    };
    // SAFETY: the records were read under the caller's pin.
    unsafe { records[last - 1].newest().order().bytes() }
}

/// The rest of a part after a batch.
enum Rest {
    /// This.
    More(Span),
    /// Nothing; but this span, if not all of the batch is visited.
    End(Span),
    /// These candidates, and whether they may be any.
    Candidates(Candidates, bool),
    /// Nothing.
    Done,
}

impl Rest {
    /// Returns whether there may be more to read.
    fn is_more(&self) -> bool {
        matches!(self, Rest::More(_) | Rest::Candidates(_, true))
    }
}
