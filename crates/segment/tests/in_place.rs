//! Readers that show the trunk's own pages.

mod names;

use fyris_segment::{Doctor, Error, Options, PAGE, Segment, VersionedMap};
use names::Name;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const PAGES: usize = 300;

fn reader(name: &Name) -> Segment {
    Segment::checkout(&name.0, 0, &Options::new().in_place(true)).unwrap()
}

/// Returns the kilobytes of memory behind a working copy: those mapped of its memfd.
#[cfg(not(fyris_small))]
fn copied(segment: &Segment) -> usize {
    let start = format!("{:x}-", segment.as_ptr() as usize);
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut inside, mut total) = (false, 0);
    let end = segment.as_ptr() as usize + segment.max_len();
    for line in maps.lines() {
        if let Some((from, _)) = line.split_once('-')
            && let Ok(from) = usize::from_str_radix(from, 16)
        {
            inside = (line.starts_with(&start) || (segment.as_ptr() as usize..end).contains(&from))
                && line.contains("fyris-copy");
        } else if let (true, Some(size)) = (inside, line.strip_prefix("Size:")) {
            total += size
                .trim()
                .trim_end_matches(" kB")
                .parse::<usize>()
                .unwrap();
        }
    }
    total
}

/// Any commits, updates of readers at any time: they see what a reader with a copy sees.
#[test]
fn readers_in_place_see_whole_versions() {
    let mut random = SmallRng::seed_from_u64(7);
    for unit in [1, 8, 64] {
        let name = Name::new("in-place");
        let options = Options::new().unit(unit);
        let mut writer = Segment::checkout(&name.0, PAGES * PAGE, &options).unwrap();
        random.fill(writer.as_mut_slice());
        writer.commit().unwrap();
        let mut copy = Segment::checkout(&name.0, 0, &Options::new().read_only(true)).unwrap();
        let mut readers = [reader(&name), reader(&name)];
        for round in 0..60 {
            for _ in 0..random.random_range(0..40) {
                let at = random.random_range(0..PAGES) * PAGE;
                let len = if random.random_bool(0.2) { PAGE } else { 40 };
                random.fill(&mut writer.as_mut_slice()[at..at + len]);
            }
            writer.commit().unwrap();
            let before: Vec<Vec<u8>> = readers.iter().map(|r| r.as_slice().to_vec()).collect();
            if round % 3 == 0 {
                copy.update().unwrap();
                readers[0].update().unwrap();
                assert!(readers[0].as_slice() == copy.as_slice(), "round {round}");
            }
            // The other lags, by more than the log: its version stays.
            assert!(readers[1].as_slice() == before[1], "round {round}");
            if round % 30 == 29 {
                copy.update().unwrap();
                readers[1].update().unwrap();
                assert!(readers[1].as_slice() == copy.as_slice(), "round {round}");
                readers[1] = reader(&name);
                assert!(readers[1].as_slice() == copy.as_slice(), "round {round}");
            }
        }
        let doctor = Doctor::open(&name.0).unwrap();
        doctor.check().unwrap();
        let report = doctor.report().unwrap();
        assert_eq!(
            report.processes.iter().filter(|one| one.in_place).count(),
            2
        );
    }
}

/// With few pieces everything is copied soon.
#[cfg(not(fyris_small))]
#[test]
fn pages_are_copied_when_they_change() {
    let name = Name::new("in-place-memory");
    let mut writer = Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap();
    writer.as_mut_slice().fill(1);
    writer.commit().unwrap();
    let mut reader = reader(&name);
    assert!(reader.is_read_only() && matches!(reader.commit(), Err(Error::ReadOnly)));
    assert_eq!(copied(&reader), 0);
    for page in [7, 8, 100] {
        writer.as_mut_slice()[page * PAGE] = 2;
    }
    writer.commit().unwrap();
    reader.update().unwrap();
    assert_eq!(copied(&reader), 3 * PAGE / 1024);
    // Pages that were copied are changed where they are.
    writer.as_mut_slice()[7 * PAGE + 8] = 3;
    writer.commit().unwrap();
    reader.update().unwrap();
    assert_eq!(copied(&reader), 3 * PAGE / 1024);
    assert_eq!(
        reader.as_slice()[7 * PAGE..][..9],
        [2, 1, 1, 1, 1, 1, 1, 1, 3]
    );
    assert_eq!(reader.as_slice(), writer.as_slice());
}

/// However often all of an array was committed, and by whom, a reader that comes then maps it in a few pieces.
#[cfg(not(fyris_small))]
#[test]
fn whole_arrays_are_shown_in_place_after_any_commit() {
    let name = Name::new("in-place-whole");
    let open = || Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap();
    let mut writers = [open(), open()];
    for round in 0..12 {
        let writer = &mut writers[usize::from(round % 5 == 4)];
        writer.update().unwrap();
        writer.as_mut_slice().fill(round + 1);
        writer.commit().unwrap();
        let reader = reader(&name);
        assert!(reader.as_slice().iter().all(|&byte| byte == round + 1));
        let kilobytes = copied(&reader);
        assert!(kilobytes <= 16, "round {round}: {kilobytes} kB copied");
        let runs = Doctor::open(&name.0)
            .unwrap()
            .report()
            .unwrap()
            .longest_runs;
        let inside: usize = runs.iter().map(|run| run.len()).sum();
        assert!(
            inside >= PAGES - 4 && runs.is_sorted_by_key(|run| PAGES - run.len()),
            "{runs:?}"
        );
    }
}

/// Makes a segment of random bytes that declares its writes.
#[cfg(not(fyris_small))]
fn filled(name: &Name, pages: usize, random: &mut SmallRng) -> Segment {
    let options = Options::new().declared();
    let mut writer = Segment::checkout(&name.0, pages * PAGE, &options).unwrap();
    writer.touch(0..pages * PAGE).unwrap();
    random.fill(writer.as_mut_slice());
    writer.commit().unwrap();
    writer
}

/// Commits single pages, any of them, a thousand times.
#[cfg(not(fyris_small))]
fn scatter(writer: &mut Segment, random: &mut SmallRng, pages: std::ops::Range<usize>) {
    for _ in 0..1000 {
        let at = random.random_range(pages.clone()) * PAGE;
        writer.as_mut_slice()[at] = writer.as_slice()[at].wrapping_add(1);
        writer.touch(at..at + 1).unwrap();
        writer.commit().unwrap();
        assert_eq!(writer.published(), 1);
    }
}

/// Where processes read in place, commits of scattered pages mend runs: the ones that they break, and the ones that
/// were broken before; beside other readers and writers, too.
#[cfg(not(fyris_small))]
#[test]
fn scattered_commits_mend_runs() {
    let mut random = SmallRng::seed_from_u64(11);
    let name = Name::new("in-place-scattered");
    let options = Options::new().declared();
    let mut writer = filled(&name, PAGES, &mut random);
    scatter(&mut writer, &mut random, 0..PAGES);
    // The first finds them broken.
    let mut other = reader(&name);
    for round in 0..3 {
        scatter(&mut writer, &mut random, 0..PAGES);
        other.update().unwrap();
        if round > 0 {
            let mut second = Segment::checkout(&name.0, 0, &options).unwrap();
            std::mem::swap(&mut writer, &mut second);
        }
        scatter(&mut writer, &mut random, 0..PAGES);
        let reader = reader(&name);
        assert!(reader.as_slice() == writer.as_slice());
        let share = copied(&reader) * 1024 * 100 / (PAGES * PAGE);
        assert!(share < 40, "round {round}: {share}% copied");
        Doctor::open(&name.0).unwrap().check().unwrap();
    }
}

/// A page that was moved has not changed: no update says so, and changes of it are no conflict.
#[cfg(not(fyris_small))]
#[test]
fn moved_pages_have_not_changed() {
    let mut random = SmallRng::seed_from_u64(12);
    let name = Name::new("in-place-moved");
    let options = Options::new().declared();
    let mut writer = filled(&name, 64, &mut random);
    scatter(&mut writer, &mut random, 0..64);
    let mut other = Segment::checkout(&name.0, 0, &options).unwrap();
    let own = 5 * PAGE..5 * PAGE + 104;
    other.touch(own.clone()).unwrap();
    other.as_mut_slice()[own.clone()].fill(7);
    let mut still = reader(&name);
    let report = || Doctor::open(&name.0).unwrap().report().unwrap();
    let before = report().position;
    for page in 10..64 {
        writer.touch(page * PAGE..page * PAGE + 1).unwrap();
        writer.as_mut_slice()[page * PAGE] ^= 1;
        writer.commit().unwrap();
    }
    let moved = report().position - before - 54;
    assert!(moved > 20, "{moved} pages moved");
    let incoming = other.incoming().unwrap();
    assert!(incoming.iter().all(|range| range.start >= 10 * PAGE));
    let updated = other.update_validated().unwrap();
    assert_eq!((updated.pages, updated.conflicts), (54, 0));
    assert_eq!(other.diff().unwrap(), [own]);
    assert_eq!(still.update().unwrap().pages, 54);
    assert!(still.as_slice() == writer.as_slice());
    other.commit().unwrap();
    writer.update().unwrap();
    assert!(writer.as_slice() == other.as_slice());
    Doctor::open(&name.0).unwrap().check().unwrap();
}

/// A page that one commit was about to move when another changed it keeps the change.
#[cfg(not(fyris_small))]
#[test]
fn moved_pages_keep_what_others_commit() {
    const COMMITS: u64 = 24_000;
    const PAGES: usize = 512;
    let mut random = SmallRng::seed_from_u64(13);
    let name = Name::new("in-place-raced");
    let mut writer = filled(&name, PAGES, &mut random);
    let _reader = reader(&name);
    writer.as_mut_slice().fill(0);
    writer.touch(0..PAGES * PAGE).unwrap();
    writer.commit().unwrap();
    let count = |seed: usize| {
        let options = Options::new().declared();
        let mut own = Segment::checkout(&name.0, 0, &options).unwrap();
        let mut random = SmallRng::seed_from_u64(seed as u64);
        for _ in 0..COMMITS {
            let at = random.random_range(0..PAGES) * PAGE + seed * 8;
            own.touch(at..at + 8).unwrap();
            let word = &mut own.as_mut_slice()[at..at + 8];
            let before = u64::from_ne_bytes((&*word).try_into().unwrap());
            word.copy_from_slice(&(before + 1).to_ne_bytes());
            own.commit_merge().unwrap();
        }
    };
    let count = &count;
    std::thread::scope(|s| (0..3).for_each(|seed| drop(s.spawn(move || count(seed)))));
    let all = reader(&name);
    for seed in 0..3 {
        let counts = (0..PAGES).map(|page| &all.as_slice()[page * PAGE + seed * 8..][..8]);
        let counts = counts.map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        assert_eq!(counts.sum::<u64>(), COMMITS, "thread {seed}");
    }
}

/// A reader that stands still is never evicted: what it sees stays, and commits that need its pages fail until it is
/// gone.
#[test]
fn a_reader_in_place_keeps_what_it_sees() {
    let name = Name::new("in-place-pinned");
    let options = Options::new().declared().history(0);
    let mut writer = Segment::checkout(&name.0, 64 * PAGE, &options).unwrap();
    let fill = |writer: &mut Segment, value: u8| {
        writer.touch(0..64 * PAGE)?;
        writer.as_mut_slice().fill(value);
        writer.commit()
    };
    fill(&mut writer, 1).unwrap();
    let mut still = reader(&name);
    let mut refused = None;
    for value in 2..100 {
        if let Err(error) = fill(&mut writer, value) {
            refused = Some((value, error));
            break;
        }
        assert!(still.as_slice().iter().all(|&byte| byte == 1));
    }
    let (value, error) = refused.expect("no space for ever");
    assert!(
        matches!(
            error,
            Error::NoSpace {
                bytes: Some(1..),
                ..
            }
        ),
        "{error}"
    );
    assert!(still.as_slice().iter().all(|&byte| byte == 1));
    let doctor = Doctor::open(&name.0).unwrap();
    doctor.check().unwrap();
    still.update().unwrap();
    assert!(still.as_slice().iter().all(|&byte| byte == value - 1));
    writer.commit().unwrap();
    still.update().unwrap();
    assert!(still.as_slice().iter().all(|&byte| byte == value));
    doctor.check().unwrap();
    // The commits were refused; no process was evicted.
    assert_eq!(doctor.report().unwrap().evictions, 0);
    drop(still);
    for value in 100..150 {
        fill(&mut writer, value).unwrap();
    }
    doctor.check().unwrap();
}

#[test]
fn maps_are_read_in_place() {
    let name = Name::new("in-place-map");
    let mut writer =
        VersionedMap::checkout(&name.0, 1 << 20, &Options::new().max_size(1 << 22)).unwrap();
    let put = |writer: &mut VersionedMap, n: u32, value: &[u8]| {
        writer.insert(&n.to_be_bytes(), value).unwrap();
    };
    (0..5000).for_each(|n| put(&mut writer, n, b"old"));
    writer.commit().unwrap();
    let mut map = VersionedMap::checkout(&name.0, 0, &Options::new().in_place(true)).unwrap();
    (0..6000)
        .step_by(17)
        .for_each(|n| put(&mut writer, n, b"new"));
    writer.commit().unwrap();
    assert_eq!(map.get(&17u32.to_be_bytes()).unwrap(), Some(&b"old"[..]));
    map.update().unwrap();
    map.check().unwrap();
    assert_eq!(map.get(&17u32.to_be_bytes()).unwrap(), Some(&b"new"[..]));
    assert_eq!(map.len().unwrap(), writer.len().unwrap());
}

/// Only the last word counts of each option, and a reader in place writes nothing, whatever else is said.
#[test]
fn in_place_is_read_only_and_nothing_else_is() {
    let name = Name::new("in-place-options");
    Segment::checkout(&name.0, PAGE, &Options::new()).unwrap();
    let checkout = |options: Options| Segment::checkout(&name.0, 0, &options).unwrap();
    assert!(!checkout(Options::new().in_place(true).in_place(false)).is_read_only());
    assert!(checkout(Options::new().in_place(true).read_only(false)).is_read_only());
}
