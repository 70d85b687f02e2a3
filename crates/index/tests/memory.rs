//! The bytes that maps take, exactly: every block of the process is counted, at its size class. One test, so that no
//! other thread allocates meanwhile.
#![cfg(not(any(loom, shuttle, fyris_sanitize, fyris_small, miri)))]

use std::collections::HashMap;
use std::ffi::c_void;

use fyris_index::{
    Action, BytesMap, BytesTree, ConcurrentMap, ConcurrentTree, InlineMap, InlineTree,
};
use libmimalloc_sys as mi;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

unsafe extern "C" {
    /// The heap that all threads of the process allocate from (mimalloc 3).
    safe fn mi_heap_main() -> *mut mi::mi_heap_t;
}

/// Returns the number of bytes in live blocks of the process, less what has been given back of them.
fn allocated() -> usize {
    unsafe extern "C" fn visit(
        _: *const mi::mi_heap_t,
        area: *const mi::mi_heap_area_t,
        _: *mut c_void,
        _: usize,
        total: *mut c_void,
    ) -> bool {
        // SAFETY: mimalloc passes a valid area, and `total` is the pointer handed in below.
        unsafe { *total.cast::<usize>() += (*area).used * (*area).full_block_size };
        true
    }
    let mut total = 0usize;
    fyris_index::reclaim::flush();
    // SAFETY: no other thread allocates or frees meanwhile; `visit` keeps the pointer to itself.
    unsafe {
        mi::mi_collect(true);
        mi::mi_heap_visit_blocks(mi_heap_main(), false, Some(visit), (&raw mut total).cast());
    }
    total - fyris_sync::alloc::given_back()
}

/// Returns what `make` makes, and the bytes that this has allocated.
fn costs<M>(make: impl FnOnce() -> M) -> (M, isize) {
    let before = allocated() as isize;
    let made = make();
    (made, allocated() as isize - before)
}

/// Keys in no order.
fn keys(n: u64) -> impl Iterator<Item = u64> + Clone {
    (0..n).map(key)
}

fn key(n: u64) -> u64 {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Checks that an empty map is less than 200 bytes and no block, also when it is read. It was up to 960 bytes.
fn check_empty<M>(new: fn() -> M, is_empty: fn(&M) -> bool) {
    let (map, heap) = costs(new);
    let (empty, read) = costs(|| is_empty(&map));
    let kind = std::any::type_name::<M>();
    assert_eq!((heap, empty, read), (0, true, 0), "{kind}");
    assert!(size_of::<M>() < 200, "{kind}: {} bytes", size_of::<M>());
}

/// Returns the bytes of a map of ten pairs, the map itself included: those of 10,000 by as many.
fn bytes_of_ten<M: FromIterator<(K, u64)>, K>(key: fn(u64) -> K) -> isize {
    let ten = |n: u64| (10 * n..10 * n + 10).map(|n| (key(n), n));
    let (maps, bytes) = costs(|| {
        (0..10_000)
            .map(|n| ten(n).collect::<M>())
            .collect::<Vec<_>>()
    });
    bytes / maps.len() as isize
}

/// Returns the bytes that a tree says it has when as many keys as there are numbers were put in and taken out in this
/// order.
fn left_of_tree(order: impl Iterator<Item = u64>) -> usize {
    let (tree, left) = costs(|| {
        let tree = InlineTree::new();
        keys(100_000).for_each(|key| _ = tree.pin().insert(key, key));
        order.for_each(|n| _ = tree.pin().remove(&key(n)));
        tree
    });
    assert_eq!(tree.len(), 0);
    // Of 2.6 MB: what a thread and the collector keep is counted as well.
    assert!(left < 64 << 10, "{left} bytes");
    tree.memory()
}

#[test]
fn memory_is_what_was_promised() {
    // What threads and the collector keep is there from here on.
    let warm = ConcurrentMap::from([(1u64, 1u64)]);
    assert_eq!(warm.pin().remove(&1), Some(&1));

    check_empty(InlineMap::<u64, u64>::new, |map| {
        map.is_empty() && map.get(&1).is_none() && map.remove(&1).is_none()
    });
    check_empty(InlineMap::<u64, u64>::new, |map| {
        map.compute(1, |_| Action::Remove) == (None, None)
    });
    check_empty(InlineMap::<u64, u64>::new, |map| {
        map.iter().next().is_none()
    });
    check_empty(ConcurrentMap::<u64, u64>::new, |map| {
        map.is_empty() && map.pin().get(&1).is_none() && map.pin().remove(&1).is_none()
    });
    check_empty(ConcurrentMap::<u64, u64>::new, |map| {
        map.pin().iter().next().is_none()
    });
    check_empty(BytesMap::<u64>::new, |map| {
        map.is_empty() && map.pin().get("key").is_none() && map.pin().remove("key").is_none()
    });
    check_empty(InlineTree::<u64, u64>::new, |tree| {
        tree.is_empty() && tree.pin().get(&1).is_none() && tree.pin().remove(&1).is_none()
    });
    check_empty(ConcurrentTree::<u64, u64>::new, |tree| {
        tree.is_empty() && tree.pin().get(&1).is_none() && tree.pin().remove(&1).is_none()
    });
    check_empty(BytesTree::<u64>::new, |tree| {
        tree.is_empty() && tree.pin().get("key").is_none() && tree.pin().remove("key").is_none()
    });

    let std = bytes_of_ten::<HashMap<u64, u64>, _>(key);
    let ours = [
        bytes_of_ten::<InlineMap<u64, u64>, _>(key),
        bytes_of_ten::<ConcurrentMap<u64, u64>, _>(key),
        bytes_of_ten::<InlineTree<u64, u64>, _>(key),
    ];
    assert!(
        ours.iter().all(|bytes| *bytes <= 2 * std),
        "{ours:?} beside {std}"
    );
    // Each key in a block of its own, which ours holds as well.
    let bytes = |n: u64| -> Box<[u8]> { key(n).to_be_bytes().into() };
    let std = bytes_of_ten::<HashMap<Box<[u8]>, u64>, _>(bytes);
    let ours = [
        bytes_of_ten::<BytesMap<u64>, _>(bytes),
        bytes_of_ten::<BytesTree<u64>, _>(bytes),
    ];
    assert!(
        ours.iter().all(|bytes| *bytes <= 2 * std),
        "{ours:?} beside {std}"
    );

    let (inline, bytes) = costs(|| {
        let map = InlineMap::new();
        keys(1_000_000).for_each(|key| _ = map.insert(key, key));
        map
    });
    // Elsewhere the array that pairs have moved out of keeps its memory.
    assert!(
        !cfg!(target_os = "linux") || bytes <= 40 * inline.len() as isize,
        "{bytes} bytes, of them its own {}",
        inline.memory()
    );

    let sorted = left_of_tree(0..100_000);
    // Counters have a line for each thread that runs at a time, and half as many more.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(sorted < 600 + 400 * threads, "{sorted} bytes");
    assert_eq!(left_of_tree((0..100_000).rev()), sorted);
    assert_eq!(
        left_of_tree((0..100_000).map(|n| n * 7919 % 100_000)),
        sorted
    );
}
