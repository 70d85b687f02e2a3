//! A table as a transaction sees it: a snapshot, and over it what the transaction has written.
//!
//! What is read here is noted ([`Reads`](crate::version::guards::Reads)): of a range as much as a step reads. The
//! transaction may move on to a later snapshot between two steps, or beside one, in which all that was noted is the
//! same (`Transaction::table`): so what is read is noted first, or read again if that has happened.

use std::ops::Bound;

use fyris_sync::reclaim::Guard;
use fyris_term::key::KeyBuf;

use super::{Past, ReadMany, Step, View};
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::keys::AsKey;
use crate::ops::{EACH, Span, append};
use crate::record::newest;
use crate::secondary::{ByValue, KeyBytes, Secondaries};
use crate::slot::Content;
use crate::table_data::with_data;
use crate::transaction::TransactionPart;

/// Reads as a transaction does.
#[derive(Clone, Copy)]
pub(crate) struct Within<'d> {
    /// What the transaction read when the view was made.
    pub(crate) begun: Past<'d>,
    pub(crate) part: &'d TransactionPart,
}

impl<'d> Within<'d> {
    /// Returns what the transaction reads. If it has ended, whoever asked is told that in the end.
    fn past<'p>(&self, pin: &'p impl Guard) -> Past<'p>
    where
        'd: 'p,
    {
        self.part.past(pin).unwrap_or(self.begun)
    }

    fn is_ordered(&self) -> bool {
        self.part.table.table_type() == TableType::OrderedSet
    }

    /// Returns the bytes by which the table tells an object's key from others.
    fn key_of<'k>(&self, content: Content) -> &'k [u8] {
        // SAFETY: the content was read under the caller's pin.
        unsafe {
            match self.is_ordered() {
                true => content.newest().order().bytes(),
                false => content.newest().exact().bytes(),
            }
        }
    }

    fn key_bytes<'k>(&self, key: &'k KeyBuf) -> &'k [u8] {
        with_data!(self.begun.data, data => data.key_bytes(key))
    }

    /// Returns the contents of a span that the transaction has written, in the order of keys; those of deleted keys are
    /// not there.
    fn own(&self, span: &Span) -> Vec<Content> {
        let state = self.part.state();
        let written = state.writes.range::<[u8], _>(span.bounds());
        written.filter_map(|(_, own)| own.content).collect()
    }

    /// Takes the objects out of what was read of the snapshot whose keys the transaction has written.
    fn without_own(&self, objects: &mut Vec<Content>, from: usize) {
        let state = self.part.state();
        if !state.writes.is_empty() {
            let read = objects.split_off(from);
            let left = read
                .into_iter()
                .filter(|object| !state.writes.contains_key(self.key_of(*object)));
            objects.extend(left);
        }
    }

    /// Puts the objects of contents of the transaction's own between those that were read of the snapshot, in the order
    /// of keys.
    fn merge(&self, own: Vec<Content>, back: bool, from: usize, objects: &mut Vec<Content>) {
        let read = objects.split_off(from);
        let mut own = own.into_iter();
        let mut own: Box<dyn Iterator<Item = Content>> = match back {
            true => Box::new(own.rev()),
            false => Box::new(own.by_ref()),
        };
        let mut next = own.next();
        for object in read {
            while let Some(mine) = next
                && (self.key_of(mine) < self.key_of(object)) != back
            {
                objects.push(mine);
                next = own.next();
            }
            objects.push(object);
        }
        objects.extend(next.into_iter().chain(own));
    }

    /// In a table without an order of keys: puts what the transaction has written to keys of the snapshot in their
    /// places, and behind the last of these the keys that it has added. So a traversal meets each key once, whatever
    /// the transaction writes between its steps.
    fn replace(
        &self,
        back: bool,
        is_last: bool,
        from: usize,
        past: Past<'_>,
        pin: &impl Guard,
        objects: &mut Vec<Content>,
    ) {
        let state = self.part.state();
        if state.writes.is_empty() {
            return;
        }
        let read = objects.split_off(from);
        for of_key in read.chunk_by(|a, b| self.key_of(*a) == self.key_of(*b)) {
            match state.writes.get(self.key_of(of_key[0])) {
                None => objects.extend_from_slice(of_key),
                Some(own) => {
                    let own = own.content.iter();
                    own.for_each(|own| append(*own, back, objects));
                }
            }
        }
        if is_last {
            let is_new = |key: &[u8]| past.get_bytes(key, pin).is_none();
            let new = state.writes.iter().filter(|(key, _)| is_new(key));
            new.filter_map(|(_, own)| own.content)
                .for_each(|content| append(content, back, objects));
        }
    }

    /// Shows `f` the objects of a span in their order until it says `false`.
    fn each(&self, mut span: Span, pin: &impl Guard, mut f: impl FnMut(Content) -> bool) {
        let (mut more, mut objects) = (true, Vec::new());
        while more {
            objects.clear();
            more = self.scan_step(&mut span, false, EACH, pin, &mut objects);
            if !objects.iter().all(|object| f(*object)) {
                return;
            }
        }
    }

    fn scan_step(
        &self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        let (before, already) = (span.clone(), out.len());
        if !self.is_ordered() {
            self.part.note_span(Span::ALL, 0);
            let mut past = self.past(pin);
            let more = past.scan(span, back, want, pin, out);
            let is_last = !more && before.to == Bound::Unbounded;
            self.replace(back, is_last, already, past, pin, out);
            return more;
        }
        if span.is_void() {
            return false;
        }
        loop {
            let mut past = self.past(pin);
            let more = past.scan(span, back, want, pin, out);
            let passed = passed(before.clone(), span, more, back);
            let own = self.own(&passed);
            if self.part.note_span(passed, past.place) {
                self.without_own(out, already);
                self.merge(own, back, already, out);
                return more;
            }
            *span = before.clone();
            out.truncate(already);
        }
    }

    /// Returns the content next to a bound, up or down, in a table in the order of keys.
    fn nearest(&self, from: Bound<&[u8]>, back: bool, pin: &impl Guard) -> Option<Content> {
        let bound = from.map(<[u8]>::to_vec);
        let mut span = match back {
            true => Span::new(Bound::Unbounded, bound),
            false => Span::new(bound, Bound::Unbounded),
        };
        let whole = span.clone();
        loop {
            let (found, place) = self.nearest_of_others(&mut span, back, pin);
            let nearest = self.nearer(self.nearest_own(&whole, back), found, back);
            // What was read is all up to the key.
            let end = nearest.map_or(Bound::Unbounded, |found| {
                Bound::Included(self.key_of(found).to_vec())
            });
            let passed = match back {
                true => Span::new(end, whole.to.clone()),
                false => Span::new(whole.from.clone(), end),
            };
            if self.part.note_span(passed, place) {
                return nearest;
            }
            span = whole.clone();
        }
    }

    /// Returns the first content of a span, back: the last one, that the snapshot has and the transaction has not
    /// written over; and the place of the snapshot.
    fn nearest_of_others(
        &self,
        span: &mut Span,
        back: bool,
        pin: &impl Guard,
    ) -> (Option<Content>, u64) {
        let (mut past, mut found) = (self.past(pin), Vec::new());
        let (mut more, mut want) = (true, 1);
        while found.is_empty() && more {
            more = past.scan(span, back, want, pin, &mut found);
            self.without_own(&mut found, 0);
            // Behind many keys that the transaction has written or deleted.
            want = (2 * want).min(EACH);
        }
        (found.first().copied(), past.place)
    }

    /// Returns the first content of a span, back: the last one, that the transaction has written.
    fn nearest_own(&self, span: &Span, back: bool) -> Option<Content> {
        let state = self.part.state();
        let mut own = state.writes.range::<[u8], _>(span.bounds());
        match back {
            true => own.rev().find_map(|(_, own)| own.content),
            false => own.find_map(|(_, own)| own.content),
        }
    }

    fn nearer(&self, mine: Option<Content>, found: Option<Content>, back: bool) -> Option<Content> {
        let is_mine_nearer =
            |mine: Content, found: Content| (self.key_of(mine) < self.key_of(found)) != back;
        match (mine, found) {
            (Some(mine), Some(found)) if is_mine_nearer(mine, found) => Some(mine),
            (mine, found) => found.or(mine),
        }
    }

    fn key_buf(&self, content: Content) -> KeyBuf {
        KeyBuf::encode(&newest(content, self.part.table.keypos()).key())
    }

    /// Returns the content after a key, or the first one, in a table without an order: those of the snapshot, then
    /// those that the transaction has added.
    fn after(
        &self,
        key: Option<&KeyBuf>,
        known: &impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        self.part.note_span(Span::ALL, 0);
        let past = self.past(pin);
        let is_new = |key: &[u8]| past.get_bytes(key, pin).is_none();
        let mut at = key.cloned();
        let mut new_from = Bound::Unbounded;
        loop {
            let step = at.as_ref().map_or(Step::First, Step::Next);
            let next = match at.as_ref().map(|key| self.key_bytes(key)) {
                Some(bytes) if is_new(bytes) => {
                    if !self.part.state().writes.contains_key(bytes)
                        && !known(at.as_ref().expect("it is"))
                    {
                        return Err(Error::NoSuchKey);
                    }
                    new_from = Bound::Excluded(bytes.to_vec());
                    None
                }
                _ => past.step(step, known, pin)?,
            };
            let Some(next) = next else { break };
            let own = self
                .part
                .state()
                .writes
                .get(self.key_of(next))
                .map(|own| own.content);
            match own {
                None => return Ok(Some(next)),
                Some(Some(own)) => return Ok(Some(own)),
                Some(None) => at = Some(self.key_buf(next)),
            }
        }
        let state = self.part.state();
        let own = state
            .writes
            .range::<[u8], _>((new_from.as_ref().map(Vec::as_slice), Bound::Unbounded));
        let mut new = own.filter(|(key, own)| own.content.is_some() && is_new(key));
        Ok(new.next().and_then(|(_, own)| own.content))
    }
}

/// Returns what a scan has passed of a span, of which this is left.
fn passed(before: Span, left: &Span, more: bool, back: bool) -> Span {
    match (more, back) {
        (false, _) => before.plain(),
        (true, false) => Span::new(before.from, behind(&left.from)),
        (true, true) => Span::new(behind(&left.to), before.to),
    }
}

/// Returns the end of a range that another one goes on behind.
fn behind(begin: &Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match begin {
        Bound::Excluded(key) => Bound::Included(key.clone()),
        Bound::Included(key) => Bound::Excluded(key.clone()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

impl<'d> View for Within<'d> {
    type Reader<'g> = Within<'d>;

    #[cold]
    fn get(&self, key: &(impl AsKey + ?Sized), pin: &impl Guard) -> Option<Content> {
        match key.with(|buf| self.part.read(self.key_bytes(buf), pin)) {
            Ok(own) => own,
            Err(past) => past.unwrap_or(self.begun).get(key, pin),
        }
    }

    fn get_bytes(&self, key: &[u8], pin: &impl Guard) -> Option<Content> {
        match self.part.read(key, pin) {
            Ok(own) => own,
            Err(past) => past.unwrap_or(self.begun).get_bytes(key, pin),
        }
    }

    fn prefetch(&self, keys: &[KeyBuf], pin: &impl Guard) {
        self.begun.prefetch(keys, pin);
    }

    #[cold]
    fn step(
        &self,
        step: Step<'_>,
        known: impl Fn(&KeyBuf) -> bool,
        pin: &impl Guard,
    ) -> Result<Option<Content>> {
        if !self.is_ordered() {
            let (Step::Next(key) | Step::Prev(key)) = step else {
                return self.after(None, &known, pin);
            };
            return self.after(Some(key), &known, pin);
        }
        Ok(match step {
            Step::First => self.nearest(Bound::Unbounded, false, pin),
            Step::Last => self.nearest(Bound::Unbounded, true, pin),
            Step::Next(key) => self.nearest(Bound::Excluded(self.key_bytes(key)), false, pin),
            Step::Prev(key) => self.nearest(Bound::Excluded(self.key_bytes(key)), true, pin),
        })
    }

    /// In the order of scans, where there is one of keys; elsewhere the places of objects are those of the live table,
    /// which a transaction does not show.
    fn slot(&self, slot: usize, pin: &impl Guard) -> Result<Option<Vec<Content>>> {
        if !self.is_ordered() {
            return Err(Error::InTransaction("slot"));
        }
        if let Some(content) = self.nth(slot, pin) {
            return Ok(Some(vec![content]));
        }
        match self.len() {
            slots if slot == slots => Ok(None),
            slots => Err(Error::BadSlot { slot, slots }),
        }
    }

    fn cuts(&self, parts: usize, pin: &impl Guard) -> Vec<Vec<u8>> {
        self.begun.cuts(parts, pin)
    }

    fn share_of_span(&self, span: &Span, pin: &impl Guard) -> f64 {
        self.begun.share_of_span(span, pin)
    }

    fn counts(&self) -> bool {
        self.begun.counts()
    }

    fn nth(&self, n: usize, pin: &impl Guard) -> Option<Content> {
        let (mut left, mut found) = (n, None);
        self.each(Span::ALL, pin, |object| {
            if left == 0 {
                found = Some(object);
                return false;
            }
            left -= 1;
            true
        });
        found
    }

    fn count(&self, span: &Span, pin: &impl Guard) -> Option<usize> {
        let mut count = 0;
        self.each(span.clone(), pin, |_| {
            count += 1;
            true
        });
        self.counts().then_some(count)
    }

    fn len(&self) -> usize {
        let (pin, mut count) = (fyris_sync::reclaim::pin(), 0);
        self.each(Span::ALL, &pin, |_| {
            count += 1;
            true
        });
        count
    }

    fn about(&self) -> usize {
        self.begun.about() + self.part.state().writes.len()
    }

    fn secondaries(&self) -> &Secondaries {
        self.begun.data.secondaries()
    }

    fn read_many<'g>(&self, _: &'g impl Guard) -> Within<'d> {
        *self
    }
}

impl ReadMany for Within<'_> {
    type View = Self;

    fn view(&self) -> Self {
        *self
    }

    fn scan(
        &mut self,
        span: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<Content>,
    ) -> bool {
        self.scan_step(span, back, want, pin, out)
    }

    fn candidates(
        &mut self,
        by: ByValue<'_>,
        keys: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<KeyBytes>,
    ) -> Option<bool> {
        let (before, already) = (keys.clone(), out.len());
        let mut past = self.past(pin);
        let index = past.data.secondaries().of(by.of)?;
        while !self.part.note_value(index, by.value, past.place) {
            past = self.past(pin);
        }
        let more = past.candidates(by, keys, back, want, pin, out)?;
        let passed = passed(before, keys, more, back);
        let state = self.part.state();
        let own = state.writes.range::<[u8], _>(passed.bounds());
        if !cfg!(fyris_mutant = "store_own_values_missed") {
            out.extend(own.map(|(key, _)| KeyBytes::from_slice(key)));
        }
        out[already..].sort_unstable_by(|a, b| if back { b.cmp(a) } else { a.cmp(b) });
        out.dedup();
        Some(more)
    }
}
