//! When values that were replaced or removed are dropped.
#![cfg(not(loom))]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fyris_index::{BytesTree, ConcurrentMap, ConcurrentTree, reclaim};

/// A pin in one test holds up the values of another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` on a thread that then goes quiet, and lives on until what is returned goes.
fn quiet(work: impl FnOnce() + Send + 'static) -> impl Sized {
    struct Ends(Option<Sender<()>>, Option<thread::JoinHandle<()>>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.take();
            let ended = self.1.take().map(thread::JoinHandle::join);
            assert!(ended.is_none_or(|ended| ended.is_ok()));
        }
    }
    let (ends, end) = channel();
    let (done, wait) = channel();
    let thread = thread::spawn(move || {
        work();
        done.send(()).unwrap();
        end.recv().unwrap_err();
    });
    wait.recv().unwrap();
    Ends(Some(ends), Some(thread))
}

/// A value of which the number that live is known.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(living: &'static AtomicUsize) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Self(living)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_closed(receiver: &Receiver<()>) -> bool {
    receiver.try_recv() == Err(TryRecvError::Disconnected)
}

#[test]
fn a_map_takes_what_it_has_put_out_with_it() {
    let _alone = alone();
    let (map, tree) = (ConcurrentMap::new(), ConcurrentTree::new());
    let maps = std::sync::Arc::new((map, tree));
    let ((one, closes_one), (two, closes_two)) = (channel::<()>(), channel::<()>());
    let _quiet = quiet({
        let maps = maps.clone();
        move || {
            maps.0.pin().insert(1, one);
            maps.1.pin().insert(1, two);
            assert!(maps.0.pin().remove(&1).is_some());
            assert!(maps.1.pin().remove(&1).is_some());
        }
    });
    // A map that has put nothing out waits for nothing, and frees nothing of others.
    let before = (is_closed(&closes_one), is_closed(&closes_two));
    drop(ConcurrentMap::<u32, u32>::from([(1, 1)]));
    drop(ConcurrentTree::<u32, u32>::new());
    assert_eq!(before, (is_closed(&closes_one), is_closed(&closes_two)));
    let (map, tree) = std::sync::Arc::into_inner(maps).expect("the thread is done with it");
    drop(map);
    assert!(is_closed(&closes_one));
    drop(tree);
    assert!(is_closed(&closes_two));
}

/// Of 2,000 values put, replaced and removed by threads that live on, 1,995 were dropped seconds after the map was.
#[test]
fn nothing_of_a_map_outlives_it_on_threads_that_live_on() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let map = std::sync::Arc::new(BytesTree::new());
    let quiet: Vec<_> = (0..4u64)
        .map(|thread| {
            let map = map.clone();
            quiet(move || {
                for key in 0..250 {
                    let key = (4 * key + thread).to_be_bytes();
                    map.pin().insert(key, Counted::new(&LIVING));
                    map.pin().insert(key, Counted::new(&LIVING));
                    map.pin().remove(&key);
                }
            })
        })
        .collect();
    drop(map);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    drop(quiet);
}

#[test]
fn flush_frees_what_quiet_threads_have_left() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    static MAP: std::sync::LazyLock<ConcurrentMap<u32, Counted>> =
        std::sync::LazyLock::new(ConcurrentMap::new);
    let _alone = alone();
    let leave_one = || {
        MAP.pin().insert(1, Counted::new(&LIVING));
        MAP.pin().remove(&1);
    };
    // Two that wait, unless the second came so late that its thread took the first one's along.
    let _quiet = (quiet(leave_one), quiet(leave_one));
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    // Under a pin it is done when that ends.
    let _quiet = quiet(leave_one);
    let pin = reclaim::pin();
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 1);
    drop(pin);
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
    // A thread that is pinned keeps what it has.
    let (pinned, is_pinned) = channel();
    let (go_on, wait) = channel::<()>();
    let thread = thread::spawn(move || {
        let pin = MAP.pin();
        pin.insert(1, Counted::new(&LIVING));
        let gone = pin.remove(&1).expect("it is there");
        pinned.send(()).unwrap();
        wait.recv().unwrap_err();
        // It is still there to be looked at.
        assert_eq!(gone.0.load(Ordering::Relaxed), 1);
    });
    is_pinned.recv().unwrap();
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 1);
    drop(go_on);
    thread.join().unwrap();
    reclaim::flush();
    assert_eq!(LIVING.load(Ordering::Relaxed), 0);
}

#[test]
fn another_threads_writes_free_what_a_quiet_one_has_left() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    static MAP: std::sync::LazyLock<ConcurrentMap<u32, Counted>> =
        std::sync::LazyLock::new(ConcurrentMap::new);
    let _quiet = quiet(|| {
        MAP.pin().insert(1, Counted::new(&LIVING));
        MAP.pin().remove(&1);
    });
    let other = ConcurrentTree::new();
    let begun = Instant::now();
    let mut writes = 0;
    while LIVING.load(Ordering::Relaxed) > 0 {
        other.pin().insert(1, 1);
        writes += 1;
        thread::sleep(Duration::from_millis(10));
        assert!(begun.elapsed() < Duration::from_secs(20), "{writes} writes");
    }
    assert!(writes <= 15, "{writes} writes in {:?}", begun.elapsed());
}

const MEGABYTE: usize = 1 << 20;

/// A megabyte that has been written.
#[expect(dead_code, reason = "it takes memory, and is dropped")]
struct Large(Vec<u8>, Counted);

impl Large {
    fn new(living: &'static AtomicUsize) -> Self {
        Self(
            std::hint::black_box(vec![7; MEGABYTE]),
            Counted::new(living),
        )
    }
}

/// Values that nobody weighs wait by the kernel's coarse clock, which steps every 1 to 10 ms: too few steps for as many.
#[test]
fn few_large_values_wait() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let (map, tree) = (ConcurrentMap::new(), ConcurrentTree::new());
    let check = |insert: &dyn Fn(Large)| {
        for _ in 0..200 {
            insert(Large::new(&LIVING));
            thread::sleep(Duration::from_millis(1));
            let waiting = LIVING.load(Ordering::Relaxed);
            assert!(waiting <= 64, "{waiting} MB");
        }
    };
    check(&|value| {
        map.pin().insert(1, value);
    });
    check(&|value| {
        tree.pin().insert(1, value);
    });
}

/// What is replaced too fast for the clock is weighed, exactly.
#[test]
fn values_that_are_weighed_do_not_wait() {
    static LIVING: AtomicUsize = AtomicUsize::new(0);
    let _alone = alone();
    let map = ConcurrentMap::new().with_weigher(|_, _: &Counted| MEGABYTE);
    let tree = ConcurrentTree::new().with_weigher(|_, _: &Counted| 4096);
    for _ in 0..500 {
        map.pin().insert(1, Counted::new(&LIVING));
        assert!(LIVING.load(Ordering::Relaxed) <= 2);
    }
    for _ in 0..500 {
        tree.pin().insert(1, Counted::new(&LIVING));
        assert!(LIVING.load(Ordering::Relaxed) <= 2 + 64);
    }
}
