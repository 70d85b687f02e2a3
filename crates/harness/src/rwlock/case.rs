//! The cases: each share of reads with each length of the work under the lock.

use crate::args::BenchArgs;

/// A share of reads and a length of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// As on the command line.
    pub(super) name: &'static str,
    /// The share alone, which stands for all lengths.
    pub(super) mix: &'static str,
    /// Per cent of reads.
    pub(super) reads: u64,
    /// Turns of the work, of some nanoseconds each.
    pub(super) turns: u32,
}

macro_rules! cases {
    ($($mix:literal $reads:literal),*) => {
        /// Every case.
        pub(super) const CASES: &[Case] = &[$(
            Case { name: concat!($mix, "/0"), mix: $mix, reads: $reads, turns: 0 },
            Case { name: concat!($mix, "/short"), mix: $mix, reads: $reads, turns: 60 },
            Case { name: concat!($mix, "/long"), mix: $mix, reads: $reads, turns: 600 },
        )*];
        const MIXES: &[&str] = &[$($mix),*];
    };
}

cases!("r0" 0, "r50" 50, "r80" 80, "r90" 90, "r99" 99, "r100" 100);

/// Returns the names of the cases, and of the shares, which stand for all their cases.
pub(super) fn names() -> Vec<&'static str> {
    let cases = CASES.iter().map(|case| case.name);
    MIXES.iter().copied().chain(cases).collect()
}

impl Case {
    /// Returns true if the case or its share was asked for, or nothing in particular was.
    pub(super) fn wanted(&self, args: &BenchArgs) -> bool {
        args.wants_case(self.name) || args.wants_case(self.mix)
    }
}
