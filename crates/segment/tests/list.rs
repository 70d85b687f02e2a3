//! Tests of the list of segments, with other files beside them, and of names that go.

mod names;

use std::thread;
use std::time::Duration;

use fyris_segment::{Error, Listed, Options, PAGE, Segment};
use names::Name;

fn find(name: &Name) -> Option<Listed> {
    let all = Segment::list().unwrap();
    assert!(all.is_sorted_by(|a, b| a.name <= b.name));
    all.into_iter().find(|listed| listed.name == name.0)
}

#[test]
fn segments_are_listed_with_what_their_files_say() {
    let name = Name::new("list");
    assert!(find(&name).is_none());
    let options = Options::new().unit(4).max_size(9 * PAGE);
    let mut segment = Segment::checkout(&name.0, 2 * PAGE, &options).unwrap();
    let other = Segment::checkout(&name.0, 0, &Options::new()).unwrap();
    segment.as_mut_slice()[5] = 5;
    segment.commit().unwrap();
    let listed = find(&name).unwrap();
    assert_eq!(listed.path, segment.path());
    let seen = listed.overview.unwrap();
    assert_eq!(
        (seen.size, seen.max_size, seen.unit),
        (2 * PAGE, 9 * PAGE, 4)
    );
    // Two checkouts are one process.
    assert_eq!((seen.version, seen.processes), (1, 1));
    assert!(seen.backed > PAGE as u64);
    drop((segment, other));
    assert_eq!(find(&name).unwrap().overview.unwrap().processes, 0);
}

#[test]
fn what_is_no_segment_is_listed_with_the_reason() {
    let name = Name::new("list-garbage");
    let segment = Segment::checkout(&name.0, PAGE, &Options::new()).unwrap();
    let path = segment.path().to_owned();
    drop(segment);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 99;
    std::fs::write(&path, &bytes).unwrap();
    let wrong = find(&name).unwrap().overview;
    assert!(matches!(wrong, Err(Error::WrongFormat { found: 99, .. })));
    std::fs::write(&path, "garbage").unwrap();
    let garbage = find(&name).unwrap().overview;
    assert!(matches!(garbage, Err(Error::NotASegment(_))));
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    assert!(find(&name).unwrap().overview.is_err());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_name_that_is_gone_or_another_s_is_told() {
    let name = Name::new("gone");
    let open = || Segment::checkout(&name.0, PAGE, &Options::new()).unwrap();
    let first = open();
    assert!(!first.is_unlinked().unwrap());
    Segment::unlink(&name.0).unwrap();
    assert!(first.is_unlinked().unwrap());
    let second = open();
    assert!(first.is_unlinked().unwrap() && !second.is_unlinked().unwrap());
    let nameless = Segment::nameless(PAGE, &Options::new()).unwrap();
    assert!(!nameless.is_unlinked().unwrap());
}

#[test]
fn commits_and_waits_tell_that_the_name_is_gone() {
    let name = Name::new("told");
    let open = |options: &Options| Segment::checkout(&name.0, PAGE, options).unwrap();
    let (mut one, mut other) = (open(&Options::new()), open(&Options::new()));
    let mut goes_on = open(&Options::new().after_unlink(true));
    let change = |segment: &mut Segment, to| segment.as_mut_slice()[0] = to;
    change(&mut other, 1);
    other.commit().unwrap();
    let sleeper = one.watcher();
    let sleeper = thread::spawn(move || (sleeper.wait(None), sleeper.wait(None)));
    let waiting = other.watcher();
    let waiting = thread::spawn(move || waiting.wait(None));
    thread::sleep(Duration::from_millis(20));
    Segment::unlink(&name.0).unwrap();

    let mut new = open(&Options::new());
    let path = new.path().to_owned();
    let unlinked = |error| matches!(error, Err(Error::Unlinked(of)) if of == path);
    change(&mut new, 9);
    new.commit().unwrap();
    change(&mut other, 2);
    let before = other.trunk_version();
    assert!(unlinked(other.commit()) && unlinked(other.commit_merge()));
    assert!(unlinked(other.grow(2 * PAGE).map(|()| 0)));
    let transacted = one.transaction(|words| {
        words[0] = 3;
        Ok::<_, Error>(0)
    });
    assert!(unlinked(transacted));
    assert!((other.trunk_version(), other.as_slice()[0]) == (before, 2));
    // What was committed before is news; then nothing comes any more.
    let (first, second) = sleeper.join().unwrap();
    assert!(first.unwrap() && second.unwrap());
    assert!(unlinked(waiting.join().unwrap().map(u64::from)));
    assert!(unlinked(other.wait(Some(Duration::ZERO)).map(u64::from)));

    goes_on.update().unwrap();
    change(&mut goes_on, 4);
    assert_eq!(goes_on.commit().unwrap(), before + 1);
    assert!(!goes_on.wait(Some(Duration::from_millis(1))).unwrap());
    assert!(other.wait(None).unwrap());
    assert!(!new.is_unlinked().unwrap() && !new.is_behind());
}

#[test]
fn waits_tell_of_a_name_that_was_removed_by_hand() {
    let name = Name::new("by-hand");
    let open = |options: &Options| Segment::checkout(&name.0, PAGE, options).unwrap();
    let waits = [open(&Options::new()), open(&Options::new().read_only(true))]
        .map(|segment| thread::spawn(move || segment.wait(Some(Duration::from_secs(60)))));
    let nameless = Segment::nameless(PAGE, &Options::new()).unwrap();
    std::fs::remove_file(open(&Options::new()).path()).unwrap();
    for wait in waits {
        assert!(matches!(wait.join().unwrap(), Err(Error::Unlinked(_))));
    }
    assert!(!nameless.wait(Some(Duration::from_millis(1))).unwrap());
}

#[test]
fn a_relative_path_is_the_same_file_in_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = folder.path().join("here");
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let relative = format!("{up}{}", in_folder.strip_prefix("/").unwrap().display());
    let segment = Segment::checkout(&relative, PAGE, &Options::new()).unwrap();
    assert!(segment.path().is_absolute() && !segment.is_unlinked().unwrap());
    assert!(in_folder.exists());
}
