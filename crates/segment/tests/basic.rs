//! What one process sees, with several checkouts of one segment.

// One range is one range.
#![allow(clippy::single_range_in_vec_init)]

mod names;

use fyris_segment::{Choice, Doctor, Error, Options, PAGE, Segment, Tracking};
use names::Name;

impl Name {
    fn open(&self, size: usize, options: &Options) -> Segment {
        Segment::checkout(&self.0, size, options).unwrap()
    }
}

fn trackings() -> [Tracking; 2] {
    [Tracking::Auto, Tracking::Signal]
}

#[test]
fn a_commit_arrives_at_the_next_update() {
    for tracking in trackings() {
        let name = Name::new("arrives");
        let options = Options::new().tracking(tracking);
        let (mut a, mut b) = (name.open(10 * PAGE, &options), name.open(0, &options));
        a.as_mut_slice()[5000] = 7;
        assert!(a.diff().unwrap() == [5000..5008]);
        assert_eq!((a.commit().unwrap(), b.version()), (1, 0));
        assert!(b.is_behind() && b.as_slice()[5000] == 0 && b.trunk_version() == 1);
        assert_eq!(b.incoming().unwrap(), [5000..5008]);
        let updated = b.update().unwrap();
        assert_eq!((updated.version, updated.pages, updated.bytes), (1, 1, 8));
        assert_eq!(b.as_slice()[5000], 7);
        assert!(!b.is_behind() && b.diff().unwrap().is_empty() && a.diff().unwrap().is_empty());
        Doctor::open(&name.0).unwrap().check().unwrap();
    }
}

#[test]
fn disjoint_units_of_one_page_merge() {
    for unit in [1u32, 2, 4, 8, 16, 32, 64] {
        let name = Name::new("merge");
        let options = Options::new().unit(unit);
        let (mut a, mut b) = (name.open(PAGE, &options), name.open(0, &options));
        let u = unit as usize;
        a.as_mut_slice()[..u].fill(1);
        b.as_mut_slice()[u..2 * u].fill(2);
        b.as_mut_slice()[3 * u] = 3;
        a.commit().unwrap();
        assert!(matches!(
            b.commit(),
            Err(Error::Behind { local: 0, trunk: 1 })
        ));
        assert_eq!(b.update_validated().unwrap().conflicts, 0);
        b.commit().unwrap();
        a.update().unwrap();
        assert_eq!(a.as_slice(), b.as_slice(), "unit {unit}");
        assert_eq!(
            (a.as_slice()[0], a.as_slice()[u], a.as_slice()[3 * u]),
            (1, 2, 3)
        );
    }
}

#[test]
fn a_conflict_is_decided_by_local_validation_or_callback() {
    let name = Name::new("conflict");
    let options = Options::new().unit(4);
    let (mut a, mut b) = (name.open(PAGE, &options), name.open(0, &options));
    a.as_mut_slice()[8..12].copy_from_slice(&1u32.to_le_bytes());
    b.as_mut_slice()[8..12].copy_from_slice(&10u32.to_le_bytes());
    a.as_mut_slice()[40] = 9;
    a.commit().unwrap();
    let before = b.as_slice().to_vec();
    match b.update_validated() {
        Err(Error::Conflict { ranges }) => assert_eq!(ranges, [8..12]),
        other => panic!("{other:?}"),
    }
    assert_eq!((b.as_slice(), b.version()), (&before[..], 0));
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let updated = b.update_with(|conflict| {
        assert_eq!((conflict.offset, conflict.base), (8, Some(&[0u8; 4][..])));
        let sum = number(conflict.local) + number(conflict.incoming);
        let mut bytes = [0; 64];
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        Choice::Write(bytes)
    });
    let updated = updated.unwrap();
    // The word of byte 40, and the unit that was decided.
    assert_eq!((updated.conflicts, updated.bytes), (1, 8 + 4));
    assert_eq!((number(&b.as_slice()[8..12]), b.as_slice()[40]), (11, 9));
    b.commit().unwrap();
    a.as_mut_slice()[8] = 50;
    assert_eq!(a.update().unwrap().conflicts, 1);
    assert_eq!(a.as_slice()[8], 50);
}

#[test]
fn commit_merge_merges() {
    let name = Name::new("commit-merge");
    let options = Options::new();
    let (mut a, mut b) = (name.open(4 * PAGE, &options), name.open(0, &options));
    a.as_mut_slice()[0] = 1;
    b.as_mut_slice()[8] = 2;
    b.as_mut_slice()[2 * PAGE] = 2;
    a.commit_merge().unwrap();
    assert_eq!(b.commit_merge().unwrap(), 2);
    a.as_mut_slice()[8] = 9;
    assert!(matches!(
        a.commit_merge_validated(),
        Err(Error::Conflict { .. })
    ));
    a.discard().unwrap();
    assert_eq!(a.as_slice()[8], 0);
    a.update().unwrap();
    assert_eq!(a.as_slice(), b.as_slice());
}

#[test]
fn hot_pages_heat_and_cool() {
    for tracking in trackings() {
        let name = Name::new("hot");
        let options = Options::new().tracking(tracking);
        let (mut a, mut b) = (name.open(64 * PAGE, &options), name.open(0, &options));
        for round in 1..40u8 {
            a.as_mut_slice()[3 * PAGE] = round;
            // Other pages come and go.
            a.as_mut_slice()[(10 + usize::from(round) % 7) * PAGE] = round;
            if round > 20 {
                a.as_mut_slice()[3 * PAGE] = 20;
            }
            a.commit().unwrap();
            b.update().unwrap();
            assert_eq!(a.as_slice(), b.as_slice());
        }
    }
}

#[test]
fn declared_writes_are_committed_where_declared() {
    let name = Name::new("declared");
    let declared = Options::new().declared();
    let (mut a, mut b) = (name.open(4 * PAGE, &declared), name.open(0, &declared));
    a.as_mut_slice()[PAGE] = 1;
    a.touch(PAGE..PAGE + 1).unwrap();
    a.as_mut_slice()[2 * PAGE] = 1;
    a.commit().unwrap();
    b.update().unwrap();
    assert_eq!((b.as_slice()[PAGE], b.as_slice()[2 * PAGE]), (1, 0));
    assert!(matches!(
        a.touch(0..5 * PAGE),
        Err(Error::OutOfRange { .. })
    ));
    // Tracked segments may declare, too.
    let mut c = name.open(0, &Options::new());
    c.touch(0..2 * PAGE).unwrap();
    for round in 1..10 {
        c.as_mut_slice()[0] = round;
        c.commit_merge().unwrap();
    }
    b.update().unwrap();
    assert_eq!(b.as_slice()[0], 9);
}

#[test]
fn private_ranges_are_never_committed() {
    for tracking in trackings() {
        let name = Name::new("private");
        let options = Options::new().tracking(tracking).unit(1);
        let collector = options.clone().private(100..3 * PAGE + 4);
        let (mut a, mut b) = (name.open(4 * PAGE, &collector), name.open(0, &options));
        a.as_mut_slice().fill(7);
        assert_eq!(a.diff().unwrap(), [0..100, 3 * PAGE + 4..4 * PAGE]);
        a.commit().unwrap();
        b.update().unwrap();
        let public = |at: usize| !(100..3 * PAGE + 4).contains(&at);
        for (at, &byte) in b.as_slice().iter().enumerate() {
            assert_eq!(byte, if public(at) { 7 } else { 0 }, "{at}");
        }
        assert!(a.as_slice().iter().all(|&byte| byte == 7));
        a.as_mut_slice()[PAGE] = 8;
        assert_eq!(a.commit().unwrap(), 1);
        a.as_mut_slice()[..3 * PAGE + 8].fill(9);
        a.discard().unwrap();
        let kept = |at: usize| (100..3 * PAGE + 4).contains(&at);
        for (at, &byte) in a.as_slice().iter().enumerate() {
            assert_eq!(byte, if kept(at) { 9 } else { 7 }, "{at}");
        }
    }
}

#[test]
fn a_refused_checkout_leaves_no_name_behind() {
    let name = Name::new("refused");
    let refused = Options::new().private(PAGE..5 * PAGE);
    let error = Segment::checkout(&name.0, 4 * PAGE, &refused).err();
    assert!(matches!(error, Some(Error::OutOfRange { len, .. }) if len == 4 * PAGE));
    let error = Segment::checkout(&name.0, 0, &Options::new().create(false)).err();
    assert!(matches!(error, Some(Error::NotFound(_))));
}

#[test]
fn an_error_of_the_system_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error = Segment::checkout(missing.join("file"), PAGE, &Options::new()).unwrap_err();
    assert!(matches!(&error, Error::Os { path: Some(path), .. } if *path == missing));
    let said = format!("making a segment in {missing:?}: ");
    assert!(error.to_string().starts_with(&said), "{error}");
}

/// A child that is killed cannot unlink its names; the next test to start does.
#[test]
fn names_of_killed_tests_are_not_left_behind() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = format!("test-killed-{}-0", child.id());
    let alive = format!("test-running-{}-0", std::process::id());
    child.wait().unwrap();
    for name in [&dead, &alive] {
        Segment::checkout(name, PAGE, &Options::new()).unwrap();
    }
    names::reap();
    assert!(matches!(Segment::unlink(&dead), Err(Error::NotFound(_))));
    Segment::unlink(&alive).unwrap();
}

#[test]
fn a_file_grows_only_when_its_frames_are_used() {
    let name = Name::new("frames");
    let mut segment = name.open(1000 * PAGE, &Options::new().declared());
    for page in 0..100 {
        segment.touch(page * PAGE..page * PAGE + 1).unwrap();
        segment.as_mut_slice()[page * PAGE] = 1;
        segment.commit().unwrap();
    }
    let report = Doctor::open(&name.0).unwrap().report().unwrap();
    let frames = report.frames_current + report.frames_reserved + report.frames_free;
    assert_eq!(report.frames_current, 100);
    assert!(frames <= 128, "{report:?}");
}

#[test]
fn growth_reaches_everybody() {
    for tracking in trackings() {
        let name = Name::new("growth");
        let options = Options::new().tracking(tracking).max_size(20 * PAGE);
        let (mut a, mut b) = (name.open(100, &options), name.open(0, &options));
        let at = a.as_ptr();
        a.grow(9 * PAGE).unwrap();
        assert_eq!((a.len(), a.as_ptr(), b.len()), (9 * PAGE, at, 100));
        a.as_mut_slice()[8 * PAGE] = 4;
        a.commit().unwrap();
        b.update().unwrap();
        assert_eq!((b.len(), b.as_slice()[8 * PAGE]), (9 * PAGE, 4));
        b.as_mut_slice()[7 * PAGE] = 5;
        b.commit().unwrap();
        a.update().unwrap();
        assert_eq!(a.as_slice(), b.as_slice());
        assert!(matches!(a.grow(21 * PAGE), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn a_laggard_is_cut_off_and_catches_up() {
    let name = Name::new("laggard");
    let options = Options::new();
    let (mut a, mut b) = (name.open(8 * PAGE, &options), name.open(0, &options));
    b.as_mut_slice()[7 * PAGE] = 77;
    for round in 0..2000usize {
        a.as_mut_slice()[round % 5 * PAGE] = round as u8;
        a.commit().unwrap();
    }
    let doctor = Doctor::open(&name.0).unwrap();
    assert!(doctor.report().unwrap().cuts > 0);
    assert_eq!(b.incoming().unwrap(), [0..5 * PAGE]);
    assert_eq!(b.update().unwrap().version, a.version());
    assert_eq!(
        (&b.as_slice()[..5 * PAGE], b.as_slice()[7 * PAGE]),
        (&a.as_slice()[..5 * PAGE], 77)
    );
    b.commit().unwrap();
    a.update().unwrap();
    assert_eq!(a.as_slice(), b.as_slice());
    // Now both change a page: no base, no answer.
    b.as_mut_slice()[0] = 1;
    for round in 0..2000u32 {
        a.as_mut_slice()[4..8].copy_from_slice(&round.to_le_bytes());
        a.as_mut_slice()[8] = 1;
        a.commit().unwrap();
    }
    assert!(matches!(b.update(), Err(Error::BaseLost { .. })));
    assert!(matches!(b.commit(), Err(Error::Behind { .. })));
    assert_eq!(b.as_slice()[8], 0);
    let mut asked = 0;
    b.update_with(|conflict| {
        asked += 1;
        assert!(conflict.base.is_none());
        if conflict.offset == 0 {
            Choice::Local
        } else {
            Choice::Incoming
        }
    })
    .unwrap();
    assert_eq!((asked, b.as_slice()[8]), (2, 1));
    b.commit().unwrap();
    a.update().unwrap();
    assert_eq!(a.as_slice(), b.as_slice());
    doctor.check().unwrap();
}

#[test]
fn files_persist_and_misuse_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    let new = Options::new().exclusive(true);
    let mut a = Segment::checkout(&path, 3 * PAGE, &new).unwrap();
    a.as_mut_slice()[9] = 9;
    a.commit().unwrap();
    a.sync().unwrap();
    drop(a);
    assert!(matches!(
        Segment::checkout(&path, PAGE, &new),
        Err(Error::Exists(_))
    ));
    let read = Options::new().read_only(true).create(false);
    let mut b = Segment::checkout(&path, 0, &read).unwrap();
    assert_eq!(
        (b.as_slice()[9], b.version(), b.as_mut_slice().len()),
        (9, 1, 0)
    );
    assert!(matches!(b.commit(), Err(Error::ReadOnly)));
    let wrong = |options: Options, size| Segment::checkout(&path, size, &options);
    assert!(matches!(
        wrong(Options::new().unit(4), 0),
        Err(Error::UnitMismatch { has: 8, asked: 4 })
    ));
    assert!(matches!(
        wrong(Options::new(), 4 * PAGE),
        Err(Error::TooSmall { .. })
    ));
    Segment::unlink(&path).unwrap();
    assert!(matches!(wrong(read, 0), Err(Error::NotFound(_))));
    assert!(matches!(Segment::unlink(&path), Err(Error::NotFound(_))));
    assert!(matches!(
        wrong(Options::new().unit(3), 1),
        Err(Error::BadArgument(_))
    ));
    std::fs::write(&path, "no segment").unwrap();
    assert!(matches!(Segment::unlink(&path), Err(Error::NotASegment(_))));
    assert!(matches!(
        wrong(Options::new(), 0),
        Err(Error::NotASegment(_))
    ));
}

#[test]
fn dense_updates_keep_what_is_local() {
    for tracking in [Tracking::Auto, Tracking::Signal, Tracking::Declared] {
        let name = Name::new("dense");
        let options = Options::new().tracking(tracking);
        let (mut a, mut b) = (name.open(64 * PAGE, &options), name.open(0, &options));
        for round in 1..6u8 {
            a.as_mut_slice().fill(round);
            a.touch(0..64 * PAGE).unwrap();
            b.as_mut_slice()[5 * PAGE + 16..5 * PAGE + 24].fill(99);
            b.touch(5 * PAGE..5 * PAGE + 1).unwrap();
            a.commit().unwrap();
            assert_eq!(b.update().unwrap().conflicts, 1);
            for (at, &byte) in b.as_slice().iter().enumerate() {
                let local = (5 * PAGE + 16..5 * PAGE + 24).contains(&at);
                assert_eq!(
                    byte,
                    if local { 99 } else { round },
                    "round {round} at {at}"
                );
            }
            b.discard().unwrap();
        }
    }
}

#[test]
fn slots_are_counted() {
    let name = Name::new("slots");
    let declared = Options::new().declared();
    let mut all: Vec<Segment> = (0..128).map(|_| name.open(PAGE, &declared)).collect();
    let more = || Segment::checkout(&name.0, 0, &declared);
    assert!(matches!(more(), Err(Error::TooManyProcesses(128))));
    assert!(matches!(
        Doctor::open(&name.0),
        Err(Error::TooManyProcesses(128))
    ));
    all.swap_remove(70);
    all.push(more().unwrap());
    // The highest slot keeps what it needs, too.
    all[127].as_mut_slice()[0] = 1;
    all[127].touch(0..1).unwrap();
    all[127].commit().unwrap();
    all[0].update().unwrap();
    assert_eq!(all[0].as_slice()[0], 1);
}

#[test]
fn threads_share_one_doctor() {
    let name = Name::new("doctors");
    // So large that the doctor holds the lock for longer than others spin.
    let mut segment = name.open(4000 * PAGE, &Options::new().declared());
    let doctor = Doctor::open(&name.0).unwrap();
    let look = || {
        for _ in 0..300 {
            doctor.repair().unwrap();
            doctor.check().unwrap();
        }
    };
    let mut rounds = 0;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(look)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            rounds += 1;
            segment.as_mut_slice()[..8].copy_from_slice(&u64::to_le_bytes(rounds));
            segment.touch(0..4 * PAGE).unwrap();
            segment.commit().unwrap();
        }
    });
    assert_eq!(segment.version(), rounds);
}
