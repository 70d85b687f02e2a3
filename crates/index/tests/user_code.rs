//! Hashes, comparisons and drops of the user's types that panic: an operation is done or not, and nothing gets lost.
#![cfg(not(any(loom, shuttle)))]

use std::cell::Cell;
use std::cmp::Ordering as Order;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fyris_index::key::Opaque;
use fyris_index::{ConcurrentMap, ConcurrentTree, InlineMap, reclaim};
use rand::{Rng, SeedableRng};

/// A pin in one test holds up the values of another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Calls of the user's code after which one panics; never at zero.
    static PATIENCE: Cell<u32> = const { Cell::new(0) };
}

/// A key that panics when it is compared or hashed once too often.
#[derive(Clone, Debug)]
struct Moody(u32);

impl Moody {
    fn tick() {
        let left = PATIENCE.get();
        PATIENCE.set(left.saturating_sub(1));
        assert!(left != 1, "on purpose");
    }
}

impl Ord for Moody {
    fn cmp(&self, other: &Self) -> Order {
        Self::tick();
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Moody {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Moody {
    fn eq(&self, other: &Self) -> bool {
        Self::tick();
        self.0 == other.0
    }
}

impl Eq for Moody {}

impl Hash for Moody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Self::tick();
        // Many of one hash, which are told apart by comparing.
        (self.0 / 8).hash(state);
    }
}

/// A value of which the number that live is known.
#[derive(Debug)]
struct Counted(&'static AtomicUsize, u32);

impl Counted {
    fn new(living: &'static AtomicUsize, number: u32) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Self(living, number)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Puts in and takes out at random, with user code that panics at random: what has panicked has not been done.
fn compare_with_model(
    insert: impl Fn(u32, u32),
    remove: impl Fn(u32) -> bool,
    update: impl Fn(u32),
) -> BTreeMap<u32, u32> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut random = rand::rngs::StdRng::seed_from_u64(7);
    let mut model = BTreeMap::new();
    let mut panics = 0;
    for turn in 0..6000 {
        let key = random.random_range(0..600);
        PATIENCE.set(random.random_range(0..40));
        // Grows, and shrinks then.
        let kind = random.random_range(0..4) + 2 * (turn / 3000);
        let done = catch_unwind(AssertUnwindSafe(|| match kind {
            0 | 1 => insert(key, turn),
            2 => update(key),
            _ => assert_eq!(remove(key), model.contains_key(&key)),
        }));
        PATIENCE.set(0);
        match (done, kind) {
            (Err(_), _) => panics += 1,
            (Ok(()), 0 | 1) => _ = model.insert(key, turn),
            (Ok(()), 2) => _ = model.entry(key).and_modify(|value| *value += 1),
            (Ok(()), _) => _ = model.remove(&key),
        }
    }
    std::panic::set_hook(hook);
    assert!(panics > 500, "{panics}");
    model
}

#[test]
fn comparisons_of_a_tree_may_panic() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let tree = ConcurrentTree::new();
    let key = |key| Opaque(Moody(key));
    let model = compare_with_model(
        |k, value| _ = tree.pin().insert(key(k), Counted::new(&LIVING, value)),
        |k| tree.pin().remove(&key(k)).is_some(),
        |k| {
            _ = tree
                .pin()
                .update(&key(k), |old| Counted::new(&LIVING, old.1 + 1))
        },
    );
    let pinned = tree.pin();
    let pairs = pinned.iter().map(|(key, value)| (key.0.0, value.1));
    assert!(pairs.eq(model.clone()), "the same pairs");
    assert_eq!((tree.len(), tree.exact_len()), (model.len(), model.len()));
    drop(pinned);
    drop(tree);
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

#[test]
fn comparisons_and_hashes_of_a_map_may_panic() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let map = ConcurrentMap::new();
    let model = compare_with_model(
        |k, value| _ = map.pin().insert(Moody(k), Counted::new(&LIVING, value)),
        |k| map.pin().remove(&Moody(k)).is_some(),
        |k| {
            _ = map
                .pin()
                .update(&Moody(k), |old| Counted::new(&LIVING, old.1 + 1))
        },
    );
    let pinned = map.pin();
    let pairs: BTreeMap<_, _> = pinned.iter().map(|(key, value)| (key.0, value.1)).collect();
    assert_eq!(pairs, model);
    assert_eq!((map.len(), map.exact_len()), (model.len(), model.len()));
    drop(pinned);
    drop(map);
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

/// A value whose drop may panic.
struct Fussy(bool, #[expect(dead_code, reason = "it is dropped")] Counted);

impl Drop for Fussy {
    fn drop(&mut self) {
        assert!(!self.0, "on purpose");
    }
}

/// Integers by a hasher that is as moody.
#[derive(Clone, Default)]
struct Hashes(u64);

impl BuildHasher for Hashes {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Hashes {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are u64");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        Moody::tick();
        self.0
    }
}

/// A hash that panics while pairs move to a larger table: later writes move them, and the map goes on growing.
#[test]
fn a_map_grows_on_after_a_hash_that_panicked() {
    let _alone = alone();
    const KEYS: u64 = 20_000;
    let sizes = |patience: u32| {
        let inline = InlineMap::with_hasher(Hashes::default());
        let map = ConcurrentMap::with_hasher(Hashes::default());
        let inserts: [&dyn Fn(u64); 2] = [&|key| _ = inline.insert(key, key), &|key| {
            _ = map.pin().insert(key, key)
        }];
        for insert in inserts {
            PATIENCE.set(patience);
            for key in 0..KEYS {
                while catch_unwind(AssertUnwindSafe(|| insert(key))).is_err() {}
            }
            PATIENCE.set(0);
        }
        assert_eq!((inline.len(), map.len()), (KEYS as usize, KEYS as usize));
        assert!((0..KEYS).all(|key| inline.get(&key) == Some(key)));
        assert!((0..KEYS).all(|key| map.pin().get(&key) == Some(&key)));
        (
            inline.memory() / KEYS as usize,
            map.memory() / KEYS as usize,
        )
    };
    let (inline, map) = sizes(0);
    // Calls in which some pair or other is moved.
    for patience in (40..4000).step_by(37) {
        let (after_inline, after_map) = sizes(patience);
        let as_large = after_inline * 4 > inline * 3 && after_map * 4 > map * 3;
        assert!(
            as_large,
            "{patience}: {after_inline} {after_map} bytes, not {inline} {map}"
        );
    }
}

#[test]
fn a_drop_that_panics_costs_no_other_pair_its_own() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let (map, tree) = (ConcurrentMap::new(), ConcurrentTree::new());
    for key in 0..1000 {
        let value = || Fussy(key == 300, Counted::new(&LIVING, key));
        map.pin().insert(key, value());
        tree.pin().insert(key, value());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(map))).is_err());
    assert_eq!(LIVING.load(Ordering::Relaxed), 1000);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tree))).is_err());
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}
