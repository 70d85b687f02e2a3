//! Unique secondary indexes: no two keys have the same value.
//!
//! # How
//!
//! The entries of a value name every key that may have it (ENTERED). But to look at these keys, and then to write, is
//! two steps, and another write may come between. So who is going to give a key a value first *claims* it, in a map of
//! the values that are under way.
//!
//! A write of one key learns with the slot protected what the key is to hold. If that has a value that is new to the
//! key and not claimed, nothing is written yet: the write leaves the slot, claims, looks whether another key has the
//! value, and decides again on what the key holds by then. A commit knows its objects before, and claims all their
//! values before its first cell is in a slot.
//!
//! # Who waits for whom
//!
//! * A write of one key waits for others of one key, which hold a claim for as long as they write, and aborts commits
//!   that are not sealed: it is in a section of its table, in which no commit may be waited for.
//! * A commit waits for both. A list that was aborted is put in again, a transaction is tried again.
//! * All claim in the order of indexes and values, and commits hold no cell yet: so waiting makes no circle.
//!
//! # Invariants
//!
//! * **CLAIMED**: who gives a key a value that it did not have has claimed the value before the look at the other keys,
//!   and holds the claim until readers of the table find the value at the key. A value has one claim at a time. That of
//!   a commit that is decided counts no more: what it has done is found in the table. So of two writers that want one
//!   value, the second finds the key of the first.

use fyris_index::{Action, Entry, Index};
use fyris_sync::atomic::{AtomicPtr, Ordering};
use fyris_sync::lock::Backoff;
use fyris_sync::reclaim::{Guard, LocalGuard, PROTECT, pin};
use fyris_term::key::KeyBuf;
use smallvec::SmallVec;

use super::entries::{KeyBytes, Secondaries, Secondary};
use crate::displaced::{Change, Decide};
use crate::error::Error;
use crate::key_kind::KeyKind;
use crate::ops::{EACH, Patience, Span, Writes};
use crate::pending::{Decision, Terms};
use crate::record::{NewRecord, RecordPtr, newest};
use crate::slot::{Content, Moment, Slot};
use crate::table_data::TableData;
use crate::transaction::FIRST;
use crate::writer::Writer;

/// Who has claimed a value: a commit, or null, a write of one key.
pub(super) struct Claim(AtomicPtr<Decision>);

impl Claim {
    fn is_of(&self, owner: *const Decision) -> bool {
        // Relaxed: compared only.
        std::ptr::eq(self.0.load(Ordering::Relaxed), owner)
    }
}

/// What is in the way of a claim.
enum Met<'g> {
    Nobody,
    Write,
    Commit(&'g Decision),
}

/// Values to be claimed, each by its index, the place of that.
type Values = SmallVec<[(usize, KeyBuf); 1]>;

/// Why values were not claimed.
pub(crate) enum Unclaimed {
    /// A commit is in the way that is not waited for.
    GaveUp,
    /// A key is there that was to be new.
    Failed,
    /// Another key has that of an object, by the index at a place.
    Taken {
        at: usize,
        object: Content,
        /// None if it is one to which the commit itself gives it.
        key: Option<KeyBytes>,
    },
}

/// Values that are claimed until this is dropped (CLAIMED).
pub(crate) struct Claims<'d> {
    of: &'d Secondaries,
    owner: *const Decision,
    values: Values,
}

impl Secondary {
    /// Claims a value, unless that is claimed.
    fn claim<'g>(&self, value: &[u8], owner: *const Decision, pin: &'g impl Guard) -> Met<'g> {
        let mut met = Met::Nobody;
        let put = || Action::Put(Claim(AtomicPtr::new(owner.cast_mut())));
        self.claims().compute(value, pin, |now| {
            met = Met::Nobody;
            let Some(claim) = now else { return put() };
            // PROTECT: pairs with the store in the map, which publishes the claim.
            let other = claim.0.load(PROTECT);
            // SAFETY: null, or retired after its claims were taken out of here (RECLAIM).
            match unsafe { other.as_ref() } {
                Some(commit) if commit.is_decided() => return put(),
                Some(_) if cfg!(fyris_mutant = "store_claim_stolen") => return put(),
                Some(commit) => met = Met::Commit(commit),
                None => met = Met::Write,
            }
            Action::Keep
        });
        met
    }

    fn unclaim(&self, value: &[u8], owner: *const Decision, pin: &impl Guard) {
        self.claims().compute(value, pin, |now| match now {
            // Another may have taken it over from a commit that was decided.
            Some(claim) if claim.is_of(owner) => Action::Remove,
            _ => Action::Keep,
        });
    }
}

impl<'d> Claims<'d> {
    fn new(of: &'d Secondaries, owner: *const Decision) -> Claims<'d> {
        Claims {
            of,
            owner,
            values: Values::new(),
        }
    }

    /// Claims one value more. Returns `false` if it gave up.
    fn claim(&mut self, at: usize, value: KeyBuf, patience: Patience, pin: &LocalGuard) -> bool {
        let (secondary, mut backoff) = (self.of.at(at), Backoff::new());
        loop {
            match secondary.claim(value.bytes(), self.owner, pin) {
                Met::Nobody => break,
                Met::Write => backoff.wait_long(),
                Met::Commit(commit) if self.goes_first() => {
                    if !commit.abort_unsealed() {
                        // Sealed: in a moment.
                        commit.wait();
                    }
                }
                Met::Commit(commit) => match patience {
                    Patience::Waits => commit.wait(),
                    Patience::GivesUp if backoff.is_long() => return false,
                    Patience::GivesUp => backoff.wait(),
                },
            }
        }
        self.values.push((at, value));
        true
    }

    /// Returns whether commits are aborted that are in the way: they may be waiting for the owner.
    fn goes_first(&self) -> bool {
        // SAFETY: null, or the commit whose claims these are, which outlives them.
        let owner = unsafe { self.owner.as_ref() };
        owner.is_none_or(|commit| commit.ticket() == FIRST)
    }

    fn has_all(&self, values: &Values) -> bool {
        let is_claimed = |(at, value): &(usize, KeyBuf)| {
            let mut mine = self.values.iter();
            mine.any(|(its, claimed)| its == at && claimed.bytes() == value.bytes())
        };
        values.iter().all(is_claimed)
    }

    fn release(&mut self) {
        let pin = pin();
        for (at, value) in self.values.drain(..) {
            let secondary = self.of.at(at);
            secondary.unclaim(value.bytes(), self.owner, &pin);
        }
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        if !self.values.is_empty() {
            self.release();
        }
    }
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Writes as [`TableData::write`] does, to a table with unique indexes. If another key has a value that this one is
    /// to get, nothing is written, and the writer is told.
    #[inline(never)]
    pub(crate) fn write_unique(&self, key: &K::Key, writer: &Writer<'_>, f: Decide<'_>) {
        let mut claims = Claims::new(&self.secondaries, std::ptr::null());
        loop {
            // With the slot protected `f` decides.
            // * It brings no value that is not claimed: that is written. The claims go when it can be read.
            // * It brings others: nothing is written. Out of the slot they are claimed, and `f` decides again, on what
            //   the key holds then.
            // * Another key has one of them: the write is refused, if its key still holds what `f` has seen. Both were
            //   so at the moment of the look at the other key.
            let (mut wanted, mut seen, mut offered) = (Values::new(), None, None);
            self.write_claimed(key, writer, &mut |old| {
                let change = f(old);
                (wanted, seen, offered) = (self.wanted(old, &change), old, None);
                match change {
                    Change::Put(new)
                        if !claims.has_all(&wanted)
                            && !cfg!(fyris_mutant = "store_values_unclaimed") =>
                    {
                        offered = Some(new);
                        Change::Keep
                    }
                    change => change,
                }
            });
            let Some(offered) = offered else { return };
            let Some(why) = self.claim(&mut claims, wanted, (key, offered), writer.pin) else {
                continue;
            };
            if self.get(key, writer.pin) == seen {
                writer.refuse(why);
                drop(NewRecord::unplaced(offered));
                return;
            }
        }
    }

    /// Returns the values that a change gives to its key, which has others.
    fn wanted(&self, old: Option<Content>, change: &Change) -> Values {
        let Change::Put(new) = *change else {
            debug_assert!(matches!(change, Change::Keep | Change::Remove), "a bag");
            return Values::new();
        };
        let (old, new) = (
            old.map(|old| newest(old, self.keypos)),
            newest(new, self.keypos),
        );
        let mut wanted = Values::new();
        for (at, secondary) in self.secondaries.unique() {
            let of = &secondary.definition;
            if old
                .as_ref()
                .is_some_and(|old| of.is_same_element(old, &new))
            {
                continue;
            }
            if let Some(value) = of.value_of(&new)
                && !old.as_ref().is_some_and(|old| of.has(old, value.bytes()))
            {
                wanted.push((at, value));
            }
        }
        wanted
    }

    /// Claims the values of an object that a write offers, in the place of those that were claimed before. Returns the
    /// error if another key has one of them; then nothing is claimed.
    fn claim(
        &self,
        claims: &mut Claims<'_>,
        wanted: Values,
        (key, offered): (&K::Key, Content),
        pin: &LocalGuard,
    ) -> Option<Error> {
        claims.release();
        for (at, value) in wanted {
            claims.claim(at, value, Patience::Waits, pin);
            let (_, value) = claims.values.last().expect("it was claimed");
            let is_its = |other: &[u8]| other == K::bytes(key);
            if self.key_with(at, value.bytes(), is_its, pin).is_some() {
                if !cfg!(fyris_mutant = "store_refused_claims_kept") {
                    claims.release();
                }
                return Some(self.not_unique(at, offered));
            }
        }
        None
    }

    /// Claims the values of all objects of a commit.
    pub(crate) fn claim_writes(
        &self,
        work: &Writes,
        commit: &Decision,
        patience: Patience,
    ) -> std::result::Result<Claims<'_>, Unclaimed> {
        let (mut claims, pin) = (Claims::new(&self.secondaries, commit), pin());
        if !self.secondaries.has_unique() {
            return Ok(claims);
        }
        // A list of new objects that fails anyhow is not refused: so it is asked before and after.
        let is_there = |key: &RecordPtr| self.get(self.key_of(*key), &pin).is_some();
        let fails = || work.terms[..] == [Terms::New] && work.keys.iter().any(is_there);
        if fails() {
            return Err(Unclaimed::Failed);
        }
        let mut all = self.secondaries.unique().map(|(at, _)| at);
        let done = all.try_for_each(|at| self.claim_all(at, work, &mut claims, patience, &pin));
        match done {
            Ok(()) => Ok(claims),
            Err(Unclaimed::Taken { .. }) if fails() => Err(Unclaimed::Failed),
            Err(unclaimed) => Err(unclaimed),
        }
    }

    /// Claims the values by one index.
    fn claim_all(
        &self,
        at: usize,
        work: &Writes,
        claims: &mut Claims<'_>,
        patience: Patience,
        pin: &LocalGuard,
    ) -> std::result::Result<(), Unclaimed> {
        let definition = &self.secondaries.at(at).definition;
        let of = |&content: &Content| {
            let value = definition.value_of(&newest(content, self.keypos))?;
            Some((value, content))
        };
        let mut values: Vec<_> = work.contents.iter().flatten().filter_map(of).collect();
        values.sort_by(|(one, _), (other, _)| one.bytes().cmp(other.bytes()));
        let is_same = |pair: &&[(KeyBuf, Content)]| pair[0].0.bytes() == pair[1].0.bytes();
        if let Some(twice) = values.windows(2).find(is_same) {
            let object = twice[1].1;
            return Err(Unclaimed::Taken {
                at,
                object,
                key: None,
            });
        }
        // What the commit itself writes is going to have the values that were compared here.
        let is_its = |key: &[u8]| {
            let keys = work.keys.binary_search_by(|of| self.bytes_of(*of).cmp(key));
            keys.is_ok()
        };
        for (value, object) in values {
            if !claims.claim(at, value, patience, pin) {
                return Err(Unclaimed::GaveUp);
            }
            let (_, value) = claims.values.last().expect("it was claimed");
            let key = self.key_with(at, value.bytes(), is_its, pin);
            if key.is_some() && !cfg!(fyris_mutant = "store_commit_repeats") {
                return Err(Unclaimed::Taken { at, object, key });
            }
        }
        Ok(())
    }

    /// Returns a key that has a value now, other than the caller's own.
    fn key_with(
        &self,
        at: usize,
        value: &[u8],
        is_its: impl Fn(&[u8]) -> bool,
        pin: &LocalGuard,
    ) -> Option<KeyBytes> {
        let secondary = self.secondaries.at(at);
        let (mut span, mut keys, mut more) = (Span::ALL, Vec::new(), true);
        while more {
            more = secondary.read(value, &mut span, false, EACH, pin, &mut keys);
            let has = |key: &KeyBytes| {
                !is_its(key) && self.has_value(at, value, self.get(K::from_bytes(key), pin))
            };
            // Entries of old objects and of commits under way are passed over.
            if let Some(found) = keys.drain(..).find(has) {
                return Some(found);
            }
        }
        None
    }

    fn has_value(&self, at: usize, value: &[u8], content: Option<Content>) -> bool {
        let of = &self.secondaries.at(at).definition;
        content.is_some_and(|content| of.has(&newest(content, self.keypos), value))
    }

    /// Returns whether a key held the value of an object at a moment.
    pub(crate) fn was_taken(
        &self,
        (at, object): (usize, Content),
        key: &[u8],
        moment: impl Moment,
        pin: &LocalGuard,
    ) -> bool {
        let of = &self.secondaries.at(at).definition;
        let value = of.value_of(&newest(object, self.keypos));
        let content = self.get_at(K::from_bytes(key), moment, pin);
        value.is_some_and(|value| self.has_value(at, value.bytes(), content))
    }

    /// Returns the error of a write of an object whose value another key has.
    pub(crate) fn not_unique(&self, at: usize, object: Content) -> Error {
        let of = &self.secondaries.at(at).definition;
        of.not_unique(&newest(object, self.keypos))
    }

    /// Returns the values that more than one key may have, each with the place of its index. O(n).
    pub(super) fn suspected(&self, pin: &LocalGuard) -> Vec<(usize, KeyBytes)> {
        let all = self.secondaries.unique().flat_map(|(at, secondary)| {
            let suspected = secondary.suspected(pin);
            suspected.into_iter().map(move |value| (at, value))
        });
        all.collect()
    }

    /// Returns the values of a key, each with the place of its index.
    pub(super) fn values_of(&self, key: &KeyBuf, pin: &LocalGuard) -> Vec<(usize, KeyBytes)> {
        let put = self.get(self.key(key), pin).map(Change::Put);
        let wanted = put.map(|put| self.wanted(None, &put)).unwrap_or_default();
        let value = |(at, value): (usize, KeyBuf)| (at, KeyBytes::from_slice(value.bytes()));
        wanted.into_iter().map(value).collect()
    }

    /// Returns the error of a content that nobody writes to, in which two keys have one of these values.
    pub(super) fn repeated(&self, values: &[(usize, KeyBytes)], pin: &LocalGuard) -> Option<Error> {
        values.iter().find_map(|(at, value)| {
            let first = self.key_with(*at, value, |_| false, pin)?;
            let second = self.key_with(*at, value, |key| *key == *first, pin)?;
            let object = self.get(K::from_bytes(&second), pin)?;
            Some(self.not_unique(*at, object))
        })
    }
}
