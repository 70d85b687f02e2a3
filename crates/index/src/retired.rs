//! Pairs that a map has put out and that wait to be freed.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use fyris_sync::reclaim::{Guard, free_waiting};

/// The part of a map that sees pairs off. When it goes, and the map with it, so does what waits in the bag of a thread
/// that is not pinned.
pub struct Retired<K: ?Sized, V> {
    /// The map has put a pair out. The standard library's atomic, also in models: it orders nothing.
    any: AtomicBool,
    weigher: Option<fn(&K, &V) -> usize>,
}

impl<K: ?Sized, V> Retired<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            any: AtomicBool::new(false),
            weigher: None,
        }
    }

    /// Weighs pairs by this function from now on.
    pub(crate) fn weigh_by(&mut self, weigher: fn(&K, &V) -> usize) {
        self.weigher = Some(weigher);
    }

    /// Notes a pair that is about to be retired.
    #[inline]
    pub(crate) fn note(&self, key: &K, value: &V, pin: &impl Guard) {
        // Relaxed, both: the drop of the map is ordered after them. Looked at first, as readers read the line.
        if !self.any.load(Ordering::Relaxed) {
            self.any.store(true, Ordering::Relaxed);
        }
        if let Some(weigher) = self.weigher {
            pin.weigh(weigher(key, value));
        }
    }
}

impl<K: ?Sized, V> Drop for Retired<K, V> {
    fn drop(&mut self) {
        if !*self.any.get_mut() || cfg!(fyris_mutant = "map_leaves_garbage") {
            return;
        }
        // A value's drop that panics beside a panic would end the process.
        if std::thread::panicking() {
            let _ = catch_unwind(free_waiting);
        } else {
            free_waiting();
        }
    }
}
