//! Processes that die while their commits move pages, to mend the runs that readers in place map.

use fyris_segment::{Doctor, Options, PAGE, Segment};

use crate::kill::{check, die_at_step};
use crate::{Name, Peer, options};

const PAGES: usize = 24;
/// Commits of a child, enough that pages are moved as a group and back home.
const COMMITS: u8 = 20;

/// Runs the child: `name` is "segment:step", and it dies at that step.
pub(crate) fn script(name: &str) {
    die_at_step(name, "declared", |segment| {
        for value in 1..=COMMITS {
            commit(segment, value);
            println!(">{value}");
        }
    });
}

/// Changes one page, another each time.
fn commit(segment: &mut Segment, value: u8) {
    let at = usize::from(value) * 7 % PAGES * PAGE;
    segment.touch(at..at + 8).unwrap();
    segment.as_mut_slice()[at..at + 8].fill(value);
    segment.commit().unwrap();
}

/// Lets a child commit and die at `step` (0: never), and goes on with the segment. Returns the steps if it lived, and
/// the moves.
fn run(step: u64) -> (Option<u64>, u64) {
    let name = Name::new("moving");
    let mut ours = Segment::checkout(&name.0, PAGES * PAGE, &options("declared")).unwrap();
    (200..=255).rev().for_each(|value| commit(&mut ours, value));
    drop(Segment::checkout(&name.0, 0, &Options::new().in_place(true)).unwrap());
    let before = Doctor::open(&name.0).unwrap().report().unwrap().position;
    let mut peer = Peer::new(&format!("{}:{step}", name.0), "moves");
    let mut done = 0;
    while done < COMMITS
        && let Some(said) = peer.answer()
    {
        done = said.parse().unwrap();
    }
    let steps = peer.answer().map(|steps| steps.parse().unwrap());
    drop(peer);
    let mut expected = ours.as_slice().to_vec();
    ours.update().unwrap();
    let commits = ours.version() - 56;
    assert!((commits == u64::from(done)) || (commits == u64::from(done) + 1));
    for value in 1..=commits {
        let at = value as usize * 7 % PAGES * PAGE;
        expected[at..at + 8].fill(value as u8);
    }
    assert!(ours.as_slice() == expected);
    let position = Doctor::open(&name.0).unwrap().report().unwrap().position;
    (100..150).for_each(|value| commit(&mut ours, value));
    check(&name.0);
    let reader = Segment::checkout(&name.0, 0, &Options::new().in_place(true)).unwrap();
    assert!(reader.as_slice() == ours.as_slice());
    (steps, position - before - commits)
}

#[test]
fn dying_while_pages_are_moved_harms_nobody() {
    let (steps, moves) = run(0);
    let steps = steps.unwrap();
    assert!(moves > PAGES as u64, "{moves} moves");
    // Some: commits are alike.
    for step in (1..=steps).step_by(7) {
        assert_eq!(run(step).0, None, "{step} of {steps}");
    }
}
