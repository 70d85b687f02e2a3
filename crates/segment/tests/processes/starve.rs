//! A process that can open no file any more cannot look at `/proc`: it must not take the living for dead.

use fyris_segment::{Doctor, PAGE, Segment};

use crate::{Name, Peer, options};

#[test]
fn a_process_without_descriptors_buries_nobody_alive() {
    let name = Name::new("starve");
    let mut segment = Segment::checkout(&name.0, 2 * PAGE, &options("auto")).unwrap();
    let mut dead = Peer::new(&name.0, "auto");
    let mut starved = Peer::new(&name.0, "declared");
    for peer in [&mut dead, &mut starved] {
        peer.ask("update").unwrap();
    }
    drop(dead);
    assert!(starved.ask("starve").unwrap().starts_with("0 "));
    // Past the log: processes that lag are overrun, the dead one's slot is cleared, ours is not.
    assert!(starved.ask("many 2500").unwrap().starts_with("committed"));
    let report = Doctor::open(&name.0).unwrap().report().unwrap();
    let mut pids: Vec<u32> = report.processes.iter().map(|p| p.pid).collect();
    pids.sort_unstable();
    let mut expected = vec![std::process::id(), starved.pid() as u32];
    expected.sort_unstable();
    assert_eq!(pids, expected, "{report:?}");
    segment.update().unwrap();
    segment.as_mut_slice()[0] = 1;
    segment.commit().unwrap();
}
