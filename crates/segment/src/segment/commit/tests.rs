//! Tests that need the inside of the crate: a process that is overtaken in the middle of an operation.

use crate::segment::Segment;
use crate::words::diff;
use crate::{Error, Options, PAGE};

/// Sets the first byte of `page`, and commits.
fn commit(segment: &mut Segment, page: usize, value: u8) {
    segment.as_mut_slice()[page * PAGE] = value;
    segment.touch(page * PAGE..page * PAGE + 1).unwrap();
    segment.commit().unwrap();
}

fn unchanged(segment: &Segment, page: usize) -> bool {
    let base = segment.trunk.frame(segment.base[page]).unwrap();
    // SAFETY: pages by `page` and `frame`.
    unsafe { diff(segment.copy.page(page), base) }.is_empty()
}

/// A process is evicted while it prepares a commit, and its base becomes the frame of another page that looks
/// just like its own change. The change seemed to be none, and the commit said that all was done.
#[test]
fn a_change_that_looks_like_what_replaced_its_base_is_not_forgotten() {
    let name = format!("test-overtaken-{}-0", std::process::id());
    let declared = Options::new().declared().history(0);
    let mut a = Segment::checkout(&name, 4 * PAGE, &declared).unwrap();
    let mut b = Segment::checkout(&name, 0, &declared).unwrap();
    commit(&mut b, 0, 1);
    a.update().unwrap();
    a.as_mut_slice()[0] = 7;
    a.touch(0..1).unwrap();
    a.check_current().unwrap();
    commit(&mut b, 0, 2);
    for round in 0..2400usize {
        commit(&mut b, 3, round as u8 & 1);
    }
    // A new process takes the free frame with the lowest number, the first that was ever used.
    drop(b);
    let mut c = Segment::checkout(&name, 0, &declared).unwrap();
    commit(&mut c, 1, 7);
    assert!(unchanged(&a, 0), "the base was not reused");
    a.prepare().unwrap();
    assert!(a.prepared.records.is_empty());
    assert!(matches!(a.check_base(), Err(Error::Behind { .. })));
    Segment::unlink(&name).unwrap();
}
