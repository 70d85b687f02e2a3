//! The memory that a segment's own tables take.

use std::os::unix::fs::MetadataExt;

use fyris_segment::{Options, PAGE, Segment};

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
    let backed = std::fs::metadata(ours.path()).unwrap().blocks() * 512;
    assert!(backed < 4 << 20, "{backed} bytes");
}
