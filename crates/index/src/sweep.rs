//! Sweeps: long stretches of an index read in large batches.
//!
//! # Why
//!
//! [`Index::next_batch`] hands out a leaf or a bucket, in order, and finds its place anew each time. A scan of a large
//! table wants hundreds of entries a step, without a look at what they name: that memory it asks for itself, some
//! entries ahead of the one it looks at, so that the misses overlap with its work. It does not need the order of
//! hashes.
//!
//! # What a sweep promises
//!
//! It appends the entries between two bounds of the index's own order: that of keys, or that of hashes. All of them if
//! it answers `false`; otherwise at least as many as wanted, and the last one appended is a place to go on from: every
//! entry at or before it in the index's order has been appended, none behind it has. What is there throughout
//! several sweeps is appended exactly once.

use std::ops::Bound;

use fyris_sync::reclaim::Pin;

use crate::{Batch, Entry, Index};

/// Two bounds in the index's own order.
pub type Stretch<'k, K> = (Bound<&'k K>, Bound<&'k K>);

/// An index that can be read in long stretches.
pub trait Sweep<E: Entry>: Index<E> {
    /// Appends the entries of a stretch, from its beginning: see the [module](self). In an
    /// [`OrderedSweep`] they come in the order of keys, each leaf as it was at one moment.
    ///
    /// No lock, no shared write. O(what is appended), plus one descent.
    fn sweep(
        &self,
        stretch: Stretch<'_, E::Key>,
        want: usize,
        pin: &impl Pin,
        out: &mut Batch<E>,
    ) -> bool;

    /// Appends entries, fewer than `parts` and in the index's order, whose keys cut the index into `parts` of about
    /// the same size; fewer when there is too little to cut. O(parts), plus inner nodes.
    fn split(&self, parts: usize, pin: &impl Pin, out: &mut Batch<E>);
}

/// A sweep in the order of keys.
pub trait OrderedSweep<E: Entry>: Sweep<E> {
    /// As [`Sweep::sweep`], from the end of the stretch, downwards.
    fn sweep_back(
        &self,
        stretch: Stretch<'_, E::Key>,
        want: usize,
        pin: &impl Pin,
        out: &mut Batch<E>,
    ) -> bool;

    /// Which part of the index, from 0 to 1, lies below the bound: a guess from one descent, that takes the children
    /// of a node to be equally full.
    fn share_below(&self, bound: Bound<&E::Key>, pin: &impl Pin) -> f64;
}
