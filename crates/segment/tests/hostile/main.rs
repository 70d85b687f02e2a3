//! A hostile process of the same user may write anything anywhere into the shared part: no crash, no hang, no read
//! outside; errors have names.

mod exercise;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use fyris_segment::{Doctor, Error, Options, PAGE, Segment, Shared, Tracking};

use exercise::{Edit, PAGES, SHARED, exercise, make, plant};

/// A folder in shared memory (faster than a disk), gone at the end, with the image of a segment.
struct Lab {
    folder: tempfile::TempDir,
    image: Vec<u8>,
}

impl Lab {
    fn new() -> Lab {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("image");
        make(&path);
        let image = std::fs::read(&path).unwrap();
        Lab { folder, image }
    }

    /// Returns a fresh copy of the image.
    fn copy(&self) -> PathBuf {
        let path = self.folder.path().join("copy");
        plant(&path, &self.image);
        path
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let value = prop_oneof![
        any::<u64>(),
        prop::sample::select(vec![
            0,
            1,
            2,
            3,
            255,
            256,
            u64::MAX,
            1 << 63,
            (1 << 63) - 1,
            1 << 32
        ]),
        0..5000u64,
    ];
    // The changing words of the header, the slots in use, page heads, kept frames and the rest, about as often each.
    let kept = 3 * 4096 + 1024 * 128u32;
    let at = prop_oneof![
        128..368u32,
        4096..4352u32,
        8192..8304u32,
        kept..kept + 96,
        0..SHARED
    ];
    (at, value, any::<bool>()).prop_map(|(at, value, wide)| Edit { at, value, wide })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_words_anywhere(edits in prop::collection::vec(edit(), 1..20)) {
        thread_local! { static LAB: Lab = Lab::new(); }
        LAB.with(|lab| exercise(&lab.copy(), &edits));
    }
}

#[test]
fn the_shared_part_is_as_long_as_the_edits_think() {
    let lab = Lab::new();
    let path = lab.copy();
    // The last word before the frames is the state of a frame that is not there.
    let segment = Segment::checkout(&path, 0, &Options::new()).unwrap();
    assert_eq!(segment.max_len(), (PAGES + 1) * PAGE);
    let frames = 5 + 1024 + 10 + 1024 + 6;
    assert_eq!(lab.image.len(), SHARED as usize + frames * PAGE);
}

#[test]
fn every_byte_of_the_constant_header_is_checked() {
    let lab = Lab::new();
    for at in 0..80 {
        let path = lab.copy();
        let mut image = lab.image.clone();
        image[at] ^= 0x40;
        std::fs::write(&path, &image).unwrap();
        let error = Segment::checkout(&path, 0, &Options::new()).err();
        assert!(
            matches!(
                error,
                Some(Error::NotASegment(_) | Error::WrongFormat { .. } | Error::Corrupt(_))
            ),
            "byte {at}: {error:?}"
        );
    }
}

#[test]
fn truncated_files_are_refused() {
    let lab = Lab::new();
    for len in [0, 1, 79, 80, 4096, SHARED as usize, lab.image.len() - 1] {
        let path = lab.copy();
        std::fs::write(&path, &lab.image[..len]).unwrap();
        let error = Segment::checkout(&path, 0, &Options::new()).err();
        assert!(
            matches!(error, Some(Error::NotASegment(_) | Error::Truncated { .. })),
            "{len}: {error:?}"
        );
    }
    assert!(matches!(
        Segment::checkout("/dev/null", 0, &Options::new()),
        Err(Error::NotASegment(_))
    ));
    assert!(Segment::checkout("/proc/self/", 0, &Options::new()).is_err());
}

/// A header that fits together, in a file that is nothing but a hole: what it claims must not be reserved.
#[test]
fn a_file_that_claims_a_lot_must_hold_it() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = folder.path().join("claim");
    let words = |pages: u64| {
        let (slots, kept) = (1024, 8 * pages);
        let log = (2 * pages).next_power_of_two().max(1024);
        let frames = pages + log + 2 * pages + 1024 + kept;
        let part = |bytes: u64| bytes.next_multiple_of(PAGE as u64);
        let tables = part((slots + 1) * 64) + part(pages * 16) + part(log * 128) + part(kept * 16);
        let fixed = 4096 + tables + part((frames + 1) * 4);
        let magic = u64::from_le_bytes(*b"FYRISSEG");
        [
            magic,
            4,
            8,
            pages,
            slots,
            kept,
            log,
            frames,
            fixed + frames * PAGE as u64,
        ]
    };
    // 64 GiB and 1 TiB.
    for pages in [1 << 24, 1 << 28] {
        let words = words(pages);
        let sum = words.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, word| {
            (sum ^ word).wrapping_mul(0x100_0000_01b3)
        });
        let fixed = words.iter().chain([&sum]);
        let mut header: Vec<u8> = fixed.flat_map(|word| word.to_le_bytes()).collect();
        // Its size: all of it.
        header.resize(144, 0);
        header.extend((pages * PAGE as u64).to_le_bytes());
        std::fs::write(&path, header).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(words[8]).unwrap();
        let error = Segment::checkout(&path, 0, &Options::new()).err();
        let claims = "the header claims more than the file holds";
        assert!(
            matches!(error, Some(Error::Corrupt(text)) if text == claims),
            "{error:?}"
        );
    }
}

/// Writes random words into `path` until told to stop.
fn scribble(path: &Path, stop: &AtomicBool, seed: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let mut random = SmallRng::seed_from_u64(seed);
    while !stop.load(Ordering::Relaxed) {
        let value = if random.random() {
            random.random()
        } else {
            random.random_range(0..300)
        };
        // Everything but the constants and the lock.
        let at = random.random_range(208..SHARED);
        Edit {
            at,
            value,
            wide: true,
        }
        .apply(&file);
        std::thread::yield_now();
    }
}

#[test]
fn somebody_scribbles_while_we_work() {
    let lab = Lab::new();
    for seed in 0..20 {
        let path = lab.copy();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| scribble(&path, &stop, seed * 77 + 5));
            for _ in 0..10 {
                exercise(&path, &[]);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn a_full_file_system_is_an_error_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let limited = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=700k", "none"])
        .arg(folder.path())
        .output();
    if !limited.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: may not mount a small tmpfs here");
        return;
    }
    let path = folder.path().join("small");
    let pages = 200;
    for tracking in [Tracking::Auto, Tracking::Signal] {
        let mut a =
            Segment::checkout(&path, pages * PAGE, &Options::new().tracking(tracking)).unwrap();
        a.as_mut_slice()[0] = 1;
        a.commit().unwrap();
        let version = a.version();
        a.as_mut_slice().fill(7);
        assert!(matches!(a.commit(), Err(Error::NoSpace { .. })));
        assert_eq!((a.version(), a.as_slice()[pages * PAGE - 1]), (version, 7));
        // Less fits.
        a.discard().unwrap();
        a.as_mut_slice()[PAGE] = 3;
        a.commit().unwrap();
        let doctor = Doctor::open(&path).unwrap();
        doctor.check().unwrap();
        assert!(matches!(
            Segment::checkout(folder.path().join("other"), 20_000 * PAGE, &Options::new()),
            Err(Error::NoSpace { .. })
        ));
        drop((a, doctor));
        Segment::unlink(&path).unwrap();
    }
    let _ = std::process::Command::new("umount")
        .arg(folder.path())
        .status();
}

/// Space that a segment has given back may be used up by others: the frames without space are an error then, no SIGBUS.
#[test]
fn a_full_file_system_is_an_error_after_space_was_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let limited = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16m", "none"])
        .arg(folder.path())
        .output();
    if !limited.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: may not mount a small tmpfs here");
        return;
    }
    let path = folder.path().join("small");
    let (pages, options) = (64, Options::new().declared());
    let open = || Segment::checkout(&path, pages * PAGE, &options).unwrap();
    let (mut a, laggard) = (open(), open());
    let commit = |a: &mut Segment, pages: usize, round: u8| {
        a.as_mut_slice()[..pages * PAGE].fill(round);
        a.touch(0..pages * PAGE).unwrap();
        a.commit()
    };
    for round in 1..15 {
        commit(&mut a, pages, round).unwrap();
    }
    drop(laggard);
    for round in 15..40 {
        commit(&mut a, 1, round).unwrap();
    }
    let report = Doctor::open(&path).unwrap().report().unwrap();
    assert!(report.frames_holes > 500, "{report:?}");
    // Everything that is left, to the last page.
    let mut hog = std::fs::File::create(folder.path().join("hog")).unwrap();
    while std::io::Write::write(&mut hog, &[1; PAGE]).is_ok_and(|written| written == PAGE) {}
    // Each writer reserves frames for its next commit.
    let mut writers: Vec<Segment> = (0..8).map(|_| open()).collect();
    let mut full = false;
    for round in 40..60 {
        for segment in writers.iter_mut().chain([&mut a]) {
            match segment.update().and_then(|_| commit(segment, pages, round)) {
                Ok(_) => (),
                Err(Error::NoSpace { .. }) => full = true,
                Err(error) => panic!("{error}"),
            }
            segment.discard().unwrap();
        }
    }
    assert!(full);
    Doctor::open(&path).unwrap().check().unwrap();
    drop((a, writers, hog));
    let _ = std::process::Command::new("umount")
        .arg(folder.path())
        .status();
}

#[test]
fn a_second_thread_is_told_that_the_segment_is_busy() {
    let lab = Lab::new();
    let shared = Shared::new(Segment::checkout(lab.copy(), 0, &Options::new()).unwrap());
    let busy = shared.with(|segment| {
        let elsewhere = std::thread::scope(|scope| {
            let other = scope.spawn(|| shared.with(|segment| segment.commit()));
            other.join().unwrap()
        });
        assert!(matches!(elsewhere, Err(Error::Busy)));
        segment.commit()
    });
    assert_eq!(
        busy.unwrap(),
        shared.with(|segment| segment.commit()).unwrap()
    );
}

#[test]
fn another_pid_namespace_is_named() {
    let lab = Lab::new();
    let path = lab.copy();
    let segment = Segment::checkout(&path, 0, &Options::new()).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    // The word that a process of another container would have written as the first to attach.
    Edit {
        at: 296,
        value: 1,
        wide: true,
    }
    .apply(&file);
    let second = || Segment::checkout(&path, 0, &Options::new());
    assert!(matches!(second(), Err(Error::Namespace)));
    drop(segment);
    // No process is attached any more: the next to attach writes its own namespace. A test beside this one starts
    // programs: until such a child has begun its program, it holds our files, and so the segment's lock.
    let begun = std::time::Instant::now();
    let answer = loop {
        match second() {
            Err(Error::Namespace) if begun.elapsed().as_secs() < 5 => std::thread::yield_now(),
            answer => break answer,
        }
    };
    answer.unwrap();
}

#[test]
fn who_keeps_the_whole_file_locked_is_waited_for_with_a_limit() {
    let lab = Lab::new();
    let path = lab.copy();
    let file = std::fs::File::open(&path).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    // Ten seconds in builds without the knob.
    #[cfg(debug_assertions)]
    fyris_segment::failpoints::hurry(300);
    let opened = Segment::checkout(&path, 0, &Options::new());
    assert!(matches!(opened, Err(Error::Busy)));
}
