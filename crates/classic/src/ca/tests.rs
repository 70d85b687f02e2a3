//! The conformance suite on trees whose base nodes split and join all the time: every operation pretends to have met
//! contention, or its lack, and stalls now and then.

use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::time::{Duration, Instant};

use fyris_index::catree::{Held, SharedLock};
use fyris_index::conformance::{Object, ordered_suite, suite};
use fyris_index::key::probe::ByKey;
use fyris_index::{Action, Batch, Index, OrderedIndex, Range};
use fyris_sync::lock::StatLock;
use fyris_sync::reclaim::{Guard, pin};
use rand::rngs::SmallRng;
use rand::{RngCore, SeedableRng};

use crate::sequential::{Avl, SearchTree, SplitTree, Treap};

use super::lock::ReadLock;
use super::{Adapting, SharedCaTree};

/// A tree that changes its shape under every operation.
struct Restless<T: SplitTree, L: ReadLock>(Adapting<T, L>);

impl<T: SplitTree, L: ReadLock> Default for Restless<T, L> {
    fn default() -> Self {
        Self(Adapting::default())
    }
}

thread_local! {
    static NUMBERS: RefCell<SmallRng> = RefCell::new(SmallRng::seed_from_u64(1));
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Returns a number that looks random.
fn random() -> u64 {
    NUMBERS.with_borrow_mut(SmallRng::next_u64)
}

/// Returns the statistic that a base node is to have: mostly contention for a while, then mostly its lack; none at
/// seven calls out of eight.
fn statistic() -> Option<i64> {
    let calls = CALLS.replace(CALLS.get() + 1);
    let contended = (calls / 256).is_multiple_of(2) != random().is_multiple_of(8);
    let statistic = if contended {
        StatLock::EXTREME
    } else {
        -StatLock::EXTREME
    };
    random().is_multiple_of(8).then_some(statistic)
}

impl<T: SplitTree<Entry = Object> + Send + Sync, L: ReadLock> Restless<T, L> {
    /// Splits or joins the base node of a key, or leaves it, with a stall before.
    fn unsettle(&self, key: u64, pin: &impl Guard) {
        let Some(statistic) = statistic() else {
            return;
        };
        if random().is_multiple_of(4) {
            std::thread::yield_now();
        }
        let (probe, tree) = (ByKey(&key), &self.0.tree);
        let (base_ref, mut held) = tree.lock_base(&probe, pin);
        held.set_statistic(statistic);
        // SAFETY: `probe` led to the base node, whose lock is `held`.
        unsafe { tree.settle(base_ref, held, None, &probe, pin) };
    }

    /// Splits or joins the base nodes at the ends of a range, or leaves them, with a stall before each.
    fn unsettle_ends(&self, (from, to): Range<'_, u64>, pin: &impl Guard) {
        for end in [from, to] {
            match end {
                Bound::Included(&key) | Bound::Excluded(&key) => self.unsettle(key, pin),
                Bound::Unbounded => self.unsettle(random() % 512, pin),
            }
        }
    }
}

impl<T: SplitTree<Entry = Object> + Send + Sync, L: ReadLock> Index<Object> for Restless<T, L> {
    fn get(&self, key: &u64, pin: &impl Guard) -> Option<Object> {
        self.unsettle(*key, pin);
        self.0.get(key, pin)
    }

    fn upsert<R>(
        &self,
        key: &u64,
        pin: &impl Guard,
        f: impl FnOnce(Option<Object>) -> (Action<Object>, R),
    ) -> R {
        self.unsettle(*key, pin);
        self.0.upsert(key, pin, f)
    }

    fn scan(
        &self,
        range: Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        self.unsettle_ends(range, pin);
        self.0.scan(range, want, pin, out)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }
}

impl<T: SplitTree<Entry = Object> + Send + Sync, L: ReadLock> OrderedIndex<Object>
    for Restless<T, L>
{
    fn seek(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        self.unsettle_ends((from, Bound::Unbounded), pin);
        self.0.seek(from, pin)
    }

    fn seek_back(&self, from: Bound<&u64>, pin: &impl Guard) -> Option<Object> {
        self.unsettle_ends((Bound::Unbounded, from), pin);
        self.0.seek_back(from, pin)
    }

    fn scan_back(
        &self,
        range: Range<'_, u64>,
        want: usize,
        pin: &impl Guard,
        out: &mut Batch<Object>,
    ) -> bool {
        self.unsettle_ends(range, pin);
        self.0.scan_back(range, want, pin, out)
    }
}

mod restless_avl {
    use super::*;
    suite!(Restless::<SearchTree<Object, Avl>, StatLock>::default());
    ordered_suite!(Restless::<SearchTree<Object, Avl>, StatLock>::default());
}

mod restless_shared_avl {
    use super::*;
    suite!(Restless::<SearchTree<Object, Avl>, SharedLock>::default());
    ordered_suite!(Restless::<SearchTree<Object, Avl>, SharedLock>::default());
}

mod restless_treap {
    use super::*;
    suite!(Restless::<SearchTree<Object, Treap>, StatLock>::default());
    ordered_suite!(Restless::<SearchTree<Object, Treap>, StatLock>::default());
}

#[test]
fn restless_trees_split_and_join() {
    split_and_join::<StatLock>();
    split_and_join::<SharedLock>();
}

/// Checks that trees of the suite do change their shape, and that what they count is right.
fn split_and_join<L: ReadLock>() {
    let tree = Restless::<SearchTree<Object, Avl>, L>::default();
    let pin = pin();
    let census = fyris_index::conformance::Census::new();
    for round in 0..4000 {
        let key = random() % 512;
        if round % 2 == 0 {
            fyris_index::conformance::put(&tree, &census, key, round, &pin);
        } else {
            fyris_index::conformance::remove(&tree, key, &pin);
        }
    }
    let stats = tree.0.stats(&pin);
    assert!(
        stats.contention_splits > 50 && stats.contention_joins > 50,
        "{stats:?}"
    );
    assert_eq!(
        (stats.size_splits, stats.size_joins, stats.rebuilds),
        (0, 0, 0)
    );
    let mut all = Batch::new();
    let range = (Bound::Unbounded, Bound::Unbounded);
    assert!(!tree.0.scan(range, usize::MAX / 2, &pin, &mut all));
    assert_eq!(tree.len(), all.len());
}

/// Checks that readers of a tree that they share adapt it: those that wait for a writer split its base node, and scans
/// over several join them again.
#[test]
fn readers_that_share_adapt() {
    let tree = SharedCaTree::<SearchTree<Object, Avl>>::default();
    let census = fyris_index::conformance::Census::new();
    let put = |key, version| fyris_index::conformance::put(&tree, &census, key, version, &pin());
    assert!((0..64).all(|key| put(key, 0).is_none()));
    let deadline = Instant::now() + Duration::from_secs(60);
    let splits = || tree.stats(&pin()).contention_splits;
    std::thread::scope(|s| {
        for key in [1, 62] {
            s.spawn({
                let (tree, splits) = (&tree, &splits);
                move || {
                    while splits() == 0 {
                        assert!(tree.get(&key, &pin()).is_some());
                        assert!(Instant::now() < deadline, "no reader waits");
                    }
                }
            });
        }
        while splits() == 0 {
            tree.upsert(&1, &pin(), |_| {
                std::thread::sleep(Duration::from_micros(200));
                (Action::Keep, ())
            });
        }
    });
    let joins = || tree.stats(&pin()).contention_joins;
    while joins() == 0 {
        let range = (Bound::Unbounded, Bound::Unbounded);
        let mut all = Batch::new();
        while tree.scan(range, usize::MAX / 2, &pin(), &mut all) {}
        assert_eq!(all.len(), 64);
        assert!(Instant::now() < deadline, "scans join nothing");
    }
}
