//! An entry for tests: a boxed pair that counts how many are alive and poisons itself when freed.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(unreachable_pub, reason = "a module of a test program")]

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use fyris_index::Entry;
use fyris_sync::reclaim::{self, Guard, Retire};

const LIVE: u64 = 0x600d_600d_600d_600d;

thread_local! {
    /// The counter of pairs made by this thread.
    static COUNT: RefCell<Arc<AtomicI64>> = RefCell::default();
}

/// The pair behind a handle.
pub struct Pair<K, V> {
    key: K,
    value: V,
    alive: Cell<u64>,
    count: Arc<AtomicI64>,
}

/// The handle.
pub struct Boxed<K, V>(*mut Pair<K, V>);

impl<K, V> Clone for Boxed<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for Boxed<K, V> {}
// SAFETY: pairs are immutable but for `alive`, which is written when no other thread can see it.
unsafe impl<K: Send + Sync, V: Send + Sync> Send for Boxed<K, V> {}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync> Sync for Boxed<K, V> {}

impl<K, V> Boxed<K, V> {
    pub fn new(key: K, value: V) -> Self {
        let count = COUNT.with_borrow(Arc::clone);
        count.fetch_add(1, Ordering::Relaxed);
        Self(Box::into_raw(Box::new(Pair {
            key,
            value,
            alive: Cell::new(LIVE),
            count,
        })))
    }

    pub fn get(&self) -> (&K, V)
    where
        V: Copy,
    {
        (&self.pair().key, self.pair().value)
    }

    fn pair(&self) -> &Pair<K, V> {
        // SAFETY: the tests read entries while pinned only.
        let pair = unsafe { &*self.0 };
        assert_eq!(pair.alive.get(), LIVE, "read after it was freed");
        pair
    }
}

impl<K: 'static, V: 'static> Retire for Pair<K, V> {
    unsafe fn reclaim(ptr: *mut Self) {
        // SAFETY: from `Box::into_raw` in `Boxed::new`.
        let pair = unsafe { Box::from_raw(ptr) };
        assert_eq!(pair.alive.replace(0xdead), LIVE, "freed twice");
        pair.count.fetch_sub(1, Ordering::Relaxed);
    }
}

// SAFETY: a box's address is below 2^48 and not zero; the key is immutable.
unsafe impl<K: 'static, V: 'static> Entry for Boxed<K, V> {
    type Key = K;
    fn key(&self) -> &K {
        &self.pair().key
    }
    fn into_bits(self) -> u64 {
        self.0 as u64
    }
    unsafe fn from_bits(bits: u64) -> Self {
        Self(bits as *mut Pair<K, V>)
    }
    unsafe fn retire(self, pin: &impl Guard) {
        // SAFETY: forwarded.
        unsafe { pin.retire(self.0) }
    }
    unsafe fn dispose(self) {
        // SAFETY: forwarded.
        unsafe { Pair::reclaim(self.0) }
    }
}

/// Returns the counter that pairs made by this thread move; for threads started by a test.
pub fn counter() -> Arc<AtomicI64> {
    COUNT.with_borrow(Arc::clone)
}

/// Makes pairs made by this thread move this counter.
pub fn count_in(counter: Arc<AtomicI64>) {
    COUNT.set(counter);
}

/// Runs `f` and checks that all pairs made in it are freed in the end, none twice.
pub fn check_drops(f: impl FnOnce()) {
    count_in(Arc::default());
    f();
    let count = counter();
    let start = Instant::now();
    while count.load(Ordering::Relaxed) != 0 {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "leaked {count:?}"
        );
        // Other tests are pinned at times; and a batch has to be full enough to be flushed.
        reclaim::flush();
        std::thread::sleep(Duration::from_millis(1));
    }
}
