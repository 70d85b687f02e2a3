//! Construction of records.

use std::cell::Cell;

use fyris_sync::reclaim::{self, Guard};
use fyris_term::key::KeyBuf;
use fyris_term::{Blob, Term, value};

use super::{MAX_ARITY, Object, Parts, RecordPtr, brief, inline};
use crate::error::{Error, Result};
use crate::resource_ref;
use crate::slot::Content;

/// An object that no table has yet: freed if it is dropped.
pub(crate) struct NewRecord(pub(super) Content);

impl NewRecord {
    /// Makes a record of the gathered parts, or an inline object if it is small enough.
    #[inline]
    fn new(parts: Parts<'_>, blobs: &mut Vec<Blob>) -> NewRecord {
        let word = if blobs.is_empty() {
            inline::pack(&parts)
        } else {
            None
        };
        NewRecord(match word {
            Some(word) => Content::word(word),
            None => Content::one(RecordPtr::new(parts, blobs)),
        })
    }

    /// Returns the inline object of two integers, the first one the key, if it is small enough.
    #[inline]
    pub(crate) fn of_ints((key, value): (i64, i64)) -> Option<NewRecord> {
        inline::pack_ints(key, value).map(|word| NewRecord(Content::word(word)))
    }

    /// Makes the object that has the key of a record and nothing else. The caller holds the record.
    pub(crate) fn of_key(record: RecordPtr) -> NewRecord {
        // SAFETY: the caller's promise.
        let (key, trailer, rest) = unsafe { record.key_parts() };
        let parts = Parts {
            arity: 1,
            key,
            trailer,
            rest,
            values: &[],
        };
        NewRecord::new(parts, &mut Vec::new())
    }

    /// Makes the same object as a single one that is stored. The caller is pinned.
    pub(crate) fn copy_of(content: Content) -> NewRecord {
        NewRecord(match content.is_inline() {
            true => content,
            false => match content.newest().word() {
                Some(word) => Content::word(word),
                None => Content::one(content.newest().copied_with_keepers()),
            },
        })
    }

    /// Returns the record, still owned here. The caller is pinned for as long as it uses it (VIEW).
    #[inline]
    pub(crate) fn ptr(&self) -> RecordPtr {
        self.0.newest()
    }

    /// Returns the content for a slot.
    #[inline]
    pub(crate) fn content(&self) -> Content {
        self.0
    }

    /// Returns the object that was given up to a write which has not placed it.
    pub(crate) fn unplaced(content: Content) -> NewRecord {
        NewRecord(content)
    }

    /// Gives it up: a slot owns it now.
    #[inline]
    pub(crate) fn publish(self) -> Content {
        let content = self.0;
        std::mem::forget(self);
        content
    }

    /// Gives it up to a write, and returns what that returns: whether a slot owns it now.
    ///
    /// It is given up before: where the write panics, at what a binding does about the record that goes, a slot may own
    /// it already.
    #[inline]
    pub(crate) fn publish_by(self, write: impl FnOnce(Content) -> bool) -> bool {
        let content = self.publish();
        let done = write(content);
        if !done && !cfg!(fyris_mutant = "store_unplaced_kept") {
            drop(NewRecord::unplaced(content));
        }
        done
    }

    /// Returns the same object as a block, for a bag.
    pub(crate) fn into_block(self) -> NewRecord {
        if !self.0.is_inline() {
            return self;
        }
        let _pin = reclaim::pin();
        NewRecord(Content::one(self.ptr().copied()))
    }

    /// Gives up a block.
    pub(crate) fn publish_block(self) -> RecordPtr {
        self.into_block().publish().newest()
    }
}

impl Drop for NewRecord {
    fn drop(&mut self) {
        // An inline object owns nothing.
        if self.0.is_inline() {
            return;
        }
        // SAFETY: never published.
        if unsafe { self.0.newest().free() } {
            reclaim::pin().flush_on_drop();
        }
    }
}

/// Buffers for the parts of a record, before the one allocation that holds them.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) key: KeyBuf,
    pub(crate) values: Vec<u8>,
    pub(crate) blobs: Vec<Blob>,
}

/// Scratch memory larger than this is given back after use.
const KEEP: usize = 1 << 16;

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Runs `f` on this thread's scratch memory, or on fresh one inside another `with_scratch`.
pub(crate) fn with_scratch<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = SCRATCH
        .try_with(Cell::take)
        .ok()
        .flatten()
        .unwrap_or_default();
    let result = f(&mut scratch);
    if scratch.values.capacity() <= KEEP && scratch.blobs.is_empty() {
        // A thread that is ending has no place for it any more; then it is dropped.
        let _ = SCRATCH.try_with(|place| place.set(Some(scratch)));
    }
    result
}

impl Scratch {
    /// Makes the record of the key and values that were gathered.
    pub(crate) fn finish(&mut self, arity: usize) -> Result<NewRecord> {
        let record = self.finished(arity);
        if record.is_err() {
            resource_ref::give_up_all(&self.blobs);
        }
        record
    }

    #[inline]
    fn finished(&mut self, arity: usize) -> Result<NewRecord> {
        let size = self.key.stored().len() + self.values.len();
        if arity > MAX_ARITY || size > u32::MAX as usize {
            return Err(Error::ObjectTooLarge(size));
        }
        let parts = Parts {
            arity,
            key: self.key.bytes(),
            trailer: self.key.trailer().len(),
            rest: self.key.rest(),
            values: &self.values,
        };
        Ok(NewRecord::new(parts, &mut self.blobs))
    }
}

/// Returns the elements of an object that is fit for a table with this key position.
pub(crate) fn elements(object: &Term, keypos: usize) -> Result<&[Term]> {
    let Term::Tuple(elements) = object else {
        return Err(Error::NotATuple(brief(object)));
    };
    if elements.len() < keypos {
        return Err(Error::BadKeyPosition {
            keypos,
            arity: elements.len(),
        });
    }
    Ok(elements)
}

/// Returns a copy of `old` with some elements replaced: pairs of position and value, the last one of a
/// position counts. None is the key's.
pub(crate) fn edited(old: RecordPtr, keypos: usize, edits: &[(usize, Term)]) -> Result<NewRecord> {
    with_scratch(|scratch| {
        let Scratch { values, blobs, .. } = scratch;
        values.clear();
        blobs.clear();
        copy_edited(old, keypos, edits, values, blobs)?;
        if resource_ref::any() {
            keep_edited(old, keypos, edits, blobs);
        }
        with_values(old, values, blobs).inspect_err(|_| resource_ref::give_up_all(blobs))
    })
}

/// Lets a copy of `old` hold what it refers to: the elements that stay may do so only if `old` held something.
fn keep_edited(old: RecordPtr, keypos: usize, edits: &[(usize, Term)], blobs: &mut Vec<Blob>) {
    // SAFETY: the caller holds `old`.
    let has_blobs = unsafe { !old.blobs().is_empty() };
    let old_object = object(old, keypos);
    for position in 1..=old.arity() {
        if let Some((_, new)) = edits.iter().rev().find(|(p, _)| *p == position) {
            resource_ref::keep(new, blobs);
        } else if has_blobs && let Some(stays) = old_object.element(position) {
            resource_ref::keep(&stays, blobs);
        }
    }
}

/// Returns a copy of `old` with other values, and these blobs.
pub(super) fn with_values(
    old: RecordPtr,
    values: &[u8],
    blobs: &mut Vec<Blob>,
) -> Result<NewRecord> {
    // SAFETY: the caller holds `old`.
    let (key, trailer, rest) = unsafe { old.key_parts() };
    let size = key.len() + rest.len() + values.len();
    if size > u32::MAX as usize {
        return Err(Error::ObjectTooLarge(size));
    }
    let parts = Parts {
        arity: old.arity(),
        key,
        trailer,
        rest,
        values,
    };
    Ok(NewRecord::new(parts, blobs))
}

fn copy_edited(
    old: RecordPtr,
    keypos: usize,
    edits: &[(usize, Term)],
    values: &mut Vec<u8>,
    blobs: &mut Vec<Blob>,
) -> Result<()> {
    // SAFETY: the caller holds `old`.
    let (mut rest, old_blobs) = unsafe { (old.values(), old.blobs()) };
    for position in (1..=old.arity()).filter(|&p| p != keypos) {
        let start = rest;
        value::skip(&mut rest).expect("values were encoded by this process");
        let mut bytes = &start[..start.len() - rest.len()];
        if let Some((_, new)) = edits.iter().rev().find(|(p, _)| *p == position) {
            value::encode(new, values, blobs);
        } else if old_blobs.is_empty() {
            values.extend_from_slice(bytes);
        } else {
            // Blobs are numbered within the record, so a value that has some is written anew.
            let term = value::decode(&mut bytes, old_blobs).expect("as above");
            value::encode(&term, values, blobs);
        }
    }
    Ok(())
}

/// Returns the tuple of a default object with `key` in its key field.
pub(crate) fn with_key(default: &Term, keypos: usize, key: &Term) -> Result<Vec<Term>> {
    let mut elements = elements(default, keypos)?.to_vec();
    elements[keypos - 1] = key.clone();
    Ok(elements)
}

/// Returns an object of a live record; the caller holds the record for as long as it uses the object.
pub(crate) fn object<'g>(record: RecordPtr, keypos: usize) -> Object<'g> {
    // SAFETY: the caller's promise; every caller is inside a pin.
    unsafe { Object::new(record, keypos) }
}

/// Returns the newest object of a key; as [`object`].
#[inline]
pub(crate) fn newest<'g>(content: Content, keypos: usize) -> Object<'g> {
    // SAFETY: the caller's promise; every caller is inside a pin.
    unsafe { Object::newest(content, keypos) }
}
