//! The subject of a measurement: a trait over maps.

/// The counts of a traversal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of entries.
    pub entries: u64,
    /// The sum of their values, wrapping: so that no traversal can skip the values.
    pub sum: u64,
}

impl Seen {
    /// Counts one entry.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.entries += 1;
        self.sum = self.sum.wrapping_add(value);
    }
}

/// A map from `K` to `u64` under measurement.
///
/// Each method is one operation as a user of the map would write it, its pin or lock included.
/// The methods are called by several threads at once, unless it is not [`Subject::CONCURRENT`].
pub trait Subject<K>: Sync + Sized + 'static {
    /// Whether the answers mean anything; only the empty loop says no.
    const CHECKED: bool = true;
    /// Whether [`Subject::range`] works.
    const ORDERED: bool;
    /// Whether [`Subject::add`] is atomic, so that sums can be checked; `None` if the map
    /// has no operation that updates in place, and sits `hot8` out.
    const ADDS: Option<bool>;

    /// Whether [`Subject::remove`] tells if there was something; else it is not checked.
    const TELLS_REMOVED: bool = true;

    /// Whether several threads may use it at a time. If not, it takes part in runs of one thread only, and its methods
    /// are called by one thread at a time.
    const CONCURRENT: bool = true;

    /// Returns an empty map that knows nothing of how large it will become.
    fn new() -> Self;

    /// Puts the value under the key, whatever was there.
    fn insert(&self, key: &K, value: u64);

    /// Returns the value under the key.
    fn get(&self, key: &K) -> Option<u64>;

    /// Takes the key out; true if it was there.
    fn remove(&self, key: &K) -> bool;

    /// Adds one to the value under the key, which is there.
    fn add(&self, key: &K);

    /// Visits every entry.
    fn scan(&self) -> Seen;

    /// Visits the first `limit` entries at and after `from`.
    fn range(&self, _from: &K, _limit: u64) -> Seen {
        Seen::default()
    }
}

/// The empty loop: what the harness itself costs.
pub struct Harness;

impl<K: Sync + 'static> Subject<K> for Harness {
    const CHECKED: bool = false;
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(false);

    fn new() -> Self {
        Self
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        std::hint::black_box((key, value));
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        std::hint::black_box(key);
        Some(1)
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        std::hint::black_box(key);
        true
    }
    #[inline]
    fn add(&self, key: &K) {
        std::hint::black_box(key);
    }
    fn scan(&self) -> Seen {
        Seen::default()
    }
    fn range(&self, from: &K, limit: u64) -> Seen {
        std::hint::black_box(from);
        Seen {
            entries: limit,
            sum: 0,
        }
    }
}
