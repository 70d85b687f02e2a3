//! The list of those that take part.

use std::any::Any;

use super::case::Case;
use super::pass;
use super::subject::Subject;
use super::workload::Workload;
use crate::error::BenchError;
use crate::report::Timing;

type RunPass<K> = fn(&str, &Workload<K>, &[Case]) -> Result<Vec<(Case, Timing)>, BenchError>;

/// A subject with its type forgotten: what a registry lists.
pub struct Contender<K> {
    /// `fyris`, `harness`, or the peer's name.
    pub name: &'static str,
    /// The name of the index, on the lines of Fyris.
    pub index: Option<&'static str>,
    /// The object that is stored for a key, on the lines of the store: `{K}` or `{K, V}`.
    pub object: Option<&'static str>,
    /// Whether it takes part in runs of several threads.
    pub(super) concurrent: bool,
    pub(super) run: RunPass<K>,
    pub(super) fill: fn(&mut dyn Iterator<Item = K>) -> Box<dyn Any>,
}

impl<K: Sync + 'static> Contender<K> {
    /// Makes a peer.
    pub fn peer<S: Subject<K>>(name: &'static str) -> Self {
        Self {
            name,
            index: None,
            object: None,
            concurrent: S::CONCURRENT,
            run: pass::run::<K, S>,
            fill: fill::<K, S>,
        }
    }

    /// Returns one of Fyris's own indexes.
    pub fn own<S: Subject<K>>(index: &'static str) -> Self {
        Self {
            index: Some(index),
            ..Self::peer::<S>("fyris")
        }
    }

    /// Makes a table of the store.
    pub fn table<S: Subject<K>>(index: &'static str, object: &'static str) -> Self {
        Self {
            object: Some(object),
            ..Self::own::<S>(index)
        }
    }
}

impl<K> Contender<K> {
    /// Returns the names by which it can be asked for: its own, and that of its index.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        [Some(self.name), self.index].into_iter().flatten()
    }

    /// Returns the name with what tells it from others of that name: `fyris hash {K, V}`.
    pub fn label(&self) -> String {
        [Some(self.name), self.index, self.object]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

fn fill<K: Sync + 'static, S: Subject<K>>(keys: &mut dyn Iterator<Item = K>) -> Box<dyn Any> {
    let subject = S::new();
    for (value, key) in keys.enumerate() {
        subject.insert(&key, value as u64);
    }
    Box::new(subject)
}
