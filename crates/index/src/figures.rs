//! What an index reports: its locks, its shape, and contention.

use fyris_sync::reclaim::Guard;

use crate::catree::Stats;
use crate::table_lock::{TableLock, kind};
use crate::{Batch, Entry, Index};

/// A number or a word that an index reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A word, as the kind of a lock.
    Word(&'static str),
    /// A count.
    Count(u64),
    /// A mean, or a deviation.
    Real(f64),
}

/// What an index reports, by name, in an order that is good to read. While threads write, each figure is of a moment of
/// its own.
///
/// | names | what | of |
/// |---|---|---|
/// | `lock` | `normal`, `freq_r` with reader groups, or `exclusive` if readers take it alone | the table lock; each base node's |
/// | `conflicts` | times that the table lock was not free for a thread | the table lock |
/// | `reader_groups` | groups of each lock of the kind `freq_r` | all with such locks |
/// | `bucket_locks`, `bucket_lock`, `bucket_conflicts` | their number now, their kind, their conflicts since the table was made | bucket locks |
/// | `buckets`, `min_length`, `max_length`, `mean_length` | entries of a bucket | hash tables |
/// | `deviation`, `expected_deviation` | the standard deviation of the lengths, and the one of evenly spread hashes | hash tables |
/// | `depth` | levels, where the tree knows them | trees |
/// | `levels` | levels that lookups begin with | skip lists |
/// | `base_nodes`, `conflicts` | their number, and times that the lock of one was not free | contention adapting trees |
/// | `routing_nodes`, `routing_layers` | inner nodes, and levels of them | contention adapting trees |
/// | `contention_splits`, `contention_joins`, `size_splits`, `size_joins`, `rebuilds` | since the table was made | contention adapting trees |
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(&'static str, Figure)>);

impl Figures {
    /// Makes an empty list.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a figure at the end.
    #[must_use]
    pub fn with(mut self, name: &'static str, figure: Figure) -> Self {
        self.0.push((name, figure));
        self
    }

    /// Adds a word at the end.
    #[must_use]
    pub fn word(self, name: &'static str, word: &'static str) -> Self {
        self.with(name, Figure::Word(word))
    }

    /// Adds a count at the end.
    #[must_use]
    pub fn count(self, name: &'static str, count: u64) -> Self {
        self.with(name, Figure::Count(count))
    }

    /// Adds a count at the end, if it is known.
    #[must_use]
    pub fn known(self, name: &'static str, count: Option<usize>) -> Self {
        match count {
            Some(count) => self.count(name, count as u64),
            None => self,
        }
    }

    /// Returns the figure of this name.
    pub fn get(&self, name: &str) -> Option<Figure> {
        let found = self.0.iter().find(|(known, _)| *known == name)?;
        Some(found.1)
    }

    /// Returns all of them in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Figure)> + '_ {
        self.0.iter().copied()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the table lock's.
    #[must_use]
    pub fn table_lock<T>(self, lock: &TableLock<T>) -> Self {
        let groups = lock.reader_groups();
        self.word("lock", kind(groups))
            .known("reader_groups", groups)
            .count("conflicts", lock.conflicts())
    }

    /// Adds the lengths of an index's buckets, if it reports any: those of [`Index::slot`]. O(entries).
    #[must_use]
    pub fn lengths<E: Entry>(self, index: &impl Index<E>, pin: &impl Guard) -> Self {
        if self.get("buckets").is_none() {
            return self;
        }
        let mut lengths = Lengths::default();
        let mut batch = Batch::new();
        for slot in 0..index.slots() {
            batch.clear();
            index.slot(slot, pin, &mut batch);
            lengths.add(batch.len() as u64);
        }
        lengths.tell(self)
    }

    /// Adds those of a contention adapting tree.
    #[must_use]
    pub fn adapting(self, stats: &Stats) -> Self {
        self.count("base_nodes", stats.leaves as u64)
            .count("routing_nodes", stats.inner_nodes as u64)
            .count("routing_layers", stats.depth.saturating_sub(1) as u64)
            .count("conflicts", stats.conflicts)
            .count("contention_splits", stats.contention_splits)
            .count("contention_joins", stats.contention_joins)
            .count("size_splits", stats.size_splits)
            .count("size_joins", stats.size_joins)
            .count("rebuilds", stats.rebuilds)
    }
}

/// Sums over the lengths of buckets.
#[derive(Default)]
struct Lengths {
    buckets: u64,
    least: Option<u64>,
    most: u64,
    sum: u64,
    squares: u64,
}

impl Lengths {
    fn add(&mut self, length: u64) {
        self.buckets += 1;
        self.least = Some(self.least.map_or(length, |least| least.min(length)));
        self.most = self.most.max(length);
        self.sum += length;
        self.squares += length * length;
    }

    fn tell(&self, figures: Figures) -> Figures {
        let buckets = self.buckets.max(1) as f64;
        let mean = self.sum as f64 / buckets;
        let variance = (self.squares as f64 / buckets - mean * mean).max(0.0);
        // That of a binomial distribution: each entry is in a bucket with one chance in as many as there are buckets.
        let expected = mean * (1.0 - 1.0 / buckets);
        figures
            .count("min_length", self.least.unwrap_or(0))
            .count("max_length", self.most)
            .with("mean_length", Figure::Real(mean))
            .with("deviation", Figure::Real(variance.sqrt()))
            .with("expected_deviation", Figure::Real(expected.sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_a_mean_and_deviations() {
        let mut lengths = Lengths::default();
        for length in [2, 4, 4, 4, 5, 5, 7, 9] {
            lengths.add(length);
        }
        let figures = lengths.tell(Figures::new());
        let count = |name| match figures.get(name) {
            Some(Figure::Count(count)) => count,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(["min_length", "max_length"].map(count), [2, 9]);
        assert_eq!(figures.get("mean_length"), Some(Figure::Real(5.0)));
        assert_eq!(figures.get("deviation"), Some(Figure::Real(2.0)));
        let expected = Figure::Real((5.0f64 * 7.0 / 8.0).sqrt());
        assert_eq!(figures.get("expected_deviation"), Some(expected));
    }

    #[test]
    fn no_buckets_have_no_length() {
        let figures = Lengths::default().tell(Figures::new());
        assert_eq!(figures.get("mean_length"), Some(Figure::Real(0.0)));
        assert_eq!(figures.get("nothing"), None);
    }
}
