//! Base nodes that have nothing in common with leaves: a `BTreeMap` under its lock, whose content moves when it is
//! split or joined, below the statistics lock (readers take it alone) and below a reader-writer lock.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use fyris_sync::lock::rw::{Chosen, RawFair};
use fyris_sync::lock::{StatLock, StatWord};
use fyris_sync::reclaim::{Guard, Retire, pin};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::base::BaseLock;
use super::{Base, Bounds, Halves, Held, Learnt, Sep, SharedLock, Tree};
use crate::key::probe::{ByFence, ByKey, End, Probe};
use crate::key::{Opaque, TreeKey};

/// A lock that readers can take.
trait ReadLock: BaseLock + Send + Sync + 'static {
    fn new(learnt: Learnt) -> Self;

    /// Runs `f` while no thread writes; `None` if the node is dead.
    fn read<R>(&self, f: impl FnOnce() -> R) -> Option<R>;
}

impl ReadLock for StatLock {
    fn new(learnt: Learnt) -> Self {
        let word = StatWord::new(0).with_statistic(learnt.statistic);
        Self::new(word.flagged(learnt.forced))
    }

    fn read<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let _held = self.lock()?;
        Some(f())
    }
}

impl ReadLock for SharedLock {
    fn new(learnt: Learnt) -> Self {
        let word = StatWord::new(0).with_statistic(learnt.statistic);
        let raw = RawFair::with_readers(Chosen::word());
        Self::new(raw, word.flagged(learnt.forced))
    }

    fn read<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let _reading = self.try_read().or_else(|| self.wait_to_read())?;
        Some(f())
    }
}

/// The base node.
struct Map<K, L> {
    lock: L,
    pairs: UnsafeCell<BTreeMap<K, u64>>,
}

// SAFETY: the pairs are read and written under the lock.
unsafe impl<K: Send + Sync, L: Sync> Sync for Map<K, L> {}

impl<K, L: ReadLock> Map<K, L> {
    fn alloc(pairs: BTreeMap<K, u64>, learnt: Learnt) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            lock: L::new(learnt),
            pairs: UnsafeCell::new(pairs),
        })))
    }

    /// # Safety
    ///
    /// The caller holds the lock alone, and has no other reference to the pairs.
    #[expect(clippy::mut_from_ref, reason = "the lock makes it unique")]
    unsafe fn pairs(&self) -> &mut BTreeMap<K, u64> {
        // SAFETY: the caller's contract.
        unsafe { &mut *self.pairs.get() }
    }
}

impl<K, L> Retire for Map<K, L> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `alloc`, once, by the contract of `reclaim`.
        drop(unsafe { Box::from_raw(ptr) });
    }
}

// SAFETY: nodes come from boxes.
unsafe impl<K: TreeKey + Copy, L: ReadLock> Base for Map<K, L> {
    type Key = K;
    type Lock = L;

    // As in the papers: only contention and its lack change the shape.
    const FEW: usize = 0;
    const JOIN_MAX: usize = usize::MAX;

    fn lock(&self) -> &L {
        &self.lock
    }

    unsafe fn entries(&self) -> usize {
        // SAFETY: the caller holds the lock, and no reference to the pairs.
        unsafe { self.pairs() }.len()
    }

    unsafe fn split(&self, _: Bounds<'_, K>, learnt: Learnt) -> Halves<Self> {
        // SAFETY: the caller holds the lock.
        let pairs = unsafe { self.pairs() };
        let (mut keys, middle) = (pairs.keys(), pairs.len() / 2);
        let (below, above) = (keys.nth(middle - 1).unwrap(), *keys.next().unwrap());
        let sep = Sep::between(below, &above);
        let high = pairs.split_off(&above);
        Halves {
            low: Self::alloc(std::mem::take(pairs), learnt),
            sep,
            high: Self::alloc(high, learnt),
        }
    }

    unsafe fn join(low: &Self, high: &Self, _: Bounds<'_, K>, learnt: Learnt) -> NonNull<Self> {
        // SAFETY: the caller holds both locks.
        let (low, high) = unsafe { (low.pairs(), high.pairs()) };
        low.append(high);
        Self::alloc(std::mem::take(low), learnt)
    }

    unsafe fn dispose(node: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe { Self::reclaim(node) }
    }
}

fn empty<K: TreeKey + Copy, L: ReadLock>() -> Tree<Map<K, L>> {
    // SAFETY: just allocated; valid until it is reclaimed.
    unsafe { Tree::new(Map::alloc(BTreeMap::new(), Learnt::default())) }
}

/// The contention that an operation pretends to have met at the lock.
#[derive(Clone, Copy, PartialEq)]
enum Pretend {
    Nothing,
    Contended,
    Calm,
}

impl<K: TreeKey + Copy, L: ReadLock> Tree<Map<K, L>> {
    fn get(&self, key: &K, pin: &impl Guard) -> Option<u64> {
        loop {
            let base = self.find_base(&ByKey(key), pin).base;
            // SAFETY: no thread writes meanwhile.
            let get = || unsafe { &*base.pairs.get() }.get(key).copied();
            if let Some(found) = base.lock.read(get) {
                return found;
            }
        }
    }

    /// Puts in the place of a value what `f` makes of it; returns the old one.
    fn change(
        &self,
        key: K,
        pretend: Pretend,
        pin: &impl Guard,
        f: impl FnOnce(Option<u64>) -> Option<u64>,
    ) -> Option<u64> {
        let probe = ByKey(&key);
        let (base_ref, mut held) = self.lock_base(&probe, pin);
        // SAFETY: locked, and used no more when it is settled.
        let pairs = unsafe { base_ref.base.pairs() };
        let old = pairs.get(&key).copied();
        match f(old) {
            Some(new) => pairs.insert(key, new),
            None => pairs.remove(&key),
        };
        let left = pairs.len();
        match pretend {
            Pretend::Nothing => {}
            Pretend::Contended => held.set_statistic(StatLock::EXTREME),
            Pretend::Calm => held.set_statistic(-StatLock::EXTREME),
        }
        // SAFETY: `probe` led to the base node, whose lock is `held`.
        unsafe { self.settle(base_ref, held, Some(left), &probe, pin) };
        old
    }

    /// Returns all pairs: each base node at one moment, and its range goes on where that of the one before it ended.
    fn all(&self, pin: &impl Guard) -> Vec<(K, u64)> {
        let mut all = Vec::new();
        let mut more = self.append(&End::First, pin, &mut all);
        while let Some(probe) = more {
            more = self.append(&probe, pin, &mut all);
        }
        all
    }

    /// Appends the pairs of the base node that covers the probe; returns where the next one begins.
    fn append<'p>(
        &'p self,
        probe: &impl Probe<K>,
        pin: &'p impl Guard,
        all: &mut Vec<(K, u64)>,
    ) -> Option<ByFence<'p, K>> {
        loop {
            let position = self.find_position(probe, pin);
            let base = position.base_ref.base;
            // SAFETY: no thread writes meanwhile.
            let pairs = || unsafe { &*base.pairs.get() }.clone();
            if let Some(pairs) = base.lock.read(pairs) {
                all.extend(pairs);
                let below = false;
                return position.high().map(|fence| ByFence { fence, below });
            }
        }
    }
}

/// Checks that base nodes which operations take one after another join, ten times as soon as others.
fn several<L: ReadLock>() {
    const KEYS: u64 = 64;
    let (tree, pin) = (empty::<u64, L>(), pin());
    for round in 0..2 {
        for key in 0..KEYS {
            let pretend = [Pretend::Nothing, Pretend::Contended][round];
            tree.change(key, pretend, &pin, |_| Some(key));
        }
    }
    let before = tree.stats(&pin);
    assert!(before.leaves > 8, "{before:?}");
    // One base node is left, or, where inner nodes have four children, one below each inner node.
    let limit = if cfg!(fyris_small) { 200 } else { 1000 };
    for _ in 0..=limit / 10 {
        for key in (0..KEYS).step_by(KEYS as usize / 8) {
            let probe = ByKey(&key);
            let (base_ref, held) = tree.lock_base(&probe, &pin);
            // SAFETY: `probe` led to the base node, whose lock is `held`.
            unsafe { tree.settle_several(base_ref, held, &probe, &pin) };
        }
    }
    let after = tree.stats(&pin);
    assert!(
        after.contention_joins >= 3 && after.leaves < before.leaves,
        "{after:?}"
    );
    assert_eq!(
        tree.all(&pin),
        (0..KEYS).map(|key| (key, key)).collect::<Vec<_>>()
    );
}

/// Numbers that look random.
struct Numbers(SmallRng);

impl Numbers {
    fn new(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// Returns `what` one time in three.
    fn some(&mut self, what: Pretend) -> Pretend {
        if self.below(3) == 0 {
            what
        } else {
            Pretend::Nothing
        }
    }
}

/// Runs random operations on keys that this thread alone changes, against a model.
fn against_model<K: TreeKey + Copy + Debug, L: ReadLock>(
    tree: &Tree<Map<K, L>>,
    key: &impl Fn(u64) -> K,
    numbers: &mut Numbers,
) -> BTreeMap<K, u64> {
    let mut model = BTreeMap::new();
    let shapes = [Pretend::Contended, Pretend::Calm, Pretend::Contended];
    for round in 0..6_000 {
        let pin = pin();
        let pretend = numbers.some(shapes[round / 2_000]);
        let (one, other) = (key(numbers.below(300)), key(numbers.below(300)));
        let new = (numbers.below(3) > 0).then_some(round as u64);
        let old = match new {
            Some(new) => model.insert(one, new),
            None => model.remove(&one),
        };
        assert_eq!(tree.change(one, pretend, &pin, |_| new), old);
        assert_eq!(tree.get(&one, &pin), new);
        assert_eq!(tree.get(&other, &pin), model.get(&other).copied());
    }
    model
}

fn one_thread<K: TreeKey + Copy + Debug, L: ReadLock>(key: impl Fn(u64) -> K) {
    let tree = empty::<K, L>();
    let mut numbers = Numbers::new(0);
    let model = against_model(&tree, &key, &mut numbers);
    let pin = pin();
    let pairs: Vec<_> = model.clone().into_iter().collect();
    assert_eq!(tree.all(&pin), pairs);
    let wide = tree.stats(&pin);
    assert!(wide.depth > 2, "inner nodes split: {wide:?}");
    for _ in 0..10 {
        for key in model.keys() {
            tree.change(*key, Pretend::Calm, &pin, |value| value);
        }
    }
    assert_eq!(tree.all(&pin), pairs);
    let narrow = tree.stats(&pin);
    // Where inner nodes have four children some are left with one, and a base node without a sibling joins no other.
    let few = if cfg!(fyris_small) {
        wide.leaves / 2
    } else {
        1
    };
    assert!(narrow.leaves <= few, "{wide:?} {narrow:?}");
    let came = narrow.contention_splits - narrow.contention_joins;
    assert_eq!(came as usize, narrow.leaves - 1);
    assert_eq!((narrow.size_splits, narrow.size_joins), (0, 0));
}

fn several_threads<K: TreeKey + Copy + Debug + Send + Sync, L: ReadLock>(
    key: impl Fn(u64) -> K + Sync,
) {
    const THREADS: u64 = 4;
    const ADDITIONS: u64 = 1_500;
    /// The number of keys that all threads change, and the first of them.
    const COMMON: (u64, u64) = (8, 10_000);
    let tree = empty::<K, L>();
    let mut model = BTreeMap::new();
    std::thread::scope(|s| {
        let (tree, key) = (&tree, &key);
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                s.spawn(move || {
                    let mut numbers = Numbers::new(thread);
                    let own = |n| key(n * THREADS + thread);
                    let model = against_model(tree, &own, &mut numbers);
                    for round in 0..ADDITIONS {
                        let shape = [Pretend::Contended, Pretend::Calm][round as usize / 32 % 2];
                        let pretend = numbers.some(shape);
                        let common = key(COMMON.1 + round % COMMON.0);
                        let add = |value: Option<u64>| Some(value.unwrap_or(0) + 1);
                        tree.change(common, pretend, &pin(), add);
                    }
                    model
                })
            })
            .collect();
        for thread in threads {
            model.extend(thread.join().unwrap());
        }
    });
    for round in 0..THREADS * ADDITIONS {
        let common = key(COMMON.1 + round % ADDITIONS % COMMON.0);
        *model.entry(common).or_default() += 1;
    }
    let pin = pin();
    assert_eq!(tree.all(&pin), model.into_iter().collect::<Vec<_>>());
    let stats = tree.stats(&pin);
    assert!(
        stats.contention_splits > 0 && stats.contention_joins > 0,
        "{stats:?}"
    );
}

/// Checks, without pretending, that nodes that writers wait for split, and join when they no longer do.
fn waiting<L: ReadLock>() {
    let tree = empty::<u64, L>();
    let deadline = Instant::now() + Duration::from_secs(60);
    let splits = || tree.stats(&pin()).contention_splits;
    std::thread::scope(|s| {
        for thread in 0..3 {
            s.spawn({
                let (tree, splits) = (&tree, &splits);
                // Once at least, also by a thread that begins when others have split the node.
                move || loop {
                    tree.change(thread, Pretend::Nothing, &pin(), |value| {
                        std::thread::sleep(Duration::from_micros(100));
                        Some(value.unwrap_or(0) + 1)
                    });
                    if splits() > 0 {
                        break;
                    }
                    assert!(Instant::now() < deadline, "no thread waits for another");
                }
            });
        }
    });
    let pin = pin();
    while tree.stats(&pin).leaves > 1 {
        assert!(Instant::now() < deadline, "nobody waits any more");
        (0..3).for_each(|key| _ = tree.change(key, Pretend::Nothing, &pin, |value| value));
    }
    assert!((0..3).all(|key| tree.get(&key, &pin) > Some(0)));
}

#[test]
fn maps_split_and_join() {
    one_thread::<u64, StatLock>(|n| n);
    one_thread::<Opaque<u64>, SharedLock>(Opaque);
}

#[test]
fn maps_split_and_join_under_threads() {
    several_threads::<u64, StatLock>(|n| n);
    several_threads::<Opaque<u64>, SharedLock>(Opaque);
}

#[test]
fn maps_that_writers_wait_for_split() {
    waiting::<StatLock>();
    waiting::<SharedLock>();
}

#[test]
fn maps_of_operations_over_several_join() {
    several::<StatLock>();
    several::<SharedLock>();
}
