//! The map in a segment: versions, conflicts, growth. Several checkouts of one segment in one process stand
//! for several processes; `map_processes.rs` has real ones.

mod names;

use std::panic::{AssertUnwindSafe, catch_unwind};

use fyris_segment::versioned_map::Cursor;
use fyris_segment::{Error, MapError, Options, Segment, Tracking, VersionedMap};
use names::Name;

impl Name {
    fn open(&self, options: &Options) -> VersionedMap {
        VersionedMap::checkout(&self.0, 1 << 20, options).expect("checkout")
    }

    fn two(&self) -> (VersionedMap, VersionedMap) {
        let options = Options::new();
        (self.open(&options), self.open(&options))
    }
}

fn put(map: &mut VersionedMap, key: &[u8], value: &[u8]) {
    map.write(|batch| batch.insert(key, value)).expect("write");
}

#[test]
fn a_write_is_seen_after_an_update() {
    let name = Name::new("seen");
    let (mut a, mut b) = name.two();
    put(&mut a, b"key", b"value");
    assert_eq!(b.get(b"key").expect("get"), None);
    assert!(b.is_behind());
    b.update().expect("update");
    assert_eq!(b.get(b"key").expect("get"), Some(&b"value"[..]));
    assert_eq!(a.version(), b.version());
    assert_eq!(b.check().expect("check").entries, 1);
}

#[test]
fn tracked_segments_hold_maps_too() {
    for tracking in [Tracking::Auto, Tracking::Signal] {
        let name = Name::new("tracked");
        let options = Options::new().tracking(tracking);
        let open =
            || VersionedMap::open(Segment::checkout(&name.0, 1 << 20, &options).expect("checkout"));
        let (mut a, mut b) = (open().expect("open"), open().expect("open"));
        for n in 0..2000u32 {
            let map = if n % 3 == 0 { &mut b } else { &mut a };
            put(map, &n.to_be_bytes(), &[n as u8; 30]);
        }
        a.update().expect("update");
        assert_eq!(a.check().expect("check").entries, 2000);
    }
}

#[test]
fn a_writer_that_was_overtaken_begins_again() {
    let name = Name::new("overtaken");
    let (mut a, mut b) = name.two();
    put(&mut a, b"sum", &[1]);
    let mut runs = 0;
    a.write(|batch| {
        runs += 1;
        let sum = batch.get(b"sum")?.expect("sum")[0];
        if runs == 1 {
            put(&mut b, b"sum", &[100]);
        }
        batch.insert(b"sum", &[sum + 1])
    })
    .expect("write");
    assert_eq!((runs, a.get(b"sum").expect("get")), (2, Some(&[101][..])));
    b.update().expect("update");
    assert_eq!(b.get(b"sum").expect("get"), Some(&[101][..]));
}

/// A cursor goes on from its place in the tree, and does not take it on trust that keys ascend.
#[test]
fn a_cursor_over_keys_out_of_order_says_so() {
    let name = Name::new("disorder");
    let mut map = name.open(&Options::new());
    map.write(|batch| {
        (b'a'..b'u').try_for_each(|n| {
            batch
                .insert(&[&b"a long key "[..], &[n]].concat(), b"")
                .map(drop)
        })
    })
    .expect("write");
    let mut segment = Segment::checkout(&name.0, 0, &Options::new()).expect("checkout");
    let bytes = segment.as_mut_slice();
    let at = bytes
        .windows(12)
        .position(|key| key == b"a long key f")
        .expect("a key");
    bytes[at + 11] = b'z';
    segment.commit().expect("commit");
    map.update().expect("update");
    let mut up = Cursor::new();
    let all = std::iter::from_fn(|| up.next(map.view()).transpose());
    let all: Vec<_> = all
        .take(100)
        .map(|entry| entry.map(|(key, _)| key[11]))
        .collect();
    assert!(
        matches!(all[..], [.., Err(MapError::Corrupt { .. })]),
        "{all:?}"
    );
    let mut down = Cursor::new();
    down.to_end();
    let all = std::iter::from_fn(|| down.previous(map.view()).transpose());
    assert!(
        all.take(100)
            .any(|entry| matches!(entry, Err(MapError::Corrupt { .. })))
    );
}

#[test]
fn the_plain_calls_name_the_same_conflict() {
    let name = Name::new("plain");
    let (mut a, mut b) = name.two();
    a.insert(b"a", b"1").expect("insert");
    b.insert(b"b", b"2").expect("insert");
    a.commit().expect("commit");
    let error = b.commit().expect_err("a was first");
    let (local, trunk) = (b.version(), a.version());
    assert!(matches!(error, MapError::Behind { local: l, trunk: t } if (l, t) == (local, trunk)));
    let versions = format!("the map is at version {trunk}, this copy at {local}");
    assert!(trunk == local + 1 && error.to_string().contains(&versions));
    assert!(matches!(b.update(), Err(MapError::Uncommitted)));
    let refused = b.write(|batch| batch.insert(b"c", b""));
    assert!(matches!(refused, Err(MapError::Uncommitted)));
    assert!(b.is_dirty());
    b.discard().expect("discard");
    assert_eq!(b.get(b"b").expect("get"), None);
    b.update().expect("update");
    assert_eq!(b.get(b"a").expect("get"), Some(&b"1"[..]));
    assert!(!b.remove(b"b").expect("remove"));
    assert!(!b.is_dirty());
    let version = b.version();
    assert_eq!(b.commit().expect("commit"), version);
}

#[test]
fn what_fails_or_panics_leaves_nothing() {
    let name = Name::new("fails");
    let (mut a, mut b) = name.two();
    put(&mut a, b"kept", b"1");
    let failed: Result<(), MapError> = a.write(|batch| {
        batch.clear()?;
        Err(MapError::NotAMap)
    });
    assert!(matches!(failed, Err(MapError::NotAMap)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        a.write(|batch| -> Result<(), MapError> {
            batch.insert(b"lost", b"")?;
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err() && !a.is_dirty());
    b.update().expect("update");
    for map in [&a, &b] {
        assert_eq!(map.len().expect("len"), 1);
        map.check().expect("check");
    }
}

#[test]
fn a_merge_behind_the_back_of_the_map_is_noticed() {
    let name = Name::new("merged");
    let (mut a, mut b) = name.two();
    for n in 0..500u32 {
        put(&mut a, &n.to_be_bytes(), &[0; 40]);
    }
    b.update().expect("update");
    a.insert(&1u32.to_be_bytes(), &[1; 40]).expect("insert");
    b.insert(&499u32.to_be_bytes(), &[2; 40]).expect("insert");
    a.commit().expect("commit");
    let mut raw = b.into_segment();
    raw.commit_merge().expect("the segment merges words");
    assert!(matches!(a.update(), Err(MapError::Merged)));
    assert!(matches!(a.update(), Err(MapError::Merged)));
    let refused = a.write(|batch| batch.insert(b"", b""));
    assert!(matches!(refused, Err(MapError::Merged)));
    assert!(matches!(a.insert(b"", b""), Err(MapError::Merged)));
    assert!(matches!(VersionedMap::open(raw), Err(MapError::Merged)));
}

#[test]
#[cfg(not(fyris_small))]
fn the_segment_grows_with_the_map() {
    let name = Name::new("grows");
    let options = Options::new().max_size(64 << 20);
    let (mut a, mut b) = (name.open(&options), name.open(&options));
    for round in 0..40u32 {
        let map = if round % 2 == 0 { &mut a } else { &mut b };
        map.write(|batch| {
            (0..300u32).try_for_each(|n| {
                batch
                    .insert(&(round * 300 + n).to_be_bytes(), &[1; 400])
                    .map(drop)
            })
        })
        .expect("write");
    }
    assert!(b.segment().len() > 4 << 20);
    a.update().expect("update");
    let report = a.check().expect("check");
    assert_eq!(report.entries, 12_000);
    a.write(|batch| batch.insert(b"long", &vec![7; 20 << 20]))
        .expect("write");
    b.update().expect("update");
    assert_eq!(
        b.get(b"long").expect("get").map(<[u8]>::len),
        Some(20 << 20)
    );
    let full = b.write(|batch| batch.insert(b"longer", &vec![7; 63 << 20]));
    assert!(matches!(full, Err(MapError::Full { .. })), "{full:?}");
    b.grow(64 << 20).expect("grow");
    b.commit().expect("commit");
    assert_eq!(b.memory().expect("memory").total, 64 << 20);
    b.check().expect("check");
}

#[test]
fn what_is_refused_is_no_change() {
    let name = Name::new("refused");
    let (mut a, mut b) = name.two();
    put(&mut b, b"key", b"value");
    let refused = a.insert(&[7; 5000], b"");
    assert!(
        matches!(refused, Err(MapError::KeyTooLong(5000))),
        "{refused:?}"
    );
    assert!(!a.is_dirty());
    a.update().expect("update");
    assert_eq!(a.get(b"key").expect("get"), Some(&b"value"[..]));
}

#[test]
fn a_cursor_lives_through_updates() {
    let name = Name::new("cursor");
    let (mut a, mut b) = name.two();
    for n in 0..1000u32 {
        put(&mut a, &(2 * n).to_be_bytes(), b"");
    }
    b.update().expect("update");
    let mut cursor = Cursor::new();
    let mut seen = 0;
    while let Some((key, _)) = cursor.next(b.view()).expect("next") {
        let n = u32::from_be_bytes(key.try_into().expect("4 bytes"));
        assert_eq!(n, 2 * seen);
        seen += 1;
        if seen % 100 == 0 {
            put(&mut a, &(n + 1).to_be_bytes(), b"");
            a.write(|batch| batch.remove(&(n + 1).to_be_bytes()))
                .expect("write");
            b.update().expect("update");
        }
    }
    assert_eq!(seen, 1000);
    assert!(cursor.next(b.view()).expect("next").is_none());
    let last = cursor.previous(b.view()).expect("previous").expect("entry");
    assert_eq!(last.0, 1998u32.to_be_bytes());
}

#[test]
fn wrong_segments_have_names() {
    let name = Name::new("wrong");
    let mut segment = Segment::checkout(&name.0, 1 << 20, &Options::new()).expect("checkout");
    segment.as_mut_slice()[0] = 1;
    segment.commit().expect("commit");
    assert!(matches!(
        VersionedMap::open(segment),
        Err(MapError::NotAMap)
    ));
    let name = Name::new("wide");
    let segment = Segment::checkout(&name.0, 1 << 20, &Options::new().unit(16)).expect("checkout");
    assert!(matches!(
        VersionedMap::open(segment),
        Err(MapError::Unit(16))
    ));
    let name = Name::new("tiny");
    let segment = Segment::checkout(&name.0, 4096, &Options::new()).expect("checkout");
    assert!(matches!(
        VersionedMap::open(segment),
        Err(MapError::TooSmall { .. })
    ));
    let name = Name::new("read-only");
    let mut writer = name.open(&Options::new());
    let mut reader = name.open(&Options::new().read_only(true));
    put(&mut writer, b"a", b"b");
    reader.update().expect("update");
    assert_eq!(reader.get(b"a").expect("get"), Some(&b"b"[..]));
    assert!(matches!(
        reader.insert(b"a", b"c"),
        Err(MapError::Segment(Error::ReadOnly))
    ));
    assert!(matches!(
        reader.clear(),
        Err(MapError::Segment(Error::ReadOnly))
    ));
    assert!(!reader.is_dirty());
}

#[test]
fn a_map_in_a_file_outlives_its_processes() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("map");
    for round in 0..3u8 {
        let mut map = VersionedMap::checkout(&path, 1 << 20, &Options::new()).expect("checkout");
        assert_eq!(map.len().expect("len"), u64::from(round));
        put(&mut map, &[round], b"kept");
        map.insert(b"not committed", b"lost").expect("insert");
    }
}

/// A hostile process's commit gives the others errors, no more.
#[test]
fn a_hostile_commit_gives_errors() {
    let name = Name::new("hostile");
    let mut map = name.open(&Options::new());
    map.write(|batch| (0..3000u32).try_for_each(|n| batch.insert(&n.to_be_bytes(), b"").map(drop)))
        .expect("write");
    let mut raw = Segment::checkout(&name.0, 0, &Options::new()).expect("checkout");
    let root = u32::from_le_bytes(raw.as_slice()[20..24].try_into().expect("4 bytes"));
    raw.as_mut_slice()[root as usize * 4096 + 12..][..4].fill(0xff);
    raw.as_mut_slice()[24] ^= 1;
    raw.commit().expect("commit");
    map.update().expect("the seal is whole");
    assert!(matches!(map.get(b""), Err(MapError::Corrupt { .. })));
    assert!(matches!(map.first(), Err(MapError::Corrupt { .. })));
    let refused = map.write(|batch| batch.insert(b"", b""));
    assert!(matches!(refused, Err(MapError::Corrupt { .. })));
    assert!(!map.is_dirty());
}

#[test]
fn a_change_of_one_entry_makes_two_pages_dirty() {
    let name = Name::new("dirty");
    let (mut a, mut b) = name.two();
    a.write(|batch| {
        (0..10_000u32).try_for_each(|n| batch.insert(&n.to_be_bytes(), &[0; 8]).map(drop))
    })
    .expect("write");
    b.update().expect("update");
    put(&mut a, &5000u32.to_be_bytes(), &[1; 8]);
    assert_eq!(b.update().expect("update").pages, 2, "header and leaf");
    // The leaf is full: header, bitmap, parent, both leaves.
    put(&mut a, &5000u32.to_be_bytes(), &[1; 9]);
    assert!(b.update().expect("update").pages <= if cfg!(fyris_small) { 7 } else { 5 });
    a.write(|batch| batch.remove(&5001u32.to_be_bytes()))
        .expect("write");
    assert_eq!(b.update().expect("update").pages, 2);
}

/// While a writer's closure runs, the other writer commits until the log overruns the version that the first one began
/// with.
#[test]
fn a_writer_left_far_behind_begins_again() {
    let name = Name::new("far-behind");
    let (mut a, mut b) = name.two();
    let mut reader = name.open(&Options::new().read_only(true));
    a.write(|batch| {
        (0..5000u32).try_for_each(|n| batch.insert(&n.to_be_bytes(), &[0; 8]).map(drop))
    })
    .expect("write");
    reader.update().expect("update");
    let mut runs = 0u32;
    a.write(|batch| {
        runs += 1;
        (0..5000u32)
            .step_by(50)
            .try_for_each(|n| batch.insert(&n.to_be_bytes(), &[9; 8]).map(drop))?;
        for n in 0..if runs == 1 { 20_000u32 } else { 0 } {
            put(
                &mut b,
                &(n * 7919 % 5000).to_be_bytes(),
                &u64::from(n).to_le_bytes(),
            );
        }
        Ok::<_, MapError>(())
    })
    .expect("write");
    assert_eq!(runs, 2);
    assert_eq!(
        reader.get(&7u32.to_be_bytes()).expect("get"),
        Some(&[0; 8][..])
    );
    for map in [&mut reader, &mut b, &mut a] {
        map.update().expect("update");
        assert_eq!(map.check().expect("check").entries, 5000);
        assert_eq!(
            map.get(&50u32.to_be_bytes()).expect("get"),
            Some(&[9; 8][..])
        );
        assert_ne!(
            map.get(&7u32.to_be_bytes()).expect("get"),
            Some(&[0; 8][..])
        );
    }
}

#[test]
fn threads_read_one_version_together() {
    let name = Name::new("threads");
    let mut map = name.open(&Options::new());
    map.write(|batch| {
        (0..2000u32).try_for_each(|n| batch.insert(&n.to_be_bytes(), &n.to_be_bytes()).map(drop))
    })
    .expect("write");
    let map = &map;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                for entry in map.iter().expect("iter") {
                    let (key, value) = entry.expect("entry");
                    assert_eq!((key, map.get(key).expect("get")), (value, Some(value)));
                }
            });
        }
    });
}
