//! `judysl`, `judyesl` and `judyeh`: a Judy array under one reader-writer lock ([`Locked`]).
//!
//! What names a key takes a step for each byte of it that tells keys apart, and so do `slot`, `nth` and `count`.

use std::marker::PhantomData;

use fyris_classic::Locked;
use fyris_index::plug::{DynIndex, DynOrderedIndex, Features, IndexFactory, PlugEntry};
use fyris_index::{Build, IndexOptions};

use crate::{JudyEntries, JudyHashes, Split};

/// Makes Judy arrays of keys that `S` cuts into words, under one lock: `{index, judysl}` and `{index, judyesl}`. They
/// are ordered.
pub struct LockedStrings<S>(PhantomData<fn() -> S>);

impl<S> LockedStrings<S> {
    /// Makes the factory.
    #[expect(clippy::new_without_default, reason = "a factory, not a value")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

// SAFETY: as for `fyris_classic::locked::LockedTrees`.
unsafe impl<S: Split> IndexFactory for LockedStrings<S> {
    fn features(&self) -> Features {
        Features::ALL.without_bucket_locks()
    }

    fn build<E: PlugEntry>(&self, _: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        None
    }

    fn build_ordered<E: PlugEntry>(
        &self,
        options: &IndexOptions,
    ) -> Option<Box<dyn DynOrderedIndex<E>>> {
        Some(Box::new(Locked::<JudyEntries<E, S>>::build(options)))
    }
}

/// Makes Judy arrays of hash values under one lock: `{index, judyeh}`. They are unordered.
pub struct LockedHashes;

// SAFETY: as for `fyris_classic::locked::LockedTrees`.
unsafe impl IndexFactory for LockedHashes {
    fn features(&self) -> Features {
        Features::ALL.without_bucket_locks()
    }

    fn build<E: PlugEntry>(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        Some(Box::new(Locked::<JudyHashes<E>>::build(options)))
    }
}
