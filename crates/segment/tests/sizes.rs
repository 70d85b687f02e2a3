//! The memory that a segment's own tables take.

mod names;

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fyris_segment::{Doctor, Error, MapError, Options, PAGE, Segment, VersionedMap};
use names::Name;

const MIB: u64 = 1 << 20;

/// Returns the bytes behind a file.
fn backed(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().blocks() * 512
}

/// Log and index of a segment without a name take memory as they are used, whatever it may grow to.
#[test]
fn a_nameless_segment_may_grow_far() {
    let options = Options::new().declared().max_size(8 << 30);
    let mut ours = Segment::nameless(PAGE, &options).unwrap();
    let mut theirs = ours.origin().checkout().unwrap();
    ours.grow(100 * PAGE).unwrap();
    ours.as_mut_slice()[99 * PAGE] = 7;
    ours.touch(99 * PAGE..100 * PAGE).unwrap();
    ours.commit().unwrap();
    theirs.update().unwrap();
    assert_eq!(theirs.as_slice()[99 * PAGE], 7);
    assert!(backed(ours.path()) < 4 * MIB);
}

/// Those of one with a name take space for the size that it has.
#[test]
fn an_empty_map_that_may_grow_far_takes_little() {
    for max in [1 << 30, 8 << 30] {
        let name = Name::new("empty-map");
        let options = Options::new().max_size(max);
        let mut map = VersionedMap::checkout(&name.0, 1 << 20, &options).unwrap();
        map.write(|batch| batch.insert(b"river", b"Fyris")).unwrap();
        let mut reader = Segment::checkout(&name.0, 0, &Options::new().read_only(true)).unwrap();
        reader.update().unwrap();
        let doctor = Doctor::open(&name.0).unwrap();
        doctor.check().unwrap();
        let report = doctor.report().unwrap();
        let bytes = backed(reader.path());
        assert!(bytes < MIB, "{bytes} of {max}: {report:?}");
        assert_eq!(report.log_size, 1024);
    }
}

/// A file system in memory, as large as Docker's `/dev/shm`.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Small> {
        let folder = tempfile::tempdir().unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m", "none"])
            .arg(folder.path())
            .output();
        mount
            .is_ok_and(|it| it.status.success())
            .then_some(Small(folder))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let umount = std::process::Command::new("umount")
            .arg(self.0.path())
            .status();
        eprintln!("umount: {umount:?}");
    }
}

#[test]
fn a_map_fills_a_small_file_system_and_stays_whole() {
    let Some(small) = Small::mount() else {
        eprintln!("skipped: may not mount a small tmpfs here");
        return;
    };
    let path = small.0.path().join("map");
    let mut map =
        VersionedMap::checkout(&path, 1 << 20, &Options::new().max_size(8 << 30)).unwrap();
    let mut reader = VersionedMap::checkout(&path, 0, &Options::new()).unwrap();
    let value = [7; 1000];
    let mut batches = 0u32;
    let full = loop {
        let keys = (0..100u32).map(|key| (batches * 100 + key).to_be_bytes());
        match map.write(|batch| {
            keys.clone()
                .try_for_each(|key| batch.insert(&key, &value).map(|_| ()))
        }) {
            Ok(()) => batches += 1,
            Err(error) => break error,
        }
    };
    let MapError::Segment(Error::NoSpace {
        bytes: Some(bytes), ..
    }) = full
    else {
        panic!("{full:?}");
    };
    assert!(
        bytes >= PAGE as u64 && full.to_string().contains(&bytes.to_string()),
        "{full}"
    );
    // Most of the file system has become pages of the map, whole batches of them.
    reader.update().unwrap();
    for map in [&map, &reader] {
        map.check().unwrap();
        assert_eq!(map.len().unwrap(), u64::from(100 * batches));
    }
    assert!(batches > 200, "{batches} batches");
    let doctor = Doctor::open(&path).unwrap();
    doctor.check().unwrap();
    // What cannot grow says by how much, and changes nothing.
    let mut segment = Segment::checkout(&path, 0, &Options::new().declared()).unwrap();
    let (len, version) = (segment.len(), segment.version());
    let grown = segment.grow(4 << 30);
    let Err(Error::NoSpace {
        what,
        bytes: Some(bytes),
    }) = grown
    else {
        panic!("{grown:?}");
    };
    assert!(
        what.contains("log and index") && bytes > 100 * MIB,
        "{what} {bytes}"
    );
    assert_eq!(
        (segment.len(), segment.update().unwrap().version),
        (len, version)
    );
    doctor.check().unwrap();
}

/// A copy of a file has holes where the file has zeros. Looking at it takes no space, where pages are, and beyond them.
#[test]
fn a_doctor_takes_no_space() {
    let name = Name::new("doctored");
    let options = Options::new().declared().max_size(1 << 30);
    let mut segment = Segment::checkout(&name.0, 1000 * PAGE, &options).unwrap();
    for page in 0..1000 {
        segment.as_mut_slice()[page * PAGE] = 1;
    }
    segment.touch(0..1000 * PAGE).unwrap();
    segment.commit().unwrap();
    segment.as_mut_slice().fill(0);
    segment.touch(0..1000 * PAGE).unwrap();
    segment.commit().unwrap();
    let copy = Name::new("doctored-copy");
    let folder = segment.path().parent().unwrap();
    let file = segment.path().file_name().unwrap().to_str().unwrap();
    let copied = folder.join(file.replace(&name.0, &copy.0));
    let mut cp = std::process::Command::new("cp");
    let cp = cp.arg("--sparse=always").args([segment.path(), &copied]);
    assert!(cp.status().unwrap().success());
    for (name, path) in [(&name.0, segment.path()), (&copy.0, copied.as_path())] {
        let doctor = Doctor::open(name).unwrap();
        let before = backed(path);
        doctor.report().unwrap();
        doctor.check().unwrap();
        Segment::list().unwrap();
        doctor.repair().unwrap();
        assert_eq!(backed(path), before, "{}", path.display());
    }
}
