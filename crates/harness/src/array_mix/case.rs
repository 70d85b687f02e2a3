//! The cases: each mix with each size.

use crate::args::BenchArgs;

/// One mix on an array of one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayCase {
    /// As on the command line.
    pub(super) name: &'static str,
    /// The mix as the paper writes it.
    pub(super) mix: &'static str,
    /// Lookups and writes, in per cent; the rest are queries.
    pub(super) lookups: u64,
    pub(super) writes: u64,
    /// Integers in the array.
    pub(super) elements: usize,
}

/// The mixes: name, lookups, writes; and its cases by size.
const MIXES: [(&str, u64, u64, [&str; 4]); 3] = [
    (
        "74:25:1",
        74,
        25,
        ["74:25:1/5K", "74:25:1/50K", "74:25:1/500K", "74:25:1/2M"],
    ),
    (
        "49:50:1",
        49,
        50,
        ["49:50:1/5K", "49:50:1/50K", "49:50:1/500K", "49:50:1/2M"],
    ),
    (
        "25:74:1",
        25,
        74,
        ["25:74:1/5K", "25:74:1/50K", "25:74:1/500K", "25:74:1/2M"],
    ),
];

const SIZES: [usize; 4] = [5_000, 50_000, 500_000, 2_000_000];

/// Returns every case.
pub(super) fn cases() -> impl Iterator<Item = ArrayCase> {
    MIXES.into_iter().flat_map(|(mix, lookups, writes, names)| {
        names
            .into_iter()
            .zip(SIZES)
            .map(move |(name, elements)| ArrayCase {
                name,
                mix,
                lookups,
                writes,
                elements,
            })
    })
}

/// Returns the names of the cases, and of the mixes, which stand for all their cases.
pub(super) fn names() -> Vec<&'static str> {
    let mixes = MIXES.into_iter().map(|(mix, ..)| mix);
    mixes.chain(cases().map(|case| case.name)).collect()
}

impl ArrayCase {
    /// Returns true if the case or its mix was asked for, or nothing in particular was.
    pub(super) fn wanted(&self, args: &BenchArgs) -> bool {
        args.wants_case(self.name) || args.wants_case(self.mix)
    }

    /// Returns the case of that name.
    pub(super) fn named(name: &str) -> Option<ArrayCase> {
        cases().find(|case| case.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_mix_and_size() {
        for case in cases() {
            let size = match case.elements {
                n if n >= 1_000_000 => format!("{}M", n / 1_000_000),
                n => format!("{}K", n / 1_000),
            };
            assert_eq!(case.name, format!("{}/{size}", case.mix));
            let queries = 100 - case.lookups - case.writes;
            assert_eq!(
                case.mix,
                format!("{}:{}:{queries}", case.lookups, case.writes)
            );
        }
    }
}
