//! Transactions, and waiting for versions.

mod names;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use fyris_segment::{Error, Options, PAGE, Segment, Tracking};
use names::Name;

const TRACKINGS: [Tracking; 3] = [Tracking::Auto, Tracking::Signal, Tracking::Declared];

fn open(name: &Name, size: usize, tracking: Tracking) -> Segment {
    Segment::checkout(&name.0, size, &Options::new().tracking(tracking)).unwrap()
}

#[test]
fn a_transaction_sees_the_latest_version_and_is_committed() {
    for tracking in TRACKINGS {
        let name = Name::new("transaction");
        let (mut a, mut b) = (
            open(&name, 3 * PAGE + 4, tracking),
            open(&name, 0, tracking),
        );
        for turn in 1..=20 {
            for segment in [&mut a, &mut b] {
                segment
                    .transaction(|words| {
                        words[0] += 1;
                        words[511..513].copy_from_slice(&[turn, turn + 1]);
                        // The last bytes are no whole word.
                        assert_eq!(words.len(), 3 * PAGE / 8);
                        words.bytes_mut(3 * PAGE..3 * PAGE + 4)?.fill(turn as u8);
                        Ok::<_, Error>(())
                    })
                    .unwrap();
            }
        }
        a.update().unwrap();
        assert_eq!(
            (a.version(), a.as_slice()[0], a.as_slice()[3 * PAGE + 3]),
            (40, 40, 20)
        );
        assert_eq!((a.as_slice()[511 * 8], a.as_slice()[512 * 8]), (20, 21));
    }
}

#[test]
fn who_was_overtaken_begins_again() {
    let name = Name::new("overtaken");
    let (mut a, mut b) = (
        open(&name, PAGE, Tracking::Auto),
        open(&name, 0, Tracking::Auto),
    );
    let mut runs = 0;
    let seen = a.transaction(|words| {
        runs += 1;
        words[1] += 1;
        if runs <= 2 {
            b.transaction(|words| {
                words[0] += 1;
                Ok::<_, Error>(())
            })?;
        }
        Ok::<_, Error>(words[0])
    });
    assert_eq!((seen.unwrap(), runs, a.version()), (2, 3, 3));
    assert_eq!((a.as_slice()[0], a.as_slice()[8]), (2, 1));
}

#[test]
fn nothing_remains_of_what_failed() {
    for tracking in TRACKINGS {
        let name = Name::new("failed");
        let mut segment = open(&name, 4 * PAGE, tracking);
        let failed = segment.transaction(|words| {
            words[0] = 1;
            Err::<(), _>(Error::BadArgument("on purpose"))
        });
        assert!(matches!(failed, Err(Error::BadArgument("on purpose"))));
        let outside = segment.transaction(|words| words.bytes_mut(0..5 * PAGE).map(drop));
        assert!(matches!(outside, Err(Error::OutOfRange { .. })));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            segment.transaction(|words| {
                words[600] = 1;
                if words[600] == 1 {
                    panic!("on purpose")
                }
                Ok::<_, Error>(())
            })
        }));
        assert!(panicked.is_err());
        assert!(segment.as_slice().iter().all(|&byte| byte == 0));
        assert_eq!(segment.commit().unwrap(), 0);
        segment.transaction(|_| Ok::<_, Error>(())).unwrap();
        assert_eq!(segment.version(), 0);
    }
}

#[test]
fn changes_made_before_are_refused() {
    let name = Name::new("before");
    let mut segment = open(&name, 4 * PAGE, Tracking::Auto);
    segment.as_mut_slice()[9] = 9;
    let nothing = |segment: &mut Segment| segment.transaction(|_| Ok::<_, Error>(()));
    assert!(matches!(nothing(&mut segment), Err(Error::Uncommitted)));
    assert!(matches!(segment.begin(), Err(Error::Uncommitted)));
    assert_eq!(segment.as_slice()[9], 9);
    segment.commit().unwrap();
    nothing(&mut segment).unwrap();
    let mut reader = Segment::checkout(&name.0, 0, &Options::new().read_only(true)).unwrap();
    assert!(matches!(nothing(&mut reader), Err(Error::ReadOnly)));
}

/// A transaction that another one overtakes, with changes of other units, runs again on what that has left.
#[test]
fn no_transaction_is_merged() {
    let name = Name::new("merged");
    let mut slow = open(&name, 2 * PAGE, Tracking::Declared);
    let mut fast = open(&name, 0, Tracking::Declared);
    let mut runs = 0;
    let seen = slow.transaction(|words| {
        runs += 1;
        if runs == 1 {
            let overtakes = fast.transaction(|words| {
                words[512] = 7;
                Ok::<_, Error>(())
            });
            overtakes.unwrap();
        }
        words[0] = words[512] + 1;
        Ok::<_, Error>(words[0])
    });
    assert_eq!((seen.unwrap(), runs), (8, 2));
}

/// Two words on pages of their own, one transaction each step: their sum is the number of transactions.
#[test]
fn no_transaction_is_lost() {
    const THREADS: u64 = 3;
    const TIMES: u64 = 300;
    for tracking in [Tracking::Auto, Tracking::Declared] {
        let name = Name::new("lost");
        let mut segment = open(&name, 2 * PAGE, tracking);
        let count = |mut segment: Segment| {
            for _ in 0..TIMES {
                segment
                    .transaction(|words| {
                        assert_eq!(words[0], words[512]);
                        words[0] += 1;
                        words[512] += 1;
                        Ok::<_, Error>(())
                    })
                    .unwrap();
            }
        };
        thread::scope(|scope| {
            for _ in 0..THREADS {
                let segment = open(&name, 0, tracking);
                scope.spawn(move || count(segment));
            }
        });
        let total = segment.transaction(|words| Ok::<_, Error>(words[0]));
        assert_eq!(total.unwrap(), THREADS * TIMES);
        assert_eq!(segment.version(), THREADS * TIMES);
    }
}

/// Two that wait for each other in turn. A sleeper that is not woken looks by itself four times a second: far too
/// seldom.
#[test]
fn sleepers_are_woken() {
    const ROUNDS: u64 = 400;
    let name = Name::new("woken");
    let (a, b) = (
        open(&name, PAGE, Tracking::Declared),
        open(&name, 0, Tracking::Declared),
    );
    let play = |mut segment: Segment, mine: u64| {
        while segment.version() < ROUNDS {
            if segment.version() % 2 == mine {
                segment
                    .transaction(|words| {
                        words[0] += 1;
                        Ok::<_, Error>(())
                    })
                    .unwrap();
            } else {
                assert!(segment.wait(None).unwrap());
                segment.update().unwrap();
            }
        }
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        scope.spawn(move || play(a, 0));
        scope.spawn(move || play(b, 1));
    });
    let naps = Duration::from_millis(250) * ROUNDS as u32 / 2;
    assert!(begun.elapsed() < naps, "they slept until their naps ended");
}

#[test]
fn waiting_ends_at_once_or_in_time() {
    let name = Name::new("waiting");
    let mut a = open(&name, PAGE, Tracking::Auto);
    let b = open(&name, 0, Tracking::Auto);
    assert!(!b.wait(Some(Duration::ZERO)).unwrap());
    assert!(!b.wait(Some(Duration::from_millis(300))).unwrap());
    let old = a.watcher();
    a.as_mut_slice()[0] = 1;
    a.commit().unwrap();
    assert!(b.wait(Some(Duration::ZERO)).unwrap() && b.wait(None).unwrap());
    assert!(
        !a.wait(Some(Duration::ZERO)).unwrap(),
        "one's own commits are not news"
    );
    assert!(old.wait(Some(Duration::MAX)).unwrap());
    // A watcher needs no segment.
    drop(a);
    assert!(old.wait(None).unwrap());
}
