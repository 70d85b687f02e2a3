//! Processes that are stopped (`SIGSTOP`) anywhere, and go on much later: holders of the lock, and readers whose frames
//! are written over meanwhile.

use std::collections::HashMap;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use fyris_segment::{Doctor, PAGE, Segment};

use crate::child::fingerprint;
use crate::{Name, Peer, options};

/// Steps to stop at; a child is told the number of one.
pub(crate) const STEPS: [&str; 17] = [
    "locked",
    "entry written",
    "about to publish",
    "published",
    "about to say applied",
    "window read",
    "page begun",
    "words gathered",
    "page merged",
    "page copied",
    "heads read",
    "stale pages copied",
    "frame filled",
    "merged",
    "settled",
    "kept frame let go",
    "looked at",
];
const PAGES: usize = 64;

fn number(step: &str) -> usize {
    STEPS.iter().position(|&s| s == step).unwrap()
}

/// Waits until the child is stopped.
fn stopped(peer: &Peer) {
    let mut status = 0;
    // SAFETY: asks about our own child; it is not reaped unless it has died, and then the test fails.
    let pid = unsafe { libc::waitpid(peer.pid(), &mut status, libc::WUNTRACED) };
    assert!(pid == peer.pid() && libc::WIFSTOPPED(status), "not stopped");
}

/// Lets the child go on, or kills it.
fn send(peer: &Peer, signal: i32) {
    // SAFETY: a signal to our own child.
    assert_eq!(unsafe { libc::kill(peer.pid(), signal) }, 0);
}

/// Tells the child `command` and waits until it has stopped at `step`.
fn stop_in(peer: &mut Peer, step: &str, command: &str) {
    peer.ask(&format!("stop {}", number(step))).unwrap();
    peer.tell(command);
    stopped(peer);
}

/// Many processes commit at once, and the lock goes from one to the next: who waits for longer than one holder may take
/// waits on.
#[test]
fn a_lock_that_goes_round_is_waited_for() {
    let name = Name::new("round");
    let segment = Segment::checkout(&name.0, PAGES * PAGE, &options("auto")).unwrap();
    let mut holder = Peer::new(&name.0, "auto");
    // Its answer says that it has the slot behind ours, before the other one takes one.
    holder.ask("hurry 500").unwrap();
    let mut waiter = Peer::new(&name.0, "auto");
    waiter.ask("write 4096 8 2").unwrap();
    waiter.ask("hurry 500").unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(segment.path());
    let file = file.unwrap();
    // The lock, held by the process of a slot, and the turn that it is.
    let hold = |slot: u32, turn: u32| {
        let words = u64::from(slot + 1) | u64::from(turn) << 32;
        file.write_all_at(&words.to_le_bytes(), 192).unwrap();
    };
    hold(0, 1000);
    waiter.tell("merge");
    let begun = Instant::now();
    for turn in 1000.. {
        hold(turn % 2, turn);
        std::thread::sleep(Duration::from_millis(20));
        if begun.elapsed() > Duration::from_millis(1500) {
            break;
        }
    }
    // Of one that stands still its own time is told, when that has passed.
    hold(1, 5000);
    let still = Instant::now();
    let refused = waiter.answer().unwrap();
    assert!(still.elapsed() >= Duration::from_millis(500), "{refused}");
    let named = format!("LockTimeout {{ pid: {}, millis: ", holder.pid());
    let millis = refused
        .strip_prefix(&named)
        .and_then(|rest| rest.split_once(" }"));
    let millis = millis.and_then(|(millis, _)| millis.parse().ok());
    let range = 500..1500;
    assert!(
        millis.is_some_and(|millis: u64| range.contains(&millis)),
        "{refused}"
    );
    file.write_all_at(&[0; 4], 192).unwrap();
    assert!(waiter.ask("merge").unwrap().starts_with('1'));
}

#[test]
fn a_stopped_holder_of_the_lock_is_named_and_stops_no_updates() {
    for (step, published) in STEPS[..5].iter().zip([false, false, false, true, true]) {
        for signal in [libc::SIGCONT, libc::SIGKILL] {
            let name = Name::new("holder");
            let mut segment = Segment::checkout(&name.0, PAGES * PAGE, &options("auto")).unwrap();
            let (mut holder, mut waiter) = (Peer::new(&name.0, "auto"), Peer::new(&name.0, "auto"));
            holder.ask("write 0 8 1").unwrap();
            waiter.ask("write 4096 8 2").unwrap();
            waiter.ask("hurry 100").unwrap();
            stop_in(&mut holder, step, "merge");
            let refused = waiter.ask("merge").unwrap();
            let named = format!("LockTimeout {{ pid: {}, millis: ", holder.pid());
            assert!(refused.starts_with(&named), "{step}: {refused}");
            segment.update().unwrap();
            assert_eq!(segment.as_slice()[0] == 1, published, "{step}");
            send(&holder, signal);
            let committed = published || signal == libc::SIGCONT;
            if signal == libc::SIGCONT {
                assert!(holder.answer().unwrap().starts_with('1'));
            }
            let answer = waiter.ask("merge").unwrap();
            let version = if committed { "2 " } else { "1 " };
            assert!(answer.starts_with(version), "{step}: {answer}");
            segment.update().unwrap();
            let content = (segment.as_slice()[0] == 1, segment.as_slice()[PAGE]);
            assert_eq!(content, (committed, 2), "{step}");
            drop((holder, waiter));
            let doctor = Doctor::open(&name.0).unwrap();
            doctor.repair().unwrap();
            doctor.check().unwrap();
        }
    }
}

/// A process that has published, but not woken the sleepers, and never will.
#[test]
fn who_waits_sees_the_commit_of_a_dead_process() {
    let name = Name::new("unwoken");
    let segment = Segment::checkout(&name.0, PAGES * PAGE, &options("auto")).unwrap();
    let mut writer = Peer::new(&name.0, "auto");
    writer.ask("write 0 8 1").unwrap();
    let watcher = segment.watcher();
    let sleeper = std::thread::spawn(move || watcher.wait(None));
    stop_in(&mut writer, "published", "merge");
    send(&writer, libc::SIGKILL);
    assert!(sleeper.join().unwrap().unwrap() && segment.is_behind());
}

/// A reader in place that is stopped makes commits fail in the end; killed, it keeps nothing.
#[test]
fn a_dead_reader_in_place_keeps_nothing() {
    let name = Name::new("in-place");
    let small = options("declared").history(0);
    let mut segment = Segment::checkout(&name.0, PAGES * PAGE, &small).unwrap();
    let fill = |segment: &mut Segment, value: u8| {
        segment.touch(0..PAGES * PAGE).unwrap();
        segment.as_mut_slice().fill(value);
        segment.commit()
    };
    fill(&mut segment, 1).unwrap();
    let mut reader = Peer::new(&name.0, "in_place");
    let seen = fingerprint(&[1; PAGES * PAGE]);
    assert_eq!(reader.ask("read 0"), Some(format!("1 {seen}")));
    let full = (2..=255).find(|&value| fill(&mut segment, value).is_err());
    assert!(full.is_some());
    assert_eq!(reader.ask("read 0"), Some(format!("1 {seen}")));
    // As it updates it is overrun by the log, and goes by the page heads.
    let now = fingerprint(&[full.unwrap() - 1; PAGES * PAGE]);
    assert_eq!(reader.ask("update"), Some(format!("0 {now}")));
    let full = (2..=255).find(|&value| fill(&mut segment, value).is_err());
    assert!(full.is_some());
    send(&reader, libc::SIGKILL);
    drop(reader);
    for value in 1..=100 {
        fill(&mut segment, value).unwrap();
    }
    Doctor::open(&name.0).unwrap().check().unwrap();
}

/// Two processes remove the same name: the slower one finds nothing to remove.
#[test]
fn a_name_that_goes_while_it_is_removed_is_not_there() {
    let (name, other) = (Name::new("unlink"), Name::new("unlink-other"));
    for name in [&name, &other] {
        drop(Segment::checkout(&name.0, PAGE, &options("auto")).unwrap());
    }
    let mut slow = Peer::new(&name.0, "auto");
    slow.ask("update").unwrap();
    stop_in(&mut slow, "looked at", &format!("unlink {}", other.0));
    Segment::unlink(&other.0).unwrap();
    send(&slow, libc::SIGCONT);
    let answer = slow.answer().unwrap();
    assert!(answer.starts_with("NotFound"), "{answer}");
}

/// A commit prepares without the lock: one that is stopped while it fills its frames delays no other, and commits made
/// meanwhile cost it nothing but the pages that they changed as well.
#[test]
fn a_commit_stopped_while_it_prepares_stops_no_other() {
    let name = Name::new("beside");
    let mut segment = Segment::checkout(&name.0, PAGES * PAGE, &options("auto")).unwrap();
    let mut slow = Peer::new(&name.0, "auto");
    for page in 0..8 {
        slow.ask(&format!("write {} 8 1", page * PAGE)).unwrap();
    }
    stop_in(&mut slow, "frame filled", "merge");
    // Another page, and another word of one that the other is about to publish.
    for (version, at) in [(1, 20 * PAGE), (2, 3 * PAGE + 800)] {
        segment.update().unwrap();
        segment.as_mut_slice()[at] = 2;
        assert_eq!(segment.commit().unwrap(), version);
    }
    send(&slow, libc::SIGCONT);
    assert!(slow.answer().unwrap().starts_with("3 "));
    segment.update().unwrap();
    let seen = segment.as_slice();
    assert!((0..8).all(|page| seen[page * PAGE] == 1));
    assert_eq!((seen[20 * PAGE], seen[3 * PAGE + 800]), (2, 2));
    drop(slow);
    Doctor::open(&name.0).unwrap().check().unwrap();
}

/// A trunk and what every version of it looked like.
struct Trunk {
    name: String,
    segment: Segment,
    versions: HashMap<u64, String>,
    round: u8,
}

impl Trunk {
    /// Rewrites the first `pages` pages, each with a byte of its own, and more words of the page after them
    /// than the log has values of.
    fn commit(&mut self, pages: usize) {
        self.round = self.round.wrapping_add(1);
        for page in 0..pages {
            let value = self.round.wrapping_mul(31).wrapping_add(page as u8);
            self.segment.as_mut_slice()[page * PAGE..(page + 1) * PAGE].fill(value);
        }
        for word in 0..8 {
            self.segment.as_mut_slice()[pages * PAGE + 80 + 64 * word] = self.round;
        }
        let version = self.segment.commit().unwrap();
        let print = fingerprint(self.segment.as_slice()).to_string();
        self.versions.insert(version, print);
    }

    /// Commits until the log has overrun the reader and every frame that was replaced before is used again: a new
    /// checkout takes the free frames with the lowest numbers.
    fn flood(&mut self) {
        for _ in 0..30 {
            self.segment = Segment::checkout(&self.name, 0, &options("auto")).unwrap();
            self.commit(40);
        }
    }

    /// Returns whether what a child answered, with its content, is one version.
    fn knows(&self, answer: &str) -> bool {
        let (version, print) = answer.split_once(' ').unwrap();
        self.versions[&version.parse().unwrap()] == print
    }
}

/// Whether the reader is evicted, or what it needs is kept.
#[test]
fn a_reader_stopped_anywhere_in_an_update_sees_whole_versions_only() {
    let readers = [
        ("auto", true),
        ("signal", true),
        ("declared", true),
        ("auto", false),
    ];
    for (tracking, evicted) in readers {
        let name = Name::new("reader");
        let how = match evicted {
            true => options("auto").history(0),
            false => options("auto"),
        };
        let segment = Segment::checkout(&name.0, PAGES * PAGE, &how).unwrap();
        let mut trunk = Trunk {
            name: name.0.clone(),
            segment,
            versions: HashMap::new(),
            round: 0,
        };
        let mut reader = Peer::new(&name.0, tracking);
        for (step, pages, laggard) in [
            ("window read", 40, false),
            ("page begun", 40, false),
            ("words gathered", 2, false),
            ("page merged", 1, false),
            ("page copied", 40, false),
            ("merged", 40, false),
            ("settled", 40, false),
            ("heads read", 40, true),
            ("stale pages copied", 40, true),
        ] {
            if step == "stale pages copied" && !evicted {
                continue;
            }
            trunk.commit(pages);
            reader.ask("update").unwrap();
            if laggard {
                trunk.flood();
            }
            trunk.commit(pages);
            let counts = || {
                let report = Doctor::open(&name.0).unwrap().report().unwrap();
                (report.overruns, report.evictions)
            };
            let before = counts();
            stop_in(&mut reader, step, "update");
            trunk.flood();
            assert!(counts().0 > before.0, "{tracking}, {step}: not overrun");
            let newly = evicted && !laggard;
            assert_eq!(counts().1 > before.1, newly, "{tracking}, {step}");
            send(&reader, libc::SIGCONT);
            let updated = reader.answer().unwrap();
            assert!(updated.starts_with("0 "), "{tracking}, {step}: {updated}");
            let seen = reader.ask("version").unwrap();
            assert!(trunk.knows(&seen), "{tracking}, {step}: a torn version");
            reader.ask("update").unwrap();
            let seen = reader.ask("version").unwrap();
            let newest = trunk.segment.version().to_string();
            assert!(seen.starts_with(&newest) && trunk.knows(&seen), "{step}");
        }
    }
}

/// Words that a reader has changed itself are compared with a base that others write over, or would: it must not be
/// taken for unchanged because the new content happens to be the same.
#[test]
fn a_reader_stopped_in_a_merge_loses_none_of_its_own_words() {
    for evicted in [true, false] {
        let name = Name::new("merge");
        let pages = 0..40;
        let how = match evicted {
            true => options("auto").history(0),
            false => options("auto"),
        };
        let _first = Segment::checkout(&name.0, PAGES * PAGE, &how).unwrap();
        // By a new process each time, which takes the free frames with the lowest numbers.
        let commit = |value: &dyn Fn(usize) -> u8| {
            let mut segment = Segment::checkout(&name.0, 0, &options("auto")).unwrap();
            for page in pages.clone() {
                segment.as_mut_slice()[page * PAGE..][..64].fill(value(page));
            }
            segment.commit().unwrap();
        };
        commit(&|_| 1);
        let mut reader = Peer::new(&name.0, "declared");
        for page in pages.clone() {
            reader.ask(&format!("write {} 8 99", page * PAGE)).unwrap();
        }
        commit(&|_| 2);
        stop_in(&mut reader, "page begun", "update");
        // The frames that the reader is about to compare would hold 99, its own value, or 55.
        for round in 0..40 {
            commit(&|page| if (round + page / 3) % 2 == 0 { 99 } else { 55 });
        }
        send(&reader, libc::SIGCONT);
        let answer = reader.answer().unwrap();
        match evicted {
            true => assert!(answer.starts_with("BaseLost"), "{answer}"),
            false => {
                assert!(answer.starts_with("40 "), "{answer}");
                assert!(reader.ask("merge").unwrap().starts_with("43 "));
            }
        }
        for page in pages {
            let byte = reader.ask(&format!("read {}", page * PAGE)).unwrap();
            assert!(byte.starts_with("99 "), "page {page}: {byte}");
        }
        Doctor::open(&name.0).unwrap().check().unwrap();
    }
}
