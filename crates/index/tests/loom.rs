//! The edges of the indexes on which everything rests, under every interleaving and every value that a load
//! may return: `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-index --release --test loom`.
//!
//! Buckets have two or three words here, tables two buckets and leaves three entries, so a few operations reach every
//! edge. The value of an entry is in a cell that loom watches: reading it without being ordered after its
//! writing fails, and so does looking at an entry that would have been freed.
#![cfg(loom)]

mod models;

use std::sync::Arc;

use fyris_index::reclaim::check;
use fyris_index::{HashIndex, Index, InlineMap, Ordered};
use fyris_sync::thread::spawn;
use models::{Chosen, Handle, add, get, put, remove};

type Table = HashIndex<Handle, Chosen>;

/// Returns the `n`-th key of the lower half of hashes, in the first bucket of a table of two.
fn key(n: u64) -> u64 {
    n << 40 | 1
}

fn with(entries: u64) -> Arc<Table> {
    let index = Arc::new(Table::default());
    (0..entries).for_each(|n| put(&*index, key(n), 1));
    index
}

/// Runs `read` in another thread beside `write` in this one, which then ends what it began.
///
/// The writer is the thread that loom runs first: loom notices that a load could have come before
/// a store, but not that a store could have come before a load if the writer loaded there itself in between.
fn beside<I: Send + Sync + 'static>(index: &Arc<I>, read: fn(&I), write: fn(&I)) {
    let reader = spawn({
        let index = index.clone();
        move || read(&index)
    });
    write(index);
    reader.join().unwrap();
}

#[test]
fn publication() {
    check(|| {
        let index = with(0);
        let read = |index: &Table| assert!(matches!(get(index, key(0)), None | Some(42)));
        beside(&index, read, |index| put(index, key(0), 42));
        assert_eq!(get(&*index, key(0)), Some(42));
    });
}

#[test]
fn two_threads_make_the_first_table() {
    check(|| {
        let index = with(0);
        beside(
            &index,
            |index| put(index, key(1), 1),
            |index| put(index, key(0), 1),
        );
        assert_eq!(
            (get(&*index, key(0)), get(&*index, key(1))),
            (Some(1), Some(1))
        );
        assert_eq!(index.len(), 2);
    });
}

#[test]
fn unlinking() {
    check(|| {
        let index = with(1);
        let read = |index: &Table| assert!(matches!(get(index, key(0)), None | Some(1)));
        beside(&index, read, |index| remove(index, key(0)));
        assert_eq!(get(&*index, key(0)), None);
    });
}

#[test]
fn overflow_takes_the_last_slot_over() {
    check(|| {
        let index = with(3);
        // It is in the last slot, which the overflow bucket takes over.
        let read = |index: &Table| assert_eq!(get(index, key(2)), Some(1));
        beside(&index, read, |index| put(index, key(3), 1));
        assert_eq!(get(&*index, key(3)), Some(1));
    });
}

#[test]
fn freezing_and_moving() {
    check(|| {
        // Four entries in one of two buckets: the table has begun to grow, nothing has moved yet.
        let index = with(4);
        let read = |index: &Table| {
            let first = get(index, key(1));
            assert!(matches!(first, Some(1 | 2)));
            assert!(get(index, key(1)) >= first, "what was seen stays seen");
            assert_eq!(get(index, key(3)), Some(1), "it is there throughout");
        };
        beside(&index, read, |index| put(index, key(1), 2));
        assert_eq!(
            get(&*index, key(1)),
            Some(2),
            "what has moved is looked for where it is"
        );
    });
}

#[test]
fn two_writers_on_one_key() {
    check(|| {
        let index = with(1);
        let writer = |index: &Table| add(index, key(0));
        beside(&index, writer, writer);
        assert_eq!(get(&*index, key(0)), Some(3));
        assert_eq!(index.len(), 1);
    });
}

type Tree = Ordered<Handle>;

fn tree(entries: u64) -> Arc<Tree> {
    let index = Arc::new(Tree::new());
    (1..=entries).for_each(|key| put(&*index, key, 1));
    index
}

#[test]
fn two_threads_make_the_first_nodes() {
    check(|| {
        let index = tree(0);
        let write = |index: &Tree| {
            // The other may be about to show the nodes that it has made and counted.
            let stats = index.stats(&fyris_index::reclaim::pin());
            assert!(matches!(stats.depth, 0 | 2), "{stats:?}");
            put(index, 1, 1);
            assert_eq!(get(index, 1), Some(1));
        };
        beside(&index, |index| put(index, 2, 1), write);
        assert_eq!((get(&*index, 1), get(&*index, 2)), (Some(1), Some(1)));
        let pin = fyris_index::reclaim::pin();
        let stats = index.stats(&pin);
        // A writer that waits for the other may split the leaf.
        let leaves = 1 + stats.contention_splits as usize;
        assert_eq!((index.len(), stats.leaves), (2, leaves));
    });
}

#[test]
fn a_leaf_publishes() {
    check(|| {
        let index = tree(1);
        let read = |index: &Tree| {
            assert!(matches!(get(index, 2), None | Some(42)));
            assert_eq!(get(index, 1), Some(1));
        };
        beside(&index, read, |index| put(index, 2, 42));
        assert_eq!(get(&*index, 2), Some(42));
    });
}

#[test]
fn a_leaf_that_is_replaced_is_frozen() {
    check(|| {
        // No slot is left: the next change rewrites the leaf.
        let index = tree(1);
        put(&*index, 1, 2);
        put(&*index, 1, 3);
        let read = |index: &Tree| {
            let first = get(index, 1);
            assert!(matches!(first, Some(3 | 4)));
            assert!(get(index, 1) >= first, "what was seen stays seen");
        };
        beside(&index, read, |index| put(index, 1, 4));
        assert_eq!(get(&*index, 1), Some(4));
    });
}

#[test]
fn a_leaf_splits() {
    check(|| {
        let index = tree(3);
        let read = |index: &Tree| {
            assert_eq!(get(index, 3), Some(1), "it is there throughout");
            assert!(matches!(get(index, 4), None | Some(1)));
        };
        beside(&index, read, |index| put(index, 4, 1));
        assert_eq!(get(&*index, 4), Some(1));
    });
}

#[test]
fn two_writers_of_a_leaf() {
    check(|| {
        let index = tree(1);
        let writer = |index: &Tree| add(index, 1);
        beside(&index, writer, writer);
        assert_eq!((get(&*index, 1), index.len()), (Some(3), 1));
    });
}

type Inline = InlineMap<u64, u64, Chosen>;

fn inline(pairs: u64) -> Arc<Inline> {
    let map = Arc::new(Inline::with_hasher(Chosen::default()));
    (0..pairs).for_each(|n| _ = map.insert(key(n), n));
    map
}

#[test]
fn two_threads_make_the_first_buckets() {
    check(|| {
        let map = inline(0);
        let read_and_write = |map: &Inline| {
            assert!(matches!(map.get(&key(0)), None | Some(0)));
            map.insert(key(1), 1);
            assert_eq!(map.get(&key(1)), Some(1));
        };
        beside(&map, read_and_write, |map| _ = map.insert(key(0), 0));
        assert_eq!((map.get(&key(0)), map.get(&key(1))), (Some(0), Some(1)));
    });
}

#[test]
fn a_slot_of_a_bucket_is_used_again() {
    check(|| {
        let map = inline(1);
        let read = |map: &Inline| {
            assert!(matches!(map.get(&key(0)), None | Some(0)));
            assert!(matches!(map.get(&key(7)), None | Some(7)));
        };
        beside(&map, read, |map| {
            map.remove(&key(0));
            map.insert(key(7), 7);
        });
        assert_eq!((map.get(&key(0)), map.get(&key(7))), (None, Some(7)));
    });
}

#[test]
fn a_bucket_of_pairs_overflows() {
    check(|| {
        let map = inline(2);
        let read = |map: &Inline| {
            assert_eq!(map.get(&key(1)), Some(1), "it is there throughout");
            assert!(matches!(map.get(&key(2)), None | Some(2)));
        };
        beside(&map, read, |map| _ = map.insert(key(2), 2));
        assert_eq!(map.get(&key(2)), Some(2));
    });
}

#[test]
fn a_bucket_of_pairs_moves() {
    check(|| {
        // Three pairs in one of two buckets: the map has begun to grow, nothing has moved yet.
        let map = inline(3);
        let read = |map: &Inline| {
            let first = map.get(&key(1));
            assert!(matches!(first, Some(1 | 9)));
            assert!(map.get(&key(1)) >= first, "what was seen stays seen");
        };
        beside(&map, read, |map| _ = map.insert(key(1), 9));
        assert_eq!(map.get(&key(1)), Some(9));
    });
}
