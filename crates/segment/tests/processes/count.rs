//! Processes that commit at the same time as fast as they can: no increment is lost, and none is half there.

use std::time::{Duration, Instant};

use fyris_segment::{Doctor, Error, PAGE, Segment};

use crate::{Name, Peer, options};

/// The counters that all increment, one a page; a commit moves all of them or none.
const SHARED: usize = 3;
const TIMES: u64 = 500;

fn word(segment: &Segment, at: usize) -> u64 {
    u64::from_le_bytes(segment.as_slice()[at..at + 8].try_into().unwrap())
}

fn set(segment: &mut Segment, at: usize, value: u64) {
    segment.touch(at..at + 8).unwrap();
    segment.as_mut_slice()[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Returns the value of the shared counters, which are equal in every version that a process sees.
fn shared(segment: &Segment) -> u64 {
    let first = word(segment, 0);
    for page in 1..SHARED {
        assert_eq!(
            word(segment, page * PAGE),
            first,
            "a commit is there in part"
        );
    }
    first
}

/// Tries again after a conflict. No base is lost however long a process pauses.
fn until_done(
    segment: &mut Segment,
    mut operation: impl FnMut(&mut Segment) -> Result<u64, Error>,
) {
    loop {
        match operation(segment) {
            Ok(_) => return,
            Err(Error::Conflict { .. }) => segment.discard().unwrap(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs the child process: increments the shared counters `times` times, validated, and its own, merged.
pub(crate) fn count(segment: &mut Segment, own: usize, times: u64) -> String {
    for done in 1..=times {
        until_done(segment, |segment| {
            segment.update()?;
            let next = shared(segment) + 1;
            (0..SHARED).for_each(|page| set(segment, page * PAGE, next));
            segment.commit_merge_validated()
        });
        until_done(segment, |segment| {
            set(segment, SHARED * PAGE + 8 * own, done);
            segment.commit_merge()
        });
    }
    "counted".to_owned()
}

/// Commits `times` changes of a word of its own in every page, as fast as it can.
pub(crate) fn stripe(segment: &mut Segment, own: usize, times: u64) -> String {
    let pages = segment.len() / PAGE;
    for done in 1..=times {
        set(segment, done as usize % pages * PAGE + 8 * own, done);
        if let Err(error) = segment.commit_merge() {
            return format!("{error:?}");
        }
    }
    "striped".to_owned()
}

fn disjoint_writers(times: u64) {
    let name = Name::new("stripes");
    let pages = 16;
    let mut segment = Segment::checkout(&name.0, pages * PAGE, &options("auto")).unwrap();
    let mut peers = ["auto", "declared"].map(|how| Peer::new(&name.0, how));
    for (own, peer) in peers.iter_mut().enumerate() {
        peer.tell(&format!("stripe {own} {times}"));
    }
    for peer in &mut peers {
        let answer = peer.answer().unwrap();
        assert!(answer.starts_with("striped"), "{answer}");
    }
    segment.update().unwrap();
    for own in 0..peers.len() {
        let words = (0..pages).map(|page| word(&segment, page * PAGE + 8 * own));
        let mut words: Vec<u64> = words.collect();
        words.sort_unstable();
        let expected: Vec<u64> = (times - pages as u64 + 1..=times).collect();
        assert_eq!(words, expected);
    }
    let doctor = Doctor::open(&name.0).unwrap();
    doctor.check().unwrap();
    assert_eq!(doctor.report().unwrap().evictions, 0);
}

/// Two loops on 64 KiB: the log overruns a process that waits for a processor, which merges all the same.
#[test]
fn disjoint_writers_never_lose_their_base() {
    disjoint_writers(30_000);
}

/// A million: `cargo test -p fyris-segment --test processes -- --ignored`.
#[test]
#[ignore = "takes a minute"]
fn disjoint_writers_never_lose_their_base_in_a_million_commits() {
    disjoint_writers(500_000);
}

#[test]
fn no_increment_is_lost() {
    let name = Name::new("count");
    let mut segment = Segment::checkout(&name.0, (SHARED + 1) * PAGE, &options("auto")).unwrap();
    let tracking = ["auto", "signal", "declared"];
    let mut peers: Vec<Peer> = tracking.iter().map(|how| Peer::new(&name.0, how)).collect();
    for (own, peer) in peers.iter_mut().enumerate() {
        peer.tell(&format!("count {own} {TIMES}"));
    }
    // A reader sees whole commits only meanwhile, and counters that grow.
    let (mut last, total) = (0, TIMES * peers.len() as u64);
    let start = Instant::now();
    while last < total && start.elapsed() < Duration::from_secs(50) {
        segment.update().unwrap();
        let now = shared(&segment);
        assert!(now >= last);
        last = now;
    }
    for peer in &mut peers {
        assert!(peer.answer().unwrap().starts_with("counted"));
    }
    segment.update().unwrap();
    assert_eq!(shared(&segment), total);
    for own in 0..peers.len() {
        assert_eq!(word(&segment, SHARED * PAGE + 8 * own), TIMES);
    }
    Doctor::open(&name.0).unwrap().check().unwrap();
}
