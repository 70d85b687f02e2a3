//! A process that may read the file of a segment, and not write to it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use fyris_segment::{Doctor, Error, Options, PAGE, Segment, VersionedMap};

const PAGES: usize = 16;
const COMMITS: u8 = 200;

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Drops all rights in a forked child: it is another user then.
fn become_nobody() {
    if root() {
        // SAFETY: identities of this process only.
        unsafe {
            libc::setgroups(0, std::ptr::null());
            libc::setgid(65534);
            libc::setuid(65534);
        }
    }
}

/// Runs the child process, which checks that every version that it sees is whole, up to the last.
fn read(path: &Path, map: &Path) -> bool {
    let reading = Options::new().read_only(true);
    let writing = Segment::checkout(path, 0, &Options::new());
    let refused = matches!(&writing, Err(Error::Os { source, .. })
        if source.kind() == std::io::ErrorKind::PermissionDenied);
    let Ok(mut segment) = Segment::checkout(path, 0, &reading) else {
        return false;
    };
    let mut last = segment.as_slice()[0];
    while last < COMMITS {
        let waited = segment.wait(Some(Duration::from_secs(20)));
        if !waited.is_ok_and(|news| news) || segment.update().is_err() {
            return false;
        }
        let now = segment.as_slice()[0];
        let whole = (0..PAGES).all(|page| {
            let page = &segment.as_slice()[page * PAGE..(page + 1) * PAGE];
            page.iter().all(|&byte| byte == now)
        });
        if !whole || now < last || segment.version() != u64::from(now) {
            return false;
        }
        last = now;
    }
    let quiet = !segment.is_behind()
        && segment.incoming().is_ok_and(|ranges| ranges.is_empty())
        && segment.diff().is_ok_and(|ranges| ranges.is_empty())
        && matches!(segment.commit(), Err(Error::ReadOnly))
        && matches!(segment.discard(), Err(Error::ReadOnly));
    let Ok(map) = VersionedMap::checkout(map, 0, &reading) else {
        return false;
    };
    refused && quiet && matches!(map.get(b"river"), Ok(Some(b"Fyris")))
}

#[test]
fn who_may_only_read_sees_whole_versions() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (path, map_path) = (folder.path().join("segment"), folder.path().join("map"));
    let options = Options::new().mode(0o644);
    let mut segment = Segment::checkout(&path, PAGES * PAGE, &options).unwrap();
    let mut map = VersionedMap::checkout(&map_path, 64 * PAGE, &options).unwrap();
    map.write(|batch| batch.insert(b"river", b"Fyris").map(drop))
        .unwrap();
    for path in [&path, &map_path] {
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o644);
        if !root() {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o444)).unwrap();
        }
    }
    // SAFETY: the child uses system calls and memory of its own, and exits without unwinding.
    let child = match unsafe { libc::fork() } {
        0 => {
            become_nobody();
            let good = read(&path, &map_path);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        child => child,
    };
    for value in 1..=COMMITS {
        segment.as_mut_slice().fill(value);
        segment.commit().unwrap();
        // Some versions come alone, some one after another.
        if value % 8 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let mut status = 0;
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    let doctor = Doctor::open(&path);
    if root() {
        assert_eq!(doctor.unwrap().report().unwrap().processes.len(), 1);
    }
}

/// A commit in the middle of a look: what was copied before it and what is copied after it are two versions.
#[cfg(debug_assertions)]
#[test]
fn a_look_that_a_commit_runs_into_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = folder.path().join("segment");
    let options = Options::new().mode(0o644);
    let mut segment = Segment::checkout(&path, PAGES * PAGE, &options).unwrap();
    segment.as_mut_slice().fill(1);
    segment.commit().unwrap();
    if !root() {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    }
    let reader = stopped(|| {
        become_nobody();
        fyris_segment::failpoints::arm_stop_at("page looked at");
        let reader = Segment::checkout(&path, 0, &Options::new().read_only(true));
        let whole = |reader: Segment| {
            reader.version() == 2 && reader.as_slice().iter().all(|&byte| byte == 2)
        };
        reader.is_ok_and(whole)
    });
    segment.as_mut_slice().fill(2);
    segment.commit().unwrap();
    goes_on_well(reader);
}

/// A look at a commit that is published, and applied while the look goes on: its version is not the one before.
#[cfg(debug_assertions)]
#[test]
fn a_look_has_the_version_of_its_position() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let path = folder.path().join("segment");
    let options = Options::new().mode(0o644);
    let mut segment = Segment::checkout(&path, PAGE, &options).unwrap();
    segment.as_mut_slice().fill(1);
    segment.commit().unwrap();
    let writer = stopped(|| {
        let mut segment = Segment::checkout(&path, 0, &Options::new()).unwrap();
        segment.as_mut_slice().fill(2);
        fyris_segment::failpoints::arm_stop_at("published");
        segment.commit().is_ok()
    });
    if !root() {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    }
    let reader = stopped(|| {
        become_nobody();
        fyris_segment::failpoints::arm_stop_at("position looked at");
        let reader = Segment::checkout(&path, 0, &Options::new().read_only(true));
        reader.is_ok_and(|reader| reader.version() == 2 && reader.as_slice()[0] == 2)
    });
    goes_on_well(writer);
    goes_on_well(reader);
}

/// Lets a stopped child go on, and waits for its end; panics unless it says that its work went well.
#[cfg(debug_assertions)]
fn goes_on_well(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: signals our own child, and waits for its end.
    unsafe {
        libc::kill(child, libc::SIGCONT);
        libc::waitpid(child, &mut status, 0);
    }
    assert_eq!(status, 0);
}

/// Forks a child that does `work`, says whether it went well and exits; waits until it stops, and returns its id.
#[cfg(debug_assertions)]
fn stopped(work: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child uses system calls and memory of its own, and exits without unwinding.
    let child = match unsafe { libc::fork() } {
        0 => {
            let good = work();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        child => child,
    };
    let mut status = 0;
    // SAFETY: waits for our own child.
    unsafe { libc::waitpid(child, &mut status, libc::WUNTRACED) };
    assert!(libc::WIFSTOPPED(status));
    child
}

#[test]
fn a_new_segment_has_the_mode_and_group_that_were_asked_for() {
    let name = crate::Name::new("mode");
    let wide = Options::new().mode(0o660);
    let group = rustix::process::getegid().as_raw();
    let segment = Segment::checkout(&name.0, PAGE, &wide.clone().group(group)).unwrap();
    let meta = std::fs::metadata(segment.path()).unwrap();
    assert_eq!((meta.mode() & 0o777, meta.gid()), (0o660, group));
    // A checkout that does not ask for it is refused a file that others may write to.
    let narrow = Segment::checkout(&name.0, 0, &Options::new());
    assert!(matches!(narrow, Err(Error::NotOurs(_))));
    drop(Segment::checkout(&name.0, 0, &wide).unwrap());
    Doctor::open(&name.0).unwrap().check().unwrap();
    for bad in [0o400, 0o1600, 0o4755, 0] {
        let refused = Segment::checkout("test-bad-mode-0-0", PAGE, &Options::new().mode(bad));
        assert!(matches!(refused, Err(Error::BadArgument(_))), "{bad:o}");
    }
}
