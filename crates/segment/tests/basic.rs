//! Tests of one process with several checkouts of one segment.

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
fn published_pages_are_those_that_differ() {
    for tracking in trackings() {
        let name = Name::new("published");
        let options = Options::new().tracking(tracking);
        let (mut a, mut b) = (name.open(8 * PAGE, &options), name.open(0, &options));
        let mut published = |pages: &[usize], value: u8| {
            for &page in pages {
                a.as_mut_slice()[page * PAGE] = value;
            }
            a.commit_merge().unwrap();
            a.published()
        };
        assert_eq!(published(&[], 0), 0);
        assert_eq!(published(&[1, 5, 6], 1), 3);
        // Written, and as they were.
        assert_eq!(published(&[1, 5], 1), 0);
        assert_eq!(published(&[5, 7], 2), 2);
        assert_eq!(published(&[], 0), 0);
        // Another process's commits do not count.
        b.update().unwrap();
        b.as_mut_slice()[0] = 9;
        b.commit().unwrap();
        assert_eq!(published(&[3], 3), 1);
    }
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

/// In parts, in two processes; a third checks out what is left.
#[test]
fn what_is_deferred_is_tracked_from_then_on() {
    for tracking in trackings() {
        let name = Name::new("deferred");
        let options = Options::new().tracking(tracking).max_size(20 * PAGE);
        let (mut a, mut b) = (name.open(PAGE, &options), name.open(0, &options));
        for segment in [&mut a, &mut b] {
            segment.defer(2 * PAGE..5 * PAGE).unwrap();
            let there = segment.defer(0..PAGE);
            assert!(matches!(there, Err(Error::BadArgument(_))));
            let part = segment.defer(6 * PAGE..6 * PAGE + 1);
            assert!(matches!(part, Err(Error::BadArgument(_))));
            let beyond = segment.defer(20 * PAGE..21 * PAGE);
            assert!(matches!(beyond, Err(Error::OutOfRange { .. })));
        }
        a.grow(6 * PAGE).unwrap();
        b.update().unwrap();
        a.as_mut_slice()[5 * PAGE] = 5;
        for page in [3, 4, 2] {
            for segment in [&mut a, &mut b] {
                segment.track(page * PAGE..(page + 1) * PAGE).unwrap();
            }
            a.as_mut_slice()[page * PAGE] = page as u8;
            a.commit().unwrap();
            b.update().unwrap();
            assert_eq!(a.as_slice(), b.as_slice());
            b.as_mut_slice()[page * PAGE + 1] = 7;
            b.commit().unwrap();
            a.update().unwrap();
            assert_eq!(a.as_slice()[page * PAGE + 1], 7);
            assert_eq!(a.origin().checkout().unwrap().as_slice(), a.as_slice());
        }
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
    assert!(doctor.report().unwrap().overruns > 0);
    assert_eq!(b.incoming().unwrap(), [0..5 * PAGE]);
    assert_eq!(b.update().unwrap().version, a.version());
    assert_eq!(
        (&b.as_slice()[..5 * PAGE], b.as_slice()[7 * PAGE]),
        (&a.as_slice()[..5 * PAGE], 77)
    );
    b.commit().unwrap();
    a.update().unwrap();
    assert_eq!(a.as_slice(), b.as_slice());
}

/// With nothing kept for laggards: of what both sides have changed the base is gone.
#[test]
fn a_laggard_that_is_evicted_decides_without_a_base() {
    let name = Name::new("evicted");
    let options = Options::new().history(0);
    let (mut a, mut b) = (name.open(8 * PAGE, &options), name.open(0, &options));
    let doctor = Doctor::open(&name.0).unwrap();
    a.as_mut_slice()[100] = 1;
    a.commit().unwrap();
    b.update().unwrap();
    b.as_mut_slice()[0] = 1;
    for round in 0..2000u32 {
        a.as_mut_slice()[4..8].copy_from_slice(&round.to_le_bytes());
        a.as_mut_slice()[8] = 1;
        a.commit().unwrap();
    }
    assert!(doctor.report().unwrap().evictions > 0);
    assert!(matches!(b.diff(), Err(Error::BaseLost { .. })));
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

/// One word here, another word of every page there, until the log has wrapped many times: they never touch the
/// same unit, so they merge.
#[test]
fn disjoint_changes_merge_however_far_behind() {
    for unit in [8, 1, 16] {
        let name = Name::new("disjoint");
        let options = Options::new().unit(unit);
        let pages = 16;
        let (mut a, mut b) = (
            name.open(pages * PAGE, &options),
            name.open(0, &Options::new().unit(unit)),
        );
        for page in 0..pages {
            a.as_mut_slice()[page * PAGE + 2048] = 1;
        }
        a.commit().unwrap();
        b.update().unwrap();
        for turn in 1..4u8 {
            b.as_mut_slice()[5 * PAGE + 64..][..8].fill(turn);
            for round in 0..300u64 {
                for page in 0..pages {
                    a.as_mut_slice()[page * PAGE..][..8].copy_from_slice(&round.to_le_bytes());
                }
                a.commit().unwrap();
            }
            let doctor = Doctor::open(&name.0).unwrap();
            let report = doctor.report().unwrap();
            assert!((1..=2 * pages).contains(&report.frames_kept), "{report:?}");
            assert_eq!(report.evictions, 0);
            doctor.check().unwrap();
            let end = 64 + unit.max(8) as usize;
            assert_eq!(b.diff().unwrap(), [5 * PAGE + 64..5 * PAGE + end]);
            match turn {
                1 => _ = b.commit_merge().unwrap(),
                2 => {
                    assert_eq!(b.update_validated().unwrap().conflicts, 0);
                    b.commit().unwrap();
                }
                _ => {
                    b.update_with(|_| panic!("nothing to ask about")).unwrap();
                    b.commit().unwrap();
                }
            }
            a.update().unwrap();
            assert_eq!(a.as_slice(), b.as_slice());
            assert_eq!(a.as_slice()[5 * PAGE + 64..][..8], [turn; 8]);
            // The next commit gives back what was kept.
            a.as_mut_slice()[0] ^= 1;
            a.commit().unwrap();
            b.update().unwrap();
            assert_eq!(doctor.report().unwrap().frames_kept, 0);
            doctor.check().unwrap();
        }
    }
}

/// A unit that both sides changed is a conflict with its base, also when the log has left that behind.
#[test]
fn a_conflict_has_its_base_however_far_behind() {
    let name = Name::new("far-conflict");
    let (mut a, mut b) = (
        name.open(4 * PAGE, &Options::new()),
        name.open(0, &Options::new()),
    );
    a.as_mut_slice()[0] = 1;
    a.commit().unwrap();
    b.update().unwrap();
    b.as_mut_slice()[0] = 2;
    for round in 0..3000u32 {
        a.as_mut_slice()[..8].copy_from_slice(&u64::from(round).to_le_bytes());
        a.as_mut_slice()[PAGE..][..4].copy_from_slice(&round.to_le_bytes());
        a.commit().unwrap();
    }
    let Err(Error::Conflict { ranges }) = b.update_validated() else {
        panic!("no conflict")
    };
    assert_eq!(ranges, [0..8]);
    assert_eq!((b.as_slice()[0], b.as_slice()[PAGE]), (2, 0));
    let updated = b.update_with(|conflict| {
        assert_eq!(conflict.base, Some(&[1, 0, 0, 0, 0, 0, 0, 0][..]));
        assert_eq!(conflict.incoming, 2999u64.to_le_bytes());
        Choice::Incoming
    });
    assert_eq!(updated.unwrap().version, a.version());
    assert_eq!(a.as_slice(), b.as_slice());
    Doctor::open(&name.0).unwrap().check().unwrap();
}

/// Processes that stand at different versions have a snapshot each; together they keep no more than that, and what
/// the table has no room for costs the one that is furthest behind its base, not the others.
#[test]
fn laggards_at_many_versions_keep_their_own_bases() {
    let name = Name::new("laggards");
    let pages = 8;
    let options = Options::new().history(3 * pages * PAGE);
    let mut a = name.open(pages * PAGE, &options);
    let mut others = Vec::new();
    for value in 1..6u8 {
        let mut other = name.open(0, &Options::new());
        other.as_mut_slice()[8 * usize::from(value)] = value;
        others.push(other);
        for round in 0..400u32 {
            for page in 0..pages {
                a.as_mut_slice()[page * PAGE + 1024..][..4].copy_from_slice(&round.to_le_bytes());
            }
            a.as_mut_slice()[2048] = value;
            a.commit().unwrap();
        }
    }
    let doctor = Doctor::open(&name.0).unwrap();
    let report = doctor.report().unwrap();
    assert_eq!(report.frames_kept, 3 * pages, "{report:?}");
    assert_eq!(report.evictions, 2, "{report:?}");
    doctor.check().unwrap();
    for (at, other) in others.iter_mut().enumerate() {
        match at {
            0 | 1 => assert!(matches!(other.update(), Err(Error::BaseLost { .. }))),
            _ => _ = other.commit_merge().unwrap(),
        }
    }
    // A dead or departed process keeps nothing.
    drop(others);
    a.update().unwrap();
    a.as_mut_slice()[0] = 1;
    a.commit().unwrap();
    assert_eq!(doctor.report().unwrap().frames_kept, 0);
    assert_eq!(a.as_slice()[8..48].iter().filter(|&&b| b != 0).count(), 3);
    doctor.check().unwrap();
}

/// Space that a laggard has held back is given back when it is gone: the file shrinks to what is in use, and a slack.
#[test]
fn a_file_gives_space_back() {
    use std::os::unix::fs::MetadataExt;
    let name = Name::new("shrink");
    let declared = Options::new().declared();
    let pages = 8;
    let (mut a, b) = (name.open(pages * PAGE, &declared), name.open(0, &declared));
    let blocks = |a: &Segment| std::fs::metadata(a.path()).unwrap().blocks() * 512;
    let commit = |a: &mut Segment, round: usize| {
        a.as_mut_slice()[round % pages * PAGE] = round as u8;
        a.touch(round % pages * PAGE..round % pages * PAGE + 1)
            .unwrap();
        a.commit().unwrap();
    };
    for round in 0..1000 {
        commit(&mut a, round);
    }
    let large = blocks(&a);
    drop(b);
    for round in 0..50 {
        commit(&mut a, round);
    }
    let doctor = Doctor::open(&name.0).unwrap();
    let report = doctor.report().unwrap();
    let used = report.frames_current + report.frames_retained + report.frames_reserved;
    assert!(report.frames_free <= used + 256, "{report:?}");
    assert!(report.frames_holes >= 700, "{report:?}");
    assert!(blocks(&a) + 700 * PAGE as u64 <= large);
    doctor.check().unwrap();
    // Holes are frames again when they are needed, and the content is what it was.
    let c = name.open(0, &declared);
    for round in 0..1000 {
        commit(&mut a, round);
    }
    assert!(doctor.report().unwrap().frames_holes < 300);
    assert!((0..pages).all(|page| c.as_slice()[page * PAGE] == (40 + page) as u8 || page < 2));
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

/// A checkout says how its writes are noticed, and what that means for system calls that write into it.
#[test]
fn the_tracking_in_use_is_told() {
    for tracking in trackings() {
        let name = Name::new("tracking");
        let mut a = name.open(4 * PAGE, &Options::new().tracking(tracking));
        assert!(match tracking {
            Tracking::Auto => matches!(a.tracking(), Tracking::Userfault | Tracking::Signal),
            other => a.tracking() == other,
        });
        let zero = std::fs::File::open("/dev/zero").unwrap();
        a.as_mut_slice()[..2 * PAGE].fill(1);
        a.commit().unwrap();
        let read = |a: &mut Segment| {
            let into = &mut a.as_mut_slice()[100..PAGE + 100];
            std::io::Read::read(&mut &zero, into)
        };
        if a.tracking() == Tracking::Signal {
            let refused = read(&mut a).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EFAULT));
            a.touch(100..PAGE + 100).unwrap();
        }
        assert_eq!(read(&mut a).unwrap(), PAGE);
        assert_eq!(a.diff().unwrap(), [96..PAGE + 104]);
    }
    let name = Name::new("tracking-none");
    assert_eq!(
        name.open(PAGE, &Options::new().declared()).tracking(),
        Tracking::Declared
    );
    let reader = name.open(0, &Options::new().read_only(true));
    assert_eq!(reader.tracking(), Tracking::Declared);
}

/// Every user can write to the folder of segments in memory: no operation follows a link there.
#[test]
fn a_planted_link_is_not_ours() {
    let name = Name::new("link");
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let target = folder.path().join("target");
    drop(Segment::checkout(&target, PAGE, &Options::new()).unwrap());
    let user = rustix::process::geteuid().as_raw();
    let link = format!("/dev/shm/fyris-{user}-{}", name.0);
    for target in [target.as_path(), std::path::Path::new("/nowhere/at/all")] {
        std::os::unix::fs::symlink(target, &link).unwrap();
        let options = Options::new();
        assert!(matches!(
            Segment::checkout(&name.0, PAGE, &options),
            Err(Error::NotOurs(_))
        ));
        assert!(matches!(Doctor::open(&name.0), Err(Error::NotOurs(_))));
        assert!(matches!(Segment::unlink(&name.0), Err(Error::NotOurs(_))));
        std::fs::remove_file(&link).unwrap();
    }
    assert!(matches!(Segment::unlink(&name.0), Err(Error::NotFound(_))));
    assert!(target.exists());
}

#[test]
fn slots_are_counted() {
    let name = Name::new("slots");
    let declared = Options::new().declared().slots(20);
    let mut all: Vec<Segment> = (0..20).map(|_| name.open(PAGE, &declared)).collect();
    let more = || Segment::checkout(&name.0, 0, &declared);
    assert!(matches!(more(), Err(Error::TooManyProcesses(20))));
    // The doctor is wanted just then, and needs none; several take turns.
    let doctors = [&name.0, &name.0].map(|name| Doctor::open(name).unwrap());
    for doctor in &doctors {
        let report = doctor.report().unwrap();
        assert_eq!((report.slots, report.processes.len()), (20, 20));
        doctor.repair().unwrap();
        doctor.check().unwrap();
    }
    all.swap_remove(7);
    all.push(more().unwrap());
    // The highest slot keeps what it needs, too.
    all[19].as_mut_slice()[0] = 1;
    all[19].touch(0..1).unwrap();
    all[19].commit().unwrap();
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

#[test]
fn a_laggard_does_not_make_commits_take_fresh_frames() {
    let name = Name::new("lag");
    let options = Options::new().lag(20);
    let mut ours = name.open(64 * PAGE, &options);
    let mut theirs = name.open(0, &options);
    theirs.as_mut_slice()[8] = 1;
    for round in 1..200u64 {
        for page in 0..4 {
            let at = (page + round as usize % 3) * PAGE;
            ours.as_mut_slice()[at..at + 8].copy_from_slice(&round.to_le_bytes());
        }
        ours.commit().unwrap();
        if round == 150 {
            let report = Doctor::open(&name.0).unwrap().report().unwrap();
            assert!(report.log_used <= 2 * 20 + 4, "{report:?}");
            assert!(report.frames_kept <= 64, "{report:?}");
        }
    }
    theirs.update().unwrap();
    assert_eq!(theirs.as_slice()[8], 1);
    assert_eq!(
        theirs.as_slice()[PAGE..2 * PAGE],
        ours.as_slice()[PAGE..2 * PAGE]
    );
    theirs.commit().unwrap();
    ours.update().unwrap();
    assert!(ours.as_slice() == theirs.as_slice());
}
