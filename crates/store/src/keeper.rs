//! Keepers: what objects hold outside the store.
//!
//! A binding may have terms that are only good while something else lives, such as references to resources of
//! the Erlang machine. An object with one of them brings a *keeper* along: a blob that no value refers to and
//! that lives as long as a record of the object. The binding says once how keepers are told from other blobs, and is told
//! of each record that comes to hold one, and goes.
//!
//! Both calls may come on any thread, also while a slot is protected: they must be short and must not use the store.

use std::sync::{Arc, OnceLock};

/// What a binding does about keepers.
#[derive(Clone, Copy, Debug)]
pub struct Keepers {
    /// Whether these bytes are a keeper's: cheap, since every large binary that is freed is asked.
    pub is_keeper: fn(&[u8]) -> bool,
    /// One more record holds it.
    pub retain: fn(&[u8]),
    /// A record that held it is freed.
    pub release: fn(&[u8]),
}

static KEEPERS: OnceLock<Keepers> = OnceLock::new();

/// Says what is to be done about keepers in this process; only the first call counts.
pub fn set_keepers(keepers: Keepers) {
    KEEPERS.get_or_init(|| keepers);
}

/// Tells the binding that the keepers among the blobs of a record go.
pub(crate) fn release_all(blobs: &[Arc<[u8]>]) {
    if let Some(keepers) = KEEPERS.get() {
        let held = blobs.iter().filter(|blob| (keepers.is_keeper)(blob));
        held.for_each(|blob| (keepers.release)(blob));
    }
}

/// Lets a copy of a record hold what the record holds.
pub(crate) fn inherit(old: &[Arc<[u8]>], new: &mut Vec<Arc<[u8]>>) {
    if let Some(keepers) = KEEPERS.get() {
        for blob in old.iter().filter(|blob| (keepers.is_keeper)(blob)) {
            (keepers.retain)(blob);
            new.push(blob.clone());
        }
    }
}
