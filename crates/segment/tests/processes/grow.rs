//! Processes that die while they make a segment longer, and its log with it.

use fyris_segment::{Options, PAGE, Segment};

use crate::kill::{check, die_at_step};
use crate::{Name, Peer};

/// Pages before and after, each with a log of its own: 1,024 entries, 2,048, 4,096.
const PAGES: [usize; 3] = [1, 600, 1300];

/// Runs the child: `name` is "segment:step", and it dies at that step.
pub(crate) fn script(name: &str) {
    die_at_step(name, "auto", |segment| grow(segment, PAGES[1]));
}

/// Makes the segment longer, and changes its last page.
fn grow(segment: &mut Segment, pages: usize) {
    segment.grow(pages * PAGE).unwrap();
    segment.as_mut_slice()[pages * PAGE - 1] = 5;
    segment.commit_merge().unwrap();
}

/// Lets a child grow a new segment and die at `step` (0: never), and goes on with it. Returns the steps if it lived.
fn run(step: u64) -> Option<u64> {
    let name = Name::new("growing");
    let options = Options::new().max_size(4096 * PAGE);
    let mut ours = Segment::checkout(&name.0, PAGES[0] * PAGE, &options).unwrap();
    let mut laggard = Segment::checkout(&name.0, 0, &Options::new()).unwrap();
    for value in 1..=9 {
        ours.as_mut_slice()[0] = value;
        ours.commit().unwrap();
    }
    let steps = Peer::new(&format!("{}:{step}", name.0), "grow").answer();
    ours.update().unwrap();
    let pages = ours.len() / PAGE;
    assert!(
        ours.as_slice()[0] == 9 && PAGES[..2].contains(&pages),
        "{pages} pages"
    );
    assert!(steps.is_none() || ours.as_slice()[PAGES[1] * PAGE - 1] == 5);
    grow(&mut ours, PAGES[2]);
    for value in 0..2000u32 {
        ours.as_mut_slice()[PAGE..PAGE + 4].copy_from_slice(&value.to_le_bytes());
        ours.commit().unwrap();
    }
    laggard.update().unwrap();
    assert!(laggard.as_slice() == ours.as_slice());
    check(&name.0);
    steps.map(|steps| steps.parse().unwrap())
}

#[test]
fn dying_while_the_segment_grows_harms_nobody() {
    let steps = run(0).unwrap();
    assert!(steps > 10);
    for step in 1..=steps {
        assert_eq!(run(step), None, "{step} of {steps}");
    }
}
