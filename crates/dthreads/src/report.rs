//! Reads the record of a run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::record::{EVENTS, Event, Header, MAGIC, Operation, THREADS, bytes};

/// The record of a run, read from its file.
#[derive(Debug)]
pub struct Report {
    words: Vec<u64>,
}

/// One synchronization point. Times in nanoseconds since the program began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The slot of the thread.
    pub thread: usize,
    /// The call.
    pub operation: Operation,
    /// The address of its object, or the number of a thread.
    pub object: u64,
    /// The time at which the thread arrived.
    pub arrived: u64,
    /// The time at which it had the token.
    pub began: u64,
    /// The time at which the call ended; 0 if it did not.
    pub ended: u64,
}

impl Point {
    /// Returns what is the same in every run.
    pub fn what(&self) -> (usize, Operation, u64) {
        (self.thread, self.operation, self.object)
    }
}

impl Report {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Those of reading; `InvalidData` if the library has not begun to write it.
    pub fn read(path: &Path) -> io::Result<Report> {
        let mut file = File::open(path)?;
        let mut header = vec![0; size_of::<Header>()];
        file.read_exact(&mut header).map_err(|_| none())?;
        let mut report = Report {
            words: words(&header),
        };
        if report.words[0] != MAGIC {
            return Err(none());
        }
        let mut rest = vec![0; bytes(report.kept()) - bytes(0)];
        file.read_exact(&mut rest)?;
        report.words.extend(words(&rest));
        Ok(report)
    }

    /// Returns the number of synchronization points.
    pub fn count(&self) -> u64 {
        self.words[1]
    }

    /// Returns the number of events that were kept.
    pub fn kept(&self) -> usize {
        (self.count() as usize).min(EVENTS)
    }

    /// Returns the hash of the schedule.
    pub fn hash(&self) -> u64 {
        self.words[2]
    }

    /// Returns the most threads that were alive at once, those created, and the processes forked for them.
    pub fn threads(&self) -> (u64, u64, u64) {
        (self.words[3], self.words[4], self.words[5])
    }

    /// Returns the nanoseconds that the program took; 0 if it ended by a signal.
    pub fn took(&self) -> u64 {
        self.words[6]
    }

    /// Returns the totals of the threads of a slot, in the order of [`Row`](crate::record::Row).
    pub fn row(&self, slot: usize) -> [u64; 8] {
        assert!(slot < THREADS);
        let at = 7 + 8 * slot;
        self.words[at..at + 8].try_into().unwrap_or([0; 8])
    }

    /// Returns the synchronization points that were kept, in their order.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let from = size_of::<Header>() / 8;
        let each = size_of::<Event>() / 8;
        self.words[from..].chunks_exact(each).map(|words| Point {
            thread: (words[0] & 0xffff) as usize,
            operation: Operation::of((words[0] >> 16) as u16),
            object: words[1],
            arrived: words[2],
            began: words[3],
            ended: words[4],
        })
    }
}

fn none() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the library has not begun: the program ended before, or ran without it",
    )
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    bytes.chunks_exact(8).map(word).collect()
}

/// Finds the first synchronization point at which two runs part: its number, and what each did there.
pub fn first_difference(a: &Report, b: &Report) -> Option<(usize, Option<Point>, Option<Point>)> {
    let (mut left, mut right) = (a.points(), b.points());
    for at in 0.. {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (Some(one), Some(two)) if one.what() == two.what() => (),
            (one, two) => return Some((at, one, two)),
        }
    }
    None
}
