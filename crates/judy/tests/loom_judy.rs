//! The edges of Judy arrays that threads share, under every interleaving and every value that a load may return:
//! `RUSTFLAGS='--cfg loom --cfg fyris_small' cargo test -p fyris-judy --release --test loom_judy`.
//!
//! Looking at a node that would have been freed fails, as does looking at a word of one before it is published. Leaves
//! have three keys at most here, linear branches three children.
#![cfg(loom)]

use std::sync::Arc;

use fyris_index::reclaim::check;
use fyris_judy::ConcurrentJudy;
use fyris_sync::thread::spawn;

type Map = ConcurrentJudy<u64, u64>;

fn with(keys: &[u64]) -> Arc<Map> {
    Arc::new(keys.iter().map(|key| (*key, *key)).collect())
}

/// Runs `other` in another thread beside `first` in this one.
fn beside(map: &Arc<Map>, other: fn(&Map), first: fn(&Map)) {
    let thread = spawn({
        let map = map.clone();
        move || other(&map)
    });
    first(map);
    thread.join().unwrap();
}

/// Checks what is there when no thread is at work, and that all of it is counted.
fn holds(map: &Map, keys: &[u64]) {
    assert_eq!(map.keys().collect::<Vec<_>>(), keys);
    assert_eq!(map.len(), keys.len());
    for (i, key) in keys.iter().enumerate() {
        assert_eq!((map.get(key), map.rank(key)), (Some(*key), i));
    }
}

#[test]
fn a_key_is_published() {
    check(|| {
        let map = with(&[]);
        let read = |map: &Map| assert!(matches!(map.get(&1), None | Some(1)));
        beside(&map, read, |map| _ = map.insert(1, 1));
        holds(&map, &[1]);
    });
}

#[test]
fn a_value_is_replaced_at_once() {
    check(|| {
        let map = with(&[1]);
        let read = |map: &Map| assert!(matches!(map.get(&1), Some(1 | 2)));
        beside(&map, read, |map| assert_eq!(map.insert(1, 2), Some(1)));
        assert_eq!(map.get(&1), Some(2));
    });
}

#[test]
fn a_reader_is_in_a_leaf_that_is_copied() {
    check(|| {
        let map = with(&[1, 2]);
        let read = |map: &Map| assert_eq!(map.get(&2), Some(2), "it is there throughout");
        beside(&map, read, |map| {
            map.insert(3, 3);
            map.remove(&1);
        });
        holds(&map, &[2, 3]);
    });
}

/// A leaf becomes a bitmap leaf, whose groups are copied then.
#[test]
fn a_reader_is_in_a_leaf_that_grows() {
    check(|| {
        let map = with(&[1, 2, 3]);
        let read = |map: &Map| assert_eq!(map.get(&2), Some(2), "it is there throughout");
        beside(&map, read, |map| _ = map.insert(4, 4));
        holds(&map, &[1, 2, 3, 4]);
    });
}

#[test]
fn a_bit_and_its_value_come_and_go_together() {
    check(|| {
        let map = with(&[1, 2, 3, 4]);
        let read = |map: &Map| {
            assert!(matches!(map.get(&0), None | Some(0)));
            assert_eq!(map.get(&3), Some(3), "it is there throughout");
        };
        beside(&map, read, |map| {
            map.insert(0, 0);
            map.remove(&1);
        });
        holds(&map, &[0, 2, 3, 4]);
    });
}

/// In an open group the value is there before the bit.
#[test]
fn a_value_is_seen_with_its_bit() {
    check(|| {
        let map = with(&[1, 2, 3, 4]);
        let read = |map: &Map| {
            let seen = (map.get(&2), map.get(&2));
            let in_order = matches!(
                seen,
                (Some(2), _) | (None, None | Some(9)) | (Some(9), Some(9))
            );
            assert!(in_order, "{seen:?}");
        };
        beside(&map, read, |map| {
            map.remove(&2);
            map.insert(2, 9);
        });
        assert_eq!((map.get(&2), map.len()), (Some(9), 4));
    });
}

/// An open group is closed, and opened again.
#[test]
fn a_reader_is_in_a_group_that_closes() {
    check(|| {
        let map = with(&[1, 17, 18, 33]);
        let read = |map: &Map| assert_eq!(map.get(&17), Some(17), "it is there throughout");
        beside(&map, read, |map| {
            map.remove(&18);
            map.insert(19, 19);
        });
        holds(&map, &[1, 17, 19, 33]);
    });
}

/// A bitmap leaf becomes an uncompressed one, and a bitmap leaf again.
#[test]
fn a_reader_is_in_a_bitmap_leaf_that_is_replaced() {
    check(|| {
        let map = with(&[1, 2, 3, 17, 33]);
        let read = |map: &Map| assert_eq!(map.get(&17), Some(17), "it is there throughout");
        beside(&map, read, |map| {
            map.insert(34, 34);
            map.remove(&1);
            map.remove(&2);
        });
        holds(&map, &[3, 17, 33, 34]);
    });
}

/// In an uncompressed leaf the value is there before the bit, too.
#[test]
fn a_value_of_an_uncompressed_leaf_is_seen_with_its_bit() {
    check(|| {
        let map = with(&[1, 2, 3, 17, 33, 34, 35]);
        let read = |map: &Map| {
            let seen = (map.get(&33), map.get(&33));
            let in_order = matches!(
                seen,
                (Some(33), _) | (None, None | Some(9)) | (Some(9), Some(9))
            );
            assert!(in_order, "{seen:?}");
        };
        beside(&map, read, |map| {
            map.remove(&33);
            map.insert(33, 9);
        });
        assert_eq!((map.get(&33), map.len()), (Some(9), 7));
    });
}

#[test]
fn a_key_is_put_into_a_bitmap_leaf_that_is_replaced() {
    check(|| {
        let map = with(&[1, 2, 3, 17, 33]);
        beside(
            &map,
            |map| _ = map.insert(34, 34),
            |map| _ = map.insert(35, 35),
        );
        holds(&map, &[1, 2, 3, 17, 33, 34, 35]);
    });
}

#[test]
fn two_writers_put_keys_into_one_leaf() {
    check(|| {
        let map = with(&[1]);
        beside(&map, |map| _ = map.insert(2, 2), |map| _ = map.insert(3, 3));
        holds(&map, &[1, 2, 3]);
    });
}

#[test]
fn two_writers_put_one_key_in() {
    check(|| {
        let map = with(&[]);
        let count = |map: &Map| _ = map.update_or_insert(1, |n| n + 1, 1);
        beside(&map, count, count);
        assert_eq!((map.get(&1), map.len()), (Some(2), 1));
    });
}

/// The linear branch of three children gets a fourth, while a key is put below one of the three.
#[test]
fn a_key_is_put_below_a_branch_that_grows() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300]);
        beside(
            &map,
            |map| _ = map.insert(0x201, 0x201),
            |map| _ = map.insert(0x400, 0x400),
        );
        holds(&map, &[0x100, 0x101, 0x200, 0x201, 0x300, 0x400]);
    });
}

#[test]
fn a_reader_is_in_a_branch_that_grows() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300]);
        let read = |map: &Map| assert_eq!(map.get(&0x300), Some(0x300), "it is there throughout");
        beside(&map, read, |map| _ = map.insert(0x400, 0x400));
    });
}

/// Two keys are left, so the branch becomes a leaf, while another is put below it.
#[test]
fn a_key_is_put_below_a_branch_that_becomes_a_leaf() {
    check(|| {
        let map = with(&[0x100, 0x200, 0x201, 0x300]);
        map.remove(&0x300);
        beside(
            &map,
            |map| _ = map.insert(0x202, 0x202),
            |map| _ = map.remove(&0x100),
        );
        holds(&map, &[0x200, 0x201, 0x202]);
    });
}

#[test]
fn a_reader_is_in_a_branch_that_becomes_a_leaf() {
    check(|| {
        let map = with(&[0x100, 0x200, 0x201, 0x300]);
        map.remove(&0x300);
        let read = |map: &Map| {
            assert_eq!(map.get(&0x201), Some(0x201), "it is there throughout");
            assert_eq!(map.first().map(|(key, _)| key & !0x300), Some(0));
        };
        beside(&map, read, |map| _ = map.remove(&0x100));
        holds(&map, &[0x200, 0x201]);
    });
}

/// A key that does not share what a link skips is put beside the narrow branch, while one is put below that.
#[test]
fn a_branch_is_put_above_one_that_gets_a_key() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300]);
        beside(
            &map,
            |map| _ = map.insert(0x201, 0x201),
            |map| _ = map.insert(0x9_0000, 0x9_0000),
        );
        holds(&map, &[0x100, 0x101, 0x200, 0x201, 0x300, 0x9_0000]);
    });
}

/// The branch that this leaves with one child gives way to it, while a key is put below.
#[test]
fn a_branch_gives_way_to_its_only_child() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300, 0x9_0000]);
        beside(
            &map,
            |map| _ = map.insert(0x201, 0x201),
            |map| _ = map.remove(&0x9_0000),
        );
        holds(&map, &[0x100, 0x101, 0x200, 0x201, 0x300]);
    });
}

/// The branch that gives way to its only child has lost a key that is not counted above yet, by a thread whose key does
/// not belong below that child.
#[test]
fn what_a_branch_has_not_passed_on_is_counted_when_it_gives_way() {
    check(|| {
        let map = with(&[0, 1, 2, 3, 1 << 56, 1 << 48]);
        let come_and_go = |map: &Map| {
            map.insert(2 << 48, 2 << 48);
            map.remove(&(2 << 48));
        };
        beside(&map, come_and_go, |map| _ = map.remove(&(1 << 48)));
        holds(&map, &[0, 1, 2, 3, 1 << 56]);
    });
}

#[test]
fn keys_below_two_branches_are_counted_above_both() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300, 0x9_0000]);
        beside(
            &map,
            |map| _ = map.insert(0x201, 0x201),
            |map| _ = map.insert(0x202, 0x202),
        );
        holds(&map, &[0x100, 0x101, 0x200, 0x201, 0x202, 0x300, 0x9_0000]);
    });
}

#[test]
fn a_map_is_cleared_beside_a_writer() {
    check(|| {
        let map = with(&[0x100, 0x101, 0x200, 0x300]);
        beside(&map, |map| _ = map.insert(0x201, 0x201), Map::clear);
        let left: Vec<u64> = map.keys().collect();
        assert!(left.is_empty() || left == [0x201], "{left:?}");
        holds(&map, &left);
    });
}
