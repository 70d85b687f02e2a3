//! A second view, beneath the code that reads: a copy of a table, which later writes do not change.

use std::collections::HashMap;
use std::ops::Bound;

use fyris_sync::reclaim::{Guard, LocalGuard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::{ReadMany, Step, TableView, View};
use crate::chain::Fingerprints;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::keys::AsKey;
use crate::ops::Span;
use crate::query::scan::{Pace, Part, Scan};
use crate::record::newest;
use crate::secondary::Secondaries;
use crate::slot::Content;
use crate::{Options, Owner, Store, Table};

/// Keys and what they hold, in the order of scans. The contents stay readable by the pin of the test.
struct Copied {
    keys: Vec<Vec<u8>>,
    contents: Vec<Vec<Content>>,
    places: HashMap<Vec<u8>, usize>,
    secondaries: Secondaries,
    ordered: bool,
}

impl Copied {
    fn of(table: &Table, view: TableView<'_>, pin: &LocalGuard) -> Copied {
        let ordered = table.table_type() == TableType::OrderedSet;
        let mut reader = view.read_many(pin);
        let (mut span, mut all) = (Span::ALL, Vec::new());
        while reader.scan(&mut span, false, 100, pin, &mut all) {}
        let key = |content: &Content| {
            // SAFETY: read under `pin`.
            let (exact, order) = unsafe { (content.newest().exact(), content.newest().order()) };
            if ordered {
                order.bytes()
            } else {
                exact.bytes()
            }
            .to_vec()
        };
        let groups = || all.chunk_by(|a, b| key(a) == key(b));
        let keys: Vec<_> = groups().map(|of_key| key(&of_key[0])).collect();
        Copied {
            places: keys.iter().cloned().zip(0..).collect(),
            secondaries: Secondaries::new([]),
            contents: groups().map(<[_]>::to_vec).collect(),
            keys,
            ordered,
        }
    }

    fn bytes<'k>(&self, key: &'k KeyBuf) -> &'k [u8] {
        if self.ordered {
            key.order()
        } else {
            key.bytes()
        }
    }

    /// Returns the number of keys that lie before a bound or, with `at`, before or at it.
    fn below(&self, key: &[u8], at: bool) -> usize {
        match self.places.get(key) {
            Some(&place) => place + usize::from(at),
            None if self.ordered => self.keys.partition_point(|k| k.as_slice() < key),
            None => panic!("a place that no scan has left"),
        }
    }
}

impl View for &Copied {
    type Reader<'g> = Self;

    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content> {
        key.with(|buf| self.get_bytes(self.bytes(buf), pin))
    }

    /// Returns the newest object of a key only: the copy has no chains of its own.
    fn get_bytes(&self, key: &[u8], _: &impl Guard) -> Option<Content> {
        let place = self.places.get(key)?;
        self.contents[*place].last().copied()
    }

    fn prefetch(&self, _: &[KeyBuf], _: &impl Guard) {}

    fn step(
        &self,
        step: Step<'_>,
        _: impl Fn(&KeyBuf) -> bool,
        _: &impl Guard,
    ) -> Result<Option<Content>> {
        let place = match step {
            Step::First => Some(0),
            Step::Last if !self.ordered => Some(0),
            Step::Last => self.keys.len().checked_sub(1),
            Step::Prev(key) if self.ordered => self.below(self.bytes(key), false).checked_sub(1),
            Step::Next(key) | Step::Prev(key) => Some(self.below(self.bytes(key), true)),
        };
        Ok(place.and_then(|place| self.contents.get(place)?.last().copied()))
    }

    fn slot(&self, slot: usize, _: &impl Guard) -> Result<Option<Vec<Content>>> {
        let slots = self.contents.len();
        match slot.cmp(&slots) {
            std::cmp::Ordering::Less => Ok(Some(self.contents[slot].clone())),
            std::cmp::Ordering::Equal => Ok(None),
            std::cmp::Ordering::Greater => Err(Error::BadSlot { slot, slots }),
        }
    }

    fn cuts(&self, parts: usize, _: &impl Guard) -> Vec<Vec<u8>> {
        let step = self.keys.len().div_ceil(parts).max(1);
        self.keys.iter().step_by(step).skip(1).cloned().collect()
    }

    fn share_of_span(&self, _: &Span, _: &impl Guard) -> f64 {
        1.0
    }

    fn counts(&self) -> bool {
        true
    }

    fn nth(&self, n: usize, _: &impl Guard) -> Option<Content> {
        self.contents.get(n)?.last().copied()
    }

    fn count(&self, span: &Span, _: &impl Guard) -> Option<usize> {
        let bound = |bound: &Bound<Vec<u8>>, at_included, unbounded| match bound {
            Bound::Included(key) => self.below(key, at_included),
            Bound::Excluded(key) => self.below(key, !at_included),
            Bound::Unbounded => unbounded,
        };
        let end = bound(&span.to, true, self.keys.len());
        Some(end.saturating_sub(bound(&span.from, false, 0)))
    }

    fn len(&self) -> usize {
        self.contents.iter().map(Vec::len).sum()
    }

    fn about(&self) -> usize {
        self.len()
    }

    fn secondaries(&self) -> &Secondaries {
        &self.secondaries
    }

    fn read_many(&self, _: &impl Guard) -> Self {
        self
    }
}

impl ReadMany for &Copied {
    type View = Self;

    fn view(&self) -> Self {
        self
    }

    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        _: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        let from = match &span.from {
            Bound::Included(key) => self.below(key, false),
            Bound::Excluded(key) => self.below(key, true),
            Bound::Unbounded => 0,
        };
        let to = match &span.to {
            Bound::Included(key) => self.below(key, true),
            Bound::Excluded(key) => self.below(key, false),
            Bound::Unbounded => self.keys.len(),
        };
        let mut places: Vec<usize> = (from..to).collect();
        if back && self.ordered {
            places.reverse();
        }
        places.truncate(want);
        for &place in &places {
            let already = out.len();
            out.extend_from_slice(&self.contents[place]);
            if back {
                out[already..].reverse();
            }
        }
        match places.last() {
            Some(&last) if places.len() < to - from => {
                span.leave(&self.keys[last], back && self.ordered);
                true
            }
            _ => false,
        }
    }

    fn get(&mut self, key: &[u8], _: &Fingerprints, _: &impl Guard, out: impl FnMut(Content)) {
        let place = self.places.get(key);
        let objects = place.into_iter().flat_map(|&place| &self.contents[place]);
        objects.copied().for_each(out);
    }
}

/// Everything that the code above a view reads of it, by every way there is.
#[derive(PartialEq)]
struct Seen {
    scanned: Vec<Term>,
    back: Vec<Term>,
    in_pieces: Vec<Term>,
    of_keys: Vec<Term>,
    walked: Vec<Term>,
    walked_back: Vec<Term>,
    len: usize,
}

fn see(table: &Table, view: &impl View, pin: &LocalGuard) -> Seen {
    let ordered = table.table_type() == TableType::OrderedSet;
    let scan = |parts, back| Scan::new(parts, back, ordered, table.keypos());
    let visit = |mut scan: Scan| {
        let mut seen = Vec::new();
        while !scan.is_done() {
            scan.step(
                &mut view.read_many(pin),
                (Pace::About(37), 16),
                pin,
                |object| {
                    seen.push(object.to_term());
                    false
                },
            );
        }
        seen
    };
    let whole = || vec![Part::Span(Span::ALL)];
    let pieces = crate::query::parallel::pieces(&scan(whole(), false), view, 2, pin);
    let keys = (0..50).map(|k| {
        let buf = KeyBuf::encode(&Term::Int(k));
        let bytes = if ordered { buf.order() } else { buf.bytes() };
        Part::Key(bytes.to_vec())
    });
    Seen {
        scanned: visit(scan(whole(), false)),
        back: visit(scan(whole(), true)),
        in_pieces: pieces.into_iter().flat_map(visit).collect(),
        of_keys: visit(scan(keys.collect(), false)),
        walked: walk(table, view, Step::First, |key| Step::Next(key), pin),
        walked_back: walk(table, view, Step::Last, |key| Step::Prev(key), pin),
        len: view.len(),
    }
}

fn walk(
    table: &Table,
    view: &impl View,
    first: Step<'_>,
    next: fn(&KeyBuf) -> Step<'_>,
    pin: &LocalGuard,
) -> Vec<Term> {
    let mut keys = Vec::new();
    let mut content = table.content_at(first, view, pin, || ()).expect("a step");
    while let Some(found) = content {
        let key = newest(found, table.keypos()).key();
        content = key
            .with(|buf| table.content_at(next(buf), view, pin, || ()))
            .expect("a step from a key that is there");
        keys.push(key);
    }
    keys
}

fn fill(owner: &Owner, options: &Options) -> Table {
    let table = owner.new_table("t", options).expect("a table");
    for n in 0..600 {
        let object = Term::tuple(vec![
            Term::Int(n % 400),
            Term::Int(n),
            Term::string("value"),
        ]);
        table.insert(&object).expect("inserted");
    }
    table
}

/// Each reading operation reads the second view as it read the live one before the writes, whatever has become of the
/// table.
#[test]
fn everything_that_reads_reads_a_second_view() {
    let store = Store::new();
    let owner = store.owner();
    let types = [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ];
    for options in types {
        let table = fill(&owner, &options);
        let pin = pin();
        let live = |view: TableView<'_>, pin: &LocalGuard| {
            Ok((see(&table, &view, pin), Copied::of(&table, view, pin)))
        };
        let (before, copied) = table.read_under(&pin, live).expect("reads");
        assert_eq!(before.scanned.len(), before.len);
        for n in (0..400).step_by(3) {
            table.delete_key(&n).expect("deleted");
            let other = Term::tuple(vec![Term::Int(n + 1), Term::string("another")]);
            let more = Term::tuple(vec![Term::Int(n + 1000)]);
            table.insert_list(&[other, more]).expect("inserted");
        }
        assert!(see(&table, &&copied, &pin) == before, "{options:?}");
        let (after, _) = table.read_under(&pin, live).expect("reads");
        assert!(after != before, "{options:?}");
    }
}
