//! Tests of the list of segments, with other files beside them.

mod names;

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
