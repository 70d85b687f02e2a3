//! A process at work on its words.

use fyris_segment::{Error, Options, Segment};
use rand::Rng;

/// Says to a child which segment it works on and which words are its own.
pub(crate) const CHILD: &str = "FYRIS_SEGMENT_SOAK_CHILD";

/// Processes at work.
pub(crate) const WORKERS: usize = 3;

/// Works until it is killed; `what` is "segment number". Panics if the content is not as it should be.
pub(crate) fn run(what: &str) {
    let (name, number) = what.split_once(' ').expect("two words");
    let own: usize = number.parse().expect("a number");
    let mut segment = checkout(name);
    let mut random = rand::rng();
    loop {
        check_all(&segment);
        match random.random_range(0..20) {
            0..=9 => {
                // May be less than before: the trunk may hold a commit of ours that we were killed in.
                let next = value(&segment, own) + 1;
                write(&mut segment, own, next);
                let result = segment.commit_merge();
                if done(&mut segment, result) {
                    assert_eq!(value(&segment, own), next);
                }
            }
            10..=16 => {
                let result = segment.update();
                done(&mut segment, result);
            }
            17..=18 => {
                write(&mut segment, own, u64::MAX);
                segment.discard().expect("our copy");
            }
            _ => {
                drop(segment);
                segment = checkout(name);
            }
        }
    }
}

/// Returns false if the process had been stopped for long enough to lose its base: the copy then becomes equal to the
/// trunk.
fn done<T>(segment: &mut Segment, result: Result<T, Error>) -> bool {
    match result {
        Ok(_) => true,
        Err(Error::BaseLost { .. }) => {
            segment.discard().expect("our copy");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

/// Panics unless the words of each process are equal.
pub(crate) fn check_all(segment: &Segment) {
    for own in 0..WORKERS {
        let expected = value(segment, own);
        for (at, word) in words(segment).enumerate().skip(own).step_by(WORKERS) {
            assert_eq!(word, expected, "word {at}");
        }
    }
}

fn checkout(name: &str) -> Segment {
    Segment::checkout(name, 0, &Options::new().create(false)).expect("it is there")
}

fn words(segment: &Segment) -> impl Iterator<Item = u64> + '_ {
    let (words, _) = segment.as_slice().as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word))
}

/// Returns the number in the words of a process.
fn value(segment: &Segment, own: usize) -> u64 {
    words(segment).nth(own).expect("many words")
}

fn write(segment: &mut Segment, own: usize, value: u64) {
    let (words, _) = segment.as_mut_slice().as_chunks_mut::<8>();
    for word in words.iter_mut().skip(own).step_by(WORKERS) {
        *word = value.to_le_bytes();
    }
}
