//! A process that the log overruns whenever it catches up: others are too fast for it, and nothing is damaged.
#![cfg(debug_assertions)]

mod names;

use fyris_segment::failpoints::at_each;
use fyris_segment::{Error, Options, PAGE, Segment};
use names::Name;

const PAGES: usize = 40;

#[test]
fn who_cannot_catch_up_is_told_that_others_are_busy() {
    catch_up(&Options::new());
    // Without a history it is evicted, and starts over.
    catch_up(&Options::new().history(0));
}

fn catch_up(made: &Options) {
    let name = Name::new("overrun");
    let open = |options: &Options| Segment::checkout(&name.0, PAGES * PAGE, options).unwrap();
    let mut slow = open(made);
    let mut fast = open(&Options::new().declared().lag(1));
    let mut overrun = move || {
        for page in 0..PAGES {
            let byte = &mut fast.as_mut_slice()[page * PAGE];
            *byte = byte.wrapping_add(1);
        }
        fast.touch(0..PAGES * PAGE).unwrap();
        fast.commit().unwrap();
    };
    overrun();
    at_each("heads read", overrun);
    let refused = slow.update();
    assert!(matches!(refused, Err(Error::Busy)), "{refused:?}");
    at_each("never", || ());
    slow.update().unwrap();
    slow.as_mut_slice()[8] = 1;
    slow.commit_merge().unwrap();
    let fresh = open(&Options::new());
    assert!(fresh.as_slice() == slow.as_slice() && fresh.as_slice()[8] == 1);
}
