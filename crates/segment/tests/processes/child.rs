//! The child process: one command a line, one answer each.

use std::io::BufRead;

use fyris_segment::{Choice, Error, Segment};

use crate::options;

/// Serves commands until the pipe closes.
pub(crate) fn run(arguments: &str) {
    let (name, tracking) = arguments.split_once(' ').unwrap();
    #[cfg(debug_assertions)]
    if tracking == "script" {
        return crate::kill::script(name);
    }
    #[cfg(debug_assertions)]
    if tracking == "grow" {
        return crate::grow::script(name);
    }
    #[cfg(debug_assertions)]
    if tracking == "moves" {
        return crate::moves::script(name);
    }
    let mut segment = Segment::checkout(name, 0, &options(tracking)).unwrap();
    for line in std::io::stdin().lock().lines() {
        let answer = obey(&mut segment, &line.unwrap());
        println!(">{answer} {}", fingerprint(segment.as_slice()));
    }
}

/// Runs one command; returns an answer that the model can predict.
fn obey(segment: &mut Segment, line: &str) -> String {
    let mut words = line.split(' ');
    let command = words.next().unwrap();
    let mut number = || words.next().unwrap().parse::<usize>().unwrap();
    match command {
        "write" => {
            let (at, len, value) = (number(), number(), number());
            segment.touch(at..at + len).unwrap();
            segment.as_mut_slice()[at..at + len].fill(value as u8);
            "written".to_owned()
        }
        "read" => segment.as_slice()[number()].to_string(),
        "version" => segment.version().to_string(),
        "many" => many(segment, number()),
        "starve" => {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: a limit of this process only.
            let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &none) };
            format!("{done}")
        }
        #[cfg(debug_assertions)]
        "hurry" => {
            fyris_segment::failpoints::hurry(number() as u64);
            "hurried".to_owned()
        }
        #[cfg(debug_assertions)]
        "stop" => {
            fyris_segment::failpoints::arm_stop_at(crate::stop::STEPS[number()]);
            "armed".to_owned()
        }
        "count" => crate::count::count(segment, number(), number() as u64),
        "stripe" => crate::count::stripe(segment, number(), number() as u64),
        "unlink" => said(Segment::unlink(words.next().unwrap()).map(|()| 0)),
        "update" => said(segment.update().map(|updated| updated.conflicts as u64)),
        "validate" => said(
            segment
                .update_validated()
                .map(|updated| updated.conflicts as u64),
        ),
        "take" => said(
            segment
                .update_with(|_| Choice::Incoming)
                .map(|u| u.conflicts as u64),
        ),
        "commit" => said(segment.commit()),
        "merge" => said(segment.commit_merge()),
        "discard" => said(segment.discard().map(|()| 0)),
        "diff" => said(
            segment
                .diff()
                .map(|ranges| ranges.iter().map(|r| r.len() as u64).sum()),
        ),
        _ => panic!("what is {line}?"),
    }
}

/// Commits the last page a number of times.
fn many(segment: &mut Segment, commits: usize) -> String {
    let at = segment.len() - 8;
    for value in 1..=commits {
        segment.touch(at..at + 8).unwrap();
        segment.as_mut_slice()[at..].copy_from_slice(&value.to_le_bytes());
        segment.commit_merge().unwrap();
    }
    "committed".to_owned()
}

fn said(result: Result<u64, Error>) -> String {
    match result {
        Ok(number) => format!("{number}"),
        Err(Error::Behind { .. }) => "behind".to_owned(),
        Err(Error::Conflict { ranges }) => {
            let bytes: usize = ranges.iter().map(|range| range.len()).sum();
            format!("conflict {bytes}")
        }
        Err(error) => format!("{error:?}"),
    }
}

/// Returns the FNV-1a sum of the content.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
