//! ResourceRefs: what objects hold outside the store.
//!
//! A binding may have terms that are only good while something else lives, such as references to resources of the
//! Erlang machine. An object with one of them brings a *keeper* along: a blob that no value refers to and that lives as
//! long as a record of the object. The binding says once how keepers are told from other blobs, and is told of each
//! record that holds one and goes.
//!
//! An object that the binding writes itself gets its keepers from it
//! ([`ObjectWriter::keep`](crate::ObjectWriter::keep)). Of objects that are made here, out of a [`Term`] or by a change
//! of an element, the binding is asked which of their references have keepers. So an object holds what it refers to,
//! and nothing that it referred to once.
//!
//! The data of a table's heir hold what they refer to in the same way ([`HeldTerm`]).
//!
//! All calls may come on any thread, also while a slot is protected: they must be short and must not use the store.

use std::sync::OnceLock;

use fyris_sync::reclaim::{self, Guard};
use fyris_term::{Blob, Reference, Term};

/// The functions of a binding for keepers.
#[derive(Clone, Copy, Debug)]
pub struct ResourceRefs {
    /// Whether these bytes are a keeper's: cheap, since every large binary of Rust that is freed is asked.
    pub is_resource_ref: fn(&[u8]) -> bool,
    /// Whether any reference has a keeper now: cheap, since every object that is made here is asked.
    pub any: fn() -> bool,
    /// The keeper of a reference, if it has one, for one more record to hold.
    pub find: fn(&Reference) -> Option<Blob>,
    /// The keeper of what this keeper keeps, for one more record to hold. The caller is pinned since a record that
    /// holds it could be found.
    pub again: fn(&[u8]) -> Option<Blob>,
    /// A record that held it is retired, or freed without having been published: no thread reads the record under a
    /// pin that is made from now on. Called once for each record, before `release`. Returns whether the keeper's own
    /// memory was retired, and is not to wait for other garbage. It must not panic: what it was told of would never be
    /// freed, and the table's account of memory would be off.
    pub retire: fn(&[u8]) -> bool,
    /// A record that held it is freed: no thread reads it any more.
    pub release: fn(&[u8]),
}

static KEEPERS: OnceLock<ResourceRefs> = OnceLock::new();

/// Says what is to be done about keepers in this process; only the first call counts.
pub fn set_resource_refs(keepers: ResourceRefs) {
    KEEPERS.get_or_init(|| keepers);
}

/// Tells the binding that a record with these blobs is retired; returns whether the collector is to be flushed.
pub(crate) fn retire_all(blobs: &[Blob]) -> bool {
    of(blobs).fold(false, |flush, (keepers, blob)| {
        (keepers.retire)(blob) || flush
    })
}

/// Tells the binding that a record with these blobs, which was retired, is freed.
pub(crate) fn release_all(blobs: &[Blob]) {
    of(blobs).for_each(|(keepers, blob)| (keepers.release)(blob));
}

/// Tells the binding that there will be no record with these blobs.
pub(crate) fn give_up_all(blobs: &[Blob]) {
    let flush = retire_all(blobs);
    release_all(blobs);
    if flush {
        reclaim::pin().flush_on_drop();
    }
}

/// Returns the keepers among the blobs of a record, each with the functions of the binding.
fn of(blobs: &[Blob]) -> impl Iterator<Item = (&ResourceRefs, &[u8])> {
    let keepers = KEEPERS.get().into_iter();
    keepers.flat_map(move |keepers| {
        let held = blobs.iter().filter(|blob| is_keeper(keepers, blob));
        held.map(move |blob| (keepers, &**blob))
    })
}

/// Returns whether a blob is a keeper: those that a binding makes are bytes of Rust.
#[inline]
fn is_keeper(keepers: &ResourceRefs, blob: &Blob) -> bool {
    !blob.is_foreign() && (keepers.is_resource_ref)(blob)
}

/// Lets a copy of a record, of which these are the blobs, hold what the record does.
pub(crate) fn hold_again(blobs: &mut [Blob]) {
    let Some(keepers) = KEEPERS.get() else {
        return;
    };
    for blob in blobs.iter_mut().filter(|blob| is_keeper(keepers, blob)) {
        if let Some(held) = (keepers.again)(blob) {
            *blob = held;
        }
    }
}

/// Returns the blobs that values refer to: keepers come behind them.
pub(crate) fn without(blobs: &[Blob]) -> &[Blob] {
    let Some(keepers) = KEEPERS.get() else {
        return blobs;
    };
    let first = blobs.iter().position(|blob| is_keeper(keepers, blob));
    first.map_or(blobs, |first| &blobs[..first])
}

/// Returns whether objects that are made now may need keepers.
pub(crate) fn any() -> bool {
    KEEPERS.get().is_some_and(|keepers| (keepers.any)())
}

/// Lets a record that is being made hold what a term in it refers to: the last thing to be written, when nothing can
/// fail any more. O(size).
pub(crate) fn keep(term: &Term, blobs: &mut Vec<Blob>) {
    if let Some(keepers) = KEEPERS.get() {
        each_reference(term, &mut |reference| {
            blobs.extend((keepers.find)(reference))
        });
    }
}

/// A term beside the objects of a table, such as the data of an heir, that holds what it refers to.
pub(crate) struct HeldTerm {
    term: Term,
    keepers: Vec<Blob>,
}

impl HeldTerm {
    /// Holds what has keepers now.
    pub(crate) fn new(term: &Term) -> HeldTerm {
        let mut keepers = Vec::new();
        if any() {
            keep(term, &mut keepers);
        }
        HeldTerm {
            term: term.clone(),
            keepers,
        }
    }

    pub(crate) fn term(&self) -> &Term {
        &self.term
    }
}

impl Drop for HeldTerm {
    fn drop(&mut self) {
        give_up_all(&self.keepers);
    }
}

/// Shows `see` the references in a term, those in what funs have captured too. O(size).
pub fn each_reference(term: &Term, see: &mut dyn FnMut(&Reference)) {
    term.each(|part| {
        if let Term::Reference(reference) = part {
            see(reference);
        }
    });
}
