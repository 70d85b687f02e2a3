//! A hostile process of the same user may write anything anywhere into the shared part: no crash, no hang, no read
//! outside; errors have names.

mod exercise;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

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

    /// A fresh copy of the image.
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
    // The changing words of the header, the slots in use and the rest, about as often each.
    let at = prop_oneof![128..320u32, 4096..4352u32, 12288..12400u32, 0..SHARED];
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
    let frames = 5 + 256 + 10 + 1024;
    assert_eq!(lab.image.len(), SHARED as usize + frames * PAGE);
}

#[test]
fn every_byte_of_the_constant_header_is_checked() {
    let lab = Lab::new();
    for at in 0..64 {
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
    for len in [0, 1, 63, 64, 4096, SHARED as usize, lab.image.len() - 1] {
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
        let log = (pages + 1).next_power_of_two().max(256);
        let frames = pages + log + 2 * pages + 1024;
        let part = |bytes: u64| bytes.next_multiple_of(PAGE as u64);
        let fixed = 4096 + 8192 + part(pages * 16) + part(log * 128) + part((frames + 1) * 4);
        let magic = u64::from_le_bytes(*b"FYRISSEG");
        [
            magic,
            2,
            8,
            pages,
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
        let header: Vec<u8> = words
            .iter()
            .chain([&sum])
            .flat_map(|word| word.to_le_bytes())
            .collect();
        std::fs::write(&path, header).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(words[6]).unwrap();
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
    let mut random = seed | 1;
    while !stop.load(Ordering::Relaxed) {
        // xorshift
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let value = if random & 64 == 0 {
            random
        } else {
            random % 300
        };
        // Everything but the constants and the lock.
        let at = 208 + (random >> 32) as u32 % (SHARED - 208);
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
        assert!(matches!(a.commit(), Err(Error::NoSpace(_))));
        assert_eq!((a.version(), a.as_slice()[pages * PAGE - 1]), (version, 7));
        // Less fits.
        a.discard().unwrap();
        a.as_mut_slice()[PAGE] = 3;
        a.commit().unwrap();
        let doctor = Doctor::open(&path).unwrap();
        doctor.check().unwrap();
        assert!(matches!(
            Segment::checkout(folder.path().join("other"), 20_000 * PAGE, &Options::new()),
            Err(Error::NoSpace(_))
        ));
        drop((a, doctor));
        Segment::unlink(&path).unwrap();
    }
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
    // What a process of another container would have written when it was the first to attach.
    Edit {
        at: 296,
        value: 1,
        wide: true,
    }
    .apply(&file);
    let second = || Segment::checkout(&path, 0, &Options::new());
    assert!(matches!(second(), Err(Error::Namespace)));
    drop(segment);
    // Nobody is there any more: the first to come makes it its own. A test beside this one starts programs: until such a child
    // has begun its program, it holds our files, and so the segment's lock.
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
    fyris_segment::steps::hurry(300);
    let opened = Segment::checkout(&path, 0, &Options::new());
    assert!(matches!(opened, Err(Error::Busy)));
}
