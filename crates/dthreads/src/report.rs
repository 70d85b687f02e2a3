//! Reads the record of a run.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::record::{EVENTS, Event, Header, MAGIC, Number, Operation, bytes};
use crate::symbols::Modules;

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
    /// The place in the program that it returns to; 0 for what the library does by itself.
    pub site: u64,
    /// The pages that the thread committed in it.
    pub pages: u64,
    /// The number of the innermost named region, for [`Report::region`]; 0 if there is none.
    pub region: usize,
}

/// Bytes that two threads wrote, neither of them knowing of the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// The first byte.
    pub address: u64,
    /// The number of bytes.
    pub len: u64,
    /// The slots of the thread that committed first, and of the one whose bytes stayed.
    pub threads: [usize; 2],
    /// For each the place in the program where it came to a synchronization point next.
    pub sites: [u64; 2],
    /// The times that this was found.
    pub count: u64,
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

    fn header(&self) -> &Header {
        // SAFETY: as many words as a header has, at least; it is words, and any value is valid.
        unsafe { &*self.words.as_ptr().cast() }
    }

    /// Returns the number of synchronization points.
    pub fn count(&self) -> u64 {
        self.header().count.get()
    }

    /// Returns the number of events that were kept.
    pub fn kept(&self) -> usize {
        (self.count() as usize).min(EVENTS)
    }

    /// Returns the hash of the schedule.
    pub fn hash(&self) -> u64 {
        self.header().hash.get()
    }

    /// Returns the most threads that were alive at once, those created, and the processes forked for them.
    pub fn threads(&self) -> (u64, u64, u64) {
        let header = self.header();
        (header.most.get(), header.created.get(), header.forked.get())
    }

    /// Returns the nanoseconds that the program took; 0 if it ended by a signal.
    pub fn took(&self) -> u64 {
        self.header().took.get()
    }

    /// Returns the totals of the threads of a slot, in the order of [`Row`](crate::record::Row).
    pub fn row(&self, slot: usize) -> [u64; 9] {
        let row = &self.header().threads[slot];
        [
            &row.token,
            &row.fence,
            &row.update,
            &row.commit,
            &row.points,
            &row.transactions,
            &row.published,
            &row.updated,
            &row.faults,
        ]
        .map(Number::get)
    }

    /// Returns how often a byte was changed by two threads since a common base.
    pub fn clashes(&self) -> u64 {
        self.header().clashes.get()
    }

    /// Returns the number of conflicts, and those that differ, the first of them if there are very many.
    pub fn conflicts(&self) -> (u64, Vec<Conflict>) {
        let header = self.header();
        let rows = header.conflict_rows.get() as usize;
        let rows = header.conflicts.iter().take(rows);
        let conflicts = rows.map(|row| Conflict {
            address: row.address.get(),
            len: row.len.get(),
            threads: [row.first.get() as usize, row.second.get() as usize],
            sites: [row.first_site.get(), row.second_site.get()],
            count: row.count.get(),
        });
        (header.races.get(), conflicts.collect())
    }

    /// Returns the name of a region; empty if it has none.
    pub fn region(&self, number: usize) -> String {
        let name = number
            .checked_sub(1)
            .and_then(|at| self.header().names.get(at));
        name.map_or(String::new(), |words| text(words))
    }

    /// Returns the program and its libraries, to name addresses in them. Their files are read when names are asked
    /// for.
    pub fn modules(&self) -> Modules {
        Modules::new(self.header())
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
            site: words[5],
            pages: words[6],
            region: (words[0] >> 32 & 0xffff) as usize,
        })
    }
}

fn none() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the library has not begun: the program ended before, or ran without it",
    )
}

/// Returns the text in some words, which zeros end.
pub(crate) fn text(words: &[Number]) -> String {
    let bytes = words.iter().flat_map(|word| word.get().to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
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
