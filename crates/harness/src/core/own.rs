//! Fyris under measurement: the public maps of the two indexes, one pin an operation.
//!
//! Each index has the form that its documentation recommends for the keys: `u64` pairs lie in the buckets of `hash`
//! and in the leaves of `ordered`, byte strings in one block with their value. `hash_entries` is `hash` with an entry
//! behind a pointer for each `u64` pair too, as it has to be where references are handed out.

use std::ops::Bound;

use fyris_index::Action;
use fyris_index::map::ConcurrentMap;
use fyris_index::tree::InlineTree;
use fyris_index::{BytesMap, BytesTree, InlineMap};
use fyris_judy::ConcurrentJudy;
use fyris_sync::reclaim::pin;

use super::contender::Contender;
use super::indexes;
use super::judy;
use super::keys::Bytes20;
use super::subject::{Harness, Seen, Subject};

/// Returns the subjects with `u64` keys.
pub fn u64() -> Vec<Contender<u64>> {
    let mut all = vec![
        Contender::peer::<Harness>("harness"),
        Contender::own::<InlineMap<u64, u64>>("hash"),
        Contender::own::<ConcurrentMap<u64, u64>>("hash_entries"),
        Contender::own::<InlineTree<u64, u64>>("ordered"),
    ];
    all.push(Contender::peer::<judy::Judy>("judy"));
    all.push(Contender::own::<ConcurrentJudy<u64, u64>>(
        "concurrent_judy",
    ));
    all.extend(indexes::u64());
    all
}

/// Returns the subjects with 20-byte keys.
pub fn bytes20() -> Vec<Contender<Bytes20>> {
    vec![
        Contender::peer::<Harness>("harness"),
        Contender::own::<BytesMap<u64>>("hash"),
        Contender::own::<BytesTree<u64>>("ordered"),
    ]
}

/// The methods that are the same for the maps of pairs of words, which need no pin.
macro_rules! unpinned_operations {
    () => {
        #[inline]
        fn insert(&self, key: &u64, value: u64) {
            self.insert(*key, value);
        }
        #[inline]
        fn get(&self, key: &u64) -> Option<u64> {
            self.get(key)
        }
        #[inline]
        fn remove(&self, key: &u64) -> bool {
            self.remove(key).is_some()
        }
        #[inline]
        fn add(&self, key: &u64) {
            self.update(key, |value| value + 1);
        }
    };
}

/// `hash` for pairs of words: they lie in the buckets, and nothing needs a pin.
impl Subject<u64> for InlineMap<u64, u64> {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = Some(true);
    fn new() -> Self {
        Self::new()
    }
    unpinned_operations!();
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.iter().for_each(|(_, value)| seen.add(value));
        seen
    }
}

/// The Judy array that threads share.
impl Subject<u64> for ConcurrentJudy<u64, u64> {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(true);
    fn new() -> Self {
        Self::new()
    }
    unpinned_operations!();
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.values().for_each(|value| seen.add(value));
        seen
    }
    fn range(&self, from: &u64, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let range = self.range(*from..).take(limit as usize);
        range.for_each(|(_, value)| seen.add(value));
        seen
    }
}

/// The methods that are the same for both public maps and all keys; `$stored` makes an owned key of one of the
/// workload, `$look` what it is looked up by.
macro_rules! point_operations {
    ($key:ty, $stored:expr, $look:expr) => {
        #[inline]
        fn insert(&self, key: &$key, value: u64) {
            self.insert($stored(key), value, &pin());
        }
        #[inline]
        fn get(&self, key: &$key) -> Option<u64> {
            self.get($look(key), &pin()).copied()
        }
        #[inline]
        fn remove(&self, key: &$key) -> bool {
            self.remove($look(key), &pin()).is_some()
        }
        fn scan(&self) -> Seen {
            let (mut seen, pin) = (Seen::default(), pin());
            self.iter(&pin).for_each(|(_, value)| seen.add(*value));
            seen
        }
    };
}

macro_rules! map {
    ($key:ty, $map:ty, $stored:expr, $look:expr) => {
        impl Subject<$key> for $map {
            const ORDERED: bool = false;
            const ADDS: Option<bool> = Some(true);
            fn new() -> Self {
                Self::new()
            }
            point_operations!($key, $stored, $look);
            #[inline]
            fn add(&self, key: &$key) {
                self.update($look(key), &pin(), |value| value + 1);
            }
        }
    };
}

macro_rules! tree {
    ($key:ty, $look_type:ty, $tree:ty, $stored:expr, $look:expr) => {
        impl Subject<$key> for $tree {
            const ORDERED: bool = true;
            const ADDS: Option<bool> = Some(true);
            fn new() -> Self {
                Self::new()
            }
            point_operations!($key, $stored, $look);
            #[inline]
            fn add(&self, key: &$key) {
                let add = |value: Option<&u64>| {
                    value.map_or(Action::Keep, |value| Action::Put(value + 1))
                };
                self.compute($stored(key), &pin(), add);
            }
            fn range(&self, from: &$key, limit: u64) -> Seen {
                let (mut seen, pin) = (Seen::default(), pin());
                let bounds = (Bound::Included($look(from)), Bound::Unbounded);
                let range = self.range::<$look_type, _, _>(bounds, &pin);
                range
                    .take(limit as usize)
                    .for_each(|(_, value)| seen.add(*value));
                seen
            }
        }
    };
}

map!(u64, ConcurrentMap<u64, u64>, same_owned, same);
map!(Bytes20, BytesMap<u64>, bytes, bytes);
tree!(u64, u64, InlineTree<u64, u64>, same_owned, same);
tree!(Bytes20, [u8], BytesTree<u64>, bytes, bytes);

fn same_owned(key: &u64) -> u64 {
    *key
}

fn same(key: &u64) -> &u64 {
    key
}

fn bytes(key: &Bytes20) -> &[u8] {
    key
}
