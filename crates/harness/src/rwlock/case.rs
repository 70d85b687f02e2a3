//! The cases: each share of reads with each length of the work under the lock.

use crate::args::BenchArgs;

/// A share of reads and a length of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct LockCase {
    /// As on the command line.
    pub(super) name: &'static str,
    /// The share alone, which stands for all lengths.
    pub(super) mix: &'static str,
    /// Per cent of reads, of all threads but the first.
    pub(super) reads: u64,
    /// Per cent of reads of the first thread.
    pub(super) first: u64,
    /// Turns of the work, of some nanoseconds each.
    pub(super) turns: u32,
}

macro_rules! cases {
    ($($mix:literal $reads:literal $first:literal),*) => {
        /// Every case.
        pub(super) const CASES: &[LockCase] = &[$(
            LockCase { name: concat!($mix, "/0"), mix: $mix, reads: $reads, first: $first, turns: 0 },
            LockCase { name: concat!($mix, "/short"), mix: $mix, reads: $reads, first: $first, turns: 60 },
            LockCase { name: concat!($mix, "/long"), mix: $mix, reads: $reads, first: $first, turns: 600 },
        )*];
        const MIXES: &[&str] = &[$($mix),*];
    };
}

cases!(
    "r0" 0 0, "r50" 50 50, "r80" 80 80, "r90" 90 90, "r99" 99 99, "r100" 100 100,
    "writer" 100 0, "reader" 0 100
);

/// Returns the names of the cases, and of the shares, which stand for all their cases.
pub(super) fn names() -> Vec<&'static str> {
    let cases = CASES.iter().map(|case| case.name);
    MIXES.iter().copied().chain(cases).collect()
}

impl LockCase {
    /// Returns the per cent of reads of a thread.
    pub(super) fn reads_of(&self, worker: usize) -> u64 {
        if worker == 0 { self.first } else { self.reads }
    }

    /// Returns the shares of reads in words.
    pub(super) fn shares(&self) -> String {
        match self.mix {
            "writer" => "one writer among readers".to_owned(),
            "reader" => "one reader among writers".to_owned(),
            _ => format!("{} % reads", self.reads),
        }
    }

    /// Returns true if the case or its share was asked for, or nothing in particular was.
    pub(super) fn wanted(&self, args: &BenchArgs) -> bool {
        args.wants_case(self.name) || args.wants_case(self.mix)
    }
}
