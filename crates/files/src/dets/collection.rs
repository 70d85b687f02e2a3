//! A collection, taken apart: the objects in it, one at a time.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use fyris_term::Term;

use super::header::{Header, word};
use super::{DetsType, header};
use crate::{Inflated, phash2};

/// Bytes of a collection's head: size and mark.
pub(super) const HEAD: usize = 8;
/// Marks a collection that is in use.
pub(super) const ACTIVE: u32 = 0x1234_5678;
/// Bytes of the size before an object, or before the objects of a key.
const SIZE: usize = 4;

/// An object that is not as it was written: its place in the collection, and what is wrong.
pub(super) type Wrong = (usize, String);

/// The bytes of a collection, and how far they have been read.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) bytes: Vec<u8>,
    /// The next object, or key of a bag.
    at: usize,
    /// The end of the objects of the present key of a bag.
    group_end: usize,
    /// The hash of the present key, when an object of it has been read.
    group: Option<Option<u32>>,
    /// The keys so far, where there are several.
    keys: HashSet<Term>,
    /// The objects of the present key of a bag, by the hashes of their bytes.
    objects: HashMap<u64, Range<usize>>,
    /// An object that is given next; it has been told that it belongs to another slot.
    misplaced: Option<Term>,
    hasher: RandomState,
    inflated: Inflated,
}

impl Collection {
    /// No objects.
    pub(super) fn none() -> Collection {
        Collection {
            bytes: Vec::new(),
            at: 0,
            group_end: 0,
            group: None,
            keys: HashSet::new(),
            objects: HashMap::new(),
            misplaced: None,
            hasher: RandomState::new(),
            inflated: header::decoder(),
        }
    }

    /// Begins with the first object of the present bytes.
    pub(super) fn rewind(&mut self) {
        self.at = HEAD;
        self.group_end = 0;
        self.group = None;
        self.keys.clear();
        self.objects.clear();
        self.misplaced = None;
        self.inflated = header::decoder();
    }

    /// Returns the next object. One that does not belong to `slot`, if one is given, is told before it is given: dets
    /// does not find it by its key. What is wrong with a size ends the collection, what is wrong with an object does
    /// not.
    pub(super) fn next(
        &mut self,
        header: &Header,
        slot: Option<u32>,
    ) -> Option<Result<Term, Wrong>> {
        if let Some(object) = self.misplaced.take() {
            return Some(Ok(object));
        }
        if self.at >= self.bytes.len() {
            return None;
        }
        if header.info.table_type == DetsType::Set {
            self.group_end = self.bytes.len();
            self.group = None;
        } else if self.at >= self.group_end {
            self.group_end = match self.sized(self.at, self.bytes.len()) {
                Ok(end) => end,
                Err(wrong) => return self.end(wrong),
            };
            self.at += SIZE;
            self.group = None;
            self.objects.clear();
        }
        let from = self.at;
        match self.sized(from, self.group_end) {
            Ok(end) => self.at = end,
            Err(wrong) => return self.end(wrong),
        }
        let object = self.object(from + SIZE, header);
        Some(object.and_then(|(object, hash)| {
            self.check_key(&object, hash, header)
                .and_then(|()| self.check_new(from, header, slot))
                .map_err(|why| (from, format!("this object is left out: {why}")))?;
            match (slot, hash) {
                (Some(slot), Some(hash)) if header.slot(hash) != slot => {
                    self.misplaced = Some(object);
                    let why = format!("the key of this object belongs to another slot than {slot}");
                    Err((from, why))
                }
                _ => Ok(object),
            }
        }))
    }

    /// Returns the end of what begins with its size at `at`; it has something in it, and ends at `most` or before.
    fn sized(&self, at: usize, most: usize) -> Result<usize, Wrong> {
        let end = (at + SIZE <= most)
            .then(|| at.saturating_add(word(&self.bytes, at) as usize))
            .filter(|&end| end > at + SIZE && end <= most);
        end.ok_or_else(|| {
            let why = "this size does not fit into its collection, whose objects from here on are left out";
            (at, why.to_owned())
        })
    }

    fn end(&mut self, wrong: Wrong) -> Option<Result<Term, Wrong>> {
        self.at = self.bytes.len();
        Some(Err(wrong))
    }

    /// Decodes the object from `from` to where the next one begins, with the hash of its key.
    fn object(&mut self, from: usize, header: &Header) -> Result<(Term, Option<u32>), Wrong> {
        let bytes = &self.bytes[from..self.at];
        let wrong = |why: String| (from, format!("this object is left out: {why}"));
        let read = self.inflated.decode(bytes, self.at as u64);
        let (object, used) = read.map_err(|error| wrong(format!("it does not decode: {error}")))?;
        if used != bytes.len() {
            return Err(wrong("there are bytes behind it".to_owned()));
        }
        let key = key(&object, header).ok_or_else(|| wrong("it has no key".to_owned()))?;
        let hash = header.phash2.then(|| phash2(key)).flatten();
        Ok((object, hash))
    }

    /// Checks that the key is that of the objects before it if they have one, and else a new one.
    fn check_key(
        &mut self,
        object: &Term,
        hash: Option<u32>,
        header: &Header,
    ) -> Result<(), String> {
        if let Some(of_others) = self.group {
            return match of_others == hash {
                true => Ok(()),
                false => Err("its key is not that of the others here".to_owned()),
            };
        }
        self.group = Some(hash);
        let alone = self.keys.is_empty() && self.at == self.bytes.len();
        let new = alone || key(object, header).is_some_and(|key| self.keys.insert(key.clone()));
        match new {
            true => Ok(()),
            false => Err("its key has been here before".to_owned()),
        }
    }

    /// Checks that the object of a closed bag, which begins with its size at `from`, is not there twice.
    fn check_new(&mut self, from: usize, header: &Header, slot: Option<u32>) -> Result<(), String> {
        if header.info.table_type != DetsType::Bag || slot.is_none() {
            return Ok(());
        }
        let object = from..self.at;
        let hash = self.hasher.hash_one(&self.bytes[object.clone()]);
        let before = self.objects.insert(hash, object.clone());
        match before.is_some_and(|before| self.bytes[before] == self.bytes[object]) {
            true => Err("it has been here before".to_owned()),
            false => Ok(()),
        }
    }
}

fn key<'t>(object: &'t Term, header: &Header) -> Option<&'t Term> {
    object.as_tuple()?.get(header.info.keypos - 1)
}
