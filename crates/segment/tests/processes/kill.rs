//! Processes that die anywhere: at every step of every protocol, and at random moments.
//!
//! A child runs a *script*, a number from which both sides derive the same operations, and says before each that it
//! begins and after each that it is done. The parent commits to a page of its own meanwhile. Afterwards the
//! trunk must be what the child's finished commits made of it, or one commit more if the child died
//! within one; and the doctor must find everything in order.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use fyris_segment::{Doctor, Options, PAGE, Segment, failpoints};

use crate::{Name, Peer, options};

/// Page 0 is the parent's, the last is scribbled on, the others are the child's and compared.
const PAGES: usize = 7;
const CHECKED: std::ops::Range<usize> = PAGE..(PAGES - 1) * PAGE;
const OPERATIONS: usize = 30;
/// Entries in the log of a small segment.
const LOG: usize = 1024;

#[derive(Debug, Clone)]
enum Operation {
    Write(usize, u8),
    Commit,
    Update,
    Discard,
    Reopen,
    /// As many commits of one page as overrun a process that does not update.
    Burst,
}

/// Returns the operations of a script. The places and kinds come from `seed`, the values from `salt` too: a script that
/// is run again must find something to commit.
fn operations(seed: u64, salt: u64) -> Vec<Operation> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..OPERATIONS)
        .map(|_| match random.random_range(0..10) {
            0..7 => {
                let at = random.random_range(CHECKED);
                Operation::Write(at, random.random::<u8>() ^ salt as u8)
            }
            7..9 => Operation::Commit,
            // Every step of these would be too many: for random kills only.
            _ if seed > 100 && random.random_range(0..3) == 0 => Operation::Burst,
            _ => match random.random_range(0..3) {
                0 => Operation::Update,
                1 => Operation::Discard,
                _ => Operation::Reopen,
            },
        })
        .collect()
}

/// Does `work` on the segment of "segment:step", dies at that step of it (0: never), and else says how many it has.
pub(crate) fn die_at_step(name: &str, tracking: &str, work: impl FnOnce(&mut Segment)) {
    let (name, step) = name.split_once(':').unwrap();
    let mut segment = Segment::checkout(name, 0, &options(tracking).create(false)).unwrap();
    let before = failpoints::passed();
    match step.parse::<u64>().unwrap() {
        0 => (),
        step => failpoints::arm(step),
    }
    work(&mut segment);
    println!(">{}", failpoints::passed() - before);
}

/// Runs the child: `name` is "segment:seed:step", and it dies at that step.
pub(crate) fn script(name: &str) {
    let mut parts = name.split(':');
    let name = parts.next().unwrap();
    let mut number = || parts.next().unwrap().parse::<u64>().unwrap();
    let (seed, step) = (number(), number());
    let tracking = if seed.is_multiple_of(3) {
        "signal"
    } else {
        "auto"
    };
    let options = crate::options(tracking).create(false);
    if step != 0 {
        failpoints::arm(step);
    }
    println!(">open");
    let mut segment = Some(Segment::checkout(name, 0, &options).unwrap());
    for operation in operations(seed, step) {
        println!(">{operation:?}");
        let open = segment.as_mut().unwrap();
        match operation {
            Operation::Write(at, value) => open.as_mut_slice()[at] = value,
            Operation::Commit => _ = open.commit_merge().unwrap(),
            Operation::Update => _ = open.update().unwrap(),
            Operation::Discard => open.discard().unwrap(),
            Operation::Burst => burst(open),
            Operation::Reopen => {
                drop(segment.take());
                segment = Some(Segment::checkout(name, 0, &options).unwrap());
            }
        }
        println!(">done");
    }
    drop(segment);
    println!(">steps {}", failpoints::passed());
}

fn burst(segment: &mut Segment) {
    let last = (PAGES - 1) * PAGE;
    // Not the local changes: they belong to the commits that are compared.
    segment.discard().unwrap();
    for value in 0..LOG as u64 + 100 {
        segment.as_mut_slice()[last..last + 8].copy_from_slice(&value.to_le_bytes());
        segment.commit_merge().unwrap();
    }
}

/// The child's pages after each of its commits, first the state before.
struct Expected {
    contents: Vec<Vec<u8>>,
    begun: usize,
    done: usize,
}

impl Expected {
    fn new(before: &[u8], operations: &[Operation]) -> Expected {
        let mut trunk = before.to_vec();
        let mut local = trunk.clone();
        let mut contents = vec![trunk.clone()];
        for operation in operations {
            match operation {
                Operation::Write(at, value) => local[*at] = *value,
                Operation::Commit => {
                    trunk.clone_from(&local);
                    contents.push(trunk.clone());
                }
                Operation::Discard | Operation::Reopen | Operation::Burst => {
                    local.clone_from(&trunk)
                }
                Operation::Update => (),
            }
        }
        Expected {
            contents,
            begun: 0,
            done: 0,
        }
    }

    /// Follows what the child says; false at its end. The steps it passed, if it lived.
    fn listen(&mut self, peer: &mut Peer) -> Option<u64> {
        while let Some(said) = peer.answer() {
            match said.as_str() {
                "Commit" => self.begun += 1,
                "done" => self.done = self.begun,
                other => {
                    if let Some(steps) = other.strip_prefix("steps ") {
                        self.done = self.begun;
                        return steps.parse().ok();
                    }
                }
            }
        }
        None
    }

    /// Checks that the trunk is as after the last finished commit, or as after the one begun.
    fn check(&self, content: &[u8]) {
        let same = |commits: usize| content[CHECKED] == self.contents[commits][CHECKED];
        let fits = (self.done..=self.begun).any(same);
        assert!(
            fits,
            "{} commits begun, {} done: the trunk is neither",
            self.begun, self.done
        );
    }
}

/// Runs script `seed` in a child that dies at step `step` (0: never) or after `delay`; returns the steps
/// if it lived.
fn run(
    name: &str,
    segment: &mut Segment,
    seed: u64,
    step: u64,
    delay: Option<Duration>,
) -> Option<u64> {
    let operations = operations(seed, step);
    segment.update().unwrap();
    let mut expected = Expected::new(segment.as_slice(), &operations);
    let mut peer = Peer::new(&format!("{name}:{seed}:{step}"), "script");
    for round in 0..3u64 {
        let value = seed ^ step ^ round << 32;
        segment.as_mut_slice()[8 * round as usize..][..8].copy_from_slice(&value.to_le_bytes());
        segment.commit_merge().unwrap();
    }
    if let Some(delay) = delay {
        std::thread::sleep(delay);
        peer.kill();
    }
    let steps = expected.listen(&mut peer);
    drop(peer);
    segment.update().unwrap();
    expected.check(segment.as_slice());
    // The next commit needs no help from a doctor.
    segment.as_mut_slice()[64] ^= 1;
    segment.commit().unwrap();
    steps
}

/// Runs script `seed` in a child that dies at step `step`, with the segment checked out nowhere else, so that the
/// child's commits move the log's tail; returns the steps if it lived. With a `doctor` about, its death is found by the
/// next commit; without, by the next to open the file.
fn run_alone(name: &str, seed: u64, step: u64, doctor: bool) -> Option<u64> {
    let operations = operations(seed, step);
    let open = || Segment::checkout(name, 0, &Options::new().create(false)).unwrap();
    let mut expected = Expected::new(open().as_slice(), &operations);
    let doctor = doctor.then(|| Doctor::open(name).unwrap());
    let mut peer = Peer::new(&format!("{name}:{seed}:{step}"), "script");
    let steps = expected.listen(&mut peer);
    drop(peer);
    let mut segment = open();
    expected.check(segment.as_slice());
    segment.as_mut_slice()[64] ^= 1;
    segment.commit().unwrap();
    drop(doctor);
    steps
}

/// Runs script `seed` in a child that dies at step `step`, with the log full and a laggard at its end, which has
/// changes of its own: the child's commits go on without it. Wherever the child dies, the laggard has its base.
fn run_with_laggard(name: &str, seed: u64, step: u64) -> Option<u64> {
    let operations = operations(seed, step);
    let open = || Segment::checkout(name, 0, &Options::new().create(false)).unwrap();
    let (mut segment, mut laggard) = (open(), open());
    let mut expected = Expected::new(segment.as_slice(), &operations);
    let own = 4000 + step as usize % 64..4001 + step as usize % 64;
    for page in 0..PAGES {
        laggard.as_mut_slice()[page * PAGE..][own.clone()].fill(77);
    }
    let last = (PAGES - 1) * PAGE;
    for value in 0..LOG as u64 {
        segment.as_mut_slice()[last..last + 8].copy_from_slice(&(value ^ step << 32).to_le_bytes());
        segment.commit().unwrap();
    }
    let mut peer = Peer::new(&format!("{name}:{seed}:{step}"), "script");
    let steps = expected.listen(&mut peer);
    drop(peer);
    laggard.update().unwrap();
    segment.update().unwrap();
    expected.check(segment.as_slice());
    for page in 0..PAGES {
        segment.as_mut_slice()[page * PAGE..][own.clone()].fill(77);
    }
    assert!(segment.as_slice() == laggard.as_slice());
    assert!(segment.discard().is_ok() && laggard.commit().is_ok());
    segment.update().unwrap();
    assert!(segment.as_slice() == laggard.as_slice());
    // The next script begins with none of these changes.
    for page in 0..PAGES {
        segment.as_mut_slice()[page * PAGE..][own.clone()].fill(0);
    }
    segment.commit().unwrap();
    laggard.update().unwrap();
    check(name);
    steps
}

#[test]
fn dying_while_a_laggards_base_is_kept_harms_nobody() {
    let name = Name::new("keeping");
    drop(Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap());
    for seed in 21..23 {
        let steps = run_with_laggard(&name.0, seed, 0).unwrap();
        // Most steps are those of the thousand frames that are given back: some of these are enough.
        for step in (1..=steps).filter(|step| *step < 200 || (step + seed) % 13 == 0) {
            run_with_laggard(&name.0, seed, step);
        }
    }
}

pub(crate) fn check(name: &str) {
    let doctor = Doctor::open(name).unwrap();
    let repaired = doctor.repair().unwrap();
    doctor
        .check()
        .unwrap_or_else(|error| panic!("{error}, after {repaired:?}"));
    let report = doctor.report().unwrap();
    assert_eq!(
        report
            .processes
            .iter()
            .filter(|process| !process.alive)
            .count(),
        0,
        "{report:?}"
    );
    // The parent is up to date, so no process needs an older version.
    assert_eq!(
        (report.frames_retained, report.log_used),
        (0, 0),
        "{report:?}"
    );
}

#[test]
fn dying_at_every_step_harms_nobody() {
    let name = Name::new("steps");
    let mut segment = Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap();
    for seed in 1..8 {
        let steps = run(&name.0, &mut segment, seed, 0, None).unwrap();
        for step in 1..=steps {
            run(&name.0, &mut segment, seed, step, None);
            check(&name.0);
        }
    }
}

#[test]
fn dying_alone_at_every_step_harms_nobody() {
    for doctor in [false, true] {
        let name = Name::new("alone");
        drop(Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap());
        for seed in 11..15 {
            let steps = run_alone(&name.0, seed, 0, doctor).unwrap();
            for step in 1..=steps {
                run_alone(&name.0, seed, step, doctor);
                check(&name.0);
            }
        }
    }
}

fn random_kills(count: u64) {
    let name = Name::new("random");
    let mut segment = Segment::checkout(&name.0, PAGES * PAGE, &Options::new()).unwrap();
    let mut random = StdRng::seed_from_u64(7);
    for round in 0..count {
        let (step, delay) = match round % 2 {
            0 => (random.random_range(1..200), None),
            1 if round % 6 == 1 => (random.random_range(1..3000), None),
            _ => (0, Some(Duration::from_micros(random.random_range(0..4000)))),
        };
        run(&name.0, &mut segment, random.random(), step, delay);
        // Repair by the next process to attach is tested too.
        if round % 7 == 0 {
            check(&name.0);
        }
    }
    check(&name.0);
}

#[test]
fn dying_at_random_harms_nobody() {
    random_kills(200);
}

/// Ten thousand of them: `cargo test -p fyris-segment --test processes -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn dying_ten_thousand_times_harms_nobody() {
    random_kills(10_000);
}
